"""Scanning text that is mostly ASCII: a byte of each of several stretches in turn, and a bit for each byte.

An entry of the table is the next course times 256, and in its upper four bits the ends that the byte tells: one before
the byte itself, or up to three bytes further back. Shifting the word's bits and adding these four sets them all,
without a branch; the table takes no step back, so all lanes go at one pace. A lane that comes upon what the table
does not know (course 0) is lost until the next word of 64 bytes, where it begins anew.

But for the first, a lane begins where there may be no boundary, and what it says counts from the first end that
it has in common with a scan from the last end that is certain: what follows an end depends on nothing before it.

From bits to places is a third of the work; where the processor has AVX-512 (VBMI2), it does that.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe.kernels.dfa cimport Dfa
from fastbpe.kernels.scan cimport REACH, STEPS, Cursor, cursor_init, run_steps

cdef extern from *:
    """
    #include <stdint.h>
    /* The place of the lowest bit that is set; `word` is not 0. */
    static inline int lanes_lowest(uint64_t word) {
    #if defined(__GNUC__) || defined(__clang__)
        return __builtin_ctzll(word);
    #else
        int place = 0;
        while (!(word & 1)) { word >>= 1; place++; }
        return place;
    #endif
    }

    /* Writes base + the place of each bit that is set, eight at a time, and returns how many they are. */
    static int64_t lanes_write(uint64_t word, int64_t base, int64_t *out) {
        uint64_t sum = word - (word >> 1 & UINT64_C(0x5555555555555555));
        int64_t n, i;
        sum = (sum & UINT64_C(0x3333333333333333)) + (sum >> 2 & UINT64_C(0x3333333333333333));
        sum = (sum + (sum >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
        n = (int64_t)(sum * UINT64_C(0x0101010101010101) >> 56);
        for (i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++) {
                out[i + k] = base + lanes_lowest(word | UINT64_C(1) << 63);
                word &= word - 1;
            }
        return n;
    }

    #if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9))
    #include <immintrin.h>
    #define LANES_WIDE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")))

    /* The same by a compression of bytes. */
    LANES_WIDE_TARGET static int64_t lanes_write_wide(uint64_t word, int64_t base, int64_t *out) {
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

    static int lanes_has_wide(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2")
            && __builtin_cpu_supports("popcnt");
    }
    #else
    #define lanes_write_wide lanes_write
    static int lanes_has_wide(void) { return 0; }
    #endif
    """
    int64_t lanes_write(uint64_t word, int64_t base, int64_t* out) noexcept nogil
    int64_t lanes_write_wide(uint64_t word, int64_t base, int64_t* out) noexcept nogil
    bint lanes_has_wide() noexcept nogil

cdef bint WIDE_BITS = lanes_has_wide()

cdef enum:
    LANES = 6            # as many as keep their state and bits in registers
    WORDS = 16           # of 64 bytes in a lane
    FEW_WORDS = 3        # the same where there is less text
    END_BYTES = 3        # bytes for which there must be room for an end; where there are more ends, work is lost
    START = 256          # the course at the beginning of a chunk
    COURSE = 0xFFFFFF
    SHIFT = 28           # of the ends in an entry
    WIDE = 8             # one of so many words outside ASCII is too much

cdef struct Lanes:
    uint64_t bits[LANES * WORDS]     # the word's first byte is the highest bit
    uint32_t courses[LANES * WORDS]  # behind each word, 0: lost
    int64_t words                    # in a lane


def use_wide(bint wanted):
    """Whether ends are written by AVX-512 from now on: if wanted, and where there is any. For tests."""
    global WIDE_BITS
    WIDE_BITS = wanted and lanes_has_wide()
    return WIDE_BITS


cdef int64_t lanes_fill(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t limit, int64_t* ends,
                        int64_t capacity) noexcept nogil:
    cdef Lanes lanes
    cdef int64_t n = min(limit - start, END_BYTES * capacity) // (64 * LANES)
    lanes.words = WORDS if n >= WORDS else FEW_WORDS
    if n < FEW_WORDS or too_wide(data + start, 64 * LANES * lanes.words):
        return 0
    # The distance between lanes must be known to the compiler.
    if lanes.words == WORDS:
        run_lanes(dfa.lanes, data + start, WORDS, &lanes)
    else:
        run_lanes(dfa.lanes, data + start, FEW_WORDS, &lanes)
    return collect(dfa, data, start, &lanes, ends, capacity)


cdef bint too_wide(const uint8_t* text, int64_t n) noexcept nogil:
    """Judges by a sample."""
    cdef int64_t at = 0, wide = 0
    cdef uint64_t word
    while at < n:
        memcpy(&word, text + at, 8)
        wide += (word & <uint64_t>0x8080808080808080) != 0
        at += 64
    return WIDE * wide > n >> 6


cdef inline void step(const uint32_t* table, uint8_t byte, uint32_t* course, uint64_t* bits) noexcept nogil:
    cdef uint32_t entry = table[course[0] + byte]
    bits[0] = 2 * bits[0] + (entry >> SHIFT)
    course[0] = entry & COURSE


cdef inline void step_all(const uint32_t* table, const uint8_t* text, int64_t apart, uint32_t* courses,
                          uint64_t* bits) noexcept nogil:
    step(table, text[0], &courses[0], &bits[0])
    step(table, text[apart], &courses[1], &bits[1])
    step(table, text[2 * apart], &courses[2], &bits[2])
    step(table, text[3 * apart], &courses[3], &bits[3])
    step(table, text[4 * apart], &courses[4], &bits[4])
    step(table, text[5 * apart], &courses[5], &bits[5])


cdef inline void four_steps(const uint32_t* table, const uint8_t* text, int64_t apart, uint32_t* courses,
                            uint64_t* bits) noexcept nogil:
    step_all(table, text, apart, courses, bits)
    step_all(table, text + 1, apart, courses, bits)
    step_all(table, text + 2, apart, courses, bits)
    step_all(table, text + 3, apart, courses, bits)


cdef inline void run_lanes(const uint32_t* table, const uint8_t* text, int64_t words, Lanes* lanes) noexcept nogil:
    cdef uint32_t courses[LANES]
    cdef uint64_t bits[LANES]
    cdef uint64_t late[LANES]
    cdef int64_t word, at
    cdef int lane, _k
    for lane in range(LANES):
        courses[lane] = START
    for word in range(words):
        for lane in range(LANES):
            bits[lane] = 0
        four_steps(table, text, 64 * words, courses, bits)
        for lane in range(LANES):
            late[lane] = bits[lane] >> 4
            bits[lane] &= 15
        for _k in range(15):
            text += 4
            four_steps(table, text, 64 * words, courses, bits)
        text += 4
        for lane in range(LANES):
            at = lane * words + word
            lanes.bits[at] = bits[lane]
            lanes.courses[at] = courses[lane]
            if courses[lane] == 0:
                courses[lane] = START
            elif word:
                # The first bytes told of ends in the word before.
                lanes.bits[at - 1] |= late[lane]


cdef int64_t collect(const Dfa* dfa, const uint8_t* data, int64_t start, const Lanes* lanes, int64_t* ends,
                     int64_t capacity) noexcept nogil:
    """The certain ends, up to where the lanes stop or there is too little room."""
    cdef int64_t n_words = LANES * lanes.words, word = 0, n = 0, certain = 0, met
    cdef bint follows = True  # what is said of the word counts
    cdef uint64_t bits
    while word < n_words and n + 64 <= capacity:
        if word and (lanes.courses[word - 1] == 0 or word % lanes.words == 0) or lanes.courses[word] == 0:
            if follows:
                n = without_open(dfa, lanes, word, n, certain)
            follows = False
            if lanes.courses[word] == 0:
                word += 1
                continue
        bits = lanes.bits[word]
        if not follows:
            met = meet(dfa, data, start, word, lanes, ends, &n, capacity)
            if met < 0:
                return n
            follows = True
            certain = n
            word = (met - start) >> 6
            # Twice, because all 64 bits may have to go.
            bits = lanes.bits[word] << ((met - start) & 63) << 1 >> 1 >> ((met - start) & 63)
            if n + 64 > capacity:
                break
        n += write_ends(bits, start + 64 * word, ends + n)
        word += 1
    return without_open(dfa, lanes, word, n, certain) if follows else n


cdef inline int64_t without_open(const Dfa* dfa, const Lanes* lanes, int64_t word, int64_t n,
                                 int64_t certain) noexcept nogil:
    """n, less one when the last end before the word may be withdrawn."""
    return n - 1 if word > 0 and n > certain and dfa.open[lanes.courses[word - 1] >> 8] else n


cdef int64_t meet(const Dfa* dfa, const uint8_t* data, int64_t start, int64_t word, const Lanes* lanes, int64_t* ends,
                  int64_t* n, int64_t capacity) noexcept nogil:
    """Scans on from the last end, to the first that a lane has too, in this word or behind it; -1: none was found."""
    cdef int64_t n_words = LANES * lanes.words, limit = start + 64 * n_words, at, end
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
            if at >= word and lanes.courses[at] and lanes.bits[at] << ((end - start) & 63) >> 63:
                return end
    return -1


cdef inline int64_t write_ends(uint64_t bits, int64_t base, int64_t* out) noexcept nogil:
    """Writes the places of the bits and returns how many they are; there is room for 64 places."""
    return lanes_write_wide(mirrored(bits), base, out) if WIDE_BITS else lanes_write(mirrored(bits), base, out)


cdef inline uint64_t mirrored(uint64_t word) noexcept nogil:
    """The word with its bits in the opposite order."""
    word = (word >> 1 & <uint64_t>0x5555555555555555) | (word & <uint64_t>0x5555555555555555) << 1
    word = (word >> 2 & <uint64_t>0x3333333333333333) | (word & <uint64_t>0x3333333333333333) << 2
    word = (word >> 4 & <uint64_t>0x0F0F0F0F0F0F0F0F) | (word & <uint64_t>0x0F0F0F0F0F0F0F0F) << 4
    word = (word >> 8 & <uint64_t>0x00FF00FF00FF00FF) | (word & <uint64_t>0x00FF00FF00FF00FF) << 8
    word = (word >> 16 & <uint64_t>0x0000FFFF0000FFFF) | (word & <uint64_t>0x0000FFFF0000FFFF) << 16
    return word >> 32 | word << 32
