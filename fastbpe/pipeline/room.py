"""Memory for texts that cannot be cut, shared by the one that is gathered and those that are counted; for records."""

import threading
from collections.abc import Callable

from fastbpe.corpus.blocks import Address
from fastbpe.errors import MemoryBoundError

RECORD_COPIES = 6
"""A line of JSON Lines, its text as str of up to four bytes a character, and that as UTF-8."""


class Room:
    """`n_bytes` for such texts, each of which takes `copies` times its size until it is counted.

    on_taken: called, from the thread that takes, whenever more of it is taken.
    """

    def __init__(self, n_bytes: int, copies: int = 1, on_taken: Callable[[], None] = lambda: None) -> None:
        self.n_bytes, self.copies = n_bytes, copies
        self._on_taken = on_taken
        self._used = self._lent = self._kept = 0
        self._returned = threading.Condition()

    @property
    def used(self) -> int:
        """Bytes that are taken now, or kept."""
        return self._used + self._kept

    def keep_for_record(self, n: int, where: Address) -> None:
        """Keeps what reading a record of n bytes takes, from now on, for all records are read alike. It never waits.

        Raises MemoryBoundError when that is more than half of the room; `where` is where the record stands.
        """
        if RECORD_COPIES * n > self.n_bytes // 2:
            raise MemoryBoundError(
                f"{where.source}, {where.noun} {where.document}: grows beyond the "
                f"{self.n_bytes / 2 / RECORD_COPIES / 1e6:,.1f} MB that there is room for, {RECORD_COPIES} times, "
                "within the bound of memory: give more memory, use fewer threads, or give its text as a file of plain "
                "text"
            )
        with self._returned:
            more, self._kept = RECORD_COPIES * n > self._kept, max(self._kept, RECORD_COPIES * n)
        if more:
            self._on_taken()

    def take(self, n: int, where: Callable[[], Address]) -> None:
        """Takes n bytes; waits for what is lent where they are not free.

        Raises MemoryBoundError when they would not be free then; `where()` is where the text begins.
        """
        with self._returned:
            while self._used + self._kept + n > self.n_bytes:
                if not self._lent:
                    raise MemoryBoundError(
                        f"{where()}: the text that begins there has no place to cut and grows beyond the "
                        f"{self.n_bytes / self.copies / 1e6:,.0f} MB that there is room for, {self.copies} times, "
                        "within the bound of memory: give more memory, use fewer threads, cut the text into documents "
                        "(lines, separator), or choose a pattern that cuts it"
                    )
                self._returned.wait()
            self._used += n
        self._on_taken()

    def lend(self, n: int) -> None:
        """n of the bytes that were taken will be given back, from any thread, whatever happens in this one."""
        with self._returned:
            self._lent += n

    def give_back(self, n: int, lent: bool = False) -> None:
        """n bytes are free again."""
        with self._returned:
            self._used -= n
            self._lent -= n if lent else 0
            self._returned.notify_all()
