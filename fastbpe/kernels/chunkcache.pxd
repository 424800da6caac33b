"""Chunk -> ids, in two tables of fixed-size slots, so that most look-ups cost one cache line and follow no pointer.

Narrow slots, 32 bytes, hold a chunk of at most 15 bytes and its 1 to 4 ids; the number of ids stands in the upper bits
of the first one, so a first id that needs those bits is not kept. More ids than that lie in a ring of memory. Chunks
of 16 to CACHE_LONGEST bytes have long slots, 32 bytes too, that point into the same ring: text, padding, ids. What
the ring has overwritten is forgotten. A chunk is found by its bytes alone; a hash only tells where to look.

Two slots share a cache line, the set that a hash points to. What is found comes to the front of its set, what is new
enters behind it and pushes out what was there: what is used often stays, and nothing ever overflows. (Sets of four
slots on two lines were tried: they keep more, but what is new costs a second line.) The tables start small and grow
with what enters, up to their bounds.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.packed cimport Packed, packed_equal

cdef enum:
    NARROW_IDS = 4
    CACHE_SHIFT = 28        # of the number of ids in a narrow slot's first one
    CACHE_ID = 0x0FFFFFFF   # the first id itself
    CACHE_MANY = 15         # that number says that ids[0] & CACHE_ID ids lie in the ring, at ids[1] | ids[2] << 32
    CACHE_LONGEST = 256


cdef struct NarrowSlot:
    Packed key              # zeros: free
    uint32_t ids[NARROW_IDS]


cdef struct NarrowSet:
    NarrowSlot slots[2]


cdef struct LongSlot:
    uint64_t hash
    int64_t at              # of the text in the ring; counts on where the ring begins anew
    int64_t n_bytes         # 0: free
    int64_t n_ids


cdef struct LongSet:
    LongSlot slots[2]


cdef struct CacheTable:
    void* memory            # as allocated; `lines` is aligned in it
    char* lines             # 2**bits sets of 64 bytes
    int bits
    int max_bits
    int64_t entered         # since the table has had this size


cdef struct ChunkCache:
    CacheTable narrow
    CacheTable long_
    char* ring              # 2**ring_bits bytes
    int ring_bits
    int max_ring_bits
    int64_t ring_end        # where the next entry goes, ever growing


cdef inline NarrowSet* narrow_set(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    return <NarrowSet*>cache.narrow.lines + (hash >> (64 - cache.narrow.bits))


cdef inline LongSet* long_set(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    return <LongSet*>cache.long_.lines + (hash >> (64 - cache.long_.bits))


cdef inline int64_t narrow_get(ChunkCache* cache, uint64_t hash, Packed key, uint32_t* out) noexcept nogil:
    """How many ids the chunk has, 0: it is not there. Writes at least NARROW_IDS places of `out` when it is."""
    cdef NarrowSet* set = narrow_set(cache, hash)
    cdef NarrowSlot slot
    cdef int64_t n
    if not packed_equal(set.slots[0].key, key):
        if not packed_equal(set.slots[1].key, key):
            return 0
        slot = set.slots[1]
        set.slots[1] = set.slots[0]
        set.slots[0] = slot
    memcpy(out, set.slots[0].ids, NARROW_IDS * sizeof(uint32_t))
    n = out[0] >> CACHE_SHIFT
    out[0] &= CACHE_ID
    return n if n != CACHE_MANY else ring_ids(cache, out)


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil
cdef void cache_free(ChunkCache* cache) noexcept nogil
cdef void cache_clear(ChunkCache* cache) noexcept nogil
cdef int64_t cache_bytes(const ChunkCache* cache) noexcept nogil
cdef int64_t ring_ids(const ChunkCache* cache, uint32_t* out) noexcept nogil
cdef void narrow_put(ChunkCache* cache, uint64_t hash, Packed key, const uint32_t* ids, int64_t n) noexcept nogil
cdef int64_t long_get(ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, uint32_t* out) noexcept nogil
cdef void long_put(
    ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, const uint32_t* ids, int64_t n_ids
) noexcept nogil
