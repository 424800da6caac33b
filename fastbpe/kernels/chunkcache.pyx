"""Making, filling and growing the cache (what it is: see chunkcache.pxd)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe.kernels.packed cimport PACKED_MAX, Packed, packed_hash, packed_load
from fastbpe.kernels.pages cimport pages_zeroed

cdef enum:
    MIN_BITS = 6
    START_BITS = 9
    GROWTH_BITS = 2


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
        return (<int64_t>64 << self.cache.narrow.bits) + (<int64_t>64 << self.cache.wide.bits)

    def clear(self):
        cache_clear(&self.cache)

    def get(self, bytes chunk, bint wide):
        """Ids of a chunk, None: not there."""
        cdef uint32_t ids[WIDE_IDS]
        cdef const uint8_t* text = chunk
        cdef int64_t i, n
        cdef Packed key
        cdef WideKey wide_key
        if not 0 < len(chunk) <= (WIDE_BYTES if wide else PACKED_MAX):
            raise NotKept
        if wide:
            wide_key = wide_load(text, len(chunk), len(chunk))
            n = wide_get(wide_slot(&self.cache, wide_hash(&wide_key)), &wide_key, ids)
        else:
            key = packed_load(text, len(chunk), len(chunk))
            n = narrow_get(narrow_set(&self.cache, packed_hash(key)), key, ids)
        return [ids[i] for i in range(n)] if n else None

    def put(self, bytes chunk, bint wide, list values):
        """Keeps the ids of a chunk that is not there."""
        cdef uint32_t ids[WIDE_IDS]
        cdef const uint8_t* text = chunk
        cdef int64_t i
        cdef WideKey wide_key
        if not 0 < len(values) <= (WIDE_IDS if wide else NARROW_IDS) or self.get(chunk, wide) is not None:
            raise NotKept
        for i in range(len(values)):
            ids[i] = values[i]
        if wide:
            wide_key = wide_load(text, len(chunk), len(chunk))
            wide_put(&self.cache, &wide_key, ids, len(values))
        else:
            narrow_put(&self.cache, packed_load(text, len(chunk), len(chunk)), ids, len(values))


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil:
    """Two thirds of `max_bytes` at most for narrow slots, a third for wide ones; at least 64 lines each."""
    cache.narrow.memory = NULL
    cache.wide.memory = NULL
    _table_init(&cache.narrow, max_bytes // 3 * 2)
    _table_init(&cache.wide, max_bytes // 3)
    return 0


cdef int _table_init(CacheTable* table, int64_t max_bytes) except -1 nogil:
    table.max_bits = MIN_BITS
    while <int64_t>64 << (table.max_bits + 1) <= max_bytes and table.max_bits < 40:
        table.max_bits += 1
    table.bits = min(<int>START_BITS, table.max_bits)
    table.entered = 0
    table.memory = pages_zeroed(<size_t>64 << table.bits, &table.lines)
    if table.memory == NULL:
        raise MemoryError
    return 0


cdef void cache_free(ChunkCache* cache) noexcept nogil:
    free(cache.narrow.memory)
    free(cache.wide.memory)
    cache.narrow.memory = NULL
    cache.wide.memory = NULL


cdef void cache_clear(ChunkCache* cache) noexcept nogil:
    memset(cache.narrow.lines, 0, <size_t>64 << cache.narrow.bits)
    memset(cache.wide.lines, 0, <size_t>64 << cache.wide.bits)


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


cdef void _wide_grow(ChunkCache* cache) noexcept nogil:
    cdef CacheTable old = cache.wide
    cdef WideSlot* slots = <WideSlot*>old.lines
    cdef int64_t i
    if not _bigger(&old, &cache.wide):
        cache.wide = old
        return
    for i in range(<int64_t>1 << old.bits):
        if slots[i].ids[0]:
            wide_slot(cache, wide_hash(&slots[i].key))[0] = slots[i]
    free(old.memory)


cdef void narrow_put(ChunkCache* cache, Packed key, const uint32_t* ids, int64_t n) noexcept nogil:
    """Keeps a chunk that is not there, 1 <= n <= NARROW_IDS."""
    cdef NarrowSet* set
    if ids[0] > CACHE_ID:
        return
    cache.narrow.entered += 1
    if cache.narrow.entered > <int64_t>1 << cache.narrow.bits and cache.narrow.bits < cache.narrow.max_bits:
        _narrow_grow(cache)
    set = narrow_set(cache, packed_hash(key))
    set.slots[1] = set.slots[0]
    set.slots[0].key = key
    memcpy(set.slots[0].ids, ids, n * sizeof(uint32_t))
    set.slots[0].ids[0] |= <uint32_t>n << CACHE_SHIFT


cdef void wide_put(ChunkCache* cache, const WideKey* key, const uint32_t* ids, int64_t n) noexcept nogil:
    """Keeps a chunk that is not there, 1 <= n <= WIDE_IDS."""
    cdef WideSlot* slot
    if ids[0] > CACHE_ID:
        return
    cache.wide.entered += 1
    if 2 * cache.wide.entered > <int64_t>1 << cache.wide.bits and cache.wide.bits < cache.wide.max_bits:
        _wide_grow(cache)
    slot = wide_slot(cache, wide_hash(key))
    slot.key = key[0]
    memcpy(slot.ids, ids, n * sizeof(uint32_t))
    slot.ids[0] |= <uint32_t>n << CACHE_SHIFT
