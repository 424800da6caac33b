"""Which pairs are hot: frequent enough to be kept with their places.

A pair's count rises only in the step that makes its newer token; later it can only fall. So a pair that was below
the threshold when it was made stays below, and as long as the heap's top is not, the top is the best of all. When it
is, a sweep lowers the threshold: it closes the gaps between cells, counts all pairs anew and notes the places of the
new hot ones. Cost: three passes over the words that still have a pair, and a hash map of candidates only, because a
table of sums by hash ("buckets") bounds each pair's count from above. Where even these are too many for the memory that
merging is said to need (few pairs occur often in what is nearly random), a slice of them is counted at a time.

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
    bucket_may_be_hot,
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
    PairSlot,
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


cdef struct Candidates:
    PairMap index  # key -> number
    int64_t* sums  # count, places of each
    int64_t n
    int64_t capacity
    # Only pairs are counted whose bucket's lowest bits, `depth` of them, are `slice`.
    int64_t slice
    int depth


cdef inline bint in_slice(const Candidates* found, int64_t bucket) noexcept nogil:
    return (bucket & ((<int64_t>1 << found.depth) - 1)) == found.slice


cdef inline int count_candidate(Candidates* found, uint64_t key, int64_t weight, int64_t places) except -1 nogil:
    cdef int64_t number = pairmap_insert(&found.index, key, found.n).value
    cdef int64_t* grown
    if number == found.n:
        if found.n == found.capacity:
            grown = <int64_t*>realloc(found.sums, (2 * <size_t>found.capacity + 1024) * 2 * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError
            found.sums = grown
            found.capacity = 2 * found.capacity + 1024
        found.sums[2 * number] = found.sums[2 * number + 1] = 0
        found.n += 1
    found.sums[2 * number] += weight
    found.sums[2 * number + 1] += places
    return 0


cdef void candidates_free(Candidates* found) noexcept nogil:
    pairmap_free(&found.index)
    free(found.sums)
    found.sums = NULL
    found.n = found.capacity = 0


cdef int halve(const Merging* m, Candidates* found) except -1 nogil:
    """Keeps the candidates of half the slice."""
    cdef Candidates kept
    cdef PairSlot* slot
    cdef int64_t i
    cdef bint done = False
    kept.sums = NULL
    kept.n = kept.capacity = 0
    kept.slice = found.slice
    kept.depth = found.depth + 1
    # Keys come in the order of their hashes: in a smaller map, one that grows, they would all crowd at its beginning.
    pairmap_init(&kept.index, found.n)
    try:
        for i in range(<int64_t>1 << found.index.bits):
            slot = &found.index.slots[i]
            if slot.key != PAIRMAP_EMPTY and in_slice(
                &kept, bucket_of(m, <uint32_t>(slot.key >> 32), <uint32_t>slot.key)
            ):
                count_candidate(&kept, slot.key, found.sums[2 * slot.value], found.sums[2 * slot.value + 1])
        candidates_free(found)
        found[0] = kept
        done = True
    finally:
        if not done:
            candidates_free(&kept)
    return 0


cdef bint to_next_slice(Candidates* found) noexcept nogil:
    """Goes on to the slice that follows in the tree of halves; False when that was the last one."""
    cdef int64_t top
    while found.depth > 0:
        top = <int64_t>1 << (found.depth - 1)
        found.slice ^= top
        if found.slice & top:
            return True
        found.depth -= 1
    return False


cdef int count_slice(Merging* m, Candidates* found) except -1 nogil:
    """Counts the candidates of a slice, which is halved whenever they become too many."""
    cdef int64_t cell = 1, word, weight, bucket
    cdef uint32_t left, right
    for word in range(m.n_words):
        weight = m.weights[m.word_weight[word]]
        left = m.symbols[cell]
        cell += 1
        while m.symbols[cell] != m.mark:
            right = m.symbols[cell]
            cell += 1
            bucket = bucket_of(m, left, right)
            if bucket_may_be_hot(m, bucket) and in_slice(found, bucket) and not too_long(m, left, right):
                count_candidate(found, pair_key(left, right), weight, 1)
                if found.n > m.max_candidates and found.depth < m.bucket_bits:
                    halve(m, found)
            left = right
        cell += 1
    return 0


cdef int count_hot(Merging* m) except -1 nogil:
    """Makes the pairs at or above the threshold, with room for their places."""
    cdef Candidates found  # a bucket's sum bounds the count of each of its pairs
    cdef PairSlot* slot
    cdef int64_t i
    found.sums = NULL
    found.n = found.capacity = found.slice = found.depth = 0
    pairmap_init(&found.index, 1024)
    try:
        while True:
            count_slice(m, &found)
            for i in range(<int64_t>1 << found.index.bits):
                slot = &found.index.slots[i]
                if slot.key != PAIRMAP_EMPTY and found.sums[2 * slot.value] >= m.threshold:
                    new_pair(
                        m, <uint32_t>(slot.key >> 32), <uint32_t>slot.key,
                        found.sums[2 * slot.value], found.sums[2 * slot.value + 1],
                    )
            if not to_next_slice(&found):
                break
            candidates_free(&found)
            pairmap_init(&found.index, 1024)
    finally:
        candidates_free(&found)
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
