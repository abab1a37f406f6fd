// note.c - the rows of what the reader may have to say.
//
// In:  a kind.
// Out: its severity, its name for check's table, its sentence.

#include "trace/note.h"

static const struct {
    enum fp_severity severity;
    const char *name, *sentence;
} rows[FP_NOTE_KINDS] = {
    [FP_NOTE_JSON_FAULT] = { FP_SEVERITY_ERROR, "json", "the text is not valid JSON" },
    [FP_NOTE_BAD_UTF8] = { FP_SEVERITY_WARNING, "utf8", "bytes that are no UTF-8; they are read as U+FFFD" },
    [FP_NOTE_LIST_NOT_CLOSED] = { FP_SEVERITY_NOTE, "list-not-closed",
                                  "file not closed: the writer may have died, or never closes its list" },
    [FP_NOTE_OBJECT_NOT_CLOSED] = { FP_SEVERITY_WARNING, "object-not-closed",
                                    "file not closed: the writer died; what stood after the events is lost "
                                    "too" },
    [FP_NOTE_EVENT_CUT] = { FP_SEVERITY_WARNING, "event-cut",
                            "the file ends inside an event; that one is lost" },
    [FP_NOTE_TRAILER_BAD] = { FP_SEVERITY_WARNING, "trailer",
                              "all events were read, but what stands after them is broken" },
    [FP_NOTE_PACKING_CUT] = { FP_SEVERITY_WARNING, "packing-cut",
                              "the compressed file ends early; what could be unpacked was read" },
    [FP_NOTE_PACKING_DAMAGED] = { FP_SEVERITY_ERROR, "packing-damaged",
                                  "the compressed file is damaged; what stood before the damage was read" },
    [FP_NOTE_PACKING_TRAILING] = { FP_SEVERITY_WARNING, "packing-trailing",
                                   "bytes after the end of the compressed data; they were not read" },
    [FP_NOTE_WRONG_SUFFIX] = { FP_SEVERITY_NOTE, "suffix",
                               "the name's ending does not fit how the file is packed" },
    [FP_NOTE_UTF16] = { FP_SEVERITY_NOTE, "utf16",
                        "the text is UTF-16; it was converted, and bytes are counted in UTF-8" },
    [FP_NOTE_NESTED_EVENTS] = { FP_SEVERITY_WARNING, "nested-events",
                                "traceEvents is an object where a list was expected; its own traceEvents "
                                "were read" },
    [FP_NOTE_NOT_AN_OBJECT] = { FP_SEVERITY_WARNING, "not-an-event",
                                "an element of the list is no object; skipped" },
    [FP_NOTE_SECOND_LIST] = { FP_SEVERITY_WARNING, "second-list",
                              "the list of events occurs more than once; all were read" },
    [FP_NOTE_TIME_IS_TEXT] = { FP_SEVERITY_NOTE, "time-text", "ts or dur are written as strings" },
    [FP_NOTE_TIME_ROUNDED] = { FP_SEVERITY_NOTE, "time-rounded",
                               "ts or dur finer than a nanosecond; rounded" },
    [FP_NOTE_BAD_TIME] = { FP_SEVERITY_WARNING, "time-bad",
                           "ts or dur that is no number of nanoseconds in 64 bits" },
    [FP_NOTE_ODD_ARGS] = { FP_SEVERITY_NOTE, "args-odd",
                           "args is no object; the event was read without them" },
    [FP_NOTE_COUNTER_NOT_FINITE] = { FP_SEVERITY_WARNING, "counter-not-finite",
                                     "a counter without a finite value; that sample was skipped" },
    [FP_NOTE_EVENTS_LOST] = { FP_SEVERITY_ERROR, "events-lost",
                              "stretches of text that could not be read as events" },
    [FP_NOTE_HEADER_TOO_LARGE] = { FP_SEVERITY_NOTE, "header-large",
                                   "a header value beyond 64 MB; checked, not kept" },
};

enum fp_severity fp_note_severity(enum fp_note_kind kind) {
    return rows[kind].severity;
}

const char *fp_note_name(enum fp_note_kind kind) {
    return rows[kind].name;
}

const char *fp_note_sentence(enum fp_note_kind kind) {
    return rows[kind].sentence;
}
