// note.h - what the reader has to say about a file besides its events.
//
// A note is a kind with a count and the first places where it was seen. A kind's row (severity, name,
// sentence) stands in note.c. Severity error means: JSON's grammar was broken there.
#ifndef FLAGPROF_TRACE_NOTE_H
#define FLAGPROF_TRACE_NOTE_H

#include <stdint.h>

enum fp_severity {
    FP_SEVERITY_NOTE,
    FP_SEVERITY_WARNING,
    FP_SEVERITY_ERROR,
};

enum fp_note_kind {
    FP_NOTE_JSON_FAULT,        // JSON's grammar is broken; `text` of the place names the cause
    FP_NOTE_BAD_UTF8,          // bytes that are no UTF-8, read as U+FFFD
    FP_NOTE_LIST_NOT_CLOSED,   // array form, the closing bracket never came
    FP_NOTE_OBJECT_NOT_CLOSED, // object form, ended within or after the list: the trailer is lost
    FP_NOTE_EVENT_CUT,         // the file ends inside an event
    FP_NOTE_TRAILER_BAD,       // all events were read, what stands after them is broken
    FP_NOTE_PACKING_CUT,       // gzip or zstd stream ends early
    FP_NOTE_PACKING_DAMAGED,   // gzip or zstd stream is damaged
    FP_NOTE_PACKING_TRAILING,  // bytes after the last member or frame
    FP_NOTE_WRONG_SUFFIX,
    FP_NOTE_UTF16,
    FP_NOTE_NESTED_EVENTS,      // traceEvents inside traceEvents
    FP_NOTE_NOT_AN_OBJECT,      // an element of the list is no object; skipped
    FP_NOTE_SECOND_LIST,        // traceEvents occurs twice; both were read
    FP_NOTE_TIME_IS_TEXT,       // ts or dur written as strings
    FP_NOTE_TIME_ROUNDED,       // finer than a nanosecond, rounded
    FP_NOTE_BAD_TIME,           // ts or dur that is no number of 64 bits
    FP_NOTE_ODD_ARGS,           // args that is no object
    FP_NOTE_COUNTER_NOT_FINITE, // a counter's value is NaN or infinite; that sample was skipped
    FP_NOTE_EVENTS_LOST,        // salvage: stretches that could not be read
    FP_NOTE_HEADER_TOO_LARGE,   // a value beside the events beyond the limit; not kept
    FP_NOTE_KINDS
};

struct fp_place {
    uint64_t line;   // from 1
    uint64_t column; // from 1, in characters
    uint64_t byte;   // from 0, of the unpacked text
    uint64_t event;  // number of the event from 0, or UINT64_MAX
    char text[120];  // the cause or the value, safe for a terminal; may be empty
};

#define FP_NOTE_PLACES 5

struct fp_note {
    uint64_t count;
    unsigned place_count;
    struct fp_place places[FP_NOTE_PLACES]; // the first ones
};

// A kind's fixed row.
enum fp_severity fp_note_severity(enum fp_note_kind kind);
const char *fp_note_name(enum fp_note_kind kind);     // "not-closed", used by check as the rule's name
const char *fp_note_sentence(enum fp_note_kind kind); // what it means, without a full stop

#endif
