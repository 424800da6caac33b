"""Shuffles documents within a buffer of bounded size."""

import random
from collections.abc import Iterable, Iterator

import numpy as np

from fastbpe.corpus.blocks import Address, Block, Piece, SourcePiece, pack

BUFFER_BYTES = 256 << 20
BUFFER_DOCUMENTS = 1 << 18


def shuffled(blocks: Iterable[Block], seed: int, block_bytes: int) -> Iterator[Block]:
    """Blocks of the same documents in an order that `seed` and the documents decide.

    A document that comes in takes the place of one that is drawn at random from the buffer and goes out, so it can
    come out early by no more than the buffer, and late by any distance.
    """
    return pack(_drawn(_documents(blocks), random.Random(seed)), block_bytes)


def _documents(blocks: Iterable[Block]) -> Iterator[tuple[bytes, Address]]:
    parts: list[bytes] = []
    address: Address | None = None
    for block in blocks:
        start = 0
        for i, end in enumerate(block.ends.tolist()):
            address = address or block.address(i, 0)
            parts.append(block.data[start:end].tobytes())
            yield b"".join(parts), address
            parts, address, start = [], None, end
        if block.open:
            address = address or block.address(len(block.ends), 0)
            parts.append(block.data[start:].tobytes())


def _drawn(documents: Iterable[tuple[bytes, Address]], chance: random.Random) -> Iterator[SourcePiece]:
    buffer: list[tuple[bytes, Address]] = []
    size = 0

    def draw() -> SourcePiece:
        nonlocal size
        at = chance.randrange(len(buffer))
        buffer[at], buffer[-1] = buffer[-1], buffer[at]
        data, address = buffer.pop()
        size -= len(data)
        numbers = np.array([address.document], np.int64)
        starts = np.array([address.offset], np.int64)
        piece = Piece(data, np.array([len(data)], np.int64), starts, numbers, address.noun)
        return SourcePiece(piece, address.source, address.document)

    for document in documents:
        buffer.append(document)
        size += len(document[0])
        while size > BUFFER_BYTES or len(buffer) > BUFFER_DOCUMENTS:
            yield draw()
    while buffer:
        yield draw()
