"""Building the table of wholechunks.pxd. Cost: one insertion per token."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe.kernels.pairmap cimport pairmap_free, pairmap_get, pairmap_init, pairmap_insert


cdef class WholeTokens:
    """Tokens that a chunk may be as a whole; immutable.

    data: uint8, the tokens' bytes one after the other; starts: int64 (n + 1); ids: uint32 (n). Raises ValueError for
    arrays that contradict each other.
    """

    def __cinit__(
        self, const uint8_t[::1] data not None, const int64_t[::1] starts not None, const uint32_t[::1] ids not None
    ):
        cdef int64_t n = ids.shape[0], row, length
        cdef uint64_t hash
        cdef WholeChunks* whole = &self.whole
        if starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != data.shape[0]:
            raise ValueError("starts must be n + 1 offsets from 0 to the length of data")
        whole.data = <uint8_t*>malloc(<size_t>data.shape[0] + 1)
        whole.starts = <int64_t*>malloc(<size_t>(n + 1) * sizeof(int64_t))
        whole.ids = <uint32_t*>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        if whole.data == NULL or whole.starts == NULL or whole.ids == NULL:
            raise MemoryError
        memcpy(whole.starts, &starts[0], <size_t>(n + 1) * sizeof(int64_t))
        if n:
            memcpy(whole.data, &data[0], <size_t>data.shape[0])
            memcpy(whole.ids, &ids[0], <size_t>n * sizeof(uint32_t))
        whole.n = n
        pairmap_init(&whole.rows, n + 1)
        for row in range(n):
            length = starts[row + 1] - starts[row]
            if length < 1:
                raise ValueError(f"token {row} is empty")
            whole.longest = max(whole.longest, length)
            hash = whole_hash(whole.data + starts[row], length)
            while pairmap_get(&whole.rows, hash, -1) >= 0:
                hash += 1
            pairmap_insert(&whole.rows, hash, row)

    def __dealloc__(self):
        free(self.whole.data)
        free(self.whole.starts)
        free(self.whole.ids)
        pairmap_free(&self.whole.rows)

    def __len__(self):
        return self.whole.n

    def get(self, const uint8_t[::1] chunk not None):
        """The id of the token with these bytes, or None."""
        cdef int64_t id = whole_get(&self.whole, &chunk[0], chunk.shape[0]) if chunk.shape[0] else -1
        return None if id < 0 else id
