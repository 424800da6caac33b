"""Chunk -> ids, in two tables of fixed-size slots that hold key and ids: one cache line a look-up, no pointers.

Narrow slots, 32 bytes: a chunk of at most 15 bytes and its 1 to 4 ids. Two of them share a cache line, the set that
a hash points to. Wide slots, 64 bytes: a chunk of at most 31 bytes and its 1 to 8 ids, one for each hash. The number
of ids stands in the upper bits of the first one, so a first id that needs those bits is not kept, nor is a chunk
outside these bounds. A slot of zeros is free.

A chunk that is found comes to the front of its set, a new one enters there and pushes out the last: what is used
often stays, and the tables never overflow. They start small and grow with what enters, up to their bounds.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.packed cimport PACKED_MAX, PACKED_SEED_A, Packed, packed_equal, packed_fold, packed_hash, packed_load

cdef enum:
    NARROW_IDS = 4
    WIDE_BYTES = 31
    WIDE_IDS = 8
    CACHE_SHIFT = 28        # of the number of ids in the first one
    CACHE_ID = 0x0FFFFFFF   # the first id itself


cdef struct NarrowSlot:
    Packed key
    uint32_t ids[NARROW_IDS]


cdef struct NarrowSet:
    NarrowSlot slots[2]


cdef struct WideKey:
    Packed head
    Packed tail             # zeros when the head holds all of the chunk


cdef struct WideSlot:
    WideKey key
    uint32_t ids[WIDE_IDS]


cdef struct CacheTable:
    void* memory            # as allocated; `lines` is aligned in it
    char* lines             # 2**bits of 64 bytes each
    int bits
    int max_bits
    int64_t entered         # since the table has had this size


cdef struct ChunkCache:
    CacheTable narrow
    CacheTable wide


cdef inline NarrowSet* narrow_set(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    return <NarrowSet*>cache.narrow.lines + (hash >> (64 - cache.narrow.bits))


cdef inline int64_t narrow_get(NarrowSet* set, Packed key, uint32_t* out) noexcept nogil:
    """How many ids the chunk has, 0: it is not there. Writes NARROW_IDS places of `out`, whatever it says."""
    cdef NarrowSlot slot
    if not packed_equal(set.slots[0].key, key):
        if not packed_equal(set.slots[1].key, key):
            return 0
        slot = set.slots[1]
        set.slots[1] = set.slots[0]
        set.slots[0] = slot
    memcpy(out, set.slots[0].ids, sizeof(set.slots[0].ids))
    cdef int64_t n = out[0] >> CACHE_SHIFT
    out[0] &= CACHE_ID
    return n


cdef inline WideKey wide_load(const uint8_t* text, int64_t n, int64_t room) noexcept nogil:
    """The key of text[:n], 0 < n <= WIDE_BYTES; `room` >= n bytes may be read."""
    cdef WideKey key
    if n <= PACKED_MAX:
        key.head = packed_load(text, n, room)
        key.tail.lo = 0
        key.tail.hi = 0
    else:
        memcpy(&key.head, text, 16)
        # The tail's length byte is not 0 even when the tail is empty: no head alone equals it.
        key.tail = packed_load(text + 16, n - 16, room - 16)
        (<uint8_t*>&key.tail)[15] = <uint8_t>n
    return key


cdef inline uint64_t wide_hash(const WideKey* key) noexcept nogil:
    return packed_fold(packed_hash(key.head) ^ key.tail.lo, packed_hash(key.tail) ^ PACKED_SEED_A)


cdef inline WideSlot* wide_slot(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    return <WideSlot*>cache.wide.lines + (hash >> (64 - cache.wide.bits))


cdef inline int64_t wide_get(const WideSlot* slot, const WideKey* key, uint32_t* out) noexcept nogil:
    """As narrow_get; writes WIDE_IDS places."""
    if not (packed_equal(slot.key.head, key.head) and packed_equal(slot.key.tail, key.tail)):
        return 0
    memcpy(out, slot.ids, sizeof(slot.ids))
    cdef int64_t n = out[0] >> CACHE_SHIFT
    out[0] &= CACHE_ID
    return n


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil
cdef void cache_free(ChunkCache* cache) noexcept nogil
cdef void cache_clear(ChunkCache* cache) noexcept nogil
cdef void narrow_put(ChunkCache* cache, Packed key, const uint32_t* ids, int64_t n) noexcept nogil
cdef void wide_put(ChunkCache* cache, const WideKey* key, const uint32_t* ids, int64_t n) noexcept nogil
