"""Scanning text that is mostly ASCII: a byte of each of several strips of the text in turn, and a bit for each byte.

An entry of the table is the next course times 256, and in its lower four bits the ends that the byte tells: one before
the byte itself, or up to three bytes further back. For each byte these four, its *mark*, are written down, without a
branch, and of the marks of 64 bytes a word of bits is made; the table takes no step back, so all strips go at one pace.
A strip that comes upon what the table does not know (course 0) is lost until the next word of 64 bytes, where it begins
anew.

But for the first, a strip begins where there may be no boundary, and what it says counts from the first end that
it has in common with a scan from the last end that is certain: what follows an end depends on nothing before it.

From marks to bits and from bits to places is a third of the work; where the processor has AVX-512 (VBMI2), it does
that.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.dfa cimport Dfa
from fastbpe.kernels.scan cimport REACH, STEPS, Cursor, cursor_init, run_steps

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    /* What the four bits of 64 marks say: `bits` of the ends among these bytes, the first is the lowest bit, and `late`
       of those in the 64 bytes before. */
    static inline void courses_join(
        uint64_t here, uint64_t one, uint64_t two, uint64_t three, uint64_t *bits, uint64_t *late
    ) {
        *bits = here | one >> 1 | two >> 2 | three >> 3;
        *late = one << 63 | two << 62 | three << 61;
    }

    static void courses_gather(const uint8_t *marks, uint64_t *bits, uint64_t *late) {
        uint64_t back[4] = {0, 0, 0, 0};
    #if defined(__SSE2__)
        for (int i = 0; i < 4; i++) {
            const __m128i some = _mm_loadu_si128((const __m128i *)(marks + 16 * i));
            back[0] |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(some, 7)) << 16 * i;
            back[1] |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(some, 6)) << 16 * i;
            back[2] |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(some, 5)) << 16 * i;
            back[3] |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(some, 4)) << 16 * i;
        }
    #else
        for (int i = 0; i < 8; i++) {
            uint64_t some;
            memcpy(&some, marks + 8 * i, 8);
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            some = __builtin_bswap64(some);
    #endif
            /* The product brings the lowest bits of eight bytes together in the highest byte. */
            for (int k = 0; k < 4; k++)
                back[k] |= (some >> k & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56 << 8 * i;
        }
    #endif
        courses_join(back[0], back[1], back[2], back[3], bits, late);
    }

    /* The place of the lowest bit that is set; `word` is not 0. */
    static inline int courses_lowest(uint64_t word) {
    #if defined(__GNUC__) || defined(__clang__)
        return __builtin_ctzll(word);
    #else
        int place = 0;
        while (!(word & 1)) { word >>= 1; place++; }
        return place;
    #endif
    }

    /* Writes base + the place of each bit that is set, eight at a time, and returns how many they are. */
    static int64_t courses_write(uint64_t word, int64_t base, int64_t *out) {
        uint64_t sum = word - (word >> 1 & UINT64_C(0x5555555555555555));
        int64_t n, i;
        sum = (sum & UINT64_C(0x3333333333333333)) + (sum >> 2 & UINT64_C(0x3333333333333333));
        sum = (sum + (sum >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
        n = (int64_t)(sum * UINT64_C(0x0101010101010101) >> 56);
        for (i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++) {
                out[i + k] = base + courses_lowest(word | UINT64_C(1) << 63);
                word &= word - 1;
            }
        return n;
    }

    #if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9))
    #include <immintrin.h>
    #define COURSES_WIDE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")))

    COURSES_WIDE_TARGET static void courses_gather_wide(const uint8_t *marks, uint64_t *bits, uint64_t *late) {
        const __m512i some = _mm512_loadu_si512(marks);
        courses_join(
            _mm512_test_epi8_mask(some, _mm512_set1_epi8(1)), _mm512_test_epi8_mask(some, _mm512_set1_epi8(2)),
            _mm512_test_epi8_mask(some, _mm512_set1_epi8(4)), _mm512_test_epi8_mask(some, _mm512_set1_epi8(8)),
            bits, late);
    }

    /* courses_write by a compression of bytes. */
    COURSES_WIDE_TARGET static int64_t courses_write_wide(uint64_t word, int64_t base, int64_t *out) {
        static const uint8_t counting[64] = {
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
            29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
            56, 57, 58, 59, 60, 61, 62, 63};
        const int64_t n = _mm_popcnt_u64(word);
        const __m512i bases = _mm512_set1_epi64(base);
        __m512i places = _mm512_maskz_compress_epi8(word, _mm512_loadu_si512(counting));
        int64_t i = 0;
        do {
            const __m128i some = _mm512_castsi512_si128(places);
            _mm512_storeu_si512(out + i, _mm512_add_epi64(bases, _mm512_cvtepu8_epi64(some)));
            _mm512_storeu_si512(
                out + i + 8, _mm512_add_epi64(bases, _mm512_cvtepu8_epi64(_mm_srli_si128(some, 8))));
            places = _mm512_shuffle_i64x2(places, places, _MM_SHUFFLE(0, 3, 2, 1));
            i += 16;
        } while (i < n);
        return n;
    }

    static int courses_has_wide(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2")
            && __builtin_cpu_supports("popcnt");
    }
    #else
    #define courses_gather_wide courses_gather
    #define courses_write_wide courses_write
    static int courses_has_wide(void) { return 0; }
    #endif
    """
    void courses_gather(const uint8_t* marks, uint64_t* bits, uint64_t* late) noexcept nogil
    void courses_gather_wide(const uint8_t* marks, uint64_t* bits, uint64_t* late) noexcept nogil
    int64_t courses_write(uint64_t word, int64_t base, int64_t* out) noexcept nogil
    int64_t courses_write_wide(uint64_t word, int64_t base, int64_t* out) noexcept nogil
    bint courses_has_wide() noexcept nogil

cdef bint WIDE_BITS = courses_has_wide()

cdef enum:
    STRIPS = 8           # as many as keep their course in a register
    WORDS = 16           # of 64 bytes in a strip
    FEW_WORDS = 3        # the same where there is less text
    END_BYTES = 3        # bytes for which there must be room for an end; where there are more ends, work is lost
    START = 256          # the course at the beginning of a chunk
    COURSE = 0xFF00
    WIDE = 8             # one of so many words outside ASCII is too much

cdef struct Strips:
    uint64_t bits[STRIPS * WORDS]     # the word's first byte is the lowest bit
    uint32_t courses[STRIPS * WORDS]  # behind each word, 0: lost
    int64_t words                     # in a strip


def use_wide(bint wanted):
    """Whether ends are written by AVX-512 from now on: if wanted, and where there is any. For tests."""
    global WIDE_BITS
    WIDE_BITS = wanted and courses_has_wide()
    return WIDE_BITS


cdef int64_t courses_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t limit, int64_t* ends,
                          int64_t capacity) noexcept nogil:
    cdef Strips strips
    cdef int64_t n = min(limit - start, END_BYTES * capacity) // (64 * STRIPS)
    strips.words = WORDS if n >= WORDS else FEW_WORDS
    if n < FEW_WORDS or too_wide(data + start, 64 * STRIPS * strips.words):
        return 0
    # The distance between strips must be known to the compiler.
    if strips.words == WORDS:
        run_strips(dfa.courses, data + start, WORDS, &strips)
    else:
        run_strips(dfa.courses, data + start, FEW_WORDS, &strips)
    return collect(dfa, data, start, &strips, ends, capacity)


cdef bint too_wide(const uint8_t* text, int64_t n) noexcept nogil:
    """Judges by a sample."""
    cdef int64_t at = 0, wide = 0
    cdef uint64_t word
    while at < n:
        memcpy(&word, text + at, 8)
        wide += (word & <uint64_t>0x8080808080808080) != 0
        at += 64
    return WIDE * wide > n >> 6


cdef inline void step(const uint16_t* table, uint8_t byte, uint64_t* course, uint8_t* mark) noexcept nogil:
    cdef uint64_t entry = table[course[0] + byte]
    mark[0] = <uint8_t>entry
    course[0] = entry & COURSE


cdef inline void step_all(const uint16_t* table, const uint8_t* text, int64_t apart, uint64_t* courses,
                          uint8_t* marks) noexcept nogil:
    step(table, text[0], &courses[0], &marks[0])
    step(table, text[apart], &courses[1], &marks[64])
    step(table, text[2 * apart], &courses[2], &marks[128])
    step(table, text[3 * apart], &courses[3], &marks[192])
    step(table, text[4 * apart], &courses[4], &marks[256])
    step(table, text[5 * apart], &courses[5], &marks[320])
    step(table, text[6 * apart], &courses[6], &marks[384])
    step(table, text[7 * apart], &courses[7], &marks[448])


cdef inline void run_strips(const uint16_t* table, const uint8_t* text, int64_t words, Strips* strips) noexcept nogil:
    cdef uint64_t courses[STRIPS]
    cdef uint8_t marks[64 * STRIPS]
    cdef uint64_t late = 0
    cdef int64_t word, at, i
    cdef int strip
    for strip in range(STRIPS):
        courses[strip] = START
    for word in range(words):
        for i in range(64):
            step_all(table, text + i, 64 * words, courses, marks + i)
        text += 64
        for strip in range(STRIPS):
            at = strip * words + word
            if WIDE_BITS:
                courses_gather_wide(marks + 64 * strip, &strips.bits[at], &late)
            else:
                courses_gather(marks + 64 * strip, &strips.bits[at], &late)
            strips.courses[at] = <uint32_t>courses[strip]
            if courses[strip] == 0:
                courses[strip] = START
            elif word:
                # The first bytes told of ends in the word before.
                strips.bits[at - 1] |= late


cdef int64_t collect(const Dfa* dfa, const uint8_t* data, int64_t start, const Strips* strips, int64_t* ends,
                     int64_t capacity) noexcept nogil:
    """The certain ends, up to where the strips stop or there is too little room."""
    cdef int64_t n_words = STRIPS * strips.words, word = 0, n = 0, certain = 0, met
    cdef bint follows = True  # what is said of the word counts
    cdef uint64_t bits
    while word < n_words and n + 64 <= capacity:
        if word and (strips.courses[word - 1] == 0 or word % strips.words == 0) or strips.courses[word] == 0:
            if follows:
                n = without_open(dfa, strips, word, n, certain)
            follows = False
            if strips.courses[word] == 0:
                word += 1
                continue
        bits = strips.bits[word]
        if not follows:
            met = meet(dfa, data, start, word, strips, ends, &n, capacity)
            if met < 0:
                return n
            follows = True
            certain = n
            word = (met - start) >> 6
            # Twice, because all 64 bits may have to go.
            bits = strips.bits[word] >> ((met - start) & 63) >> 1 << 1 << ((met - start) & 63)
            if n + 64 > capacity:
                break
        n += write_ends(bits, start + 64 * word, ends + n)
        word += 1
    return without_open(dfa, strips, word, n, certain) if follows else n


cdef inline int64_t without_open(const Dfa* dfa, const Strips* strips, int64_t word, int64_t n,
                                 int64_t certain) noexcept nogil:
    """n, less one when the last end before the word may be withdrawn."""
    return n - 1 if word > 0 and n > certain and dfa.open[strips.courses[word - 1] >> 8] else n


cdef int64_t meet(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t word, const Strips* strips, int64_t* ends,
                  int64_t* n, int64_t capacity) noexcept nogil:
    """Scans on from the last end, to the first that a strip has too, in this word or behind it; -1: none was found."""
    cdef int64_t n_words = STRIPS * strips.words, limit = start + 64 * n_words, at, end
    cdef Cursor cursor
    cursor_init(&cursor, dfa, ends[n[0] - 1] if n[0] else start, ends + n[0])
    while cursor.at + REACH <= limit and cursor.out + STEPS <= ends + capacity:
        if not run_steps(dfa, data, &cursor):
            n[0] = cursor.out - ends
            return -1
        while ends + n[0] < cursor.out:
            end = ends[n[0]]
            n[0] += 1
            at = (end - start) >> 6
            if at >= word and strips.courses[at] and strips.bits[at] >> ((end - start) & 63) & 1:
                return end
    return -1


cdef inline int64_t write_ends(uint64_t bits, int64_t base, int64_t* out) noexcept nogil:
    """Writes the places of the bits and returns how many they are; there is room for 64 places."""
    return courses_write_wide(bits, base, out) if WIDE_BITS else courses_write(bits, base, out)
