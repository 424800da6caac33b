"""Which pairs are hot: frequent enough to be kept with their places.

A pair's count rises only in the step that makes its newer token; later it can only fall. So a pair that was below
the threshold when it was made stays below, and as long as the heap's top is not, the top is the best of all. When it
is, a sweep lowers the threshold: it closes the gaps between cells, counts all pairs anew and notes the places of the
new hot ones. Cost: three passes over the words that still have a pair, and a hash map of candidates only, because a
table of sums by hash ("buckets") bounds each pair's count from above.

Tried and dropped: keeping every pair with its places. Most never get near the top, and their look-ups miss every
cache.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from fastbpe.kernels.merging cimport (
    WEIGHT_BITS,
    Merging,
    Pair,
    bucket_of,
    forget_pairs,
    may_be_hot,
    new_pair,
    push_pair,
    too_long,
)
from fastbpe.kernels.pairmap cimport (
    PAIRMAP_EMPTY,
    PairMap,
    pair_key,
    pairmap_free,
    pairmap_get,
    pairmap_init,
    pairmap_insert,
)

cdef enum:
    FALL = 16  # a sweep divides the threshold by twice this at most


cdef void close_gaps(Merging* m) noexcept nogil:
    """One cell for each token, words of one token left out, and the bucket sums of all pairs on the way."""
    cdef int64_t source = 1, target = 1, word_start, word, kept = 0, weight
    cdef uint32_t symbol, previous
    cdef uint32_t* symbols = m.symbols
    memset(m.bucket_sums, 0, (<size_t>1 << m.bucket_bits) * sizeof(int64_t))
    for word in range(m.n_words):
        word_start = target
        weight = m.weights[m.word_weight[word]]
        previous = symbols[source]
        symbols[target] = previous
        source += m.width[previous]
        target += 1
        while symbols[source] != m.mark:
            symbol = symbols[source]
            source += m.width[symbol]
            symbols[target] = symbol
            target += 1
            if not too_long(m, previous, symbol):
                m.bucket_sums[bucket_of(m, previous, symbol)] += weight
            previous = symbol
        source += 1
        if target == word_start + 1:
            target = word_start
        else:
            symbols[target] = m.mark
            target += 1
            m.word_weight[kept] = m.word_weight[word]
            kept += 1
    m.n_words = kept
    m.n_cells = target
    for source in range(m.n_initial + m.done):
        m.width[source] = 1


cdef int count_hot(Merging* m) except -1 nogil:
    """Makes the pairs at or above the threshold, with room for their places."""
    cdef PairMap candidates  # key -> number in seen; a bucket's sum bounds the count of each of its pairs
    cdef int64_t* seen = NULL  # count, places of each candidate
    cdef int64_t cell = 1, word, n = 0, capacity = 0, number, weight
    cdef uint32_t left, right
    cdef int64_t* grown
    pairmap_init(&candidates, 1024)
    try:
        for word in range(m.n_words):
            weight = m.weights[m.word_weight[word]]
            left = m.symbols[cell]
            cell += 1
            while m.symbols[cell] != m.mark:
                right = m.symbols[cell]
                cell += 1
                if may_be_hot(m, left, right) and not too_long(m, left, right):
                    number = pairmap_insert(&candidates, pair_key(left, right), n).value
                    if number == n:
                        if n == capacity:
                            capacity = 2 * capacity + 1024
                            grown = <int64_t*>realloc(seen, <size_t>capacity * 2 * sizeof(int64_t))
                            if grown == NULL:
                                raise MemoryError
                            seen = grown
                        seen[2 * n] = seen[2 * n + 1] = 0
                        n += 1
                    seen[2 * number] += weight
                    seen[2 * number + 1] += 1
                left = right
            cell += 1
        for cell in range(<int64_t>1 << candidates.bits):
            number = candidates.slots[cell].value
            if candidates.slots[cell].key != PAIRMAP_EMPTY and seen[2 * number] >= m.threshold:
                left, right = <uint32_t>(candidates.slots[cell].key >> 32), <uint32_t>candidates.slots[cell].key
                new_pair(m, left, right, seen[2 * number], seen[2 * number + 1])
    finally:
        pairmap_free(&candidates)
        free(seen)
    return 0


cdef void note_places(Merging* m) noexcept nogil:
    cdef int64_t cell = 1, word, number
    cdef uint64_t weight
    cdef uint32_t left, right
    cdef Pair* pair
    for word in range(m.n_words):
        weight = m.word_weight[word]
        left = m.symbols[cell]
        cell += 1
        while m.symbols[cell] != m.mark:
            right = m.symbols[cell]
            if may_be_hot(m, left, right):
                number = pairmap_get(&m.index, pair_key(left, right), -1)
                if number >= 0:
                    pair = &m.pairs[number]
                    pair.places[pair.n] = <uint64_t>(cell - 1) << WEIGHT_BITS | weight
                    pair.n += 1
            left = right
            cell += 1
        cell += 1


cdef int64_t buckets_from(const Merging* m, int64_t least) noexcept nogil:
    cdef int64_t i, n = 0
    for i in range(<int64_t>1 << m.bucket_bits):
        n += m.bucket_sums[i] >= least
    return n


cdef int sweep(Merging* m) except -1 nogil:
    """Lowers the threshold and finds the pairs that are hot under it."""
    cdef int64_t i, bucket, highest = 0, n_buckets = <int64_t>1 << m.bucket_bits
    cdef size_t bytes_of_bits = <size_t>(n_buckets + 63) >> 6 << 3
    forget_pairs(m)
    close_gaps(m)
    for i in range(n_buckets):
        highest = max(highest, m.bucket_sums[i])
    # Halved at least, so that sweeps come to an end; no lower than the merges still wanted are likely to need, which
    # is about as many pairs as merges.
    highest = min(m.threshold, highest) // 2
    m.threshold = highest // FALL
    while m.threshold < highest and buckets_from(m, m.threshold) > m.n_merges - m.done:
        m.threshold = min(highest, m.threshold + m.threshold // 4 + 1)
    if m.n_cells < m.small or m.threshold < m.min_frequency:
        m.threshold = m.min_frequency
    memset(m.maybe_hot, 0, bytes_of_bits)
    for i in range(n_buckets):
        m.maybe_hot[i >> 6] |= <uint64_t>(m.bucket_sums[i] >= m.threshold) << (i & 63)
    pairmap_init(&m.index, 1024)
    count_hot(m)
    memset(m.maybe_hot, 0, bytes_of_bits)
    for i in range(m.n_pairs):
        bucket = bucket_of(m, <uint32_t>(m.pairs[i].key >> 32), <uint32_t>m.pairs[i].key)
        m.maybe_hot[bucket >> 6] |= <uint64_t>1 << (bucket & 63)
    note_places(m)
    for i in range(m.n_pairs):
        push_pair(m, i)
    return 0
