"""Building the double-array trie of tokens (what it is: see doublearray.pxd).

First as lists of children, then laid out: depth first, each node's children in slots that are free. Cost: a step for
each byte of the tokens' right halves, and the search for free slots, which goes back only so far.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from fastbpe.errors import ParameterError

cdef enum:
    MAX_SLOTS = 1 << 23
    PATIENCE = 256       # slots that a search for a base goes back to
    NEAR = 32            # slots near a node that are tried for its children


cdef class TokenTrie:
    """Tokens to look for; immutable. Made by `trie_of`."""

    def __dealloc__(self):
        free(self.trie.slots)
        free(self.trie.begins)
        free(self.trie.gate)

    def longest(self, const uint8_t[::1] text not None):
        """Row and length of the longest token that a text begins with. Raises ParameterError for no text."""
        cdef int64_t length
        if text.shape[0] == 0:
            raise ParameterError("no token begins an empty text")
        row = trie_longest(&self.trie, &text[0], text.shape[0], &length)
        return row, length

    @property
    def n_slots(self):
        """Slots there are, free ones included."""
        return self.trie.n_slots


def trie_of(
    const int64_t[:, ::1] merges not None,  # IN  (n, 2), in rows
    const uint8_t[::1] data not None,       # IN  as tokens_of_merges makes them of the merges
    const int64_t[::1] starts not None,     # IN  (257 + n,)
):
    """The TokenTrie of the bytes and of what merges make; None when two tokens have the same bytes or are too many.

    Raises ParameterError for arrays that do not fit together.
    """
    cdef int64_t row, n = 256 + merges.shape[0]
    cdef bint fits = merges.shape[1] == 2 and starts.shape[0] == n + 1 and starts[0] == 0 and starts[n] <= data.shape[0]
    for row in range(n if fits else 0):
        if starts[row] >= starts[row + 1] or row >= 256 and not 0 <= merges[row - 256, 0] < row:
            fits = False
            break
    if not fits:
        raise ParameterError("expected merges in two columns, and the bytes of their tokens one after the other")
    cdef TokenTrie trie = TokenTrie()
    with nogil:
        fits = _build(&trie.trie, n, &merges[0, 0] if n > 256 else NULL, &data[0], &starts[0])
    return trie if fits else None


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


cdef bint _build(
    DoubleArray* trie, int64_t n_rows, const int64_t* merges, const uint8_t* data, const int64_t* starts
) except -1 nogil:
    """False when two tokens have the same bytes, or when there are too many slots."""
    cdef int64_t row, i, left, n_nodes = 257, capacity = 257 + starts[n_rows]
    cdef Layout layout = Layout(NULL, NULL, 0, 1, 1)
    cdef int32_t node
    cdef bint fits = True
    cdef Node* nodes = <Node*>malloc(capacity * sizeof(Node)) if capacity < <int64_t>1 << 31 else NULL
    cdef int32_t* places = <int32_t*>malloc(n_rows * sizeof(int32_t))  # node of each row
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
    for row in range(256, n_rows):
        # The left half has its node: only the right half's bytes are left to walk.
        left = merges[2 * (row - 256)]
        node = places[left]
        for i in range(starts[row] + starts[left + 1] - starts[left], starts[row + 1]):
            node = _child(nodes, &n_nodes, node, data[i])
        places[row] = node
        if nodes[node].row != ROW_NONE:
            fits = False
            break
        nodes[node].row = <uint32_t>row
    free(places)
    try:
        trie.gate = <uint64_t*>calloc(<size_t>1 << (GATE_BITS - 6), sizeof(uint64_t))
        if trie.gate == NULL:
            raise MemoryError
        fits = fits and _lay_out(nodes, n_nodes, &layout)
        if fits:
            _fill_gate(trie, nodes, 0, 0)
            _fill_begins(trie, layout.slots, nodes[0].base)
    finally:
        free(layout.taken)
        trie.slots = layout.slots
        trie.n_slots = layout.n
        free(nodes)
    return fits


cdef int _fill_begins(DoubleArray* trie, const TrieSlot* slots, uint32_t root) except -1 nogil:
    cdef int64_t first, second
    cdef TrieSlot slot, deeper
    cdef TwoBytes* begin
    trie.begins = <TwoBytes*>malloc(65536 * sizeof(TwoBytes))
    if trie.begins == NULL:
        raise MemoryError
    for first in range(256):
        slot = slots[root + first]
        for second in range(256):
            begin = trie.begins + (first << 8 | second)
            begin[0] = TwoBytes(<uint32_t>first, 0)
            deeper = slots[(slot.next >> SLOT_SHIFT) + second]
            if slot.next >> SLOT_SHIFT and (deeper.next & SLOT_LABEL) == (SLOT_USED | <uint32_t>second):
                begin.base = deeper.next >> SLOT_SHIFT
                if deeper.row != ROW_NONE:
                    begin.row = deeper.row
    return 0


cdef void _fill_gate(DoubleArray* trie, const Node* nodes, int32_t node, int depth) noexcept nogil:
    """For the nodes three bytes down: what two bytes a token goes on with, or one and any other."""
    cdef int32_t child = nodes[node].child, next
    cdef int64_t byte
    while child:
        if depth == 3:
            next = nodes[child].child
            while next:
                _open_gate(trie, nodes[node].base, nodes[child].byte, nodes[next].byte)
                next = nodes[next].sibling
            if nodes[child].row != ROW_NONE:
                for byte in range(256):
                    _open_gate(trie, nodes[node].base, nodes[child].byte, <uint8_t>byte)
        elif depth or nodes[child].byte >= WIDE:
            _fill_gate(trie, nodes, child, depth + 1)
        child = nodes[child].sibling


cdef inline void _open_gate(DoubleArray* trie, uint32_t base, uint8_t first, uint8_t second) noexcept nogil:
    cdef uint64_t bit = gate_bit(base, first, second)
    trie.gate[bit >> 6] |= <uint64_t>1 << (bit & 63)


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
