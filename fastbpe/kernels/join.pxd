"""Texts where they lie, and their UTF-8 (join.pyx)."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    SOURCE_BYTES = 0    # kind of what is UTF-8 already, or any bytes

cdef struct TextSource:
    const void* data
    int64_t n           # bytes, or characters
    int kind            # SOURCE_BYTES, or bytes of a character: 1 (Latin-1), 2 or 4


cdef class TextSources:
    cdef TextSource* sources
    cdef Py_ssize_t n
    cdef list kept


cdef inline int64_t source_room(const TextSource* source) noexcept nogil:
    """Bytes that the text takes at most: two, three or four for a character, by its kind."""
    return source.n if source.kind == SOURCE_BYTES else source.n * min(source.kind + 1, 4)


# Writes the text and returns its bytes.
cdef int64_t source_write(const TextSource* source, uint8_t* out) noexcept nogil
