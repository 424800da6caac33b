"""Encoding a chunk token by token (why that is right: see match.pxd).

Cost: for each token a walk down the trie, and a look at whether it stands beside the one before: two words tell so of
most pairs, and what is found out of the others is remembered.
The trie is a double array whose bases are all different, so that a slot's byte alone tells whose child it is.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from fastbpe.kernels.pairmap cimport PairMap, pair_key, pairmap_free, pairmap_get, pairmap_init, pairmap_insert

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.tokens import tokens_of_merges

cdef enum:
    MAX_SLOTS = 1 << 23
    DEAD_KEPT = 1 << 14  # words of dead places that a scratch keeps
    PATIENCE = 256       # slots that a search for a base goes back to
    NEAR = 32            # slots near a node that are tried for its children
    GATE_BITS = 20
    WIDE = 0xE0          # first bytes of characters of three bytes or more


cdef class Matcher:
    """Proper merges, ready to encode by; immutable. Made by `matcher_of`."""

    def __dealloc__(self):
        free(self.table.rows)
        free(self.table.sides)
        free(self.table.ids)
        free(self.table.slots)
        free(self.table.sieve)
        free(self.table.begins)
        free(self.table.gate)
        pairmap_free(&self.table.pairs)

    def encode(self, const uint8_t[::1] chunk not None):
        """The ids of one chunk, as a list."""
        cdef int64_t i, n = chunk.shape[0]
        cdef MatchScratch scratch = MatchScratch(NULL, NULL, 0)
        cdef uint32_t* out = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        if out == NULL:
            raise MemoryError
        try:
            match_init(&scratch)
            if n:
                with nogil:
                    n = match_chunk(&self.table, &scratch, &chunk[0], n, out)
            return [out[i] for i in range(n)]
        finally:
            free(out)
            match_free(&scratch)

    @property
    def n_slots(self):
        """Slots of the trie, free ones included."""
        return self.table.n_slots

    def stands(self, int64_t left, int64_t right):
        """Whether the tokens of two rows are what their joined bytes merge to."""
        if not (0 <= left < self.table.n_rows and 0 <= right < self.table.n_rows):
            raise ParameterError(f"rows are 0 to {self.table.n_rows - 1}")
        return pair_stands(&self.table, <uint32_t>left, <uint32_t>right, ROW_NONE)


def matcher_of(const uint32_t[::1] byte_ids not None, const int64_t[:, ::1] merges not None):
    """The Matcher of merges, or None when they are not proper or too many.

    byte_ids: uint32 (256,), id of each byte. merges: int64 (n, 3), ids of left, right and product, lowest rank first.
    """
    if byte_ids.shape[0] != 256 or merges.shape[1] != 3:
        raise ParameterError("expected 256 byte ids and three columns of merges")
    cdef int64_t n = merges.shape[0]
    cdef Matcher matcher = Matcher()
    cdef MatchTable* table = &matcher.table
    cdef int64_t i, side
    cdef bint proper
    if n + 256 > 1 << ROW_BITS:
        return None
    halves = np.empty((n, 2), np.int64)
    cdef int64_t[:, ::1] half = halves
    table.n_rows = 256 + n
    table.ids = <uint32_t*>malloc(table.n_rows * sizeof(uint32_t))
    table.rows = <TokenRow*>malloc(table.n_rows * sizeof(TokenRow))
    table.sides = <Sides*>malloc(table.n_rows * sizeof(Sides))
    if table.ids == NULL or table.rows == NULL or table.sides == NULL:
        raise MemoryError
    cdef PairMap rows
    rows.slots = NULL
    try:
        pairmap_init(&rows, table.n_rows)
        for i in range(table.n_rows):
            table.ids[i] = byte_ids[i] if i < 256 else <uint32_t>merges[i - 256, 2]
            pairmap_insert(&rows, table.ids[i], i)
        if rows.n != table.n_rows:
            return None  # a token that two merges make
        for i in range(n):
            for side in range(2):
                half[i, side] = pairmap_get(&rows, <uint64_t>merges[i, side], -1)
    finally:
        pairmap_free(&rows)
    try:
        data, starts = tokens_of_merges(halves)
    except DataError:
        return None  # a half that is made later, or tokens beyond all measure
    cdef const uint8_t[::1] text = data
    cdef const int64_t[::1] start = starts
    # Most vocabularies number what is merged in a row; then few ids need a look.
    table.first_shifted = 256
    table.shift = table.ids[256] - 256 if n else 0
    for i in range(256, table.n_rows):
        if table.ids[i] != <uint32_t>i + table.shift:
            table.first_shifted = ROW_NONE
            break
    with nogil:
        _fill_rows(table, &half[0, 0] if n else NULL, &start[0])
        _fill_sides(table)
        proper = table.pairs.n == n and _all_proper(table) and _build_trie(table, &text[0], &start[0])
    return matcher if proper else None


cdef int _fill_rows(MatchTable* table, const int64_t* halves, const int64_t* starts) except -1 nogil:
    cdef int64_t row
    cdef uint64_t bit
    pairmap_init(&table.pairs, table.n_rows)
    table.sieve_bits = 12
    while <int64_t>1 << table.sieve_bits < 8 * table.n_rows:
        table.sieve_bits += 1
    table.sieve = <uint64_t*>calloc(<size_t>1 << (table.sieve_bits - 6), sizeof(uint64_t))
    if table.sieve == NULL:
        raise MemoryError
    for row in range(table.n_rows):
        table.rows[row] = TokenRow(ROW_NONE, ROW_NONE, ROW_NONE, <uint32_t>(starts[row + 1] - starts[row]))
        if row >= 256:
            table.rows[row].left = <uint32_t>halves[2 * (row - 256)]
            table.rows[row].right = <uint32_t>halves[2 * (row - 256) + 1]
            pairmap_insert(&table.pairs, pair_key(table.rows[row].left, table.rows[row].right), row)
            bit = _sieve_bit(table, pair_key(table.rows[row].left, table.rows[row].right))
            table.sieve[bit >> 6] |= <uint64_t>1 << (bit & 63)
    return 0


cdef int _fill_sides(MatchTable* table) except -1 nogil:
    """In the merges' order, so that a right end counts only with the merges that come before it is merged itself."""
    cdef int64_t row
    cdef uint32_t left, right
    cdef uint64_t* partners = <uint64_t*>calloc(table.n_rows, sizeof(uint64_t))  # of each row, by the merges so far
    if partners == NULL:
        raise MemoryError
    for row in range(table.n_rows):
        table.sides[row] = Sides(0, _class(<uint32_t>row))
        if row >= 256:
            left = table.rows[row].left
            right = table.rows[row].right
            table.sides[row].ends = table.sides[right].ends | partners[right]
            table.sides[row].begins |= table.sides[left].begins
            partners[left] |= _class(right)
    free(partners)
    return 0


cdef inline uint64_t _class(uint32_t row) noexcept nogil:
    return <uint64_t>1 << ((row * <uint64_t>0x9E3779B97F4A7C15) >> 58)


cdef bint _all_proper(const MatchTable* table) noexcept nogil:
    """A token's halves must stand against all earlier merges: then its bytes come down to the two, and to it."""
    cdef int64_t row
    for row in range(256, table.n_rows):
        if not pair_stands(table, table.rows[row].left, table.rows[row].right, <uint32_t>row):
            return False
    return True


cdef inline uint64_t _sieve_bit(const MatchTable* table, uint64_t key) noexcept nogil:
    return (key * <uint64_t>0xD6E8FEB86659FD93) >> (64 - table.sieve_bits)


cdef inline bint _maybe(const MatchTable* table, uint64_t key) noexcept nogil:
    """False for most pairs that never merge, which most pairs do not."""
    cdef uint64_t bit = _sieve_bit(table, key)
    return table.sieve[bit >> 6] >> (bit & 63) & 1


cdef bint pair_stands(const MatchTable* table, uint32_t left, uint32_t right, uint32_t limit) noexcept nogil:
    """Whether no merge below `limit` crosses from one token into the other.

    Goes back in time: of the two pieces at the boundary the one that was made later is undone. A pair of pieces
    would merge if its own merge comes before the ones that took its pieces away. Among equals the left one is first.
    """
    cdef uint32_t left_limit = limit, right_limit = limit, crossing
    cdef uint64_t key
    while True:
        key = pair_key(left, right)
        if _maybe(table, key):
            crossing = <uint32_t>pairmap_get(&table.pairs, key, ROW_NONE)
            if crossing < left_limit and crossing <= right_limit:
                return False
        if left > right:
            if left < 256:
                return True
            left_limit = left
            left = table.rows[left].right
        else:
            if right < 256:
                return True
            right_limit = right
            right = table.rows[right].left


cdef inline bint _apart(const MatchTable* table, uint32_t left, uint32_t right) noexcept nogil:
    """True for most pairs that stand, where no longer token than `left` begins at its place.

    The left token itself merges with no left end of the right one then: that would be a longer token. So a merge that
    crosses is one of a right end inside of it.
    """
    return table.sides[left].ends & table.sides[right].begins == 0


cdef inline bint _stands(const MatchTable* table, uint32_t* memo, uint32_t left, uint32_t right) noexcept nogil:
    # An odd factor permutes the pairs: the upper bits say where one is kept, the others which of those it is.
    cdef uint64_t pair = (<uint64_t>left << ROW_BITS | right) * <uint64_t>0x9E3779B97F4A7C15
    cdef uint32_t* entry
    cdef uint32_t mark
    pair &= (<uint64_t>1 << 2 * ROW_BITS) - 1
    entry = memo + (pair >> (2 * ROW_BITS - MEMO_BITS))
    mark = <uint32_t>pair << (32 - 2 * ROW_BITS + MEMO_BITS) | 2
    if (entry[0] | 1) != (mark | 1):
        entry[0] = mark | pair_stands(table, left, right, ROW_NONE)
    return entry[0] & 1


cdef inline uint32_t _longest(
    const MatchTable* table, const uint8_t* text, int64_t n, int64_t* length
) noexcept nogil:
    """The longest token that text[:n] begins with, n > 0, and its length."""
    cdef TwoBytes begin
    cdef TrieSlot slot
    if n == 1:
        length[0] = 1
        return text[0]
    begin = table.begins[<int64_t>text[0] << 8 | text[1]]
    length[0] = 1 if begin.row < 256 else 2
    if begin.base == 0 or n == 2:
        return begin.row
    if text[0] < WIDE or n < 5:
        return _longer(table, text, n, 2, begin.base, begin.row, length)
    slot = table.slots[begin.base + text[2]]
    if (slot.next & SLOT_LABEL) != (SLOT_USED | text[2]):
        return begin.row
    if slot.row != ROW_NONE:
        begin.row = slot.row
        length[0] = 3
    begin.base = slot.next >> SLOT_SHIFT
    if not _gate_open(table, begin.base, text[3], text[4]):
        return begin.row
    return _longer(table, text, n, 3, begin.base, begin.row, length)


cdef inline uint64_t _gate_bit(uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    return ((<uint64_t>base << 16 | <uint64_t>first << 8 | second) * <uint64_t>0x9E3779B97F4A7C15) >> (64 - GATE_BITS)


cdef inline bint _gate_open(const MatchTable* table, uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    """False for most bytes behind a character of three that no token goes on with.

    Most walks end there, but at which byte no branch can foretell.
    """
    cdef uint64_t bit = _gate_bit(base, first, second)
    return table.gate[bit >> 6] >> (bit & 63) & 1


cdef inline uint32_t _longer(
    const MatchTable* table, const uint8_t* text, int64_t n, int64_t i, uint32_t base, uint32_t row, int64_t* length
) noexcept nogil:
    """_longest from a node on, i < n bytes into the text, where it is `row`."""
    cdef TrieSlot slot
    while True:
        slot = table.slots[base + text[i]]
        if (slot.next & SLOT_LABEL) != (SLOT_USED | text[i]):
            return row
        if slot.row != ROW_NONE:
            row = slot.row
            length[0] = i + 1
        base = slot.next >> SLOT_SHIFT
        i += 1
        if base == 0 or i == n:
            return row


cdef inline uint32_t _id(const MatchTable* table, uint32_t row) noexcept nogil:
    # Without a branch, as bytes and longer tokens come in any order.
    cdef uint32_t listed = <uint32_t>0 - <uint32_t>(row < table.first_shifted)
    return (table.ids[row & listed] & listed) | ((row + table.shift) & ~listed)


cdef int64_t match_chunk(
    const MatchTable* table, MatchScratch* scratch, const uint8_t* text, int64_t n, uint32_t* out
) except -1 nogil:
    """Writes the ids of text[:n], n > 0, and returns how many; `out` has room for n."""
    cdef int64_t at = 0, end, count = 0, i, length = 0
    cdef uint32_t row = _longest(table, text, n, &length)
    cdef uint64_t few[4]
    cdef uint64_t* dead = few
    cdef bint longest = True    # whether no longer token begins where this one does
    cdef bint longest_before = False    # and so for the one before
    if length == n:
        out[0] = _id(table, row)  # a token by itself is what it merges to
        return 1
    if n < 256:
        memset(few, 0, sizeof(few))
    else:
        _dead_places(scratch, n)
        dead = scratch.dead
    while True:
        end = at + length
        if not dead[end >> 6] >> (end & 63) & 1 and (
            count == 0 or (longest_before and _apart(table, out[count - 1], row))
            or _stands(table, scratch.memo, out[count - 1], row)
        ):
            out[count] = row
            count += 1
            at = end
            if at == n:
                break
            row = _longest(table, text + at, n - at, &length)
            longest_before = longest
            longest = True
            continue
        row = table.rows[row].shorter
        longest = False
        while row == ROW_NONE:
            dead[at >> 6] |= <uint64_t>1 << (at & 63)
            count -= 1
            longest_before = False
            row = out[count]
            at -= table.rows[row].length
            row = table.rows[row].shorter
        length = table.rows[row].length
    for i in range(count):
        out[i] = _id(table, out[i])
    if n >= 256:
        _tidy(scratch)
    return count


cdef int _dead_places(MatchScratch* scratch, int64_t n) except -1 nogil:
    cdef int64_t words = (n >> 6) + 1
    cdef uint64_t* grown
    if words > scratch.dead_words:
        grown = <uint64_t*>realloc(scratch.dead, words * sizeof(uint64_t))
        if grown == NULL:
            raise MemoryError
        scratch.dead = grown
        scratch.dead_words = words
    memset(scratch.dead, 0, words * sizeof(uint64_t))
    return 0


cdef void _tidy(MatchScratch* scratch) noexcept nogil:
    if scratch.dead_words > DEAD_KEPT:
        free(scratch.dead)
        scratch.dead = NULL
        scratch.dead_words = 0


cdef int match_init(MatchScratch* scratch) except -1 nogil:
    scratch.dead = NULL
    scratch.dead_words = 0
    scratch.memo = <uint32_t*>calloc(<size_t>1 << MEMO_BITS, sizeof(uint32_t))
    if scratch.memo == NULL:
        raise MemoryError
    return 0


cdef void match_free(MatchScratch* scratch) noexcept nogil:
    free(scratch.memo)
    free(scratch.dead)
    scratch.memo = NULL
    scratch.dead = NULL
    scratch.dead_words = 0


cdef int64_t match_bytes(const MatchScratch* scratch) noexcept nogil:
    return (<int64_t>4 << MEMO_BITS) + 8 * scratch.dead_words


# Building the trie: first as first-child lists, then laid out in the double array.

cdef struct Node:
    uint32_t row
    int32_t child           # first child, 0: none
    int32_t sibling         # next child of the same parent, 0: none
    uint32_t base
    uint32_t slot           # where its parent put it
    uint8_t byte


cdef struct Layout:
    TrieSlot* slots
    uint8_t* taken          # bases that a node has
    int64_t n               # slots there are
    int64_t single_from     # where the search begins for one child
    int64_t family_from     # and for several


cdef bint _build_trie(MatchTable* table, const uint8_t* data, const int64_t* starts) except -1 nogil:
    """False when two tokens have the same bytes, or when there are too many slots."""
    cdef int64_t row, i, n_nodes = 257, capacity = 257 + starts[table.n_rows]
    cdef Layout layout = Layout(NULL, NULL, 0, 1, 1)
    cdef int32_t node
    cdef bint fits = True
    cdef Node* nodes = <Node*>malloc(capacity * sizeof(Node)) if capacity < <int64_t>1 << 31 else NULL
    cdef int32_t* places = <int32_t*>malloc(table.n_rows * sizeof(int32_t))  # node of each row
    if nodes == NULL or places == NULL:
        free(nodes)
        free(places)
        raise MemoryError
    # Node 0 is the root, 1 + byte its child: the bytes are tokens all.
    for i in range(257):
        nodes[i] = Node(ROW_NONE, 1 if i == 0 else 0, <int32_t>i + 1 if 0 < i < 256 else 0, 0, 0, <uint8_t>(i - 1))
    for row in range(256):
        nodes[1 + row].row = <uint32_t>row
        places[row] = <int32_t>(1 + row)
    for row in range(256, table.n_rows):
        # The left half has its node: only the right half's bytes are left to walk.
        node = places[table.rows[row].left]
        for i in range(starts[row] + table.rows[table.rows[row].left].length, starts[row + 1]):
            node = _child(nodes, &n_nodes, node, data[i])
        places[row] = node
        if nodes[node].row != ROW_NONE:
            fits = False
            break
        nodes[node].row = <uint32_t>row
    free(places)
    try:
        table.gate = <uint64_t*>calloc(<size_t>1 << (GATE_BITS - 6), sizeof(uint64_t))
        if table.gate == NULL:
            raise MemoryError
        fits = fits and _lay_out(nodes, n_nodes, &layout)
    finally:
        free(layout.taken)
        table.slots = layout.slots
        table.n_slots = layout.n
        table.root = nodes[0].base
        if fits:
            _fill_gate(table, nodes, 0, 0)
        free(nodes)
    if fits:
        _fill_begins(table)
        for row in range(256, table.n_rows):
            table.rows[row].shorter = _longest(table, data + starts[row], table.rows[row].length - 1, &i)
    return fits


cdef int _fill_begins(MatchTable* table) except -1 nogil:
    cdef int64_t first, second
    cdef TrieSlot slot, deeper
    cdef TwoBytes* begin
    table.begins = <TwoBytes*>malloc(65536 * sizeof(TwoBytes))
    if table.begins == NULL:
        raise MemoryError
    for first in range(256):
        slot = table.slots[table.root + first]
        for second in range(256):
            begin = table.begins + (first << 8 | second)
            begin[0] = TwoBytes(<uint32_t>first, 0)
            deeper = table.slots[(slot.next >> SLOT_SHIFT) + second]
            if slot.next >> SLOT_SHIFT and (deeper.next & SLOT_LABEL) == (SLOT_USED | <uint32_t>second):
                begin.base = deeper.next >> SLOT_SHIFT
                if deeper.row != ROW_NONE:
                    begin.row = deeper.row
    return 0


cdef void _fill_gate(MatchTable* table, const Node* nodes, int32_t node, int depth) noexcept nogil:
    """For the nodes three bytes down: what two bytes a token goes on with, or one and any other."""
    cdef int32_t child = nodes[node].child, next
    cdef int64_t byte
    while child:
        if depth == 3:
            next = nodes[child].child
            while next:
                _open_gate(table, nodes[node].base, nodes[child].byte, nodes[next].byte)
                next = nodes[next].sibling
            if nodes[child].row != ROW_NONE:
                for byte in range(256):
                    _open_gate(table, nodes[node].base, nodes[child].byte, <uint8_t>byte)
        elif depth or nodes[child].byte >= WIDE:
            _fill_gate(table, nodes, child, depth + 1)
        child = nodes[child].sibling


cdef inline void _open_gate(MatchTable* table, uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    cdef uint64_t bit = _gate_bit(base, first, second)
    table.gate[bit >> 6] |= <uint64_t>1 << (bit & 63)


cdef int32_t _child(Node* nodes, int64_t* n_nodes, int32_t node, uint8_t byte) noexcept nogil:
    """The child by this byte, made if it is not there."""
    cdef int32_t child = nodes[node].child
    while child and nodes[child].byte != byte:
        child = nodes[child].sibling
    if child == 0:
        child = <int32_t>n_nodes[0]
        n_nodes[0] += 1
        nodes[child] = Node(ROW_NONE, 0, nodes[node].child, 0, 0, byte)
        nodes[node].child = child
    return child


cdef bint _lay_out(Node* nodes, int64_t n_nodes, Layout* layout) except -1 nogil:
    """Children go near their parent where they can, depth first: the rest of a long token is in a line or two."""
    cdef int32_t* stack = <int32_t*>malloc(n_nodes * sizeof(int32_t))
    cdef int64_t depth = 1
    cdef int32_t node, child
    cdef uint32_t base
    if stack == NULL:
        raise MemoryError
    stack[0] = 0
    try:
        while depth:
            depth -= 1
            node = stack[depth]
            if nodes[node].child == 0:
                continue
            base = _free_base(nodes, node, layout)
            if base == 0:
                return False
            nodes[node].base = base
            if node:
                layout.slots[nodes[node].slot].next |= base << SLOT_SHIFT
            child = nodes[node].child
            while child:
                nodes[child].slot = base + nodes[child].byte
                layout.slots[nodes[child].slot] = TrieSlot(nodes[child].row, SLOT_USED | nodes[child].byte)
                stack[depth] = child
                depth += 1
                child = nodes[child].sibling
    finally:
        free(stack)
    return True


cdef inline bint _fits(const Node* nodes, int32_t first, const Layout* layout, int64_t at) noexcept nogil:
    """Whether all children find free slots when the first has the one at `at`, under a base that no node has."""
    cdef int64_t base = at - nodes[first].byte
    cdef int32_t child = nodes[first].sibling
    if layout.slots[at].next or base <= 0 or layout.taken[base]:
        return False
    while child and layout.slots[base + nodes[child].byte].next == 0:
        child = nodes[child].sibling
    return child == 0


cdef uint32_t _free_base(const Node* nodes, int32_t node, Layout* layout) except? 0 nogil:
    """A base that no node has, with free slots for all of the node's children; 0: there are too many."""
    cdef int32_t first = nodes[node].child
    # Only children go into the gaps that families leave. What was passed over too long is not looked at again.
    cdef int64_t* begin = &layout.family_from if nodes[first].sibling else &layout.single_from
    cdef int64_t at = nodes[node].slot & ~<int64_t>7
    cdef int64_t near = at + NEAR
    if near + 512 > layout.n:
        _more_slots(layout)
    while at < near and not _fits(nodes, first, layout, at):
        at += 1
    if at == near:
        at = begin[0]
        while not _fits(nodes, first, layout, at):
            at += 1
            if at + 512 > layout.n:
                _more_slots(layout)
        begin[0] = max(begin[0], at - PATIENCE)
    at -= nodes[first].byte
    if at + 256 >= MAX_SLOTS:
        return 0
    layout.taken[at] = 1
    return <uint32_t>at


cdef int _more_slots(Layout* layout) except -1 nogil:
    cdef int64_t n = 2 * layout.n + 4096
    cdef void* grown = realloc(layout.slots, n * sizeof(TrieSlot))
    if grown == NULL:
        raise MemoryError
    layout.slots = <TrieSlot*>grown
    memset(layout.slots + layout.n, 0, (n - layout.n) * sizeof(TrieSlot))
    grown = realloc(layout.taken, n)
    if grown == NULL:
        raise MemoryError
    layout.taken = <uint8_t*>grown
    memset(layout.taken + layout.n, 0, n - layout.n)
    layout.n = n
    return 0
