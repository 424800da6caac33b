"""A checksum of documents, by which a source is known again. It does not depend on how they are cut into blocks.

It finds out what happens by mistake; it is no defence against a source made to look the same.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from fastbpe.corpus.blocks import Block
from fastbpe.shards.crc import crc32, shown


class Checksum:
    """CRC-32 of the bytes of all documents, and of the places where they end."""

    def __init__(self) -> None:
        self._data = self._ends = 0

    def add(self, data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        """The next bytes, and the ends of documents among them, counted from the first byte of all."""
        self._data = crc32(data, self._data)
        self._ends = crc32(np.ascontiguousarray(ends, "<i8"), self._ends)

    def state(self) -> list[int]:
        return [self._data, self._ends]

    def hex(self) -> str:
        return shown(self._data) + shown(self._ends)


def checksums(parts: Iterable[tuple[Block | None, ...]], splits: int, advance: Callable[[int], object]) -> list[str]:
    """The checksum of the documents of each of the splits, as `documents_of` gives them; `advance` hears of bytes."""
    found = [Checksum() for _ in range(splits)]
    for blocks in parts:
        for checksum, block in zip(found, blocks, strict=True):
            if block is not None:
                checksum.add(block.data, block.position + block.ends)
                advance(len(block.data))
    return [checksum.hex() for checksum in found]
