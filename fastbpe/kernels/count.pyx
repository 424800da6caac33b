"""Counts the distinct chunks of spans, from any number of threads, and gives them in order of first appearance.

Each thread that is adding has a small cache of the chunks it sees often, two entries to a cache line, which takes most
chunks. What leaves the cache, and every long chunk, goes to the partitions, which all threads share: more threads need
a cache each, and no more. Cost: a chunk that is in the cache costs its 16-byte key, a hash and one cache line.

Every entry keeps the smallest position at which its chunk was met, so the result is the same however the work was cut.
"""
import numpy as np

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe.kernels.chunkmap cimport (
    CHUNK_BATCH,
    CHUNKMAP_OK,
    CHUNKMAP_OVERFLOW,
    ChunkEntry,
    LongChunk,
    chunkmap_memory,
)
from fastbpe.kernels.packed cimport PACKED_MAX, Packed, packed_equal, packed_hash, packed_hash_long, packed_load
from fastbpe.kernels.pages cimport pages_zeroed
from fastbpe.kernels.partitions cimport (
    MAX_PARTITION_BITS,
    PARTITION_BITS,
    WAIT_LOCK,
    Partitions,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
    PyThread_type_lock,
    Waiting,
    check_status,
    partitions_free,
    partitions_init,
    partitions_take,
    partitions_take_one,
    waiting_add,
    waiting_add_long,
    waiting_flush_all,
    waiting_flush_all_long,
    waiting_free,
    waiting_init,
)
from fastbpe.kernels.prefetch cimport fastbpe_prefetch
from fastbpe.kernels.spans cimport Span, spans_of
from fastbpe.kernels.split cimport Chunks, SplitTable, chunks_fill, chunks_free, chunks_init

from fastbpe.kernels.spans import check_ends, check_spans

cdef enum:
    CACHE_BITS = 14  # a megabyte for each thread
    N_ENDS = 2048    # chunk ends found at a time: they stay in the first-level cache until they are used

# What one thread has while it adds. Between two calls it lies in a pool, with what its cache holds.
cdef struct CountState:
    void* block
    ChunkEntry* cache    # sets of two entries, aligned to a cache line; count 0: free
    uint64_t set_mask
    int64_t position     # all that is in the cache was met before it
    int64_t multiplier   # what each chunk in the cache counts for; the counts there are without it
    int64_t max_count    # the largest of them that stays below 2**63 with it
    int64_t* ends
    Waiting waiting
    CountState* next


cdef class Counter:
    """Counts chunks. `add` and `take` may be called from many threads at once, `finish` when all calls have returned.

    cache_bits and partition_bits say how many sets each thread's cache and how many partitions there are, as powers of
    two; the result does not depend on them. copy_big: whether big chunks are copied; if not, the data that one makes up
    most of is kept instead. Raises ValueError when the bits are out of range.
    """
    cdef Partitions partitions
    cdef CountState* pool
    cdef PyThread_type_lock pool_lock
    cdef int cache_bits
    cdef int n_busy
    cdef str closed
    cdef list kept
    cdef bint copy_big

    def __cinit__(self, int cache_bits=CACHE_BITS, int partition_bits=PARTITION_BITS, bint copy_big=False):
        if not 0 <= cache_bits <= 24 or not 0 <= partition_bits <= MAX_PARTITION_BITS:
            raise ValueError("cache_bits must be 0 to 24, partition_bits 0 to 12")
        self.kept = []
        self.copy_big = copy_big
        self.cache_bits = cache_bits
        self.pool_lock = PyThread_allocate_lock()
        if self.pool_lock == NULL:
            raise MemoryError
        check_status(partitions_init(&self.partitions, partition_bits))

    def __dealloc__(self):
        cdef CountState* state
        while self.pool != NULL:
            state = self.pool
            self.pool = state.next
            state_free(state)
        partitions_free(&self.partitions)
        if self.pool_lock != NULL:
            PyThread_free_lock(self.pool_lock)

    def add(self, const uint8_t[::1] data not None, spans=None, int64_t position=0, SplitTable table=None, ends=None,
            int64_t multiplier=1):
        """Counts the chunks of the text spans of `data`, whose first byte stands at `position` of the corpus.

        spans: see spans.pyx; those with an id are skipped. Chunks are found by `table`, or `ends` gives them; with
        neither, a span is one chunk. Each chunk counts `multiplier` times. Data with a chunk of 64 KiB or more may be
        kept until the end: do not change it. Positions of the texts of different calls must not overlap. Raises
        ValueError for arguments that contradict each other, RuntimeError after finish(), OverflowError, MemoryError;
        after one of these two nothing more can be done.
        """
        spans = check_spans(spans, data.shape[0])
        cdef const int64_t[:, ::1] rows = spans
        cdef const int64_t[::1] given = None
        cdef Chunks chunks
        cdef int status
        if not 0 <= position <= INT64_MAX - data.shape[0]:
            raise ValueError("position: the data reaches outside 0 .. 2**63 - 1")
        if multiplier < 1:
            raise ValueError("multiplier must be at least 1")
        chunks_init(&chunks)
        if ends is not None:
            if table is not None:
                raise ValueError("chunks come from a table or from given ends, not both")
            given = check_ends(ends, rows)
            chunks.n_given = given.shape[0]
            chunks.given = &given[0] if given.shape[0] else NULL
        elif table is not None:
            chunks.dfa = &table.dfa
        cdef CountState* state = self.acquire()
        status = CHUNKMAP_OK
        if rows.shape[0] and data.shape[0]:
            with nogil:
                status = count_spans(&self.partitions, state, &data[0], data.shape[0], spans_of(rows), rows.shape[0],
                                     position, multiplier, &chunks, self.copy_big)
                chunks_free(&chunks)
        self.release(state, data, status)

    def finish(self):
        """(data uint8, starts int64 (n + 1), counts int64): the distinct chunks in order of first appearance.

        Nothing can be added afterwards. Raises RuntimeError while a call to add() goes on, or when called again.
        """
        cdef CountState* state
        self.flush()
        self.closed = "the counts were taken out already"
        while self.pool != NULL:
            state = self.pool
            self.pool = state.next
            state_free(state)
        rows = partitions_take(&self.partitions)
        self.kept = []
        return rows[:3]

    def sizes(self):
        """int64 (partitions): bytes that each partition takes now."""
        cdef int64_t i
        sizes = np.empty(<int64_t> 1 << self.partitions.bits, np.int64)
        cdef int64_t[::1] out = sizes
        with nogil:
            for i in range(out.shape[0]):
                PyThread_acquire_lock(self.partitions.locks[i], WAIT_LOCK)
                out[i] = chunkmap_memory(&self.partitions.maps[i])
                PyThread_release_lock(self.partitions.locks[i])
        return sizes

    def take(self, int64_t partition):
        """Empties one partition: (data, starts, counts, firsts), firsts being the positions, which ascend.

        The same chunks may come again: `merge_runs` adds what several calls gave. Raises ValueError for no partition.
        """
        if not 0 <= partition < <int64_t> 1 << self.partitions.bits:
            raise ValueError("there is no such partition")
        return partitions_take_one(&self.partitions, partition)

    def flush(self):
        """Brings all that was counted to the partitions, for `take`. Raises RuntimeError as finish() does."""
        cdef CountState* state
        cdef int status = CHUNKMAP_OK
        self.check_idle()
        state = self.pool
        with nogil:
            while state != NULL and status == CHUNKMAP_OK:
                status = flush_cache(&self.partitions, state)
                if status == CHUNKMAP_OK:
                    status = waiting_flush_all(&self.partitions, &state.waiting)
                state = state.next
        if status != CHUNKMAP_OK:
            self.closed = "counting failed before"
        check_status(status)

    cdef check_idle(self):
        if self.closed is not None:
            raise RuntimeError(self.closed)
        if self.n_busy:
            raise RuntimeError("this was called while chunks were being added")

    cdef CountState* acquire(self) except NULL:
        cdef CountState* state
        if self.closed is not None:
            raise RuntimeError(self.closed)
        PyThread_acquire_lock(self.pool_lock, WAIT_LOCK)
        state = self.pool
        if state != NULL:
            self.pool = state.next
        self.n_busy += 1
        PyThread_release_lock(self.pool_lock)
        if state == NULL:
            state = state_new(self.cache_bits, self.partitions.bits)
            if state == NULL:
                self.closed = "counting ran out of memory before"
                raise MemoryError("no memory left for counting")
        state.waiting.kept = False
        return state

    cdef release(self, CountState* state, const uint8_t[::1] data, int status):
        if state.waiting.kept:
            self.kept.append(data)
        if status != CHUNKMAP_OK:
            self.closed = "counting failed before"
        PyThread_acquire_lock(self.pool_lock, WAIT_LOCK)
        state.next = self.pool
        self.pool = state
        self.n_busy -= 1
        PyThread_release_lock(self.pool_lock)
        check_status(status)


cdef CountState* state_new(int cache_bits, int partition_bits) noexcept nogil:
    cdef CountState* state = <CountState*> calloc(1, sizeof(CountState))
    cdef char* lines = NULL
    if state == NULL:
        return NULL
    state.set_mask = (<uint64_t> 1 << cache_bits) - 1
    state.multiplier = 1
    state.max_count = INT64_MAX
    state.block = pages_zeroed(2 * sizeof(ChunkEntry) << cache_bits, &lines)
    state.ends = <int64_t*> malloc(N_ENDS * sizeof(int64_t))
    if waiting_init(&state.waiting, partition_bits) != CHUNKMAP_OK or state.block == NULL or state.ends == NULL:
        state_free(state)
        return NULL
    state.cache = <ChunkEntry*> lines
    return state


cdef void state_free(CountState* state) noexcept nogil:
    waiting_free(&state.waiting)
    free(state.block)
    free(state.ends)
    free(state)


cdef int count_spans(Partitions* partitions, CountState* state, const uint8_t* data, int64_t n_data,
                     const Span* spans, int64_t n_spans, int64_t position, int64_t multiplier, Chunks* chunks,
                     bint copy_big) noexcept nogil:
    cdef const Span* span
    cdef int64_t row, start, n
    cdef int status = CHUNKMAP_OK
    # A cached entry keeps the position that it came with, which must be the smallest: positions only rise.
    if position < state.position or multiplier != state.multiplier:
        status = flush_cache(partitions, state)
    state.position = position + n_data
    state.multiplier = multiplier
    state.max_count = INT64_MAX // multiplier
    # A big chunk that is less than half of its data is copied.
    state.waiting.n_data = INT64_MAX if copy_big else n_data
    for row in range(n_spans):
        span = spans + row
        start = span.start
        while status == CHUNKMAP_OK and span.id < 0 and start < span.stop:
            n = chunks_fill(chunks, data, start, span.stop, span.text_end, state.ends, N_ENDS)
            status = count_chunks(partitions, state, data, n_data, start, state.ends, n, position)
            start = state.ends[n - 1]
    # Long chunks that wait point into the data, so none stays after the call.
    return waiting_flush_all_long(partitions, &state.waiting) if status == CHUNKMAP_OK else status


cdef int count_chunks(Partitions* partitions, CountState* state, const uint8_t* data, int64_t n_data, int64_t start,
                      const int64_t* ends, int64_t n_ends, int64_t position) noexcept nogil:
    """Counts the chunks between `start` and the ends, in batches: keys and cache lines first, then the entries."""
    cdef Packed[CHUNK_BATCH] keys
    cdef (ChunkEntry*)[CHUNK_BATCH] lines
    cdef int64_t[CHUNK_BATCH] firsts
    cdef ChunkEntry* cache = state.cache
    cdef uint64_t set_mask = state.set_mask
    cdef int64_t i = 0, j, n, stop, length
    cdef int status
    cdef const uint8_t* bytes
    cdef ChunkEntry* line
    cdef ChunkEntry entry
    while i < n_ends:
        stop = min(i + CHUNK_BATCH, n_ends)
        n = 0
        for i in range(i, stop):
            bytes = data + start
            length = ends[i] - start
            if length <= PACKED_MAX:
                keys[n] = packed_load(bytes, length, n_data - start)
                lines[n] = cache + 2 * (packed_hash(keys[n]) & set_mask)
                firsts[n] = position + start
                fastbpe_prefetch(lines[n])
                n += 1
            else:
                status = waiting_add_long(partitions, &state.waiting, LongChunk(
                    bytes, length, packed_hash_long(bytes, length), state.multiplier, position + start))
                if status != CHUNKMAP_OK:
                    return status
            start = ends[i]
        i = stop
        for j in range(n):
            line = lines[j]
            # The entry met last stands first, so that the other one leaves. (Finding the entry without branches is
            # slower: the processor guesses right more often than it can wait for the line.)
            if packed_equal(line[0].key, keys[j]):
                line[0].count += 1
            elif packed_equal(line[1].key, keys[j]):
                entry = line[1]
                entry.count += 1
                line[1] = line[0]
                line[0] = entry
            else:
                entry = line[1]
                line[1] = line[0]
                line[0] = ChunkEntry(keys[j], 1, firsts[j])
                if entry.count:
                    status = leave_cache(partitions, state, entry)
                    if status != CHUNKMAP_OK:
                        return status
    return CHUNKMAP_OK


cdef inline int leave_cache(Partitions* partitions, CountState* state, ChunkEntry entry) noexcept nogil:
    if entry.count > state.max_count:
        return CHUNKMAP_OVERFLOW
    entry.count *= state.multiplier
    return waiting_add(partitions, &state.waiting, packed_hash(entry.key), entry)


cdef int flush_cache(Partitions* partitions, CountState* state) noexcept nogil:
    cdef int64_t i
    cdef int status = CHUNKMAP_OK
    for i in range(2 * <int64_t> (state.set_mask + 1)):
        if state.cache[i].count and status == CHUNKMAP_OK:
            status = leave_cache(partitions, state, state.cache[i])
    memset(state.cache, 0, 2 * (state.set_mask + 1) * sizeof(ChunkEntry))
    return status
