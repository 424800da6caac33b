"""Building what chunks are matched by (what it is: see matchtable.pxd; why it is right: see match.pxd).

Cost: for each merge some insertions and a look at the pieces of its halves, and the trie of all tokens.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from fastbpe.kernels.doublearray cimport ROW_NONE, trie_longest
from fastbpe.kernels.pairmap cimport PairMap, pair_key, pairmap_free, pairmap_get, pairmap_init, pairmap_insert

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.doublearray import trie_of
from fastbpe.kernels.tokens import tokens_of_merges


cdef class Matcher:
    """Proper merges, ready to encode by; immutable. Made by `matcher_of`."""

    def __dealloc__(self):
        free(self.table.rows)
        free(self.table.sides)
        free(self.table.ids)
        free(self.table.sieve)
        pairmap_free(&self.table.pairs)

    def stands(self, int64_t left, int64_t right):
        """Whether the tokens of two rows are what their joined bytes merge to."""
        if not (0 <= left < self.table.n_rows and 0 <= right < self.table.n_rows):
            raise ParameterError(f"rows are 0 to {self.table.n_rows - 1}")
        return pair_stands(&self.table, <uint32_t>left, <uint32_t>right, ROW_NONE)


def matcher_of(const uint32_t[::1] byte_ids not None, const int64_t[:, ::1] merges not None):
    """The Matcher of merges, or None when they are not proper or too many.

    byte_ids: uint32 (256,), id of each byte. merges: int64 (n, 3), ids of left, right and product, lowest rank first.
    """
    if byte_ids.shape[0] != 256 or merges.shape[1] != 3:
        raise ParameterError("expected 256 byte ids and three columns of merges")
    cdef int64_t n = merges.shape[0]
    cdef Matcher matcher = Matcher()
    cdef MatchTable* table = &matcher.table
    cdef int64_t i, side, length
    cdef bint proper
    if n + 256 > 1 << ROW_BITS:
        return None
    halves = np.empty((n, 2), np.int64)
    cdef int64_t[:, ::1] half = halves
    table.n_rows = 256 + n
    table.ids = <uint32_t*>malloc(table.n_rows * sizeof(uint32_t))
    table.rows = <TokenRow*>malloc(table.n_rows * sizeof(TokenRow))
    table.sides = <Sides*>malloc(table.n_rows * sizeof(Sides))
    if table.ids == NULL or table.rows == NULL or table.sides == NULL:
        raise MemoryError
    cdef PairMap rows
    rows.slots = NULL
    try:
        pairmap_init(&rows, table.n_rows)
        for i in range(table.n_rows):
            table.ids[i] = byte_ids[i] if i < 256 else <uint32_t>merges[i - 256, 2]
            pairmap_insert(&rows, table.ids[i], i)
        if rows.n != table.n_rows:
            return None  # a token that two merges make
        for i in range(n):
            for side in range(2):
                half[i, side] = pairmap_get(&rows, <uint64_t>merges[i, side], -1)
    finally:
        pairmap_free(&rows)
    try:
        data, starts = tokens_of_merges(halves)
    except DataError:
        return None  # a half that is made later, or tokens beyond all measure
    cdef const uint8_t[::1] text = data
    cdef const int64_t[::1] start = starts
    # Most vocabularies number what is merged in a row; then few ids need a look.
    table.first_shifted = 256
    table.shift = table.ids[256] - 256 if n else 0
    for i in range(256, table.n_rows):
        if table.ids[i] != <uint32_t>i + table.shift:
            table.first_shifted = ROW_NONE
            break
    with nogil:
        _fill_rows(table, &half[0, 0] if n else NULL, &start[0])
        _fill_sides(table)
        proper = table.pairs.n == n and _all_proper(table)
    matcher.trie = trie_of(halves, data, starts) if proper else None
    if matcher.trie is None:
        return None
    table.trie = matcher.trie.trie
    with nogil:
        for i in range(256, table.n_rows):
            table.rows[i].shorter = trie_longest(&table.trie, &text[start[i]], table.rows[i].length - 1, &length)
    return matcher


cdef int _fill_rows(MatchTable* table, const int64_t* halves, const int64_t* starts) except -1 nogil:
    cdef int64_t row
    cdef uint64_t bit
    pairmap_init(&table.pairs, table.n_rows)
    table.sieve_bits = 12
    while <int64_t>1 << table.sieve_bits < 8 * table.n_rows:
        table.sieve_bits += 1
    table.sieve = <uint64_t*>calloc(<size_t>1 << (table.sieve_bits - 6), sizeof(uint64_t))
    if table.sieve == NULL:
        raise MemoryError
    for row in range(table.n_rows):
        table.rows[row] = TokenRow(ROW_NONE, ROW_NONE, ROW_NONE, <uint32_t>(starts[row + 1] - starts[row]))
        if row >= 256:
            table.rows[row].left = <uint32_t>halves[2 * (row - 256)]
            table.rows[row].right = <uint32_t>halves[2 * (row - 256) + 1]
            pairmap_insert(&table.pairs, pair_key(table.rows[row].left, table.rows[row].right), row)
            bit = _sieve_bit(table, pair_key(table.rows[row].left, table.rows[row].right))
            table.sieve[bit >> 6] |= <uint64_t>1 << (bit & 63)
    return 0


cdef int _fill_sides(MatchTable* table) except -1 nogil:
    """In the merges' order, so that a right end counts only with the merges that come before it is merged itself."""
    cdef int64_t row
    cdef uint32_t left, right
    cdef uint64_t* partners = <uint64_t*>calloc(<uint32_t>table.n_rows, sizeof(uint64_t))  # of rows, by merges so far
    if partners == NULL:
        raise MemoryError
    for row in range(table.n_rows):
        table.sides[row] = Sides(0, _class(<uint32_t>row))
        if row >= 256:
            left = table.rows[row].left
            right = table.rows[row].right
            table.sides[row].ends = table.sides[right].ends | partners[right]
            table.sides[row].begins |= table.sides[left].begins
            partners[left] |= _class(right)
    free(partners)
    return 0


cdef inline uint64_t _class(uint32_t row) noexcept nogil:
    return <uint64_t>1 << ((row * <uint64_t>0x9E3779B97F4A7C15) >> 58)


cdef bint _all_proper(const MatchTable* table) noexcept nogil:
    """A token's halves must stand against all earlier merges: then its bytes come down to the two, and to it."""
    cdef int64_t row
    for row in range(256, table.n_rows):
        if not pair_stands(table, table.rows[row].left, table.rows[row].right, <uint32_t>row):
            return False
    return True


cdef inline uint64_t _sieve_bit(const MatchTable* table, uint64_t key) noexcept nogil:
    return (key * <uint64_t>0xD6E8FEB86659FD93) >> (64 - table.sieve_bits)


cdef inline bint _maybe(const MatchTable* table, uint64_t key) noexcept nogil:
    """False for most pairs that never merge, which most pairs do not."""
    cdef uint64_t bit = _sieve_bit(table, key)
    return table.sieve[bit >> 6] >> (bit & 63) & 1


cdef bint pair_stands(const MatchTable* table, uint32_t left, uint32_t right, uint32_t limit) noexcept nogil:
    """Whether no merge below `limit` crosses from one token into the other.

    Goes back in time: of the two pieces at the boundary the one that was made later is undone. A pair of pieces
    would merge if its own merge comes before the ones that took its pieces away. Among equals the left one is first.
    """
    cdef uint32_t left_limit = limit, right_limit = limit, crossing
    cdef uint64_t key
    while True:
        key = pair_key(left, right)
        if _maybe(table, key):
            crossing = <uint32_t>pairmap_get(&table.pairs, key, ROW_NONE)
            if crossing < left_limit and crossing <= right_limit:
                return False
        if left > right:
            if left < 256:
                return True
            left_limit = left
            left = table.rows[left].right
        else:
            if right < 256:
                return True
            right_limit = right
            right = table.rows[right].left
