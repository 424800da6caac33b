"""Encoding a chunk token by token (why that is right: see match.pxd).

Cost: for each token a walk down the trie, and a look at whether it stands beside the one before: two words tell so of
most pairs, and what is found out of the others is remembered.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from fastbpe.kernels.doublearray cimport ROW_NONE, trie_longest
from fastbpe.kernels.matchtable cimport ROW_BITS, MatchTable, Matcher, pair_apart, pair_stands

cdef enum:
    DEAD_KEPT = 1 << 14  # words of dead places that a scratch keeps


def matched(Matcher matcher not None, const uint8_t[::1] chunk not None):
    """The ids of one chunk, as a list."""
    cdef int64_t i, n = chunk.shape[0]
    cdef MatchScratch scratch = MatchScratch(NULL, NULL, 0)
    cdef uint32_t* out = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
    if out == NULL:
        raise MemoryError
    try:
        match_init(&scratch)
        if n:
            with nogil:
                n = match_chunk(&matcher.table, &scratch, &chunk[0], n, out)
        return [out[i] for i in range(n)]
    finally:
        free(out)
        match_free(&scratch)


cdef inline bint _stands(const MatchTable* table, uint32_t* memo, uint32_t left, uint32_t right) noexcept nogil:
    # An odd factor permutes the pairs: the upper bits say where one is kept, the others which of those it is.
    cdef uint64_t pair = (<uint64_t>left << ROW_BITS | right) * <uint64_t>0x9E3779B97F4A7C15
    cdef uint32_t* entry
    cdef uint32_t mark
    pair &= (<uint64_t>1 << 2 * ROW_BITS) - 1
    entry = memo + (pair >> (2 * ROW_BITS - MEMO_BITS))
    mark = <uint32_t>pair << (32 - 2 * ROW_BITS + MEMO_BITS) | 2
    if (entry[0] | 1) != (mark | 1):
        entry[0] = mark | pair_stands(table, left, right, ROW_NONE)
    return entry[0] & 1


cdef inline uint32_t _id(const MatchTable* table, uint32_t row) noexcept nogil:
    # Without a branch, as bytes and longer tokens come in any order.
    cdef uint32_t listed = <uint32_t>0 - <uint32_t>(row < table.first_shifted)
    return (table.ids[row & listed] & listed) | ((row + table.shift) & ~listed)


cdef int64_t match_chunk(
    const MatchTable* table, MatchScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil:
    """Writes the ids of text[:n], n > 0, and returns how many; `out` has room for n."""
    cdef int64_t at = 0, end, count = 0, i, length = 0
    cdef uint32_t row = trie_longest(&table.trie, text, n, &length)
    cdef uint64_t few[4]
    cdef uint64_t* dead = few
    cdef bint longest = True    # whether no longer token begins where this one does
    cdef bint longest_before = False    # and so for the one before
    if length == n:
        out[0] = _id(table, row)  # a token by itself is what it merges to
        return 1
    if n < 256:
        memset(few, 0, sizeof(few))
    else:
        _dead_places(scratch, n)
        dead = scratch.dead
    while True:
        end = at + length
        if not dead[end >> 6] >> (end & 63) & 1 and (
            count == 0 or (longest_before and pair_apart(table, out[count - 1], row))
            or _stands(table, scratch.memo, out[count - 1], row)
        ):
            out[count] = row
            count += 1
            at = end
            if at == n:
                break
            row = trie_longest(&table.trie, text + at, n - at, &length)
            longest_before = longest
            longest = True
            continue
        row = table.rows[row].shorter
        longest = False
        while row == ROW_NONE:
            dead[at >> 6] |= <uint64_t>1 << (at & 63)
            count -= 1
            longest_before = False
            row = out[count]
            at -= table.rows[row].length
            row = table.rows[row].shorter
        length = table.rows[row].length
    for i in range(count):
        out[i] = _id(table, out[i])
    if n >= 256:
        _tidy(scratch)
    return count


cdef int _dead_places(MatchScratch* scratch, int64_t n) except -1 nogil:
    cdef int64_t words = (n >> 6) + 1
    cdef uint64_t* grown
    if words > scratch.dead_words:
        grown = <uint64_t*>realloc(scratch.dead, words * sizeof(uint64_t))
        if grown == NULL:
            raise MemoryError
        scratch.dead = grown
        scratch.dead_words = words
    memset(scratch.dead, 0, words * sizeof(uint64_t))
    return 0


cdef void _tidy(MatchScratch* scratch) noexcept nogil:
    if scratch.dead_words > DEAD_KEPT:
        free(scratch.dead)
        scratch.dead = NULL
        scratch.dead_words = 0


cdef int match_init(MatchScratch* scratch) except -1 nogil:
    scratch.dead = NULL
    scratch.dead_words = 0
    scratch.memo = <uint32_t*>calloc(<size_t>1 << MEMO_BITS, sizeof(uint32_t))
    if scratch.memo == NULL:
        raise MemoryError
    return 0


cdef void match_free(MatchScratch* scratch) noexcept nogil:
    free(scratch.memo)
    free(scratch.dead)
    scratch.memo = NULL
    scratch.dead = NULL
    scratch.dead_words = 0


cdef int64_t match_bytes(const MatchScratch* scratch) noexcept nogil:
    return (<int64_t>4 << MEMO_BITS) + 8 * scratch.dead_words
