"""Chunk -> ids, in two tables of fixed-size slots, so that most look-ups cost one cache line and follow no pointer.

Narrow slots, 32 bytes, hold a chunk of at most 15 bytes and its 1 to 3 ids with their number behind them, so that a
look-up copies all of it and goes on behind as many as count. More ids lie in a ring of memory. Chunks of 16 to
CACHE_LONGEST bytes have long slots, 32 bytes too, that point into the same ring: text, padding, ids. What the ring has
overwritten is forgotten. A chunk is found by its bytes alone; a hash only tells where to look.

Two slots share a cache line. A narrow chunk's hash points to one of them, its own; when another is there, it goes into
the other one, and comes to its own when it is found. A long chunk's hash points to the line: what is found comes to its
front, what is new enters behind it and pushes out what was there. So what is used often stays, and nothing ever
overflows. (Lines of four slots of 16 bytes for the shortest chunks were tried: fewer lines are touched, but which kind
a chunk is cannot be foretold, and that costs more. So do sets of two lines, for what is new.) The tables start small
and grow with what enters, in place, up to their bounds.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.packed cimport Packed, packed_equal

cdef enum:
    NARROW_IDS = 3
    CACHE_LONGEST = 256


cdef struct NarrowSlot:
    Packed key              # zeros: free
    uint32_t ids[NARROW_IDS]  # or, when there are more, where in the ring they lie: ids[0] | ids[1] << 32
    uint32_t n              # how many ids there are


cdef struct LongSlot:
    uint64_t hash
    int64_t at              # of the text in the ring; counts on where the ring begins anew
    int64_t n_bytes         # 0: free
    int64_t n_ids


cdef struct LongSet:
    LongSlot slots[2]


cdef struct CacheTable:
    void* memory            # as allocated; `lines` is aligned in it
    char* lines             # n_bytes, a power of two, are in use, and max_bytes there
    int64_t n_bytes
    int64_t max_bytes
    uint64_t step           # bytes from a place that a hash points to to the next
    uint64_t mask           # of a hash, for the offset of its place
    int64_t entered         # since the table has had this size


cdef struct ChunkCache:
    CacheTable narrow
    CacheTable long_
    char* ring              # 2**ring_bits bytes
    int ring_bits
    int64_t ring_end        # where the next entry goes, ever growing


cdef struct Probe:
    Packed key              # of a chunk with a key; else the hash and a length that no key has
    uint64_t offset         # of the slot where to look


cdef inline NarrowSlot* narrow_slot(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    """The slot where a chunk is, or else it may be in the other one of its line."""
    return <NarrowSlot*>(cache.narrow.lines + (hash & cache.narrow.mask))


cdef inline NarrowSlot* narrow_other(const NarrowSlot* slot) noexcept nogil:
    return <NarrowSlot*>(<uint64_t>slot ^ 32)


cdef inline LongSet* long_set(const ChunkCache* cache, uint64_t hash) noexcept nogil:
    return <LongSet*>(cache.long_.lines + (hash & cache.long_.mask))


cdef inline bint narrow_get(NarrowSlot* slot, Packed key) noexcept nogil:
    """Whether the chunk whose slot this is is there; it is in this slot then."""
    cdef NarrowSlot found
    cdef NarrowSlot* other
    if packed_equal(slot.key, key):
        return True
    other = narrow_other(slot)
    if not packed_equal(other.key, key):
        return False
    found = other[0]
    other[0] = slot[0]
    slot[0] = found
    return True


cdef inline int64_t narrow_ids(const ChunkCache* cache, const NarrowSlot* slot, uint32_t* out) noexcept nogil:
    """Writes the slot's ids and returns how many; 0: they are lost. May write four places of `out` in any case."""
    memcpy(out, slot.ids, 16)
    return slot.n if slot.n <= NARROW_IDS else ring_ids(cache, slot, out)


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil
cdef void cache_free(ChunkCache* cache) noexcept nogil
cdef void cache_clear(ChunkCache* cache) noexcept nogil
cdef int64_t cache_bytes(const ChunkCache* cache) noexcept nogil
cdef int64_t ring_ids(const ChunkCache* cache, const NarrowSlot* slot, uint32_t* out) noexcept nogil
cdef void narrow_put(ChunkCache* cache, Packed key, const uint32_t* ids, int64_t n) noexcept nogil
cdef int64_t long_get(ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, uint32_t* out) noexcept nogil
cdef void long_put(
    ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, const uint32_t* ids, int64_t n_ids
) noexcept nogil
cdef void probe_chunks(
    const ChunkCache* cache, const uint8_t* data, int64_t n_data, int64_t start, const int64_t* ends, int64_t n,
    Probe* probes
) noexcept nogil
cdef int64_t probe_hits(const ChunkCache* cache, const Probe* probes, int64_t n, uint32_t** out) noexcept nogil
