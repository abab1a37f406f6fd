// fast.h - an event in its common form, read straight from the text of a clean block.
//
// In:  text.
// Out: the spans of its keys and values, nothing interned, nothing converted: so it may be done in a thread
//      of its own.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_FAST_H
#define FLAGPROF_TRACE_FAST_H

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

void fp_fast_begin(struct fp_fast *fast);
void fp_fast_end(struct fp_fast *fast);

// Reads the event whose '{' is at `begin` into fast->event. Returns what is behind it, or NULL where it must
// go the long way (also when the text or the room ends).
const char *fp_fast_event(struct fp_fast *fast, const char *begin, const char *end);

// The next event's '{' behind `at`, with or without a comma before it; NULL where something else stands
// there.
const char *fp_fast_next(const char *at, const char *end, bool comma);

#endif
