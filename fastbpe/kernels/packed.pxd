"""A chunk of at most 15 bytes as a 16-byte key, and hashes of chunks of any length.

A key holds the chunk's bytes in order, then zeros, and its length in the last byte: two chunks are equal exactly
when their two words are. Longer chunks have no key; their hash only tells where to look, and their bytes are compared.
No load touches a byte at or past `p + room`, so a chunk may end where its buffer ends.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #ifndef FASTBPE_PACKED
    #define FASTBPE_PACKED
    #include <stdint.h>

    /* The length is the key's last byte in memory, whatever the byte order. */
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define PACKED_LENGTH_SHIFT 0
    #else
    #define PACKED_LENGTH_SHIFT 56
    #endif

    /* Odd words without structure (from square roots), so that no ordinary text cancels a factor of the product. */
    #define PACKED_SEED_A UINT64_C(0x6A09E667F3BCC909)
    #define PACKED_SEED_B UINT64_C(0x3B67AE8584CAA73B)

    /* 16 bytes from (mask + 16 - n) keep the first n bytes of a load. */
    static const uint8_t packed_mask[32] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    /* Both halves of a 128-bit product, folded: every input bit reaches every output bit. */
    static inline uint64_t packed_fold(uint64_t a, uint64_t b) {
    #ifdef __SIZEOF_INT128__
        __uint128_t r = (__uint128_t)a * b;
        return (uint64_t)r ^ (uint64_t)(r >> 64);
    #else
        uint64_t ah = a >> 32, al = (uint32_t)a, bh = b >> 32, bl = (uint32_t)b;
        uint64_t low = al * bl, m1 = ah * bl, m2 = al * bh;
        uint64_t mid = (low >> 32) + (uint32_t)m1 + (uint32_t)m2;
        uint64_t high = ah * bh + (m1 >> 32) + (m2 >> 32) + (mid >> 32);
        return ((mid << 32) | (uint32_t)low) ^ high;
    #endif
    }
    #endif
    """
    const int PACKED_LENGTH_SHIFT
    const uint64_t PACKED_SEED_A
    const uint64_t PACKED_SEED_B
    const uint8_t packed_mask[32]
    uint64_t packed_fold(uint64_t a, uint64_t b) noexcept nogil

cdef enum:
    PACKED_MAX = 15  # bytes of the longest chunk that has a key

cdef struct Packed:
    uint64_t lo
    uint64_t hi


cdef inline Packed packed_load(const uint8_t* p, int64_t n, int64_t room) noexcept nogil:
    """The key of p[:n], 0 <= n <= 15; `room` >= n bytes may be read from p."""
    cdef Packed key
    cdef Packed mask
    if room >= 16:
        memcpy(&key, p, 16)
        memcpy(&mask, packed_mask + 16 - n, 16)
        key.lo &= mask.lo
        key.hi &= mask.hi
    else:
        key.lo = 0
        key.hi = 0
        memcpy(&key, p, <size_t> n)
    key.hi |= <uint64_t> n << PACKED_LENGTH_SHIFT
    return key


cdef inline int64_t packed_length(Packed key) noexcept nogil:
    return <int64_t> ((key.hi >> PACKED_LENGTH_SHIFT) & 0xFF)


cdef inline bint packed_equal(Packed a, Packed b) noexcept nogil:
    return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0


cdef inline uint64_t packed_hash(Packed key) noexcept nogil:
    """64 well-mixed bits of a key: take any of them."""
    return packed_fold(key.lo ^ PACKED_SEED_A, key.hi ^ PACKED_SEED_B)


cdef inline uint64_t packed_hash_long(const uint8_t* p, int64_t n) noexcept nogil:
    """The hash of p[:n] for n >= 16; reads p[:n] alone."""
    cdef uint64_t h = <uint64_t> n
    cdef uint64_t lo
    cdef uint64_t hi
    cdef int64_t i = 0
    while i < n - 16:
        memcpy(&lo, p + i, 8)
        memcpy(&hi, p + i + 8, 8)
        h = packed_fold(lo ^ PACKED_SEED_A ^ h, hi ^ PACKED_SEED_B)
        i += 16
    # The last 16 bytes may overlap what was read before; with the length in the hash nothing is lost by it.
    memcpy(&lo, p + n - 16, 8)
    memcpy(&hi, p + n - 8, 8)
    h = packed_fold(lo ^ PACKED_SEED_A ^ h, hi ^ PACKED_SEED_B)
    return packed_fold(h ^ PACKED_SEED_B, PACKED_SEED_A)
