"""A double-array trie of tokens: the longest one that a text begins with.

Tokens are numbered in rows, of which 0..255 are the bytes. The child of a node by byte c is slots[base + c], if its
byte is c: all bases are different, so that a slot's byte alone tells whose child it is. Cost of a walk: a load for each
byte from the third on, the first two are one look-up.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    ROW_NONE = 0x7FFFFFFF
    SLOT_USED = 0x100
    SLOT_LABEL = 0x1FF      # SLOT_USED and the byte
    SLOT_SHIFT = 9
    GATE_BITS = 20
    WIDE = 0xE0             # first bytes of characters of three bytes or more


cdef struct TrieSlot:
    uint32_t row            # token that ends here, ROW_NONE: none
    uint32_t next           # base of the children << SLOT_SHIFT | SLOT_USED | byte that leads here; base 0: no children


cdef struct TwoBytes:
    uint32_t row            # longest token that the two bytes begin with, which a byte is if not both
    uint32_t base           # of the children of the node for both; 0: none


cdef struct DoubleArray:
    TrieSlot* slots
    TwoBytes* begins        # (65536,): where the walk stands after two bytes
    uint64_t* gate          # bits: a node three bytes down and two more bytes; not set: no token goes on so
    int64_t n_slots


cdef class TokenTrie:
    cdef DoubleArray trie


cdef inline uint32_t trie_longest(
    const DoubleArray* trie, const uint8_t* text, int64_t n, int64_t* length
) noexcept nogil:
    """The longest token that text[:n] begins with, n > 0, and its length."""
    cdef TwoBytes begin
    cdef TrieSlot slot
    if n == 1:
        length[0] = 1
        return text[0]
    begin = trie.begins[<int64_t>text[0] << 8 | text[1]]
    length[0] = 1 if begin.row < 256 else 2
    if begin.base == 0 or n == 2:
        return begin.row
    if text[0] < WIDE or n < 5:
        return trie_longer(trie, text, n, 2, begin.base, begin.row, length)
    slot = trie.slots[begin.base + text[2]]
    if (slot.next & SLOT_LABEL) != (SLOT_USED | text[2]):
        return begin.row
    if slot.row != ROW_NONE:
        begin.row = slot.row
        length[0] = 3
    begin.base = slot.next >> SLOT_SHIFT
    if not gate_open(trie, begin.base, text[3], text[4]):
        return begin.row
    return trie_longer(trie, text, n, 3, begin.base, begin.row, length)


cdef inline uint64_t gate_bit(uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    return ((<uint64_t>base << 16 | <uint64_t>first << 8 | second) * <uint64_t>0x9E3779B97F4A7C15) >> (64 - GATE_BITS)


cdef inline bint gate_open(const DoubleArray* trie, uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    """False for most bytes behind a character of three that no token goes on with.

    Most walks end there, but at which byte no branch can foretell.
    """
    cdef uint64_t bit = gate_bit(base, first, second)
    return trie.gate[bit >> 6] >> (bit & 63) & 1


cdef inline uint32_t trie_longer(
    const DoubleArray* trie, const uint8_t* text, int64_t n, int64_t i, uint32_t base, uint32_t row, int64_t* length
) noexcept nogil:
    """trie_longest from a node on, i < n bytes into the text, where it is `row`."""
    cdef TrieSlot slot
    while True:
        slot = trie.slots[base + text[i]]
        if (slot.next & SLOT_LABEL) != (SLOT_USED | text[i]):
            return row
        if slot.row != ROW_NONE:
            row = slot.row
            length[0] = i + 1
        base = slot.next >> SLOT_SHIFT
        i += 1
        if base == 0 or i == n:
            return row
