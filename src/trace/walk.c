// walk.c - from the positions that the scan found to validated values and an event's fields.
//
// In:  the index of a block. Out: the entry behind a value, or a fault with its position; for an event also
// its keys and
//      values as spans. Nothing is copied. Behind the last entry stand sentinels at the block's end, where
//      the text is zero: a walk that meets one asks for more text instead of crying fault.

#include "trace/reader_internal.h"

#include <stdlib.h>

static size_t fault(struct fp_reader *reader, size_t at, const char *cause) {
    if (at >= reader->block->end)
        return FP_WALK_MORE;
    reader->fault = (struct fp_fault){ at, cause };
    return FP_WALK_FAULT;
}

static inline bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The end of what began at `from`, seen from the next structural position: blanks between do not count.
static inline size_t trim(const char *text, size_t next) {
    while (is_space(text[next - 1]))
        next--;
    return next;
}

// True when all of up to eight bytes are digits.
static inline bool all_digits(const char *at, size_t size) {
    uint64_t word;
    memcpy(&word, at, 8);
    unsigned unused = (unsigned)(8 - size) * 8;
    word = size ? word << unused : 0; // now in the upper bytes
    uint64_t fill = size ? 0x3030303030303030ULL >> (size * 8 & 63) : 0;
    if (size == 8)
        fill = 0;
    word |= fill;
    return ((word & 0xF0F0F0F0F0F0F0F0ULL) |
            (((word + 0x0606060606060606ULL) & 0xF0F0F0F0F0F0F0F0ULL) >> 4)) == 0x3333333333333333ULL;
}

// '0' for a number, the first letter for true, false and null, 0 for what is none of them.
static inline char scalar_type(const char *at, size_t size) {
    if (size <= 8 && size && all_digits(at, size))
        return at[0] != '0' || size == 1 ? '0' : 0;
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

// Reads the key at `entry` and the value behind it into *field. Returns the entry behind the value. A nested
// value is validated but not taken apart.
static inline size_t walk_member(struct fp_reader *reader, size_t entry, struct fp_trace_field *field) {
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    size_t key = index[entry], colon = index[entry + 1], value = index[entry + 2];
    if (text[key] != '"')
        return fault(reader, key, EXPECTED_KEY);
    if (text[colon] != ':')
        return fault(reader, colon, EXPECTED_COLON);
    field->key = text + key + 1;
    field->key_size = (uint32_t)(trim(text, colon) - key - 2);
    entry += 3;
    char c = text[value];
    if (c == '"') {
        size_t to = index[entry];
        if (to >= reader->block->end)
            return FP_WALK_MORE;
        field->value = text + value + 1;
        field->value_size = (uint32_t)(trim(text, to) - value - 2);
        field->type = '"';
        return entry;
    }
    if (c == '{' || c == '[') {
        size_t behind = fp_walk_value(reader, entry - 1);
        if (behind >= FP_WALK_MEMORY)
            return behind;
        field->value = text + value;
        field->value_size = (uint32_t)(index[behind - 1] + 1 - value);
        field->type = c;
        return behind;
    }
    size_t to = index[entry];
    if (to >= reader->block->end)
        return FP_WALK_MORE;
    to = trim(text, to);
    field->value = text + value;
    field->value_size = (uint32_t)(to - value);
    field->type = c == '}' || c == ']' || c == ',' || c == ':' ? 0 : scalar_type(text + value, to - value);
    if (!field->type && take_not_finite(reader, text + value, to - value))
        field->type = 'N';
    if (!field->type)
        return fault(reader, value,
                     c == '}' || c == ']' || c == ',' || c == ':' ? EXPECTED_VALUE : BAD_SCALAR);
    return entry;
}

// The members of args, whose '{' is at `entry`.
static size_t walk_args(struct fp_reader *reader, size_t entry) {
    struct fp_trace_event *event = &reader->event;
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    size_t count = 0;
    uint64_t known = 0;
    event->arg_count = 0;
    event->known_args = 0;
    if (text[index[++entry]] == '}')
        return entry + 1;
    for (;;) {
        if (count == reader->arg_room && !field_room(&reader->args, &reader->arg_room, count + 1))
            return FP_WALK_MEMORY;
        struct fp_trace_field *arg = &reader->args[count];
        entry = walk_member(reader, entry, arg);
        if (entry >= FP_WALK_MEMORY)
            return entry;
        unsigned id = fp_arg_find(arg->key, arg->key_size);
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

// Where the top-level keys that have a meaning stand among the fields; FIELD_NONE where they do not.
#define FIELD_NONE UINT32_MAX

size_t fp_walk_event(struct fp_reader *reader, size_t entry) {
    struct fp_trace_event *event = &reader->event;
    const char *text = reader->block->text;
    const uint32_t *index = reader->block->index;
    const size_t first = index[entry];
    size_t count = 0;
    event->arg_count = 0;
    event->known_args = 0;
    event->args_type = 0;
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
            if (memcmp(key, "\"args\"", 6) == 0 && text[index[entry + 1]] == ':') {
                size_t value = index[entry + 2];
                size_t behind;
                if (text[value] == '{') {
                    behind = walk_args(reader, entry + 2);
                    if (behind >= FP_WALK_MEMORY)
                        return behind;
                    *field = (struct fp_trace_field){ key + 1, text + value, 4,
                                                      (uint32_t)(index[behind - 1] + 1 - value), '{' };
                } else {
                    behind = walk_member(reader, entry, field);
                    if (behind >= FP_WALK_MEMORY)
                        return behind;
                    event->arg_count = 0;
                    event->known_args = 0;
                }
                event->args_type = field->type;
                entry = behind;
            } else {
                entry = walk_member(reader, entry, field);
                if (entry >= FP_WALK_MEMORY)
                    return entry;
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
    event->raw = (struct fp_text){ text + first, index[entry - 1] + 1 - first };
    return entry;
}
