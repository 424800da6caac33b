"""Scanning with an automaton: chunk ends, as many as fit."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from fastbpe.kernels.dfa cimport DFA_ACCEPT, DFA_BOUNDARY, DFA_STATE, Dfa, dfa_wide_unit

# Where long scans have died: without it, a pattern that hopes for something far away could read the same text from
# every chunk's beginning anew. `failed` has a bit for every state at the first unit of every stretch of 1 << shift
# bytes: a scan that is there in that state accepts nothing more.
cdef struct ScanMemo:
    const uint8_t* data
    int64_t text_end
    int64_t resume       # where the next call goes on, if it goes on
    int64_t base         # of stretch 0
    int64_t n_stretches
    int shift
    uint32_t* visited    # (n_stretches,): the state in which the scan under way came into the stretch
    uint8_t* failed      # (n_stretches, n_states) bits, rows padded to bytes

# scan_fill writes the ends of the chunks of data[start:stop] and returns how many, see chunks_fill in split.pxd.
# memo[0] is NULL at first, is kept from call to call, and is freed by its owner in the end.
cdef int64_t scan_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                       int64_t* ends, int64_t capacity, ScanMemo** memo) noexcept nogil
# The same without haste: a unit at a time, from one cursor. Adds the units read to steps[0].
cdef int64_t scan_carefully(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                            int64_t* ends, int64_t capacity, ScanMemo** memo, int64_t* steps) noexcept nogil
cdef void scan_memo_free(ScanMemo** memo) noexcept nogil


# A scan under way, and its fast steps.

cdef enum:
    STEPS = 8            # units read between two looks at the limits
    REACH = 4 * STEPS    # the most bytes of them
    PATIENCE = 128       # bytes read in vain, above which it is worth remembering

cdef struct Cursor:
    int64_t at           # the unit to read
    uint32_t state       # before it
    int64_t accept       # the last place where the chunk could end, if behind its beginning
    int64_t begin        # of the first chunk
    int64_t* out         # where the next end goes
    int64_t* first       # where the first end went
    int64_t steps        # units read carefully


cdef inline void cursor_init(Cursor* cursor, const Dfa* dfa, int64_t start, int64_t* ends) noexcept nogil:
    cursor.at = cursor.begin = start
    cursor.state = dfa.start
    cursor.accept = -1
    cursor.out = cursor.first = ends
    cursor.steps = 0


cdef inline int64_t chunk_begin(const Cursor* cursor) noexcept nogil:
    return (cursor.out - 1)[0] if cursor.out > cursor.first else cursor.begin


cdef inline bint run_steps(const Dfa* dfa, const uint8_t* data, Cursor* cursor) noexcept nogil:
    cdef int _k
    for _k in range(STEPS):
        if not advance(dfa, data, cursor):
            return False
    return True


cdef inline bint advance(const Dfa* dfa, const uint8_t* data, Cursor* cursor) noexcept nogil:
    # Reads one unit, of which all bytes that it may have are there. False, and nothing read, where care is needed.
    cdef int64_t at = cursor.at, length = 1, begin
    cdef uint32_t byte = data[at], unit, step
    if byte < 0x80:
        unit = dfa.ascii[byte]
    else:
        length = dfa_wide_unit(dfa, data + at, 4, &unit)
    step = dfa.transitions[cursor.state + unit]
    cursor.out[0] = at
    cursor.out += step >> 31
    cursor.accept = at if step & DFA_ACCEPT else cursor.accept
    if step & DFA_STATE:
        cursor.state = step & DFA_STATE
        cursor.at = at + length
        return True
    begin = chunk_begin(cursor)
    if step & DFA_BOUNDARY or cursor.accept <= begin or at - cursor.accept > PATIENCE:
        cursor.out -= step >> 31
        return False
    cursor.out[0] = cursor.accept
    cursor.out += 1
    cursor.at = cursor.accept
    cursor.state = dfa.start
    return True
