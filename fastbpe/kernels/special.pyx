"""Special tokens: finding them, and describing what there is to do on a buffer.

A search costs one look-up per byte, and less when all tokens begin with the same byte; only where a byte can start a
token does it walk further, so text full of `<` stays fast. Where every place can begin a token it costs that token's
length each time, so the length is bounded. The leftmost match wins, and of those that start there the longest.

`make_spans` gives spans (spans.pyx); those of text are not empty.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from fastbpe.kernels.spans cimport Span
from fastbpe.kernels.special cimport Trie, TrieNode, trie_child, trie_find

from fastbpe.errors import ParameterError
from fastbpe.kernels.idlist import ID_LIMIT

MAX_SPECIAL_BYTES = 1024


cdef class SpecialTrie:
    """The tokens (bytes, id) to look for. Raises ParameterError for an empty, repeated or very long one."""

    def __cinit__(self, tokens):
        memset(&self.trie, 0, sizeof(Trie))
        self.tokens = tuple([(bytes(token), int(id)) for token, id in tokens])
        total = 1 + sum([len(token) for token, _ in self.tokens])
        if total >= 2**31:
            raise ParameterError("the special tokens are longer than 2 GiB together")
        self.trie.nodes = <TrieNode*>realloc(NULL, total * sizeof(TrieNode))
        if self.trie.nodes == NULL:
            raise MemoryError
        self.trie.nodes[0] = TrieNode(0, 0, -1, 0)
        self.trie.n_nodes = 1
        for token, id in self.tokens:
            if not token:
                raise ParameterError("a special token must not be empty")
            if len(token) > MAX_SPECIAL_BYTES:
                raise ParameterError(
                    f"the special token {token[:20]!r}... has {len(token):,} bytes: at most {MAX_SPECIAL_BYTES:,}"
                )
            if not 0 <= id < ID_LIMIT:
                raise ParameterError(f"the id {id} of special token {token!r} is outside 0 .. {ID_LIMIT - 1}")
            self._add(token, id)
        firsts = {token[0] for token, _ in self.tokens}
        self.trie.first = firsts.pop() if len(firsts) == 1 else -1

    def __dealloc__(self):
        free(self.trie.nodes)

    def __reduce__(self):
        return SpecialTrie, (self.tokens,)

    cdef _add(self, bytes token, int64_t id):
        cdef int32_t node = 0
        cdef int32_t child
        cdef uint8_t byte
        for byte in token:
            child = trie_child(&self.trie, node, byte) if node else self.trie.root[byte]
            if child == 0:
                child = self.trie.n_nodes
                self.trie.n_nodes += 1
                if node:
                    self.trie.nodes[child] = TrieNode(0, self.trie.nodes[node].child, -1, byte)
                    self.trie.nodes[node].child = child
                else:
                    self.trie.nodes[child] = TrieNode(0, 0, -1, byte)
                    self.trie.root[byte] = child
            node = child
        if self.trie.nodes[node].id >= 0:
            raise ParameterError(f"special token {token!r} is given twice")
        self.trie.nodes[node].id = id
        self.trie.longest = max(self.trie.longest, <int64_t>len(token))

    @property
    def longest(self):
        """Bytes of the longest token; 0 without tokens."""
        return self.trie.longest

    def find(self, const uint8_t[::1] data not None, int64_t start=0):
        """First token in data[start:] as (start, stop, id), or None."""
        cdef int64_t at, end = -1, id = -1
        cdef int64_t n = data.shape[0]
        if not 0 <= start <= n:
            raise ParameterError(f"start {start} is outside the data of {n} bytes")
        if start == n:
            return None
        with nogil:
            at = trie_find(&self.trie, &data[0], start, n, &end, &id)
        return None if at < 0 else (at, end, id)


def occurrences(SpecialTrie trie not None, const uint8_t[::1] data not None, int64_t lo, int64_t hi):
    """Whether a special token overlaps data[lo:hi], or may: one that the end of `data` cuts off counts too.

    Where it says no for a range around a place, cutting the text there cuts no special token.
    """
    cdef int64_t n = data.shape[0]
    if not 0 <= lo <= hi <= n:
        raise ParameterError(f"range {lo}:{hi} is outside the data of {n} bytes")
    if lo == hi or trie.trie.longest == 0:
        return False
    cdef bint found
    with nogil:
        found = _overlaps(&trie.trie, &data[0], lo, hi, n)
    return found


cdef bint _overlaps(const Trie* trie, const uint8_t* data, int64_t lo, int64_t hi, int64_t n) noexcept nogil:
    cdef int64_t at = max(<int64_t>0, lo - trie.longest + 1)
    cdef int64_t i
    cdef int32_t node
    for at in range(at, hi):
        node = trie.root[data[at]]
        i = at + 1
        while node:
            if trie.nodes[node].id >= 0 and i > lo:
                return True
            if i == n:
                if trie.nodes[node].child:
                    return True
                break
            node = trie_child(trie, node, data[i])
            i += 1
    return False


def last_behind(
    SpecialTrie trie not None, const uint8_t[::1] data not None, int64_t lo, int64_t hi, int64_t begin
):
    """The last place in data[lo:hi] right behind a token that a search from data[begin] on finds, or -1.

    It would be found whatever followed the data, and by a search from any place before at which no token is cut.
    """
    cdef int64_t n = data.shape[0]
    if not 0 <= lo <= hi <= n or not 0 <= begin <= n:
        raise ParameterError(f"range {lo}:{hi} from {begin} is outside the data of {n} bytes")
    if lo == hi or trie.trie.longest == 0:
        return -1
    cdef int64_t place
    with nogil:
        place = _last_behind(&trie.trie, &data[0], lo, hi, begin, n)
    return place


cdef int64_t _last_behind(
    const Trie* trie, const uint8_t* data, int64_t lo, int64_t hi, int64_t begin, int64_t n
) noexcept nogil:
    cdef int64_t lowest = max(begin, lo - trie.longest)
    cdef int64_t at = hi - 1
    cdef int64_t before, end
    cdef int64_t id = -1
    while at >= lowest:
        if trie.root[data[at]] and at + trie.longest <= n:
            end = trie_match(trie, data, at, n, &id)
            if lo <= end < hi:
                before = _crossed_from(trie, data, max(begin, at - trie.longest + 1), at)
                if before < 0:
                    return end
                at = before  # nor is a token between the two sure to be found
                continue
        at -= 1
    return -1


cdef int64_t _crossed_from(const Trie* trie, const uint8_t* data, int64_t lowest, int64_t at) noexcept nogil:
    """Start of the first token from `lowest` on that begins before data[at] and ends behind it, or -1."""
    cdef int64_t start
    cdef int64_t id = -1
    for start in range(lowest, at):
        if trie.root[data[start]] and trie_match(trie, data, start, start + trie.longest, &id) > at:
            return start
    return -1


def make_spans(
    const uint8_t[::1] data not None,       # IN
    const int64_t[::1] starts not None,     # IN  where each document starts
    const int64_t[::1] ends not None,       # IN  where each ends; documents ascend and do not overlap
    SpecialTrie trie=None,
    int64_t bos=-1,
    int64_t eos=-1,
):
    """Spans of the documents, and where each document's spans start.

    Without a trie all text is ordinary. `bos` and `eos` are ids put around every document, -1 for none.
    Returns spans, int64 (n, 4), and document_spans, int64 (n_documents + 1): spans
    document_spans[i]:document_spans[i + 1] are those of document i. Raises ParameterError when the documents
    do not ascend inside the data.
    """
    cdef int64_t n_documents = starts.shape[0]
    cdef int64_t n = data.shape[0]
    cdef int64_t d, last = 0
    if ends.shape[0] != n_documents:
        raise ParameterError(f"{n_documents} starts, but {ends.shape[0]} ends")
    for d in range(n_documents):
        if starts[d] < last or ends[d] < starts[d] or ends[d] > n:
            raise ParameterError(f"document {d} ({starts[d]}:{ends[d]}) does not ascend inside the {n} bytes")
        last = ends[d]
    document_spans = np.empty(n_documents + 1, np.int64)
    cdef int64_t[::1] firsts = document_spans
    cdef SpanList spans = SpanList(NULL, 0, 0)
    cdef const uint8_t* text = &data[0] if n else NULL
    cdef const Trie* root = NULL
    if trie is not None and trie.trie.longest:
        root = &trie.trie
    cdef int64_t[:, ::1] view
    try:
        with nogil:
            firsts[0] = 0
            for d in range(n_documents):
                _document_spans(&spans, text, starts[d], ends[d], root, bos, eos)
                firsts[d + 1] = spans.n
        result = np.empty((spans.n, 4), np.int64)
        if spans.n:
            view = result
            with nogil:
                memcpy(&view[0, 0], spans.rows, <size_t>spans.n * sizeof(Span))
    finally:
        free(spans.rows)
    return result, document_spans


cdef struct SpanList:
    Span* rows
    int64_t n
    int64_t capacity


cdef int _push(SpanList* spans, int64_t start, int64_t stop, int64_t text_end, int64_t id) except -1 nogil:
    cdef Span* rows
    if spans.n == spans.capacity:
        spans.capacity = 2 * spans.capacity + 64
        rows = <Span*>realloc(spans.rows, <size_t>spans.capacity * sizeof(Span))
        if rows == NULL:
            raise MemoryError
        spans.rows = rows
    spans.rows[spans.n] = Span(start, stop, text_end, id)
    spans.n += 1
    return 0


cdef int _document_spans(
    SpanList* spans, const uint8_t* data, int64_t start, int64_t stop, const Trie* trie, int64_t bos, int64_t eos
) except -1 nogil:
    cdef int64_t at, end = -1, id = -1
    if bos >= 0:
        _push(spans, start, start, start, bos)
    while trie != NULL and start < stop:
        at = trie_find(trie, data, start, stop, &end, &id)
        if at < 0:
            break
        if at > start:
            _push(spans, start, at, at, -1)
        _push(spans, at, end, end, id)
        start = end
    if start < stop:
        _push(spans, start, stop, stop, -1)
    if eos >= 0:
        _push(spans, stop, stop, stop, eos)
    return 0
