// fast.h - an event in its common form, read straight from the text of a clean block.
//
// In:  text.
// Out: the spans of its keys and values, nothing interned, nothing converted: so it may be done in a thread
//      of its own. Then the plain numbers among them, which the other thread has the time for.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_FAST_H
#define FLAGPROF_TRACE_FAST_H

#include "trace/digits.h"
#include "trace/layout.h"
#include "trace/reader.h"

// The keys of an event that have a meaning.
enum fp_top_name {
    FP_TOP_PH,
    FP_TOP_TS,
    FP_TOP_DUR,
    FP_TOP_PID,
    FP_TOP_TID,
    FP_TOP_ID,
    FP_TOP_NAME,
    FP_TOP_CAT,
    FP_TOP_NONE, // any other
    FP_TOP_COUNT
};
#define FP_NO_FIELD UINT32_MAX
#define FP_ARG_KINDS 16
#define FP_ALL_ARGS ((1ULL << FP_ARG_COUNT) - 1)

// Those of an event's values that are plain, as numbers, and the hash of its name.
struct fp_values {
    int64_t ts_ns, dur_ns;
    uint64_t pid, tid, id;
    uint64_t name_hash;
    uint16_t known; // a bit for each enum fp_top_name that was read
    bool fractions; // of a microsecond
};

struct fp_parsed {
    struct fp_text raw; // braces included
    struct fp_trace_field *fields, *args;
    uint32_t field_count, arg_count;
    uint64_t known_args;
    uint32_t top[FP_TOP_COUNT]; // places among the fields, or FP_NO_FIELD
    char args_type;
};

struct fp_fast {
    struct fp_parsed event; // read last; the caller says beforehand where its fields and args go
    size_t field_room, arg_room;
    uint8_t arg_after[FP_ARG_KINDS][FP_ARG_COUNT + 1]; // which known argument came behind another one last
    struct fp_layout layout;
};

// The value of plain digits, at most 16 of them. 1, or 0 for what is another thing or NULL.
static inline unsigned fp_plain_id(const struct fp_trace_field *field, uint64_t *number) {
    if (!field || field->plain != field->value_size + 1 || field->value_size > 16)
        return 0;
    *number = fp_digits_value(field->value, field->value_size);
    return 1;
}

// Likewise of plain microseconds with at most three decimals, in nanoseconds.
static inline unsigned fp_plain_time(const struct fp_trace_field *field, int64_t *ns, bool *fractions) {
    static const uint16_t scale[] = { 1000, 100, 10, 1 };
    if (!field || !field->plain || field->plain > 16)
        return 0;
    size_t point = field->plain - 1u, size = field->value_size;
    size_t decimals = point < size ? size - point - 1 : 0;
    if (decimals > 3)
        return 0;
    uint64_t fraction = decimals ? fp_digits_value(field->value + point + 1, decimals) * scale[decimals] : 0;
    *fractions |= fraction != 0;
    *ns = (int64_t)(fp_digits_value(field->value, point) * 1000 + fraction);
    return 1;
}

void fp_fast_begin(struct fp_fast *fast);
void fp_fast_end(struct fp_fast *fast);

// Reads the event whose '{' is at `begin` into fast->event. Returns what is behind it, or NULL where it must
// go the long way (also when the text or the room ends).
const char *fp_fast_event(struct fp_fast *fast, const char *begin, const char *end);

// The values of an event that was read.
void fp_fast_values(const struct fp_parsed *event, struct fp_values *values);

// The next event's '{' behind `at`, with or without a comma before it; NULL where something else stands
// there.
const char *fp_fast_next(const char *at, const char *end, bool comma);

#endif
