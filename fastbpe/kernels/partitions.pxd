"""The chunks of a corpus in partitions, shared by threads: one map and one lock for each value of the hash's top bits.

A thread does not take a lock for each chunk. What it has found waits in a buffer of its own for each partition, and a
full buffer goes into the map at once.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fastbpe.kernels.chunkmap cimport (
    CHUNK_BATCH,
    CHUNKMAP_OK,
    ChunkEntry,
    ChunkMap,
    LongChunk,
    chunk_partition,
)

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock)
    int PyThread_acquire_lock(PyThread_type_lock, int)
    void PyThread_release_lock(PyThread_type_lock)
    const int WAIT_LOCK

cdef enum:
    PARTITION_BITS = 6       # enough for threads not to wait for each other
    MAX_PARTITION_BITS = 12

cdef struct Partitions:
    ChunkMap* maps
    PyThread_type_lock* locks
    int bits

cdef struct Waiting:
    ChunkEntry* chunks       # (partitions, CHUNK_BATCH)
    int* n_chunks
    LongChunk* longs         # (partitions, CHUNK_BATCH): they point into the data
    int* n_longs
    int64_t n_data           # length of that data
    bint kept                # a map points into it, too

cdef int partitions_init(Partitions* partitions, int bits) noexcept nogil
cdef void partitions_free(Partitions* partitions) noexcept nogil
cdef int waiting_init(Waiting* waiting, int bits) noexcept nogil
cdef void waiting_free(Waiting* waiting) noexcept nogil

# Each returns a CHUNKMAP status.
cdef int waiting_flush(Partitions* partitions, Waiting* waiting, int64_t partition) noexcept nogil
cdef int waiting_flush_long(Partitions* partitions, Waiting* waiting, int64_t partition) noexcept nogil
cdef int waiting_flush_all(Partitions* partitions, Waiting* waiting) noexcept nogil
cdef int waiting_flush_all_long(Partitions* partitions, Waiting* waiting) noexcept nogil

# (data, starts, counts, firsts) in order of first appearance; the maps are gone afterwards.
cdef tuple partitions_take(Partitions* partitions)
# The same of one partition, which is empty afterwards; others may add meanwhile.
cdef tuple partitions_take_one(Partitions* partitions, int64_t partition)
cdef int check_status(int status) except -1


cdef inline int waiting_add(Partitions* partitions, Waiting* waiting, uint64_t hash, ChunkEntry entry) noexcept nogil:
    cdef int64_t partition = chunk_partition(hash, partitions.bits)
    cdef int n = waiting.n_chunks[partition]
    waiting.chunks[partition * CHUNK_BATCH + n] = entry
    waiting.n_chunks[partition] = n + 1
    return waiting_flush(partitions, waiting, partition) if n + 1 == CHUNK_BATCH else CHUNKMAP_OK


cdef inline int waiting_add_long(Partitions* partitions, Waiting* waiting, LongChunk chunk) noexcept nogil:
    cdef int64_t partition = chunk_partition(chunk.hash, partitions.bits)
    cdef int n = waiting.n_longs[partition]
    waiting.longs[partition * CHUNK_BATCH + n] = chunk
    waiting.n_longs[partition] = n + 1
    return waiting_flush_long(partitions, waiting, partition) if n + 1 == CHUNK_BATCH else CHUNKMAP_OK
