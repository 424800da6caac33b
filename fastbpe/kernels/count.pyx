"""Counts the distinct chunks of spans, from any number of threads, and gives them in order of first appearance.

Each thread that is adding has a small cache of the chunks it sees often, two entries to a cache line, which takes most
chunks. What leaves the cache, and every long chunk, waits in the buffer of its partition (the upper bits of its hash)
until the buffer is full; then it goes into the partition's map, under the partition's lock. The maps are shared: more
threads need a cache each, and no more.

Every entry keeps the smallest position at which its chunk was met, so the result is the same however the work was cut.
"""
import numpy as np

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe.kernels.chunkmap cimport (
    CHUNK_BATCH,
    CHUNKMAP_FULL,
    CHUNKMAP_OK,
    CHUNKMAP_OVERFLOW,
    ChunkEntry,
    ChunkMap,
    LongChunk,
    chunk_bytes,
    chunk_partition,
    chunkmap_add,
    chunkmap_add_long,
    chunkmap_free,
    chunkmap_free_index,
    chunkmap_init,
)
from fastbpe.kernels.packed cimport PACKED_MAX, Packed, packed_equal, packed_hash, packed_hash_long, packed_load
from fastbpe.kernels.prefetch cimport fastbpe_prefetch
from fastbpe.kernels.split cimport Chunks, SplitTable, chunks_fill

from fastbpe.kernels.split import check_spans

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock)
    int PyThread_acquire_lock(PyThread_type_lock, int)
    void PyThread_release_lock(PyThread_type_lock)
    const int WAIT_LOCK

cdef enum:
    MAX_PARTITIONS = 4096
    N_ENDS = 2048  # chunk ends found at a time: they stay in the first-level cache until they are used

# What one thread has while it adds. Between two calls it waits in a pool with what its cache holds.
cdef struct CountState:
    void* cache_block
    ChunkEntry* cache       # sets of two entries; count 0: free
    uint64_t set_mask
    ChunkEntry* waiting     # (partitions, CHUNK_BATCH)
    int* n_waiting
    LongChunk* waiting_long  # (partitions, CHUNK_BATCH): they point into the data, so none stays after a call
    int* n_waiting_long
    int64_t* ends
    int64_t position        # the cache holds chunks met before it
    int64_t n_data
    bint kept
    CountState* next

cdef struct Shared:
    ChunkMap* maps
    PyThread_type_lock* locks
    int partition_bits


cdef class Counter:
    """Counts chunks. `add` and `add_rows` may be called from many threads at once, `finish` when all have returned.

    cache_bits and partition_bits say how many sets each thread's cache and how many partitions the maps have, as powers
    of two; the result does not depend on them.
    """
    cdef Shared shared
    cdef CountState* pool
    cdef PyThread_type_lock pool_lock
    cdef int cache_bits
    cdef int n_busy
    cdef str closed
    cdef list kept

    def __cinit__(self, int cache_bits=13, int partition_bits=6):
        if not 0 <= cache_bits <= 24 or not 0 <= partition_bits <= 12:  # MAX_PARTITIONS
            raise ValueError("cache_bits must be 0 to 24, partition_bits 0 to 12")
        self.kept = []
        self.cache_bits = cache_bits
        self.shared.partition_bits = partition_bits
        self.pool_lock = PyThread_allocate_lock()
        self.shared.maps = <ChunkMap*> calloc(1 << partition_bits, sizeof(ChunkMap))
        self.shared.locks = <PyThread_type_lock*> calloc(1 << partition_bits, sizeof(PyThread_type_lock))
        if self.pool_lock == NULL or self.shared.maps == NULL or self.shared.locks == NULL:
            raise MemoryError
        for i in range(1 << partition_bits):
            self.shared.locks[i] = PyThread_allocate_lock()
            if self.shared.locks[i] == NULL or chunkmap_init(&self.shared.maps[i], 2 * CHUNK_BATCH) != CHUNKMAP_OK:
                raise MemoryError

    def __dealloc__(self):
        cdef CountState* state = self.pool
        cdef CountState* rest
        while state != NULL:
            rest = state.next
            state_free(state)
            state = rest
        for i in range(1 << self.shared.partition_bits):
            if self.shared.maps != NULL:
                chunkmap_free(&self.shared.maps[i])
            if self.shared.locks != NULL and self.shared.locks[i] != NULL:
                PyThread_free_lock(self.shared.locks[i])
        free(self.shared.maps)
        free(self.shared.locks)
        if self.pool_lock != NULL:
            PyThread_free_lock(self.pool_lock)

    def add(self, const uint8_t[::1] data not None, spans=None, int64_t position=0, SplitTable table=None, ends=None):
        """Counts the chunks of the text spans of `data`, whose first byte stands at `position` of the corpus.

        spans: None (all is one text) or int64 (n, 4) of start, stop, text_end, id; those with an id are skipped. Chunks
        are found by `table`, or `ends` gives them (int64, ascending, the last of each span at its stop); with neither,
        a span is one chunk. Data with a chunk of 64 KiB or more may be kept until the end: do not change it. Positions
        of different data must not overlap. Raises ValueError for arguments that contradict each other, MemoryError;
        after an error the counts are lost.
        """
        spans = check_spans(spans, data.shape[0])
        cdef const int64_t[:, ::1] rows = spans
        cdef const int64_t[::1] given = None
        cdef Chunks chunks
        cdef int status
        if not 0 <= position <= INT64_MAX - data.shape[0]:
            raise ValueError("position: the data reaches outside 0 .. 2**63 - 1")
        chunks.dfa = NULL
        chunks.given = NULL
        chunks.n_given = 0
        if ends is not None:
            if table is not None:
                raise ValueError("chunks come from a table or from given ends, not both")
            given = check_ends(ends, spans)
            chunks.n_given = given.shape[0]
            chunks.given = &given[0] if given.shape[0] else NULL
        elif table is not None:
            chunks.dfa = &table.dfa
        if rows.shape[0] == 0 or data.shape[0] == 0:
            return
        cdef CountState* state = self.acquire()
        with nogil:
            status = count_spans(&self.shared, state, &data[0], data.shape[0], &rows[0, 0], rows.shape[0],
                                 position, &chunks)
        self.release(state, data, status)

    def add_rows(self, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
                 const int64_t[::1] counts not None, int64_t position=0):
        """Counts data[starts[i]:starts[i + 1]] counts[i] times, met first at position + i. For adding counts together.

        Raises ValueError for arrays that contradict each other, OverflowError when a count leaves 64 bits.
        """
        cdef int64_t i, n = counts.shape[0]
        cdef int status = CHUNKMAP_OK
        if starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != data.shape[0]:
            raise ValueError("starts must hold one offset more than counts, from 0 to the length of data")
        for i in range(n):
            if starts[i] >= starts[i + 1] or counts[i] < 1:
                raise ValueError("no chunk is empty, and every count is at least 1")
        if not 0 <= position <= INT64_MAX - n:
            raise ValueError("position: the rows reach outside 0 .. 2**63 - 1")
        if n == 0:
            return
        cdef CountState* state = self.acquire()
        with nogil:
            status = count_rows(&self.shared, state, &data[0], &starts[0], &counts[0], n, position)
        self.release(state, data, status)

    def finish(self):
        """(data uint8, starts int64 (n + 1), counts int64): the distinct chunks in order of first appearance.

        Nothing can be added afterwards. Raises OverflowError when a count leaves 64 bits.
        """
        self.check_open()
        if self.n_busy:
            raise RuntimeError("finish() was called while chunks were being added")
        self.closed = "the counts were taken out already"
        cdef int64_t n = 0, n_bytes = 0
        cdef int status = CHUNKMAP_OK
        cdef CountState* state
        while self.pool != NULL:
            state = self.pool
            self.pool = state.next
            with nogil:
                if status == CHUNKMAP_OK:
                    status = flush_cache(&self.shared, state)
                if status == CHUNKMAP_OK:
                    status = flush_waiting(&self.shared, state)
                state_free(state)
        check_status(status)
        for i in range(1 << self.shared.partition_bits):
            chunkmap_free_index(&self.shared.maps[i])
            n += self.shared.maps[i].n
            n_bytes += self.shared.maps[i].n_bytes
        order = np.empty(n, np.int64)
        cdef int64_t[::1] numbers = order
        if n:
            with nogil:
                copy_firsts(&self.shared, &numbers[0])
            order = np.argsort(order)
            numbers = order
        data, starts, counts = np.empty(n_bytes, np.uint8), np.zeros(n + 1, np.int64), np.empty(n, np.int64)
        cdef uint8_t[::1] data_out = data
        cdef int64_t[::1] starts_out = starts
        cdef int64_t[::1] counts_out = counts
        if n:
            with nogil:
                gather(&self.shared, &numbers[0], n, &data_out[0], &starts_out[0], &counts_out[0])
        for i in range(1 << self.shared.partition_bits):
            chunkmap_free(&self.shared.maps[i])
        self.kept = []
        return data, starts, counts

    cdef check_open(self):
        if self.closed is not None:
            raise RuntimeError(self.closed)

    cdef CountState* acquire(self) except NULL:
        cdef CountState* state
        self.check_open()
        PyThread_acquire_lock(self.pool_lock, WAIT_LOCK)
        state = self.pool
        if state != NULL:
            self.pool = state.next
        self.n_busy += 1
        PyThread_release_lock(self.pool_lock)
        if state == NULL:
            state = state_new(self.cache_bits, self.shared.partition_bits)
            if state == NULL:
                self.closed = "counting failed before"
                raise MemoryError
        state.kept = False
        return state

    cdef release(self, CountState* state, const uint8_t[::1] data, int status):
        if state.kept:
            self.kept.append(data)
        PyThread_acquire_lock(self.pool_lock, WAIT_LOCK)
        state.next = self.pool
        self.pool = state
        self.n_busy -= 1
        PyThread_release_lock(self.pool_lock)
        if status != CHUNKMAP_OK:
            self.closed = "counting failed before"
        check_status(status)


cdef check_status(int status):
    if status == CHUNKMAP_OVERFLOW:
        raise OverflowError("a chunk's count reaches 2**63")
    if status == CHUNKMAP_FULL:
        raise OverflowError("too many distinct chunks for one counter")
    if status != CHUNKMAP_OK:
        raise MemoryError("no memory left for counting")


cdef check_ends(ends, const int64_t[:, ::1] spans):
    """`ends` when they are ascending ends of chunks that fill each text span; ValueError otherwise."""
    cdef const int64_t[::1] given
    cdef int64_t last, row, i = 0
    if not isinstance(ends, np.ndarray) or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("ends: expected a one-dimensional int64 array")
    ends = np.ascontiguousarray(ends)
    given = ends
    for row in range(spans.shape[0]):
        if spans[row, 3] >= 0:
            continue
        last = spans[row, 0]
        while last < spans[row, 1]:
            if i == given.shape[0] or not last < given[i] <= spans[row, 1]:
                raise ValueError(f"ends: they do not fill span {row}")
            last = given[i]
            i += 1
    if i != given.shape[0]:
        raise ValueError("ends: more than the spans have")
    return ends


cdef CountState* state_new(int cache_bits, int partition_bits) noexcept nogil:
    cdef CountState* state = <CountState*> calloc(1, sizeof(CountState))
    cdef size_t partitions = <size_t> 1 << partition_bits
    cdef size_t line = 2 * sizeof(ChunkEntry)
    if state == NULL:
        return NULL
    state.set_mask = (<uint64_t> 1 << cache_bits) - 1
    state.cache_block = calloc((<size_t> 1 << cache_bits) + 1, line)
    state.waiting = <ChunkEntry*> malloc(partitions * CHUNK_BATCH * sizeof(ChunkEntry))
    state.waiting_long = <LongChunk*> malloc(partitions * CHUNK_BATCH * sizeof(LongChunk))
    state.n_waiting = <int*> calloc(partitions, sizeof(int))
    state.n_waiting_long = <int*> calloc(partitions, sizeof(int))
    state.ends = <int64_t*> malloc(N_ENDS * sizeof(int64_t))
    if (state.cache_block == NULL or state.waiting == NULL or state.waiting_long == NULL or state.n_waiting == NULL
            or state.n_waiting_long == NULL or state.ends == NULL):
        state_free(state)
        return NULL
    # A set is one cache line.
    state.cache = <ChunkEntry*> ((<size_t> state.cache_block + line - 1) // line * line)
    return state


cdef void state_free(CountState* state) noexcept nogil:
    free(state.cache_block)
    free(state.waiting)
    free(state.waiting_long)
    free(state.n_waiting)
    free(state.n_waiting_long)
    free(state.ends)
    free(state)


cdef int count_spans(Shared* shared, CountState* state, const uint8_t* data, int64_t n_data, const int64_t* spans,
                     int64_t n_spans, int64_t position, Chunks* chunks) noexcept nogil:
    cdef const int64_t* span
    cdef int64_t row, start, n
    cdef int status = CHUNKMAP_OK
    # A cached entry keeps the position that it came with, which must be the smallest: positions only rise.
    if position < state.position:
        status = flush_cache(shared, state)
    state.position = position + n_data
    state.n_data = n_data
    for row in range(n_spans):
        span = spans + 4 * row
        start = span[0]
        while status == CHUNKMAP_OK and span[3] < 0 and start < span[1]:
            n = chunks_fill(chunks, data, start, span[1], span[2], state.ends, N_ENDS)
            status = count_ends(shared, state, data, n_data, start, state.ends, n, position)
            start = state.ends[n - 1]
    if status == CHUNKMAP_OK:
        status = flush_long(shared, state)
    return status


cdef int count_rows(Shared* shared, CountState* state, const uint8_t* data, const int64_t* starts,
                    const int64_t* counts, int64_t n, int64_t position) noexcept nogil:
    cdef int64_t i, length
    cdef int status = CHUNKMAP_OK
    cdef Packed key
    state.n_data = starts[n]
    for i in range(n):
        length = starts[i + 1] - starts[i]
        if length > PACKED_MAX:
            status = wait_long(shared, state, data + starts[i], length, counts[i], position + i)
        else:
            key = packed_load(data + starts[i], length, starts[n] - starts[i])
            status = wait(shared, state, packed_hash(key), ChunkEntry(key, counts[i], position + i))
        if status != CHUNKMAP_OK:
            return status
    return flush_long(shared, state)


cdef int count_ends(Shared* shared, CountState* state, const uint8_t* data, int64_t n_data, int64_t start,
                    const int64_t* ends, int64_t n_ends, int64_t position) noexcept nogil:
    """Counts the chunks that lie between `start` and the ends, in batches: keys and hashes first, then the cache."""
    cdef Packed keys[CHUNK_BATCH]
    cdef uint64_t hashes[CHUNK_BATCH]
    cdef int64_t firsts[CHUNK_BATCH]
    cdef int64_t i = 0, j, n, stop, length
    cdef int status
    cdef ChunkEntry* line
    cdef ChunkEntry evicted
    while i < n_ends:
        stop = min(i + CHUNK_BATCH, n_ends)
        n = 0
        for i in range(i, stop):
            length = ends[i] - start
            if length <= PACKED_MAX:
                keys[n] = packed_load(data + start, length, n_data - start)
                hashes[n] = packed_hash(keys[n])
                firsts[n] = position + start
                fastbpe_prefetch(state.cache + 2 * (hashes[n] & state.set_mask))
                n += 1
            else:
                status = wait_long(shared, state, data + start, length, 1, position + start)
                if status != CHUNKMAP_OK:
                    return status
            start = ends[i]
        i = stop
        for j in range(n):
            line = state.cache + 2 * (hashes[j] & state.set_mask)
            if packed_equal(line[0].key, keys[j]):
                line[0].count += 1
            elif packed_equal(line[1].key, keys[j]):
                # The one met last stands first, so the other one leaves.
                evicted = line[1]
                evicted.count += 1
                line[1] = line[0]
                line[0] = evicted
            else:
                evicted = line[1]
                line[1] = line[0]
                line[0] = ChunkEntry(keys[j], 1, firsts[j])
                if evicted.count:
                    status = wait(shared, state, packed_hash(evicted.key), evicted)
                    if status != CHUNKMAP_OK:
                        return status
    return CHUNKMAP_OK


cdef inline int wait(Shared* shared, CountState* state, uint64_t hash, ChunkEntry entry) noexcept nogil:
    cdef int64_t partition = chunk_partition(hash, shared.partition_bits)
    state.waiting[partition * CHUNK_BATCH + state.n_waiting[partition]] = entry
    state.n_waiting[partition] += 1
    return flush_partition(shared, state, partition) if state.n_waiting[partition] == CHUNK_BATCH else CHUNKMAP_OK


cdef int wait_long(Shared* shared, CountState* state, const uint8_t* bytes, int64_t length, int64_t count,
                   int64_t first) noexcept nogil:
    cdef uint64_t hash = packed_hash_long(bytes, length)
    cdef int64_t partition = chunk_partition(hash, shared.partition_bits)
    state.waiting_long[partition * CHUNK_BATCH + state.n_waiting_long[partition]] = LongChunk(
        bytes, length, hash, count, first)
    state.n_waiting_long[partition] += 1
    if state.n_waiting_long[partition] == CHUNK_BATCH:
        return flush_partition_long(shared, state, partition)
    return CHUNKMAP_OK


cdef int flush_partition(Shared* shared, CountState* state, int64_t partition) noexcept nogil:
    PyThread_acquire_lock(shared.locks[partition], WAIT_LOCK)
    cdef int status = chunkmap_add(&shared.maps[partition], state.waiting + partition * CHUNK_BATCH,
                                   state.n_waiting[partition])
    PyThread_release_lock(shared.locks[partition])
    state.n_waiting[partition] = 0
    return status


cdef int flush_partition_long(Shared* shared, CountState* state, int64_t partition) noexcept nogil:
    PyThread_acquire_lock(shared.locks[partition], WAIT_LOCK)
    cdef int status = chunkmap_add_long(&shared.maps[partition], state.waiting_long + partition * CHUNK_BATCH,
                                        state.n_waiting_long[partition], state.n_data, &state.kept)
    PyThread_release_lock(shared.locks[partition])
    state.n_waiting_long[partition] = 0
    return status


cdef int flush_long(Shared* shared, CountState* state) noexcept nogil:
    cdef int64_t partition
    cdef int status = CHUNKMAP_OK
    for partition in range(<int64_t> 1 << shared.partition_bits):
        if state.n_waiting_long[partition] and status == CHUNKMAP_OK:
            status = flush_partition_long(shared, state, partition)
    return status


cdef int flush_waiting(Shared* shared, CountState* state) noexcept nogil:
    cdef int64_t partition
    cdef int status = CHUNKMAP_OK
    for partition in range(<int64_t> 1 << shared.partition_bits):
        if state.n_waiting[partition] and status == CHUNKMAP_OK:
            status = flush_partition(shared, state, partition)
    return status


cdef int flush_cache(Shared* shared, CountState* state) noexcept nogil:
    cdef int64_t i
    cdef int status = CHUNKMAP_OK
    for i in range(2 * <int64_t> (state.set_mask + 1)):
        if state.cache[i].count and status == CHUNKMAP_OK:
            status = wait(shared, state, packed_hash(state.cache[i].key), state.cache[i])
    memset(state.cache, 0, 2 * (state.set_mask + 1) * sizeof(ChunkEntry))
    return status


cdef void copy_firsts(Shared* shared, int64_t* firsts) noexcept nogil:
    cdef int64_t partition, i
    cdef ChunkMap* chunks
    for partition in range(<int64_t> 1 << shared.partition_bits):
        chunks = &shared.maps[partition]
        for i in range(chunks.n):
            firsts[i] = chunks.entries[i].first
        firsts += chunks.n


cdef void gather(Shared* shared, const int64_t* order, int64_t n, uint8_t* data, int64_t* starts,
                 int64_t* counts) noexcept nogil:
    """Writes the chunks in the order of their numbers, which run through the partitions one after the other."""
    cdef int64_t partitions = <int64_t> 1 << shared.partition_bits
    cdef int64_t bases[MAX_PARTITIONS + 1]
    cdef int64_t partition, row, length
    cdef const uint8_t* bytes
    cdef const ChunkEntry* entry
    bases[0] = 0
    for partition in range(partitions):
        bases[partition + 1] = bases[partition] + shared.maps[partition].n
    starts[0] = 0
    for row in range(n):
        # Hashes fill the partitions evenly, so the first guess is nearly right.
        partition = <int64_t> (<double> order[row] / n * partitions)
        while order[row] < bases[partition]:
            partition -= 1
        while order[row] >= bases[partition + 1]:
            partition += 1
        entry = &shared.maps[partition].entries[order[row] - bases[partition]]
        length = chunk_bytes(&shared.maps[partition], entry, &bytes)
        memcpy(data + starts[row], bytes, length)
        counts[row] = entry.count
        starts[row + 1] = starts[row] + length
