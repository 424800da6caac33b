"""What the merge loop works on: words in cells, hot pairs with their places, and the room for one step.

Words. The distinct chunks lie one after the other in `symbols`, an end mark between them, in their given order. A
token covers `width[id]` cells: its id stands in the first and in the last of them, so both neighbours are one load
away (the cell before the first, the cell behind the last); what the cells between hold means nothing. All tokens of
one id were made in one merge, so they have one width and never overlap: a cell that holds the id where an occurrence
was noted is that token's first cell, and the occurrence is real if the next token's first cell holds the right id.
A chunk of five bytes and one of five million are the same to this.

A place is an occurrence of a pair: its left token's first cell, and the index of its chunk's count among the
distinct counts ("weights"), so that a step loads no word.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe.kernels.heap cimport Heap
from fastbpe.kernels.pairmap cimport PairMap, pair_key

cdef enum:
    WEIGHT_BITS = 28  # a place is cell << WEIGHT_BITS | index of the chunk's weight
    WEIGHT_MASK = (1 << WEIGHT_BITS) - 1


cdef enum Stop:
    RUNNING = 0
    VOCAB_SIZE = 1
    MIN_FREQUENCY = 2
    MAX_TOKEN_LENGTH = 3


cdef struct Pair:
    uint64_t key  # left << 32 | right
    int64_t count
    uint64_t* places  # ascending; some no longer hold the pair
    int64_t n
    int64_t first  # no place before this one holds the pair (kept up only for ties by first occurrence)


cdef struct Neighbour:
    int64_t weight  # what the merge moves from the old pair with this neighbour to the new one
    int64_t n
    int64_t pair  # the new pair when it is hot, else -1


cdef struct Merging:
    # words
    uint32_t* symbols
    int64_t n_cells
    uint32_t* word_weight  # of each word, the index in weights
    int64_t n_words
    int64_t* weights  # the distinct counts of chunks
    uint32_t* width  # of each id, in cells
    int64_t* length  # of each id, in bytes
    uint32_t mark  # the end mark; mark + 1 is a cell's content that equals no id
    # pairs
    Pair* pairs
    int64_t n_pairs
    int64_t pairs_capacity
    PairMap index  # key -> number in pairs
    Heap heap
    int64_t threshold
    int64_t* bucket_sums  # 1 << bucket_bits of them, for the sweep
    int bucket_bits
    uint64_t* maybe_hot  # a bit for each bucket
    int64_t small  # so few cells are swept once, with all pairs hot
    int64_t max_candidates  # about so many pairs are counted at a time
    # one step
    Neighbour* before  # by id, of the token before the merged pair
    Neighbour* behind
    uint32_t* touched_before
    uint32_t* touched_behind
    # parameters
    int64_t n_initial  # ids that the words begin with; merge k gets the id n_initial + k
    int64_t n_merges
    int64_t min_frequency
    int64_t max_length
    bint tie_first
    # results
    int64_t done
    int64_t tokens
    Stop stop
    uint32_t* out_pairs  # left, right of each merge
    int64_t* out_counts
    int64_t* out_tokens


cdef inline int64_t bucket_of(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    return <int64_t>((pair_key(left, right) * <uint64_t>0xD6E8FEB86659FD93) >> (64 - m.bucket_bits))


cdef inline bint bucket_may_be_hot(const Merging* m, int64_t bucket) noexcept nogil:
    return m.maybe_hot[bucket >> 6] >> (bucket & 63) & 1


cdef inline bint may_be_hot(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    return bucket_may_be_hot(m, bucket_of(m, left, right))


cdef inline bint too_long(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    return m.length[left] + m.length[right] > m.max_length


cdef inline bint holds(const Merging* m, const Pair* pair, uint64_t place) noexcept nogil:
    cdef int64_t cell = <int64_t>(place >> WEIGHT_BITS)
    cdef uint32_t left = <uint32_t>(pair.key >> 32)
    return m.symbols[cell] == left and m.symbols[cell + m.width[left]] == <uint32_t>pair.key


cdef int merging_init(
    Merging* m, int64_t n_symbols, int64_t n_words, int64_t n_initial, int64_t n_merges, int max_bucket_bits
) except -1 nogil
cdef void merging_free(Merging* m) noexcept nogil
cdef int load_words(
    Merging* m,
    const uint8_t* data,
    const uint32_t* symbols,
    const int64_t* starts,
    const int64_t* counts,
    const uint32_t* byte_ids,
) except -1 nogil
cdef int64_t new_pair(Merging* m, uint32_t left, uint32_t right, int64_t count, int64_t n) except -1 nogil
cdef int push_pair(Merging* m, int64_t number) except -1 nogil
cdef void forget_pairs(Merging* m) noexcept nogil
