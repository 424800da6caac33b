"""The UTF-8 of texts, without a Python object for each.

A str is read where it lies: ASCII is UTF-8 already, other text is written as such, with surrogate pairs joined and
lone surrogates as U+FFFD (as text.py does it for one). While bytes move, other threads run.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe.text import to_bytes

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    BLOCK = 32  # characters that are written at once if they are ASCII
    WRITTEN = 4 * BLOCK  # bytes that they take at most


def batch_stop(list texts not None, Py_ssize_t start, int64_t least):
    """The place behind the first texts from `start` on that have `least` characters or bytes together, or the end.

    A text that has so many alone ends the batch before it, unless it is the first.
    """
    cdef Py_ssize_t i
    cdef int64_t n, total = 0
    for i in range(start, len(texts)):
        n = _length(texts[i])
        if n >= least and i > start:
            return i
        total += n
        if total >= least:
            return i + 1
    return len(texts)


def total_length(list texts not None):
    """Characters or bytes of the texts; what is no text counts nothing."""
    cdef int64_t total = 0
    for text in texts:
        total += _length(text)
    return total


cdef inline int64_t _length(text) except -1:
    # What there is to read, whatever a subclass says of itself.
    if isinstance(text, str):
        return PyUnicode_GET_LENGTH(text)
    if isinstance(text, bytes):
        return PyBytes_GET_SIZE(text)
    return len(memoryview(text)) if isinstance(text, (bytearray, memoryview)) else 0


def join_texts(list texts not None, Py_ssize_t start, Py_ssize_t stop):
    """(bytes, ends int64): the UTF-8 of texts[start:stop], str or bytes, one after the other, and where each ends.

    Raises ParameterError for what is no text, IndexError for a range that leaves the list.
    """
    cdef Py_ssize_t n_texts = stop - start, i
    cdef int64_t room = 0, size = 0
    cdef bytes joined
    cdef uint8_t* out
    cdef TextSources sources = TextSources(texts, start, stop)
    out_ends = np.empty(n_texts, np.int64)
    cdef int64_t[::1] ends = out_ends
    for i in range(n_texts):
        room += source_room(&sources.sources[i])
    joined = PyBytes_FromStringAndSize(NULL, room)
    out = <uint8_t*>PyBytes_AS_STRING(joined)
    with nogil:
        for i in range(n_texts):
            size += source_write(&sources.sources[i], out + size)
            ends[i] = size
    return (joined if size == room else joined[:size]), out_ends


cdef class TextSources:
    """Where texts[start:stop] lie in memory, which lives as long as this."""

    def __init__(self, list texts not None, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t i
        if not 0 <= start <= stop <= len(texts):
            raise IndexError("the range leaves the list")
        self.kept = texts[start:stop]
        self.n = stop - start
        self.sources = <TextSource*>malloc((self.n + 1) * sizeof(TextSource))
        if self.sources == NULL:
            raise MemoryError
        for i in range(self.n):
            text = self.kept[i]
            if isinstance(text, str):
                self.sources[i] = TextSource(
                    PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text),
                    SOURCE_BYTES if PyUnicode_IS_ASCII(text) else PyUnicode_KIND(text),
                )
            else:
                if type(text) is not bytes:
                    text = to_bytes(text)
                    self.kept[i] = text
                self.sources[i] = TextSource(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), SOURCE_BYTES)

    def __dealloc__(self):
        free(self.sources)


cdef class Utf8Windows:
    """The UTF-8 of one text, a window at a time. ASCII and bytes are shown where they lie, other text is written.

    Raises ParameterError for what is no text.
    """
    cdef TextSources sources
    cdef int64_t at  # characters or bytes that have been shown

    def __init__(self, text):
        self.sources = TextSources([text], 0, 1)
        self.at = 0

    def next(self, const uint8_t[::1] kept not None, int64_t more):
        """(uint8 array, whether the text ends with it): `kept`, which is the end of the window before, and `more` bytes
        behind it; a few more, so that no character is cut, or as many as there are.

        Raises ValueError for a `kept` that is longer than what was shown, or a `more` below 1.
        """
        cdef const TextSource* source = &self.sources.sources[0]
        cdef int64_t n_kept = kept.shape[0], size, start
        cdef uint8_t[::1] view
        if more < 1:
            raise ValueError("a window: at least one byte more")
        if source.kind == SOURCE_BYTES:
            start = self.at - n_kept
            if start < 0:
                raise ValueError("a window: more is kept than was shown")
            self.at += min(more, source.n - self.at)
            return np.frombuffer(self, np.uint8)[start:self.at], self.at == source.n
        more = min(more, source_room(source))
        window = np.empty(n_kept + more + WRITTEN, np.uint8)
        view = window
        with nogil:
            if n_kept:
                memcpy(&view[0], &kept[0], n_kept)
            size = n_kept + source_write_some(source, &self.at, more, &view[n_kept])
        return window[:size], self.at == source.n

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        cdef const TextSource* source = &self.sources.sources[0]
        if source.kind != SOURCE_BYTES:
            raise BufferError("text that is not ASCII is UTF-8 in windows only")
        PyBuffer_FillInfo(buffer, self, <void*>source.data, source.n, 1, flags)


cdef int64_t source_write(const TextSource* source, uint8_t* out) noexcept nogil:
    cdef int64_t at = 0
    if source.kind == SOURCE_BYTES:
        memcpy(out, source.data, source.n)
        return source.n
    return source_write_some(source, &at, INT64_MAX, out)


cdef int64_t source_write_some(const TextSource* source, int64_t* at, int64_t most, uint8_t* out) noexcept nogil:
    """Writes characters from at[0] on until there are `most` bytes, fewer than WRITTEN more; goes on behind them."""
    # The kind is known to the compiler in each.
    if source.kind == 1:
        return _write(source.data, 1, source.n, at, most, out)
    if source.kind == 2:
        return _write(source.data, 2, source.n, at, most, out)
    return _write(source.data, 4, source.n, at, most, out)


cdef inline int64_t _write(
    const void* data, int kind, int64_t n, int64_t* place, int64_t most, uint8_t* out
) noexcept nogil:
    cdef int64_t at = place[0], stop, size = 0
    while at < n and size < most:
        stop = min(at + BLOCK, n)
        if stop - at == BLOCK and _write_ascii(data, kind, at, out + size):
            at = stop
            size += BLOCK
            continue
        # As far as what is not ASCII goes on: a quotation mark does not spoil the block that it is in.
        while at < stop and _character(data, kind, at) < 0x80:
            size += _write_one(data, kind, n, &at, out + size)
        while at < stop and _character(data, kind, at) >= 0x80:
            size += _write_one(data, kind, n, &at, out + size)
    place[0] = at
    return size


cdef inline uint32_t _character(const void* data, int kind, int64_t at) noexcept nogil:
    if kind == 1:
        return (<const uint8_t*>data)[at]
    if kind == 2:
        return (<const uint16_t*>data)[at]
    return (<const uint32_t*>data)[at]


cdef inline bint _write_ascii(const void* data, int kind, int64_t at, uint8_t* out) noexcept nogil:
    """Writes a block, or nothing when it is not all ASCII."""
    cdef uint64_t word, seen = 0
    cdef int k
    for k in range(BLOCK * kind // 8):
        memcpy(&word, <const char*>data + at * kind + 8 * k, 8)
        seen |= word
    if seen & (<uint64_t>0x8080808080808080 if kind == 1 else <uint64_t>0xFF80FF80FF80FF80 if kind == 2 else
               <uint64_t>0xFFFFFF80FFFFFF80):
        return False
    for k in range(BLOCK):
        out[k] = <uint8_t>_character(data, kind, at + k)
    return True


cdef inline int64_t _write_one(const void* data, int kind, int64_t n, int64_t* at, uint8_t* out) noexcept nogil:
    """Writes the character at at[0] and goes on behind it; returns its bytes."""
    cdef uint32_t code = _character(data, kind, at[0]), low
    at[0] += 1
    if code < 0x80:
        out[0] = <uint8_t>code
        return 1
    if code < 0x800:
        out[0] = <uint8_t>(0xC0 | code >> 6)
        out[1] = <uint8_t>(0x80 | code & 0x3F)
        return 2
    if code >> 11 == 0x1B:
        low = _character(data, kind, at[0]) if at[0] < n else 0
        if code < 0xDC00 and low >> 10 == 0x37:
            at[0] += 1
            code = 0x10000 + ((code & 0x3FF) << 10 | low & 0x3FF)
        else:
            code = 0xFFFD
    if code < 0x10000:
        out[0] = <uint8_t>(0xE0 | code >> 12)
        out[1] = <uint8_t>(0x80 | code >> 6 & 0x3F)
        out[2] = <uint8_t>(0x80 | code & 0x3F)
        return 3
    out[0] = <uint8_t>(0xF0 | code >> 18)
    out[1] = <uint8_t>(0x80 | code >> 12 & 0x3F)
    out[2] = <uint8_t>(0x80 | code >> 6 & 0x3F)
    out[3] = <uint8_t>(0x80 | code & 0x3F)
    return 4
