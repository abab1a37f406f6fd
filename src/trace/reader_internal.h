// reader_internal.h - what the reader's rooms share: its state, and how a walk over the index ends.
//
// Private to src/trace: reader.c (what stands where in a file), walk.c (objects and values), salvage.c (the
// way round a fault), event.c (what callers ask of an event).
#ifndef FLAGPROF_TRACE_READER_INTERNAL_H
#define FLAGPROF_TRACE_READER_INTERNAL_H

#include "trace/block.h"
#include "trace/fast.h"
#include "trace/reader.h"

// Where in the file's grammar the next index entry stands.
enum fp_reader_place {
    FP_AT_TOP,         // nothing read yet
    FP_AT_FIRST_KEY,   // behind the object's '{'
    FP_AT_KEY,         // a key must come
    FP_AT_OBJECT_NEXT, // ',' or '}' of the object
    FP_AT_FIRST_EVENT, // behind the list's '['
    FP_AT_EVENT,       // an element must come
    FP_AT_LIST_NEXT,   // ',' or ']' of the list
    FP_AT_TRAILER,     // behind everything
    FP_AT_END,
};

// How a walk ends: the entry behind what was read, or one of these.
#define FP_WALK_MORE ((size_t)-1)  // the block ends before it does
#define FP_WALK_FAULT ((size_t)-2) // the text is broken; reader->fault says where and how
#define FP_WALK_MEMORY ((size_t)-3)

struct fp_fault {
    size_t at;         // position in the block
    const char *cause; // in words
};

struct fp_header_entry {
    struct fp_trace_header header;
    char *text; // key and value, owned
};

struct fp_cat_slot {
    struct fp_text text; // in names
    uint32_t id;
    uint8_t category;
};

#define FP_CAT_SLOTS 64
#define FP_LANE_SLOTS 256

struct fp_lane_slot {
    uint64_t pid, tid;
    uint8_t pid_kind, tid_kind;
    uint32_t lane; // plus one
};

// What this reader calls a text that has a number in digests.
struct fp_digested_text {
    uint32_t name_id, cat_id; // plus one, 0: not met as such
    uint8_t category;
};

struct fp_device_process {
    struct fp_trace_id pid;
    int32_t device; // -1: it is none
    bool xprof;     // its threads' names tell more
    bool tpu;
};

struct fp_reader {
    struct fp_blocks *blocks;
    struct fp_block *block; // the current one
    bool indexed;           // the block is, from `at` on
    size_t at;              // next position, while it is not
    size_t entry;           // next index entry, while it is
    size_t window;          // so many bytes were to be indexed
    size_t special;         // next special of the block
    enum fp_reader_place place;
    bool salvage;
    int threads;
    bool in_object; // object form
    bool list_done; // a list of events was closed
    bool seen_list;
    bool bare;       // salvage: the events have no list around them
    unsigned nested; // depth of traceEvents inside traceEvents
    int ended;       // the code that every further call returns
    struct fp_error end_error;
    uint64_t value_limit;

    struct fp_fault fault;
    char cause[160]; // the fault in words, where a constant does not do
    struct fp_fault
        mild;        // salvage: the first fault in the event being read that costs nothing; cause NULL: none
    bool not_finite; // salvage: that event holds a NaN or an infinity
    uint64_t *stack; // one bit per open bracket: 1 for an object
    size_t stack_words;

    struct fp_trace_event event;
    struct fp_fast fast;
    struct fp_trace_field *fields, *args;
    size_t field_room, arg_room;
    uint32_t top[FP_TOP_COUNT]; // places among the fields of the event being read, or FP_NO_FIELD
    uint8_t arg_after[FP_ARG_KINDS][FP_ARG_COUNT + 1]; // which known argument came behind another one last
    char *decoded;                                     // the event's name without escapes
    size_t decoded_room;

    struct fp_intern *names;
    struct fp_digested_text *digested; // FP_DIGEST_TEXTS of them, where events are read ahead
    struct fp_cat_slot cats[FP_CAT_SLOTS];
    struct fp_lane_slot lane_slots[FP_LANE_SLOTS];
    struct fp_lane *lanes;
    uint32_t lane_count, lane_room;
    uint32_t *lane_table; // ids plus one, open addressing
    uint32_t lane_mask;
    struct fp_intern *lane_texts;
    struct fp_device_process *processes; // those that are a device, by their names
    uint32_t process_count;

    struct fp_header_entry *headers;
    size_t header_count, header_room;
    uint64_t header_bytes;

    struct fp_note notes[FP_NOTE_KINDS];
    uint64_t events, faults, lost_bytes, lost_events;
    uint64_t end_bytes, end_lines;
    uint64_t objects_skipped;
    size_t lost_from;        // in the current block: where the last stretch that could not be read begins
    uint64_t salvage_budget; // bytes that failed attempts may still cost
    bool fractions, ts_text;
    bool object_closed;
};

// Reads the object whose '{' is at `entry` as an event into reader->event. Returns the entry behind it or
// FP_WALK_*.
size_t fp_walk_event(struct fp_reader *reader, size_t entry);

// An event's keys with a meaning, as their first bytes, the closing quote among them.
struct fp_top_key {
    uint64_t head, mask;
    size_t size;
};
extern const struct fp_top_key fp_top_keys[FP_TOP_COUNT];
extern const uint8_t fp_top_slots[8];
#define FP_ARGS_KEY 0x3a2273677261ULL // args":

// The only key that the eight bytes behind an opening quote may belong to. The first three, times a number
// that was searched for: each of the eight keys has a slot of its own.
static inline const struct fp_top_key *fp_top_key_of(uint64_t name) {
    return &fp_top_keys[fp_top_slots[(((uint32_t)name & 0xFFFFFF) * 0x1ABB8BA3u) >> 29]];
}

static inline size_t fp_top_place(const struct fp_top_key *key) {
    return (size_t)(key - fp_top_keys);
}

// Validates any value. Likewise.
size_t fp_walk_value(struct fp_reader *reader, size_t entry);

// The value's text, given the entry of its first character and the entry behind it.
struct fp_text fp_walk_text(const struct fp_reader *reader, size_t entry, size_t behind);

// Turns the spans of reader->event into numbers, ids and the lane. `top` holds the places of the keys with a
// meaning among its fields, `values` what of them was read already. 0 or -ENOMEM.
int fp_event_finish(struct fp_reader *reader, const uint32_t *top, const struct fp_values *values);

// As above, of an event with a whole digest.
int fp_event_finish_digest(struct fp_reader *reader, const uint32_t *top, const struct fp_digest *digest);

// Looks at the escapes and control bytes up to position `end`. False at the first fault (reader->fault),
// which is then stepped over.
bool fp_reader_check_specials(struct fp_reader *reader, size_t end);

// Adds to a note. `at` is a position in the current block; `text` may be NULL.
void fp_reader_note_at(struct fp_reader *reader, enum fp_note_kind kind, size_t at, uint64_t event,
                       const char *text);

// The place of a position of the current block.
void fp_reader_place_of(const struct fp_reader *reader, size_t at, struct fp_place *place);

// Names the fault's cause more closely by looking at the text around it.
const char *fp_fault_cause(const struct fp_reader *reader);

// Steps from a fault in the value that began at position `from` to the next event that can be read. Returns 0
// with the index standing at that event's '{', -ENODATA when there is none, other negative errnos on failure.
int fp_salvage_resume(struct fp_reader *reader, size_t from, struct fp_error *err);

// Whether an object begins at position `at` of the current block, ends in it and is an event. 1, 0 or -ENOMEM.
int fp_salvage_is_event(struct fp_reader *reader, size_t at);

// What the first bytes of something that is no JSON give away, and how a trace comes out of it. NULL where they
// are not known.
struct fp_foreign {
    const char *what, *cure;
};
const struct fp_foreign *fp_foreign_find(const char *text, size_t size);

// What the names of a lane tell: of a lane that is new, and of the metadata event just read. 0 or -ENOMEM.
void fp_lane_begin(const struct fp_reader *reader, struct fp_lane *lane);
int fp_lane_learn(struct fp_reader *reader);
enum fp_category fp_lane_category(uint8_t role, struct fp_text name); // of a slice without one

// The category of a spelling.
enum fp_category fp_category_of(struct fp_text cat);

// Number of the known argument, or FP_ARG_COUNT.
unsigned fp_arg_find(const char *key, size_t size);

// Whether the key is that of the argument numbered `id`, which may be FP_ARG_COUNT.
extern struct fp_arg_head {
    uint64_t head; // its first eight bytes, zero behind its end
    uint64_t tail; // its last eight, where it has more
    uint64_t mask; // of the head's bytes
    uint32_t size;
} fp_arg_heads[FP_ARG_COUNT + 1];

// The same for a key whose size is not known yet: `key` stands behind its opening quote.
static inline bool fp_arg_is_quoted(unsigned id, const char *key) {
    const struct fp_arg_head *known = &fp_arg_heads[id];
    uint64_t head, tail;
    memcpy(&head, key, 8);
    if (known->size <= 8)
        return (head & known->mask) == known->head && key[known->size] == '"';
    memcpy(&tail, key + known->size - 8, 8);
    return head == known->head && tail == known->tail && key[known->size] == '"' &&
           (known->size <= 16 || memcmp(key + 8, fp_arg_key((enum fp_arg_id)id) + 8, known->size - 16) == 0);
}

static inline bool fp_arg_is(unsigned id, const char *key, size_t size) {
    const struct fp_arg_head *known = &fp_arg_heads[id];
    uint64_t head, tail;
    if (known->size != size)
        return false;
    memcpy(&head, key, 8); // blocks are padded
    if (size <= 8)
        return (head & known->mask) == known->head;
    memcpy(&tail, key + size - 8, 8);
    return head == known->head && tail == known->tail &&
           (size <= 16 || memcmp(key + 8, fp_arg_key((enum fp_arg_id)id) + 8, size - 16) == 0);
}

// Fills its table. Safe to call from anywhere, any number of times.
void fp_arg_prepare(void);

#endif
