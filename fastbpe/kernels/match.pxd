"""Encoding a chunk token by token instead of merge by merge.

Tokens are numbered in rows: 0..255 are the bytes, 256 + k is what merge k makes, so a greater row is made later. The
merges must be *proper*: each makes a token of its own out of lower rows, and each token's bytes alone merge to that
token. Training gives no others. What then holds, and what all of this stands on:

  A sequence of tokens is what the merges make of a text exactly when every two neighbours a, b *stand*: when the
  merges make of the bytes of a and b those two tokens again.

For as long as no merge has crossed a boundary, each token's bytes merge as they would alone; so the first crossing,
if there is one, happens in the two tokens' own text too. And as the result is one, at most one sequence of standing
neighbours leads to any place of the text: a place from which it cannot go on is dead, whatever came before.

So a chunk is read from left to right: the longest token that stands, a shorter one if it leads nowhere, and seldom
a step back.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe.kernels.matchtable cimport MatchTable

cdef enum:
    MEMO_BITS = 18          # at least 2 * ROW_BITS - 30, or an entry could not say which pair it is of


cdef struct MatchScratch:
    uint32_t* memo          # (1 << MEMO_BITS,): pairs that were judged, with the judgement; 0: free
    uint64_t* dead          # a bit for each place in the chunk
    int64_t dead_words


cdef int64_t match_chunk(
    const MatchTable* table, MatchScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil
cdef int match_init(MatchScratch* scratch) except -1 nogil
cdef void match_free(MatchScratch* scratch) noexcept nogil
cdef int64_t match_bytes(const MatchScratch* scratch) noexcept nogil
