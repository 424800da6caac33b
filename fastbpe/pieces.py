"""Texts cut into pieces of work: a buffer with spans, of a size that stays in a processor's cache.

Short texts share a piece, a long one is cut where the split pattern is sure to end a chunk. Bytes and ASCII are not
copied, other text is made UTF-8 piece by piece.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastbpe.cuts import Cuts
from fastbpe.kernels.join import Utf8Windows, batch_stop, join_texts, total_length
from fastbpe.normalizing import normalize_spans
from fastbpe.pattern.splitter import Splitter
from fastbpe.specials import Data, Specials

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
                yield from cut_text(listed[start], specials, splitter, n_done, piece_bytes)
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


def cut_text(
    text: str | bytes, specials: Specials, splitter: Splitter, number: int | None = None, piece_bytes: int = PIECE_BYTES
) -> Iterator[Piece]:
    """The pieces of one long text, `number` among others; no more of it than a piece or two is written as UTF-8.

    A text that can be cut nowhere becomes one piece.
    """
    windows, cuts = Utf8Windows(text), Cuts(splitter, specials.trie, specials.normalizer, apart=True)
    more = piece_bytes if splitter.cut_window or specials.trie is not None else sys.maxsize
    part, position = replace(specials, eos=-1), 0
    data, ended = windows.next(np.empty(0, np.uint8), more)
    searched = 0
    while not ended:
        cut = cuts.last(data, max(0, searched - cuts.reach), len(data), 0)
        if cut > 0:
            yield _piece(data, cut, part, number, position)
            part, position, data = replace(part, bos=-1), position + cut, data[cut:]
        searched = len(data)
        data, ended = windows.next(data, max(more, 0 if cut > 0 else searched))
    piece = _piece(data, len(data), replace(part, eos=specials.eos), number, position)
    yield piece._replace(text_ends=np.array([len(piece.spans)], np.int64))


def _piece(data: NDArray[np.uint8], stop: int, specials: Specials, number: int | None, position: int) -> Piece:
    """The piece of data[:stop]; what follows is there for the pattern to look ahead."""
    spans, _ = specials.marked(data, np.array([stop], np.int64), number, position)
    if len(spans) and spans[-1, 3] < 0:
        spans[-1, 2] = len(data)
    if specials.normalizer is None:
        return Piece(data, spans, np.empty(0, np.int64))
    return Piece(*normalize_spans(data.tobytes(), spans, specials.normalizer), np.empty(0, np.int64))
