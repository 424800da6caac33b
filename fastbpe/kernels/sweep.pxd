from fastbpe.kernels.merging cimport Merging

cdef int sweep(Merging* m) except -1 nogil
