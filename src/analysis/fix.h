// fix.h - what must change in a trace so that every parser reads it and no viewer loses a slice.
//
// In:  a trace, read in salvage mode, twice.
// Out: first a plan, then for each event the edits that carry it out, and a count for each kind of
//      change. Memory: 20 bytes for each slice.
//
// What is done: open slices are closed (at the end of what holds them, else of the trace), a slice that
// outlives its parent by rounding is clipped, slices that cross move to extra lanes with the arrows that
// stand on them, repeated metadata is left out, times written as text become numbers. Nothing is changed in a
// file that needs nothing.
#ifndef FLAGPROF_ANALYSIS_FIX_H
#define FLAGPROF_ANALYSIS_FIX_H

#include "analysis/cut.h"
#include "analysis/emit.h"

enum fp_fix_kind {
    FP_FIX_LOST,
    FP_FIX_EVENT_CUT,
    FP_FIX_CLOSED_FILE,
    FP_FIX_TRAILER,
    FP_FIX_NESTED_LIST,
    FP_FIX_ENCODING,
    FP_FIX_UTF8,
    FP_FIX_ESCAPES,
    FP_FIX_CONTROLS,
    FP_FIX_NUMBERS,
    FP_FIX_COMMAS,
    FP_FIX_COUNTERS,
    FP_FIX_NO_EVENT,
    FP_FIX_TIMELESS,
    FP_FIX_TIME_TEXT,
    FP_FIX_OPEN_SLICE,
    FP_FIX_OPEN_BEGIN,
    FP_FIX_LONE_END,
    FP_FIX_CLIPPED,
    FP_FIX_MOVED,
    FP_FIX_ARROWS_MOVED,
    FP_FIX_LANES,
    FP_FIX_STILL_CROSSING,
    FP_FIX_METADATA,
    FP_FIX_SECRETS,
    FP_FIX_KINDS
};

const char *fp_fix_name(enum fp_fix_kind kind);     // "moved", for JSON
const char *fp_fix_sentence(enum fp_fix_kind kind); // "slices that cross others, moved to extra lanes"

struct fp_fix;

struct fp_fix_count {
    uint64_t count;
    uint64_t first_event; // its number; UINT64_MAX where there is none
};

// Reads the file and decides. `kept` may be NULL: all of it.
int fp_fix_plan(const char *path, const struct fp_reader_options *options, const struct fp_cut *kept,
                struct fp_fix **fix, struct fp_error *err);
void fp_fix_free(struct fp_fix *fix); // NULL is allowed

// Writes the event as it must be, or leaves it out. The events of a second reader of the same file, in order.
// `more` is an edit of the caller's, or NULL. 0 or -ENOMEM.
int fp_fix_event(struct fp_fix *fix, const struct fp_trace_event *event, const struct fp_edit *more,
                 struct fp_emit *emit);

// After the last event: ends of open begins, names of extra lanes. Then the counts are complete but for those
// of the emit's mender and the reader's notes, which fp_fix_note_text adds.
int fp_fix_finish(struct fp_fix *fix, const struct fp_reader *reader, struct fp_emit *emit);
void fp_fix_note_text(struct fp_fix *fix, const struct fp_reader *reader, const struct fp_emit *emit);
void fp_fix_note_secrets(struct fp_fix *fix, uint64_t count);

struct fp_fix_count fp_fix_changes(const struct fp_fix *fix, enum fp_fix_kind kind);

#endif
