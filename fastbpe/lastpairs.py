"""Which two tokens each token of a rank table is built of: those that merge last when its bytes stand alone.

Published tables make nearly every token of lower ones, for which one pass over the tokens does (`rising_pairs`). The
others are merged as the rule says, by look-ups; only when there are many does that take the list of all pairs.
"""

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.ranktable import last_pairs, rank_pairs, rising_pairs

MAX_WORK = 1 << 19
"""Of look-ups: with more of them the list of all pairs is faster."""
MAX_LATE = 256
"""Of tokens that need higher ones, and to be searched for in all others."""


def last_halves(
    byte_ids: NDArray[np.uint32],
    tokens: list[bytes],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ids: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """int64 (n, 2): ids of the two tokens whose merge builds each token, or -1, -1 where none does, as for bytes.

    tokens and ids: the rank table, ids ascending; data and starts: the tokens' bytes one after the other.
    """
    halves = rising_pairs(byte_ids, data, starts, ids)
    lengths = np.diff(starts)
    left_out = np.flatnonzero((halves[:, 0] < 0) & (lengths > 1))
    if not len(left_out):
        return halves
    table = dict(zip(tokens, ids.tolist(), strict=True))
    late: list[bytes] | None = []
    if int(lengths[left_out] @ lengths[left_out]) <= MAX_WORK:
        # A token that lower ones do not build can be built by others only when one of its halves is higher than itself,
        # or when that is so of a token within it.
        higher = [tokens[row] for row in left_out.tolist() if _is_cut_higher(tokens[row], table)]
        late = [token for token in higher if _last_pair(token, table) is not None]
    else:
        late = None
    rows = None if late is None or len(late) > MAX_LATE else _holding(late, data, starts)
    if rows is None or int(lengths[rows] @ lengths[rows]) > MAX_WORK:
        places = {token: row for row, token in enumerate(tokens)}
        pairs = ids.astype(np.int64)[rank_pairs(tokens, places)]
        return last_pairs(MergeList(byte_ids, pairs, shared_ranks=True), data, starts, ids)
    for row in rows:
        halves[row] = _last_pair(tokens[row], table) or (-1, -1)
    return halves


def _is_cut_higher(token: bytes, table: dict[bytes, int]) -> bool:
    """Whether a token can be cut in two tokens of which one ranks above it."""
    cuts = ((table.get(token[:at]), table.get(token[at:])) for at in range(1, len(token)))
    return any(left is not None and right is not None and max(left, right) > table[token] for left, right in cuts)


def _last_pair(token: bytes, table: dict[bytes, int]) -> tuple[int, int] | None:
    """The ids of the two tokens that its bytes come down to before they are the token; None when they never are it."""
    parts = [token[at : at + 1] for at in range(len(token))]
    never = 1 << 62
    ranks = [table.get(left + right, never) for left, right in zip(parts, parts[1:], strict=False)]
    while len(parts) > 2:
        lowest = min(ranks)
        if lowest == never:
            return None
        at = ranks.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        for side in (at - 1, at):
            if 0 <= side < len(ranks):
                ranks[side] = table.get(parts[side] + parts[side + 1], never)
    return table[parts[0]], table[parts[1]]


def _holding(parts: Iterable[bytes], data: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[int]:
    """The rows of the tokens in which one of the parts stands."""
    text, bounds = data.tobytes(), starts.tolist()
    rows = set()
    for part in parts:
        at = text.find(part)
        while at >= 0:
            row = bisect_right(bounds, at) - 1
            if at + len(part) <= bounds[row + 1]:
                rows.add(row)
                at = text.find(part, bounds[row + 1])
            else:
                at = text.find(part, at + 1)
    return sorted(rows)
