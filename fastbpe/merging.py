"""Learning merges from chunk counts: the rules around the merge kernel."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbpe.alphabet import BYTE_ORDER
from fastbpe.counts import ChunkCounts
from fastbpe.errors import ParameterError, check_choice
from fastbpe.kernels.merge import Merger

TIE_BREAKS = ("lowest", "huggingface", "first")

_LARGEST = 2**63 - 1
"""No count and no length is larger, so that a larger limit means the same."""

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
    denominator: int = 1
    """By which the counts and tokens are multiplied, where chunks have weights."""

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, part: slice) -> Merges:
        return replace(self, pairs=self.pairs[part], counts=self.counts[part], tokens_after=self.tokens_after[part])


def merging_need(n_bytes: int, n_chunks: int, n_merges: int) -> int:
    """The memory that learning n_merges from so many distinct chunks of so many bytes takes beside them, rounded up.

    A cell of four bytes for each token and each chunk, and a place of eight for each pair that is kept: as a rule
    fewer are kept than there are tokens, but those that no longer hold their pair stay until it is merged.
    """
    cells = n_bytes + 2 * n_chunks
    return 16 * cells + 128 * within_reach(n_merges, n_bytes, n_chunks) + 2**25


def within_reach(n_merges: int, n_tokens: int, n_chunks: int) -> int:
    """n_merges, or a number that cannot be reached where that is less: each merge joins two tokens of some chunk."""
    return min(n_merges, max(0, n_tokens - n_chunks) + 1)


OnMerges = Callable[[Merges], object]
"""Gets the merges learned since the last call; the stop_reason of all but the last part is empty."""


@dataclass(frozen=True)
class MergeRules:
    """Which merge comes next, and when none does. ParameterError for what cannot be asked for."""

    min_frequency: int = 2
    """Learning stops when no pair reaches it, in weighted counts."""
    max_token_length: int | None = None
    """Bytes; no merge makes a longer token, and learning stops when each that is left would."""
    tie_break: str = "lowest"
    """Of pairs with the same count "lowest" takes the smallest (left, right), "huggingface" the same with the 256 bytes
    ordered by their GPT-2 character, "first" the pair that occurs first in the rows as they are merged so far."""

    def __post_init__(self) -> None:
        check_choice("tie_break", self.tie_break, TIE_BREAKS)
        if operator.index(self.min_frequency) < 1:
            raise ParameterError(f"min_frequency={self.min_frequency}: it must be at least 1")
        if self.max_token_length is not None and operator.index(self.max_token_length) < 1:
            raise ParameterError(
                f"max_token_length={self.max_token_length}: it must be at least 1 byte, or None for no limit"
            )

    def for_merger(self, denominator: int) -> dict[str, Any]:
        """The same as parameters of Merger, for counts that are times `denominator`."""
        length = self.max_token_length
        return {
            "min_frequency": min(self.min_frequency * denominator, _LARGEST),
            "max_token_length": None if length is None else min(length, _LARGEST),
            "tie_first": self.tie_break == "first",
        }


RULES = MergeRules()


def learn_merges(
    counts: ChunkCounts, n_merges: int, rules: MergeRules = RULES, on_merges: OnMerges | None = None
) -> Merges:
    """Learns up to n_merges merges; each takes the pair with the largest count (all adjacent positions, weighted)."""
    byte_ids = BYTE_ORDER.astype(np.uint32) if rules.tie_break == "huggingface" else np.arange(256, dtype=np.uint32)
    most = within_reach(n_merges, len(counts.data), len(counts))
    merger = Merger(counts.data, counts.starts, counts.counts, byte_ids, most, **rules.for_merger(counts.denominator))
    return _run(merger, np.argsort(byte_ids), counts.denominator, on_merges)


def learn_more_merges(
    words: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]],
    counts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    is_byte: npt.NDArray[np.int64],
    n_merges: int,
    rules: MergeRules = RULES,
    on_merges: OnMerges | None = None,
    denominator: int = 1,
) -> Merges:
    """As `learn_merges`, on chunks that are merged already.

    words: the chunks' tokens as rows 0..n - 1 of the vocabulary, uint32, and the offsets of each chunk in them;
    counts: of each chunk, times `denominator`; lengths: bytes of each of the n tokens; is_byte: int64 (n), the byte
    that a token is, or -1. In the result's pairs, row r of the vocabulary is r and merge k is n + k. Ties go by row
    ("lowest"), or by row with the bytes before all others and in the order of their GPT-2 characters ("huggingface").
    """
    n = len(lengths)
    order = np.arange(n)
    if rules.tie_break == "huggingface":
        order = np.argsort(np.where(is_byte >= 0, BYTE_ORDER[is_byte].astype(np.int64), 256 + order))
    place = np.empty(n, np.uint32)
    place[order] = np.arange(n, dtype=np.uint32)
    symbols, starts = words
    merger = Merger(
        np.zeros(0, np.uint8),
        starts,
        counts,
        np.arange(256, dtype=np.uint32),
        within_reach(n_merges, len(symbols), len(counts)),
        **rules.for_merger(denominator),
        symbols=place[symbols],
        lengths=np.ascontiguousarray(lengths[order], dtype=np.int64),
    )
    return _run(merger, order, denominator, on_merges)


def _run(merger: Merger, initial: npt.NDArray[np.int64], denominator: int, on_merges: OnMerges | None) -> Merges:
    """Runs to the end; initial[i] is what the merger's id i is called in the result."""

    def part(since: int) -> Merges:
        ids, counts, tokens_after = merger.merges(since)
        pairs = ids.astype(np.int64)
        pairs = np.where(pairs < len(initial), initial[np.minimum(pairs, len(initial) - 1)], pairs)
        return Merges(pairs, counts, tokens_after, merger.stop_reason or "", denominator)

    done = 0
    while merger.stop_reason is None:
        before, done = done, merger.run(work=_WORK)
        if on_merges is not None and (done > before or merger.stop_reason):
            on_merges(part(before))
    return part(0)
