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

from fastbpe.kernels.doublearray cimport DoubleArray, TokenTrie
from fastbpe.kernels.pairmap cimport PairMap

cdef enum:
    MEMO_BITS = 18          # at least 2 * ROW_BITS - 30, or an entry could not say which pair it is of
    ROW_BITS = 24           # rows that the memo can tell apart


cdef struct TokenRow:
    uint32_t left           # halves of the merge; ROW_NONE for a byte
    uint32_t right
    uint32_t shorter        # longest token that is a shorter prefix of this one; ROW_NONE for a byte
    uint32_t length         # bytes


# Every token is in one of 64 classes; sets of them are words.
cdef struct Sides:
    uint64_t ends           # classes of what the token's right ends (not itself) might have merged with, in its making
    uint64_t begins         # classes of the token and of its left ends


cdef struct MatchTable:
    TokenRow* rows
    Sides* sides            # of each row
    uint32_t* ids           # of each row
    uint32_t first_shifted  # rows from here on have the id row + shift (mod 2**32)
    uint32_t shift
    DoubleArray trie        # the Matcher's TokenTrie
    PairMap pairs           # left << 32 | right -> row
    uint64_t* sieve         # bits; one that is not set says that no pair with that hash is in pairs
    int sieve_bits
    int64_t n_rows


cdef struct MatchScratch:
    uint32_t* memo          # (1 << MEMO_BITS,): pairs that were judged, with the judgement; 0: free
    uint64_t* dead          # a bit for each place in the chunk
    int64_t dead_words


cdef class Matcher:
    cdef MatchTable table
    cdef TokenTrie trie


cdef int64_t match_chunk(
    const MatchTable* table, MatchScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil
cdef int match_init(MatchScratch* scratch) except -1 nogil
cdef void match_free(MatchScratch* scratch) noexcept nogil
cdef int64_t match_bytes(const MatchScratch* scratch) noexcept nogil
