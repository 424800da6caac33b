"""Python door of pairmap.pxd, for its tests."""

from libc.stdint cimport int64_t, uint64_t

from fastbpe.kernels.pairmap cimport PAIRMAP_EMPTY, PairMap, pairmap_free, pairmap_get, pairmap_init, pairmap_insert


cdef class PyPairMap:
    """A map from 64-bit keys to 64-bit values; get gives `missing` for a key that was never set."""

    cdef PairMap pairmap

    def __cinit__(self, int64_t capacity=0):
        if not 0 <= capacity < 2**40:
            raise ValueError(f"capacity must be 0..2**40, not {capacity}")
        pairmap_init(&self.pairmap, capacity)

    def __dealloc__(self):
        pairmap_free(&self.pairmap)

    def __len__(self):
        return self.pairmap.n

    def add(self, uint64_t key, int64_t value):
        """Adds value to what the key has (0 when new)."""
        if key == PAIRMAP_EMPTY:
            raise ValueError("2**64 - 1 is no key")
        pairmap_insert(&self.pairmap, key, 0).value += value

    def get(self, uint64_t key, int64_t missing=-1):
        """The key's value, or missing."""
        return missing if key == PAIRMAP_EMPTY else pairmap_get(&self.pairmap, key, missing)
