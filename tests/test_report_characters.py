"""report/characters.py, held against unicodedata, regex and one character after the other."""

import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from fastbpe.report.characters import (
    code_points,
    group_names,
    group_of,
    groups,
    is_punctuation,
    slices,
    utf8_lengths,
)

texts = st.one_of(st.binary(max_size=40), st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")))


def name_of(character: str) -> str:
    return group_names()[group_of()[ord(character)]]


@pytest.mark.parametrize(
    ("characters", "name"),
    [
        ("aZßé", "Latin"),
        ("月詩", "Han"),
        ("あ", "Hiragana"),
        ("ж", "Cyrillic"),
        (" \n\t\u3000\u1680", "spaces"),
        ("19²", "digits"),
        (".，、(_", "punctuation"),
        ("+€$😀", "symbols"),
        ("\x00\x7f", "other shared"),
        ("\u0301", "combining marks"),
        ("\U000e0fff", "unassigned"),
    ],
)
def test_groups_of_characters(characters: str, name: str) -> None:
    assert {name_of(character) for character in characters} == {name}


def test_scripts_are_those_of_regex() -> None:
    known = "".join(c for c in map(chr, range(0x20000)) if unicodedata.category(c) not in ("Cn", "Cs"))
    for name in ("Greek", "Arabic", "Hangul", "Thai", "Devanagari"):
        number = group_names().index(name)
        found = [c for c in known if group_of()[ord(c)] == number]
        assert found == regex.findall(rf"[\p{{Script={name}}}--\s]", known, regex.V1)


def test_names_are_different_and_fit_a_byte() -> None:
    assert len(set(group_names())) == len(group_names()) <= 256
    assert [bool(is_punctuation()[ord(character)]) for character in "a.，$ "] == [False, True, True, False, False]


@given(texts)
@example(b"\xe6\x9c")
@example(b"\xed\xa0\x80")
def test_code_points_and_lengths(data: bytes) -> None:
    points = code_points(data)
    lengths = utf8_lengths(points)
    assert lengths.sum() == len(data)
    assert points.tolist() == [ord(character) for character in data.decode("utf-8", "surrogateescape")]


@given(texts, st.integers(1, 9))
def test_slices_do_not_cut_characters(data: bytes, size: int) -> None:
    parts = list(slices(data, size + 3))
    assert b"".join(parts) == data
    assert np.concatenate([code_points(part) for part in parts] or [np.empty(0)]).tolist() == code_points(data).tolist()
    assert all(len(part) <= size + 3 for part in parts)


@given(texts)
def test_each_byte_has_the_group_of_its_character(data: bytes) -> None:
    of_bytes, characters = groups(data)
    text = data.decode("utf-8", "surrogateescape")
    expected = [group_of()[ord(c)] for c in text for _ in c.encode("utf-8", "surrogateescape")]
    assert of_bytes.tolist() == expected
    assert characters.tolist() == np.bincount(group_of()[list(map(ord, text))], minlength=len(group_names())).tolist()
