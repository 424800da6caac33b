"""A compiled split pattern as kernels see it, and how bytes become units.

A *unit* is a code point, or one byte that is not part of valid UTF-8 as Python's decoder sees it. Its class comes from
`ascii` (one byte) or from `pages` and `leaves` (two levels, 64 code points a leaf). A transition is 32 bits: two flags,
and the next state times the row length, so that a state and a class add up to an index. State 0 is dead.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef enum:
    DFA_BOUNDARY = 0x80000000  # a chunk ends before this unit, and the state is the one after starting anew on it
    DFA_ACCEPT = 0x40000000    # a chunk may end before this unit; a longer one is still possible
    DFA_STATE = 0x00FFFFFF

cdef struct Dfa:
    const uint32_t* transitions  # (n_states, stride)
    const uint8_t* ascii         # (128,)
    const uint16_t* pages        # (0x110000 / 64,)
    const uint8_t* leaves        # (n_leaves, 64)
    uint32_t start               # == stride: the start state's row
    uint32_t n_states
    uint32_t invalid_class
    uint32_t end_class           # the end of the text, as a class
    const Dfa* then              # splits the chunks of this one again; NULL: they stay whole
    const uint16_t* courses      # (n_courses, 256), see courses.pxd; NULL: none
    const uint8_t* open          # (n_courses,): whether an end that was said may be withdrawn


cdef inline uint32_t dfa_class(const Dfa* dfa, uint32_t code) noexcept nogil:
    return dfa.leaves[dfa.pages[code >> 6] * 64 + (code & 63)]


cdef inline int64_t dfa_unit(const Dfa* dfa, const uint8_t* p, int64_t left, uint32_t* unit) noexcept nogil:
    # The class of the unit at p and its length, 0 where nothing is left of the text.
    if left <= 0:
        unit[0] = dfa.end_class
        return 0
    if p[0] < 0x80:
        unit[0] = dfa.ascii[p[0]]
        return 1
    return dfa_wide_unit(dfa, p, left, unit)


cdef inline int64_t dfa_wide_unit(const Dfa* dfa, const uint8_t* p, int64_t left, uint32_t* unit) noexcept nogil:
    # The same for a byte outside ASCII.
    cdef uint32_t code
    if left >= 3 and (p[0] & 0xF0) == 0xE0:
        code = ((p[0] & 0x0F) << 12) | ((p[1] & 0x3F) << 6) | (p[2] & 0x3F)
        if ((p[1] ^ 0x80) | (p[2] ^ 0x80)) < 0x40 and code >= 0x800 and (code >> 11) != 0x1B:
            unit[0] = dfa_class(dfa, code)
            return 3
    elif left >= 2 and 0xC2 <= p[0] < 0xE0:
        if (p[1] & 0xC0) == 0x80:
            unit[0] = dfa_class(dfa, ((p[0] & 0x1F) << 6) | (p[1] & 0x3F))
            return 2
    elif left >= 4 and (p[0] & 0xF8) == 0xF0:
        code = ((p[0] & 0x07) << 18) | ((p[1] & 0x3F) << 12) | ((p[2] & 0x3F) << 6) | (p[3] & 0x3F)
        if ((p[1] ^ 0x80) | (p[2] ^ 0x80) | (p[3] ^ 0x80)) < 0x40 and 0x10000 <= code < 0x110000:
            unit[0] = dfa_class(dfa, code)
            return 4
    unit[0] = dfa.invalid_class
    return 1
