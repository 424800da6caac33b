"""A rank table as merges. In tiktoken's files two tokens may merge when their joined bytes are one, the lowest first.

`rank_pairs` lists all such pairs; `last_pairs` picks, for each token, the one that builds it out of its bytes. Cost: a
look-up for each way of cutting each token, and merging each token once. `rising_pairs` comes to the same pairs several
times faster where tokens are made of lower ones, as they are in published tables.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memmove

from fastbpe.kernels.bpe cimport BPE_SMALL_MAX, BpeScratch, bpe_free, bpe_long, bpe_small
from fastbpe.kernels.mergetable cimport MERGE_NONE, MergeList, MergeTable, merge_rank
from fastbpe.kernels.pairmap cimport pair_key, pairmap_insert


def rank_pairs(list tokens not None, dict rows not None):
    """int64 (n, 3): rows of left, right and product, of every pair of tokens whose joined bytes are a token.

    tokens: bytes objects, lowest rank first; rows: {token: its place in the list}. Products ascend, among those with
    one product the shortest left token goes first.
    """
    cdef Py_ssize_t row, cut, n
    cdef bytes token
    found = []
    for row in range(len(tokens)):
        token = tokens[row]
        n = len(token)
        for cut in range(1, n):
            left = rows.get(token[:cut])
            if left is not None:
                right = rows.get(token[cut:])
                if right is not None:
                    found.append((left, right, row))
    return np.array(found, np.int64).reshape(-1, 3)


def last_pairs(
    MergeList merges not None,          # IN  of all pairs, with shared ranks
    const uint8_t[::1] data not None,   # IN  the tokens' bytes one after the other
    const int64_t[::1] starts not None,  # IN  (n + 1)
    const uint32_t[::1] ids not None,   # IN  (n), of each token
):
    """int64 (n, 2): ids of the two tokens whose merge builds each token, or -1, -1 where no merge does.

    A byte's row is -1, -1 too. Raises ValueError for arrays that contradict each other.
    """
    cdef int64_t n = ids.shape[0], row
    cdef uint32_t[::1] parts = np.empty(_longest_token(data, starts, n) + 1, np.uint32)
    out = np.full((n, 2), -1, np.int64)
    cdef int64_t[:, ::1] pairs = out
    with nogil:
        for row in range(n):
            _last_pair(&merges.table, &data[starts[row]], starts[row + 1] - starts[row], ids[row], &parts[0],
                       &pairs[row, 0])
    return out


def rising_pairs(
    const uint32_t[::1] byte_ids not None,  # IN  (256,)
    const uint8_t[::1] data not None,       # IN  the tokens' bytes one after the other
    const int64_t[::1] starts not None,     # IN  (n + 1)
    const uint32_t[::1] ids not None,       # IN  (n), of each token, ascending
):
    """As `last_pairs`, by lower tokens alone: each token is merged by the pairs of those before it.

    Only pairs that build a token ever merge: before another pair can make its bytes, that one has. So where every
    token that has a -1, -1 here can be cut in two tokens only if both are lower than itself, this is last_pairs.
    """
    cdef int64_t n = ids.shape[0], row, length, count
    cdef uint32_t[::1] parts = np.empty(_longest_token(data, starts, n) + 1, np.uint32)
    cdef BpeScratch scratch = BpeScratch(NULL, 0, NULL, 0)
    cdef MergeList merges = MergeList(byte_ids, np.empty((0, 3), np.int64), room=n)
    cdef MergeTable* table = &merges.table
    out = np.full((n, 2), -1, np.int64)
    cdef int64_t[:, ::1] pairs = out
    try:
        with nogil:
            for row in range(n):
                length = starts[row + 1] - starts[row]
                if length == 1:
                    continue
                if length <= BPE_SMALL_MAX:
                    count = bpe_small(table, &data[starts[row]], length, &parts[0])
                else:
                    count = bpe_long(table, &scratch, &data[starts[row]], length, &parts[0])
                if count != 2:
                    continue
                pairs[row, 0] = parts[0]
                pairs[row, 1] = parts[1]
                pairmap_insert(&table.ranks, pair_key(parts[0], parts[1]), table.n)
                if length == 2:
                    table.byte_ranks[<int64_t>data[starts[row]] << 8 | data[starts[row] + 1]] = <uint32_t>table.n
                table.products[table.n] = ids[row]
                table.n += 1
    finally:
        bpe_free(&scratch)
    return out


cdef int64_t _longest_token(const uint8_t[::1] data, const int64_t[::1] starts, int64_t n) except -1:
    """Its length. Raises ValueError for what are no n tokens."""
    cdef int64_t row, longest = 0
    if starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != data.shape[0]:
        raise ValueError("starts must be n + 1 offsets from 0 to the length of data")
    for row in range(n):
        if starts[row + 1] <= starts[row]:
            raise ValueError(f"token {row} is empty")
        longest = max(longest, starts[row + 1] - starts[row])
    return longest


cdef void _last_pair(
    const MergeTable* table, const uint8_t* token, int64_t n, uint32_t id, uint32_t* parts, int64_t* pair
) noexcept nogil:
    cdef int64_t i, at
    cdef uint32_t rank, lowest
    for i in range(n):
        parts[i] = table.byte_ids[token[i]]
    while n >= 2:
        at = 0
        lowest = MERGE_NONE
        for i in range(n - 1):
            rank = merge_rank(table, parts[i], parts[i + 1])
            if rank < lowest:
                lowest = rank
                at = i
        if lowest == MERGE_NONE:
            return
        if table.products[lowest] == id:
            if n == 2:
                pair[0] = parts[0]
                pair[1] = parts[1]
            return
        parts[at] = table.products[lowest]
        memmove(parts + at + 1, parts + at + 2, <size_t>(n - at - 2) * sizeof(uint32_t))
        n -= 1
