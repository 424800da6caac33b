"""Python door of heap.pxd, for its tests."""

from libc.stdint cimport int64_t, uint64_t

from fastbpe.kernels.heap cimport Heap, HeapEntry, heap_drop_top, heap_free, heap_push, heap_sink_top


cdef class PyHeap:
    """Entries (count, tie, pair): the largest count first, among equals the smallest tie."""

    cdef Heap heap

    def __dealloc__(self):
        heap_free(&self.heap)

    def __len__(self):
        return self.heap.n

    def push(self, int64_t count, uint64_t tie, int64_t pair):
        """Adds an entry."""
        heap_push(&self.heap, HeapEntry(count, tie, pair))

    def top(self):
        """The first entry as (count, tie, pair); IndexError when there is none."""
        if self.heap.n == 0:
            raise IndexError("the heap is empty")
        cdef HeapEntry entry = self.heap.entries[0]
        return entry.count, entry.tie, entry.pair

    def sink_top(self, int64_t count, uint64_t tie):
        """Gives the first entry another count and tie and lets it sink."""
        if self.heap.n == 0:
            raise IndexError("the heap is empty")
        heap_sink_top(&self.heap, HeapEntry(count, tie, self.heap.entries[0].pair))

    def drop_top(self):
        """Takes the first entry out."""
        if self.heap.n == 0:
            raise IndexError("the heap is empty")
        heap_drop_top(&self.heap)
