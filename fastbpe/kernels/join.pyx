"""The UTF-8 of texts, without a Python object for each.

A str is read where it lies: ASCII is UTF-8 already, other text is written as such, with surrogate pairs joined and
lone surrogates as U+FFFD (as text.py does it for one). While bytes move, other threads run.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from fastbpe.kernels.pages cimport pages_advise

from fastbpe.text import to_bytes

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    BLOCK = 16  # characters that are written at once if they are ASCII


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
                text = to_bytes(text)
                self.kept[i] = text
                self.sources[i] = TextSource(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), SOURCE_BYTES)

    def __dealloc__(self):
        free(self.sources)


cdef class Utf8:
    """The UTF-8 of one text as a read-only buffer; without a copy where the text is ASCII or bytes.

    Raises ParameterError for what is no text.
    """
    cdef TextSources sources
    cdef uint8_t* written  # NULL: the source's own memory
    cdef int64_t n

    def __init__(self, text):
        cdef TextSource* source
        cdef uint8_t* trimmed
        self.sources = TextSources([text], 0, 1)
        source = &self.sources.sources[0]
        self.n = source.n
        if source.kind == SOURCE_BYTES:
            return
        with nogil:
            self.written = <uint8_t*>malloc(source_room(source))
            if self.written != NULL:
                pages_advise(self.written, source_room(source))
                self.n = source_write(source, self.written)
                trimmed = <uint8_t*>realloc(self.written, self.n)
                if trimmed != NULL:
                    self.written = trimmed
        if self.written == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.written)

    def __len__(self):
        return self.n

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        cdef void* data = self.written
        if data == NULL:
            data = <void*>self.sources.sources[0].data
        PyBuffer_FillInfo(buffer, self, data, self.n, 1, flags)


cdef int64_t source_write(const TextSource* source, uint8_t* out) noexcept nogil:
    # The kind is known to the compiler in each.
    if source.kind == 1:
        return _write(source.data, 1, source.n, out)
    if source.kind == 2:
        return _write(source.data, 2, source.n, out)
    if source.kind == 4:
        return _write(source.data, 4, source.n, out)
    memcpy(out, source.data, source.n)
    return source.n


cdef inline int64_t _write(const void* data, int kind, int64_t n, uint8_t* out) noexcept nogil:
    cdef int64_t at = 0, stop, size = 0
    while at < n:
        if n - at >= BLOCK and _write_ascii(data, kind, at, out + size):
            at += BLOCK
            size += BLOCK
            continue
        stop = min(at + BLOCK, n)
        while at < stop:
            size += _write_one(data, kind, n, &at, out + size)
    return size


cdef inline uint32_t _character(const void* data, int kind, int64_t at) noexcept nogil:
    if kind == 1:
        return (<const uint8_t*>data)[at]
    if kind == 2:
        return (<const uint16_t*>data)[at]
    return (<const uint32_t*>data)[at]


cdef inline bint _write_ascii(const void* data, int kind, int64_t at, uint8_t* out) noexcept nogil:
    """Writes a block, or nothing when it is not all ASCII."""
    cdef uint32_t seen = 0
    cdef int k
    for k in range(BLOCK):
        seen |= _character(data, kind, at + k)
    if seen >= 0x80:
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
