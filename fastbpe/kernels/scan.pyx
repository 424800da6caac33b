"""Scanning with an automaton (tables: dfa.pxd).

A scan starts at a boundary and follows transitions. Where a transition says that a chunk ends before the unit, it has
also started anew on that unit, so the loop has no branch per chunk: it writes the place always, and moves on only
then. Where a longer match was hoped for and died, the scan steps back to the last place where it could have ended.

Two cursors run through the halves of a window, a unit of each in turn: one waits for its table while the other steps.
The second starts where there may be no boundary. It counts from the first end that both find, as what follows an end
depends on nothing before it; ends are not proved, they meet. Where most of the text is ASCII, courses.pyx is faster.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memmove

from fastbpe.kernels.dfa cimport DFA_ACCEPT, DFA_BOUNDARY, DFA_STATE, Dfa, dfa_unit
from fastbpe.kernels.courses cimport courses_fill
from fastbpe.kernels.scan cimport PATIENCE, REACH, STEPS, Cursor, ScanMemo, advance, chunk_begin, cursor_init, run_steps

cdef enum:
    LEAST_WINDOW = 512   # bytes that are worth two cursors
    MOST_WINDOW = 1 << 15  # with its ends it stays in the second-level cache

cdef int64_t scan_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                       int64_t* ends, int64_t capacity, ScanMemo** memo) noexcept nogil:
    cdef int64_t limit = min(stop, text_end - 3), n
    cdef Cursor cursor
    cursor_init(&cursor, dfa, start, ends)
    if not memo_goes_on(memo, data, text_end, start):
        if dfa.courses != NULL:
            n = courses_fill(dfa, data, start, limit, ends, capacity)
            if n > 0:
                return n
        if capacity >= LEAST_WINDOW and limit - start >= LEAST_WINDOW:
            n = two_cursors(dfa, data, start, limit, ends, capacity)
            if n > 0:
                return n
        run_one(dfa, data, &cursor, limit, ends + capacity)
        if cursor.out > ends and (cursor.out > ends + capacity - STEPS or cursor.at < limit - REACH):
            return cursor.out - ends
        run_out(dfa, data, &cursor, stop, limit, ends + capacity)
    return run_carefully(dfa, data, &cursor, stop, text_end, ends + capacity, memo)


cdef int64_t scan_carefully(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t stop, int64_t text_end,
                            int64_t* ends, int64_t capacity, ScanMemo** memo, int64_t* steps) noexcept nogil:
    cdef Cursor cursor
    cdef int64_t n
    cursor_init(&cursor, dfa, start, ends)
    memo_goes_on(memo, data, text_end, start)
    n = run_carefully(dfa, data, &cursor, stop, text_end, ends + capacity, memo)
    steps[0] += cursor.steps
    return n


cdef int64_t two_cursors(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t limit, int64_t* ends,
                         int64_t capacity) noexcept nogil:
    # Room for an end every two bytes; where there are more, the window ends sooner.
    cdef int64_t room = min(capacity, MOST_WINDOW // 2)
    cdef int64_t window = min(limit - start, 2 * room)
    cdef int64_t middle = start + window // 2, n, known = 0, m
    cdef int64_t* half = ends + room // 2
    cdef Cursor one, two
    while middle > start and (data[middle] & 0xC0) == 0x80:
        middle -= 1
    limit = start + window
    cursor_init(&one, dfa, start, ends)
    cursor_init(&two, dfa, middle, half)
    run_two(dfa, data, &one, middle, half, &two, limit, ends + room)
    run_one(dfa, data, &one, middle, half)
    run_one(dfa, data, &two, limit, ends + room)
    m = two.out - half
    # The first goes on until it meets the second.
    while True:
        n = one.out - ends
        if n > 0:
            while known < m and half[known] < ends[n - 1]:
                known += 1
            if known < m and half[known] == ends[n - 1]:
                memmove(ends + n, half + known + 1, (m - known - 1) * sizeof(int64_t))
                return n + m - known - 1
        if known == m or one.out + STEPS > half or one.at + REACH > limit or not run_steps(dfa, data, &one):
            return n


cdef void run_two(const Dfa* dfa, const uint8_t* data, Cursor* first, int64_t first_limit, int64_t* first_full,
                  Cursor* second, int64_t second_limit, int64_t* second_full) noexcept nogil:
    # The cursors live in registers, hence the copies.
    cdef Cursor one = first[0], two = second[0]
    cdef bint going = True
    cdef int _k
    while (going and one.at + REACH <= first_limit and two.at + REACH <= second_limit
           and one.out + STEPS <= first_full and two.out + STEPS <= second_full):
        for _k in range(STEPS):
            going = advance(dfa, data, &one) and advance(dfa, data, &two)
            if not going:
                break
    first[0] = one
    second[0] = two


cdef void run_one(const Dfa* dfa, const uint8_t* data, Cursor* cursor, int64_t limit, int64_t* full) noexcept nogil:
    cdef Cursor one = cursor[0]
    while one.at + REACH <= limit and one.out + STEPS <= full:
        if not run_steps(dfa, data, &one):
            break
    cursor[0] = one


cdef void run_out(const Dfa* dfa, const uint8_t* data, Cursor* cursor, int64_t stop, int64_t limit,
                  int64_t* full) noexcept nogil:
    # The steps that are left before `stop`, which are most of a short text. Behind `limit` only ASCII is sure to be
    # there with all of its bytes.
    cdef Cursor one = cursor[0]
    while one.at < stop and one.out < full and (one.at < limit or data[one.at] < 0x80) and advance(dfa, data, &one):
        pass
    cursor[0] = one


cdef int64_t run_carefully(const Dfa* dfa, const uint8_t* data, Cursor* cursor, int64_t stop, int64_t text_end,
                           int64_t* full, ScanMemo** memo) noexcept nogil:
    # To `stop` or until the ends are full; copes with the end of the text, with text that nothing matches and with
    # long steps back. Returns how many ends there are.
    cdef int64_t at = cursor.at, begin = chunk_begin(cursor), length, stretch = 0, entered
    cdef int64_t accept = cursor.accept if cursor.accept > begin else -1
    cdef uint32_t state = cursor.state, step, unit
    cdef bint unmatched = False  # the text from the last end to `begin` is
    if memo[0] != NULL:
        stretch = memo_stretch(memo[0], at)
    while cursor.out < full:
        step = 0
        entered = memo_stretch(memo[0], at) if memo[0] != NULL else stretch
        length = dfa_unit(dfa, data + at, text_end - at, &unit)
        if entered == stretch or memo_hopes(memo[0], dfa, entered, state):
            step = dfa.transitions[state + unit]
        stretch = entered
        cursor.steps += 1
        if step & DFA_ACCEPT:
            accept = at
        state = step & DFA_STATE
        if not step & DFA_BOUNDARY:
            if state != 0:
                at += length
                continue
            if memo[0] != NULL:
                memo_fail(memo[0], dfa, accept if accept >= 0 else begin, stretch)
            entered = begin if accept < 0 else accept
            if at - entered > PATIENCE and (memo[0] == NULL or at >= memo_end(memo[0])):
                memo_renew(memo, dfa, data, entered, at, text_end)
            if accept < 0:
                unmatched = True
                begin += dfa_unit(dfa, data + begin, text_end - begin, &unit)
                at = begin
                state = dfa.start
                if begin < text_end:
                    if memo[0] != NULL:
                        stretch = memo_stretch(memo[0], at)
                    continue
            else:
                at = accept
                state = dfa.start
                length = 0
        if unmatched:
            unmatched = False
            cursor.out[0] = begin
            cursor.out += 1
            if begin >= stop or cursor.out == full:
                break
        cursor.out[0] = at
        cursor.out += 1
        if at >= stop:
            break
        begin = at
        accept = -1
        if memo[0] != NULL:
            if at >= memo_end(memo[0]):
                scan_memo_free(memo)
            else:
                stretch = memo_stretch(memo[0], at)
        if state == 0:
            state = dfa.start
        else:
            at += length
    if memo[0] != NULL:
        memo[0].resume = chunk_begin(cursor)
    return cursor.out - cursor.first


cdef bint memo_goes_on(ScanMemo** memo, const uint8_t* data, int64_t text_end, int64_t start) noexcept nogil:
    # Whether there is one, left by the call before; one of another text is of no use.
    if memo[0] == NULL:
        return False
    if memo[0].data != data or memo[0].text_end != text_end or memo[0].resume != start:
        scan_memo_free(memo)
    return memo[0] != NULL


cdef inline int64_t memo_stretch(const ScanMemo* memo, int64_t at) noexcept nogil:
    return (at - memo.base) >> memo.shift


cdef inline int64_t memo_end(const ScanMemo* memo) noexcept nogil:
    return memo.base + (memo.n_stretches << memo.shift)


cdef inline uint8_t* memo_bit(const ScanMemo* memo, const Dfa* dfa, int64_t stretch, uint32_t state,
                              uint8_t* bit) noexcept nogil:
    cdef uint32_t number = state // dfa.start
    bit[0] = 1 << (number & 7)
    return memo.failed + stretch * ((dfa.n_states + 7) >> 3) + (number >> 3)


cdef bint memo_hopes(ScanMemo* memo, const Dfa* dfa, int64_t stretch, uint32_t state) noexcept nogil:
    # Whether a scan that comes into the stretch in that state may still accept, for all that is known.
    cdef uint8_t bit
    if stretch >= memo.n_stretches:
        return True
    memo.visited[stretch] = state
    return not memo_bit(memo, dfa, stretch, state, &bit)[0] & bit


cdef void memo_fail(ScanMemo* memo, const Dfa* dfa, int64_t accept, int64_t stretch) noexcept nogil:
    # The scan that last accepted at `accept` died in `stretch`: all that it was in between was in vain.
    cdef int64_t k
    cdef uint8_t bit
    cdef uint8_t* place
    for k in range(memo_stretch(memo, accept) + 1, min(stretch + 1, memo.n_stretches)):
        place = memo_bit(memo, dfa, k, memo.visited[k], &bit)
        place[0] |= bit


cdef void memo_renew(ScanMemo** memo, const Dfa* dfa, const uint8_t* data, int64_t base, int64_t died,
                     int64_t text_end) noexcept nogil:
    # Some way ahead, so that the next scans that go too far do not make a new one each. None where memory lacks.
    cdef ScanMemo* new
    scan_memo_free(memo)
    new = <ScanMemo*> calloc(1, sizeof(ScanMemo))
    if new == NULL:
        return
    memo[0] = new
    new.data = data
    new.text_end = text_end
    new.base = base
    new.shift = 6
    while (1 << new.shift) < <int64_t> dfa.n_states:
        new.shift += 1
    new.n_stretches = (min(4 * (died - base), text_end - base) >> new.shift) + 1
    new.visited = <uint32_t*> malloc(new.n_stretches * sizeof(uint32_t))
    new.failed = <uint8_t*> calloc(new.n_stretches, (dfa.n_states + 7) >> 3)
    if new.visited == NULL or new.failed == NULL:
        scan_memo_free(memo)


cdef void scan_memo_free(ScanMemo** memo) noexcept nogil:
    if memo[0] != NULL:
        free(memo[0].visited)
        free(memo[0].failed)
        free(memo[0])
        memo[0] = NULL
