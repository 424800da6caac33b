"""The ends of a shard's documents while it is being written: in memory, and in a file without a name when many.

A form of one file has all documents of the corpus in one shard, and memory must not grow with them.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

HELD = 1 << 18
"""Ends in memory, and in each array that is given back."""


class Ends:
    """int64 ends in the order in which they are added; the file, if there must be one, lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._held: list[npt.NDArray[np.int64]] = []
        self._n_held = self._n_written = 0

    def __len__(self) -> int:
        return self._n_written + self._n_held

    def add(self, ends: npt.NDArray[np.int64]) -> None:
        self._held.append(ends)
        self._n_held += len(ends)
        if self._n_held < HELD:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        for array in self._held:
            self._file.write(array.astype("<i8").tobytes())
        self._n_written += self._n_held
        self._held, self._n_held = [], 0

    def arrays(self) -> Iterator[npt.NDArray[np.int64]]:
        """All ends, an array after the other; can be called again."""
        if self._file is not None:
            self._file.seek(0)
            while data := self._file.read(8 * HELD):
                yield np.frombuffer(data, "<i8")
        yield from self._held

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
