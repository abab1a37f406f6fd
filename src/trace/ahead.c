// ahead.c - events of a block, read straight from its text before the reader comes to it.
//
// In:  blocks.
// Out: events. Where one block's last event ended, the next block's first begins. After a block that could
//      not be read this way (an escape in it, an odd event) the place is looked for: by the key traceEvents,
//      later by the bytes that stand between two events.

#include "trace/ahead.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/block.h"
#include "trace/plain.h"

#define BYTES_A_FIELD 16 // fewer are rare: what does not fit is left to the reader
#define BYTES_AN_EVENT 64

int fp_ahead_begin(struct fp_ahead *ahead, size_t tail_room) {
    *ahead = (struct fp_ahead){ .tail = malloc(tail_room), .tail_room = tail_room };
    fp_fast_begin(&ahead->fast);
    return fp_digester_begin(&ahead->digester) == 0 && ahead->tail ? 0 : -ENOMEM;
}

void fp_ahead_end(struct fp_ahead *ahead) {
    fp_fast_end(&ahead->fast);
    fp_digester_end(&ahead->digester);
    free(ahead->tail);
    ahead->tail = NULL;
}

int fp_ahead_events_begin(struct fp_ahead_events *events, size_t bytes) {
    events->field_room = bytes / BYTES_A_FIELD;
    events->room = bytes / BYTES_AN_EVENT;
    events->events = malloc(events->room * sizeof(*events->events));
    events->fields = malloc(events->field_room * sizeof(*events->fields));
    events->args = malloc(events->field_room * sizeof(*events->args));
    events->known = malloc(events->field_room);
    return events->events && events->fields && events->args && events->known ? 0 : -ENOMEM;
}

void fp_ahead_events_end(struct fp_ahead_events *events) {
    free(events->events);
    free(events->fields);
    free(events->args);
    free(events->known);
    *events = (struct fp_ahead_events){ 0 };
}

// Behind the bracket that opens the list of events; NULL where it is not found.
static const char *list_begin(const struct fp_block *block) {
    static const char key[] = "\"traceEvents\"";
    const char *at = block->text + block->head, *end = block->text + block->end;
    if (block->offset == 0) {
        at = blanks(at);
        if (*at == '[')
            return at + 1;
    }
    // Blanks up to the end are stepped over 16 at a time, beyond it.
    at = at < end ? memmem(at, (size_t)(end - at), key, sizeof(key) - 1) : NULL;
    if (!at)
        return NULL;
    at = blanks(at + sizeof(key) - 1);
    if (*at != ':')
        return NULL;
    at = blanks(at + 1);
    return *at == '[' ? at + 1 : NULL;
}

// Where to begin in the block; NULL where nothing is found. Sets whether a comma stands there.
static const char *place_in(struct fp_ahead *ahead, struct fp_block *block) {
    const char *head = block->text + block->head, *end = block->text + block->end, *at;
    if (ahead->known) {
        char *tail = block->text + block->head - ahead->tail_size;
        memcpy(tail, ahead->tail, ahead->tail_size);
        return tail;
    }
    ahead->first = !ahead->between_known;
    if (ahead->first)
        return list_begin(block);
    at = memmem(head, (size_t)(end - head), ahead->between, sizeof(ahead->between));
    return at ? at + 1 : NULL;
}

void fp_ahead_leave(struct fp_ahead *ahead, struct fp_block *block) {
    block->ahead.count = block->ahead.taken = 0;
    ahead->known = false;
}

void fp_ahead_read(struct fp_ahead *ahead, struct fp_block *block) {
    struct fp_ahead_events *events = &block->ahead;
    struct fp_fast *fast = &ahead->fast;
    const char *end = block->text + block->end;
    events->count = events->taken = 0;
    size_t fields = 0, args = 0;
    const char *at = block->clean ? place_in(ahead, block) : NULL, *brace, *behind;
    ahead->known = false;
    while (at && events->count < events->room && (brace = fp_fast_next(at, end, !ahead->first)) != NULL) {
        fast->event.fields = events->fields + fields;
        fast->event.args = events->args + args;
        fast->field_room = events->field_room - fields;
        fast->arg_room = events->field_room - args;
        behind = fp_fast_event(fast, brace, end);
        if (!behind)
            break;
        if (!ahead->first && !ahead->between_known && at[-1] == '}' &&
            (size_t)(end - at) >= sizeof(ahead->between)) {
            memcpy(ahead->between, at - 1, sizeof(ahead->between));
            ahead->between_known = true;
        }
        struct fp_ahead_event *event = &events->events[events->count++];
        event->parsed = fast->event;
        fp_digest_event(&ahead->digester, &event->parsed, &event->digest);
        for (uint32_t i = 0; i < event->parsed.arg_count; i++)
            events->known[args + i] = event->parsed.args[i].known;
        fields += fast->event.field_count;
        args += fast->event.arg_count;
        ahead->first = false;
        at = behind;
    }
    if (!events->count || (size_t)(end - at) > ahead->tail_room)
        return;
    ahead->tail_size = (size_t)(end - at);
    memcpy(ahead->tail, at, ahead->tail_size);
    ahead->known = true;
}
