"""Texts cut into pieces of work: a buffer with spans, of a size that stays in a processor's cache.

Short texts share a piece, a long one is cut where the split pattern is sure to end a chunk, without being copied.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.join import Utf8, batch_stop, join_texts, total_length
from fastbpe.pattern.splitter import Splitter
from fastbpe.specials import Data, Specials
from fastbpe.text import to_bytes

PIECE_BYTES = 1 << 20
LIST_TEXTS = 1 << 12  # texts of an iterator that are taken at a time, at most


class Piece(NamedTuple):
    """Work for one thread."""

    data: Data
    spans: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    """For each text that ends in this piece, how many of the spans stand before its end."""


class Batch(NamedTuple):
    """Short texts that make one piece, when a thread takes them: texts[start:stop]."""

    texts: list[str | bytes]
    start: int
    stop: int
    first_text: int
    """Number of the first of them among all texts."""

    def piece(self, specials: Specials) -> Piece:
        joined, ends = join_texts(self.texts, self.start, self.stop)
        data, spans, firsts = specials.spans(joined, ends, self.first_text)
        return Piece(data, spans, firsts[1:])


def batches(
    texts: Iterable[str | bytes], specials: Specials, splitter: Splitter, piece_bytes: int = PIECE_BYTES
) -> Iterator[Batch | Piece]:
    """Work in the order of the texts: batches of short ones, the pieces of long ones."""
    n_done = 0
    for listed in _lists(texts, piece_bytes):
        start = 0
        while start < len(listed):
            stop = batch_stop(listed, start, piece_bytes)
            if stop == start + 1 and total_length([listed[start]]) >= piece_bytes:
                yield from _cut(listed[start], specials, splitter, n_done, piece_bytes)
            else:
                batch = Batch(listed, start, stop, n_done)
                # Of several texts that would raise, it is the first that does, whichever thread is faster.
                yield batch.piece(specials) if specials.refused else batch
            n_done += stop - start
            start = stop


def _lists(texts: Iterable[str | bytes], least: int) -> Iterator[list[str | bytes]]:
    """All texts in lists; of those that an iterator makes, no more than a piece takes."""
    if isinstance(texts, list | tuple):
        yield list(texts)  # others may change theirs meanwhile
        return
    taken: list[str | bytes] = []
    size = 0
    for text in texts:
        taken.append(text)
        size += len(text) if isinstance(text, str | bytes) else least
        if size >= least or len(taken) == LIST_TEXTS:
            yield taken
            taken, size = [], 0
    yield taken


def _cut(text: str | bytes, specials: Specials, splitter: Splitter, number: int, piece_bytes: int) -> Iterator[Piece]:
    """The pieces of one long text."""
    data: Data = np.frombuffer(memoryview(Utf8(text)), np.uint8) if specials.normalizer is None else to_bytes(text)
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


def _place(data: Data, splitter: Splitter, start: int, stop: int, n_bytes: int) -> int:
    """Where to cut the text data[start:stop]: within n_bytes if it can be, else as soon as it can; -1: nowhere."""
    while n_bytes < stop - start:
        cut = splitter.last_cut(data, start, start + max(n_bytes, 0))
        if cut > start:
            return cut
        n_bytes = max(2 * n_bytes, 64)
    return -1
