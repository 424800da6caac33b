"""Blocks: stretches of bytes with the ends of the documents inside them, and where each document came from.

Readers give pieces of one file; `pack` puts small pieces together into blocks and hands big ones on without a copy.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

BLOCK_BYTES = 1 << 20

Buffer = bytes | bytearray | memoryview


class Address(NamedTuple):
    """Where a byte of the input stands: which source, which document in it (from 0), which byte offset.

    For formats with lines or rows `noun` says so, and `document` is the number of the line or row, from 1. The offset
    counts from the start of a file of plain text, else from the start of the document.
    """

    source: str
    document: int
    offset: int
    noun: str = "document"

    def __str__(self) -> str:
        return f"{self.source}, {self.noun} {self.document}, byte {self.offset}"


class Piece(NamedTuple):
    """Part of one source, as a reader gives it.

    data: the bytes; ends: int64, ascending ends of documents inside data; starts: int64, offset in the source of the
    first byte here of each document, the unfinished one at the end included. Bytes after the last end belong to a
    document that the next piece of the same source goes on with; `ends[0] == 0` ends the one before. numbers: int64,
    the line or row (`noun`) of each document, where documents are not simply counted.
    """

    data: Buffer
    ends: np.ndarray
    starts: np.ndarray
    numbers: np.ndarray | None = None
    noun: str = "document"


class Place(NamedTuple):
    """Where the documents of a block from number `first` on came from; `number` is the first one's in its source.

    starts, numbers, noun: as in Piece.
    """

    first: int
    source: str
    number: int
    starts: np.ndarray
    numbers: np.ndarray | None = None
    noun: str = "document"


@dataclass(slots=True)
class Block:
    """One stretch of the input.

    data: (n,) uint8, read only. ends: (documents,) int64, ascending; equal ends are empty documents. Bytes after the
    last end begin or continue a document that goes on in the next block. `position` is the offset of data[0] in the
    bytes of all blocks together.
    """

    data: np.ndarray
    ends: np.ndarray
    position: int = 0
    places: list[Place] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether bytes after the last end go on in the next block."""
        return len(self.data) > (int(self.ends[-1]) if len(self.ends) else 0)

    def address(self, document: int, offset: int) -> Address:
        """Address of the byte `offset` bytes after the start, within this block, of document number `document`."""
        # A document may lie in several places, one after the other; its first byte here is in the first of them.
        at = bisect_right(self.places, document, key=lambda place: place.first + len(place.starts))
        place = self.places[at]
        within = document - place.first
        number = place.number + within if place.numbers is None else int(place.numbers[within])
        return Address(place.source, number, int(place.starts[within]) + offset, place.noun)

    def address_at(self, position: int) -> Address:
        """Address of data[position]."""
        document = int(np.searchsorted(self.ends, position, side="right"))
        return self.address(document, position - (int(self.ends[document - 1]) if document else 0))


class SourcePiece(NamedTuple):
    """A piece with the name of its source and the number there of its first document."""

    piece: Piece
    source: str
    number: int


def pack(pieces: Iterable[SourcePiece], block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Blocks of about `block_bytes` bytes. What a block holds depends on the pieces and `block_bytes` alone."""
    data: list[Buffer] = []
    ends: list[np.ndarray] = []
    places: list[Place] = []
    size = documents = position = 0
    for piece, source, number in pieces:
        n = len(piece.data)
        # Ends cost memory too: a block of empty documents must not grow without bound.
        if (size and size + n > block_bytes) or documents > block_bytes // 8:
            yield _block(data, ends, places, position)
            position += size
            data, ends, places, size, documents = [], [], [], 0, 0
        places.append(Place(documents, source, number, piece.starts, piece.numbers, piece.noun))
        if n:
            data.append(piece.data)
        if len(piece.ends):
            ends.append(piece.ends + size if size else piece.ends)
        size += n
        documents += len(piece.ends)
    if size or documents:
        yield _block(data, ends, places, position)


def _block(data: list[Buffer], ends: list[np.ndarray], places: list[Place], position: int) -> Block:
    buffer = data[0] if len(data) == 1 else b"".join(data)
    array = np.frombuffer(buffer, dtype=np.uint8)
    array.flags.writeable = False
    all_ends = np.concatenate(ends) if ends else np.empty(0, np.int64)
    return Block(array, all_ends, position, places)
