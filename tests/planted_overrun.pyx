"""A heap overrun on purpose, compiled only in the asan build: if it is not reported, that build checks nothing."""

from libc.stdlib cimport free, malloc


def overrun(Py_ssize_t size):
    """Writes one byte past a block of `size` bytes."""
    cdef volatile char* block = <char*> malloc(size)
    if block == NULL:
        raise MemoryError
    block[size] = 1
    free(<void*> block)
