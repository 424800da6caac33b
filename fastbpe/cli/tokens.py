"""Tokens for people: coloured pieces on a terminal, bars between them elsewhere."""

import os
from collections.abc import Iterable, Sequence
from typing import TextIO

from fastbpe.alphabet import mark_words, to_characters, visible

BACKGROUNDS = (153, 223, 157, 218, 189, 229)
RESET = "\x1b[0m"


def use_colour(choice: str, stream: TextIO) -> bool:
    """`auto` means a terminal that wants colour (NO_COLOR and TERM=dumb do not)."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def marked(tokens: Sequence[bytes], style: str) -> list[str]:
    """The tokens with their marker: gpt2 writes each byte as its character, the others mark words as they do."""
    if style == "gpt2":
        return [to_characters(token) for token in tokens]
    words: list[list[str]] = []
    for token in tokens:
        if token.startswith(b" ") or not words:
            words.append([])
        words[-1].append(visible(token.removeprefix(b" ")))
    return mark_words(words, style)


def painted(pieces: Iterable[str], colour: bool, breaks: Iterable[bool] | None = None) -> str:
    """The pieces in a row, told apart by background or bars; a new row after a piece whose `breaks` is set."""
    rows: list[list[str]] = [[]]
    ends = list(breaks or ())
    for i, piece in enumerate(pieces):
        background = BACKGROUNDS[i % len(BACKGROUNDS)]
        rows[-1].append(f"\x1b[30;48;5;{background}m{piece}{RESET}" if colour else piece)
        if i < len(ends) and ends[i]:
            rows.append([])
    return "\n".join(("" if colour else "|").join(row) for row in rows if row)
