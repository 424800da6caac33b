"""A binary heap with one entry per pair. heap_before is the only place where ties are decided.

An entry may be stale, but never to its pair's disadvantage: a pair's count rises only in the step that creates its
newer token, and its first occurrence only moves right, so an old entry stands too high, not too low. Whoever takes
the top compares it with the truth and lets it sink if it is stale (heap_sink_top).
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc


cdef struct HeapEntry:
    int64_t count
    uint64_t tie  # among equal counts the smallest goes first
    int64_t pair


cdef struct Heap:
    HeapEntry* entries
    int64_t n
    int64_t capacity


cdef inline bint heap_before(const HeapEntry* a, const HeapEntry* b) noexcept nogil:
    return a.count > b.count or (a.count == b.count and a.tie < b.tie)


cdef inline int heap_push(Heap* heap, HeapEntry entry) except -1 nogil:
    cdef HeapEntry* entries = heap.entries
    cdef int64_t i = heap.n, parent
    if heap.n == heap.capacity:
        entries = <HeapEntry*>realloc(heap.entries, (2 * <size_t>heap.capacity + 64) * sizeof(HeapEntry))
        if entries == NULL:
            raise MemoryError
        heap.entries = entries
        heap.capacity = 2 * heap.capacity + 64
    heap.n += 1
    while i > 0:
        parent = (i - 1) >> 1
        if not heap_before(&entry, &entries[parent]):
            break
        entries[i] = entries[parent]
        i = parent
    entries[i] = entry
    return 0


cdef inline void heap_sink_top(Heap* heap, HeapEntry entry) noexcept nogil:
    """Puts entry in the place of the top and lets it sink to where it belongs."""
    cdef HeapEntry* entries = heap.entries
    cdef int64_t i = 0, child = 1
    while child < heap.n:
        if child + 1 < heap.n and heap_before(&entries[child + 1], &entries[child]):
            child += 1
        if not heap_before(&entries[child], &entry):
            break
        entries[i] = entries[child]
        i = child
        child = 2 * i + 1
    entries[i] = entry


cdef inline void heap_drop_top(Heap* heap) noexcept nogil:
    heap.n -= 1
    if heap.n > 0:
        heap_sink_top(heap, heap.entries[heap.n])


cdef inline void heap_free(Heap* heap) noexcept nogil:
    free(heap.entries)
    heap.entries = NULL
    heap.n = heap.capacity = 0
