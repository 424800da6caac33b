"""Scanning text that is mostly ASCII in several strips at once (tables: pattern/courses.py)."""

from libc.stdint cimport int64_t, uint8_t

from fastbpe.kernels.dfa cimport Dfa

# As chunks_fill in split.pxd, of data[start:limit]; 0 where this is not the way: too little text or room, too much that
# is not ASCII, a chunk that does not end here. data[limit + 3] is the text's, too.
cdef int64_t courses_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t limit, int64_t* ends,
                          int64_t capacity) noexcept nogil
