"""Readers: from an opened file to pieces of documents.

A reader is a function `(file, options, block_bytes) -> Iterator[Piece]`; the file has only to give bytes by
`read(n)`. It ends every document it begins, and a piece holds little more than `block_bytes`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fastbpe.corpus.blocks import Piece


class ReadableFile(Protocol):
    def read(self, n: int, /) -> bytes: ...


@dataclass(frozen=True)
class ReaderOptions:
    """How documents are told apart inside a file. Neither: the file is one document."""

    separator: bytes | None = None
    lines: bool = False


Reader = Callable[[ReadableFile, ReaderOptions, int], Iterator[Piece]]


def read_text(file: ReadableFile, options: ReaderOptions, block_bytes: int) -> Iterator[Piece]:
    """Plain text: nothing is stripped, decoded or normalised."""
    if options.separator is not None:
        return _separated(file, options.separator, block_bytes)
    return _lines(file, block_bytes) if options.lines else _whole(file, block_bytes)


def _fill(file: ReadableFile, n: int) -> bytes:
    """`n` bytes, or fewer only at the end of the file (a pipe gives short reads before it)."""
    data = file.read(n)
    if len(data) == n or not data:
        return data
    parts = [data]
    missing = n - len(data)
    while missing and (data := file.read(missing)):
        parts.append(data)
        missing -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _whole(file: ReadableFile, block_bytes: int) -> Iterator[Piece]:
    offset = 0
    last = False
    while not last:
        data = _fill(file, block_bytes)
        last = len(data) < block_bytes
        yield Piece(data, _int64(len(data)) if last else _int64(), _int64(offset))
        offset += len(data)


def _lines(file: ReadableFile, block_bytes: int) -> Iterator[Piece]:
    offset = 0
    open_line = False
    while data := _fill(file, block_bytes):
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        starts = np.concatenate((_int64(0), ends)) + offset
        open_line = not len(ends) or int(ends[-1]) < len(data)
        yield Piece(data, ends, starts if open_line else starts[:-1])
        offset += len(data)
        if len(data) < block_bytes:
            break
    if open_line:
        yield Piece(b"", _int64(0), _int64(offset))


def _separated(file: ReadableFile, separator: bytes, block_bytes: int) -> Iterator[Piece]:
    """Cut at the leftmost, non-overlapping occurrences of the separator, as `bytes.split` does."""
    tail = b""
    offset = 0
    last = False
    while not last:
        fresh = _fill(file, block_bytes)
        last = len(fresh) < block_bytes
        parts = (tail + fresh).split(separator)
        # A separator that begins in the unfinished document can only begin in its last bytes.
        keep = 0 if last else min(len(separator) - 1, len(parts[-1]))
        tail = parts[-1][len(parts[-1]) - keep :]
        parts[-1] = parts[-1][: len(parts[-1]) - keep]
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
        starts = np.empty(len(parts), np.int64)
        starts[0] = offset
        starts[1:] = offset + ends[:-1] + len(separator) * np.arange(1, len(parts))
        yield Piece(b"".join(parts), ends if last else ends[:-1], starts)
        offset = int(starts[-1]) + len(parts[-1])


def _int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)
