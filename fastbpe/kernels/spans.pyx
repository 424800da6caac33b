"""Spans, which say what there is to do on a buffer, and the ends of chunks in them. Both are checked here.

Spans are an int64 array (n, 4), C-contiguous, with columns start, stop, text_end, id.
  id == -1: data[start:stop] is text; text_end is where a pattern's look-ahead sees the end of text.
  id >= 0: a special token; data[start:stop] are its bytes (none for bos and eos that are added).
They ascend and do not overlap. Where all of a buffer is one text, None stands for them.

Ends are an int64 array of offsets in the buffer: those of all chunks of each text span, ascending, the last of them
the span's stop.
"""

import numpy as np

from libc.stdint cimport int64_t

from fastbpe.kernels.spans cimport Span, spans_of


def check_spans(spans, int64_t length):
    """`spans` as a C-contiguous array, for a buffer of `length` bytes; ValueError when they are none."""
    if spans is None:
        return np.array([[0, length, length, -1]], np.int64)
    if not isinstance(spans, np.ndarray) or spans.dtype != np.int64 or spans.ndim != 2 or spans.shape[1] != 4:
        raise ValueError("spans: expected an int64 array of shape (n, 4)")
    spans = np.ascontiguousarray(spans)
    cdef const int64_t[:, ::1] rows = spans
    cdef int64_t last = 0
    cdef Py_ssize_t row
    for row in range(rows.shape[0]):
        if not last <= rows[row, 0] <= rows[row, 1] <= length:
            raise ValueError(f"spans: row {row} does not ascend or leaves the data")
        if rows[row, 3] < 0 and not rows[row, 1] <= rows[row, 2] <= length:
            raise ValueError(f"spans: row {row} has a text_end before its stop or outside the data")
        last = rows[row, 1]
    return spans


def check_ends(ends, const int64_t[:, ::1] spans not None):
    """`ends` as a C-contiguous array when they are the ends of chunks that fill the checked spans; else ValueError."""
    if not isinstance(ends, np.ndarray) or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("ends: expected a one-dimensional int64 array")
    ends = np.ascontiguousarray(ends)
    cdef const int64_t[::1] given = ends
    cdef int64_t n = given.shape[0], bad
    with nogil:
        bad = unfilled_span(&given[0] if n else NULL, n, spans_of(spans), spans.shape[0])
    if bad >= 0:
        raise ValueError(f"ends: they do not fill span {bad}, or go on after it")
    return ends


cdef int64_t unfilled_span(const int64_t* ends, int64_t n, const Span* spans, int64_t n_spans) noexcept nogil:
    """The first text span that the ends do not fill, the last span when ends are left over, or -1."""
    cdef int64_t row, last, i = 0
    for row in range(n_spans):
        last = spans[row].start
        while spans[row].id < 0 and last < spans[row].stop:
            if i == n or not last < ends[i] <= spans[row].stop:
                return row
            last = ends[i]
            i += 1
    return -1 if i == n else max(n_spans - 1, <int64_t> 0)
