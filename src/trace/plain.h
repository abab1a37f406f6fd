// plain.h - values of clean text, many bytes at a time.
//
// In:  text in which no byte is escaped or a bare control byte (the block says so); behind its end stand zeros.
// Out: where a value ends, or the word that somebody slower must look. What is accepted here is valid JSON.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_PLAIN_H
#define FLAGPROF_TRACE_PLAIN_H

#include "trace/digits.h"
#include "trace/reader.h"

// Behind the blanks at `at`. In a clean block every byte up to a blank is one; behind its end stand zeros.
static inline const char *blanks(const char *at) {
    if ((unsigned char)*at > ' ')
        return at;
#if defined(__SSE2__)
    const __m128i first = _mm_set1_epi8('!');
    for (;;) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        unsigned text = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, first), bytes));
        if (text)
            return at + __builtin_ctz(text);
        if (!at[15])
            return at + 15;
        at += 16;
    }
#else
    while (*at && (unsigned char)*at <= ' ')
        at++;
    return at;
#endif
}

// The closing quote of the string whose text begins at `at`; NULL when a line breaks in it or the text ends.
static inline const char *closing_quote(const char *at, const char *end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), control = _mm_set1_epi8(0x1F);
    for (; at < end; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote));
        unsigned bad = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control));
        if (quotes | bad) {
            unsigned first = (unsigned)__builtin_ctz(quotes | bad);
            return quotes >> first & 1 && at + first < end ? at + first : NULL;
        }
    }
    return NULL;
#else
    while (at < end && *at != '"' && (unsigned char)*at >= 0x20)
        at++;
    return at < end && *at == '"' ? at : NULL;
#endif
}

// A bit for each of the 32 bytes at `at` that is no digit.
static inline uint32_t digit_others(const char *at) {
#if defined(__SSE2__)
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    __m128i low = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)at), zero);
    __m128i high = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(at + 16)), zero);
    return ~((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, nine), low)) |
             (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(high, nine), high)) << 16);
#else
    uint32_t others = 0;
    for (int i = 0; i < 32; i++)
        others |= (uint32_t)(at[i] < '0' || at[i] > '9') << i;
    return others;
#endif
}

// The end of the plain number at `at` and the place of its point (or its size); NULL for any other.
static inline const char *number_end(const char *at, size_t *point) {
    uint32_t others = digit_others(at);
    if (!others)
        return NULL;
    unsigned size = (unsigned)__builtin_ctz(others);
    *point = size;
    if (at[size] == '.') {
        others &= others - 1;
        if (!others || (unsigned)__builtin_ctz(others) == size + 1)
            return NULL;
        size = (unsigned)__builtin_ctz(others);
    }
    char behind = at[size];
    bool ends =
        behind == ',' || behind == '}' || behind == ']' || behind == '\n' || behind == ' ' || behind == '\r';
    return ends && *point && (at[0] != '0' || *point == 1) ? at + size : NULL;
}

// Behind true, false or null at `at`; NULL for anything else.
static inline const char *word_end(const char *at) {
    size_t size = memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0 ? 4 : 5;
    if (size == 5 && memcmp(at, "false", 5) != 0)
        return NULL;
    char behind = at[size];
    bool ends =
        behind == ',' || behind == '}' || behind == ']' || behind == '\n' || behind == ' ' || behind == '\r';
    return ends ? at + size : NULL;
}

// Behind an array or object, validated; NULL for what is not plainly valid.
const char *fp_plain_nested_end(const char *at, const char *end);

// The value at `at` into *field. Returns what is behind it, or NULL.
static inline const char *value_end(const char *at, const char *end, struct fp_trace_field *field) {
    size_t point = 0;
    const char *behind;
    field->plain = 0;
    if (*at == '"') {
        behind = closing_quote(at + 1, end);
        if (!behind)
            return NULL;
        field->value = at + 1;
        field->value_size = (uint32_t)(behind - at - 1);
        field->type = '"';
        return behind + 1;
    }
    field->value = at;
    if (*at <= '9') {
        bool minus = *at == '-';
        behind = number_end(at + minus, &point);
        field->type = '0';
        field->plain = minus ? 0 : (uint8_t)(point + 1);
    } else {
        behind = *at == '[' || *at == '{' ? fp_plain_nested_end(at, end) : word_end(at);
        field->type = *at;
    }
    if (!behind)
        return NULL;
    field->value_size = (uint32_t)(behind - at);
    return behind;
}

#endif
