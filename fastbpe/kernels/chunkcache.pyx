"""Making, filling and growing the cache (what it is: see chunkcache.pxd)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastbpe.kernels.packed cimport PACKED_MAX, Packed, packed_hash, packed_hash_long, packed_load
from fastbpe.kernels.pages cimport pages_zeroed

cdef enum:
    MIN_BITS = 6
    START_BITS = 9
    GROWTH_BITS = 2
    MIN_RING_BITS = 12
    START_RING_BITS = 15


class NotKept(Exception):
    """The cache has no room for such a chunk."""


cdef class ChunkMemory:
    """A cache of chunks as a Python object, for tests."""
    cdef ChunkCache cache

    def __cinit__(self, int64_t max_bytes):
        cache_init(&self.cache, max_bytes)

    def __dealloc__(self):
        cache_free(&self.cache)

    @property
    def n_bytes(self):
        return cache_bytes(&self.cache)

    def clear(self):
        cache_clear(&self.cache)

    def get(self, bytes chunk, bint narrow):
        """Ids of a chunk, None: not there."""
        cdef uint32_t ids[4 * CACHE_LONGEST]
        cdef const uint8_t* text = chunk
        cdef int64_t i, n
        cdef Packed key
        if not 0 < len(chunk) <= (PACKED_MAX if narrow else CACHE_LONGEST):
            raise NotKept
        if narrow:
            key = packed_load(text, len(chunk), len(chunk))
            n = narrow_get(narrow_set(&self.cache, packed_hash(key)), key, ids)
        else:
            n = long_get(&self.cache, _hash(text, len(chunk)), text, len(chunk), ids)
        return [ids[i] for i in range(n)] if n else None

    def put(self, bytes chunk, bint narrow, list values):
        """Keeps the ids of a chunk that is not there."""
        cdef uint32_t ids[4 * CACHE_LONGEST]
        cdef const uint8_t* text = chunk
        cdef int64_t i
        cdef Packed key
        if not 0 < len(values) <= (NARROW_IDS if narrow else len(chunk)) or self.get(chunk, narrow) is not None:
            raise NotKept
        for i in range(len(values)):
            ids[i] = values[i]
        if narrow:
            key = packed_load(text, len(chunk), len(chunk))
            narrow_put(&self.cache, key, packed_hash(key), ids, len(values))
        else:
            long_put(&self.cache, _hash(text, len(chunk)), text, len(chunk), ids, len(values))


cdef uint64_t _hash(const uint8_t* text, int64_t n) noexcept:
    return packed_hash(packed_load(text, n, n)) if n <= PACKED_MAX else packed_hash_long(text, n)


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil:
    """Half of `max_bytes` or more is for narrow slots, a quarter for long ones, the rest for the ring."""
    memset(cache, 0, sizeof(ChunkCache))
    _table_init(&cache.narrow, max_bytes // 2)
    _table_init(&cache.long_, max_bytes // 8)
    cache.max_ring_bits = MIN_RING_BITS
    while <int64_t>1 << (cache.max_ring_bits + 1) <= max_bytes // 4 and cache.max_ring_bits < 40:
        cache.max_ring_bits += 1
    cache.ring_bits = min(<int>START_RING_BITS, cache.max_ring_bits)
    cache.ring = <char*>malloc(<size_t>1 << cache.ring_bits)
    if cache.ring == NULL:
        raise MemoryError
    return 0


cdef int _table_init(CacheTable* table, int64_t max_bytes) except -1 nogil:
    table.max_bits = MIN_BITS
    while <int64_t>64 << (table.max_bits + 1) <= max_bytes and table.max_bits < 40:
        table.max_bits += 1
    table.bits = min(<int>START_BITS, table.max_bits)
    table.memory = pages_zeroed(<size_t>64 << table.bits, &table.lines)
    if table.memory == NULL:
        raise MemoryError
    return 0


cdef void cache_free(ChunkCache* cache) noexcept nogil:
    free(cache.narrow.memory)
    free(cache.long_.memory)
    free(cache.ring)
    memset(cache, 0, sizeof(ChunkCache))


cdef void cache_clear(ChunkCache* cache) noexcept nogil:
    memset(cache.narrow.lines, 0, <size_t>64 << cache.narrow.bits)
    memset(cache.long_.lines, 0, <size_t>64 << cache.long_.bits)


cdef int64_t cache_bytes(const ChunkCache* cache) noexcept nogil:
    return (
        (<int64_t>64 << cache.narrow.bits) + (<int64_t>64 << cache.long_.bits) + (<int64_t>1 << cache.ring_bits)
    )


cdef bint _bigger(CacheTable* table, CacheTable* grown) noexcept nogil:
    """Room for the table's next size; where there is none, it keeps its size for good."""
    grown[0] = table[0]
    grown.bits = min(table.bits + GROWTH_BITS, table.max_bits)
    grown.entered = 0
    grown.memory = pages_zeroed(<size_t>64 << grown.bits, &grown.lines)
    if grown.memory == NULL:
        table.max_bits = table.bits
        return False
    return True


cdef void _narrow_grow(ChunkCache* cache) noexcept nogil:
    cdef CacheTable old = cache.narrow
    cdef NarrowSet* sets = <NarrowSet*>old.lines
    cdef NarrowSet* target
    cdef int64_t i, s
    if not _bigger(&old, &cache.narrow):
        cache.narrow = old
        return
    for i in range(<int64_t>1 << old.bits):
        for s in range(1, -1, -1):  # the last first, so that the front is the front again
            if sets[i].slots[s].ids[0]:
                target = narrow_set(cache, packed_hash(sets[i].slots[s].key))
                target.slots[1] = target.slots[0]
                target.slots[0] = sets[i].slots[s]
    free(old.memory)


cdef void _long_grow(ChunkCache* cache) noexcept nogil:
    cdef CacheTable old = cache.long_
    cdef LongSet* sets = <LongSet*>old.lines
    cdef LongSet* target
    cdef int64_t i, s
    if not _bigger(&old, &cache.long_):
        cache.long_ = old
        return
    for i in range(<int64_t>1 << old.bits):
        for s in range(1, -1, -1):
            if sets[i].slots[s].n_bytes:
                target = long_set(cache, sets[i].slots[s].hash)
                target.slots[1] = target.slots[0]
                target.slots[0] = sets[i].slots[s]
    free(old.memory)


cdef bint _growing(CacheTable* table) noexcept nogil:
    table.entered += 1
    return 2 * table.entered > <int64_t>1 << table.bits and table.bits < table.max_bits


cdef void narrow_put(ChunkCache* cache, Packed key, uint64_t hash, const uint32_t* ids, int64_t n) noexcept nogil:
    """Keeps a chunk that is not there, 1 <= n <= NARROW_IDS."""
    cdef NarrowSet* set
    if ids[0] > CACHE_ID:
        return
    if _growing(&cache.narrow):
        _narrow_grow(cache)
    set = narrow_set(cache, hash)
    set.slots[1] = set.slots[0]
    set.slots[0].key = key
    memcpy(set.slots[0].ids, ids, n * sizeof(uint32_t))
    set.slots[0].ids[0] |= <uint32_t>n << CACHE_SHIFT


cdef void long_put(
    ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, const uint32_t* ids, int64_t n_ids
) noexcept nogil:
    """Keeps a chunk that is not there, 1 <= n_ids <= n <= CACHE_LONGEST."""
    cdef int64_t need = long_ids_at(n) + n_ids * <int64_t>sizeof(uint32_t)
    cdef int64_t size = <int64_t>1 << cache.ring_bits
    cdef LongSet* set
    cdef char* entry
    if cache.ring_end + need > size and cache.ring_bits < cache.max_ring_bits:
        size = _ring_grow(cache)
    # An entry does not run over the ring's end, it begins anew.
    if (cache.ring_end & (size - 1)) + need > size:
        cache.ring_end = (cache.ring_end + size - 1) & ~(size - 1)
    if _growing(&cache.long_):
        _long_grow(cache)
    entry = cache.ring + (cache.ring_end & (size - 1))
    memcpy(entry, text, n)
    memcpy(entry + long_ids_at(n), ids, n_ids * sizeof(uint32_t))
    set = long_set(cache, hash)
    set.slots[1] = set.slots[0]
    set.slots[0] = LongSlot(hash, cache.ring_end, n, n_ids)
    cache.ring_end += (need + 7) & ~<int64_t>7


cdef int64_t _ring_grow(ChunkCache* cache) noexcept nogil:
    """Makes the ring bigger, before it has come round for the first time. Returns its size."""
    cdef int64_t bits = min(cache.ring_bits + GROWTH_BITS, cache.max_ring_bits)
    cdef char* grown = <char*>malloc(<size_t>1 << bits)
    if grown == NULL:
        cache.max_ring_bits = cache.ring_bits
    else:
        memcpy(grown, cache.ring, cache.ring_end)
        free(cache.ring)
        cache.ring = grown
        cache.ring_bits = bits
    return <int64_t>1 << cache.ring_bits
