import pickle
from dataclasses import fields

import numpy as np
import pytest

from fastbpe.errors import DataError, ParameterError
from fastbpe.model import Model, list_names, model_of_merges


def model(**changes):
    made = model_of_merges(np.array([[97, 98], [256, 99]], np.int64), ["<e>"], roles={"eos": "<e>"})
    return Model(**{**{field.name: getattr(made, field.name) for field in fields(Model)}, **changes})


def test_layouts():
    for placement, base, special in (("last", 0, 258), ("first", 1, 0)):
        made = model_of_merges(np.array([[97, 98], [256, 99]], np.int64), ["<e>"], placement)
        assert made.merges.tolist() == [[97 + base, 98 + base, 256 + base], [256 + base, 99 + base, 257 + base]]
        assert made.special_tokens == {"<e>": special} and made.special_placement == placement
        assert made.token_ids[b"abc"] == 257 + base and made.byte_ids.tolist() == list(range(base, base + 256))
        assert made.vocab_size == made.id_limit == 259
    holes = model(special_tokens={"<e>": 300})
    assert holes.special_placement is None and holes.id_limit == 301 and holes.vocab_size == 259


def test_the_fingerprint_is_of_what_decides():
    same = [model(), model(counts=np.array([5, 6])), model(record={"a": 1})]
    assert len({made.fingerprint for made in same}) == 1
    others = [
        model(pattern="a"),
        model(unmatched="isolate"),
        model(roles={}),
        model(special_tokens={"<f>": 258}, roles={}),
        model(special_tokens={"<e>": 300}),
        model(merges=model().merges[:1].copy()),
    ]
    assert len({made.fingerprint for made in [*others, model()]}) == 7


def test_pickles_are_the_same_before_and_after_use():
    made = model()
    before = pickle.dumps(made)
    assert made.fingerprint and made.tokens and made.token_ids
    assert pickle.dumps(made) == before
    again = pickle.loads(before)
    assert again.fingerprint == made.fingerprint
    for array in (made.ids, again.ids, made.merges, again.merges):
        assert not array.flags.writeable


BYTES = [bytes([byte]) for byte in range(256)]


def tokens(listed):
    return {
        "ids": np.arange(len(listed), dtype=np.uint32),
        "data": np.frombuffer(b"".join(listed), np.uint8),
        "starts": np.cumsum([0, *map(len, listed)], dtype=np.int64),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (tokens([*BYTES, b"ab", b"ab"]), r"tokens\[257\]: b'ab' has the ids 256 and 257"),
        (tokens([*BYTES, b"ab", b""]), r"tokens\[257\]: the token with id 257 is empty"),
        (tokens([*BYTES[1:], b"abc", b"ab"]), "no token for byte 0"),
        ({"starts": np.array([0, 1])}, "starts do not fit"),
        ({"ids": np.arange(258, dtype=np.uint32)[::-1].copy()}, r"tokens\[1\]: .* out of order"),
        ({"ids": np.append(np.arange(257), 2**32 - 1).astype(np.uint32)}, r"tokens\[257\]: id 4294967295"),
        ({"merges": np.array([[97, 98, 256], [97, 98, 257]])}, r"merges\[1\]: the pair \[97, 98\] is merged before"),
        ({"merges": np.array([[97, 98, 256], [256, 99, 258]])}, r"merges\[1\]: no token has the id 258"),
        ({"merges": np.array([[97, 98, 256], [256, 98, 257]])}, r"merges\[1\]: token 257 is not token 256"),
        ({"merges": np.array([[97, 98], [256, 98]])}, "merges: not an array"),
        ({"counts": np.array([1])}, "merges: 2 of them, but 1 counts"),
        ({"special_tokens": {"<e>": 257}}, r"id 257 of '<e>' is also a token's"),
        ({"special_tokens": {"<e>": 258, "<f>": 258}}, "share the id 258"),
        ({"special_tokens": {"<e>": 2**32 - 1}}, "outside"),
        ({"special_tokens": {"": 258}}, "not a name"),
        ({"special_tokens": {"<" * 1025: 258}}, "1,025 bytes: at most 1,024"),
        ({"special_tokens": {"\ud800": 258}}, "surrogate"),
        ({"roles": {"bos": "<b>"}}, "bos_token: '<b>' is not among"),
    ],
)
def test_contradictions_are_refused(changes, message):
    with pytest.raises(DataError, match=message):
        model(**changes)


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="special_placement"):
        model_of_merges(np.empty((0, 2), np.int64), special_placement="middle")
    for names, message in (
        ("<e>", "list of names"),
        (["<e>", "<e>"], "twice"),
        ([""], "not a name"),
        ([3], "not a name"),
        (["é" * 513], "more than 1,024 bytes"),
    ):
        with pytest.raises(ParameterError, match=message):
            list_names(names, "special_tokens")


def test_many_names_are_listed_in_linear_time():
    names = [f"<|{i}|>" for i in range(200_000)]
    assert list_names(names, "special_tokens") == names
