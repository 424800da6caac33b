"""A trie of special tokens and its leftmost-longest search.

Node 0 is the root; its children are found in a table by byte, the children of other nodes in a list of siblings.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr


cdef struct TrieNode:
    int32_t child       # first child, 0: none
    int32_t sibling     # next child of the same parent, 0: none
    int64_t id          # id of the token that ends here, -1: none
    uint8_t byte        # byte on the edge to this node


cdef struct Trie:
    int32_t root[256]   # child of the root by byte, 0: none
    TrieNode* nodes
    int32_t n_nodes
    int64_t longest     # bytes of the longest token
    int32_t first       # the byte with which all tokens begin, -1: with several


cdef inline int32_t trie_child(const Trie* trie, int32_t node, uint8_t byte) noexcept nogil:
    cdef int32_t child = trie.nodes[node].child
    while child and trie.nodes[child].byte != byte:
        child = trie.nodes[child].sibling
    return child


cdef inline int64_t trie_match(
    const Trie* trie, const uint8_t* data, int64_t at, int64_t stop, int64_t* id
) noexcept nogil:
    """End of the longest token that starts at `at` and ends by `stop`, its id in `id`; -1: none does."""
    cdef int64_t end = -1
    cdef int32_t node = trie.root[data[at]]
    while node:
        at += 1
        if trie.nodes[node].id >= 0:
            end = at
            id[0] = trie.nodes[node].id
        if at >= stop:
            break
        node = trie_child(trie, node, data[at])
    return end


cdef inline int64_t trie_find(
    const Trie* trie, const uint8_t* data, int64_t at, int64_t stop, int64_t* end, int64_t* id
) noexcept nogil:
    """Start of the first token at or after `at` (its end and id in `end` and `id`); -1: none before `stop`."""
    cdef const uint8_t* found
    while at < stop:
        if trie.first >= 0:
            found = <const uint8_t*>memchr(data + at, trie.first, <size_t>(stop - at))
            if found == NULL:
                return -1
            at = found - data
        if trie.root[data[at]]:
            end[0] = trie_match(trie, data, at, stop, id)
            if end[0] >= 0:
                return at
        at += 1
    return -1


cdef class SpecialTrie:
    cdef Trie trie
    cdef readonly tuple tokens
    cdef _add(self, bytes token, int64_t id)
