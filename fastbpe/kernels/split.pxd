"""The split automaton as kernels see it: tables, and a filler of chunk ends that any kernel can drive.

Cost: one table look-up per unit. Layout: a *unit* is a code point or a byte outside valid UTF-8. Its class comes from
``ascii`` (one byte) or from ``pages`` and ``leaves`` (two levels, 64 code points a leaf). A transition is 32 bits:
SPLIT_BOUNDARY, SPLIT_ACCEPT, and the next state times the row length; state 0 is dead, the first row after it is the
start.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef enum:
    SPLIT_BOUNDARY = 0x80000000  # a chunk ends before this unit, and the state is the one after starting anew on it
    SPLIT_ACCEPT = 0x40000000    # a chunk may end before this unit; a longer match is still possible
    SPLIT_STATE = 0x00FFFFFF

cdef struct Dfa:
    const uint32_t* transitions  # (n_states, stride)
    const uint8_t* ascii         # (128,)
    const uint16_t* pages        # (0x110000 / 64,)
    const uint8_t* leaves        # (n_leaves, 64)
    uint32_t start               # == stride: the start state's row
    uint32_t n_states
    uint32_t invalid_class
    uint32_t end_class           # the end of the text, as a class

cdef struct Chunks:
    const Dfa* dfa               # NULL: not used
    const int64_t* given         # absolute ends in order, consumed as the spans are; NULL: not used
    int64_t n_given

# Writes the ends of the chunks of data[start:stop], ascending, and returns how many (>= 1 when start < stop). start is
# a chunk boundary; text_end is where look-ahead sees the end of the text. A caller goes on from the last end.
cdef int64_t chunks_fill(Chunks* chunks, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                         int64_t* ends, int64_t capacity) noexcept nogil

cdef class SplitTable:
    cdef Dfa dfa
    cdef readonly object transitions, ascii, pages, leaves, cuts
    cdef const uint8_t[::1] cut_table
    cdef int cut_width
