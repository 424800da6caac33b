"""What Python's UTF-8 decoder does not accept: how many bytes of how many documents, and U+FFFD in their place.

ASCII is passed over 16 bytes at a time. A document's end ends a sequence: `ends` are the ends of the documents that
fill the data, ascending.
"""
import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy


def count_invalid(const uint8_t[::1] data not None, const int64_t[::1] ends not None):
    """(how many bytes, offset of the first of them or -1) that decoding each document would not accept.

    Raises ValueError unless the ends ascend from 0 to the length of the data.
    """
    check_ends(ends, data.shape[0])
    cdef int64_t document, at, length, invalid = 0, first = -1, start = 0
    if data.shape[0] == 0:
        return 0, -1
    with nogil:
        for document in range(ends.shape[0]):
            at = skip_valid(&data[0], start, ends[document])
            while at < ends[document]:
                if first < 0:
                    first = at
                length = -sequence_at(&data[0] + at, ends[document] - at)
                invalid += length
                at = skip_valid(&data[0], at + length, ends[document])
            start = ends[document]
    return invalid, first


def replace_invalid(const uint8_t[::1] data not None, const int64_t[::1] ends not None):
    """(data uint8, ends int64) with U+FFFD for each longest start of a sequence that is not accepted, as Python has it.

    Raises ValueError unless the ends ascend from 0 to the length of the data.
    """
    check_ends(ends, data.shape[0])
    cdef int64_t document, at, written = 0, start = 0
    # A byte becomes three at most.
    cdef int64_t invalid = count_invalid(data, ends)[0]
    out = np.empty(data.shape[0] + 2 * invalid, np.uint8)
    new_ends = np.empty(ends.shape[0], np.int64)
    cdef uint8_t[::1] target = out
    cdef int64_t[::1] new_view = new_ends
    with nogil:
        for document in range(ends.shape[0]):
            while start < ends[document]:
                at = skip_valid(&data[0], start, ends[document])
                if at > start:
                    memcpy(&target[written], &data[start], at - start)
                written += at - start
                start = at
                if at < ends[document]:
                    start = at - sequence_at(&data[at], ends[document] - at)
                    target[written] = 0xEF
                    target[written + 1] = 0xBF
                    target[written + 2] = 0xBD
                    written += 3
            new_view[document] = written
    return out[:written], new_ends


cdef check_ends(const int64_t[::1] ends, int64_t n):
    cdef int64_t i, last = 0
    for i in range(ends.shape[0]):
        if ends[i] < last:
            raise ValueError("ends: they do not ascend")
        last = ends[i]
    if last != n:
        raise ValueError("ends: the last one is not the length of the data")


cdef int64_t skip_valid(const uint8_t* data, int64_t at, int64_t stop) noexcept nogil:
    """The first place from `at` on, up to `stop`, where no valid sequence begins."""
    cdef uint64_t words[2]
    cdef int64_t length
    while at < stop:
        if data[at] < 0x80:
            while stop - at >= 16:
                memcpy(words, data + at, 16)
                if (words[0] | words[1]) & <uint64_t> 0x8080808080808080:
                    break
                at += 16
            while at < stop and data[at] < 0x80:
                at += 1
            if at == stop:
                break
        # Three bytes (most of Chinese, Japanese, Korean), where the second byte needs no closer look.
        while stop - at >= 3 and is_plain_three(data + at):
            at += 3
        if at == stop:
            break
        length = sequence_at(data + at, stop - at)
        if length < 0:
            break
        at += length
    return at


cdef inline bint is_plain_three(const uint8_t* p) noexcept nogil:
    cdef uint8_t wrong = (p[0] & 0xF0 ^ 0xE0) | (p[1] & 0xC0 ^ 0x80) | (p[2] & 0xC0 ^ 0x80)
    return wrong == 0 and p[0] != 0xE0 and p[0] != 0xED


cdef inline bint is_tail(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline int64_t sequence_at(const uint8_t* p, int64_t left) noexcept nogil:
    """The length of the valid sequence at p; else minus the length of the longest start of one, at least 1."""
    cdef uint8_t low = 0x80
    cdef uint8_t high = 0xBF
    if p[0] < 0x80:
        return 1
    if p[0] < 0xC2 or p[0] > 0xF4:
        return -1
    if p[0] < 0xE0:
        return 2 if left >= 2 and is_tail(p[1]) else -1
    # Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
    if p[0] == 0xE0:
        low = 0xA0
    elif p[0] == 0xED:
        high = 0x9F
    elif p[0] == 0xF0:
        low = 0x90
    elif p[0] == 0xF4:
        high = 0x8F
    if left < 2 or p[1] < low or p[1] > high:
        return -1
    if left < 3 or not is_tail(p[2]):
        return -2
    if p[0] < 0xF0:
        return 3
    return 4 if left >= 4 and is_tail(p[3]) else -3
