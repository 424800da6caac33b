"""The Python door of packed.pxd, for tests: a chunk's key and its hash."""
from fastbpe.kernels.packed cimport (
    PACKED_MAX,
    Packed,
    packed_hash,
    packed_hash_long,
    packed_length,
    packed_load,
)
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy


def pack(const uint8_t[::1] data, int64_t start, int64_t stop):
    """The 16-byte key of data[start:stop] (at most 15 bytes). ValueError when out of range."""
    cdef Packed key
    cdef unsigned char out[16]
    if not 0 <= start <= stop <= data.shape[0] or stop - start > PACKED_MAX:
        raise ValueError("a key takes 0 to 15 bytes inside the data")
    if data.shape[0] == 0:
        return bytes(16)
    key = packed_load(&data[0] + start, stop - start, data.shape[0] - start)
    if packed_length(key) != stop - start:
        raise AssertionError("the key lost its length")
    memcpy(out, &key, 16)
    return out[:16]


def hash_chunk(const uint8_t[::1] data, int64_t start, int64_t stop):
    """The hash of data[start:stop], as counting and encoding take it. ValueError when out of range."""
    if not 0 <= start <= stop <= data.shape[0] or data.shape[0] == 0:
        raise ValueError("a chunk lies inside the data")
    cdef const uint8_t* p = &data[0] + start
    cdef int64_t n = stop - start
    cdef uint64_t h
    if n <= PACKED_MAX:
        h = packed_hash(packed_load(p, n, data.shape[0] - start))
    else:
        h = packed_hash_long(p, n)
    return h
