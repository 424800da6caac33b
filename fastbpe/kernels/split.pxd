"""Chunk ends of a text, for any kernel to drive: by an automaton, as given, or none."""

from libc.stdint cimport int64_t, uint8_t

from fastbpe.kernels.dfa cimport Dfa
from fastbpe.kernels.scan cimport ScanMemo

cdef enum:
    SPLIT_LEVELS = 8             # splits in a row, at most

cdef struct Chunks:
    const Dfa* dfa               # NULL: not used
    const int64_t* given         # absolute ends in order, consumed as the spans are; NULL: not used
    int64_t n_given
    # The rest is chunks_fill's own, from call to call.
    ScanMemo* memo[SPLIT_LEVELS]
    int64_t resume               # where the next call goes on in a span under way, or -1
    int64_t level_end[SPLIT_LEVELS]  # the end of the chunk that each split but the last is in


cdef inline void chunks_init(Chunks* chunks) noexcept nogil:
    cdef int level
    chunks.dfa = NULL
    chunks.given = NULL
    chunks.n_given = 0
    chunks.resume = -1
    for level in range(SPLIT_LEVELS):
        chunks.memo[level] = NULL


# Writes the ends of the chunks of data[start:stop], ascending, and returns how many (>= 1 when start < stop). start is
# a chunk boundary; text_end is where look-ahead sees the end of the text. A caller goes on from the last end, and calls
# chunks_free when it is done.
cdef int64_t chunks_fill(Chunks* chunks, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                         int64_t* ends, int64_t capacity) noexcept nogil
cdef void chunks_free(Chunks* chunks) noexcept nogil

cdef class SplitTable:
    cdef Dfa dfa
    cdef readonly object transitions, ascii, pages, leaves, cuts
    cdef readonly SplitTable then
    cdef readonly object courses
    cdef readonly bint hopeful
    cdef const uint8_t[::1] cut_table
    cdef int cut_width
    cdef take_courses(self, following, opened)
