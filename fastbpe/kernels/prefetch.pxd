"""A hint to the cache, and nothing where the compiler has none."""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define fastbpe_prefetch(address) __builtin_prefetch(address)
    #else
    #define fastbpe_prefetch(address) ((void)(address))
    #endif
    """
    void fastbpe_prefetch(const void* address) noexcept nogil
