"""What texts consist of, and how a tokenizer's tokens are used in them: sums over batches of documents."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.utf8 import count_invalid
from fastbpe.report.characters import group_names, groups
from fastbpe.report.vocabulary import Vocabulary

SLICE_TOKENS = 1 << 20


class TextFigures:
    """Sizes of a source: documents, bytes, characters, words (stretches without white space), bytes of each group."""

    def __init__(self) -> None:
        n_groups = len(group_names())
        self.documents = self.words = self.invalid_bytes = 0
        self.group_bytes = np.zeros(n_groups, np.int64)
        self.group_characters = np.zeros(n_groups, np.int64)

    @property
    def n_bytes(self) -> int:
        return int(self.group_bytes.sum())

    @property
    def characters(self) -> int:
        """Characters, each byte that is not UTF-8 counted as one."""
        return int(self.group_characters.sum())

    def add(self, documents: Sequence[bytes], data: bytes) -> NDArray[np.uint8]:
        """Counts documents, given also as their joined data; returns the group of each byte."""
        of_bytes, characters = groups(data)
        self.documents += len(documents)
        self.group_bytes += np.bincount(of_bytes, minlength=len(self.group_bytes))
        self.group_characters += characters
        ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
        self.invalid_bytes += count_invalid(data, ends)[0]
        inside = of_bytes != group_names().index("spaces")
        begins = inside.copy()
        begins[1:] &= ~inside[:-1]
        heads = ends[:-1][ends[:-1] < len(data)]
        begins[heads] = inside[heads]
        self.words += int(begins.sum())
        return of_bytes


class Usage:
    """How often each token of a vocabulary stands in a source, and how many tokens each group of characters takes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.counts = np.zeros(len(vocabulary), np.int64)
        """int64 (rows,)"""
        self.group_tokens = np.zeros(len(group_names()), np.float64)
        """float64 (groups,): tokens of each group; one with characters of several counts for each by its bytes."""

    @property
    def tokens(self) -> int:
        return int(self.counts.sum())

    def add(self, ids: NDArray[np.uint32], of_bytes: NDArray[np.uint8]) -> None:
        """Counts the ids of a batch; of_bytes: the group of each byte that they stand for."""
        start = 0
        for at in range(0, len(ids), SLICE_TOKENS):
            rows = self._vocabulary.rows(ids[at : at + SLICE_TOKENS])
            self.counts += np.bincount(rows, minlength=len(self.counts))
            lengths = self._vocabulary.lengths[rows]
            stop = start + int(lengths.sum())
            parts = np.repeat(1 / lengths, lengths)
            self.group_tokens += np.bincount(of_bytes[start:stop], parts, minlength=len(self.group_tokens))
            start = stop


def rank_frequency(counts: NDArray[np.int64], n_points: int = 200) -> list[tuple[int, int]]:
    """(rank, count) of tokens in the order of their counts, ranks from 1, spaced evenly on a logarithmic scale."""
    used = np.sort(counts[counts > 0])[::-1]
    if not len(used):
        return []
    ranks = np.unique(np.geomspace(1, len(used), n_points).round().astype(np.int64))
    return [(rank, int(used[rank - 1])) for rank in ranks.tolist()]


def covering(counts: NDArray[np.int64], share: float) -> int:
    """How many of the most frequent tokens make up a share of all."""
    descending = np.cumsum(np.sort(counts)[::-1])
    total = int(descending[-1]) if len(descending) else 0
    return int(np.searchsorted(descending, share * total) + 1) if total else 0


def gini(values: Sequence[float]) -> float | None:
    """The Gini coefficient of positive values: 0 when all are equal, near 1 when one has nearly all; None of fewer
    than two."""
    ordered = np.sort(np.array(values, np.float64))
    n = len(ordered)
    if n < 2 or ordered.sum() <= 0:
        return None
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))
