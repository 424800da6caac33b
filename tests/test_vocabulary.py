from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import DataError
from fastbpe.tokenizer import Tokenizer
from fastbpe.vocabulary import Vocabulary

ABC = [(97, 98), (256, 99)]
SPECIALS = ["<|a|>", "<|a|><|b|>", "<e>"]


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.from_merges(ABC, None, None, SPECIALS)


def test_decoding(tok):
    assert tok.decode([258, 256, 99, 260]) == "<|a|>abc<e>"
    assert tok.decode([258, 257, 260], skip_special_tokens=True) == "abc"
    assert tok.decode([0xE2, 0x82, 0xAC]) == "€" and tok.decode([0xE2, 0x82]) == "\ufffd"
    assert tok.decode(np.array([256, 99], np.uint16)) == tok.decode((256, 99)) == "abc" and tok.decode([]) == ""
    with pytest.raises(UnicodeDecodeError):
        tok.decode([0xE2], errors="strict")
    for unknown in (261, -1, 2**32, 2**70, 2**64 - 1):
        with pytest.raises(DataError, match=f"id {unknown} at position 1"):
            tok.decode([97, unknown])
    for wrong in ([1.5], ["a"], [[1]], 3, None):
        with pytest.raises(DataError):
            tok.decode(wrong)


def test_ids_with_wide_holes():
    near = Tokenizer.from_merges(ABC, None, None, ["<e>"])
    tok = Tokenizer(replace(near.model, special_tokens={"<e>": 2**32 - 2, "<f>": 2**31}))
    assert tok.encode("ab<e>c<f>", "all") == [256, 2**32 - 2, 99, 2**31]
    assert tok.decode([256, 2**32 - 2, 99, 2**31]) == "ab<e>c<f>"
    assert tok.decode([256, 2**32 - 2, 99], skip_special_tokens=True) == "abc"
    assert tok.encode_with_offsets("ab<e>", "all")[1].tolist() == [[0, 2], [2, 5]]
    for unknown in (258, 2**32 - 3):
        with pytest.raises(DataError, match=str(unknown)):
            tok.decode([unknown])


@given(st.lists(st.integers(0, 260)), st.sampled_from([0, 2**31]))
def test_lengths_are_those_of_the_bytes(ids, offset):
    model = Tokenizer.from_merges(ABC, None, None, SPECIALS).model
    specials = {name: id + offset for name, id in model.special_tokens.items()}  # far away, ids are searched
    vocabulary = Vocabulary(replace(model, special_tokens=specials))
    ids = [id + offset * (id >= 258) for id in ids]
    lengths = vocabulary.lengths(np.array(ids, np.uint32))
    assert lengths.tolist() == [len(vocabulary.join([id])) for id in ids]
    assert lengths.sum() == len(vocabulary.join(ids)) >= len(vocabulary.join(ids, skip_special_tokens=True))
