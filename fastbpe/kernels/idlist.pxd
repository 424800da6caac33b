"""A list of ids that grows, and the owner of its memory once an array shows it."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport realloc

from fastbpe.kernels.pages cimport pages_advise


cdef struct IdList:
    uint32_t* ids
    int64_t n
    int64_t capacity


cdef inline int idlist_reserve(IdList* list, int64_t more) except -1 nogil:
    """Room for `more` ids behind the list's n."""
    cdef int64_t capacity
    cdef uint32_t* grown
    if list.n + more <= list.capacity:
        return 0
    capacity = max(list.n + more, list.capacity + list.capacity // 2)
    grown = <uint32_t*>realloc(list.ids, <size_t>capacity * sizeof(uint32_t))
    if grown == NULL:
        raise MemoryError
    list.ids = grown
    pages_advise(grown + list.n, <size_t>(capacity - list.n) * sizeof(uint32_t))
    list.capacity = capacity
    return 0


cdef class IdBuffer:
    cdef IdList list
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]
    cdef int64_t shown  # buffers that are out
    cdef void take(self, IdList* list) noexcept
