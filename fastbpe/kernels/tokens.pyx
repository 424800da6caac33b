"""The bytes of tokens: built from merges, checked against them, and joined in decoding.

Tokens lie one after the other: row r is data[starts[r]:starts[r + 1]]. Each function is one pass over its arrays.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from fastbpe.errors import DataError, ParameterError

cdef enum:
    UNKNOWN = -1
    SKIPPED = -2

cdef int64_t MAX_BYTES = <int64_t>1 << 36


def tokens_of_merges(const int64_t[:, ::1] merges not None):
    """Bytes of the 256 bytes (rows 0..255) and of each merge (row 256 + k), as data (uint8) and starts (int64).

    merges is (n, 2) in the same numbering. Raises DataError when a merge uses a row that does not come before it, or
    when the tokens would not fit in memory (a few dozen merges can double a token's length each).
    """
    if merges.shape[1] != 2:
        raise ParameterError(f"merges must have two columns, not {merges.shape[1]}")
    cdef int64_t n = merges.shape[0]
    cdef int64_t k, row, side, source, length, at
    starts = np.empty(257 + n, np.int64)
    cdef int64_t[::1] first = starts
    for row in range(257):
        first[row] = row
    for k in range(n):
        length = 0
        for side in range(2):
            row = merges[k, side]
            if not 0 <= row < 256 + k:
                raise DataError(f"merges[{k}]: {row} is neither a byte nor an earlier merge")
            length += first[row + 1] - first[row]
        first[257 + k] = first[256 + k] + length
        if first[257 + k] > MAX_BYTES:
            raise DataError(f"merges[{k}]: the tokens are longer than {MAX_BYTES >> 30} GiB together")
    data = np.empty(first[256 + n], np.uint8)
    cdef uint8_t[::1] text = data
    with nogil:
        for row in range(256):
            text[row] = <uint8_t>row
        for k in range(n):
            at = first[256 + k]
            for side in range(2):
                source = merges[k, side]
                length = first[source + 1] - first[source]
                memcpy(&text[at], &text[first[source]], length)
                at += length
    return data, starts


def first_wrong_merge(
    const int64_t[:, ::1] rows not None,    # IN  (n, 3): rows of left, right and product
    const uint8_t[::1] data not None,       # IN
    const int64_t[::1] starts not None,     # IN
):
    """Index of the first merge whose product is not its left token followed by its right one; -1: none."""
    cdef int64_t n_rows = starts.shape[0] - 1
    cdef int64_t k, side, left, right
    if rows.shape[1] != 3:
        raise ParameterError(f"rows must have three columns, not {rows.shape[1]}")
    _check_starts(data, starts)
    for k in range(rows.shape[0]):
        for side in range(3):
            if not 0 <= rows[k, side] < n_rows:
                raise ParameterError(f"row {rows[k, side]} is outside the {n_rows} tokens")
    cdef const int64_t* first = &starts[0]
    cdef const int64_t* row
    cdef const uint8_t* text = &data[0] if data.shape[0] else <const uint8_t*>first  # memcmp takes no NULL
    with nogil:
        for k in range(rows.shape[0]):
            row = &rows[k, 0]
            left = first[row[0] + 1] - first[row[0]]
            right = first[row[1] + 1] - first[row[1]]
            if (
                first[row[2] + 1] - first[row[2]] != left + right
                or memcmp(text + first[row[2]], text + first[row[0]], left) != 0
                or memcmp(text + first[row[2]] + left, text + first[row[1]], right) != 0
            ):
                break
        else:
            k = -1
    return k


cdef class TokenBytes:
    """The bytes of ids, as decoding reads them; immutable.

    index: int32, row of each id; -1: no such id, -2: leave it out. data and starts: the rows' bytes. Raises
    ParameterError when an index leaves the rows or starts do not ascend.
    """
    cdef const int32_t[::1] index
    cdef const uint8_t[::1] data
    cdef const int64_t[::1] starts

    def __init__(
        self, const int32_t[::1] index not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None
    ):
        cdef int64_t i, n_rows = starts.shape[0] - 1
        _check_starts(data, starts)
        for i in range(index.shape[0]):
            if not SKIPPED <= index[i] < n_rows:
                raise ParameterError(f"row {index[i]} is outside the {n_rows} tokens")
        self.index = index
        self.data = data
        self.starts = starts

    def join(self, const uint32_t[::1] ids not None):
        """The bytes of the ids, joined. Raises DataError for an id without a row."""
        cdef int64_t n_ids = ids.shape[0], n_index = self.index.shape[0], n_data = self.data.shape[0]
        cdef int64_t i = -1, at = 0, length, total = 0
        cdef int32_t row
        cdef const int32_t* index = &self.index[0] if n_index else NULL
        cdef const int64_t* starts = &self.starts[0]
        cdef const uint8_t* text = &self.data[0] if n_data else <const uint8_t*>starts  # memcpy takes no NULL
        cdef const uint32_t* id = &ids[0] if n_ids else NULL
        with nogil:
            for i in range(n_ids):
                row = index[id[i]] if id[i] < n_index else UNKNOWN
                if row >= 0:
                    total += starts[row + 1] - starts[row]
                elif row == UNKNOWN:
                    break
            else:
                i = -1
        if i >= 0:
            raise DataError(f"id {ids[i]} at position {i} is not in the vocabulary")
        joined = PyBytes_FromStringAndSize(NULL, total)
        cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(joined)
        with nogil:
            for i in range(n_ids):
                row = index[id[i]]
                if row < 0:
                    continue
                length = starts[row + 1] - starts[row]
                # Most tokens are short: one copy of constant size, where it fits, beats a call.
                if length <= 16 and at + 16 <= total and starts[row] + 16 <= n_data:
                    memcpy(out + at, text + starts[row], 16)
                else:
                    memcpy(out + at, text + starts[row], length)
                at += length
        return joined


cdef int _check_starts(const uint8_t[::1] data, const int64_t[::1] starts) except -1:
    cdef int64_t n = starts.shape[0] - 1
    cdef int64_t row
    if n < 0 or starts[0] != 0 or starts[n] != data.shape[0]:
        raise ParameterError("starts must go from 0 to the length of the data")
    for row in range(n):
        if starts[row + 1] < starts[row]:
            raise ParameterError(f"starts must ascend, but starts[{row + 1}] does not")
    return 0
