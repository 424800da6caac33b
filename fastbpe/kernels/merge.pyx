"""The merge loop: learns merges from chunk counts, each as if every pair were counted anew after every merge.

A step takes the best hot pair (sweep.pyx says what is hot, heap.pxd what is best), puts the new id in all its places
and sums up, for each distinct neighbour, what the old pair with it loses and the new one gains. So a step costs its
places and, once for each distinct neighbour, a look-up. merging.pxd tells how words and places are laid out.

Tried and dropped: lists of words instead of places (long chunks are scanned again and again).
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from fastbpe.kernels.heap cimport HeapEntry, heap_drop_top, heap_sink_top
from fastbpe.kernels.merging cimport (
    MAX_TOKEN_LENGTH,
    MIN_FREQUENCY,
    RUNNING,
    VOCAB_SIZE,
    WEIGHT_BITS,
    WEIGHT_MASK,
    Merging,
    Neighbour,
    Pair,
    holds,
    load_words,
    merging_free,
    merging_init,
    new_pair,
    push_pair,
    too_long,
)
from fastbpe.kernels.pairmap cimport pair_key, pairmap_get, pairmap_prefetch
from fastbpe.kernels.prefetch cimport fastbpe_prefetch
from fastbpe.kernels.sweep cimport sweep

MAX_TOKENS = 2**32 - 8
"""Some short of what 32 bits hold: cells have marks of their own there."""
MAX_CELLS = <object> 1 << (64 - WEIGHT_BITS)
MAX_DISTINCT_COUNTS = WEIGHT_MASK

cdef enum:
    AHEAD = 12  # places between a prefetch and its use
    MIN_CANDIDATES = 1 << 18  # each takes some 64 bytes; as many as there are places for, else

STOP_REASONS = {
    RUNNING: None,
    VOCAB_SIZE: "vocab_size",
    MIN_FREQUENCY: "min_frequency",
    MAX_TOKEN_LENGTH: "max_token_length",
}


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


cdef inline int64_t touch(
    Neighbour* neighbours, uint32_t* touched, int64_t n, uint32_t symbol, int64_t weight
) noexcept nogil:
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


cdef inline void add_place(Pair* pair, int64_t cell, int64_t weight) noexcept nogil:
    pair.places[pair.n] = <uint64_t>cell << WEIGHT_BITS | <uint64_t>weight
    pair.n += 1


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
            push_pair(m, i)

    for i in range(n_before):
        memset(&m.before[m.touched_before[i]], 0, sizeof(Neighbour))
    for i in range(n_behind):
        memset(&m.behind[m.touched_behind[i]], 0, sizeof(Neighbour))
    memset(&m.behind[left], 0, sizeof(Neighbour))
    free(places)
    m.pairs[number].places = NULL
    m.pairs[number].n = 0
    return 0


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


cdef class Merger:
    """Learns merges from distinct chunks and their counts.

    data: uint8, the chunks' bytes one after the other; starts: int64 (n + 1); counts: int64 (n), each at least 1;
    byte_ids: uint32 (256), a permutation: the id under which each byte takes part in ties. Merge k gets id 256 + k.
    n_merges: how many to learn at most; min_frequency: the smallest count that is merged, at least 1;
    max_token_length: bytes, or None; tie_first: ties go to the pair that occurs first, else to the smallest
    (left, right). small, max_bucket_bits and max_candidates change the cost, never the result.

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
        int64_t max_candidates=0,
    ):
        cdef int64_t n = counts.shape[0], n_symbols = data.shape[0], n_initial = 256, i, total = 0
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
            if starts[i + 1] > starts[i] and counts[i] > (INT64_MAX - total) // (starts[i + 1] - starts[i]):
                raise ValueError(f"the counts add up to 2**63 or more tokens at row {i}")
            total += counts[i] * (starts[i + 1] - starts[i])
        if sorted(byte_ids) != list(range(256)):
            raise ValueError("byte_ids must be a permutation of 0..255")
        if not 0 <= n_merges <= MAX_TOKENS - n_initial:
            raise ValueError(f"n_merges must be 0..{MAX_TOKENS - n_initial}, not {n_merges}")
        if min_frequency < 1:
            raise ValueError(f"min_frequency must be at least 1, not {min_frequency}")
        if not 1 <= max_bucket_bits <= 40:
            raise ValueError(f"max_bucket_bits must be 1..40, not {max_bucket_bits}")
        if n_symbols + n >= MAX_CELLS:
            raise ValueError(f"{MAX_CELLS} or more cells: bytes and chunks")
        self.m.min_frequency = min_frequency
        self.m.max_length = 2**63 - 1 if max_token_length is None else max_token_length
        self.m.tie_first = tie_first
        self.m.small = small
        self.m.max_candidates = max_candidates or max(MIN_CANDIDATES, n_symbols // 12)
        merging_init(&self.m, n_symbols, n, n_initial, n_merges, max_bucket_bits)
        if lengths is not None:
            for i in range(n_initial):
                self.m.length[i] = lengths[i]
        if n == 0:
            return
        with nogil:
            failed = load_words(
                &self.m, &data[0] if data.shape[0] else NULL, given, &starts[0], &counts[0], &byte_ids[0]
            )
        if failed:
            raise ValueError(f"more than {WEIGHT_MASK} distinct counts")

    def __dealloc__(self):
        merging_free(&self.m)

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
