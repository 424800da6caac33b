"""Text to ids by a merge list.

A span's chunks are handled some dozens at a time: first all keys are packed and their places in the cache fetched,
then each is looked up and its ids are copied to the output; a chunk that is not there is merged and kept. The cost is
a few loads for a chunk that was met before, and for others that of bpe.pyx.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe.kernels.bpe cimport BPE_SMALL_MAX, BpeEntry, BpeScratch, bpe_free, bpe_long, bpe_small
from fastbpe.kernels.chunkcache cimport (
    CACHE_LONGEST, ChunkCache, NarrowSlot, Probe, cache_bytes, cache_free, cache_init, long_get, long_put, narrow_get,
    narrow_ids, narrow_put, probe_chunks, probe_hits,
)
from fastbpe.kernels.idlist cimport IdBuffer, IdList, idlist_reserve
from fastbpe.kernels.join cimport SOURCE_BYTES, TextSource, TextSources, source_room, source_write
from fastbpe.kernels.match cimport MatchScratch, match_bytes, match_chunk, match_free, match_init
from fastbpe.kernels.matchtable cimport MatchTable, Matcher
from fastbpe.kernels.mergetable cimport MergeList, MergeTable
from fastbpe.kernels.pages cimport pages_advise
from fastbpe.kernels.packed cimport PACKED_MAX
from fastbpe.kernels.spans cimport Span, spans_of
from fastbpe.kernels.split cimport Chunks, SplitTable, chunks_fill, chunks_free, chunks_init
from fastbpe.kernels.wholechunks cimport WholeChunks, WholeTokens, whole_get

from fastbpe.errors import ParameterError
from fastbpe.kernels.spans import check_ends, check_spans
from fastbpe.text import to_bytes

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* n) except NULL
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    GROUP = 128          # chunks whose cache lines are on their way at a time
    ENDS = 4096         # chunk ends that are found at a time
    SLACK = 16          # places behind the output that a copy of constant size may write
    KEPT_IDS = 65536    # a scratch keeps an output of this size for the next call
    KEPT_TEXT = 1 << 22  # bytes of a text
    KEPT_LINKS = 65536  # entries of a heap, and as many links, for a chunk
    SMALL_CACHE = 1 << 20  # bytes of a cache beyond the share of calls that are expected at the same time
    WITH_GIL = 4096     # bytes of text for which letting other threads run costs more than it gives


cdef struct IdleBytes:
    uint8_t* bytes
    int64_t n


cdef class Scratch:
    """What one call at a time needs: the cache of chunks, and memory that is used again."""
    cdef ChunkCache cache
    cdef BpeScratch bpe
    cdef MatchScratch match
    cdef IdList out
    cdef IdleBytes text         # where a text is written that is not ASCII
    cdef int64_t ends[ENDS]
    cdef bint small

    def __cinit__(self, int64_t max_bytes, bint small):
        self.small = small
        cache_init(&self.cache, max_bytes)
        match_init(&self.match)

    def __dealloc__(self):
        cache_free(&self.cache)
        bpe_free(&self.bpe)
        match_free(&self.match)
        free(self.out.ids)
        free(self.text.bytes)

    cdef void tidy(self) noexcept:
        """Gives back what only a long text needs."""
        if self.out.capacity > KEPT_IDS:
            free(self.out.ids)
            self.out = IdList(NULL, 0, 0)
        if self.text.n > KEPT_TEXT:
            free(self.text.bytes)
            self.text = IdleBytes(NULL, 0)
        if self.bpe.heap_capacity > KEPT_LINKS:
            bpe_free(&self.bpe)

    cdef int64_t n_bytes(self):
        return (
            cache_bytes(&self.cache) + self.bpe.heap_capacity * <int64_t>sizeof(BpeEntry)
            + self.bpe.links_capacity * 8 + match_bytes(&self.match) + self.out.capacity * 4 + self.text.n
            + <int64_t>sizeof(self.ends)
        )

    cdef list take_list(self):
        cdef int64_t i
        cdef list ids = PyList_New(self.out.n)
        for i in range(self.out.n):
            PyList_SET_ITEM(ids, i, _new_reference(self.out.ids[i]))
        return ids


cdef inline object _new_reference(uint32_t id):
    cdef object number = id
    Py_INCREF(number)  # PyList_SET_ITEM steals one
    return number


cdef class Encoder:
    """Encodes by a list of merges, in any number of threads; immutable but for its caches.

    rules: a Matcher when the merges are proper, else a MergeList.
    table: the split pattern's; None: a text is one chunk, unless the ends of chunks are given.
    scratch_bytes: bound of the cache of one call at a time. A call takes a scratch that is free, or a new one.
    n_shares: so many calls at the same time have that much, further ones little.
    small_max: longest chunk that is merged in small arrays; it changes nothing but the speed.
    whole: tokens that a chunk may be as a whole, although the rules do not lead to them.
    """
    cdef MergeList merges    # None: by the matcher
    cdef Matcher matcher
    cdef SplitTable table
    cdef WholeTokens whole   # None: there are none
    cdef int64_t small_max
    cdef int64_t scratch_bytes
    cdef int64_t n_shares
    cdef int64_t n_scratches
    cdef list scratches

    def __init__(
        self, rules not None, SplitTable table=None, int64_t scratch_bytes=1 << 24,
        int64_t small_max=BPE_SMALL_MAX, WholeTokens whole=None, int64_t n_shares=1 << 30,
    ):
        if not 0 <= small_max <= BPE_SMALL_MAX:
            raise ParameterError(f"small_max must be 0 to {BPE_SMALL_MAX}, not {small_max}")
        if isinstance(rules, Matcher):
            self.matcher = rules
        else:
            self.merges = <MergeList?>rules
        self.table = table
        self.whole = whole
        self.small_max = small_max
        self.scratch_bytes = scratch_bytes
        self.n_shares = n_shares
        self.n_scratches = 0
        # One for each call that runs at the same time: pop and append are one step each for other threads.
        self.scratches = []

    @property
    def n_bytes(self):
        """Bytes of the scratches that no call uses now."""
        cdef Scratch scratch
        return sum([(<Scratch?>scratch).n_bytes() for scratch in self.scratches])

    cdef Scratch take_scratch(self):
        """A scratch that no other call uses. It must be given back."""
        cdef Scratch scratch
        try:
            scratch = self.scratches.pop()
        except IndexError:
            self.n_scratches += 1
            small = self.n_scratches > self.n_shares
            scratch = Scratch(min(self.scratch_bytes, <int64_t>SMALL_CACHE) if small else self.scratch_bytes, small)
        scratch.out.n = 0
        return scratch

    cdef void give_back(self, Scratch scratch):
        """The one with the larger cache is taken first."""
        scratch.tidy()
        self.scratches.insert(0 if scratch.small else len(self.scratches), scratch)

    cdef Job job(self, Scratch scratch, const uint8_t* data, int64_t n_data):
        cdef Job job
        job.merges = NULL
        job.matcher = NULL
        if self.merges is not None:
            job.merges = &self.merges.table
        else:
            job.matcher = &self.matcher.table
        job.whole = NULL
        if self.whole is not None:
            job.whole = &self.whole.whole
        job.match = &scratch.match
        job.small_max = self.small_max
        job.cache = &scratch.cache
        job.bpe = &scratch.bpe
        job.out = &scratch.out
        job.data = data
        job.n_data = n_data
        job.ends = scratch.ends
        chunks_init(&job.chunks)
        if self.table is not None:
            job.chunks.dfa = &self.table.dfa
        return job

    def encode_text(self, text):
        """The ids of a str or bytes that is one text, as a list."""
        cdef Job job
        cdef Scratch scratch
        cdef const char* data = NULL
        cdef Py_ssize_t n = 0
        cdef int64_t offsets[2]
        cdef Span span
        if type(text) is str and PyUnicode_IS_ASCII(text):
            data = PyUnicode_AsUTF8AndSize(text, &n)
        else:
            text = to_bytes(text)
            data = PyBytes_AS_STRING(text)
            n = PyBytes_GET_SIZE(text)
        span = Span(0, n, n, -1)
        scratch = self.take_scratch()
        job = self.job(scratch, <const uint8_t*>data, n)
        try:
            if n <= WITH_GIL:
                _encode(&job, &span, 1, offsets)
            else:
                with nogil:
                    _encode(&job, &span, 1, offsets)
            return scratch.take_list()
        finally:
            self.give_back(scratch)

    def encode_spans(self, const uint8_t[::1] data not None, spans, ends=None, bint whole=False):
        """The ids of the spans, uint32, and where each span's start, int64 (n + 1). Parameters as of `append_spans`."""
        cdef Scratch scratch = self.take_scratch()
        cdef IdBuffer buffer
        cdef uint32_t[::1] view
        try:
            offsets = self.run(scratch, &scratch.out, data, spans, ends, whole)
            if scratch.out.n > KEPT_IDS:
                buffer = IdBuffer()
                buffer.take(&scratch.out)
                ids = np.frombuffer(buffer, np.uint32)
            else:
                ids = np.empty(scratch.out.n, np.uint32)
                if scratch.out.n:
                    view = ids
                    memcpy(&view[0], scratch.out.ids, scratch.out.n * sizeof(uint32_t))
        finally:
            self.give_back(scratch)
        return ids, offsets

    def append_spans(
        self,
        IdBuffer buffer not None,           # INOUT  the ids are appended
        const uint8_t[::1] data not None,   # IN
        spans,                              # IN  see spans.pyx
        ends=None,                          # IN  see spans.pyx; only when there is no table
        bint whole=False,                   # each span of text is one chunk, whatever the table
    ):
        """Appends the ids of the spans; returns where in the buffer each span's start, int64 (n + 1).

        Raises BufferError while an array shows the buffer. One call at a time may append to it.
        """
        if buffer.shown:
            raise BufferError("the buffer cannot grow while an array shows it")
        cdef Scratch scratch = self.take_scratch()
        try:
            return self.run(scratch, &buffer.list, data, spans, ends, whole)
        finally:
            self.give_back(scratch)

    def append_texts(self, IdBuffer buffer not None, list texts not None, Py_ssize_t start, Py_ssize_t stop):
        """Appends the ids of texts[start:stop], str or bytes; returns where in the buffer each's end, int64.

        Not without a table. Raises ParameterError for what is no text, BufferError while an array shows the buffer,
        IndexError for a range that leaves the list. One call at a time may append to a buffer.
        """
        if buffer.shown:
            raise BufferError("the buffer cannot grow while an array shows it")
        cdef TextSources sources = TextSources(texts, start, stop)
        cdef Py_ssize_t i
        offsets = np.empty(sources.n, np.int64)
        cdef int64_t[::1] offset_view = offsets
        cdef Scratch scratch = self.take_scratch()
        cdef Job job = self.job(scratch, NULL, 0)
        job.out = &buffer.list
        try:
            with nogil:
                for i in range(sources.n):
                    _encode_source(&job, &scratch.text, &sources.sources[i])
                    offset_view[i] = job.out.n
        finally:
            self.give_back(scratch)
        return offsets

    cdef run(self, Scratch scratch, IdList* out, const uint8_t[::1] data, spans, ends, bint whole):
        rows = check_spans(spans, data.shape[0])
        cdef const int64_t[:, ::1] span_view = rows
        cdef int64_t n_spans = rows.shape[0]
        cdef const int64_t[::1] given
        offsets = np.empty(n_spans + 1, np.int64)
        cdef int64_t[::1] offset_view = offsets
        cdef Job job = self.job(scratch, &data[0] if data.shape[0] else NULL, data.shape[0])
        job.out = out
        if whole:
            job.chunks.dfa = NULL
        if ends is not None:
            if self.table is not None:
                raise ValueError("ends are for patterns without a table")
            given = check_ends(ends, span_view)
            # Without a single end there is no text either: any address but NULL says that ends are given.
            job.chunks.given = &given[0] if given.shape[0] else &offset_view[0]
            job.chunks.n_given = given.shape[0]
        with nogil:
            _encode(&job, spans_of(span_view), n_spans, &offset_view[0])
        return offsets


cdef struct Job:
    const MatchTable* matcher   # NULL: by the merges
    const MergeTable* merges
    const WholeChunks* whole    # NULL: none
    MatchScratch* match
    int64_t small_max
    ChunkCache* cache
    BpeScratch* bpe
    IdList* out
    const uint8_t* data
    int64_t n_data
    int64_t* ends
    Chunks chunks


cdef int _encode_source(Job* job, IdleBytes* idle, const TextSource* source) except -1 nogil:
    cdef int64_t offsets[2]
    cdef Span span
    job.data = <const uint8_t*>source.data
    job.n_data = source.n
    if source.kind != SOURCE_BYTES:
        idle_reserve(idle, source_room(source))
        job.data = idle.bytes
        job.n_data = source_write(source, idle.bytes)
    span = Span(0, job.n_data, job.n_data, -1)
    return _encode(job, &span, 1, offsets)


cdef int idle_reserve(IdleBytes* idle, int64_t n) except -1 nogil:
    if n > idle.n:
        free(idle.bytes)
        idle.n = 0
        idle.bytes = <uint8_t*>malloc(n)
        if idle.bytes == NULL:
            raise MemoryError
        pages_advise(idle.bytes, n)
        idle.n = n
    return 0


cdef int _encode(Job* job, const Span* spans, int64_t n_spans, int64_t* offsets) except -1 nogil:
    cdef int64_t s, at, n, total = 0
    cdef const Span* span
    for s in range(n_spans):
        total += spans[s].stop - spans[s].start
    # A guess that text seldom exceeds; what is not used is never touched.
    idlist_reserve(job.out, total // 3 + n_spans + SLACK)
    offsets[0] = job.out.n
    try:
        for s in range(n_spans):
            span = spans + s
            if span.id >= 0:
                idlist_reserve(job.out, 1)
                job.out.ids[job.out.n] = <uint32_t>span.id
                job.out.n += 1
            at = span.start if span.id < 0 else span.stop
            while at < span.stop:
                n = chunks_fill(&job.chunks, job.data, at, span.stop, span.text_end, job.ends, ENDS)
                _encode_chunks(job, at, n)
                at = job.ends[n - 1]
            offsets[s + 1] = job.out.n
    finally:
        chunks_free(&job.chunks)
    return 0


cdef int _encode_chunks(Job* job, int64_t start, int64_t n) except -1 nogil:
    """The chunks that end at job.ends[:n], the first of which starts at `start`."""
    # The table may grow in between; then an offset may lead to a slot that was the chunk's, and where it is no longer.
    cdef Probe probes[GROUP]
    cdef int64_t first = 0, k, group
    cdef const int64_t* ends = job.ends
    cdef uint32_t* out
    idlist_reserve(job.out, ends[n - 1] - start + SLACK)
    out = job.out.ids + job.out.n
    while first < n:
        group = min(<int64_t>GROUP, n - first)
        probe_chunks(job.cache, job.data, job.n_data, start, ends + first, group, probes)
        k = probe_hits(job.cache, probes, group, &out)
        while k < group:
            out += _look_closer(job, probes + k, ends[first + k - 1] if k else start, ends[first + k], out)
            k += 1
            k += probe_hits(job.cache, probes + k, group - k, &out)
        start = ends[first + group - 1]
        first += group
    job.out.n = out - job.out.ids
    return 0


cdef int64_t _look_closer(
    Job* job, const Probe* probe, int64_t start, int64_t stop, uint32_t* out
) except -1 nogil:
    """The ids of a chunk that is not in front of its set, has many ids or no key; returns how many they are."""
    cdef const uint8_t* text = job.data + start
    cdef int64_t n = 0, length = stop - start
    cdef NarrowSlot* slot
    if length <= PACKED_MAX:
        slot = <NarrowSlot*>(job.cache.narrow.lines + probe.offset)
        if narrow_get(slot, probe.key):
            n = narrow_ids(job.cache, slot, out)
        if n == 0:
            n = _merge(job, text, length, out)
            narrow_put(job.cache, probe.key, out, n)
        return n
    if length <= CACHE_LONGEST:
        n = long_get(job.cache, probe.key.lo, text, length, out)
    if n == 0:
        n = _merge(job, text, length, out)
        if length <= CACHE_LONGEST:
            long_put(job.cache, probe.key.lo, text, length, out, n)
    return n


cdef int64_t _merge(Job* job, const uint8_t* text, int64_t length, uint32_t* out) except -1 nogil:
    cdef int64_t id
    if job.whole != NULL:
        id = whole_get(job.whole, text, length)
        if id >= 0:
            out[0] = <uint32_t>id
            return 1
    if job.matcher != NULL:
        return match_chunk(job.matcher, job.match, text, length, out)
    if length <= job.small_max:
        return bpe_small(job.merges, text, length, out)
    return bpe_long(job.merges, job.bpe, text, length, out)
