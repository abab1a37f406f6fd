// digits.h - digits of a padded block, many at a time.
//
// In:  text that lies in a block: up to 32 bytes behind its first may be read, whatever they are.
// Out: whether it is a plain number, where its point stands, its value. The common cases only; number.c
//      takes the rest.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_DIGITS_H
#define FLAGPROF_TRACE_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// A bit for each of the first `size` bytes that is no digit; size is 1 to 32.
static inline uint32_t fp_digit_others(const char *at, size_t size) {
#if defined(__SSE2__)
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    __m128i low = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)at), zero);
    uint32_t mask = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, nine), low));
    if (size > 16) {
        __m128i high = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(at + 16)), zero);
        mask |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(high, nine), high)) << 16;
    }
#else
    uint32_t mask = 0;
    for (size_t i = 0; i < size; i++)
        mask |= (uint32_t)(at[i] >= '0' && at[i] <= '9') << i;
#endif
    return ~mask & (UINT32_MAX >> (32 - size));
}

// True for digits with at most one point among them, as JSON writes them, up to 32 bytes; `*point` is where
// it stands, or `size`. False says nothing: signs, exponents and longer numbers are for others.
static inline bool fp_digits_plain(const char *at, size_t size, size_t *point) {
    if (size - 1 > 31)
        return false;
    uint32_t others = fp_digit_others(at, size);
    *point = size;
    if (!others)
        return at[0] != '0' || size == 1;
    size_t dot = (size_t)__builtin_ctz(others);
    *point = dot;
    return (others & (others - 1)) == 0 && at[dot] == '.' && dot && dot + 1 < size &&
           (at[0] != '0' || dot == 1);
}

// The value of up to eight digits, the first in the lowest byte; bytes of zero in front count nothing.
static inline uint64_t fp_eight_digits(uint64_t word) {
    word = (word & 0x0F0F0F0F0F0F0F0FULL) * 2561 >> 8;
    word = (word & 0x00FF00FF00FF00FFULL) * 6553601 >> 16;
    return (word & 0x0000FFFF0000FFFFULL) * 42949672960001ULL >> 32;
}

// The value of 1 to 16 digits.
static inline uint64_t fp_digits_value(const char *at, size_t size) {
    uint64_t word, low;
    memcpy(&word, at, 8);
    if (size <= 8)
        return fp_eight_digits(word << (64 - 8 * size));
    memcpy(&low, at + size - 8, 8);
    return fp_eight_digits(word << (128 - 8 * size)) * 100000000 + fp_eight_digits(low);
}

#endif
