"""cli/tokens.py: pieces that show where tokens end, and harm no terminal."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.alphabet import visible
from fastbpe.cli.tokens import _common_blocks, above, marked, painted, use_colour


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" the", " the"),
        (b"\n\n", "↵↵"),
        (b"\t", "→"),
        (b"\x1b[31m", "\\x1b[31m"),
        ("月".encode(), "月"),
        ("月".encode()[:2], "[e6 9c]"),
        ("\x85".encode(), "\\x85"),
    ],
)
def test_visible(token: bytes, shown: str) -> None:
    assert visible(token) == shown


def test_markers() -> None:
    tokens = [b"un", b"happi", b"ness", b" token", b"ization"]
    assert marked(tokens, "gpt2") == ["un", "happi", "ness", "Ġtoken", "ization"]
    assert marked(tokens, "sentencepiece") == ["▁un", "happi", "ness", "▁token", "ization"]
    assert marked(tokens, "wordpiece") == ["un", "##happi", "##ness", "token", "##ization"]


def test_pieces_are_told_apart_without_colour() -> None:
    assert painted(["a", " b", "c"], colour=False) == "a| b|c"
    assert painted(["a↵", "b", "c↵"], colour=False, breaks=[True, False, True]) == "a↵\nb|c↵"
    assert painted([], colour=False) == ""


def test_neighbours_differ_in_colour() -> None:
    first, second = painted(["a", "b"], colour=True).split("\x1b[0m")[:2]
    assert first.startswith("\x1b[")
    assert first[:-1] != second[:-1]


def test_who_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert use_colour("auto", terminal)
    assert not use_colour("auto", io.StringIO())
    assert use_colour("always", io.StringIO())
    assert not use_colour("never", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_colour("auto", terminal)


def test_above() -> None:
    cuts = [[b"lowest", b" ", b"new"], [b"low", b"est", b" new"]]
    pieces = [["lowest", " ", "new"], ["low", "est", " new"]]
    assert above(cuts, pieces, False, 80).splitlines() == ["1 lowest╌| |new|", "2 low|est| new╌|"]
    assert above(cuts, pieces, False, 5).splitlines() == [
        "1 lowest╌|", "2 low|est|", "", "1  |new|", "2  new╌|",
    ]  # fmt: skip
    coloured = above(cuts, pieces, True, 80).splitlines()
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured[1]) == "2 lowest new"
    assert coloured[1].count("\x1b[30") == 3
    assert above([[], []], [[], []], False, 80) == ""


@given(st.binary(min_size=1, max_size=12), st.sets(st.integers(1, 11)), st.sets(st.integers(1, 11)))
def test_common_blocks_end_where_both_do(text: bytes, first: set[int], second: set[int]) -> None:
    def cut(places: set[int]) -> list[bytes]:
        inside = [0, *sorted(place for place in places if place < len(text)), len(text)]
        return [text[start:stop] for start, stop in zip(inside, inside[1:], strict=False)]

    cuts = [cut(first), cut(second)]
    blocks = list(_common_blocks(cuts))
    common = sorted(place for place in first & second if place < len(text))
    assert len(blocks) == len(common) + 1
    for row, tokens in enumerate(cuts):
        assert [bounds[row][0] for bounds in blocks] == [0, *[bounds[row][1] for bounds in blocks[:-1]]]
        assert [len(b"".join(tokens[: bounds[row][1]])) for bounds in blocks] == [*common, len(text)]
