"""Chunk ends of a text by a compiled pattern: the tables' and the texts' door (scanning: scan.pyx, tables: dfa.pxd)."""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint16_t, uint32_t

from fastbpe.kernels.dfa cimport DFA_ACCEPT, DFA_STATE, Dfa, dfa_unit
from fastbpe.kernels.scan cimport scan_carefully, scan_fill, scan_memo_free

import numpy as np

from fastbpe.kernels.spans import check_spans

cdef enum:
    SLACK = 1 << 10  # more than the ends that make two cursors worth while


cdef class SplitTable:
    """The tables of a compiled pattern; immutable.

    transitions: uint32 (n_states, stride), ascii: uint8 (128,), pages: uint16 (17408,), leaves: uint8 (n, 64),
    cuts: uint8 (n_classes,) * 2 or 3, see split_last_cut. Raises ValueError where an array has another shape or type,
    or an index in it leaves its table.

    then: a table that splits the chunks of this one again, or None. hopeful: some scans read on behind a place where
    the chunk may end, so that where it ends may depend on text that is any way off.
    courses: the automaton's form for ASCII (pattern/courses.py), uint16 (n, 256) and uint8 (n,), or None.
    """

    def __init__(self, transitions, ascii, pages, leaves, int invalid_class, int end_class, cuts, SplitTable then=None,
                 courses=None):
        arrays = []
        for array, dtype, ndim in ((transitions, np.uint32, 2), (ascii, np.uint8, 1),
                                   (pages, np.uint16, 1), (leaves, np.uint8, 2), (cuts, np.uint8, cuts.ndim)):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
                raise ValueError(f"split tables: expected a {ndim}-dimensional array of {np.dtype(dtype).name}")
            array = np.array(array, order="C")
            array.flags.writeable = False
            arrays.append(array)
        self.transitions, self.ascii, self.pages, self.leaves, self.cuts = arrays
        n_states, stride = self.transitions.shape
        if n_states < 2 or n_states * stride > DFA_STATE:
            raise ValueError("split tables: too few or too many states")
        if self.ascii.shape[0] != 128 or self.pages.shape[0] != 0x110000 // 64 or self.leaves.shape[1] != 64:
            raise ValueError("split tables: class tables of another length")
        highest = max(int(self.ascii.max()), int(self.leaves.max()), invalid_class, end_class)
        if min(invalid_class, end_class) < 0 or highest >= stride or int(self.pages.max()) >= len(self.leaves):
            raise ValueError("split tables: a class or leaf out of range")
        states = self.transitions & np.uint32(DFA_STATE)
        if (states % stride).any() or int(states.max()) >= n_states * stride:
            raise ValueError("split tables: a transition out of range")
        if self.cuts.ndim not in (2, 3) or set(self.cuts.shape) != {stride - 1} or end_class != stride - 1:
            raise ValueError("split tables: cuts of another shape")
        cdef const uint32_t[:, ::1] transitions_view = self.transitions
        cdef const uint8_t[::1] ascii_view = self.ascii
        cdef const uint16_t[::1] pages_view = self.pages
        cdef const uint8_t[:, ::1] leaves_view = self.leaves
        levels, below = 1, then
        while below is not None:
            levels, below = levels + 1, below.then
        if levels > SPLIT_LEVELS:
            raise ValueError(f"split tables: more than {SPLIT_LEVELS} splits in a row")
        dead = self.transitions[1:] < stride
        dead[0, end_class] = False  # a scan never starts at the end
        self.hopeful = bool(dead.any() or (self.transitions & np.uint32(DFA_ACCEPT)).any())
        self.then = then
        self.dfa.then = &then.dfa if then is not None else NULL
        self.cut_table = self.cuts.reshape(-1)
        self.cut_width = self.cuts.ndim
        self.dfa.transitions = &transitions_view[0, 0]
        self.dfa.ascii = &ascii_view[0]
        self.dfa.pages = &pages_view[0]
        self.dfa.leaves = &leaves_view[0, 0]
        self.dfa.start = stride
        self.dfa.n_states = n_states
        self.dfa.invalid_class = invalid_class
        self.dfa.end_class = end_class
        self.dfa.courses = NULL
        self.courses = courses
        if courses is not None:
            self.take_courses(courses[0], courses[1])

    cdef take_courses(self, following, opened):
        if following.dtype != np.uint16 or opened.dtype != np.uint8 or following.shape != (len(opened), 256):
            raise ValueError("split tables: courses of another shape or type")
        next = following >> 8
        if len(opened) < 2 or int(next.max()) >= len(opened) or next[0].any() or next[:, 128:].any():
            raise ValueError("split tables: a course out of range")
        following, opened = np.array(following, order="C"), np.array(opened, order="C")
        self.courses = following, opened
        cdef const uint16_t[:, ::1] following_view = following
        cdef const uint8_t[::1] open_view = opened
        self.dfa.courses = &following_view[0, 0]
        self.dfa.open = &open_view[0]


def split_ends(const uint8_t[::1] data, spans, SplitTable table, int64_t capacity=INT64_MAX):
    """The ends of all chunks of `data` as absolute offsets (int64, ascending).

    spans: see spans.pyx; those with an id are skipped. table: None makes each span one chunk. capacity: how many ends
    are found at a time, at most. Raises ValueError for spans that do not ascend or leave the data.
    """
    return all_ends(data, spans, table, capacity, NULL)


def split_carefully(const uint8_t[::1] data, SplitTable table not None, int64_t capacity=INT64_MAX):
    """(ends, how many units were read): split_ends by the slow path alone, for tests of what is linear in the text."""
    cdef int64_t steps = 0
    ends = all_ends(data, None, table, capacity, &steps)
    return ends, steps


cdef all_ends(const uint8_t[::1] data, spans, SplitTable table, int64_t capacity, int64_t* steps):
    checked = check_spans(spans, data.shape[0])
    if capacity < 1:
        raise ValueError("capacity: at least one end is found at a time")
    cdef const int64_t[:, ::1] rows = checked
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef Chunks chunks
    chunks_init(&chunks)
    chunks.dfa = &table.dfa if table is not None else NULL
    cdef int64_t at, stop, n = 0, room
    # Written in place; a guess that text seldom exceeds, and what is not used is never touched.
    ends = np.empty(data.shape[0] // 2 + rows.shape[0] + SLACK, np.int64)
    cdef int64_t[::1] view = ends
    cdef Py_ssize_t row
    try:
        for row in range(rows.shape[0]):
            at = rows[row, 0]
            stop = rows[row, 1] if rows[row, 3] < 0 else at
            while at < stop:
                if n + SLACK // 2 > view.shape[0]:
                    ends = np.concatenate([ends, np.empty(view.shape[0] // 2, np.int64)])
                    view = ends
                room = min(capacity, view.shape[0] - n)
                with nogil:
                    if steps == NULL:
                        n += chunks_fill(&chunks, text, at, stop, rows[row, 2], &view[n], room)
                    else:
                        n += scan_carefully(chunks.dfa, text, at, stop, rows[row, 2], &view[n], room, chunks.memo,
                                            steps)
                at = view[n - 1]
    finally:
        chunks_free(&chunks)
    view = np.empty(0, np.int64)
    ends.resize(n, refcheck=False)  # in place: the rest goes back
    return ends


def split_last_cut(const uint8_t[::1] data, int64_t start, int64_t stop, SplitTable table not None):
    """The last place in (start, stop) where a chunk ends whatever came before `start`, by data[start:stop], or -1.

    table.cuts proves it from a few units around the place (bit j - 1: a chunk ends after unit j of them). Only units
    that are whole and valid count as seen, so neither a cut-off sequence at the end nor invalid bytes can deceive.
    Raises ValueError unless 0 <= start <= stop <= len(data).
    """
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("last cut: start and stop leave the data")
    cdef int64_t found = -1
    if start < stop:
        with nogil:
            found = last_cut(&table.dfa, &table.cut_table[0], table.cut_width, &data[0], start, stop)
    return found


cdef int64_t last_cut(const Dfa* dfa, const uint8_t* cuts, int width, const uint8_t* data, int64_t start,
                      int64_t stop) noexcept nogil:
    cdef int64_t behind = stop, at
    cdef int64_t[3] place = [0, 0, 0]  # the ends of the units in view, the leftmost first
    cdef uint32_t[3] units = [0, 0, 0]
    cdef uint32_t unit, entry, n = dfa.end_class
    cdef int seen = 0, j
    while behind > start:
        at = behind - 1
        while at > start and behind - at < 4 and (data[at] & 0xC0) == 0x80:
            at -= 1
        if dfa_unit(dfa, data + at, behind - at, &unit) != behind - at or (behind - at == 1 and data[at] >= 0x80):
            seen = 0
            behind = at
            continue
        units[2] = units[1]
        units[1] = units[0]
        units[0] = unit
        place[2] = place[1]
        place[1] = place[0]
        place[0] = behind
        seen += 1
        if seen >= width:
            entry = cuts[units[0] * n + units[1]] if width == 2 else cuts[(units[0] * n + units[1]) * n + units[2]]
            for j in range(width - 2, -1, -1):
                if (entry >> j) & 1:
                    return place[j]
        behind = at
    return -1


cdef int64_t chunks_fill(Chunks* chunks, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                         int64_t* ends, int64_t capacity) noexcept nogil:
    cdef int64_t n = 0
    if start >= stop or capacity < 1:
        return 0
    if chunks.dfa != NULL:
        if chunks.dfa.then != NULL:
            return fill_in_a_row(chunks, data, start, stop, text_end, ends, capacity)
        return scan_fill(chunks.dfa, data, start, stop, text_end, ends, capacity, chunks.memo)
    if chunks.given == NULL:
        ends[0] = stop
        return 1
    while n < capacity and n < chunks.n_given and chunks.given[n] <= stop:
        ends[n] = chunks.given[n]
        n += 1
    chunks.given += n
    chunks.n_given -= n
    if n == 0:  # given ends that miss this span: one chunk rather than an endless loop
        ends[0] = stop
        n = 1
    return n


cdef int64_t fill_in_a_row(Chunks* chunks, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                           int64_t* ends, int64_t capacity) noexcept nogil:
    # To each split the chunk that the one before it has made is the whole text.
    cdef const Dfa* dfa
    cdef int64_t n = 0, at = start, outer
    cdef int level
    if chunks.resume != start:
        for level in range(SPLIT_LEVELS):
            chunks.level_end[level] = start
    while n < capacity and at < stop:
        dfa = chunks.dfa
        outer = text_end
        level = 0
        while dfa.then != NULL:
            if chunks.level_end[level] <= at:
                scan_fill(dfa, data, at, outer, outer, &chunks.level_end[level], 1, &chunks.memo[level])
            outer = chunks.level_end[level]
            level += 1
            dfa = dfa.then
        n += scan_fill(dfa, data, at, min(outer, stop), outer, ends + n, capacity - n, &chunks.memo[level])
        at = ends[n - 1]
    chunks.resume = at if at < stop else -1
    return n


cdef void chunks_free(Chunks* chunks) noexcept nogil:
    cdef int level
    for level in range(SPLIT_LEVELS):
        scan_memo_free(&chunks.memo[level])
