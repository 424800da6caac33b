"""A map from a 64-bit key to a 64-bit value: open addressing, linear probing, nothing is ever deleted.

The key of a pair of ids is `pair_key`. PAIRMAP_EMPTY marks a free slot and is no key: it would be a pair of two ids
that both are 2**32 - 1. Cost of a look-up: one multiplication and, at the load kept here (at most a half), rarely
more than one cache line.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from fastbpe.kernels.prefetch cimport fastbpe_prefetch

cdef enum:
    PAIRMAP_MIN_BITS = 4

cdef extern from *:
    """
    #define PAIRMAP_EMPTY UINT64_MAX
    """
    const uint64_t PAIRMAP_EMPTY


cdef struct PairSlot:
    uint64_t key
    int64_t value


cdef struct PairMap:
    PairSlot* slots  # 2**bits of them
    int bits
    int64_t n  # keys stored


cdef inline uint64_t pair_key(uint32_t left, uint32_t right) noexcept nogil:
    return <uint64_t>left << 32 | right


cdef inline int64_t pairmap_home(const PairMap* pairmap, uint64_t key) noexcept nogil:
    # The product's upper bits depend on every bit of the key.
    return <int64_t>((key * <uint64_t>0x9E3779B97F4A7C15) >> (64 - pairmap.bits))


cdef inline void pairmap_prefetch(const PairMap* pairmap, uint64_t key) noexcept nogil:
    fastbpe_prefetch(&pairmap.slots[pairmap_home(pairmap, key)])


cdef inline PairSlot* pairmap_slot(const PairMap* pairmap, uint64_t key) noexcept nogil:
    """The key's slot, or the free slot where it would go."""
    cdef int64_t mask = (<int64_t>1 << pairmap.bits) - 1
    cdef int64_t i = pairmap_home(pairmap, key)
    while pairmap.slots[i].key != key and pairmap.slots[i].key != PAIRMAP_EMPTY:
        i = (i + 1) & mask
    return &pairmap.slots[i]


cdef inline int64_t pairmap_get(const PairMap* pairmap, uint64_t key, int64_t missing) noexcept nogil:
    cdef PairSlot* slot = pairmap_slot(pairmap, key)
    return slot.value if slot.key == key else missing


cdef inline int pairmap_init(PairMap* pairmap, int64_t capacity) except -1 nogil:
    """Room for `capacity` keys without growing."""
    cdef int64_t i
    pairmap.bits = PAIRMAP_MIN_BITS
    while (<int64_t>1 << pairmap.bits) < 2 * capacity:
        pairmap.bits += 1
    pairmap.n = 0
    pairmap.slots = <PairSlot*>malloc((<size_t>1 << pairmap.bits) * sizeof(PairSlot))
    if pairmap.slots == NULL:
        raise MemoryError
    for i in range(<int64_t>1 << pairmap.bits):
        pairmap.slots[i].key = PAIRMAP_EMPTY
    return 0


cdef inline void pairmap_free(PairMap* pairmap) noexcept nogil:
    free(pairmap.slots)
    pairmap.slots = NULL
    pairmap.n = 0


cdef inline int pairmap_grow(PairMap* pairmap) except -1 nogil:
    cdef PairMap grown
    cdef PairSlot* slot
    cdef int64_t i
    pairmap_init(&grown, <int64_t>1 << pairmap.bits)
    for i in range(<int64_t>1 << pairmap.bits):
        if pairmap.slots[i].key != PAIRMAP_EMPTY:
            slot = pairmap_slot(&grown, pairmap.slots[i].key)
            slot[0] = pairmap.slots[i]
    grown.n = pairmap.n
    free(pairmap.slots)
    pairmap[0] = grown
    return 0


cdef inline PairSlot* pairmap_insert(PairMap* pairmap, uint64_t key, int64_t value) except NULL nogil:
    """The key's slot; a new key gets `value`. Slots move when the map grows: use the address at once."""
    cdef PairSlot* slot = pairmap_slot(pairmap, key)
    if slot.key == key:
        return slot
    if 2 * (pairmap.n + 1) > <int64_t>1 << pairmap.bits:
        pairmap_grow(pairmap)
        slot = pairmap_slot(pairmap, key)
    slot.key = key
    slot.value = value
    pairmap.n += 1
    return slot
