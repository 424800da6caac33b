"""Scanning with an automaton: chunk ends, as many as fit."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from fastbpe.kernels.dfa cimport Dfa

# Where long scans have died: without it, a pattern that hopes for something far away could read the same text from
# every chunk's beginning anew. `failed` has a bit for every state at the first unit of every stretch of 1 << shift
# bytes: a scan that is there in that state accepts nothing more.
cdef struct ScanMemo:
    const uint8_t* data
    int64_t text_end
    int64_t resume       # where the next call goes on, if it goes on
    int64_t base         # of stretch 0
    int64_t n_stretches
    int shift
    uint32_t* visited    # (n_stretches,): the state in which the scan under way came into the stretch
    uint8_t* failed      # (n_stretches, n_states) bits, rows padded to bytes

# scan_fill writes the ends of the chunks of data[start:stop] and returns how many, see chunks_fill in split.pxd.
# memo[0] is NULL at first, is kept from call to call, and is freed by its owner in the end.
cdef int64_t scan_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                       int64_t* ends, int64_t capacity, ScanMemo** memo) noexcept nogil
# The same without haste: a unit at a time, from one cursor. Adds the units read to steps[0].
cdef int64_t scan_carefully(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                            int64_t* ends, int64_t capacity, ScanMemo** memo, int64_t* steps) noexcept nogil
cdef void scan_memo_free(ScanMemo** memo) noexcept nogil
