"""Memory of the merge loop: taking it, laying out the words, keeping the hot pairs, giving it back."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

from fastbpe.kernels.heap cimport HeapEntry, heap_free, heap_push
from fastbpe.kernels.pairmap cimport PairMap, pair_key, pairmap_free, pairmap_init, pairmap_insert


cdef int merging_init(
    Merging* m, int64_t n_symbols, int64_t n_words, int64_t n_initial, int64_t n_merges, int max_bucket_bits
) except -1 nogil:
    """Takes the memory; `m` must be zeroed. Tokens of the initial ids are one cell wide and one byte long."""
    cdef size_t n_ids = <size_t>(n_initial + n_merges) + 2, i
    m.n_words = n_words
    m.n_cells = 1
    m.n_initial = n_initial
    m.n_merges = n_merges
    m.mark = <uint32_t>(n_initial + n_merges)
    m.threshold = <int64_t>0x7FFFFFFFFFFFFFFF
    m.bucket_bits = min(12, max_bucket_bits)
    while m.bucket_bits < max_bucket_bits and (<int64_t>4 << m.bucket_bits) < n_symbols:
        m.bucket_bits += 1
    m.symbols = <uint32_t*>malloc(<size_t>(n_symbols + n_words + 2) * sizeof(uint32_t))
    m.word_weight = <uint32_t*>malloc(<size_t>(n_words + 1) * sizeof(uint32_t))
    m.width = <uint32_t*>malloc(n_ids * sizeof(uint32_t))
    m.length = <int64_t*>malloc(n_ids * sizeof(int64_t))
    m.bucket_sums = <int64_t*>malloc((<size_t>1 << m.bucket_bits) * sizeof(int64_t))
    m.maybe_hot = <uint64_t*>malloc(((<size_t>1 << m.bucket_bits) + 63 >> 6) * sizeof(uint64_t))
    m.before = <Neighbour*>calloc(n_ids, sizeof(Neighbour))
    m.behind = <Neighbour*>calloc(n_ids, sizeof(Neighbour))
    m.touched_before = <uint32_t*>malloc((n_ids + 1) * sizeof(uint32_t))
    m.touched_behind = <uint32_t*>malloc((n_ids + 1) * sizeof(uint32_t))
    m.out_pairs = <uint32_t*>malloc((<size_t>n_merges + 1) * 2 * sizeof(uint32_t))
    m.out_counts = <int64_t*>malloc((<size_t>n_merges + 1) * sizeof(int64_t))
    m.out_tokens = <int64_t*>malloc((<size_t>n_merges + 1) * sizeof(int64_t))
    if (
        m.symbols == NULL or m.word_weight == NULL or m.width == NULL or m.length == NULL or m.bucket_sums == NULL
        or m.maybe_hot == NULL or m.before == NULL or m.behind == NULL or m.touched_before == NULL
        or m.touched_behind == NULL or m.out_pairs == NULL or m.out_counts == NULL or m.out_tokens == NULL
    ):
        raise MemoryError
    m.symbols[0] = m.mark
    for i in range(<size_t>n_initial):
        m.width[i] = 1
        m.length[i] = 1
    return 0


cdef void merging_free(Merging* m) noexcept nogil:
    forget_pairs(m)
    heap_free(&m.heap)
    free(m.pairs)
    free(m.symbols)
    free(m.word_weight)
    free(m.weights)
    free(m.width)
    free(m.length)
    free(m.bucket_sums)
    free(m.maybe_hot)
    free(m.before)
    free(m.behind)
    free(m.touched_before)
    free(m.touched_behind)
    free(m.out_pairs)
    free(m.out_counts)
    free(m.out_tokens)


cdef int load_words(
    Merging* m,
    const uint8_t* data,
    const uint32_t* symbols,
    const int64_t* starts,
    const int64_t* counts,
    const uint32_t* byte_ids,
) except -1 nogil:
    """Lays out the words, from bytes or from ids; words of one token have no pair and are left out.

    Returns 1 when there are more distinct counts than a place can tell apart.
    """
    cdef PairMap distinct  # weight -> index in weights
    cdef int64_t word, i, cell = 1, kept = 0, n_weights = 0, capacity = 0
    cdef int64_t* grown
    pairmap_init(&distinct, 1024)
    try:
        for word in range(m.n_words):
            m.tokens += counts[word] * (starts[word + 1] - starts[word])
            if starts[word + 1] - starts[word] < 2:
                continue
            i = pairmap_insert(&distinct, <uint64_t>counts[word], n_weights).value
            if i == n_weights:
                if n_weights == capacity:
                    capacity = 2 * capacity + 1024
                    grown = <int64_t*>realloc(m.weights, <size_t>capacity * sizeof(int64_t))
                    if grown == NULL:
                        raise MemoryError
                    m.weights = grown
                m.weights[n_weights] = counts[word]
                n_weights += 1
            if n_weights > WEIGHT_MASK:
                return 1
            m.word_weight[kept] = <uint32_t>i
            kept += 1
            for i in range(starts[word], starts[word + 1]):
                m.symbols[cell] = byte_ids[data[i]] if symbols == NULL else symbols[i]
                cell += 1
            m.symbols[cell] = m.mark
            cell += 1
    finally:
        pairmap_free(&distinct)
    m.n_words = kept
    m.n_cells = cell
    return 0


cdef int64_t new_pair(Merging* m, uint32_t left, uint32_t right, int64_t count, int64_t n) except -1 nogil:
    """A hot pair with room for n places; its number."""
    cdef Pair* pairs
    cdef Pair* pair
    if m.n_pairs == m.pairs_capacity:
        pairs = <Pair*>realloc(m.pairs, (2 * <size_t>m.pairs_capacity + 256) * sizeof(Pair))
        if pairs == NULL:
            raise MemoryError
        m.pairs = pairs
        m.pairs_capacity = 2 * m.pairs_capacity + 256
    pair = &m.pairs[m.n_pairs]
    pair.key = pair_key(left, right)
    pair.count = count
    pair.n = 0
    pair.first = 0
    pair.places = <uint64_t*>malloc(<size_t>n * sizeof(uint64_t))
    if pair.places == NULL:
        raise MemoryError
    m.n_pairs += 1
    pairmap_insert(&m.index, pair.key, m.n_pairs - 1)
    return m.n_pairs - 1


cdef int push_pair(Merging* m, int64_t number) except -1 nogil:
    cdef Pair* pair = &m.pairs[number]
    cdef uint64_t tie = pair.places[0] if m.tie_first else pair.key
    return heap_push(&m.heap, HeapEntry(pair.count, tie, number))


cdef void forget_pairs(Merging* m) noexcept nogil:
    cdef int64_t i
    for i in range(m.n_pairs):
        free(m.pairs[i].places)
    m.n_pairs = 0
    m.heap.n = 0
    pairmap_free(&m.index)
