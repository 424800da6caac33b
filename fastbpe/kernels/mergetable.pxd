"""The merge list as encoding reads it: the rank of a pair, the product of a rank.

Immutable once built. Pairs of bytes have a table of their own, other pairs are found in a map.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe.kernels.pairmap cimport PairMap, pair_key, pairmap_get

cdef enum:
    MERGE_NONE = 0xFFFFFFFF  # rank of a pair that never merges


cdef struct MergeTable:
    uint32_t byte_ids[256]
    uint32_t* byte_ranks    # (65536,): rank of the pair of bytes first << 8 | second
    PairMap ranks           # left << 32 | right -> rank
    uint32_t* products      # id that the merge of this rank makes
    int64_t n


cdef inline uint32_t merge_rank(const MergeTable* table, uint32_t left, uint32_t right) noexcept nogil:
    return <uint32_t>pairmap_get(&table.ranks, pair_key(left, right), MERGE_NONE)


cdef class MergeList:
    cdef MergeTable table
