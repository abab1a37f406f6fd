// walk.c - from the positions that the scan found to validated values and an event's fields.
//
// In:  the index of a block.
// Out: the entry behind a value, or a fault with its position; for an event also its keys and values as
//      spans. Nothing is copied. Behind the last entry stand sentinels at the block's end, where the text
//      is zero: a walk that meets one asks for more text instead of crying fault.

#include <stdlib.h>

#include "trace/digits.h"
#include "trace/reader_internal.h"

static size_t fault(struct fp_reader *reader, size_t at, const char *cause) {
    if (at >= reader->block->end)
        return FP_WALK_MORE;
    reader->fault = (struct fp_fault){ at, cause };
    return FP_WALK_FAULT;
}

static inline bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// The end of what began earlier, seen from the next structural position: blanks between do not count. Another
// control byte does: glued to a number or word it has no position of its own, and makes it no value.
static inline size_t trim(const char *text, size_t next) {
    while ((unsigned char)text[next - 1] <= ' ' && is_blank(text[next - 1]))
        next--;
    return next;
}

// '0' for a number, the first letter for true, false and null, 0 for what is none of them.
static inline char scalar_type(const char *at, size_t size) {
    size_t point;
    if (fp_digits_plain(at, size, &point))
        return '0';
    switch (at[0]) {
    case 't':
        return size == 4 && memcmp(at, "true", 4) == 0 ? 't' : 0;
    case 'f':
        return size == 5 && memcmp(at, "false", 5) == 0 ? 'f' : 0;
    case 'n':
        return size == 4 && memcmp(at, "null", 4) == 0 ? 'n' : 0;
    default:
        return fp_number_is_json((struct fp_text){ at, size }) ? '0' : 0;
    }
}

// In salvage a NaN or an infinity is a value like any other; it is noted once the whole event was read.
static bool take_not_finite(struct fp_reader *reader, const char *at, size_t size) {
    static const char *const words[] = { "nan", "inf", "infinity" };
    if (!reader->salvage)
        return false;
    size_t sign = size && (*at == '-' || *at == '+');
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strlen(words[i]) == size - sign && strncasecmp(at + sign, words[i], size - sign) == 0) {
            if (!reader->mild.cause)
                reader->mild = (struct fp_fault){ (size_t)(at - reader->block->text), "NaN" };
            reader->not_finite = true;
            return true;
        }
    return false;
}

// In salvage a comma before a closing brace or bracket is stepped over and noted.
static bool take_comma(struct fp_reader *reader, size_t at, char closing) {
    if (!reader->salvage || reader->block->text[at] != closing)
        return false;
    if (!reader->mild.cause)
        reader->mild = (struct fp_fault){ at, "a comma stands before a closing brace or bracket" };
    return true;
}

static int grow_stack(struct fp_reader *reader) {
    size_t words = reader->stack_words ? reader->stack_words * 2 : 4;
    uint64_t *stack = realloc(reader->stack, words * sizeof(*stack));
    if (!stack)
        return -1;
    reader->stack = stack;
    reader->stack_words = words;
    return 0;
}

static inline bool push(struct fp_reader *reader, size_t depth, bool object) {
    if (depth / 64 >= reader->stack_words && grow_stack(reader) != 0)
        return false;
    uint64_t bit = 1ULL << (depth % 64);
    reader->stack[depth / 64] = object ? reader->stack[depth / 64] | bit : reader->stack[depth / 64] & ~bit;
    return true;
}

static const char EXPECTED_VALUE[] = "a value is expected here";
static const char EXPECTED_KEY[] = "a key in double quotes is expected here";
static const char EXPECTED_COLON[] = "a colon is expected here";
static const char EXPECTED_NEXT_MEMBER[] = "a comma or a closing brace is expected here";
static const char EXPECTED_NEXT_ELEMENT[] = "a comma or a closing bracket is expected here";
static const char BAD_SCALAR[] = "this is no number, true, false, null or text in double quotes";

size_t fp_walk_value(struct fp_reader *reader, size_t entry) {
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    const size_t end = reader->block->end;
    size_t depth = 0;
    bool in_object = false;

value:
    switch (text[index[entry]]) {
    case '{':
        if (!push(reader, depth++, in_object))
            return FP_WALK_MEMORY;
        in_object = true;
        if (text[index[++entry]] != '}')
            goto key;
        entry++;
        goto close;
    case '[':
        if (!push(reader, depth++, in_object))
            return FP_WALK_MEMORY;
        in_object = false;
        if (text[index[++entry]] != ']')
            goto value;
        entry++;
        goto close;
    case '"':
        if (depth == 0 && index[entry + 1] >= end)
            return FP_WALK_MORE;
        entry++;
        goto next;
    case '}':
    case ']':
    case ',':
    case ':':
        return fault(reader, index[entry], EXPECTED_VALUE);
    default: {
        size_t from = index[entry], to = index[entry + 1];
        if (to >= end)
            return FP_WALK_MORE;
        to = trim(text, to);
        if (to <= from) // a control byte that the scan took for an operator
            return fault(reader, from, EXPECTED_VALUE);
        if (!scalar_type(text + from, to - from) && !take_not_finite(reader, text + from, to - from))
            return fault(reader, from, BAD_SCALAR);
        entry++;
        goto next;
    }
    }

key:
    if (text[index[entry]] != '"')
        return fault(reader, index[entry], EXPECTED_KEY);
    if (text[index[entry + 1]] != ':')
        return fault(reader, index[entry + 1], EXPECTED_COLON);
    entry += 2;
    goto value;

close:
    depth--;
    in_object = reader->stack[depth / 64] >> (depth % 64) & 1;

next:
    if (depth == 0)
        return entry;
    char c = text[index[entry]];
    if (c == ',') {
        entry++;
        if (take_comma(reader, index[entry], in_object ? '}' : ']')) {
            entry++;
            goto close;
        }
        if (in_object)
            goto key;
        goto value;
    }
    if (c != (in_object ? '}' : ']'))
        return fault(reader, index[entry], in_object ? EXPECTED_NEXT_MEMBER : EXPECTED_NEXT_ELEMENT);
    entry++;
    goto close;
}

struct fp_text fp_walk_text(const struct fp_reader *reader, size_t entry, size_t behind) {
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    size_t from = index[entry];
    char c = text[from];
    size_t to = c == '{' || c == '[' ? index[behind - 1] + 1 : trim(text, index[behind]);
    return (struct fp_text){ text + from, to - from };
}

// Room for one field more; the array may move.
static bool field_room(struct fp_trace_field **fields, size_t *room, size_t need) {
    if (need <= *room)
        return true;
    size_t grown = *room ? *room * 2 : 64;
    struct fp_trace_field *moved = realloc(*fields, grown * sizeof(**fields));
    if (!moved)
        return false;
    *fields = moved;
    *room = grown;
    return true;
}

// A value that is neither string nor nested, between two positions.
static inline size_t walk_scalar(struct fp_reader *reader, size_t from, size_t to,
                                 struct fp_trace_field *field) {
    const char *text = reader->block->text;
    char c = text[from];
    if (to >= reader->block->end)
        return FP_WALK_MORE;
    to = trim(text, to);
    field->value = text + from;
    field->value_size = (uint32_t)(to - from);
    if (from >= to || !(field->type = scalar_type(text + from, to - from))) {
        if (from >= to || strchr("{}[]:,", c))
            return fault(reader, from, EXPECTED_VALUE);
        if (!take_not_finite(reader, text + from, to - from))
            return fault(reader, from, BAD_SCALAR);
        field->type = 'N';
    }
    return 0;
}

// The common member: a key of the expected size, and a string or plain digits. False: it is another, or
// broken, or cut.
static inline __attribute__((always_inline)) bool walk_common(const char *text, const uint32_t *index,
                                                              size_t entry, size_t end, size_t key_size,
                                                              struct fp_trace_field *field) {
    size_t key = index[entry], value = index[entry + 2], next = index[entry + 3], point;
    if (index[entry + 1] != key + key_size + 2 || text[key + key_size + 2] != ':' || next >= end)
        return false;
    field->key = text + key + 1;
    field->key_size = (uint32_t)key_size;
    if (text[value] == '"') {
        field->value = text + value + 1;
        field->value_size = (uint32_t)(next - value - 2);
        field->type = '"';
        field->plain = 0;
        return text[next - 1] == '"';
    }
    size_t size = trim(text, next) - value;
    field->value = text + value;
    field->value_size = (uint32_t)size;
    field->type = '0';
    if (!fp_digits_plain(text + value, size, &point))
        return false;
    field->plain = (uint8_t)(point + 1);
    return true;
}

// Reads the key at `entry` and the value behind it into *field. Returns the entry behind the value. A nested
// value is validated but not taken apart.
static inline __attribute__((always_inline)) size_t walk_member(struct fp_reader *reader, const char *text,
                                                                const uint32_t *index, size_t entry,
                                                                struct fp_trace_field *field) {
    size_t key = index[entry], colon = index[entry + 1], value = index[entry + 2], next = index[entry + 3];
    if (text[key] != '"')
        return fault(reader, key, EXPECTED_KEY);
    if (text[colon] != ':')
        return fault(reader, colon, EXPECTED_COLON);
    field->key = text + key + 1;
    field->key_size = (uint32_t)(trim(text, colon) - key - 2);
    field->plain = 0;
    char c = text[value];
    if (c == '"') {
        if (next >= reader->block->end)
            return FP_WALK_MORE;
        field->value = text + value + 1;
        field->value_size = (uint32_t)(trim(text, next) - value - 2);
        field->type = '"';
        return entry + 3;
    }
    if (c == '{' || c == '[') {
        size_t behind = fp_walk_value(reader, entry + 2);
        if (behind >= FP_WALK_MEMORY)
            return behind;
        field->value = text + value;
        field->value_size = (uint32_t)(index[behind - 1] + 1 - value);
        field->type = c;
        return behind;
    }
    size_t code = walk_scalar(reader, value, next, field);
    return code ? code : entry + 3;
}

// Which argument follows which depends on what the event is: its category, where that came before, tells in
// short.
static uint8_t *args_after(struct fp_reader *reader) {
    unsigned kind = 0;
    if (reader->top[FP_TOP_CAT] != FP_NO_FIELD) {
        const struct fp_trace_field *cat = &reader->fields[reader->top[FP_TOP_CAT]];
        kind = cat->value_size + (unsigned char)cat->value[0];
    }
    return reader->arg_after[kind % FP_ARG_KINDS];
}

// The members of args, whose '{' is at `entry`.
static size_t walk_args(struct fp_reader *reader, size_t entry) {
    struct fp_trace_event *event = &reader->event;
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    const size_t end = reader->block->end;
    uint8_t *after = args_after(reader);
    size_t count = 0;
    uint64_t known = 0;
    unsigned last = FP_ARG_COUNT;
    event->arg_count = 0;
    event->known_args = 0;
    if (text[index[++entry]] == '}')
        return entry + 1;
    for (;;) {
        if (count == reader->arg_room && !field_room(&reader->args, &reader->arg_room, count + 1))
            return FP_WALK_MEMORY;
        struct fp_trace_field *arg = &reader->args[count];
        // Keys mostly follow each other as they did the last time.
        unsigned id = after[last];
        const char *key = text + index[entry];
        if (key[0] == '"' && fp_arg_is_quoted(id, key + 1) &&
            walk_common(text, index, entry, end, fp_arg_heads[id].size, arg)) {
            entry += 3;
        } else {
            entry = walk_member(reader, text, index, entry, arg);
            if (entry >= FP_WALK_MEMORY)
                return entry;
            id = fp_arg_find(arg->key, arg->key_size);
            after[last] = (uint8_t)id;
        }
        last = id;
        if (id < FP_ARG_COUNT) {
            known |= 1ULL << id;
            event->known_slot[id] = (uint32_t)count;
        }
        count++;
        char c = text[index[entry++]];
        if (c == '}')
            break;
        if (c != ',')
            return fault(reader, index[entry - 1], EXPECTED_NEXT_MEMBER);
        if (text[index[entry]] != '"' && take_comma(reader, index[entry], '}')) {
            entry++;
            break;
        }
    }
    event->arg_count = (uint32_t)count;
    event->known_args = known;
    return entry;
}

// The member "args" of an event: taken apart where it is an object.
static size_t walk_args_member(struct fp_reader *reader, size_t entry, struct fp_trace_field *field) {
    struct fp_trace_event *event = &reader->event;
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    size_t key = index[entry], value = index[entry + 2], behind;
    if (text[value] == '{') {
        behind = walk_args(reader, entry + 2);
        if (behind >= FP_WALK_MEMORY)
            return behind;
        *field = (struct fp_trace_field){
            text + key + 1, text + value, 4, (uint32_t)(index[behind - 1] + 1 - value), '{', 0, 0
        };
    } else {
        behind = walk_member(reader, text, index, entry, field);
        event->arg_count = 0;
        event->known_args = 0;
    }
    event->args_type = field->type;
    return behind;
}

#define KEY4(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define TOP2(a, b)                                                                                           \
    { KEY4(a, b, '"', 0), 0xFFFFFF, 2 }
#define TOP3(a, b, c)                                                                                        \
    { KEY4(a, b, c, '"'), 0xFFFFFFFF, 3 }
const struct fp_top_key fp_top_keys[FP_TOP_COUNT] = {
    [FP_TOP_PH] = TOP2('p', 'h'),
    [FP_TOP_TS] = TOP2('t', 's'),
    [FP_TOP_DUR] = TOP3('d', 'u', 'r'),
    [FP_TOP_PID] = TOP3('p', 'i', 'd'),
    [FP_TOP_TID] = TOP3('t', 'i', 'd'),
    [FP_TOP_ID] = TOP2('i', 'd'),
    [FP_TOP_NAME] = { KEY4('n', 'a', 'm', 'e') | (uint64_t)'"' << 32, 0xFFFFFFFFFF, 4 },
    [FP_TOP_CAT] = TOP3('c', 'a', 't'),
};

const uint8_t fp_top_slots[8] = { FP_TOP_NAME, FP_TOP_PID, FP_TOP_DUR, FP_TOP_PH,
                                  FP_TOP_TID,  FP_TOP_CAT, FP_TOP_ID,  FP_TOP_TS };

static inline unsigned find_top(uint32_t name, uint32_t size) {
    if (size - 2 > 2)
        return FP_TOP_NONE;
    for (unsigned top = 0; top < FP_TOP_NONE; top++)
        if (fp_top_keys[top].size == size &&
            ((name ^ fp_top_keys[top].head) & (UINT32_MAX >> (32 - 8 * size))) == 0)
            return top;
    return FP_TOP_NONE;
}

size_t fp_walk_event(struct fp_reader *reader, size_t entry) {
    struct fp_trace_event *event = &reader->event;
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    const size_t first = index[entry], end = reader->block->end;
    size_t count = 0;
    event->arg_count = 0;
    event->known_args = 0;
    event->args_type = 0;
    memset(reader->top, 0xFF, sizeof(reader->top));
    reader->not_finite = false;
    reader->mild.cause = NULL;
    if (text[index[++entry]] == '}') {
        entry++;
    } else {
        for (;;) {
            if (count == reader->field_room && !field_room(&reader->fields, &reader->field_room, count + 1))
                return FP_WALK_MEMORY;
            struct fp_trace_field *field = &reader->fields[count++];
            const char *key = text + index[entry];
            uint64_t name;
            memcpy(&name, key + 1, 8);
            const struct fp_top_key *expected = fp_top_key_of(name);
            if (key[0] == '"' && (name & expected->mask) == expected->head &&
                walk_common(text, index, entry, end, expected->size, field)) {
                reader->top[fp_top_place(expected)] = (uint32_t)count - 1;
                entry += 3;
            } else if ((uint32_t)name == KEY4('a', 'r', 'g', 's') && key[5] == '"' &&
                       text[index[entry + 1]] == ':') {
                entry = walk_args_member(reader, entry, field);
                if (entry >= FP_WALK_MEMORY)
                    return entry;
            } else {
                entry = walk_member(reader, text, index, entry, field);
                if (entry >= FP_WALK_MEMORY)
                    return entry;
                reader->top[find_top((uint32_t)name, field->key_size)] = (uint32_t)count - 1;
            }
            char c = text[index[entry++]];
            if (c == '}')
                break;
            if (c != ',')
                return fault(reader, index[entry - 1], EXPECTED_NEXT_MEMBER);
            if (text[index[entry]] != '"' && take_comma(reader, index[entry], '}')) {
                entry++;
                break;
            }
        }
    }
    event->field_count = (uint32_t)count;
    event->fields = reader->fields;
    event->args = reader->args;
    event->raw = (struct fp_text){ text + first, index[entry - 1] + 1 - first };
    return entry;
}
