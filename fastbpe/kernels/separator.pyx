"""Text without the separators between its documents, and where they stood.

A separator is looked for by its first and its last byte, 64 places at a time; only where both are found are the bytes
between them compared.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

from fastbpe.errors import ParameterError

cdef enum:
    STEP = 64


cdef struct Places:
    int64_t* at
    int64_t n
    int64_t capacity


def cut_out(const uint8_t[::1] data not None, const uint8_t[::1] separator not None):
    """(text uint8, ends int64): the data without the separators, and where in the text each of them stood.

    Separators are those that `bytes.split` finds: the leftmost, which do not overlap. Without one the text is the data
    itself. Raises ParameterError for an empty separator.
    """
    cdef int64_t n = data.shape[0], length = separator.shape[0]
    cdef int64_t i, stop, start = 0, written = 0
    cdef Places places = Places(NULL, 0, 0)
    cdef uint8_t[::1] target
    cdef int64_t[::1] stood
    if not length:
        raise ParameterError("the separator must not be empty")
    try:
        if n >= length:
            with nogil:
                _find_all(&places, &data[0], n, &separator[0], length)
        ends = np.empty(places.n, np.int64)
        if not places.n:
            return np.frombuffer(data, np.uint8), ends
        text = np.empty(n - places.n * length, np.uint8)
        target, stood = text, ends
        with nogil:
            for i in range(places.n + 1):
                stop = places.at[i] if i < places.n else n
                if stop > start:
                    memcpy(&target[written], &data[start], <size_t>(stop - start))
                written += stop - start
                start = stop + length
                if i < places.n:
                    stood[i] = written
    finally:
        free(places.at)
    return text, ends


cdef int _find_all(
    Places* places, const uint8_t* data, int64_t n, const uint8_t* separator, int64_t length
) except -1 nogil:
    cdef int64_t at = 0, i
    cdef int64_t last = n - length  # the last place where one may begin
    cdef uint8_t first_byte = separator[0], last_byte = separator[length - 1]
    cdef uint8_t found
    cdef const uint8_t* begin
    cdef const uint8_t* end
    while at <= last:
        if at + STEP <= last + 1:
            found = 0
            begin = data + at
            end = begin + length - 1
            for i in range(STEP):
                found |= <uint8_t>((begin[i] == first_byte) & (end[i] == last_byte))
            if not found:
                at += STEP
                continue
        i = at
        while i < at + STEP and i <= last:
            if data[i] == first_byte and memcmp(data + i, separator, <size_t>length) == 0:
                _add(places, i)
                i += length
            else:
                i += 1
        at = i
    return 0


cdef int _add(Places* places, int64_t at) except -1 nogil:
    cdef int64_t* moved
    if places.n == places.capacity:
        places.capacity = 2 * places.capacity + 64
        moved = <int64_t*>realloc(places.at, <size_t>places.capacity * sizeof(int64_t))
        if moved == NULL:
            raise MemoryError
        places.at = moved
    places.at[places.n] = at
    places.n += 1
    return 0
