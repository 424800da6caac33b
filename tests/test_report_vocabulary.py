"""report/vocabulary.py: tokens in rows, their kinds and scripts, what no merge builds."""

import numpy as np
import pytest
from vocabularies import vocabulary

from fastbpe.characters import CharTokenizer
from fastbpe.report.vocabulary import (
    KINDS,
    group,
    length_histogram,
    scripts,
    shares,
    unbuildable,
    vocabulary_of,
)
from fastbpe.tokenizer import Tokenizer


def tang() -> Tokenizer:
    moon, bright, comma = "月".encode(), "明".encode(), "，".encode()
    merges = [
        (moon[0], moon[1]),
        (256, moon[2]),
        (bright[0], bright[1]),
        (258, bright[2]),
        (259, 257),
        (comma[0], comma[1]),
    ]
    return Tokenizer.from_merges(
        merges, counts=[9, 8, 7, 6, 5, 4], pattern="gpt2", special_tokens=["<s>"], special_placement="first"
    )


def test_rows() -> None:
    tokenizer = tang()
    found = vocabulary_of(tokenizer)
    assert found.ids.tolist() == list(range(263))
    assert found.tokens[0] == b"<s>" and found.special.tolist() == [True] + [False] * 262
    assert found.tokens[found.rows(np.array([261], np.uint32))[0]] == "明月".encode()
    for row, (left, right, product) in enumerate(found.merges.tolist()):
        assert found.tokens[left] + found.tokens[right] == found.tokens[product]
        assert found.ranks[product] == row
    assert found.ranks[:257].tolist() == [-1] * 257
    assert found.counts is not None and found.counts.tolist() == [9, 8, 7, 6, 5, 4]


def test_rows_where_ids_have_holes() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 300, b"abc": 400}
    found = vocabulary_of(Tokenizer.from_ranks(ranks, "none", special_tokens={"<|e|>": 350}))
    assert found.rows(np.array([300, 97, 350, 400], np.uint32)).tolist() == [256, 97, 257, 258]
    assert found.tokens[256:] == [b"ab", b"<|e|>", b"abc"]
    assert found.merges.tolist() == [[97, 98, 256], [256, 99, 258]]


def test_kinds_scripts_and_lengths() -> None:
    found = vocabulary_of(tang())
    assert shares(found) == {
        "whole characters": 128 + 2,
        "several characters": 1,
        "fragments": 128 + 3,
        "special tokens": 1,
    }
    counts = np.zeros(263, np.int64)
    counts[[261, 98, 0]] = 4, 3, 2
    assert shares(found, counts) == dict(zip(KINDS, (3, 4, 0, 2), strict=True))
    assert scripts(found)["Han"] == {"whole characters": 2, "several characters": 1, "fragments": 8}
    assert sum(sum(row.values()) for row in scripts(found).values()) == 262
    assert length_histogram(found) == {1: 256, 2: 3, 3: 2, 6: 1}
    assert length_histogram(found, counts) == {1: 3, 6: 4}
    assert [found.tokens[row] for row in np.flatnonzero(found.isolated)[:3]] == [b"!", b'"', b"#"]


@pytest.mark.parametrize(
    ("token", "script"),
    [
        (b"abc", "Latin"),
        (b" the", "Latin"),
        ("，明".encode(), "Han"),
        (b"  ", "spaces"),
        (b"12.", "digits"),
        ("月".encode()[:2], "Han"),
        ("月".encode()[:1], "Han"),
        ("ж".encode()[:1], "Cyrillic"),
        (b"\xf0", "of several scripts"),
        (b"\x9c", "bytes of any character"),
        (b"\xff", "bytes of any character"),
        (b" \xe6\x9c", "Han"),
        (b"\x9c\xe6", "Han"),
        (b"\x9c.", "punctuation"),
        (b"\xe3\x81", "Hiragana"),
        (b"\xf4\x90", "bytes of any character"),
        (b"", ""),
    ],
)
def test_script_of_a_token(token: bytes, script: str) -> None:
    assert group(token) == script


def test_tokens_no_merge_can_build() -> None:
    assert unbuildable(tang()) == []
    # "bc" merges first, so that the rank table's "abc" cannot come of "ab" and "c"; nothing makes "xyz".
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"ab": 257, b"xyz": 258, b"abc": 259}
    for whole_first in (True, False):
        tokenizer = Tokenizer.from_ranks(ranks, "none", whole_chunk_first=whole_first)
        assert unbuildable(tokenizer) == [258]
    assert unbuildable(vocabulary("gpt2")) == []
    assert unbuildable(CharTokenizer.from_characters("ab")) == []
