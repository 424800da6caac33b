"""Making, filling and growing the cache (what it is: see chunkcache.pxd)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from fastbpe.kernels.packed cimport (
    PACKED_LENGTH_SHIFT, PACKED_MAX, Packed, packed_equal, packed_hash, packed_hash_long, packed_load,
)
from fastbpe.kernels.pages cimport pages_zeroed
from fastbpe.kernels.prefetch cimport fastbpe_prefetch

cdef enum:
    SET_BYTES = 64
    MIN_TABLE_BITS = 12     # of the bytes
    START_TABLE_BITS = 15
    MIN_RING_BITS = 12
    PROBED = 64             # chunks at a time, for tests


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

    def get(self, bytes chunk):
        """Ids of a chunk, None: not there."""
        cdef uint32_t ids[CACHE_LONGEST]
        cdef const uint8_t* text = chunk
        cdef int64_t i, n = 0
        cdef Packed key
        cdef NarrowSlot* slot
        if not 0 < len(chunk) <= CACHE_LONGEST:
            raise NotKept
        if len(chunk) <= PACKED_MAX:
            key = packed_load(text, len(chunk), len(chunk))
            slot = narrow_slot(&self.cache, packed_hash(key))
            if narrow_get(slot, key):
                n = narrow_ids(&self.cache, slot, ids)
        else:
            n = long_get(&self.cache, packed_hash_long(text, len(chunk)), text, len(chunk), ids)
        return [ids[i] for i in range(n)] if n else None

    def get_many(self, list chunks):
        """The ids of the first chunks, and how many chunks those are: as far as `probe_hits` goes."""
        cdef bytes data = b"".join(chunks)
        cdef const uint8_t* text = data
        cdef int64_t ends[PROBED]
        cdef Probe probes[PROBED]
        cdef uint32_t ids[NARROW_IDS * PROBED + 4]
        cdef uint32_t* out = ids
        cdef int64_t i, n, at = 0
        if len(chunks) > PROBED:
            raise NotKept
        ends[0] = 0
        for i in range(len(chunks)):
            at += len(<bytes?>chunks[i])
            ends[i] = at
        probe_chunks(&self.cache, text, at, 0, ends, len(chunks), probes)
        n = probe_hits(&self.cache, probes, len(chunks), &out)
        return [ids[i] for i in range(out - ids)], n

    def put(self, bytes chunk, list values):
        """Keeps the ids of a chunk, at most one for a byte."""
        cdef uint32_t ids[CACHE_LONGEST]
        cdef const uint8_t* text = chunk
        cdef int64_t i
        if not 0 < len(values) <= len(chunk) <= CACHE_LONGEST:
            raise NotKept
        for i in range(len(values)):
            ids[i] = values[i]
        if len(chunk) <= PACKED_MAX:
            narrow_put(&self.cache, packed_load(text, len(chunk), len(chunk)), ids, len(values))
        else:
            long_put(&self.cache, packed_hash_long(text, len(chunk)), text, len(chunk), ids, len(values))


cdef int cache_init(ChunkCache* cache, int64_t max_bytes) except -1 nogil:
    """Half of `max_bytes` or more is for narrow slots, a quarter for long ones, the rest for the ring."""
    memset(cache, 0, sizeof(ChunkCache))
    _table_init(&cache.narrow, max_bytes // 2, sizeof(NarrowSlot))
    _table_init(&cache.long_, max_bytes // 8, sizeof(LongSet))
    cache.ring_bits = _bits_in(max_bytes // 4, MIN_RING_BITS)
    cache.ring = <char*>malloc(<size_t>1 << cache.ring_bits)
    if cache.ring == NULL:
        raise MemoryError
    return 0


cdef int _table_init(CacheTable* table, int64_t max_bytes, uint64_t step) except -1 nogil:
    # What is not used yet is not touched either, so that the system need not have it.
    table.max_bytes = <int64_t>1 << _bits_in(max_bytes, MIN_TABLE_BITS)
    table.n_bytes = min(<int64_t>1 << START_TABLE_BITS, table.max_bytes)
    table.step = step
    table.mask = table.n_bytes - step
    table.memory = pages_zeroed(<size_t>table.max_bytes, &table.lines)
    if table.memory == NULL:
        raise MemoryError
    return 0


cdef inline int _bits_in(int64_t n_bytes, int least) noexcept nogil:
    """The largest power of two that is not above n_bytes, but at least 2**least."""
    cdef int bits = least
    while <int64_t>2 << bits <= n_bytes and bits < 46:
        bits += 1
    return bits


cdef void cache_free(ChunkCache* cache) noexcept nogil:
    free(cache.narrow.memory)
    free(cache.long_.memory)
    free(cache.ring)
    memset(cache, 0, sizeof(ChunkCache))


cdef void cache_clear(ChunkCache* cache) noexcept nogil:
    memset(cache.narrow.lines, 0, cache.narrow.n_bytes)
    memset(cache.long_.lines, 0, cache.long_.n_bytes)


cdef int64_t cache_bytes(const ChunkCache* cache) noexcept nogil:
    return cache.narrow.n_bytes + cache.long_.n_bytes + min(cache.ring_end, <int64_t>1 << cache.ring_bits)


cdef bint _grown(CacheTable* table) noexcept nogil:
    """Notes that a chunk enters; whether the table is twice as large now, as a quarter of the slots may be in use."""
    table.entered += 1
    if 2 * SET_BYTES * table.entered <= table.n_bytes or table.n_bytes == table.max_bytes:
        return False
    table.n_bytes *= 2
    table.mask = table.n_bytes - table.step
    table.entered = 0
    return True


cdef void _narrow_spread(ChunkCache* cache) noexcept nogil:
    """Each chunk goes to its slot in a table that is twice as large: in the line where it was, or as far behind it as
    the table was long."""
    cdef NarrowSlot line[2]
    cdef int64_t at, way
    for at in range(0, cache.narrow.n_bytes // 2, 64):
        memcpy(line, cache.narrow.lines + at, SET_BYTES)
        memset(cache.narrow.lines + at, 0, SET_BYTES)
        for way in range(2):
            if line[way].n:
                _narrow_enter(cache, &line[way])


cdef void _long_spread(ChunkCache* cache) noexcept nogil:
    """The same for long chunks."""
    cdef LongSet set
    cdef int64_t at, way
    for at in range(0, cache.long_.n_bytes // 2, 64):
        memcpy(&set, cache.long_.lines + at, SET_BYTES)
        memset(cache.long_.lines + at, 0, SET_BYTES)
        for way in range(2):
            if set.slots[way].n_bytes:
                _long_enter(cache, &set.slots[way])


cdef void _narrow_enter(const ChunkCache* cache, const NarrowSlot* slot) noexcept nogil:
    """Into the chunk's own slot, or the other of the line. When both are taken, what is not in its own gives way, or
    else one of them."""
    cdef uint64_t hash = packed_hash(slot.key)
    cdef NarrowSlot* own = narrow_slot(cache, hash)
    cdef NarrowSlot* other = narrow_other(own)
    if own.n == 0 or packed_equal(own.key, slot.key):
        own[0] = slot[0]
    elif other.n == 0 or packed_equal(other.key, slot.key):
        other[0] = slot[0]
    elif narrow_slot(cache, packed_hash(own.key)) != own:
        own[0] = slot[0]
    elif narrow_slot(cache, packed_hash(other.key)) != other or hash >> 63:
        other[0] = slot[0]
    else:
        own[0] = slot[0]


cdef void _long_enter(const ChunkCache* cache, const LongSlot* slot) noexcept nogil:
    cdef LongSet* set = long_set(cache, slot.hash)
    if set.slots[0].n_bytes == 0 or not ring_has(cache, set.slots[0].at):
        set.slots[0] = slot[0]
    else:
        set.slots[1] = slot[0]


cdef void narrow_put(ChunkCache* cache, Packed key, const uint32_t* ids, int64_t n) noexcept nogil:
    """Keeps a chunk of at most PACKED_MAX bytes and its ids, 1 <= n <= PACKED_MAX."""
    cdef NarrowSlot slot
    cdef int64_t at
    slot.key = key
    slot.n = <uint32_t>n
    if n <= NARROW_IDS:
        memcpy(slot.ids, ids, n * sizeof(uint32_t))
    else:
        at = _ring_room(cache, n * <int64_t>sizeof(uint32_t))
        memcpy(ring_entry(cache, at), ids, n * sizeof(uint32_t))
        slot.ids[0] = <uint32_t>at
        slot.ids[1] = <uint32_t>(at >> 32)
    if _grown(&cache.narrow):
        _narrow_spread(cache)
    _narrow_enter(cache, &slot)


cdef int64_t ring_ids(const ChunkCache* cache, const NarrowSlot* slot, uint32_t* out) noexcept nogil:
    """narrow_ids of a slot whose ids lie in the ring."""
    cdef int64_t at = <int64_t>(slot.ids[0] | <uint64_t>slot.ids[1] << 32)
    if not ring_has(cache, at):
        return 0
    memcpy(out, ring_entry(cache, at), slot.n * sizeof(uint32_t))
    return slot.n


cdef inline bint ring_has(const ChunkCache* cache, int64_t at) noexcept nogil:
    return at + (<int64_t>1 << cache.ring_bits) >= cache.ring_end


cdef inline char* ring_entry(const ChunkCache* cache, int64_t at) noexcept nogil:
    return cache.ring + (at & ((<int64_t>1 << cache.ring_bits) - 1))


cdef inline int64_t _ids_behind(int64_t n_bytes) noexcept nogil:
    """Where the ids of a long entry follow its text."""
    return (n_bytes + 3) & ~<int64_t>3


cdef int64_t long_get(ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, uint32_t* out) noexcept nogil:
    """The number of ids of a chunk of more than PACKED_MAX bytes, which it writes; 0: it is not there."""
    cdef LongSet* set = long_set(cache, hash)
    cdef LongSlot slot
    cdef const char* entry
    cdef int64_t way
    for way in range(2):
        slot = set.slots[way]
        if slot.hash == hash and slot.n_bytes == n and ring_has(cache, slot.at):
            entry = ring_entry(cache, slot.at)
            if memcmp(entry, text, n) == 0:
                memcpy(out, entry + _ids_behind(n), slot.n_ids * sizeof(uint32_t))
                if way:
                    set.slots[1] = set.slots[0]
                    set.slots[0] = slot
                return slot.n_ids
    return 0


cdef void long_put(
    ChunkCache* cache, uint64_t hash, const uint8_t* text, int64_t n, const uint32_t* ids, int64_t n_ids
) noexcept nogil:
    """Keeps a chunk that is not there, PACKED_MAX < n <= CACHE_LONGEST, 1 <= n_ids <= n."""
    cdef int64_t at = _ring_room(cache, _ids_behind(n) + n_ids * <int64_t>sizeof(uint32_t))
    cdef char* entry = ring_entry(cache, at)
    cdef LongSlot slot
    memcpy(entry, text, n)
    memcpy(entry + _ids_behind(n), ids, n_ids * sizeof(uint32_t))
    if _grown(&cache.long_):
        _long_spread(cache)
    slot = LongSlot(hash, at, n, n_ids)
    _long_enter(cache, &slot)


cdef int64_t _ring_room(ChunkCache* cache, int64_t need) noexcept nogil:
    """Where an entry of this size goes; the ring's end moves behind it."""
    cdef int64_t size = <int64_t>1 << cache.ring_bits
    cdef int64_t at
    # An entry does not run over the ring's end, it begins anew.
    if (cache.ring_end & (size - 1)) + need > size:
        cache.ring_end = (cache.ring_end + size - 1) & ~(size - 1)
    at = cache.ring_end
    cache.ring_end += (need + 7) & ~<int64_t>7
    return at


# Many chunks at a time, in functions of their own, so that all that a loop uses is in registers.

cdef void probe_chunks(
    const ChunkCache* cache, const uint8_t* data, int64_t n_data, int64_t start, const int64_t* ends, int64_t n,
    Probe* probes
) noexcept nogil:
    """The probes of n chunks, the first of which starts at `start`; their places in the cache are on their way."""
    cdef int64_t k, inside = n
    # Only the last few may end so near to the data's end that a load would leave it.
    while inside and (ends[inside - 2] if inside > 1 else start) + 16 > n_data:
        inside -= 1
    for k in range(inside):
        _probe(cache, data + start, ends[k] - start, 16, probes + k)
        start = ends[k]
    for k in range(inside, n):
        _probe(cache, data + start, ends[k] - start, n_data - start, probes + k)
        start = ends[k]


cdef inline void _probe(
    const ChunkCache* cache, const uint8_t* text, int64_t length, int64_t room, Probe* probe
) noexcept nogil:
    if length > PACKED_MAX:
        _probe_long(cache, text, length, probe)
        return
    probe.key = packed_load(text, length, room)
    probe.offset = packed_hash(probe.key) & cache.narrow.mask
    fastbpe_prefetch(cache.narrow.lines + probe.offset)


cdef void _probe_long(const ChunkCache* cache, const uint8_t* text, int64_t length, Probe* probe) noexcept nogil:
    cdef uint64_t hash = 0
    if length <= CACHE_LONGEST:
        hash = packed_hash_long(text, length)
        fastbpe_prefetch(long_set(cache, hash))
    probe.key = Packed(hash, <uint64_t>0xFF << PACKED_LENGTH_SHIFT)
    probe.offset = 0


cdef int64_t probe_hits(const ChunkCache* cache, const Probe* probes, int64_t n, uint32_t** out) noexcept nogil:
    """Writes the ids of chunks up to one that is not in its own slot, or has many; returns how many chunks that were.

    May write four places more than it moves `out` on.
    """
    cdef const char* lines = cache.narrow.lines
    cdef const NarrowSlot* slot
    cdef uint32_t* ids = out[0]
    cdef int64_t k = 0
    while k < n:
        slot = <const NarrowSlot*>(lines + probes[k].offset)
        if not packed_equal(slot.key, probes[k].key) or slot.n > <uint32_t>NARROW_IDS:
            break
        memcpy(ids, slot.ids, 16)
        ids += slot.n
        k += 1
    out[0] = ids
    return k
