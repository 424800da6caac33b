"""The Python door of dfa.pxd: units and their classes."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

import numpy as np

from fastbpe.kernels.split cimport SplitTable


def dfa_units(const uint8_t[::1] data, SplitTable table not None):
    """(lengths int64, classes uint32): the units of `data`, as scans read them."""
    cdef int64_t at = 0, n = 0, size = data.shape[0]
    lengths, classes = np.empty(size, np.int64), np.empty(size, np.uint32)
    cdef int64_t[::1] lengths_view = lengths
    cdef uint32_t[::1] classes_view = classes
    while at < size:
        lengths_view[n] = dfa_unit(&table.dfa, &data[at], size - at, &classes_view[n])
        at += lengths_view[n]
        n += 1
    return lengths[:n], classes[:n]
