"""Shards as PyTorch datasets (extra `torch`): windows of (x, y) for training language models."""

import os
from collections.abc import Iterator
from typing import Any

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: fastbpe.data needs pip install 'fastbpe-engine[torch]'", name=error.name
    ) from None

from fastbpe.errors import ParameterError
from fastbpe.shards.reader import TokenShards
from fastbpe.shards.windows import Plan, Window, Windows

Pair = tuple[torch.Tensor, torch.Tensor]


def _tensors(window: Window) -> Pair:
    return torch.from_numpy(window.x), torch.from_numpy(window.y)


class TokenWindows(Dataset[Pair]):
    """Windows by number: item k is (x, y), int64 tensors (length,), y being x moved on by one token.

    Of packed shards an item is a row, and `length` must be one less than its tokens; y is -100 where it would be
    padding or the first token of another document, which `cross_entropy` leaves out.

    split: "train", "val", or None for all. Raises DataError for what are no shards, ParameterError for another split.
    """

    def __init__(self, path: str | os.PathLike[str], length: int, split: str | None = "train") -> None:
        self.windows = Windows(TokenShards(path), length, split)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, number: int) -> Pair:
        return _tensors(self.windows[number])


class TokenStream(IterableDataset[Pair]):
    """Windows (rows of packed shards) in a shuffled order, those of one rank; an iteration is what is left of an epoch,
    the next a new one.

    seed: None takes the windows as they stand. rank and world_size: None asks torch.distributed, where it runs. In a
    DataLoader the workers share the rank's windows; with its batch_size given here too, which it does not tell, they
    come in the same order as without workers. (batch_size=None of a DataLoader is 1 here.)

    `state_dict` and `load_state_dict` go on exactly where the training stood. A DataLoader takes windows ahead of the
    training, so say how many windows the training has taken: state_dict(taken=n), n counted since the last
    load_state_dict or set_epoch, through the ends of epochs; where drop_last leaves some out, call set_epoch before
    each. Without workers ahead of it the dataset knows by itself. How many workers there are, and the batch_size, may
    change in between.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        length: int,
        split: str | None = "train",
        seed: int | None = 0,
        rank: int | None = None,
        world_size: int | None = None,
        batch_size: int = 1,
    ) -> None:
        if batch_size < 1:
            raise ParameterError(f"batch_size must be at least 1, not {batch_size}")
        if rank is None or world_size is None:
            running = torch.distributed.is_available() and torch.distributed.is_initialized()
            rank = torch.distributed.get_rank() if running else 0
            world_size = torch.distributed.get_world_size() if running else 1
        self.plan = Plan(Windows(TokenShards(path), length, split), seed, rank, world_size)
        self._since = (0, 0)
        self._batch = batch_size

    def __len__(self) -> int:
        return self.plan.per_epoch - self.plan.taken

    def __iter__(self) -> Iterator[Pair]:
        worker = get_worker_info()
        part, parts = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for place, window in self.plan.take(part, parts, self._batch):
            if worker is None:
                self.plan.taken = place + 1
            yield _tensors(window)
        if worker is None:
            self.plan.epoch, self.plan.taken = self.plan.epoch + 1, 0

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch: its order is its own. With workers it must be called before each."""
        self.plan.epoch, self.plan.taken = epoch, 0
        self._since = (epoch, 0)

    def state_dict(self, taken: int | None = None) -> dict[str, Any]:
        return self.plan.state() if taken is None else self.plan.state(self._since, taken)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.plan.set_state(state)
        self._since = (self.plan.epoch, self.plan.taken)
