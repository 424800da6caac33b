"""A lane: the stretches of one split on their way to its shards, and where in them a run before has come to."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastbpe.corpus.blocks import Address
from fastbpe.errors import FormatError, ParameterError
from fastbpe.pipeline.checksum import Checksum
from fastbpe.pipeline.invalid import InvalidBytes
from fastbpe.pipeline.progress import Progress
from fastbpe.pipeline.stretches import Stretch, StretchPacker
from fastbpe.shards.forms import Origin
from fastbpe.shards.journal import Journal
from fastbpe.shards.packing import RowPacker, RowState


class Work(NamedTuple):
    """A stretch to encode: its lane, its number there, and the checksum of the lane's documents up to its end, by which
    a later run knows the source again. origins: of the documents that end in it, where the form wants them."""

    lane: "Lane"
    stretch: Stretch
    number: int
    checksum: list[int]
    origins: list[Origin]


@dataclass
class Found:
    """What the manifest tells of the text: special tokens left as text, and bytes that are not UTF-8."""

    left: Counter[str] = field(default_factory=Counter)
    invalid: InvalidBytes = field(default_factory=InvalidBytes)

    def add(self, other: "Found") -> None:
        self.left.update(other.left)
        self.invalid.add(other.invalid)

    def as_json(self) -> dict[str, Any]:
        return {"left": dict(sorted(self.left.items())), "invalid": [self.invalid.count, self.invalid.first]}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "Found":
        count, first = entry["invalid"]
        return cls(Counter(entry["left"]), InvalidBytes(count, None if first is None else Address(*first)))


class Lane:
    """The stretches of one split, from the one on in which its last complete shard ends. Without splits there is one.

    `offset`: how many of the next stretch's tokens, laid into rows if there are `rows`, lie in complete shards; None
    when the next stretch is a new one.
    """

    def __init__(
        self, split: str | None, journal: Journal, packer: StretchPacker, rows: RowPacker | None, dtype: np.dtype[Any]
    ) -> None:
        lines = [line for line in journal.entries if split is None or line["shard"]["split"] == split]
        self.split = split
        self.packer = packer
        self.rows = rows
        self.found = Found()
        self.offset: int | None = None
        self.origins: deque[Origin] = deque()
        self.checksum = Checksum()
        self.number = 0
        self._state: dict[str, Any] | None = None
        if lines:
            try:
                self._go_on(lines[-1], dtype)
            except (KeyError, TypeError, ValueError):
                raise FormatError(
                    f"{journal.directory}: its journal is damaged; remove the directory and start anew"
                ) from None

    def _go_on(self, line: dict[str, Any], dtype: np.dtype[Any]) -> None:
        self._state, self.offset = line["state"], line["offset"]
        if not {"stretch", "checksum", "last", "found", "rows"} <= {*self._state}:
            raise KeyError
        self.found = Found.from_json(self._state["found"])
        if self.rows is not None:
            self.rows.restore(RowState.from_json(self._state["rows"]), dtype)

    def work(self, stretches: Iterator[Stretch], progress: Progress) -> Iterator[Work]:
        """What is to be done of the next stretches. Raises ParameterError when the source is not as it was."""
        for stretch in stretches:
            self.checksum.add(stretch.data[: stretch.stop], stretch.position + stretch.ends)
            origins = [self.origins.popleft() for _ in stretch.ends] if self.origins else []
            number = self.number
            self.number += 1
            state = self._state
            if state is not None and number < state["stretch"]:
                progress.advance(stretch.stop)
                continue
            checksum = self.checksum.state()
            if state is not None and number == state["stretch"]:
                self._check(checksum == state["checksum"] and not state["last"])
            yield Work(self, stretch, number, checksum, origins)

    def over(self) -> None:
        """Raises ParameterError when the source ends before what complete shards hold."""
        state = self._state
        if state is not None and state["last"]:
            self._check(self.number == state["stretch"] and self.checksum.state() == state["checksum"])
        elif state is not None:
            self._check(self.number > state["stretch"])

    @staticmethod
    def _check(same: bool) -> None:
        if not same:
            raise ParameterError("cannot go on: the source is not as it was; remove the directory and start anew")

    def state(self, number: int, checksum: list[int], last: bool = False) -> Callable[[], dict[str, Any]]:
        """What the journal says of a shard's end: the stretch it lies in (`last`: that all are over), the checksum of
        the documents up to and with it, what was found before it, and how far rows are filled now.

        Most stretches are the end of no shard, so all this is made when it is called.
        """
        rows = None if self.rows is None else self.rows.state()
        return lambda: {
            "stretch": number,
            "checksum": checksum,
            "last": last,
            "found": self.found.as_json(),
            "rows": None if rows is None else rows.as_json(),
        }
