"""A counter that stays within a number of bytes: what its partitions have no room for goes to runs."""

import threading
from collections.abc import Iterator
from typing import Self

import numpy as np
import numpy.typing as npt

from fastbpe.errors import ParameterError
from fastbpe.kernels.count import Counter
from fastbpe.kernels.partitions import trim
from fastbpe.kernels.split import SplitTable
from fastbpe.pipeline.memory import memory_bound, resident_memory
from fastbpe.pipeline.room import Room
from fastbpe.pipeline.runs import Run, Runs, Table
from fastbpe.text import counted

THREAD_BYTES = 8 << 20
"""What a thread takes besides: its cache, the stretches under way, and how far it may overshoot before it looks."""
LEAST_BYTES = 8 << 20
COPIES = 3
"""A text that is one chunk lies in its stretch and in a partition, and once more when that is written to a run."""


class BoundedCounter:
    """A `Counter` that writes partitions to runs when all of them take more than `table_bytes`; to `runs` if given.

    room: for texts of which each takes `copies` times its size. What of it is taken the partitions cannot have.
    """

    def __init__(
        self,
        table_bytes: int,
        cache_bits: int = 14,
        partition_bits: int = 6,
        runs: Runs | None = None,
        copies: int = COPIES,
    ) -> None:
        self._table_bytes = table_bytes
        self.room = Room(max(2 * table_bytes - LEAST_BYTES, LEAST_BYTES), copies, self._fit)
        self._counter = Counter(cache_bits, partition_bits, True)
        self._runs = Runs() if runs is None else runs
        self._spilling = threading.Lock()

    def add(
        self,
        data: npt.NDArray[np.uint8],
        spans: npt.NDArray[np.int64],
        position: int,
        table: SplitTable | None,
        ends: npt.NDArray[np.int64] | None,
        multiplier: int = 1,
    ) -> None:
        """See `Counter.add`; whoever finds too much writes it out, and the others wait for that."""
        self._counter.add(data, spans, position, table, ends, multiplier)
        self._fit()

    def finish(self) -> Table:
        """(data, starts, counts) in order of first appearance; mapped from files when there were runs."""
        if not self._runs:
            return self._counter.finish()
        for taken in self._taken():
            self._runs.write([taken], lasting=False)
        del self._counter
        trim()
        return self._runs.table(max(LEAST_BYTES, self._table_bytes))

    def write_out(self) -> None:
        """Brings all that was counted to the runs. RuntimeError while another thread adds."""
        self._runs.write(self._taken())

    def _taken(self) -> Iterator[tuple[int, Run]]:
        self._counter.flush()
        for partition in range(len(self._counter.sizes())):
            yield partition, self._counter.take(partition)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()

    @property
    def _limit(self) -> int:
        """Taking the rows out of the partitions needs about as much again, so half of what texts leave free."""
        return max(0, self._table_bytes - self.room.used // 2)

    def _fit(self) -> None:
        if int(self._counter.sizes().sum()) > self._limit:
            with self._spilling:
                self._spill()

    def _spill(self) -> None:
        """Writes the largest partitions until half of the bytes are free."""
        sizes, limit = self._counter.sizes(), self._limit
        total = int(sizes.sum())
        if total <= limit:
            return  # another thread has done it
        for partition in np.argsort(-sizes).tolist():
            if total <= limit // 2:
                break
            self._runs.write([(partition, self._counter.take(partition))])
            total -= int(sizes[partition])
        trim()


def table_bytes(memory: str | int | None, threads: int) -> int:
    """How many bytes of a `memory=` bound the partitions may take.

    ParameterError when a bound that was given leaves too little; the text says the least.
    """
    taken = resident_memory() + threads * THREAD_BYTES
    # Taking the rows out of the partitions needs about as much again.
    free = (memory_bound(memory) - taken) // 2
    if free < LEAST_BYTES and memory is not None:
        least = -(-(taken + 2 * LEAST_BYTES) // 10**6)
        raise ParameterError(
            f"memory={memory!r} is too little to count with {counted(threads, 'thread')}: "
            f"give at least {least}MB{', or fewer threads' if threads > 1 else ''}"
        )
    return max(free, LEAST_BYTES)
