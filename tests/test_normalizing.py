"""normalizing.py, and tokenizers that normalize."""

import unicodedata
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe import normalizing as module
from fastbpe.kernels.special import SpecialTrie, make_spans
from fastbpe.normalizing import GROWTH, begins_anew, check_normalizer, normalize_spans, normalized
from fastbpe.tokenizer import Tokenizer

forms = st.sampled_from(["NFC", "NFKC"])
texts = st.text("ae\u0301\u0308\u00e9\uff1c\ufb01\u212b\u1100\u1161가<>", max_size=20) | st.text(max_size=10)


@given(texts, forms)
def test_text_is_normalized_as_the_standard_library_does(text, form):
    assert normalized(text.encode(), form) == unicodedata.normalize(form, text).encode()


kinds = [
    *"ae \n",
    "\u0301",
    "\u0308",
    "\u0323",
    "\u00e9",
    "\uff1c",
    "\ufb01",
    "\u212b",
    "\u1100",
    "\u1161",
    "\u65e5",
    "\uff0c",
]


@given(
    st.lists(st.tuples(st.sampled_from(kinds), st.integers(1, 9)), max_size=20),
    forms,
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 4, 512]),
    st.sampled_from([0, 16]),
)
def test_cutting_into_pieces_changes_nothing(runs, form, piece, long, few):
    text = "".join(kind * n for kind, n in runs)
    with patch.multiple(module, PIECE=piece, LONG_PIECE=long, FEW=few):
        assert normalized(text.encode(), form) == unicodedata.normalize(form, text).encode()


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\u3099"])
def test_many_marks_take_no_longer_than_their_number(marks):
    """In the library alone this takes most of an hour for a million."""
    text = "a" + marks * (400_000 // len(marks))
    for form in ("NFC", "NFKC"):
        result = normalized(text.encode(), form).decode()
        assert unicodedata.normalize("NFD", result[:3])[:2] == ("a\u0323" if "\u0323" in marks else "a\u3099")
        assert len(result) >= 400_000 - 1


@given(st.binary(max_size=12), forms)
def test_bytes_that_are_not_utf8_stay(data, form):
    decoded = data.decode("utf-8", "surrogateescape")
    expected = unicodedata.normalize(form, decoded).encode("utf-8", "surrogateescape")
    assert normalized(data, form) == expected


@given(st.lists(texts, max_size=4), forms)
def test_each_stretch_is_normalized_by_itself(parts, form):
    data = "<s>".join(parts).encode()
    spans, _ = make_spans(data, np.array([0]), np.array([len(data)]), SpecialTrie([(b"<s>", 7)]), -1, -1)
    after, rows = normalize_spans(data, spans, form)
    assert rows[:, 3].tolist() == spans[:, 3].tolist()
    for (start, stop, _, id), (new_start, new_stop, text_end, _) in zip(spans.tolist(), rows.tolist(), strict=True):
        expected = data[start:stop] if id >= 0 else normalized(data[start:stop], form)
        assert after[new_start:new_stop] == expected
        assert new_stop == text_end


@given(st.lists(texts, min_size=1, max_size=4), forms)
def test_the_round_trip_is_that_of_the_normalized_text(documents, form):
    tokenizer = Tokenizer.from_merges([[97, 101]], pattern="gpt2", special_tokens=["<s>"], normalizer=form)
    for text in documents:
        assert tokenizer.decode(tokenizer.encode(text)) == unicodedata.normalize(form, text)
    batch = tokenizer.encode_batch(documents, threads=2)
    assert batch == [tokenizer.encode(text) for text in documents]
    whole = tokenizer.encode("<s>".join(documents), allowed_special="all")
    assert tokenizer.decode(whole) == "<s>".join(unicodedata.normalize(form, text) for text in documents)


def test_what_normalizing_makes_of_text_is_not_special():
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens=["<s>"], normalizer="NFKC")
    ids = tokenizer.encode("\uff1cs\uff1e<s>", allowed_special="all")
    assert ids == [*b"<s>", 256]


def test_offsets_are_those_of_the_normalized_text():
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", normalizer="NFC")
    ids, offsets = tokenizer.encode_with_offsets("e\u0301x", unit="characters")
    assert offsets.tolist() == [[0, 1], [0, 1], [1, 2]]
    assert tokenizer.decode(ids) == "\u00e9x"


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="NFD"):
        Tokenizer.from_merges([], normalizer="NFD")


@given(texts, texts, forms)
def test_nothing_is_joined_to_what_begins_anew(before, after, form):
    if after and begins_anew(after[0]):
        whole = (before + after).encode()
        assert normalized(whole, form) == normalized(before.encode(), form) + normalized(after.encode(), form)


def test_no_character_grows_beyond_the_bound():
    for code in range(0x80, 0x30000):
        if not 0xD800 <= code < 0xE000:
            character = chr(code).encode()
            assert len(normalized(character, "NFKC")) < GROWTH * len(character)
            assert len(normalized(character, "NFC")) < GROWTH * len(character)


def test_what_a_normalizer_may_be():
    for known in (None, "NFC", "NFKC"):
        check_normalizer(known)
    with pytest.raises(ValueError, match="NFD"):
        check_normalizer("NFD")
