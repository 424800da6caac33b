"""The buffer protocol over a list of ids (see idlist.pxd), so that NumPy shows it without a copy."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, realloc

from fastbpe.errors import ParameterError


cdef class IdBuffer:
    """Owner of the memory behind an array of ids; made from `values`, or in C by `take`."""

    def __init__(self, values=()):
        for value in values:
            if not 0 <= value < 2**32:
                raise ParameterError(f"{value} is not an id")
            idlist_reserve(&self.list, 1)
            self.list.ids[self.list.n] = value
            self.list.n += 1

    cdef void take(self, IdList* list) noexcept:
        """Takes the list over, trimmed; the caller's is empty then."""
        cdef uint32_t* trimmed = <uint32_t*>realloc(list.ids, <size_t>max(list.n, 1) * sizeof(uint32_t))
        if trimmed != NULL:
            list.ids = trimmed
        self.list = list[0]
        list.ids = NULL
        list.n = 0
        list.capacity = 0

    def __dealloc__(self):
        free(self.list.ids)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        self.shape[0] = self.list.n
        self.strides[0] = sizeof(uint32_t)
        buffer.buf = self.list.ids
        buffer.format = b"I"
        buffer.internal = NULL
        buffer.itemsize = sizeof(uint32_t)
        buffer.len = self.list.n * <Py_ssize_t>sizeof(uint32_t)
        buffer.ndim = 1
        buffer.obj = self
        buffer.readonly = 0
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = NULL
