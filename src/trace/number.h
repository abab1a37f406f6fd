// number.h - decimal text to integers, exactly.
//
// In:  the digits that a trace holds.
// Out: nanoseconds, bytes or ids as integers. Nothing passes through a double: epoch microseconds with
//      three decimals have 19 digits, a double keeps 15.
#ifndef FLAGPROF_TRACE_NUMBER_H
#define FLAGPROF_TRACE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/text.h"

enum fp_number_state {
    FP_NUMBER_ABSENT = 0, // no such key
    FP_NUMBER_OK,
    FP_NUMBER_BAD, // a text that is no number, NaN, null, or beyond 64 bits
};

// Decimal text times 10^shift, rounded to the nearest integer (halves away from zero): shift 3 turns
// microseconds into nanoseconds. Takes sign, fraction and exponent. `rounded`, when not NULL, is set where
// digits were lost. Returns FP_NUMBER_OK or FP_NUMBER_BAD; *value is 0 then.
enum fp_number_state fp_number_scaled(struct fp_text text, int shift, int64_t *value, bool *rounded);

// Microseconds as text to integer nanoseconds.
static inline enum fp_number_state fp_number_ns(struct fp_text text, int64_t *ns) {
    return fp_number_scaled(text, 3, ns, NULL);
}

// Plain decimal digits to 64 bits. False for anything else (sign, fraction, more than 64 bits).
bool fp_number_u64(struct fp_text text, uint64_t *value);

// As above with an optional minus sign.
bool fp_number_i64(struct fp_text text, int64_t *value);

// For ratios only (GB/s, percent), never for times or ids. False when the text is no finite number.
bool fp_number_double(struct fp_text text, double *value);

// True when the text is a number as JSON writes it.
bool fp_number_is_json(struct fp_text text);

#endif
