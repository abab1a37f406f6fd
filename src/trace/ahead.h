// ahead.h - events of a block, read straight from its text before the reader comes to it.
//
// In:  blocks in the order of the file, in the thread that fills them.
// Out: the spans of the events found in each. A guess: the reader takes one only where it stands at that very
//      brace itself and would have read it the same way; so a wrong guess costs time and nothing else.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_AHEAD_H
#define FLAGPROF_TRACE_AHEAD_H

#include "trace/digest.h"

struct fp_block;

struct fp_ahead_event {
    struct fp_parsed parsed;
    struct fp_digest digest;
};

// What was read of one block.
struct fp_ahead_events {
    struct fp_ahead_event *events;
    struct fp_trace_field *fields, *args;
    uint8_t *known; // of each of args, apart from them
    size_t count, taken;
    size_t room, field_room; // field_room for each of fields and args
};

// Where reading ahead stands between two blocks.
struct fp_ahead {
    struct fp_fast fast;
    struct fp_digester digester;
    char *tail; // of the block before: what had not ended in it
    size_t tail_size, tail_room;
    bool known;       // where the next event begins: at the tail
    bool first;       // it is the list's first: no comma stands before it
    char between[16]; // from the closing brace of one event into the next
    bool between_known;
};

// Both with room for blocks of `bytes`, whose tails take up to `tail_room`. 0 or -ENOMEM; to be freed in
// either case.
int fp_ahead_begin(struct fp_ahead *ahead, size_t tail_room);
int fp_ahead_events_begin(struct fp_ahead_events *events, size_t bytes);
void fp_ahead_end(struct fp_ahead *ahead);
void fp_ahead_events_end(struct fp_ahead_events *events);

// Reads what it can of a block that was just filled, the block before it prefixed.
void fp_ahead_read(struct fp_ahead *ahead, struct fp_block *block);

// Reads nothing of a block: the reader is about to come to it.
void fp_ahead_leave(struct fp_ahead *ahead, struct fp_block *block);

// The event behind the one taken last, if that ended at `at`: they were read one behind the other, so that the comma
// between them need not be looked at again. NULL otherwise.
static inline const struct fp_ahead_event *fp_ahead_follow(struct fp_ahead_events *events, const char *at) {
    if (!events->taken || events->taken >= events->count)
        return NULL;
    const struct fp_text *last = &events->events[events->taken - 1].parsed.raw;
    return last->at + last->size == at ? &events->events[events->taken++] : NULL;
}

// The event whose '{' is at `brace`, if it was read ahead; NULL otherwise.
static inline const struct fp_ahead_event *fp_ahead_take(struct fp_ahead_events *events, const char *brace) {
    while (events->taken < events->count && events->events[events->taken].parsed.raw.at < brace)
        events->taken++;
    if (events->taken == events->count || events->events[events->taken].parsed.raw.at != brace)
        return NULL;
    return &events->events[events->taken++];
}

#endif
