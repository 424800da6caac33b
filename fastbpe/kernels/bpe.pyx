"""Merging one chunk, in two ways that give the same ids.

bpe_small keeps ids and ranks of the pairs in two arrays and closes the gap after each merge: quadratic, and the
fastest for the few bytes that chunks have. bpe_long keeps the tokens in a linked list over the bytes and the pairs
in a heap: n log n. Both write at most n ids to `out`, and return how many.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove

from fastbpe.kernels.mergetable cimport MERGE_NONE, MergeList, MergeTable, merge_rank

from fastbpe.errors import ParameterError


def merge_chunk(MergeList merges not None, const uint8_t[::1] text not None, bint small):
    """The ids of one chunk as a list, by bpe_small or by bpe_long."""
    cdef int64_t i, n = text.shape[0]
    cdef BpeScratch scratch = BpeScratch(NULL, 0, NULL, 0)
    cdef uint32_t* out
    if small and n > BPE_SMALL_MAX:
        raise ParameterError(f"a small chunk has at most {BPE_SMALL_MAX} bytes, not {n}")
    if n == 0:
        return []
    out = <uint32_t*>malloc(n * sizeof(uint32_t))
    if out == NULL:
        raise MemoryError
    try:
        with nogil:
            if small:
                n = bpe_small(&merges.table, &text[0], n, out)
            else:
                n = bpe_long(&merges.table, &scratch, &text[0], n, out)
        return [out[i] for i in range(n)]
    finally:
        free(out)
        bpe_free(&scratch)


cdef int64_t bpe_small(const MergeTable* table, const uint8_t* text, int64_t n, uint32_t* out) noexcept nogil:
    """For 0 < n <= BPE_SMALL_MAX."""
    cdef uint32_t ranks[BPE_SMALL_MAX]
    cdef uint32_t best
    cdef int64_t i, at = 0
    for i in range(n - 1):
        out[i] = table.byte_ids[text[i]]
        ranks[i] = table.byte_ranks[<int64_t>text[i] << 8 | text[i + 1]]
    out[n - 1] = table.byte_ids[text[n - 1]]
    while True:
        best = MERGE_NONE
        for i in range(n - 1):
            if ranks[i] < best:
                best = ranks[i]
                at = i
        if best == MERGE_NONE:
            return n
        out[at] = table.products[best]
        n -= 1
        memmove(out + at + 1, out + at + 2, (n - at - 1) * sizeof(uint32_t))
        if at < n - 1:
            memmove(ranks + at + 1, ranks + at + 2, (n - at - 2) * sizeof(uint32_t))
            ranks[at] = merge_rank(table, out[at], out[at + 1])
        if at > 0:
            ranks[at - 1] = merge_rank(table, out[at - 1], out[at])


cdef inline bint _before(const BpeEntry* a, const BpeEntry* b) noexcept nogil:
    return a.rank < b.rank or (a.rank == b.rank and a.at < b.at)


cdef inline void _sink(BpeEntry* heap, int64_t n, int64_t i, BpeEntry entry) noexcept nogil:
    cdef int64_t child
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _before(&heap[child + 1], &heap[child]):
            child += 1
        if not _before(&heap[child], &entry):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry


cdef inline void _rise(BpeEntry* heap, int64_t i, BpeEntry entry) noexcept nogil:
    cdef int64_t parent
    while i > 0:
        parent = (i - 1) >> 1
        if not _before(&entry, &heap[parent]):
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = entry


cdef int64_t bpe_long(
    const MergeTable* table, BpeScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil:
    """For any n > 0. out[i] holds the id of the token that starts at byte i, while links tell which those are."""
    cdef int64_t i, at, left, right, after, n_heap = 0, count
    cdef int64_t* previous
    cdef int64_t* following
    cdef BpeEntry* heap
    cdef BpeEntry top, entry
    cdef uint32_t rank
    _reserve(scratch, n)
    heap = scratch.heap
    previous = scratch.links
    following = scratch.links + n
    for i in range(n):
        out[i] = table.byte_ids[text[i]]
        previous[i] = i - 1
        following[i] = i + 1
    for i in range(n - 1):
        rank = table.byte_ranks[<int64_t>text[i] << 8 | text[i + 1]]
        if rank != MERGE_NONE:
            heap[n_heap].rank = rank
            heap[n_heap].at = i
            n_heap += 1
    for i in range(n_heap // 2 - 1, -1, -1):
        _sink(heap, n_heap, i, heap[i])
    while n_heap:
        top = heap[0]
        at = top.at
        right = following[at]
        # An entry whose pair is gone is stale: its left token was taken (next 0), or one of the two has grown.
        if right == 0 or right == n or merge_rank(table, out[at], out[right]) != top.rank:
            n_heap -= 1
            if n_heap:
                _sink(heap, n_heap, 0, heap[n_heap])
            continue
        out[at] = table.products[top.rank]
        after = following[right]
        following[right] = 0
        following[at] = after
        if after < n:
            previous[after] = at
        left = previous[at]
        # The entry of the merged pair makes room for a pair that came to be, if there is one.
        rank = merge_rank(table, out[at], out[after]) if after < n else MERGE_NONE
        if rank != MERGE_NONE:
            entry.rank = rank
            entry.at = at
            _sink(heap, n_heap, 0, entry)
        else:
            n_heap -= 1
            if n_heap:
                _sink(heap, n_heap, 0, heap[n_heap])
        if left >= 0:
            rank = merge_rank(table, out[left], out[at])
            if rank != MERGE_NONE:
                entry.rank = rank
                entry.at = left
                n_heap += 1
                _rise(heap, n_heap - 1, entry)
    # Each merge takes an entry away and adds at most two: the heap never outgrows 2 n.
    count = 0
    at = 0
    while at < n:
        out[count] = out[at]
        count += 1
        at = following[at]
    return count


cdef int _reserve(BpeScratch* scratch, int64_t n) except -1 nogil:
    cdef void* grown
    if scratch.heap_capacity < 2 * n:
        grown = realloc(scratch.heap, <size_t>(2 * n) * sizeof(BpeEntry))
        if grown == NULL:
            raise MemoryError
        scratch.heap = <BpeEntry*>grown
        scratch.heap_capacity = 2 * n
    if scratch.links_capacity < 2 * n:
        grown = realloc(scratch.links, <size_t>(2 * n) * sizeof(int64_t))
        if grown == NULL:
            raise MemoryError
        scratch.links = <int64_t*>grown
        scratch.links_capacity = 2 * n
    return 0


cdef void bpe_free(BpeScratch* scratch) noexcept nogil:
    free(scratch.heap)
    free(scratch.links)
    scratch.heap = NULL
    scratch.links = NULL
    scratch.heap_capacity = 0
    scratch.links_capacity = 0
