"""The buffer protocol over a list of ids (see idlist.pxd), so that NumPy shows it without a copy."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from fastbpe.errors import ParameterError

ID_LIMIT = 2**32 - 1
"""Ids lie below it: the largest uint32 marks in kernels that there is none."""


cdef class IdBuffer:
    """Owner of the memory behind an array of ids; made from `values`, or in C by `take`."""

    def __init__(self, values=()):
        for value in values:
            if not 0 <= value < ID_LIMIT:
                raise ParameterError(f"{value} is not an id")
            idlist_reserve(&self.list, 1)
            self.list.ids[self.list.n] = value
            self.list.n += 1

    @property
    def n(self):
        """How many ids there are."""
        return self.list.n

    def extend(self, const uint32_t[::1] values not None):
        """Appends a copy of the values. Raises BufferError while an array shows the list: it may move."""
        cdef int64_t n = values.shape[0]
        if self.shown:
            raise BufferError("the list cannot grow while an array shows it")
        if n:
            with nogil:
                idlist_reserve(&self.list, n)
                memcpy(self.list.ids + self.list.n, &values[0], n * sizeof(uint32_t))
                self.list.n += n

    def reserve(self, int64_t n):
        """Makes room for n ids in all. Raises BufferError while an array shows the list."""
        if self.shown:
            raise BufferError("the list cannot grow while an array shows it")
        if n > self.list.n:
            idlist_reserve(&self.list, n - self.list.n)

    def move(self, IdBuffer other not None):
        """Appends the ids of another buffer, which then has none; its memory stays for others to come.

        Raises BufferError while an array shows one of the two.
        """
        if self.shown or other.shown:
            raise BufferError("a list cannot change while an array shows it")
        with nogil:
            idlist_reserve(&self.list, other.list.n)
            if other.list.n:
                memcpy(self.list.ids + self.list.n, other.list.ids, other.list.n * sizeof(uint32_t))
            self.list.n += other.list.n
            other.list.n = 0

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
        self.shown += 1
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

    def __releasebuffer__(self, Py_buffer* buffer):
        self.shown -= 1
