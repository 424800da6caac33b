"""The shared maps of chunks (see partitions.pxd): filling them, and taking the rows out in order.

`sum_rows` and `merge_runs` add tables of counts; counting from text is in count.pyx.
"""
import numpy as np

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe.kernels.chunkmap cimport (
    CHUNKMAP_FULL,
    CHUNKMAP_MEMORY,
    CHUNKMAP_OVERFLOW,
    chunk_bytes,
    chunkmap_add,
    chunkmap_add_long,
    chunkmap_free,
    chunkmap_free_index,
    chunkmap_init,
)
from fastbpe.kernels.packed cimport PACKED_MAX, Packed, packed_hash, packed_hash_long, packed_load


cdef extern from *:
    """
    #ifdef __GLIBC__
    #include <malloc.h>
    static void give_back_memory(void) { malloc_trim(0); }
    #else
    static void give_back_memory(void) {}
    #endif
    """
    void give_back_memory() nogil


def trim():
    """Gives memory that was freed back to the system, where the allocator keeps it for itself."""
    with nogil:
        give_back_memory()


def sum_rows(tables, int partition_bits=PARTITION_BITS):
    """Adds tables of (data uint8, starts int64 (n + 1), counts int64): (data, starts, counts) of all of them.

    The rows are those of the first table, then the new ones of the second, and so on. Raises ValueError for arrays that
    contradict each other, OverflowError when a count leaves 64 bits, MemoryError.
    """
    return add_tables([(*table, None) for table in tables], partition_bits)[:3]


def merge_runs(runs, int partition_bits=0, int64_t part=0, int64_t n_parts=1):
    """Adds tables of (data, starts, counts, firsts int64), and gives one, in order of the smallest `firsts`.

    Firsts are positions at which the chunks were met, different for different chunks. Of an iterator's tables one is
    held at a time. part: of all rows, by the hash of their chunks, those of this one of n_parts alone. Raises as
    `sum_rows` does, and ValueError for no such part.
    """
    return add_tables(runs, partition_bits, part, n_parts)


cdef tuple add_tables(tables, int partition_bits, int64_t part=0, int64_t n_parts=1):
    if not 0 <= part < n_parts:
        raise ValueError("part must be 0 to n_parts - 1")
    if not 0 <= partition_bits <= MAX_PARTITION_BITS:
        raise ValueError("partition_bits must be 0 to 12")
    cdef const uint8_t[::1] data
    cdef const int64_t[::1] starts
    cdef const int64_t[::1] counts
    cdef const int64_t[::1] firsts
    cdef Partitions partitions
    cdef Waiting waiting
    cdef int64_t i, n, position = 0
    cdef int status
    memset(&waiting, 0, sizeof(Waiting))
    status = partitions_init(&partitions, partition_bits)
    try:
        check_status(status)
        check_status(waiting_init(&waiting, partition_bits))
        for data, starts, counts, firsts in tables:
            n = counts.shape[0]
            if starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != data.shape[0]:
                raise ValueError("starts must hold one offset more than counts, from 0 to the length of data")
            if firsts is not None and firsts.shape[0] != n:
                raise ValueError("firsts must be as many as counts")
            for i in range(n):
                if starts[i] >= starts[i + 1] or counts[i] < 1 or (firsts is not None and firsts[i] < 0):
                    raise ValueError("no chunk is empty, every count is at least 1, and no position is negative")
            if n:
                with nogil:
                    status = add_rows(&partitions, &waiting, &data[0], &starts[0], &counts[0], n,
                                      &firsts[0] if firsts is not None else NULL, position, part, n_parts)
                check_status(status)
            position += n
        return partitions_take(&partitions)
    finally:
        waiting_free(&waiting)
        partitions_free(&partitions)


cdef int add_rows(Partitions* partitions, Waiting* waiting, const uint8_t* data, const int64_t* starts,
                  const int64_t* counts, int64_t n, const int64_t* firsts, int64_t position, int64_t part,
                  int64_t n_parts) noexcept nogil:
    """Adds rows that were met at `firsts`, or one after the other from `position` on; those of one part."""
    cdef int64_t i, length, first
    cdef uint64_t hash
    cdef const uint8_t* bytes
    cdef int status = CHUNKMAP_OK
    cdef Packed key
    # Big chunks of runs are copied: the run goes before the map does.
    waiting.n_data = starts[n] if firsts == NULL else INT64_MAX
    for i in range(n):
        bytes = data + starts[i]
        length = starts[i + 1] - starts[i]
        first = firsts[i] if firsts != NULL else position + i
        if length > PACKED_MAX:
            hash = packed_hash_long(bytes, length)
            if in_part(hash, part, n_parts):
                status = waiting_add_long(partitions, waiting, LongChunk(bytes, length, hash, counts[i], first))
        else:
            key = packed_load(bytes, length, starts[n] - starts[i])
            hash = packed_hash(key)
            if in_part(hash, part, n_parts):
                status = waiting_add(partitions, waiting, hash, ChunkEntry(key, counts[i], first))
        if status != CHUNKMAP_OK:
            return status
    status = waiting_flush_all_long(partitions, waiting)
    return waiting_flush_all(partitions, waiting) if status == CHUNKMAP_OK else status


cdef inline bint in_part(uint64_t hash, int64_t part, int64_t n_parts) noexcept nogil:
    # Mixed, because the rows may be those of one partition, which have some bits in common.
    return n_parts == 1 or <int64_t> ((hash * <uint64_t> 0x9E3779B97F4A7C15 >> 32) % <uint64_t> n_parts) == part


cdef int check_status(int status) except -1:
    if status == CHUNKMAP_OVERFLOW:
        raise OverflowError("a chunk's count reaches 2**63")
    if status == CHUNKMAP_FULL:
        raise OverflowError("too many distinct chunks for one counter")
    if status != CHUNKMAP_OK:
        raise MemoryError("no memory left for counting")
    return 0


cdef int partitions_init(Partitions* partitions, int bits) noexcept nogil:
    cdef int64_t i, n = <int64_t> 1 << bits
    partitions.bits = bits
    partitions.maps = <ChunkMap*> calloc(n, sizeof(ChunkMap))
    partitions.locks = <PyThread_type_lock*> calloc(n, sizeof(PyThread_type_lock))
    if partitions.maps == NULL or partitions.locks == NULL:
        return CHUNKMAP_MEMORY
    for i in range(n):
        partitions.locks[i] = PyThread_allocate_lock()
        if partitions.locks[i] == NULL or chunkmap_init(&partitions.maps[i], 2 * CHUNK_BATCH) != CHUNKMAP_OK:
            return CHUNKMAP_MEMORY
    return CHUNKMAP_OK


cdef void partitions_free(Partitions* partitions) noexcept nogil:
    cdef int64_t i
    for i in range(<int64_t> 1 << partitions.bits):
        if partitions.maps != NULL:
            chunkmap_free(&partitions.maps[i])
        if partitions.locks != NULL and partitions.locks[i] != NULL:
            PyThread_free_lock(partitions.locks[i])
    free(partitions.maps)
    free(partitions.locks)
    partitions.maps = NULL
    partitions.locks = NULL


cdef int waiting_init(Waiting* waiting, int bits) noexcept nogil:
    cdef size_t n = <size_t> 1 << bits
    memset(waiting, 0, sizeof(Waiting))
    waiting.chunks = <ChunkEntry*> malloc(n * CHUNK_BATCH * sizeof(ChunkEntry))
    waiting.longs = <LongChunk*> malloc(n * CHUNK_BATCH * sizeof(LongChunk))
    waiting.n_chunks = <int*> calloc(n, sizeof(int))
    waiting.n_longs = <int*> calloc(n, sizeof(int))
    if waiting.chunks == NULL or waiting.longs == NULL or waiting.n_chunks == NULL or waiting.n_longs == NULL:
        return CHUNKMAP_MEMORY
    return CHUNKMAP_OK


cdef void waiting_free(Waiting* waiting) noexcept nogil:
    free(waiting.chunks)
    free(waiting.longs)
    free(waiting.n_chunks)
    free(waiting.n_longs)


cdef int waiting_flush(Partitions* partitions, Waiting* waiting, int64_t partition) noexcept nogil:
    cdef int status
    PyThread_acquire_lock(partitions.locks[partition], WAIT_LOCK)
    status = chunkmap_add(&partitions.maps[partition], waiting.chunks + partition * CHUNK_BATCH,
                          waiting.n_chunks[partition])
    PyThread_release_lock(partitions.locks[partition])
    waiting.n_chunks[partition] = 0
    return status


cdef int waiting_flush_long(Partitions* partitions, Waiting* waiting, int64_t partition) noexcept nogil:
    cdef int status
    PyThread_acquire_lock(partitions.locks[partition], WAIT_LOCK)
    status = chunkmap_add_long(&partitions.maps[partition], waiting.longs + partition * CHUNK_BATCH,
                               waiting.n_longs[partition], waiting.n_data, &waiting.kept)
    PyThread_release_lock(partitions.locks[partition])
    waiting.n_longs[partition] = 0
    return status


cdef int waiting_flush_all(Partitions* partitions, Waiting* waiting) noexcept nogil:
    cdef int64_t partition
    cdef int status = CHUNKMAP_OK
    for partition in range(<int64_t> 1 << partitions.bits):
        if waiting.n_chunks[partition] and status == CHUNKMAP_OK:
            status = waiting_flush(partitions, waiting, partition)
    return status


cdef int waiting_flush_all_long(Partitions* partitions, Waiting* waiting) noexcept nogil:
    cdef int64_t partition
    cdef int status = CHUNKMAP_OK
    for partition in range(<int64_t> 1 << partitions.bits):
        if waiting.n_longs[partition] and status == CHUNKMAP_OK:
            status = waiting_flush_long(partitions, waiting, partition)
    return status


cdef tuple partitions_take(Partitions* partitions):
    cdef int64_t i, n = 0, n_bytes = 0, n_partitions = <int64_t> 1 << partitions.bits
    for i in range(n_partitions):
        chunkmap_free_index(&partitions.maps[i])
        n += partitions.maps[i].n
        n_bytes += partitions.maps[i].n_bytes
    firsts = np.empty(n, np.int64)
    cdef int64_t[::1] numbers = firsts
    if n:
        with nogil:
            copy_firsts(partitions, &numbers[0])
    # Positions are all different; this kind makes use of the runs that each partition brings.
    order = np.argsort(firsts, kind="stable")
    numbers = order
    data, starts, counts = np.empty(n_bytes, np.uint8), np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    cdef uint8_t[::1] data_out = data
    cdef int64_t[::1] starts_out = starts
    cdef int64_t[::1] counts_out = counts
    cdef int64_t[::1] firsts_out = firsts
    if n:
        with nogil:
            gather(partitions, &numbers[0], n, &data_out[0], &starts_out[0], &counts_out[0], &firsts_out[0])
    for i in range(n_partitions):
        chunkmap_free(&partitions.maps[i])
    return data, starts, counts, firsts


cdef tuple partitions_take_one(Partitions* partitions, int64_t partition):
    cdef ChunkMap fresh
    cdef Partitions taken
    check_status(chunkmap_init(&fresh, 2 * CHUNK_BATCH))
    taken.bits = 0
    taken.locks = NULL
    taken.maps = <ChunkMap*> malloc(sizeof(ChunkMap))
    if taken.maps == NULL:
        chunkmap_free(&fresh)
        raise MemoryError
    with nogil:
        PyThread_acquire_lock(partitions.locks[partition], WAIT_LOCK)
        taken.maps[0] = partitions.maps[partition]
        partitions.maps[partition] = fresh
        PyThread_release_lock(partitions.locks[partition])
    try:
        return partitions_take(&taken)
    finally:
        partitions_free(&taken)


cdef void copy_firsts(const Partitions* partitions, int64_t* firsts) noexcept nogil:
    cdef int64_t partition, i
    cdef const ChunkMap* chunks
    for partition in range(<int64_t> 1 << partitions.bits):
        chunks = &partitions.maps[partition]
        for i in range(chunks.n):
            firsts[i] = chunks.entries[i].first
        firsts += chunks.n


cdef void gather(const Partitions* partitions, const int64_t* order, int64_t n, uint8_t* data, int64_t* starts,
                 int64_t* counts, int64_t* firsts) noexcept nogil:
    """Writes the chunks in the order of their numbers, which run through the partitions one after the other."""
    cdef int64_t n_partitions = <int64_t> 1 << partitions.bits
    cdef int64_t[(1 << MAX_PARTITION_BITS) + 1] bases
    cdef int64_t partition, row, length
    cdef const uint8_t* bytes
    cdef const ChunkEntry* entry
    bases[0] = 0
    for partition in range(n_partitions):
        bases[partition + 1] = bases[partition] + partitions.maps[partition].n
    starts[0] = 0
    for row in range(n):
        # Hashes fill the partitions evenly, so the first guess is nearly right.
        partition = <int64_t> (<double> order[row] / n * n_partitions)
        while order[row] < bases[partition]:
            partition -= 1
        while order[row] >= bases[partition + 1]:
            partition += 1
        entry = &partitions.maps[partition].entries[order[row] - bases[partition]]
        length = chunk_bytes(&partitions.maps[partition], entry, &bytes)
        memcpy(data + starts[row], bytes, length)
        counts[row] = entry.count
        firsts[row] = entry.first
        starts[row + 1] = starts[row] + length
