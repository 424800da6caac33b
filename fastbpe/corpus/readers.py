"""The reader of plain text, and what all readers have in common.

A reader makes an Iterator[Piece] of a file that has only to give bytes by `read(n)`. It ends every document it begins,
and a piece holds little more than `block_bytes`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fastbpe.corpus.blocks import Address, Buffer, Piece
from fastbpe.corpus.report import Damaged
from fastbpe.kernels.separator import cut_out


class ReadableFile(Protocol):
    def read(self, n: int, /) -> bytes: ...


@dataclass(frozen=True)
class ReaderOptions:
    """How documents are told apart inside a file.

    separator, lines: of plain text; neither: the file is one document. text_field: the field of JSON Lines or column
    of a table that holds the text, nested ones with dots; None: `text`, else `content`. where: (field, value) that
    records must have. members: a glob that members of tar archives must match. on_long: called before a line of JSON
    Lines, which is held whole, grows beyond a block, with the bytes it grows to and where it is; raises to refuse it.
    """

    separator: bytes | None = None
    lines: bool = False
    text_field: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    members: str | None = None
    on_long: Callable[[int, Address], None] | None = field(default=None, compare=False)

    @property
    def plain(self) -> bool:
        """Whether plain text is cut, so that it is plain text that is meant."""
        return self.lines or self.separator is not None

    @property
    def fields(self) -> bool:
        """Whether records with fields are meant."""
        return self.text_field is not None or bool(self.where)


def read_text(file: ReadableFile, options: ReaderOptions, block_bytes: int) -> Iterator[Piece]:
    """Plain text: nothing is stripped, decoded or normalised."""
    if options.separator is not None:
        return _separated(file, options.separator, block_bytes)
    return _lines(file, block_bytes) if options.lines else _whole(file, block_bytes)


def fill(file: ReadableFile, n: int) -> tuple[bytes, bool]:
    """`n` bytes, or fewer only at the end of the file (a pipe gives short reads before it), and whether it is there.

    Fewer also where the file turns out to be damaged; then it has not ended, and the next call raises Damaged.
    """
    data = file.read(n)
    if len(data) == n:
        return data, False
    parts = [data]
    missing = n - len(data)
    while missing and parts[-1]:
        try:
            parts.append(file.read(missing))
        except Damaged:
            return b"".join(parts), False
        missing -= len(parts[-1])
    return b"".join(parts), missing > 0


def cut_pieces(data: Buffer, ends: np.ndarray, numbers: np.ndarray, noun: str, block_bytes: int) -> Iterator[Piece]:
    """Pieces of about `block_bytes` of whole documents that lie in one buffer, without a copy.

    data: bytes from 0 to ends[-1]; ends: int64 ascending; numbers: int64, the line or row of each.
    """
    view = memoryview(data)
    first = start = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, start + block_bytes, side="right")))
        last = min(last, first + block_bytes // 8 + 1)
        stop = int(ends[last - 1])
        zeros = np.zeros(last - first, np.int64)
        if last == first + 1 and stop - start > block_bytes:  # one long document
            for at in range(start, stop, block_bytes):
                part = view[at : min(stop, at + block_bytes)]
                part_ends = _int64(len(part)) if at + len(part) == stop else _int64()
                yield Piece(part, part_ends, _int64(at - start), numbers[first:last], noun)
        else:
            yield Piece(view[start:stop], ends[first:last] - start, zeros, numbers[first:last], noun)
        first, start = last, stop


def _whole(file: ReadableFile, block_bytes: int) -> Iterator[Piece]:
    offset = 0
    last = False
    while not last:
        data, last = fill(file, block_bytes)
        yield Piece(data, _int64(len(data)) if last else _int64(), _int64(offset))
        offset += len(data)


def _lines(file: ReadableFile, block_bytes: int) -> Iterator[Piece]:
    offset = 0
    last = open_line = False
    while not last:
        data, last = fill(file, block_bytes)
        if not data:
            continue
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        starts = np.concatenate((_int64(0), ends)) + offset
        open_line = not len(ends) or int(ends[-1]) < len(data)
        yield Piece(data, ends, starts if open_line else starts[:-1])
        offset += len(data)
    if open_line:
        yield Piece(b"", _int64(0), _int64(offset))


def _separated(file: ReadableFile, separator: bytes, block_bytes: int) -> Iterator[Piece]:
    """Cut at the leftmost, non-overlapping occurrences of the separator, as `bytes.split` does."""
    tail = b""
    offset = 0
    last = False
    while not last:
        try:
            fresh, last = fill(file, block_bytes)
        except Damaged:
            if tail:  # no separator is left that it could be the beginning of
                yield Piece(tail, _int64(), _int64(offset))
            raise
        text, ends = cut_out(tail + fresh if tail else fresh, separator)
        open_bytes = len(text) - (int(ends[-1]) if len(ends) else 0)
        keep = 0 if last else _begun(text[len(text) - min(open_bytes, len(separator) - 1) :].tobytes(), separator)
        tail = text[len(text) - keep :].tobytes()
        text = text[: len(text) - keep]
        starts = np.empty(len(ends) + 1, np.int64)
        starts[0] = offset
        starts[1:] = offset + ends + len(separator) * np.arange(1, len(ends) + 1)
        yield Piece(text.data, np.append(ends, len(text)) if last else ends, starts)
        offset = int(starts[-1]) + open_bytes - keep


def _begun(text: bytes, separator: bytes) -> int:
    """How many bytes at the end of the text a separator may begin with; all of the text is shorter than it."""
    at = text.find(separator[:1])
    while at >= 0 and not separator.startswith(text[at:]):
        at = text.find(separator[:1], at + 1)
    return len(text) - at if at >= 0 else 0


def _int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)
