// fast.c - an event in its common form, read straight from the text.
//
// In:  text in which no byte is escaped or a bare control byte (the block says so).
// Out: the same fields as walk.c finds, or the word that this event must go the long way. Nothing is
//      decided here that the long way would decide differently: whatever is not plainly valid is left to
//      it, faults included.

#include "trace/fast.h"

#include <stdlib.h>

#include "trace/plain.h"
#include "trace/reader_internal.h"

// Behind an array or object, validated; NULL for what is not plainly valid.
const char *fp_plain_nested_end(const char *at, const char *end) {
    uint64_t objects = 0; // a bit for each open bracket: 1 for an object
    unsigned depth = 0;
    size_t point;
    for (;;) { // at the first byte of a value
        if (*at == '[' || *at == '{') {
            bool object = *at == '{';
            if (depth == 63)
                return NULL;
            objects = objects << 1 | object;
            depth++;
            at = blanks(at + 1);
            if (*at == (object ? '}' : ']'))
                goto closed;
        } else if (*at == '"') {
            at = closing_quote(at + 1, end);
            if (!at)
                return NULL;
            at++;
            goto next;
        } else {
            at = *at <= '9' ? number_end(at + (*at == '-'), &point) : word_end(at);
            if (!at)
                return NULL;
            goto next;
        }
        goto key;
    closed:
        at++;
        objects >>= 1;
        if (--depth == 0)
            return at;
    next:
        at = blanks(at);
        if (*at == (objects & 1 ? '}' : ']'))
            goto closed;
        if (*at != ',')
            return NULL;
        at = blanks(at + 1);
    key:
        if (objects & 1) {
            if (*at != '"' || !(at = closing_quote(at + 1, end)))
                return NULL;
            at = blanks(at + 1);
            if (*at != ':')
                return NULL;
            at = blanks(at + 1);
        }
        if (at >= end)
            return NULL;
    }
}

// Behind a comma the next key's quote, or a closing brace; anything else is NULL.
static inline const char *next_member(const char *at) {
    at = blanks(at);
    if (*at == '}')
        return at;
    if (*at != ',')
        return NULL;
    at = blanks(at + 1);
    return *at == '"' ? at : NULL;
}

// Which argument follows which depends on what the event is: its category, where that came before, tells in
// short.
static inline uint8_t *args_after(struct fp_fast *fast) {
    unsigned kind = 0;
    if (fast->event.top[FP_TOP_CAT] != FP_NO_FIELD) {
        const struct fp_trace_field *cat = &fast->event.fields[fast->event.top[FP_TOP_CAT]];
        kind = cat->value_size + (unsigned char)cat->value[0];
    }
    return fast->arg_after[kind % FP_ARG_KINDS];
}

static inline const char *read_args(struct fp_fast *fast, const char *at, const char *end) {
    struct fp_parsed *event = &fast->event;
    uint8_t *after = args_after(fast);
    unsigned last = FP_ARG_COUNT;
    size_t count = 0;
    uint64_t known = 0;
    at = blanks(at + 1);
    while (*at == '"') {
        if (count == fast->arg_room)
            return NULL; // the long way makes room
        struct fp_trace_field *arg = &event->args[count];
        unsigned id = after[last];
        size_t size;
        if (fp_arg_is_quoted(id, at + 1)) {
            size = fp_arg_heads[id].size;
        } else {
            const char *quote = closing_quote(at + 1, end);
            if (!quote)
                return NULL;
            size = (size_t)(quote - at - 1);
            id = fp_arg_find(at + 1, size);
            after[last] = (uint8_t)id;
        }
        last = id;
        arg->key = at + 1;
        arg->key_size = (uint32_t)size;
        arg->known = (uint8_t)id;
        at += size + 2;
        if (*at != ':')
            return NULL;
        at = value_end(at[1] == ' ' ? at + 2 : at + 1, end, arg);
        if (!at)
            return NULL;
        known |= 1ULL << id;
        count++;
        at = next_member(at);
        if (!at)
            return NULL;
    }
    if (*at != '}')
        return NULL;
    event->arg_count = (uint32_t)count;
    event->known_args = known & FP_ALL_ARGS;
    event->args_type = '{';
    return at + 1;
}

// The event whose '{' is at `begin`, key by key. Returns what is behind it, or NULL.
static const char *read_event(struct fp_fast *fast, const char *begin, const char *end) {
    struct fp_parsed *event = &fast->event;
    const char *at = blanks(begin + 1);
    size_t count = 0;
    event->arg_count = 0;
    event->known_args = 0;
    event->args_type = 0;
    memset(event->top, 0xFF, sizeof(event->top));
    while (*at == '"') {
        if (count == fast->field_room)
            return NULL;
        struct fp_trace_field *field = &event->fields[count];
        uint64_t name;
        memcpy(&name, at + 1, 8);
        const struct fp_top_key *expected = fp_top_key_of(name);
        field->key = at + 1;
        if ((name & expected->mask) == expected->head) {
            field->key_size = (uint32_t)expected->size;
            at += expected->size + 2;
            if (*at != ':')
                return NULL;
            at = value_end(at[1] == ' ' ? at + 2 : at + 1, end, field);
            event->top[fp_top_place(expected)] = (uint32_t)count;
        } else if ((name & 0xFFFFFFFFFFFF) == FP_ARGS_KEY) {
            const char *value = at[7] == ' ' ? at + 8 : at + 7;
            if (*value != '{')
                return NULL;
            field->key_size = 4;
            at = read_args(fast, value, end);
            if (!at)
                return NULL;
            field->value = value;
            field->value_size = (uint32_t)(at - value);
            field->type = '{';
            field->plain = 0;
        } else {
            const char *quote = closing_quote(at + 1, end);
            if (!quote || quote[1] != ':')
                return NULL;
            field->key_size = (uint32_t)(quote - at - 1);
            at = value_end(quote[2] == ' ' ? quote + 3 : quote + 2, end, field);
        }
        count++;
        if (!at || !(at = next_member(at)))
            return NULL;
    }
    // Behind the block's end stand zeros, which match nothing above: what was read lies before it.
    if (*at != '}' || at >= end)
        return NULL;
    event->field_count = (uint32_t)count;
    return at + 1;
}

static inline const struct fp_trace_field *top_field(const struct fp_parsed *event, enum fp_top_name top) {
    return event->top[top] == FP_NO_FIELD ? NULL : &event->fields[event->top[top]];
}

void fp_fast_values(const struct fp_parsed *event, struct fp_values *values) {
    const struct fp_trace_field *name = top_field(event, FP_TOP_NAME);
    values->fractions = false;
    unsigned known = fp_plain_time(top_field(event, FP_TOP_TS), &values->ts_ns, &values->fractions)
                     << FP_TOP_TS;
    known |= fp_plain_time(top_field(event, FP_TOP_DUR), &values->dur_ns, &values->fractions) << FP_TOP_DUR;
    known |= fp_plain_id(top_field(event, FP_TOP_PID), &values->pid) << FP_TOP_PID;
    known |= fp_plain_id(top_field(event, FP_TOP_TID), &values->tid) << FP_TOP_TID;
    known |= fp_plain_id(top_field(event, FP_TOP_ID), &values->id) << FP_TOP_ID;
    if (name) {
        values->name_hash = fp_text_hash(name->value, name->value_size);
        known |= 1u << FP_TOP_NAME;
    }
    values->known = (uint16_t)known;
}

const char *fp_fast_event(struct fp_fast *fast, const char *begin, const char *end) {
    const char *behind = fp_layout_read(&fast->layout, fast, begin, end);
    if (!behind) {
        behind = read_event(fast, begin, end);
        if (!behind)
            return NULL;
        fast->event.raw = (struct fp_text){ begin, (size_t)(behind - begin) };
        fp_layout_learn(&fast->layout, &fast->event);
    }
    fast->event.raw = (struct fp_text){ begin, (size_t)(behind - begin) };
    return behind;
}

const char *fp_fast_next(const char *at, const char *end, bool comma) {
    at = blanks(at);
    if (comma) {
        if (*at != ',')
            return NULL;
        at = blanks(at + 1);
    }
    return *at == '{' && at < end ? at : NULL;
}

void fp_fast_begin(struct fp_fast *fast) {
    memset(fast, 0, sizeof(*fast));
    memset(fast->arg_after, FP_ARG_COUNT, sizeof(fast->arg_after));
}

void fp_fast_end(struct fp_fast *fast) {
    free(fast->layout.nodes);
    fast->layout.nodes = NULL;
}
