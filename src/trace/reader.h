// reader.h - the one way into a Chrome trace: events one by one, in the file's order, without a tree.
//
// In:  a path (plain, gzip, zstd, "-"), object or array form, keys in any order.
// Out: one event at a time as views into the reader's buffer, integer nanoseconds, ids of 64 bits or
//      text; after the last event the header, the notes and the counts. Memory follows the distinct names
//      and lanes and the largest single event, not the file.
//
// The whole text is validated while it is read. A fault ends the reading with -EBADMSG, or, with `salvage`,
// is noted, stepped over and counted. A file that merely ends early is no fault: the reading ends, and a note
// says so.
//
// Not here: what events mean (src/analysis).
#ifndef FLAGPROF_TRACE_READER_H
#define FLAGPROF_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flagprof/error.h"
#include "trace/args.h"
#include "trace/intern.h"
#include "trace/note.h"
#include "trace/number.h"
#include "trace/source.h"
#include "trace/text.h"

// A key and its value, as the file has them.
struct fp_trace_field {
    const char *key;   // without the quotes, escapes untouched
    const char *value; // a string is without its quotes, escapes untouched; anything else is its whole text
    uint32_t key_size;
    uint32_t value_size;
    char type;     // '"' string, '0' number, '{' object, '[' array, 't' true, 'f' false, 'n' null, 'N' NaN or
                   // infinity (salvage only)
    uint8_t plain; // the reader's own: 1 plus the place of the point in plain digits; 0: look for yourself
    uint8_t known; // the reader's own: of an argument, its enum fp_arg_id, where the fast way found it
};

enum fp_trace_id_kind {
    FP_ID_ABSENT = 0,
    FP_ID_NUMBER,   // 0 to 2^64 - 1, as a number or as a string of digits
    FP_ID_NEGATIVE, // down to -2^63; `number` holds its two's complement
    FP_ID_TEXT,     // anything else: "stream 7", 0x5 as a string, 1.5, more than 64 bits
};

struct fp_trace_id {
    struct fp_text text; // as in the file, without quotes
    uint64_t number;     // for FP_ID_NUMBER and FP_ID_NEGATIVE
    uint8_t kind;        // enum fp_trace_id_kind
    bool quoted;         // written as a string
};

static inline bool fp_trace_id_same(const struct fp_trace_id *a, const struct fp_trace_id *b) {
    return a->kind == b->kind &&
           (a->kind == FP_ID_TEXT ? fp_text_same(a->text, b->text) : a->number == b->number);
}

// What an event is, by its category; where that tells nothing, by the names of its lane. The spellings that
// map to each stand in category.c, the lanes' names in lane_names.c.
enum fp_category {
    FP_CAT_OTHER = 0,
    FP_CAT_CPU_OP,
    FP_CAT_USER_ANNOTATION,
    FP_CAT_PYTHON,
    FP_CAT_RUNTIME, // host calls of any vendor's runtime API
    FP_CAT_DRIVER,  // and of its driver API
    FP_CAT_KERNEL,
    FP_CAT_MEMCPY,
    FP_CAT_MEMSET,
    FP_CAT_GPU_ANNOTATION, // device side, no work
    FP_CAT_SYNC,           // device-side synchronisation records, no work
    FP_CAT_OVERHEAD,
    FP_CAT_AC2G,   // flows from launch to device work, any producer's name for them
    FP_CAT_FWDBWD, // flows from forward to backward
    FP_CAT_TRACE,  // the profiler's own span
    FP_CAT_COUNT
};

// Arguments whose numbers stand in the event itself; others are read when asked for.
enum fp_read_id {
    FP_READ_EXTERNAL_ID = 1 << 0,
    FP_READ_CORRELATION = 1 << 1,
};

// One event. Every pointer lives until the next call of fp_reader_next.
struct fp_trace_event {
    uint64_t number; // among the events, from 0
    uint64_t byte;   // of its '{' in the unpacked text

    char phase;        // first character of "ph"; 0 where the key is missing or no string
    uint8_t category;  // enum fp_category
    uint8_t ts_state;  // enum fp_number_state
    uint8_t dur_state; // likewise
    bool ts_quoted;    // ts was a string
    bool name_escaped; // name_raw holds escapes
    char args_type;    // type of args as in fp_trace_field, 0 where there is none
    int64_t ts_ns;     // microseconds of the file times 1000, exactly; base time not added
    int64_t dur_ns;    // likewise; negative as the file says it

    struct fp_text raw;      // the whole object, braces included
    struct fp_text name;     // decoded; empty where there is none
    struct fp_text name_raw; // as in the file
    struct fp_text cat;      // as in the file
    uint32_t name_id;        // of the decoded name in fp_reader_names
    uint32_t cat_id;         // of the category in fp_reader_names
    uint32_t lane;           // small number of this (pid, tid); see fp_reader_lane
    int32_t lane_device;     // of the device whose lane it is, by the lane's names; -1: they do not say

    struct fp_trace_id pid, tid, id;

    const struct fp_trace_field *fields; // every key of the object in its order, the known ones too
    const struct fp_trace_field *args;   // every key of args when that is an object
    uint32_t field_count;
    uint32_t arg_count;

    uint8_t ids_known; // the reader's own: enum fp_read_id
    uint64_t external_id, correlation;

    uint64_t known_args;                   // bit per enum fp_arg_id
    uint32_t known_slot[FP_ARG_COUNT + 1]; // index into args where the bit is set
};

// The argument, or NULL where the event has none. A key that occurs twice is its last value.
static inline const struct fp_trace_field *fp_event_arg(const struct fp_trace_event *event,
                                                        enum fp_arg_id id) {
    return event->known_args >> id & 1 ? &event->args[event->known_slot[id]] : NULL;
}

// Any argument or top-level key by name; slower. NULL where there is none.
const struct fp_trace_field *fp_event_arg_named(const struct fp_trace_event *event, const char *key);
const struct fp_trace_field *fp_event_field(const struct fp_trace_event *event, const char *key);

static inline struct fp_text fp_field_text(const struct fp_trace_field *field) {
    return field ? (struct fp_text){ field->value, field->value_size } : (struct fp_text){ NULL, 0 };
}

// A number or a string of digits as 64 bits. False where the field is NULL or something else.
bool fp_field_u64(const struct fp_trace_field *field, uint64_t *value);
bool fp_field_i64(const struct fp_trace_field *field, int64_t *value);
bool fp_field_double(const struct fp_trace_field *field, double *value);

// Any value as an id, as the reader reads pid, tid and id. A NULL field is FP_ID_ABSENT.
struct fp_trace_id fp_field_id(const struct fp_trace_field *field);

// The correlation id of the vendor: false where it is missing or 0, which by convention says "none".
bool fp_event_correlation(const struct fp_trace_event *event, uint64_t *value);

// The framework's id, either spelling. 0 is an operator like any other; only a missing key is absence.
bool fp_event_external_id(const struct fp_trace_event *event, uint64_t *value);

// A walk over the members of a JSON object or the elements of an array, given its whole text (a field's
// value, a header value). The text must be valid, as what the reader hands out is.
//     struct fp_json_walk walk = fp_json_walk_begin(text);
//     struct fp_trace_field field;
//     while (fp_json_walk_next(&walk, &field)) ...
struct fp_json_walk {
    const char *at;
    const char *end;
    bool object;
};
struct fp_json_walk fp_json_walk_begin(struct fp_text text);
bool fp_json_walk_next(struct fp_json_walk *walk,
                       struct fp_trace_field *field); // an element has key_size 0, key NULL
bool fp_json_find(struct fp_text object, const char *key, struct fp_trace_field *field);

// One top-level key beside traceEvents.
struct fp_trace_header {
    struct fp_text key;   // as in the file
    struct fp_text value; // its whole text, quotes included
    bool after_events;    // stood behind the list
    bool kept;            // false: larger than the limit, `value` is empty
};

// What the names of a lane tell of slices that have no category; see lane_names.c.
enum fp_lane_role {
    FP_LANE_UNKNOWN = 0,
    FP_LANE_WORK,    // a device's
    FP_LANE_DERIVED, // a device's, but it repeats what other lanes show: annotations
};

struct fp_lane {
    struct fp_trace_id pid, tid; // texts live as long as the reader
    uint8_t role;                // enum fp_lane_role
    int32_t device;              // its number by the process's name, -1 where that does not say
};

struct fp_reader_options {
    size_t size;  // sizeof(struct fp_reader_options) as the caller knows it; fields beyond it are taken as 0
    bool salvage; // step over faults
    int threads;  // 1: all in the caller's thread; 2: another one reads, unpacks and indexes ahead; 0: 2 for
                  // inputs worth it
    size_t block_bytes;   // of text read at once; 0: 64 KB. Many readers open at once want less
    uint64_t value_limit; // largest single event or header value in bytes; 0: 256 MB. Beyond it: -EFBIG
    const char *name;     // what messages call it; NULL: its path
};

struct fp_reader;

// Opens `path` and reads nothing but its first block. `options` may be NULL.
// Returns 0; -ENODATA for what holds no trace (empty, a bare number, no traceEvents), other negative errnos
// for what cannot be read; `err` then holds the sentence.
int fp_reader_open(const char *path, const struct fp_reader_options *options, struct fp_reader **reader,
                   struct fp_error *err);

// As above over a source, which the reader then owns (also when this fails).
int fp_reader_open_source(struct fp_source *source, const struct fp_reader_options *options,
                          struct fp_reader **reader, struct fp_error *err);

// The next event. Returns 1 with *event set, 0 at the end, or a negative errno: -EBADMSG for broken JSON (the
// place is in `err` and in the note FP_NOTE_JSON_FAULT; fp_reader_events_complete tells whether only the
// trailer is bad), -ENODATA when the file turned out to hold no list of events, -EFBIG, -ENOMEM, read errors.
// After 0 or an error it stays there. One thread at a time.
int fp_reader_next(struct fp_reader *reader, const struct fp_trace_event **event, struct fp_error *err);

// Hands every event to `each` until it returns non-zero, which is then returned; otherwise 0 or as
// fp_reader_next.
int fp_reader_run(struct fp_reader *reader, int (*each)(void *user, const struct fp_trace_event *event),
                  void *user, struct fp_error *err);

void fp_reader_close(struct fp_reader *reader); // NULL is allowed

// Names and categories seen so far, by name_id and cat_id. Belongs to the reader.
const struct fp_intern *fp_reader_names(const struct fp_reader *reader);

// Takes the table over: it then outlives the reader, and the caller frees it. Only after the last event.
struct fp_intern *fp_reader_take_names(struct fp_reader *reader);

uint32_t fp_reader_lane_count(const struct fp_reader *reader);
const struct fp_lane *fp_reader_lane(const struct fp_reader *reader, uint32_t lane);

// The top-level keys read so far, in the file's order; all of them only after the end.
size_t fp_reader_header_count(const struct fp_reader *reader);
const struct fp_trace_header *fp_reader_header(const struct fp_reader *reader, size_t place);
const struct fp_trace_header *fp_reader_header_named(const struct fp_reader *reader,
                                                     const char *key); // or NULL

// baseTimeNanoseconds; false where the key is missing. Complete only after the end.
bool fp_reader_base_time(const struct fp_reader *reader, int64_t *ns);

const struct fp_note *fp_reader_note(const struct fp_reader *reader, enum fp_note_kind kind);

// What the reader knows about the whole, complete after the end.
struct fp_reader_summary {
    uint64_t events;         // handed out
    uint64_t faults;         // stretches stepped over in salvage mode
    uint64_t lost_bytes;     // in those stretches
    uint64_t lost_events;    // in them, as far as their "ph" keys tell
    uint64_t bytes;          // of unpacked text
    uint64_t lines;          // newline bytes
    bool array_form;         // a bare list
    bool closed;             // list and object were closed
    bool events_complete;    // the list was closed: no event is missing at its end
    bool whole_microseconds; // no ts or dur with a fraction was seen: the file's resolution is 1 us,
                             // otherwise 1 ns
    bool ts_text;            // some ts was a string
};
void fp_reader_summarise(const struct fp_reader *reader, struct fp_reader_summary *summary);

// How many threads read: 1, or 2 by the options or the input's size. What works on the events may use as many.
int fp_reader_threads(const struct fp_reader *reader);

// True when every event was read: the list was closed and nothing was stepped over.
bool fp_reader_events_complete(const struct fp_reader *reader);

const struct fp_source *fp_reader_source(const struct fp_reader *reader);

#endif
