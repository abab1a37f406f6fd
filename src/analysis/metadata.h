// metadata.h - when two metadata events say the same.
//
// In:  a metadata event (phase M).
// Out: a key. Events of one file with the same key repeat each other: the same name, the same process and
//      thread, the same args word for word; times do not matter. check counts the repetitions, fix, cut and
//      merge leave them out: all by this one key, so that their numbers agree.
#ifndef FLAGPROF_ANALYSIS_METADATA_H
#define FLAGPROF_ANALYSIS_METADATA_H

#include "trace/reader.h"

static inline uint64_t fp_metadata_key(const struct fp_trace_event *event) {
    const struct fp_trace_field *args = fp_event_field(event, "args");
    uint64_t hash = ((uint64_t)event->name_id << 32 | event->lane) * 0x9E3779B97F4A7C15ULL;
    return (hash ^ hash >> 31) + (args ? fp_text_hash(args->value, args->value_size) : 0);
}

#endif
