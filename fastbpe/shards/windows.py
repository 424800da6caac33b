"""Windows over the tokens of shards, in an order that a seed decides, dealt to the ranks of a training; no torch here.

Window k is tokens k * length to (k + 1) * length, and the one after them: x is all but the last of these, y all but the
first. In shards that were packed a window is a row, so that `length` is one less than the row's tokens, and y is
IGNORED where it would be padding or the first token of another document. Every epoch takes all windows once in its own
order; what does not divide by the number of readers is left out at the end of the epoch, so that all of them take as
many steps.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbpe.errors import ParameterError
from fastbpe.shards.reader import TokenShards

IGNORED = -100
"""What stands in y where nothing is to be learned; PyTorch's cross entropy leaves it out."""


class Window(NamedTuple):
    """x and y: int64 (length,), y being x moved on by one token."""

    x: npt.NDArray[np.int64]
    y: npt.NDArray[np.int64]


class Windows:
    """The windows of `length` tokens of the shards of one split, or of all."""

    def __init__(self, shards: TokenShards, length: int, split: str | None = None) -> None:
        if length < 1:
            raise ParameterError(f"length must be at least 1, not {length}")
        known = sorted({shard.split for shard in shards.manifest.shards})
        if split is not None and split not in known:
            raise ParameterError(f"split={split!r}: these shards have {', '.join(known) or 'none'}")
        pack = shards.manifest.pack
        if pack is not None and length != pack - 1:
            raise ParameterError(f"length {length}: these shards have rows of {pack} tokens, so it must be {pack - 1}")
        self.shards = shards
        self.length = length
        self.start, self.stop = _range(shards, split)

    def __len__(self) -> int:
        if self.shards.manifest.pack is not None:
            return (self.stop - self.start) // (self.length + 1)
        return max(0, (self.stop - self.start - 1) // self.length)

    def __getitem__(self, number: int) -> Window:
        if not 0 <= number < len(self):
            raise IndexError(f"window {number} of {len(self)}")
        step = self.length if self.shards.manifest.pack is None else self.length + 1
        at = self.start + number * step
        tokens = np.asarray(self.shards[at : at + self.length + 1], np.int64)
        x, y = tokens[:-1], tokens[1:]
        if step > self.length:
            y = np.where(self.shards.goes_on(at // step)[1:], y, IGNORED)
        return Window(x, y)


def _range(shards: TokenShards, split: str | None) -> tuple[int, int]:
    """Where a split's tokens start and stop; the shards of a split stand together."""
    at = 0
    inside: list[int] = []
    for shard in shards.manifest.shards:
        if split is None or shard.split == split:
            inside += [at, at + shard.tokens]
        at += shard.tokens
    return (min(inside), max(inside)) if inside else (0, 0)


class Order:
    """The order of n windows: shuffled anew in every epoch when there is a seed, else as they stand.

    The place of a window in an epoch's order is found without a list of all: a Feistel network permutes the next
    power of four, and what falls outside is permuted again.
    """

    ROUNDS = 6

    def __init__(self, n: int, seed: int | None, epoch: int) -> None:
        self.n = n
        self.half = max(1, (max(1, n - 1).bit_length() + 1) // 2)
        self.mask = (1 << self.half) - 1
        self.keys: list[int] | None = None
        if seed is not None:
            chosen = np.random.SeedSequence([seed % (1 << 64), epoch]).generate_state(self.ROUNDS, np.uint64)
            self.keys = [int(key) for key in chosen]

    def __getitem__(self, place: int) -> int:
        if self.keys is None:
            return place
        while True:
            place = self._permuted(place)
            if place < self.n:
                return place

    def _permuted(self, value: int) -> int:
        assert self.keys is not None
        left, right = value >> self.half, value & self.mask
        for key in self.keys:
            mixed = ((right + 1) * 0x9E3779B97F4A7C15 + key) & 0xFFFFFFFFFFFFFFFF
            mixed ^= mixed >> 29
            mixed = (mixed * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
            left, right = right, left ^ ((mixed >> 32) & self.mask)
        return (left << self.half) | right


class Plan:
    """Which windows one reader takes, one after the other: reader `rank` of `world`, and where it stands.

    `state` and `set_state` save and restore the place exactly; the next window after both is the same.
    """

    def __init__(self, windows: Windows, seed: int | None = None, rank: int = 0, world: int = 1) -> None:
        if not 0 <= rank < world:
            raise ParameterError(f"rank {rank} of world_size {world}: it must be from 0 to {world - 1}")
        self.windows, self.seed, self.rank, self.world = windows, seed, rank, world
        self.epoch = 0
        self.taken = 0

    @property
    def per_epoch(self) -> int:
        """Windows that each reader takes in an epoch."""
        return len(self.windows) // self.world

    def take(self, part: int = 0, parts: int = 1, batch: int = 1) -> Iterator[tuple[int, Window]]:
        """(place, window) from here to the end of the epoch; worker `part` of `parts` takes every parts-th batch.

        The first batch from here is that of part 0, wherever here is: it is the worker that is asked first.
        """
        order = Order(len(self.windows), self.seed, self.epoch)
        for first in range(self.taken + part * batch, self.per_epoch, parts * batch):
            for place in range(first, min(first + batch, self.per_epoch)):
                yield place, self.windows[order[place * self.world + self.rank]]

    def state(self, since: tuple[int, int] | None = None, n: int = 0) -> dict[str, Any]:
        """Where it stands, or where n windows after `since`, an epoch and what was taken of it, lead."""
        epoch, taken = (self.epoch, self.taken) if since is None else since
        taken += n
        more = max(0, taken - 1) // max(1, self.per_epoch)  # the end of an epoch is not yet the next one
        return {"epoch": epoch + more, "taken": taken - more * self.per_epoch, "identity": self._identity()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Raises ParameterError for a state of other shards, windows, seed or ranks."""
        if state.get("identity") != self._identity():
            raise ParameterError(
                f"the state is of another reading ({state.get('identity')}, not {self._identity()}); "
                "restore it with the same shards, length, split, seed, rank and world_size"
            )
        self.epoch, self.taken = state["epoch"], state["taken"]

    def _identity(self) -> dict[str, Any]:
        windows = self.windows
        manifest = windows.shards.manifest
        return {
            "fingerprint": manifest.fingerprint,
            "tokens": [windows.start, windows.stop],
            "shards": [shard.crc32 for shard in manifest.shards][:3],
            "length": windows.length,
            "seed": self.seed,
            "rank": self.rank,
            "world_size": self.world,
        }
