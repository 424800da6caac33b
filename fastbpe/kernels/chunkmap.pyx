"""The map of chunks (layout: see chunkmap.pxd): adding batches, and growth. ChunkMapDoor is its Python door, for tests.

A batch is looked up in three passes, each of which asks the cache for what the next one needs: slots, entries, chunks.
"""
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from fastbpe.kernels.packed cimport (
    PACKED_LENGTH_SHIFT,
    PACKED_MAX,
    Packed,
    packed_equal,
    packed_hash,
    packed_hash_long,
    packed_length,
    packed_load,
)
from fastbpe.kernels.prefetch cimport fastbpe_prefetch


cdef int chunkmap_init(ChunkMap* chunks, int64_t capacity) noexcept nogil:
    """An empty map with room for `capacity` entries, a power of two."""
    memset(chunks, 0, sizeof(ChunkMap))
    chunks.bits = 1
    while (<int64_t> 1 << (chunks.bits - 1)) < capacity:
        chunks.bits += 1
    chunks.capacity = capacity
    chunks.entries = <ChunkEntry*> malloc(capacity * sizeof(ChunkEntry))
    chunks.index = <uint32_t*> calloc(<size_t> 1 << chunks.bits, sizeof(uint32_t))
    if chunks.entries == NULL or chunks.index == NULL:
        chunkmap_free(chunks)
        return CHUNKMAP_MEMORY
    return CHUNKMAP_OK


cdef void chunkmap_free(ChunkMap* chunks) noexcept nogil:
    cdef BigChunk big
    cdef int64_t i
    cdef uint64_t offset
    for i in range(chunks.n):
        if chunk_is_big(&chunks.entries[i], &offset):
            memcpy(&big, chunks.arena + offset, sizeof(BigChunk))
            if big.owned:
                free(<void*> big.bytes)
    free(chunks.entries)
    free(chunks.index)
    free(chunks.arena)
    memset(chunks, 0, sizeof(ChunkMap))


cdef void chunkmap_free_index(ChunkMap* chunks) noexcept nogil:
    """Nothing can be added any more."""
    free(chunks.index)
    chunks.index = NULL


cdef int chunkmap_add(ChunkMap* chunks, const ChunkEntry* batch, int64_t n) noexcept nogil:
    cdef uint64_t hashes[CHUNK_BATCH]
    cdef int64_t slots[CHUNK_BATCH]
    cdef int64_t i
    cdef int status = make_room(chunks, n)
    if status != CHUNKMAP_OK:
        return status
    for i in range(n):
        hashes[i] = packed_hash(batch[i].key)
        fastbpe_prefetch(&chunks.index[hashes[i] & index_mask(chunks)])
    for i in range(n):
        slots[i] = next_slot(chunks, hashes[i], <int64_t> (hashes[i] & index_mask(chunks)))
        if chunks.index[slots[i]] != 0:
            fastbpe_prefetch(entry_at(chunks, slots[i]))
    for i in range(n):
        # The slot may have been filled since, by a chunk of this batch: go on from there.
        slots[i] = next_slot(chunks, hashes[i], slots[i])
        while chunks.index[slots[i]] != 0 and not packed_equal(entry_at(chunks, slots[i]).key, batch[i].key):
            slots[i] = next_slot(chunks, hashes[i], after(chunks, slots[i]))
        if chunks.index[slots[i]] == 0:
            append(chunks, slots[i], hashes[i], batch[i].key, batch[i].count, batch[i].first)
            chunks.n_bytes += packed_length(batch[i].key)
        elif not update(entry_at(chunks, slots[i]), batch[i].count, batch[i].first):
            return CHUNKMAP_OVERFLOW
    return CHUNKMAP_OK


cdef int chunkmap_add_long(ChunkMap* chunks, const LongChunk* batch, int64_t n, int64_t n_data,
                           bint* kept) noexcept nogil:
    cdef int64_t slots[CHUNK_BATCH]
    cdef int64_t i, offset
    cdef uint64_t hash
    cdef int status = make_room(chunks, n)
    if status != CHUNKMAP_OK:
        return status
    for i in range(n):
        fastbpe_prefetch(&chunks.index[batch[i].hash & index_mask(chunks)])
    for i in range(n):
        slots[i] = next_slot(chunks, batch[i].hash, <int64_t> (batch[i].hash & index_mask(chunks)))
        if chunks.index[slots[i]] != 0:
            fastbpe_prefetch(entry_at(chunks, slots[i]))
    for i in range(n):
        if chunks.index[slots[i]] != 0 and chunk_is_long(entry_at(chunks, slots[i]).key):
            fastbpe_prefetch(chunks.arena + arena_offset(entry_at(chunks, slots[i])))
    for i in range(n):
        hash = batch[i].hash
        slots[i] = next_slot(chunks, hash, slots[i])
        while chunks.index[slots[i]] != 0 and not same_bytes(chunks, entry_at(chunks, slots[i]), &batch[i]):
            slots[i] = next_slot(chunks, hash, after(chunks, slots[i]))
        if chunks.index[slots[i]] == 0:
            offset = store(chunks, &batch[i], n_data, kept)
            if offset < 0:
                return <int> offset
            append(chunks, slots[i], hash, chunk_long_key(hash, min(batch[i].length, <int64_t> CHUNK_BIG), offset),
                   batch[i].count, batch[i].first)
            chunks.n_bytes += batch[i].length
        elif not update(entry_at(chunks, slots[i]), batch[i].count, batch[i].first):
            return CHUNKMAP_OVERFLOW
    return CHUNKMAP_OK


cdef inline uint64_t index_mask(const ChunkMap* chunks) noexcept nogil:
    return (<uint64_t> 1 << chunks.bits) - 1


cdef inline int64_t after(const ChunkMap* chunks, int64_t slot) noexcept nogil:
    return (slot + 1) & <int64_t> index_mask(chunks)


cdef inline ChunkEntry* entry_at(const ChunkMap* chunks, int64_t slot) noexcept nogil:
    return &chunks.entries[(chunks.index[slot] & <uint32_t> index_mask(chunks)) - 1]


cdef inline uint32_t tag_of(const ChunkMap* chunks, uint64_t hash) noexcept nogil:
    # An index of 1 << bits slots holds at most half as many numbers, so `bits` bits are enough for them.
    return <uint32_t> (hash >> 26) & ~(<uint32_t> index_mask(chunks))


cdef inline int64_t next_slot(const ChunkMap* chunks, uint64_t hash, int64_t slot) noexcept nogil:
    """The first slot from here on that is empty or has this hash's tag."""
    cdef uint32_t tag = tag_of(chunks, hash)
    cdef uint32_t numbers = <uint32_t> index_mask(chunks)
    while chunks.index[slot] != 0 and (chunks.index[slot] & ~numbers) != tag:
        slot = after(chunks, slot)
    return slot


cdef inline void append(ChunkMap* chunks, int64_t slot, uint64_t hash, Packed key, int64_t count,
                        int64_t first) noexcept nogil:
    chunks.entries[chunks.n] = ChunkEntry(key, count, first)
    chunks.n += 1
    chunks.index[slot] = tag_of(chunks, hash) | <uint32_t> chunks.n


cdef inline bint update(ChunkEntry* entry, int64_t count, int64_t first) noexcept nogil:
    if entry.count > INT64_MAX - count:
        return False
    entry.count += count
    entry.first = min(entry.first, first)
    return True


cdef inline uint64_t arena_offset(const ChunkEntry* entry) noexcept nogil:
    cdef uint64_t packed = entry.key.hi >> (8 if PACKED_LENGTH_SHIFT == 0 else 0)
    return packed & ((<uint64_t> 1 << 40) - 1)


cdef inline bint chunk_is_big(const ChunkEntry* entry, uint64_t* offset) noexcept nogil:
    cdef uint64_t packed = entry.key.hi >> (8 if PACKED_LENGTH_SHIFT == 0 else 0)
    offset[0] = arena_offset(entry)
    return chunk_is_long(entry.key) and (packed >> 40 & 0xFFFF) == CHUNK_BIG


cdef inline bint same_bytes(const ChunkMap* chunks, const ChunkEntry* entry, const LongChunk* other) noexcept nogil:
    cdef const uint8_t* bytes
    if not chunk_is_long(entry.key) or entry.key.lo != other.hash:
        return False
    return chunk_bytes(chunks, entry, &bytes) == other.length and memcmp(bytes, other.bytes, other.length) == 0


cdef int make_room(ChunkMap* chunks, int64_t n) noexcept nogil:
    """Room for n more entries. The index doubles; the entries grow by half."""
    cdef int64_t needed = chunks.n + n
    cdef int64_t capacity
    cdef int bits = chunks.bits
    cdef void* grown
    if needed > chunks.capacity:
        capacity = max(needed, chunks.capacity + chunks.capacity // 2)
        grown = realloc(chunks.entries, capacity * sizeof(ChunkEntry))
        if grown == NULL:
            return CHUNKMAP_MEMORY
        chunks.entries = <ChunkEntry*> grown
        chunks.capacity = capacity
    while needed > <int64_t> 1 << (bits - 1):
        bits += 1
    if bits == chunks.bits:
        return CHUNKMAP_OK
    if bits > 31:
        return CHUNKMAP_FULL
    # The new index is made from the entries, so the old one goes first.
    free(chunks.index)
    chunks.index = <uint32_t*> calloc(<size_t> 1 << bits, sizeof(uint32_t))
    if chunks.index == NULL:
        chunks.bits = 1
        return CHUNKMAP_MEMORY
    chunks.bits = bits
    reindex(chunks)
    return CHUNKMAP_OK


cdef void reindex(ChunkMap* chunks) noexcept nogil:
    cdef int64_t i, slot
    cdef uint64_t hash
    for i in range(chunks.n):
        hash = chunk_hash(chunks.entries[i].key)
        slot = <int64_t> (hash & index_mask(chunks))
        while chunks.index[slot] != 0:
            slot = after(chunks, slot)
        chunks.index[slot] = tag_of(chunks, hash) | <uint32_t> (i + 1)


cdef int64_t store(ChunkMap* chunks, const LongChunk* chunk, int64_t n_data, bint* kept) noexcept nogil:
    """The offset in the arena at which the chunk's bytes, or its BigChunk, now stand; negative: a status."""
    cdef BigChunk big
    cdef int64_t offset = chunks.arena_used
    cdef int64_t size = chunk.length if chunk.length < CHUNK_BIG else <int64_t> sizeof(BigChunk)
    cdef int64_t capacity
    cdef void* grown
    if offset + size > chunks.arena_capacity:
        capacity = max(offset + size, chunks.arena_capacity + chunks.arena_capacity // 2, <int64_t> 1024)
        if capacity >= <int64_t> 1 << 40:
            return CHUNKMAP_FULL
        grown = realloc(chunks.arena, capacity)
        if grown == NULL:
            return CHUNKMAP_MEMORY
        chunks.arena = <uint8_t*> grown
        chunks.arena_capacity = capacity
    if chunk.length < CHUNK_BIG:
        memcpy(chunks.arena + offset, chunk.bytes, chunk.length)
    else:
        big = BigChunk(chunk.bytes, chunk.length, chunk.length < n_data // 2)
        if big.owned:
            grown = malloc(chunk.length)
            if grown == NULL:
                return CHUNKMAP_MEMORY
            memcpy(grown, chunk.bytes, chunk.length)
            big.bytes = <const uint8_t*> grown
            chunks.owned_bytes += chunk.length
        else:
            kept[0] = True
        memcpy(chunks.arena + offset, &big, sizeof(BigChunk))
    chunks.arena_used += size
    return offset


cdef class ChunkMapDoor:
    """One map, for tests. `capacity` is where it starts, a power of two."""
    cdef ChunkMap chunks
    cdef list kept

    def __cinit__(self, int64_t capacity=2):
        self.kept = []
        if chunkmap_init(&self.chunks, capacity) != CHUNKMAP_OK:
            raise MemoryError

    def __dealloc__(self):
        chunkmap_free(&self.chunks)

    def add(self, bytes chunk, int64_t count, int64_t first, hash=None):
        """Adds one chunk; `hash` stands in for a long chunk's own, to make two of them collide."""
        cdef const uint8_t* p = <const uint8_t*> <const char*> chunk
        cdef int64_t n = len(chunk)
        cdef bint kept = False
        cdef ChunkEntry entry
        cdef LongChunk long_chunk
        cdef int status
        if n <= PACKED_MAX:
            entry = ChunkEntry(packed_load(p, n, n), count, first)
            status = chunkmap_add(&self.chunks, &entry, 1)
        else:
            long_chunk = LongChunk(p, n, packed_hash_long(p, n) if hash is None else <uint64_t> hash, count, first)
            status = chunkmap_add_long(&self.chunks, &long_chunk, 1, n, &kept)
            if kept:
                self.kept.append(chunk)
        if status == CHUNKMAP_OVERFLOW:
            raise OverflowError("a count leaves 64 bits")
        if status != CHUNKMAP_OK:
            raise MemoryError

    def items(self):
        """[(chunk, count, first)] in order of arrival."""
        cdef const uint8_t* p
        cdef int64_t i, n
        found = []
        for i in range(self.chunks.n):
            n = chunk_bytes(&self.chunks, &self.chunks.entries[i], &p)
            found.append(((<const char*> p)[:n], self.chunks.entries[i].count, self.chunks.entries[i].first))
        return found
