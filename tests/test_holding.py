import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_kernel_encode import trained

from fastbpe.errors import DataError, ParameterError
from fastbpe.formats import holding
from fastbpe.model import Model
from fastbpe.tokenizer import Tokenizer

BYTES = {bytes([byte]): byte for byte in range(256)}


@given(
    st.lists(st.text("abc", min_size=2, max_size=5), unique=True, max_size=12), st.lists(st.text("abc", max_size=30))
)
def test_last_merges_encode_as_the_rank_table_does(names, texts):
    """Whatever the table: of all pairs that give a token, only the one that merges last when it stands alone."""
    ranks = {**BYTES, **{name.encode(): 256 + i for i, name in enumerate(names)}}
    table = Tokenizer.from_ranks(ranks, None, whole_chunk_first=False)
    model = table.model
    fields = {name: getattr(model, name) for name in Model.__dataclass_fields__}
    listed = Tokenizer(Model(**{**fields, "priority": "merge list", "merges": model.last_merges.copy()}))
    for text in (*texts, *names, "".join(names)):
        assert listed.encode(text) == table.encode(text)


@given(trained(), st.permutations(range(6)), st.lists(st.text("abc", max_size=20)))
def test_ranks_in_gives_the_same_ids_or_refuses(merges, order, texts):
    """Of merge lists whose ids follow the merges, and of those where some merges changed places."""
    try:
        model = Tokenizer.from_merges(merges, pattern=None).model
    except DataError:
        return
    fields = {name: getattr(model, name) for name in Model.__dataclass_fields__}
    rows = model.merges.copy()
    rows[: len(order)] = rows[[i for i in order if i < len(rows)]] if len(rows) < len(order) else rows[list(order)]
    listed = Tokenizer(Model(**{**fields, "merges": rows}))
    try:
        ranks = holding.ranks_in(listed.model, "it")
    except ParameterError:
        return
    table = Tokenizer.from_ranks(ranks, None)
    for text in (*texts, *model.tokens[256:]):
        assert table.encode(text) == listed.encode(text)


def test_trained_merges_are_always_held():
    model = Tokenizer.from_merges([(97, 98), (98, 99), (256, 257)], pattern=None).model
    assert holding.built(model).all()
    assert holding.ranks_in(model, "it") == model.token_ids
    assert np.array_equal(holding.trained_pairs(model, "it"), model.merges[:, :2])
    assert np.array_equal(holding.merges_in(model, "it"), model.merges)


def test_tokens_that_no_merges_build():
    tokenizer = Tokenizer.from_ranks({**BYTES, b"abc": 256}, None)
    assert holding.built(tokenizer.model).tolist() == [True] * 256 + [False]
    with pytest.raises(ParameterError, match=r"it merges only: the token b'abc' \(id 256\)"):
        holding.merges_in(tokenizer.model, "it")


@given(*[st.lists(st.text("ab<", min_size=1, max_size=4), unique=True, max_size=6)] * 2, st.booleans())
@example(["a<", "aa"], ["a<", "aa"], False)
@example(["b", "ab", "bc"], ["b", "ab", "bc"], False)
def test_overlap(first, second, inside):
    def touch(a, b):
        ends = any(a[-n:] == b[:n] for n in range(1, min(len(a), len(b))))
        return a != b and (ends or (inside and (a in b or b in a)))

    expected = any(touch(a, b) or touch(b, a) for a, b in itertools.product(first, second))
    found = holding.overlap(first, second, inside)
    assert (found is not None) == expected
    if found is not None:
        assert set(found) <= {*first, *second} and found[0] != found[1]


def test_names_that_begin_alike():
    holding.no_beginning_of_another(["<a>", "<b>", "<ab>"], "it")
    with pytest.raises(ParameterError, match="'<a' where this tokenizer takes '<a>'"):
        holding.no_beginning_of_another(["<a>", "<a"], "it")
