"""A map from chunks to their count and the place where each was met first: one partition of the chunks of a corpus.

The entries lie densely, in order of arrival; an index of 32-bit slots, open addressing, leads to them. A slot holds an
entry's number plus one in its low bits and bits of the hash above, so that most look-ups touch one wrong entry at most.
The index is never more than half full; only it is rebuilt when the map grows, the entries stay where they are.

A chunk of up to 15 bytes is its key. A longer one has its hash in key.lo and in key.hi a mark, its length (16 bits) and
an offset (40 bits) into the arena of bytes; if the length does not fit, a BigChunk stands at that offset. A chunk's
identity is its bytes: the hash only leads to them. Nothing is ever removed, so there are no tombstones.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.packed cimport PACKED_LENGTH_SHIFT, Packed, packed_hash, packed_length

cdef enum:
    CHUNK_LONG = 0xFF        # the mark, where a key has its length
    CHUNK_BIG = 0xFFFF       # as a length: it stands in a BigChunk
    CHUNK_BATCH = 64         # how many chunks are looked up at a time

cdef enum:
    CHUNKMAP_OK = 0
    CHUNKMAP_MEMORY = -1     # no memory; as after the other two, all that is left to do is to free the map
    CHUNKMAP_OVERFLOW = -2   # a count would leave 64 bits
    CHUNKMAP_FULL = -3       # too many chunks or bytes for one map

cdef struct ChunkEntry:
    Packed key
    int64_t count
    int64_t first            # smallest position at which the chunk was met

cdef struct LongChunk:
    const uint8_t* bytes
    int64_t length           # >= 16
    uint64_t hash
    int64_t count
    int64_t first

cdef struct BigChunk:
    const uint8_t* bytes
    int64_t length
    int64_t owned            # whether the map frees the bytes

cdef struct ChunkMap:
    ChunkEntry* entries
    int64_t n
    int64_t capacity
    uint32_t* index          # 1 << bits slots; 0: empty
    int bits
    uint8_t* arena
    int64_t arena_used
    int64_t arena_capacity
    int64_t owned_bytes      # of big chunks that were copied
    int64_t n_bytes          # of all chunks, each once


# Which partition, which slot and which tag are taken from different bits of the hash.
cdef inline int64_t chunk_partition(uint64_t hash, int partition_bits) noexcept nogil:
    return <int64_t> (hash >> 32 >> (32 - partition_bits))


cdef inline bint chunk_is_long(Packed key) noexcept nogil:
    return ((key.hi >> PACKED_LENGTH_SHIFT) & 0xFF) == CHUNK_LONG


cdef inline uint64_t chunk_hash(Packed key) noexcept nogil:
    return key.lo if chunk_is_long(key) else packed_hash(key)


# The mark takes the byte that is a key's length; the other 56 bits of key.hi are above or below it.
cdef inline Packed chunk_long_key(uint64_t hash, int64_t length, int64_t offset) noexcept nogil:
    cdef Packed key
    key.lo = hash
    key.hi = <uint64_t> length << 40 | <uint64_t> offset
    if PACKED_LENGTH_SHIFT == 0:
        key.hi <<= 8
    key.hi |= <uint64_t> CHUNK_LONG << PACKED_LENGTH_SHIFT
    return key


cdef inline int64_t chunk_bytes(const ChunkMap* chunks, const ChunkEntry* entry, const uint8_t** bytes) noexcept nogil:
    """The length of an entry's chunk; `bytes` is set to where they lie."""
    cdef uint64_t packed
    cdef int64_t length
    cdef BigChunk big
    if not chunk_is_long(entry.key):
        bytes[0] = <const uint8_t*> &entry.key
        return packed_length(entry.key)
    packed = entry.key.hi >> (8 if PACKED_LENGTH_SHIFT == 0 else 0)
    length = <int64_t> (packed >> 40 & 0xFFFF)
    bytes[0] = chunks.arena + (packed & ((<uint64_t> 1 << 40) - 1))
    if length == CHUNK_BIG:
        memcpy(&big, bytes[0], sizeof(BigChunk))
        bytes[0] = big.bytes
        length = big.length
    return length


cdef inline int64_t chunkmap_memory(const ChunkMap* chunks) noexcept nogil:
    """Bytes that the map takes."""
    return (chunks.capacity * <int64_t> sizeof(ChunkEntry) + (<int64_t> sizeof(uint32_t) << chunks.bits)
            + chunks.arena_capacity + chunks.owned_bytes)


cdef int chunkmap_init(ChunkMap* chunks, int64_t capacity) noexcept nogil
cdef void chunkmap_free(ChunkMap* chunks) noexcept nogil
cdef void chunkmap_free_index(ChunkMap* chunks) noexcept nogil
# At most CHUNK_BATCH at a time; each adds its count, and `first` keeps the smallest.
cdef int chunkmap_add(ChunkMap* chunks, const ChunkEntry* batch, int64_t n) noexcept nogil
# data[:n_data] outlives the map: a big chunk that is at least half of it is not copied, and `kept` is set.
cdef int chunkmap_add_long(ChunkMap* chunks, const LongChunk* batch, int64_t n, int64_t n_data,
                           bint* kept) noexcept nogil
