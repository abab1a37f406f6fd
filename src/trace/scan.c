// scan.c - where JSON's structure lies, with AVX2 where the processor has it and eight bytes at a time
// elsewhere.
//
// In:  64 bytes.
// Out: a bit per byte for each class that matters; scan_step.h turns them into positions.

#include "trace/scan.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct masks {
    uint64_t quote, backslash, operators, space, control, newline;
    uint64_t high; // any byte of 0x80 or more
};

static void note_specials(struct fp_scan_result *result, uint32_t base, uint64_t special) {
    for (; special; special &= special - 1)
        result->special[result->special_count++] = base + (uint32_t)__builtin_ctzll(special);
}

static void note_bad_utf8(struct fp_scan_result *result, uint32_t place) {
    if (result->bad_utf8 < FP_SCAN_BAD_PLACES)
        result->bad_place[result->bad_utf8] = place;
    result->bad_utf8++;
}

// The lead byte's demands; false where no character begins with it.
static bool utf8_lead(struct fp_scan *scan, unsigned char c) {
    if (c < 0xC2 || c > 0xF4)
        return false;
    scan->utf8_left = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    scan->utf8_low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    scan->utf8_high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return true;
}

static void check_utf8(struct fp_scan *scan, const char *text, size_t at, struct fp_scan_result *result) {
    for (size_t i = at; i < at + FP_SCAN_STEP; i++) {
        unsigned char c = (unsigned char)text[i];
        if (scan->utf8_left) {
            if (c >= scan->utf8_low && c <= scan->utf8_high) {
                scan->utf8_left--;
                scan->utf8_low = 0x80;
                scan->utf8_high = 0xBF;
                continue;
            }
            scan->utf8_left = 0;
            note_bad_utf8(result, scan->utf8_start);
        }
        if (c < 0x80)
            continue;
        scan->utf8_start = (uint32_t)i;
        if (!utf8_lead(scan, c))
            note_bad_utf8(result, (uint32_t)i);
    }
}

void fp_scan_end(struct fp_scan *scan, struct fp_scan_result *result) {
    if (scan->utf8_left)
        note_bad_utf8(result, scan->utf8_start);
    scan->utf8_left = 0;
}

// Eight bytes at a time.

static const uint64_t ones = 0x0101010101010101ULL;

// The top bit of every byte, gathered into eight bits.
static inline uint64_t gather(uint64_t tops) {
    return (tops >> 7) * 0x0102040810204080ULL >> 56;
}

// 0x80 in every byte of `word` that equals `c`. Exact, no borrow from one byte into the next.
static inline uint64_t equal(uint64_t word, unsigned char c) {
    uint64_t x = word ^ (ones * c);
    return ~(((x & ~(ones << 7)) + (ones * 0x7F)) | x) & (ones << 7);
}

static inline void classify_portable(const char *text, struct masks *masks) {
    memset(masks, 0, sizeof(*masks));
    for (int i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, text + 8 * i, 8); // little-endian: the first byte is the lowest
        uint64_t newline = equal(word, '\n');
        uint64_t curly = word | ones * 0x20; // [ and ] become { and }
        uint64_t low = word & ~(ones << 7);
        uint64_t control = ~((low + ones * 0x60) | word) & (ones << 7); // below 0x20
        masks->quote |= gather(equal(word, '"')) << (8 * i);
        masks->backslash |= gather(equal(word, '\\')) << (8 * i);
        masks->operators |=
            gather(equal(curly, '{') | equal(curly, '}') | equal(word, ':') | equal(word, ',')) << (8 * i);
        masks->space |= gather(equal(word, ' ') | equal(word, '\t') | newline | equal(word, '\r')) << (8 * i);
        masks->control |= gather(control) << (8 * i);
        masks->newline |= gather(newline) << (8 * i);
        masks->high |= word & (ones << 7);
    }
}

static inline uint64_t prefix_xor_portable(uint64_t bits) {
    for (int shift = 1; shift < 64; shift <<= 1)
        bits ^= bits << shift;
    return bits;
}

// Of 0 any number, since nobody looks at it.
static inline uint32_t first_bit_portable(uint64_t bits) {
    return (uint32_t)__builtin_ctzll(bits | 1ULL << 63);
}

#define FP_TARGET
#define NAMED(name) name##_portable
#include "trace/scan_step.h"
#undef FP_TARGET
#undef NAMED

#if defined(__x86_64__)

#define FP_TARGET __attribute__((target("avx2,pclmul,bmi,bmi2,lzcnt,popcnt")))
#define NAMED(name) name##_avx2

FP_TARGET static inline uint64_t two(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

FP_TARGET static inline void classify_avx2(const char *text, struct masks *masks) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)text);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(text + 32));
#define EACH(expression_a, expression_b) two(expression_a, expression_b)
#define EQUAL(c) EACH(_mm256_cmpeq_epi8(a, _mm256_set1_epi8(c)), _mm256_cmpeq_epi8(b, _mm256_set1_epi8(c)))
    // A table indexed by the byte's low four bits holds the only byte of that ending that belongs to the
    // class.
    const __m256i spaces =
        _mm256_setr_epi8(' ', 100, 100, 100, 17, 100, 113, 2, 100, '\t', '\n', 112, 100, '\r', 100, 100, ' ',
                         100, 100, 100, 17, 100, 113, 2, 100, '\t', '\n', 112, 100, '\r', 100, 100);
    const __m256i operators = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0, 0, 0,
                                               0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0);
    const __m256i curl = _mm256_set1_epi8(0x20), top = _mm256_set1_epi8(0x1F);
    masks->quote = EQUAL('"');
    masks->backslash = EQUAL('\\');
    masks->newline = EQUAL('\n');
    masks->space = EACH(_mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(spaces, a)),
                        _mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(spaces, b)));
    // Two control bytes (0x0C, 0x1A) pass for operators here; the walk compares the byte itself and refuses
    // them.
    masks->operators = EACH(_mm256_cmpeq_epi8(_mm256_or_si256(a, curl), _mm256_shuffle_epi8(operators, a)),
                            _mm256_cmpeq_epi8(_mm256_or_si256(b, curl), _mm256_shuffle_epi8(operators, b)));
    masks->control = EACH(_mm256_cmpeq_epi8(_mm256_max_epu8(a, top), top),
                          _mm256_cmpeq_epi8(_mm256_max_epu8(b, top), top));
    masks->high = (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
#undef EACH
#undef EQUAL
}

FP_TARGET static inline uint32_t first_bit_avx2(uint64_t bits) {
    return (uint32_t)_tzcnt_u64(bits);
}

FP_TARGET static inline uint64_t prefix_xor_avx2(uint64_t bits) {
    __m128i all = _mm_set1_epi8((char)0xFF);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), all, 0));
}

#include "trace/scan_step.h"
#undef FP_TARGET
#undef NAMED

void fp_scan_run(struct fp_scan *scan, const char *text, size_t from, size_t to,
                 struct fp_scan_result *result) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi2"))
        scan_run_avx2(scan, text, from, to, result);
    else
        scan_run_portable(scan, text, from, to, result);
}

#else

void fp_scan_run(struct fp_scan *scan, const char *text, size_t from, size_t to,
                 struct fp_scan_result *result) {
    scan_run_portable(scan, text, from, to, result);
}

#endif

void fp_scan_run_portable(struct fp_scan *scan, const char *text, size_t from, size_t to,
                          struct fp_scan_result *result) {
    scan_run_portable(scan, text, from, to, result);
}

// The first look: what each processor does with 64 bytes, and what is made of it.

struct look {
    uint64_t newlines, high, special;
};

static inline void look_portable(const char *text, struct look *look) {
    struct masks masks;
    classify_portable(text, &masks);
    *look = (struct look){ masks.newline, masks.high, masks.backslash | (masks.control & ~masks.space) };
}

#define LOOK(name, target)                                                                                   \
    target static bool scan_look_##name(struct fp_scan *scan, const char *text, size_t from, size_t to,      \
                                        struct fp_scan_result *result) {                                     \
        uint64_t special = 0, newlines = 0;                                                                  \
        for (size_t at = from; at < to; at += FP_SCAN_STEP) {                                                \
            struct look look;                                                                                \
            look_##name(text + at, &look);                                                                   \
            newlines += (unsigned)__builtin_popcountll(look.newlines);                                       \
            special |= look.special;                                                                         \
            if (look.high || scan->utf8_left)                                                                \
                check_utf8(scan, text, at, result);                                                          \
        }                                                                                                    \
        result->newlines += newlines;                                                                        \
        return !special;                                                                                     \
    }

LOOK(portable, )

#if defined(__x86_64__)

#define WIDE __attribute__((target("avx2,popcnt")))

WIDE static inline void look_avx2(const char *text, struct look *look) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)text),
                  b = _mm256_loadu_si256((const __m256i *)(text + 32));
    const __m256i newline = _mm256_set1_epi8('\n'), backslash = _mm256_set1_epi8('\\'),
                  top = _mm256_set1_epi8(0x1F);
    // '\t', '\n' and '\r' are at their own places of a table indexed by the low four bits; elsewhere stands
    // what no byte of that ending is, so byte 0 must not find a 0.
    const __m256i blanks = _mm256_setr_epi8(1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 0, 0, 13, 0, 0, 1, 0, 0, 0, 0,
                                            0, 0, 0, 0, 9, 10, 0, 0, 13, 0, 0);
    __m256i line_a = _mm256_cmpeq_epi8(a, newline), line_b = _mm256_cmpeq_epi8(b, newline);
    __m256i odd_a = _mm256_andnot_si256(_mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(blanks, a)),
                                        _mm256_cmpeq_epi8(_mm256_max_epu8(a, top), top));
    __m256i odd_b = _mm256_andnot_si256(_mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(blanks, b)),
                                        _mm256_cmpeq_epi8(_mm256_max_epu8(b, top), top));
    odd_a = _mm256_or_si256(odd_a, _mm256_cmpeq_epi8(a, backslash));
    odd_b = _mm256_or_si256(odd_b, _mm256_cmpeq_epi8(b, backslash));
    look->newlines = (uint32_t)_mm256_movemask_epi8(line_a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(line_b)
                                                                  << 32;
    look->high = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
    look->special = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(odd_a, odd_b));
}

LOOK(avx2, WIDE)

bool fp_scan_look(struct fp_scan *scan, const char *text, size_t from, size_t to,
                  struct fp_scan_result *result) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        return scan_look_avx2(scan, text, from, to, result);
    return scan_look_portable(scan, text, from, to, result);
}

#else

bool fp_scan_look(struct fp_scan *scan, const char *text, size_t from, size_t to,
                  struct fp_scan_result *result) {
    return scan_look_portable(scan, text, from, to, result);
}

#endif
