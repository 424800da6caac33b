"""Merging one chunk by a merge list: the pair of the lowest rank first, then the leftmost."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from fastbpe.kernels.mergetable cimport MergeTable

cdef enum:
    BPE_SMALL_MAX = 128  # longest chunk that bpe_small takes


cdef struct BpeEntry:
    uint32_t rank
    int64_t at


cdef struct BpeScratch:
    BpeEntry* heap
    int64_t heap_capacity
    int64_t* links       # previous and next of each position
    int64_t links_capacity


cdef int64_t bpe_small(const MergeTable* table, const uint8_t* text, int64_t n, uint32_t* out) noexcept nogil
cdef int64_t bpe_long(
    const MergeTable* table, BpeScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil
cdef void bpe_free(BpeScratch* scratch) noexcept nogil
