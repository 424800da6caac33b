import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import gpt2_order

from fastbpe.alphabet import (
    BYTE_CHARACTERS,
    BYTE_ORDER,
    all_from_characters,
    from_characters,
    mark_words,
    show_token,
    to_characters,
    visible,
)
from fastbpe.errors import DataError, ParameterError


@given(st.binary(max_size=20))
def test_characters_round_trip(token):
    assert from_characters(to_characters(token)) == token
    assert len(to_characters(token)) == len(token) and to_characters(token).isprintable()


def test_known_characters():
    assert len(set(BYTE_CHARACTERS)) == 256
    assert [ord(BYTE_CHARACTERS[byte]) for byte in (9, 10, 32, 33, 65, 127, 173, 195, 255)] == [
        265, 266, 288, 33, 65, 289, 323, 195, 255,
    ]  # fmt: skip
    assert [to_characters(text.encode()) for text in (" world", "\n", " 😀", "世界")] == [
        "Ġworld", "Ċ", "ĠðŁĺĢ", "ä¸ĸçķĮ",
    ]  # fmt: skip


def test_byte_order_is_that_of_the_characters():
    assert np.argsort(BYTE_ORDER).tolist() == gpt2_order()
    assert np.argsort(BYTE_ORDER).tolist() == sorted(range(256), key=BYTE_CHARACTERS.__getitem__)


def test_foreign_characters_are_refused():
    with pytest.raises(DataError, match="' '"):
        from_characters("a b")


@given(st.lists(st.binary(max_size=8)), st.lists(st.text("aĠ é\x00\xad\u0143\u0144\ud800😀", max_size=4)))
def test_many_texts_are_as_each(tokens, texts):
    assert all_from_characters([to_characters(token) for token in tokens]) == tokens
    try:
        expected = [from_characters(text) for text in texts]
    except DataError as error:
        with pytest.raises(DataError, match=f"^{re.escape(str(error))}$"):
            all_from_characters(texts)
    else:
        assert all_from_characters(texts) == expected


def test_marker_styles():
    words = [["Un", "happi", "ness"], ["token", "ization"]]
    assert mark_words(words) == ["Un", "happi", "ness", "Ġtoken", "ization"]
    assert mark_words(words, "sentencepiece") == ["▁Un", "happi", "ness", "▁token", "ization"]
    assert mark_words(words, "wordpiece") == ["un", "##happi", "##ness", "token", "##ization"]
    with pytest.raises(ParameterError, match="style='bpe': choose"):
        mark_words(words, "bpe")


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b"", ""),
        (b" low", " low"),
        ("床前".encode(), "床前"),
        ("床".encode()[:2], "[e5 ba]"),
        ("床前".encode()[1:5], "[ba 8a e5 89]"),
        ("床前明".encode()[2:7], "[8a]前[e6]"),
        (b"\xff\xffa\xff", "[ff ff]a[ff]"),
    ],
)
def test_fragments_are_shown_in_hex(token, shown):
    assert show_token(token) == shown


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b"a\n\tb\r", "a↵→b␍"),
        (b"\x1b[2J\x00\x7f", "\\x1b[2J\\x00\\x7f"),
        ("\u202eab\u2066\ufeff\u2028".encode(), "\\u202eab\\u2066\\ufeff\\u2028"),
        ("\x85é\u0301👩‍🚀".encode(), "\\x85é\u0301👩‍🚀"),
        (b"\xe6\x9c\n", "[e6 9c]↵"),
    ],
)
def test_what_is_shown_can_be_seen(token, shown):
    assert visible(token) == shown
