// number.c - decimal text to integers, exactly.
//
// In:  spans of digits.
// Out: integers, or the word that there is none. The digits are counted out, never multiplied through a
//      double.

#include "trace/number.h"

#include <stdlib.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct decimal {
    const char *whole, *fraction; // digits before and behind the point
    size_t whole_count, fraction_count;
    int64_t exponent;
    bool negative;
};

// The grammar is JSON's, but a leading plus, leading zeros and a bare point are let through: strings that
// stand for numbers have them.
static bool decimal_read(struct fp_text text, struct decimal *decimal) {
    const char *at = text.at, *end = text.at + text.size;
    *decimal = (struct decimal){ 0 };
    if (at < end && (*at == '-' || *at == '+'))
        decimal->negative = *at++ == '-';
    decimal->whole = at;
    while (at < end && is_digit(*at))
        at++;
    decimal->whole_count = (size_t)(at - decimal->whole);
    if (at < end && *at == '.') {
        decimal->fraction = ++at;
        while (at < end && is_digit(*at))
            at++;
        decimal->fraction_count = (size_t)(at - decimal->fraction);
    }
    if (decimal->whole_count + decimal->fraction_count == 0)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool down = false;
        if (at < end && (*at == '-' || *at == '+'))
            down = *at++ == '-';
        if (at == end)
            return false;
        for (; at < end && is_digit(*at); at++)
            if (decimal->exponent < 1000000000) // beyond any length that a text can hold
                decimal->exponent = decimal->exponent * 10 + (*at - '0');
        if (down)
            decimal->exponent = -decimal->exponent;
    }
    return at == end;
}

enum fp_number_state fp_number_scaled(struct fp_text text, int shift, int64_t *value, bool *rounded) {
    struct decimal decimal;
    *value = 0;
    if (!decimal_read(text, &decimal))
        return FP_NUMBER_BAD;
    size_t digits = decimal.whole_count + decimal.fraction_count;
    int64_t point =
        (int64_t)decimal.whole_count + decimal.exponent + shift; // digits left of the point once scaled
    uint64_t sum = 0;
    bool lost = false, up = false;
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)((i < decimal.whole_count ? decimal.whole[i]
                                                             : decimal.fraction[i - decimal.whole_count]) -
                                    '0');
        if ((int64_t)i < point) {
            if (sum > (UINT64_MAX - digit) / 10)
                return FP_NUMBER_BAD;
            sum = sum * 10 + digit;
        } else if (digit) {
            up = up || ((int64_t)i == point && digit >= 5);
            lost = true;
        }
    }
    for (int64_t i = (int64_t)digits; i < point && sum; i++) {
        if (sum > UINT64_MAX / 10)
            return FP_NUMBER_BAD;
        sum *= 10;
    }
    sum += up && sum < UINT64_MAX;
    if (sum > (uint64_t)INT64_MAX)
        return FP_NUMBER_BAD;
    *value = decimal.negative ? -(int64_t)sum : (int64_t)sum;
    if (rounded && lost)
        *rounded = true;
    return FP_NUMBER_OK;
}

bool fp_number_u64(struct fp_text text, uint64_t *value) {
    uint64_t sum = 0;
    if (!text.size || text.size > 20)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.at[i]))
            return false;
        unsigned digit = (unsigned)(text.at[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

bool fp_number_i64(struct fp_text text, int64_t *value) {
    bool negative = text.size && text.at[0] == '-';
    uint64_t sum;
    if (!fp_number_u64((struct fp_text){ text.at + negative, text.size - negative }, &sum))
        return false;
    if (sum > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool fp_number_double(struct fp_text text, double *value) {
    struct decimal decimal;
    char copy[64];
    if (text.size >= sizeof(copy) || !decimal_read(text, &decimal))
        return false;
    memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    *value = strtod(copy, NULL); // the C locale: the tools never call setlocale for numbers
    return *value - *value == 0;
}

bool fp_number_is_json(struct fp_text text) {
    const char *at = text.at, *end = text.at + text.size;
    if (at < end && *at == '-')
        at++;
    if (at == end || !is_digit(*at))
        return false;
    if (*at++ != '0')
        while (at < end && is_digit(*at))
            at++;
    if (at < end && *at == '.') {
        const char *first = ++at;
        while (at < end && is_digit(*at))
            at++;
        if (at == first)
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        const char *first = at;
        while (at < end && is_digit(*at))
            at++;
        if (at == first)
            return false;
    }
    return at == end;
}
