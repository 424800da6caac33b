import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.blocks import Block
from fastbpe.errors import ParameterError
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.stretches import stretches
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([(97, 98)], pattern="none", special_tokens=["<s>", "<e>", "<e><e>"])
S, E = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["<e>"]


@pytest.mark.parametrize(
    ("arguments", "around"),
    [
        ((None, "append", None), (-1, -1)),
        (("<e>", "append", None), (-1, E)),
        (("<e>", "append", "<s>"), (S, E)),
        (("<e>", "prepend", None), (E, -1)),
        ((None, "prepend", "<s>"), (S, -1)),
    ],
)
def test_ids_around_documents(arguments, around):
    assert Policy.of(TOKENIZER, *arguments, ()).around() == around


def test_what_is_cut_out():
    assert Policy.of(TOKENIZER, None, "append", None, "all").entries()["allowed_special"] == ["<e>", "<e><e>", "<s>"]
    policy = Policy.of(TOKENIZER, None, "append", None, iter(["<e>"]))
    assert policy.entries() == {
        "bos_token": None,
        "bos_id": None,
        "eos_token": None,
        "eos_id": None,
        "eos_place": "append",
        "allowed_special": ["<e>"],
    }
    assert {name for name, _ in policy.left.tokens} == {b"<s>", b"<e><e>"}
    assert len(policy.every.tokens) == 3
    everything = Policy.of(TOKENIZER, None, "append", None, "all")
    assert everything.every is everything.allowed and everything.left is None
    plain = Policy.of(Tokenizer.from_merges([], pattern="none"), None, "append", None, "all")
    assert plain.allowed is plain.left is plain.every is None


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("<x>", "append", None, ()), "'<x>' is not a special token of this tokenizer; it has <s>, <e>, <e><e>"),
        ((None, "append", "<x>", ()), "'<x>' is not a special token"),
        ((None, "append", None, ["<x>"]), "'<x>' is not a special token"),
        ((None, "append", None, "<e>"), "takes 'all' or a list"),
        (("<e>", "middle", None, ()), "append or prepend"),
        (("<e>", "prepend", "<s>", ()), "choose one"),
    ],
)
def test_refused(arguments, what):
    with pytest.raises(ParameterError, match=what):
        Policy.of(TOKENIZER, *arguments)
    with pytest.raises(ParameterError, match="it has none"):
        Policy.of(Tokenizer.from_merges([], pattern="none"), "<e>", "append", None, ())


@given(st.lists(st.text("<es>", max_size=12), max_size=4), st.sampled_from([(), ["<s>"], ["<e>"], "all"]))
def test_left_as_text(documents, allowed):
    policy = Policy.of(TOKENIZER, "<e>", "append", "<s>", allowed)
    data = np.frombuffer("".join(documents).encode(), np.uint8)
    block = Block(data, np.cumsum([len(document) for document in documents], dtype=np.int64))
    found = {}
    for stretch in stretches([block] if documents else [], TOKENIZER.splitter, policy.allowed, S, E, policy.every):
        found = dict(policy.left_as_text(stretch))
    left = [name for name in TOKENIZER.special_tokens if allowed != "all" and name not in allowed]
    expected = {}
    for document in documents:
        for part in split_at(document, [name for name in TOKENIZER.special_tokens if name not in left]):
            for name in longest_first(left):
                if part.count(name):
                    expected[name] = expected.get(name, 0) + part.count(name)
                    part = part.replace(name, "|")
    assert found == expected


def longest_first(names):
    return sorted(names, key=len, reverse=True)


def split_at(text, names):
    for name in longest_first(names):
        text = text.replace(name, "|")
    return text.split("|")
