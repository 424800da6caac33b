"""What is known of proper merges (see match.pxd): the trie of their tokens, and which tokens stand side by side."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastbpe.kernels.doublearray cimport DoubleArray, TokenTrie
from fastbpe.kernels.pairmap cimport PairMap

cdef enum:
    ROW_BITS = 24           # of the rows there may be


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


cdef class Matcher:
    cdef MatchTable table
    cdef TokenTrie trie


# Whether no merge before `limit` crosses from one token into the other; ROW_NONE: no merge at all.
cdef bint pair_stands(const MatchTable* table, uint32_t left, uint32_t right, uint32_t limit) noexcept nogil


cdef inline bint pair_apart(const MatchTable* table, uint32_t left, uint32_t right) noexcept nogil:
    """True for most pairs that stand, where no longer token than `left` begins at its place.

    The left token itself merges with no left end of the right one then: that would be a longer token. So a merge that
    crosses is one of a right end inside of it.
    """
    return table.sides[left].ends & table.sides[right].begins == 0
