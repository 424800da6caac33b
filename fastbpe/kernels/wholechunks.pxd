"""Chunks that are tokens although no merges build them: found by their bytes, before anything is merged.

A map from a hash of the bytes to a row; rows whose hashes are equal stand under the numbers that follow. The bytes are
always compared.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from fastbpe.kernels.packed cimport packed_hash_long
from fastbpe.kernels.pairmap cimport PairMap, pairmap_get


cdef struct WholeChunks:
    PairMap rows
    uint8_t* data       # bytes of the tokens, one after the other
    int64_t* starts
    uint32_t* ids
    int64_t n
    int64_t longest


cdef inline uint64_t whole_hash(const uint8_t* text, int64_t length) noexcept nogil:
    cdef uint64_t hash = <uint64_t>length
    cdef int64_t i
    if length >= 16:
        hash = packed_hash_long(text, length)
    else:
        for i in range(length):
            hash = (hash ^ text[i]) * <uint64_t>0x100000001B3
    # Room above it for rows that share it, and never the mark of a free slot.
    return hash >> 1


cdef inline int64_t whole_get(const WholeChunks* whole, const uint8_t* text, int64_t length) noexcept nogil:
    """The id of the token with these bytes, -1: none."""
    cdef uint64_t hash
    cdef int64_t row
    if length > whole.longest:
        return -1
    hash = whole_hash(text, length)
    while True:
        row = pairmap_get(&whole.rows, hash, -1)
        if row < 0:
            return -1
        if (
            whole.starts[row + 1] - whole.starts[row] == length
            and memcmp(whole.data + whole.starts[row], text, <size_t>length) == 0
        ):
            return whole.ids[row]
        hash += 1


cdef class WholeTokens:
    cdef WholeChunks whole
