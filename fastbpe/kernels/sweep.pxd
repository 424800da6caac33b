"""Finding the pairs that the merge loop works on; what is hot, and why that is enough, stands in sweep.pyx."""

from fastbpe.kernels.merging cimport Merging

cdef int sweep(Merging* m) except -1 nogil
