"""Texts cut into pieces of work: a buffer with spans, of a size that stays in a processor's cache.

Short texts share a piece, a long one is cut where the split pattern is sure to end a chunk, without being copied.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastbpe.pattern.splitter import Splitter
from fastbpe.specials import Specials
from fastbpe.text import to_bytes

PIECE_BYTES = 1 << 20


class Piece(NamedTuple):
    """Work for one thread."""

    data: bytes
    spans: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    """For each text that ends in this piece, how many of the spans stand before its end."""


def pieces(
    texts: Iterable[str | bytes], specials: Specials, splitter: Splitter, piece_bytes: int = PIECE_BYTES
) -> Iterator[Piece]:
    """The pieces of the texts, in order."""
    waiting: list[bytes] = []
    size = n_done = 0
    for text in texts:
        data = to_bytes(text)
        if len(data) < piece_bytes:
            waiting.append(data)
            size += len(data)
            if size < piece_bytes:
                continue
        if waiting:
            yield _joined(waiting, specials, n_done)
            n_done += len(waiting)
            waiting, size = [], 0
        if len(data) >= piece_bytes:
            yield from _cut(data, specials, splitter, n_done, piece_bytes)
            n_done += 1
    if waiting:
        yield _joined(waiting, specials, n_done)


def _joined(texts: list[bytes], specials: Specials, first_text: int) -> Piece:
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    data, spans, firsts = specials.spans(b"".join(texts), ends, first_text)
    return Piece(data, spans, firsts[1:])


def _cut(data: bytes, specials: Specials, splitter: Splitter, number: int, piece_bytes: int) -> Iterator[Piece]:
    """The pieces of one long text."""
    nothing = np.empty(0, np.int64)
    taken: list[tuple[int, int, int, int]] = []
    size = 0
    data, spans, _ = specials.spans(data, np.array([len(data)], np.int64), number)
    for start, stop, text_end, id in spans.tolist():
        while id < 0 and size + stop - start > piece_bytes:
            cut = _place(data, splitter, start, stop, piece_bytes - size)
            if cut < 0:
                break
            taken.append((start, cut, text_end, id))
            yield Piece(data, np.array(taken, np.int64), nothing)
            taken, size, start = [], 0, cut
        taken.append((start, stop, text_end, id))
        size += stop - start
        if size >= piece_bytes:
            yield Piece(data, np.array(taken, np.int64), nothing)
            taken, size = [], 0
    yield Piece(data, np.array(taken, np.int64).reshape(-1, 4), np.array([len(taken)], np.int64))


def _place(data: bytes, splitter: Splitter, start: int, stop: int, n_bytes: int) -> int:
    """Where to cut the text data[start:stop]: within n_bytes if it can be, else as soon as it can; -1: nowhere."""
    while n_bytes < stop - start:
        cut = splitter.last_cut(data, start, start + max(n_bytes, 0))
        if cut > start:
            return cut
        n_bytes = max(2 * n_bytes, 64)
    return -1
