// emit.h - a trace written from another one: events as they stood, but for the members that change.
//
// In:  events and top-level keys of a reader, with edits.
// Out: one JSON trace that every strict parser takes: bytes that are no UTF-8, escapes that JSON does not
//      know and bare control bytes, which a reader steps over, are mended on the way and counted. Keys
//      that nobody here knows are copied like the others.
#ifndef FLAGPROF_ANALYSIS_EMIT_H
#define FLAGPROF_ANALYSIS_EMIT_H

#include "analysis/mend.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum fp_emit_style {
    FP_EMIT_AS_IS,   // each event as the file had it
    FP_EMIT_COMPACT, // no blanks
    FP_EMIT_PRETTY,  // one member a line, two spaces a level
};

struct fp_emit_options {
    size_t size;
    enum fp_emit_style style;
    bool array_form; // a bare list; top-level keys are then left out
    bool salvaged;   // the reader steps over faults: texts are looked through byte by byte
};

// A change to one event.
enum fp_edit_kind {
    FP_EDIT_SET,     // field's value becomes `value`
    FP_EDIT_REMOVE,  // field goes
    FP_EDIT_ADD,     // a new member `key` of the event
    FP_EDIT_ADD_ARG, // and of its args
};

struct fp_edit {
    enum fp_edit_kind kind;
    const struct fp_trace_field *field; // of the event's fields or args
    const char *key;                    // of a new member; needs no escaping
    struct fp_text value;               // as JSON
};

struct fp_emit;

// NULL when memory is out. The output stays the caller's, who commits or aborts it after fp_emit_free.
struct fp_emit *fp_emit_new(struct fp_output *output, const struct fp_emit_options *options);
void fp_emit_free(struct fp_emit *emit); // NULL is allowed

// From here on texts are looked through byte by byte, or no longer. A reader that stepped over nothing yet
// hands out texts that need no look, which is much faster.
void fp_emit_set_salvaged(struct fp_emit *emit, bool salvaged);

// Changes a top-level key on its way: false leaves it out; *value may be replaced by a text that lives until
// the next call.
typedef bool fp_emit_header_filter(void *user, const struct fp_trace_header *header, struct fp_text *value);
void fp_emit_set_header_filter(struct fp_emit *emit, fp_emit_header_filter *filter, void *user);

// Writes the top-level keys that the reader has read and that were not written yet. Before the first event:
// those that stood before the list; fp_emit_end writes the rest.
void fp_emit_headers(struct fp_emit *emit, const struct fp_reader *reader);

// A top-level key of our own, here. `key` is without quotes, `value` is JSON.
void fp_emit_header(struct fp_emit *emit, struct fp_text key, struct fp_text value);

// And one that fp_emit_end writes last. Both texts must live until then.
void fp_emit_set_last(struct fp_emit *emit, const char *key, const char *value);

// An event with `count` edits, in any order.
void fp_emit_event(struct fp_emit *emit, const struct fp_trace_event *event, const struct fp_edit *edits,
                   size_t count);

// An event as JSON text.
void fp_emit_text(struct fp_emit *emit, struct fp_text event);

// Closes the list, writes the remaining top-level keys of `reader` (may be NULL) and closes the object.
// Returns the output's state, or -ENOMEM.
int fp_emit_end(struct fp_emit *emit, const struct fp_reader *reader);

int fp_emit_state(const struct fp_emit *emit); // 0 or the first negative errno
uint64_t fp_emit_events(const struct fp_emit *emit);
const struct fp_mended *fp_emit_mended(const struct fp_emit *emit);

#endif
