"""Tokens for people: coloured pieces on a terminal, bars between them elsewhere."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len

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


def shown(tokens: Sequence[bytes], markers: str) -> list[str]:
    """The tokens in one of the marker styles, or with markers "none" as they are."""
    return [visible(token) for token in tokens] if markers == "none" else marked(tokens, markers)


def painted(pieces: Iterable[str], colour: bool, breaks: Iterable[bool] | None = None) -> str:
    """The pieces in a row, told apart by background or bars; a new row after a piece whose `breaks` is set."""
    rows: list[list[str]] = [[]]
    ends = list(breaks or ())
    for i, piece in enumerate(pieces):
        rows[-1].append(_coloured(piece, i, colour))
        if i < len(ends) and ends[i]:
            rows.append([])
    return "\n".join(("" if colour else "|").join(row) for row in rows if row)


def _coloured(piece: str, number: int, colour: bool) -> str:
    return f"\x1b[30;48;5;{BACKGROUNDS[number % len(BACKGROUNDS)]}m{piece}{RESET}" if colour else piece


def above(cuts: Sequence[Sequence[bytes]], pieces: Sequence[Sequence[str]], colour: bool, width: int) -> str:
    """The same text as several tokenizers cut it (their tokens, and how these are to be shown), one row above another.

    Where all have a boundary the rows stand at the same column; what is shorter up to there is filled with ╌. Rows are
    numbered from 1, are broken after a newline and before they become wider than `width`, if they can be. Texts that
    differ, as normalized ones may, stand below one another without being aligned.
    """
    if len({b"".join(tokens) for tokens in cuts}) > 1:
        rows = [painted(shown, colour) for shown in pieces]
        return "\n".join(f"{number} {row}" for number, row in enumerate(rows, 1))
    bars = "" if colour else "|"
    lines: list[list[str]] = []
    room = 0
    ends_line = True
    for block in _common_blocks(cuts):
        parts = [
            [_coloured(pieces[row][at], at, colour) for at in range(start, stop)]
            for row, (start, stop) in enumerate(block)
        ]
        widths = [
            sum(cell_len(pieces[row][at]) for at in range(start, stop)) + len(bars) * (stop - start)
            for row, (start, stop) in enumerate(block)
        ]
        widest = max(widths)
        if ends_line or widest > room:
            lines.append([f"{number} " for number in range(1, len(cuts) + 1)])
            room = width - 2
        room -= widest
        for row, (part, its) in enumerate(zip(parts, widths, strict=True)):
            lines[-1][row] += bars.join(part) + "╌" * (widest - its) + bars
        ends_line = cuts[0][block[0][1] - 1].endswith(b"\n")
    return "\n\n".join("\n".join(rows) for rows in lines)


def _common_blocks(cuts: Sequence[Sequence[bytes]]) -> Iterator[list[tuple[int, int]]]:
    """Stretches of tokens, (first, stop) for each of the cuts, that end where all of the cuts have a boundary."""
    starts = [0] * len(cuts)
    at = [0] * len(cuts)
    places = [0] * len(cuts)
    while at[0] < len(cuts[0]):
        # The one that lies behind goes on, until all stand at the same place.
        while True:
            behind = places.index(min(places))
            places[behind] += len(cuts[behind][at[behind]])
            at[behind] += 1
            if len(set(places)) == 1:
                break
        yield list(zip(starts, at, strict=True))
        starts = list(at)
