"""Every size of a vocabulary from one encoding of a text.

Encoding joins pairs in the order of their ranks, and a token's parts are always of lower ranks than it; so the text as
the first k merges alone would encode it is what is left when the joins of all later merges are undone. Undone from the
last merge on, with nothing but the counts of the tokens: a token of the last merge becomes its two parts, whose counts
grow by its own. The number of joins undone at each merge is what the merge saves.
"""

import numpy as np
from numpy.typing import NDArray

from fastbpe.report.vocabulary import Vocabulary


def can_be_undone(vocabulary: Vocabulary) -> bool:
    """Whether each merge makes a token of its own out of tokens of lower ranks."""
    merges = vocabulary.merges
    if not len(merges):
        return False
    ranks = vocabulary.ranks
    order = np.arange(len(merges))
    return bool((ranks[merges[:, 2]] == order).all() and (ranks[merges[:, :2]].max(axis=1) < order).all())


def joins(vocabulary: Vocabulary, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 (merges, texts): how many tokens each merge saves in each text.

    counts: (rows, texts), how often each token stands in each. With the first k merges alone a text would take
    counts.sum(axis=0) + joins[k:].sum(axis=0) tokens.
    """
    counts = counts.copy()
    saved = np.zeros((len(vocabulary.merges), counts.shape[1]), np.int64)
    for rank in range(len(vocabulary.merges) - 1, -1, -1):
        left, right, product = vocabulary.merges[rank]
        saved[rank] = counts[product]
        counts[left] += saved[rank]
        counts[right] += saved[rank]
    return saved


def curve_points(n_merges: int, n_points: int = 60) -> list[int]:
    """Numbers of merges for a curve over sizes: 0, all, and some between, denser where there are fewer."""
    if not n_merges:
        return [0]
    between = np.geomspace(1, n_merges, n_points).round().astype(np.int64)
    return [0, *np.unique(between).tolist()]


def stretches(n_merges: int, at_most: int = 24) -> list[tuple[int, int]]:
    """The merges in at most so many stretches (first, stop) of a round length, counted from the end: the first may be
    short."""
    length = next(
        digit * 10**power for power in range(20) for digit in (1, 2, 5) if digit * 10**power * at_most >= n_merges
    )
    stops = range(n_merges, 0, -length)
    return [(max(0, stop - length), stop) for stop in reversed(stops)]
