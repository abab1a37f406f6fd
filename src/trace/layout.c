// layout.c - what stands between the values of a file's events, learnt from the events read so far.
//
// In:  events.
// Out: a tree of stretches of text. Where the value before is a phase or a category, the branch depends on
//      it, so that each kind of event soon has a straight path of its own.

#include "trace/layout.h"

#include <stdlib.h>

#include "trace/fast.h"
#include "trace/plain.h"

#define NODES 1024
#define STRETCH 48 // longer ones are not learnt
#define KINDS 8
#define JUDGED 4096 // events after which the hits are weighed

enum what {
    IS_TEXT = 1 << 0,     // a string follows; its opening quote belongs to the stretch
    IN_ARGS = 1 << 1,     // the value is an argument
    OPENS_ARGS = 1 << 2,  // the key args and its brace lie in the stretch
    CLOSES_ARGS = 1 << 3, // and its closing brace
    ENDS = 1 << 4,        // the event's closing brace ends the stretch
    BRANCHES = 1 << 5,    // the value chooses the branch
};

struct fp_layout_node {
    char text[STRETCH];
    uint64_t beyond; // a bit for each byte of `text` behind its end
    uint16_t first[KINDS], sibling;
    uint8_t size, what, place; // enum fp_top_name or fp_arg_id, or the count of either
    uint8_t key_at, key_size;
    uint8_t args_key_at, args_at, args_end;
};

static inline int matches(const struct fp_layout_node *node, const char *at) {
#if defined(__SSE2__)
    const __m128i *known = (const __m128i *)(const void *)node->text,
                  *text = (const __m128i *)(const void *)at;
    unsigned same =
        (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(known), _mm_loadu_si128(text)));
    if ((same | (unsigned)node->beyond) << 16 != 0xFFFF0000u)
        return 0;
    if (node->size <= 16)
        return 1;
    same =
        (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(known + 1), _mm_loadu_si128(text + 1))) |
        (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(known + 2), _mm_loadu_si128(text + 2)))
            << 16;
    return (same | (unsigned)(node->beyond >> 16)) == UINT32_MAX;
#else
    return memcmp(node->text, at, node->size) == 0;
#endif
}

static inline unsigned kind_of(const char *value, size_t size) {
    return (unsigned)(size + (unsigned char)value[0]) % KINDS;
}

// Counts a miss; a file whose events mostly miss is read without.
static void judge(struct fp_layout *layout) {
    if (++layout->misses < JUDGED)
        return;
    layout->off = layout->hits < layout->misses;
    layout->hits = layout->misses = 0;
}

// The end of the digits at `at`, with or without a point among them, into *field with it; NULL for what is no
// number. That nothing follows which belongs to it is for the next stretch to tell.
static inline const char *digits_end(const char *at, struct fp_trace_field *field) {
    uint32_t others = digit_others(at);
    if (!others)
        return NULL;
    unsigned size = (unsigned)__builtin_ctz(others), point = size;
    if (at[size] == '.') {
        others &= others - 1;
        if (!others)
            return NULL;
        size = (unsigned)__builtin_ctz(others);
        if (size == point + 1)
            return NULL;
    }
    if (at[0] == '0' && point != 1)
        return NULL;
    field->value = at;
    field->value_size = size;
    field->type = '0';
    field->plain = (uint8_t)(point + 1);
    return at + size;
}

static const char *follow(const struct fp_layout *layout, struct fp_fast *fast, const char *at,
                          const char *end) {
    struct fp_parsed *event = &fast->event;
    const struct fp_layout_node *nodes = layout->nodes, *node = nodes;
    struct fp_trace_field *fields = event->fields, *args = event->args, *open = NULL;
    size_t count = 0, arg_count = 0, field_room = fast->field_room, arg_room = fast->arg_room;
    uint64_t known = 0;
    unsigned kind = 0;
    event->args_type = 0;
    memset(event->top, 0xFF, sizeof(event->top));
    for (;;) {
        unsigned next = node->first[kind];
        for (;; next = nodes[next].sibling) {
            if (!next)
                return NULL;
            if (matches(&nodes[next], at))
                break;
        }
        node = &nodes[next];
        unsigned what = node->what;
        if (what & (CLOSES_ARGS | ENDS | OPENS_ARGS)) {
            if ((what & CLOSES_ARGS) && open)
                open->value_size = (uint32_t)(at + node->args_end + 1 - open->value);
            if (what & ENDS)
                break;
            if (what & OPENS_ARGS) {
                if (count == field_room)
                    return NULL;
                open = &fields[count++];
                *open =
                    (struct fp_trace_field){ at + node->args_key_at, at + node->args_at, 4, 0, '{', 0, 0 };
                event->args_type = '{';
            }
        }
        struct fp_trace_field *field;
        if (what & IN_ARGS) {
            if (arg_count == arg_room)
                return NULL;
            field = &args[arg_count++];
            field->known = node->place;
            known |= 1ULL << node->place;
        } else {
            if (count == field_room)
                return NULL;
            field = &fields[count];
            event->top[node->place] = (uint32_t)count++;
        }
        field->key = at + node->key_at;
        field->key_size = node->key_size;
        at += node->size;
        kind = 0;
        if (what & IS_TEXT) {
            const char *quote = closing_quote(at, end);
            if (!quote)
                return NULL;
            field->value = at;
            field->value_size = (uint32_t)(quote - at);
            field->type = '"';
            field->plain = 0;
            if (what & BRANCHES)
                kind = kind_of(at, field->value_size);
            at = quote + 1;
        } else {
            at = (unsigned char)(*at - '0') <= 9 ? digits_end(at, field) : value_end(at, end, field);
            if (!at)
                return NULL;
        }
    }
    event->field_count = (uint32_t)count;
    event->arg_count = (uint32_t)arg_count;
    event->known_args = known & FP_ALL_ARGS;
    // Behind the block's end stand zeros, which no stretch holds: what was read lies before it.
    return at + node->size;
}

const char *fp_layout_read(struct fp_layout *layout, struct fp_fast *fast, const char *begin,
                           const char *end) {
    if (!layout->count || layout->off)
        return NULL;
    const char *behind = follow(layout, fast, begin, end);
    if (behind)
        layout->hits++;
    else
        judge(layout);
    return behind;
}

// The child of `node` that is like `wanted`, made where there is none; 0 where there is no room.
static uint16_t child_of(struct fp_layout *layout, uint16_t node, unsigned kind,
                         const struct fp_layout_node *wanted) {
    uint16_t *link = &layout->nodes[node].first[kind];
    for (; *link; link = &layout->nodes[*link].sibling) {
        const struct fp_layout_node *known = &layout->nodes[*link];
        if (known->size == wanted->size && known->what == wanted->what &&
            memcmp(known->text, wanted->text, wanted->size) == 0)
            return *link;
    }
    if (layout->count == NODES)
        return 0;
    *link = (uint16_t)layout->count;
    layout->nodes[layout->count] = *wanted;
    return (uint16_t)layout->count++;
}

struct learning {
    struct fp_layout *layout;
    struct fp_layout_node next; // being put together
    const char *from;           // where its stretch begins
    uint16_t node;
    unsigned kind;
};

// Ends the stretch at `end` and goes down the tree. False where it cannot be learnt.
static int descend(struct learning *learning, const char *end, unsigned what) {
    struct fp_layout_node *next = &learning->next;
    size_t size = (size_t)(end - learning->from);
    if (size > STRETCH)
        return 0;
    memcpy(next->text, learning->from, size);
    next->size = (uint8_t)size;
    next->beyond = size == 64 ? 0 : UINT64_MAX << size;
    next->what |= (uint8_t)what;
    learning->node = child_of(learning->layout, learning->node, learning->kind, next);
    memset(next, 0, sizeof(*next));
    learning->kind = 0;
    return learning->node != 0;
}

static int learn_member(struct learning *learning, const struct fp_trace_field *field, unsigned place,
                        unsigned what) {
    size_t key_at = (size_t)(field->key - learning->from);
    if (key_at >= STRETCH || field->key_size >= STRETCH)
        return 0;
    learning->next.key_at = (uint8_t)key_at;
    learning->next.key_size = (uint8_t)field->key_size;
    learning->next.place = (uint8_t)place;
    if (field->type == '"')
        what |= IS_TEXT;
    else
        what &= ~(unsigned)BRANCHES;
    if (!descend(learning, field->value, what))
        return 0;
    if (what & BRANCHES)
        learning->kind = kind_of(field->value, field->value_size);
    learning->from = field->value + field->value_size + (field->type == '"');
    return 1;
}

static int learn_args(struct learning *learning, const struct fp_parsed *event,
                      const struct fp_trace_field *field) {
    const struct fp_trace_field *args = event->args;
    size_t key_at = (size_t)(field->key - learning->from), at = (size_t)(field->value - learning->from);
    // Twice args: only the last one's arguments are known.
    if (!event->arg_count || args[0].key < field->value || args[0].key > field->value + field->value_size ||
        at >= STRETCH)
        return 0;
    learning->next.args_key_at = (uint8_t)key_at;
    learning->next.args_at = (uint8_t)at;
    for (uint32_t i = 0; i < event->arg_count; i++)
        if (!learn_member(learning, &args[i], args[i].known, i ? IN_ARGS : IN_ARGS | OPENS_ARGS))
            return 0;
    size_t end = (size_t)(field->value + field->value_size - 1 - learning->from);
    if (end >= STRETCH)
        return 0;
    learning->next.args_end = (uint8_t)end;
    learning->next.what = CLOSES_ARGS;
    return 1;
}

// Of a key that stands twice the last one counts, which only a reading of the whole event tells. A stretch learnt from
// the first would hide that key in every event that has it once.
static int is_overruled(const struct fp_parsed *event, uint32_t at) {
    const struct fp_trace_field *field = &event->fields[at];
    for (unsigned top = 0; top < FP_TOP_NONE; top++) {
        uint32_t last = event->top[top];
        if (last != FP_NO_FIELD && last != at && event->fields[last].key_size == field->key_size &&
            memcmp(event->fields[last].key, field->key, field->key_size) == 0)
            return 1;
    }
    return 0;
}

void fp_layout_learn(struct fp_layout *layout, const struct fp_parsed *event) {
    if (layout->off || layout->count == NODES)
        return;
    if (!layout->nodes) {
        layout->nodes = calloc(NODES, sizeof(*layout->nodes));
        if (!layout->nodes) {
            layout->off = 1;
            return;
        }
        layout->count = 1; // the root, before the event
    }
    struct learning learning = { .layout = layout, .from = event->raw.at };
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct fp_trace_field *field = &event->fields[i];
        bool is_args = field->key_size == 4 && memcmp(field->key, "args", 4) == 0;
        unsigned place = FP_TOP_NONE;
        if (is_overruled(event, i))
            return;
        for (unsigned top = 0; top < FP_TOP_NONE; top++)
            if (event->top[top] == i)
                place = top;
        unsigned what = place == FP_TOP_PH || place == FP_TOP_CAT ? BRANCHES : 0;
        if (!(is_args ? learn_args(&learning, event, field) : learn_member(&learning, field, place, what)))
            return;
    }
    (void)descend(&learning, event->raw.at + event->raw.size, ENDS);
}
