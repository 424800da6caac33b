"""Building the merge table (what it is: see mergetable.pxd). Cost: one insertion per merge, 65,536 look-ups.

A rank table (tiktoken's: two tokens may merge when their joined bytes are a token, the lowest id first) is a merge list
in which all pairs with one product share a rank, so that among them the leftmost goes first.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from fastbpe.kernels.pairmap cimport pair_key, pairmap_free, pairmap_init, pairmap_insert

from fastbpe.errors import ParameterError
from fastbpe.kernels.idlist import ID_LIMIT


cdef class MergeList:
    """Merges as kernels read them; immutable.

    byte_ids: uint32 (256,), id of each byte. merges: int64 (n, 3), ids of left, right and product, lowest rank first.
    shared_ranks: consecutive merges with the same product have the same rank. room: how many merges a kernel may add.
    Raises ParameterError for arrays of another shape, for what is no id, and for a pair that is there twice.
    """

    def __cinit__(self, const uint32_t[::1] byte_ids not None, const int64_t[:, ::1] merges not None,
                  bint shared_ranks=False, int64_t room=0):
        if byte_ids.shape[0] != 256 or merges.shape[1] != 3:
            raise ParameterError("expected 256 byte ids and three columns of merges")
        cdef int64_t i, limit = ID_LIMIT, n = merges.shape[0]
        if n + room >= 2**31:
            raise ParameterError(f"{n + room} merges are too many")
        for i in range(3 * n):
            if not 0 <= (&merges[0, 0])[i] < limit:
                raise ParameterError(f"merges[{i // 3}]: {(&merges[0, 0])[i]} is not an id")
        with nogil:
            _build(&self.table, &byte_ids[0], &merges[0, 0] if n else NULL, n, shared_ranks, room)
        if self.table.ranks.n != n:
            raise ParameterError("merges: a pair is there twice")

    def __dealloc__(self):
        free(self.table.byte_ranks)
        free(self.table.products)
        pairmap_free(&self.table.ranks)

    def rank(self, uint32_t left, uint32_t right):
        """The rank of the pair of ids, None: it never merges."""
        cdef uint32_t rank = merge_rank(&self.table, left, right)
        return None if rank == MERGE_NONE else rank

    def byte_rank(self, uint8_t first, uint8_t second):
        """The rank of the pair of these bytes, None: it never merges."""
        cdef uint32_t rank = self.table.byte_ranks[<int64_t>first << 8 | second]
        return None if rank == MERGE_NONE else rank


cdef int _build(MergeTable* table, const uint32_t* byte_ids, const int64_t* merges, int64_t n,
                bint shared_ranks, int64_t room) except -1 nogil:
    cdef int64_t i, first, second, rank = -1
    table.n = n
    for i in range(256):
        table.byte_ids[i] = byte_ids[i]
    table.byte_ranks = <uint32_t*>malloc(65536 * sizeof(uint32_t))
    table.products = <uint32_t*>malloc((n + room + 1) * sizeof(uint32_t))
    if table.byte_ranks == NULL or table.products == NULL:
        raise MemoryError
    pairmap_init(&table.ranks, n + room + 1)
    for i in range(n):
        if not shared_ranks or i == 0 or merges[3 * i + 2] != merges[3 * i - 1]:
            rank += 1
            table.products[rank] = <uint32_t>merges[3 * i + 2]
        pairmap_insert(&table.ranks, pair_key(<uint32_t>merges[3 * i], <uint32_t>merges[3 * i + 1]), rank)
    for first in range(256):
        for second in range(256):
            table.byte_ranks[first << 8 | second] = merge_rank(table, byte_ids[first], byte_ids[second])
    return 0
