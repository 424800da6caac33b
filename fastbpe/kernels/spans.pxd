"""What there is to do on a buffer, as kernels read it; spans.pyx tells what arrays of them hold."""

from libc.stdint cimport int64_t

cdef struct Span:       # a row of an array of spans
    int64_t start
    int64_t stop
    int64_t text_end    # where a pattern's look-ahead sees the end of text
    int64_t id          # of a special token, -1: text


cdef inline const Span* spans_of(const int64_t[:, ::1] rows) noexcept nogil:
    return <const Span*>&rows[0, 0] if rows.shape[0] else NULL
