"""The merge loop: learns merges from chunk counts, each as if every pair were counted anew after every merge.

Words. The distinct chunks lie one after the other in `symbols`, an end mark between them, in their given order. A
token covers `width[id]` cells: its id stands in the first and in the last of them, so both neighbours are one load
away (the cell before the first, the cell behind the last); what the cells between hold means nothing. All tokens of
one id were made in one merge, so they have one width and never overlap: a cell that holds the id where an occurrence
was noted is that token's first cell, and the occurrence is real if the next token's first cell holds the right id.
A chunk of five bytes and one of five million are the same to this.

Hot pairs. Only pairs with a count of at least `threshold` are kept, each with its occurrences ("places", in order).
A pair's count rises only in the step that creates its newer token; later it can only fall. So a pair that was below
the threshold when it was made stays below, and as long as the heap's top is not, the top is the best of all. When it
is, `sweep` lowers the threshold: it closes the gaps between cells, counts all pairs anew and finds the new hot ones.
Merging a pair costs its places and, once for each distinct neighbour, a look-up.

Tried and dropped: keeping every pair with its places (most never get near the top, and their look-ups miss every
cache); lists of words instead of places (long chunks are scanned again and again).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

from fastbpe.kernels.heap cimport Heap, HeapEntry, heap_drop_top, heap_free, heap_push, heap_sink_top
from fastbpe.kernels.pairmap cimport (
    PairMap,
    pairmap_free,
    pairmap_get,
    pairmap_init,
    pairmap_insert,
    pairmap_prefetch,
)
from fastbpe.kernels.prefetch cimport fastbpe_prefetch

cdef enum:
    WEIGHT_BITS = 24  # a place is cell << WEIGHT_BITS | index of the chunk's weight
    WEIGHT_MASK = (1 << WEIGHT_BITS) - 1
    AHEAD = 12  # places between a prefetch and its use
    FALL = 16  # a sweep divides the threshold by twice this at most

STOP_REASONS = {0: None, 1: "vocab_size", 2: "min_frequency", 3: "max_token_length"}

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


cdef inline uint64_t pair_key(uint32_t left, uint32_t right) noexcept nogil:
    return <uint64_t>left << 32 | right


cdef inline int64_t bucket_of(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    return <int64_t>((pair_key(left, right) * <uint64_t>0xD6E8FEB86659FD93) >> (64 - m.bucket_bits))


cdef inline bint may_be_hot(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    cdef int64_t bucket = bucket_of(m, left, right)
    return m.maybe_hot[bucket >> 6] >> (bucket & 63) & 1


cdef inline bint too_long(const Merging* m, uint32_t left, uint32_t right) noexcept nogil:
    return m.length[left] + m.length[right] > m.max_length


cdef inline bint holds(const Merging* m, const Pair* pair, uint64_t place) noexcept nogil:
    cdef int64_t cell = <int64_t>(place >> WEIGHT_BITS)
    cdef uint32_t left = <uint32_t>(pair.key >> 32)
    return m.symbols[cell] == left and m.symbols[cell + m.width[left]] == <uint32_t>pair.key


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


cdef int push(Merging* m, int64_t number) except -1 nogil:
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


cdef int64_t best_pair(Merging* m) noexcept nogil:
    """The hot pair that goes first, -1 when none is left. Sinks stale entries on the way."""
    cdef HeapEntry top
    cdef Pair* pair
    while m.heap.n > 0:
        top = m.heap.entries[0]
        pair = &m.pairs[top.pair]
        if pair.count < m.threshold:
            heap_drop_top(&m.heap)
            continue
        if m.tie_first:
            while not holds(m, pair, pair.places[pair.first]):
                pair.first += 1
        if pair.count == top.count and (not m.tie_first or pair.places[pair.first] == top.tie):
            return top.pair
        heap_sink_top(
            &m.heap, HeapEntry(pair.count, pair.places[pair.first] if m.tie_first else top.tie, top.pair)
        )
    return -1


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
            if candidates.slots[cell].key != <uint64_t>0xFFFFFFFFFFFFFFFF and seen[2 * number] >= m.threshold:
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
        push(m, i)
    return 0


cdef inline int64_t touch(Neighbour* neighbours, uint32_t* touched, int64_t n, uint32_t symbol, int64_t weight) noexcept nogil:
    cdef Neighbour* neighbour = &neighbours[symbol]
    touched[n] = symbol
    n += neighbour.n == 0
    neighbour.n += 1
    neighbour.weight += weight
    return n


cdef inline void take_from(Merging* m, uint64_t key, int64_t weight) noexcept nogil:
    cdef int64_t number = pairmap_get(&m.index, key, -1)
    if number >= 0:
        m.pairs[number].count -= weight


cdef inline int make_hot(Merging* m, uint32_t left, uint32_t right, Neighbour* neighbour) except -1 nogil:
    neighbour.pair = -1
    if neighbour.weight >= m.threshold and not too_long(m, left, right):
        neighbour.pair = new_pair(m, left, right, neighbour.weight, neighbour.n)
    return 0


cdef int merge(Merging* m, int64_t number) except -1 nogil:
    """One step: the pair becomes the next id everywhere."""
    cdef uint32_t left = <uint32_t>(m.pairs[number].key >> 32), right = <uint32_t>m.pairs[number].key
    cdef uint32_t new_id = <uint32_t>(m.n_initial + m.done), symbol, other
    cdef int64_t left_width = m.width[left], right_width = m.width[right], new_width = left_width + right_width
    cdef uint64_t* places = m.pairs[number].places
    cdef int64_t n = m.pairs[number].n, kept = 0, n_before = 0, n_behind = 0, merged = 0, first_new = m.n_pairs
    cdef int64_t i, cell, middle, behind, weight
    cdef uint32_t* symbols = m.symbols

    # Replace, and sum up what each neighbour's old pair loses. The order of the places makes runs go left to right.
    for i in range(n):
        if i + AHEAD < n:
            fastbpe_prefetch(&symbols[places[i + AHEAD] >> WEIGHT_BITS])
        cell = <int64_t>(places[i] >> WEIGHT_BITS)
        middle = cell + left_width
        if symbols[cell] != left or symbols[middle] != right:
            continue
        behind = middle + right_width
        weight = m.weights[places[i] & WEIGHT_MASK]
        n_before = touch(m.before, m.touched_before, n_before, symbols[cell - 1], weight)
        n_behind = touch(m.behind, m.touched_behind, n_behind, symbols[behind], weight)
        symbols[middle] = m.mark + 1
        symbols[behind - 1] = new_id
        symbols[cell] = new_id
        merged += weight
        places[kept] = places[i]
        kept += 1

    m.width[new_id] = <uint32_t>new_width
    m.length[new_id] = m.length[left] + m.length[right]
    m.out_pairs[2 * m.done] = left
    m.out_pairs[2 * m.done + 1] = right
    m.out_counts[m.done] = m.pairs[number].count
    m.tokens -= merged
    m.out_tokens[m.done] = m.tokens
    m.done += 1
    m.pairs[number].count = 0

    for i in range(n_before):
        symbol = m.touched_before[i]
        pairmap_prefetch(&m.index, pair_key(symbol, left))
    for i in range(n_before):
        symbol = m.touched_before[i]
        if symbol != m.mark and symbol != new_id:
            take_from(m, pair_key(symbol, left), m.before[symbol].weight)
    for i in range(n_behind):
        symbol = m.touched_behind[i]
        pairmap_prefetch(&m.index, pair_key(right, symbol))
    for i in range(n_behind):
        symbol = m.touched_behind[i]
        if symbol != m.mark:
            take_from(m, pair_key(right, symbol), m.behind[symbol].weight)
    # Where the pair stood twice in a row, `left` was behind the first new token when that was made; now the second is.
    m.behind[left].weight -= m.before[new_id].weight
    m.behind[left].n -= m.before[new_id].n

    for i in range(n_before):
        symbol = m.touched_before[i]
        if symbol != m.mark:
            make_hot(m, symbol, new_id, &m.before[symbol])
    for i in range(n_behind):
        symbol = m.touched_behind[i]
        if symbol != m.mark:
            make_hot(m, new_id, symbol, &m.behind[symbol])
    if m.n_pairs > first_new:
        m.before[m.mark].pair = m.behind[m.mark].pair = m.behind[new_id].pair = -1
        for i in range(kept):
            if i + AHEAD < kept:
                fastbpe_prefetch(&symbols[places[i + AHEAD] >> WEIGHT_BITS])
            cell = <int64_t>(places[i] >> WEIGHT_BITS)
            symbol = symbols[cell - 1]
            other = symbols[cell + new_width]
            if m.before[symbol].pair >= 0:
                weight = <int64_t>(places[i] & WEIGHT_MASK)
                add_place(&m.pairs[m.before[symbol].pair], cell - m.width[symbol], weight)
            if m.behind[other].pair >= 0:
                weight = <int64_t>(places[i] & WEIGHT_MASK)
                add_place(&m.pairs[m.behind[other].pair], cell, weight)
        for i in range(first_new, m.n_pairs):
            push(m, i)

    for i in range(n_before):
        memset(&m.before[m.touched_before[i]], 0, sizeof(Neighbour))
    for i in range(n_behind):
        memset(&m.behind[m.touched_behind[i]], 0, sizeof(Neighbour))
    memset(&m.behind[left], 0, sizeof(Neighbour))
    free(places)
    m.pairs[number].places = NULL
    m.pairs[number].n = 0
    return 0


cdef inline void add_place(Pair* pair, int64_t cell, int64_t weight) noexcept nogil:
    pair.places[pair.n] = <uint64_t>cell << WEIGHT_BITS | <uint64_t>weight
    pair.n += 1


cdef int stop(Merging* m) except -1 nogil:
    """No pair may be merged any more: is it for want of a frequent one, or are the frequent ones too long?"""
    cdef int64_t max_length = m.max_length
    m.max_length = <int64_t>0x7FFFFFFFFFFFFFFF
    sweep(m)
    m.max_length = max_length
    m.stop = MAX_TOKEN_LENGTH if m.n_pairs > 0 else MIN_FREQUENCY
    return 0


cdef int run(Merging* m, int64_t until, int64_t work) except -1 nogil:
    """Merges until `until` merges are done or `work` places were looked at, whichever comes first."""
    cdef int64_t number
    while m.stop == RUNNING and m.done < until and work > 0:
        number = best_pair(m)
        if number >= 0:
            work -= m.pairs[number].n + 1
            merge(m, number)
        elif m.threshold > m.min_frequency:
            work -= m.n_cells
            sweep(m)
        else:
            stop(m)
    if m.stop == RUNNING and m.done == m.n_merges:
        m.stop = VOCAB_SIZE
    return 0


cdef int load(
    Merging* m,
    const uint8_t* data,
    const uint32_t* symbols,
    const int64_t* starts,
    const int64_t* counts,
    const uint32_t* byte_ids,
) except -1 nogil:
    """Lays out the words, from bytes or from ids; words of one token have no pair and are left out."""
    cdef PairMap distinct  # weight -> index in weights
    cdef int64_t word, i, cell = 1, kept = 0, n_weights = 0, capacity = 0
    cdef int64_t* grown
    pairmap_init(&distinct, 1024)
    try:
        m.symbols[0] = m.mark
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


cdef class Merger:
    """Learns merges from distinct chunks and their counts.

    data: uint8, the chunks' bytes one after the other; starts: int64 (n + 1); counts: int64 (n), each at least 1;
    byte_ids: uint32 (256), a permutation: the id under which each byte takes part in ties. Merge k gets id 256 + k.
    n_merges: how many to learn at most; min_frequency: the smallest count that is merged, at least 1;
    max_token_length: bytes, or None; tie_first: ties go to the pair that occurs first, else to the smallest
    (left, right). small and max_bucket_bits change the cost, never the result.

    symbols: uint32, instead of data and byte_ids, when the chunks are sequences of ids 0..len(lengths) - 1, with
    lengths int64, the bytes of each id; merge k then gets the id len(lengths) + k.

    Raises ValueError for arrays that contradict each other and MemoryError.
    """

    cdef Merging m

    def __init__(
        self,
        const uint8_t[::1] data,
        const int64_t[::1] starts,
        const int64_t[::1] counts,
        const uint32_t[::1] byte_ids,
        int64_t n_merges,
        int64_t min_frequency=2,
        max_token_length=None,
        bint tie_first=False,
        *,
        const uint32_t[::1] symbols=None,
        const int64_t[::1] lengths=None,
        int64_t small=2**16,
        int max_bucket_bits=20,
    ):
        cdef int64_t n = counts.shape[0], n_symbols = data.shape[0], n_initial = 256, i, total = 0, n_ids
        cdef const uint32_t* given = NULL
        cdef int failed
        if self.m.symbols != NULL:
            raise ValueError("a Merger is made once")
        if symbols is not None:
            if lengths is None or data.shape[0]:
                raise ValueError("symbols come with lengths and without data")
            n_symbols, n_initial = symbols.shape[0], lengths.shape[0]
            for i in range(n_symbols):
                if symbols[i] >= n_initial:
                    raise ValueError(f"symbols[{i}] is {symbols[i]}, but lengths has {n_initial} rows")
            for i in range(n_initial):
                if not 1 <= lengths[i] < 2**40:
                    raise ValueError(f"lengths[{i}] is {lengths[i]}, not 1..2**40")
            if n_symbols:
                given = &symbols[0]
        if starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != n_symbols:
            raise ValueError("starts must be n + 1 offsets from 0 to the length of data")
        for i in range(n):
            if starts[i + 1] < starts[i]:
                raise ValueError(f"starts falls at row {i}")
            if counts[i] < 1:
                raise ValueError(f"counts must be at least 1, row {i} is {counts[i]}")
            if starts[i + 1] > starts[i] and counts[i] > (<int64_t>0x7FFFFFFFFFFFFFFF - total) // (starts[i + 1] - starts[i]):
                raise ValueError(f"the counts add up to 2**63 or more tokens at row {i}")
            total += counts[i] * (starts[i + 1] - starts[i])
        if sorted(byte_ids) != list(range(256)):
            raise ValueError("byte_ids must be a permutation of 0..255")
        if not 0 <= n_merges <= 2**32 - 8 - n_initial:
            raise ValueError(f"n_merges must be 0..{2**32 - 8 - n_initial}, not {n_merges}")
        if min_frequency < 1:
            raise ValueError(f"min_frequency must be at least 1, not {min_frequency}")
        if n_symbols + n >= 2**40:
            raise ValueError("distinct chunks of 2**40 bytes or more")
        n_ids = n_initial + n_merges + 2
        self.m.n_initial = n_initial
        self.m.n_words = n
        self.m.mark = <uint32_t>(n_ids - 2)
        self.m.n_merges = n_merges
        self.m.min_frequency = min_frequency
        self.m.max_length = 2**63 - 1 if max_token_length is None else max_token_length
        self.m.tie_first = tie_first
        self.m.threshold = 2**63 - 1
        if not 1 <= max_bucket_bits <= 40:
            raise ValueError(f"max_bucket_bits must be 1..40, not {max_bucket_bits}")
        self.m.small = small
        self.m.bucket_bits = min(12, max_bucket_bits)
        while self.m.bucket_bits < max_bucket_bits and (<int64_t>4 << self.m.bucket_bits) < n_symbols:
            self.m.bucket_bits += 1
        self.m.symbols = <uint32_t*>malloc(<size_t>(n_symbols + n + 2) * sizeof(uint32_t))
        self.m.word_weight = <uint32_t*>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        self.m.width = <uint32_t*>malloc(<size_t>n_ids * sizeof(uint32_t))
        self.m.length = <int64_t*>malloc(<size_t>n_ids * sizeof(int64_t))
        self.m.bucket_sums = <int64_t*>malloc((<size_t>1 << self.m.bucket_bits) * sizeof(int64_t))
        self.m.maybe_hot = <uint64_t*>malloc(((<size_t>1 << self.m.bucket_bits) + 63 >> 6) * sizeof(uint64_t))
        self.m.before = <Neighbour*>calloc(<size_t>n_ids, sizeof(Neighbour))
        self.m.behind = <Neighbour*>calloc(<size_t>n_ids, sizeof(Neighbour))
        self.m.touched_before = <uint32_t*>malloc(<size_t>(n_ids + 1) * sizeof(uint32_t))
        self.m.touched_behind = <uint32_t*>malloc(<size_t>(n_ids + 1) * sizeof(uint32_t))
        self.m.out_pairs = <uint32_t*>malloc(<size_t>(n_merges + 1) * 2 * sizeof(uint32_t))
        self.m.out_counts = <int64_t*>malloc(<size_t>(n_merges + 1) * sizeof(int64_t))
        self.m.out_tokens = <int64_t*>malloc(<size_t>(n_merges + 1) * sizeof(int64_t))
        if (
            self.m.symbols == NULL or self.m.word_weight == NULL or self.m.width == NULL or self.m.length == NULL
            or self.m.bucket_sums == NULL or self.m.maybe_hot == NULL or self.m.before == NULL or self.m.behind == NULL
            or self.m.touched_before == NULL or self.m.touched_behind == NULL
            or self.m.out_pairs == NULL or self.m.out_counts == NULL or self.m.out_tokens == NULL
        ):
            raise MemoryError(f"merging {n_symbols} symbols of distinct chunks")
        for i in range(n_initial):
            self.m.width[i] = 1
            self.m.length[i] = 1 if lengths is None else lengths[i]
        if n == 0:
            self.m.n_cells = 1
            self.m.symbols[0] = self.m.mark
            return
        with nogil:
            failed = load(
                &self.m, &data[0] if data.shape[0] else NULL, given, &starts[0], &counts[0], &byte_ids[0]
            )
        if failed:
            raise ValueError(f"more than {WEIGHT_MASK} distinct counts")

    def __dealloc__(self):
        forget_pairs(&self.m)
        heap_free(&self.m.heap)
        free(self.m.pairs)
        free(self.m.symbols)
        free(self.m.word_weight)
        free(self.m.weights)
        free(self.m.width)
        free(self.m.length)
        free(self.m.bucket_sums)
        free(self.m.maybe_hot)
        free(self.m.before)
        free(self.m.behind)
        free(self.m.touched_before)
        free(self.m.touched_behind)
        free(self.m.out_pairs)
        free(self.m.out_counts)
        free(self.m.out_tokens)

    def run(self, int64_t work=2**63 - 1, until=None):
        """Goes on until `until` merges are done (default: all), no pair is left, or about `work` places were seen.

        Returns how many merges are done in all; `stop_reason` says whether there is more to do.
        """
        cdef int64_t last = self.m.n_merges if until is None else min(until, self.m.n_merges)
        with nogil:
            run(&self.m, last, work)
        return self.m.done

    @property
    def stop_reason(self):
        """None while there is more to do, then vocab_size, min_frequency or max_token_length."""
        return STOP_REASONS[self.m.stop]

    @property
    def tokens(self):
        """Tokens in the corpus as it is merged now."""
        return self.m.tokens

    def merges(self, int64_t since=0):
        """(pairs uint32 (k, 2), counts int64 (k), tokens left after each int64 (k)) of the merges from `since` on."""
        if not 0 <= since <= self.m.done:
            raise ValueError(f"since must be 0..{self.m.done}, not {since}")
        cdef int64_t k = self.m.done - since, i
        pairs = np.empty((k, 2), np.uint32)
        counts = np.empty(k, np.int64)
        tokens = np.empty(k, np.int64)
        cdef uint32_t[:, ::1] pairs_view = pairs
        cdef int64_t[::1] counts_view = counts, tokens_view = tokens
        for i in range(k):
            pairs_view[i, 0] = self.m.out_pairs[2 * (since + i)]
            pairs_view[i, 1] = self.m.out_pairs[2 * (since + i) + 1]
            counts_view[i] = self.m.out_counts[since + i]
            tokens_view[i] = self.m.out_tokens[since + i]
        return pairs, counts, tokens

    def hot_pairs(self):
        """{(left, right): count} of the pairs that are kept now, and the threshold: every other pair is below it."""
        hot = {}
        for i in range(self.m.n_pairs):
            if self.m.pairs[i].count > 0:
                hot[self.m.pairs[i].key >> 32, self.m.pairs[i].key & 0xFFFFFFFF] = self.m.pairs[i].count
        return hot, self.m.threshold
