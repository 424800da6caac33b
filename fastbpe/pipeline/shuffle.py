"""Shuffles documents within a buffer of bounded size."""

import random
from collections.abc import Iterable, Iterator

import numpy as np

from fastbpe.corpus.blocks import Block, Piece, SourcePiece, pack

BUFFER_BYTES = 256 << 20
BUFFER_DOCUMENTS = 1 << 18
PIECE_BYTES = 1 << 16

# Plain tuples: there is one for every document of the corpus.
_Address = tuple[str, str, int, int]  # source, noun, number, offset
_Document = tuple[bytes, str, str, int, int]


def shuffled(blocks: Iterable[Block], seed: int, block_bytes: int) -> Iterator[Block]:
    """Blocks of the same documents in an order that `seed` and the documents decide.

    A document that comes in takes the place of one that is drawn at random from the buffer and goes out, so it can
    come out early by no more than the buffer, and late by any distance.
    """
    return pack(_drawn(_documents(blocks), random.Random(seed), min(block_bytes, PIECE_BYTES)), block_bytes)


def _documents(blocks: Iterable[Block]) -> Iterator[_Document]:
    parts: list[bytes] = []
    address: _Address | None = None
    for block in blocks:
        addresses = _addresses(block)
        data = block.data.tobytes()
        start = 0
        for end in block.ends.tolist():
            here = next(addresses)
            if address is None:
                yield data[start:end], *here
            else:
                parts.append(data[start:end])
                yield b"".join(parts), *address
                parts, address = [], None
            start = end
        if block.open:
            address = address or next(addresses)
            parts.append(data[start:])


def _addresses(block: Block) -> Iterator[_Address]:
    """Where each document of a block begins, as `Block.address` has it, but of one after the other."""
    document = 0
    for place in block.places:
        within = document - place.first
        starts = place.starts[within:].tolist()
        if place.numbers is None:
            numbers = range(place.number + within, place.number + len(place.starts))
        else:
            numbers = place.numbers[within:].tolist()
        for start, number in zip(starts, numbers, strict=True):
            yield place.source, place.noun, number, start
        document += len(starts)


def _drawn(documents: Iterable[_Document], chance: random.Random, piece_bytes: int) -> Iterator[SourcePiece]:
    """The documents as they are drawn; those of one source that come one after the other are in one piece."""
    drawn: list[_Document] = []
    waiting = 0
    for document in _order(documents, chance):
        if drawn and (waiting >= piece_bytes or document[1:3] != drawn[0][1:3]):
            yield _piece(drawn)
            drawn, waiting = [], 0
        drawn.append(document)
        waiting += len(document[0]) + 8
    if drawn:
        yield _piece(drawn)


def _order(documents: Iterable[_Document], chance: random.Random) -> Iterator[_Document]:
    buffer: list[_Document] = []
    size = 0
    # Of all that the module draws only this is promised to stay as it is from one Python to the next.
    uniform = chance.random
    for document in documents:
        buffer.append(document)
        size += len(document[0])
        while size > BUFFER_BYTES or len(buffer) > BUFFER_DOCUMENTS:
            at = int(uniform() * len(buffer))
            buffer[at], buffer[-1] = buffer[-1], buffer[at]
            size -= len(buffer[-1][0])
            yield buffer.pop()
    while buffer:
        at = int(uniform() * len(buffer))
        buffer[at], buffer[-1] = buffer[-1], buffer[at]
        yield buffer.pop()


def _piece(documents: list[_Document]) -> SourcePiece:
    texts, sources, nouns, numbers, starts = zip(*documents, strict=True)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    piece = Piece(b"".join(texts), ends, np.array(starts, np.int64), np.array(numbers, np.int64), nouns[0])
    return SourcePiece(piece, sources[0], numbers[0])
