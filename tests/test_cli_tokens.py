"""cli/tokens.py: pieces that show where tokens end, and harm no terminal."""

import io

import pytest

from fastbpe.alphabet import visible
from fastbpe.cli.tokens import marked, painted, use_colour


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
