"""Zeroed memory for big tables: aligned to cache lines, on huge pages where the system has them to give."""

cdef extern from *:
    """
    #ifndef FASTBPE_PAGES
    #define FASTBPE_PAGES
    #include <stdlib.h>
    #include <stdint.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    /* Must come before the first touch; a refusal is no error. */
    static void pages_advise(void *memory, size_t size) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        const uintptr_t huge = (uintptr_t)1 << 21;
        uintptr_t start = ((uintptr_t)memory + huge - 1) & ~(huge - 1);
        uintptr_t stop = ((uintptr_t)memory + size) & ~(huge - 1);
        if (stop > start)
            (void)madvise((void *)start, stop - start, MADV_HUGEPAGE);
    #else
        (void)memory;
        (void)size;
    #endif
    }

    /* `size` zeroed bytes at *lines, a multiple of 64. Returns what is to be freed, or NULL. */
    static void *pages_zeroed(size_t size, char **lines) {
        void *memory = calloc(1, size + 63);
        if (memory) {
            *lines = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
            pages_advise(memory, size);
        }
        return memory;
    }
    #endif
    """
    void pages_advise(void* memory, size_t size) noexcept nogil
    void* pages_zeroed(size_t size, char** lines) noexcept nogil
