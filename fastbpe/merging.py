"""Learning merges from chunk counts: the rules around the merge kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastbpe.alphabet import BYTE_ORDER
from fastbpe.counts import ChunkCounts
from fastbpe.errors import ParameterError
from fastbpe.kernels.merge import Merger

TIE_BREAKS = ("lowest", "huggingface", "first")

_WORK = 2_000_000
"""Occurrences looked at between two looks at signals and callbacks: some hundredths of a second."""


@dataclass(frozen=True)
class Merges:
    """Merges in the order learned. Bytes are 0..255 in `pairs`, merge k is 256 + k."""

    pairs: npt.NDArray[np.int64]
    """(n, 2): left and right."""
    counts: npt.NDArray[np.int64]
    """(n,): the pair's count when it was merged."""
    tokens_after: npt.NDArray[np.int64]
    """(n,): tokens in the corpus after the merge."""
    stop_reason: str
    """vocab_size, min_frequency or max_token_length."""

    def __len__(self) -> int:
        return len(self.pairs)


OnMerges = Callable[[Merges], object]
"""Gets the merges learned since the last call; the stop_reason of all but the last part is empty."""


def learn_merges(
    counts: ChunkCounts,
    n_merges: int,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    tie_break: str = "lowest",
    on_merges: OnMerges | None = None,
) -> Merges:
    """Learns up to n_merges merges; each takes the pair with the largest count (all adjacent positions, weighted).

    Ties: "lowest" takes the smallest (left, right), "huggingface" the same with the 256 bytes ordered by their GPT-2
    character, "first" the pair that occurs first in the rows of the counts as they are merged so far. Stops early when
    no pair reaches min_frequency, or when each that does would be longer than max_token_length bytes.
    """
    if tie_break not in TIE_BREAKS:
        raise ParameterError(f"tie_break={tie_break!r}: choose one of {', '.join(TIE_BREAKS)}")
    if min_frequency < 1:
        raise ParameterError(f"min_frequency={min_frequency}: it must be at least 1")
    if max_token_length is not None and max_token_length < 1:
        raise ParameterError(f"max_token_length={max_token_length}: it must be at least 1 byte, or None for no limit")
    if n_merges < 0:
        raise ParameterError(f"n_merges={n_merges}: it must not be negative")
    byte_ids = np.arange(256, dtype=np.uint32)
    if tie_break == "huggingface":
        byte_ids = BYTE_ORDER.astype(np.uint32)
    merger = Merger(
        counts.data,
        counts.starts,
        counts.counts,
        byte_ids,
        n_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        tie_first=tie_break == "first",
    )
    bytes_of = np.argsort(byte_ids)

    def part(since: int) -> Merges:
        pairs, pair_counts, tokens_after = merger.merges(since)
        pairs = pairs.astype(np.int64)
        pairs = np.where(pairs < 256, bytes_of[np.minimum(pairs, 255)], pairs)
        return Merges(pairs, pair_counts, tokens_after, merger.stop_reason or "")

    done = 0
    while merger.stop_reason is None:
        before, done = done, merger.run(work=_WORK)
        if on_merges is not None and (done > before or merger.stop_reason):
            on_merges(part(before))
    return part(0)
