// fast.c - an event in its common form, read straight from the text.
//
// In:  text in which no byte is escaped or a bare control byte (the block says so).
// Out: the same fields as walk.c finds, or the word that this event must go the long way. Nothing is
//      decided here that the long way would decide differently: whatever is not plainly valid is left to
//      it, faults included.

#include "trace/digits.h"
#include "trace/reader_internal.h"

// Behind the blanks at `at`. In a clean block every byte up to a blank is one; behind its end stand zeros.
static inline const char *blanks(const char *at) {
    if ((unsigned char)*at > ' ')
        return at;
#if defined(__SSE2__)
    const __m128i first = _mm_set1_epi8('!');
    for (;;) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        unsigned text = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, first), bytes));
        if (text)
            return at + __builtin_ctz(text);
        if (!at[15])
            return at + 15;
        at += 16;
    }
#else
    while (*at && (unsigned char)*at <= ' ')
        at++;
    return at;
#endif
}

// The closing quote of the string whose text begins at `at`; NULL when a line breaks in it or the text ends.
static inline const char *closing_quote(const char *at, const char *end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), control = _mm_set1_epi8(0x1F);
    for (; at < end; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote));
        unsigned bad = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control));
        if (quotes | bad) {
            unsigned first = (unsigned)__builtin_ctz(quotes | bad);
            return quotes >> first & 1 && at + first < end ? at + first : NULL;
        }
    }
    return NULL;
#else
    while (at < end && *at != '"' && (unsigned char)*at >= 0x20)
        at++;
    return at < end && *at == '"' ? at : NULL;
#endif
}

// The end of the plain number at `at` and the place of its point (or its size); NULL for any other.
static inline const char *number_end(const char *at, size_t *point) {
#if defined(__SSE2__)
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    __m128i low = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)at), zero);
    __m128i high = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(at + 16)), zero);
    uint32_t others = ~((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, nine), low)) |
                        (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(high, nine), high)) << 16);
#else
    uint32_t others = 0;
    for (int i = 0; i < 32; i++)
        others |= (uint32_t)(at[i] < '0' || at[i] > '9') << i;
#endif
    if (!others)
        return NULL;
    unsigned size = (unsigned)__builtin_ctz(others);
    *point = size;
    if (at[size] == '.') {
        others &= others - 1;
        if (!others || (unsigned)__builtin_ctz(others) == size + 1)
            return NULL;
        size = (unsigned)__builtin_ctz(others);
    }
    char behind = at[size];
    bool ends =
        behind == ',' || behind == '}' || behind == ']' || behind == '\n' || behind == ' ' || behind == '\r';
    return ends && *point && (at[0] != '0' || *point == 1) ? at + size : NULL;
}

// Behind an array or object, validated; NULL for what is not plainly valid.
static const char *nested_end(const char *at, const char *end) {
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
            at = number_end(at + (*at == '-'), &point);
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

// The value at `at` into *field. Returns what is behind it, or NULL.
static inline const char *value_end(const char *at, const char *end, struct fp_trace_field *field) {
    size_t point = 0;
    const char *behind;
    if (*at == '"') {
        behind = closing_quote(at + 1, end);
        if (!behind)
            return NULL;
        field->value = at + 1;
        field->value_size = (uint32_t)(behind - at - 1);
        field->type = '"';
        field->plain = 0;
        return behind + 1;
    }
    field->value = at;
    if (*at == '[' || *at == '{') {
        behind = nested_end(at, end);
        field->type = *at;
        field->plain = 0;
    } else {
        bool minus = *at == '-';
        behind = number_end(at + minus, &point);
        field->type = '0';
        field->plain = minus ? 0 : (uint8_t)(point + 1);
    }
    if (!behind)
        return NULL;
    field->value_size = (uint32_t)(behind - at);
    return behind;
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

static inline const char *read_args(struct fp_reader *reader, const char *at, const char *end) {
    struct fp_trace_event *event = &reader->event;
    uint8_t *after = fp_walk_args_after(reader);
    unsigned last = FP_ARG_COUNT;
    size_t count = 0;
    uint64_t known = 0;
    at = blanks(at + 1);
    while (*at == '"') {
        if (count == reader->arg_room)
            return NULL; // the long way makes room
        struct fp_trace_field *arg = &reader->args[count];
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
        at += size + 2;
        if (*at != ':')
            return NULL;
        at = value_end(at[1] == ' ' ? at + 2 : at + 1, end, arg);
        if (!at)
            return NULL;
        if (id < FP_ARG_COUNT) {
            known |= 1ULL << id;
            event->known_slot[id] = (uint32_t)count;
        }
        count++;
        at = next_member(at);
        if (!at)
            return NULL;
    }
    if (*at != '}')
        return NULL;
    event->arg_count = (uint32_t)count;
    event->known_args = known;
    event->args_type = '{';
    return at + 1;
}

size_t fp_fast_event(struct fp_reader *reader, size_t from) {
    struct fp_trace_event *event = &reader->event;
    const char *begin = reader->block->text + from, *end = reader->block->text + reader->block->end,
               *at = begin;
    size_t count = 0;
    event->arg_count = 0;
    event->known_args = 0;
    event->args_type = 0;
    memset(reader->top, 0xFF, sizeof(reader->top));
    at = blanks(at + 1);
    while (*at == '"') {
        if (count == reader->field_room)
            return 0;
        struct fp_trace_field *field = &reader->fields[count];
        uint64_t name;
        memcpy(&name, at + 1, 8);
        const struct fp_top_key *expected = fp_top_key_of(name);
        field->key = at + 1;
        if ((name & expected->mask) == expected->head) {
            field->key_size = (uint32_t)expected->size;
            at += expected->size + 2;
            if (*at != ':')
                return 0;
            at = value_end(at[1] == ' ' ? at + 2 : at + 1, end, field);
            reader->top[fp_top_place(expected)] = (uint32_t)count;
        } else if ((name & 0xFFFFFFFFFFFF) == FP_ARGS_KEY) {
            const char *value = at[7] == ' ' ? at + 8 : at + 7;
            if (*value != '{')
                return 0;
            field->key_size = 4;
            at = read_args(reader, value, end);
            if (!at)
                return 0;
            field->value = value;
            field->value_size = (uint32_t)(at - value);
            field->type = '{';
            field->plain = 0;
        } else {
            const char *quote = closing_quote(at + 1, end);
            if (!quote || quote[1] != ':')
                return 0;
            field->key_size = (uint32_t)(quote - at - 1);
            at = value_end(quote[2] == ' ' ? quote + 3 : quote + 2, end, field);
        }
        count++;
        if (!at || !(at = next_member(at)))
            return 0;
    }
    // Behind the block's end stand zeros, which match nothing above: what was read lies before it.
    if (*at != '}' || at >= end)
        return 0;
    event->field_count = (uint32_t)count;
    event->raw = (struct fp_text){ begin, (size_t)(at + 1 - begin) };
    reader->mild.cause = NULL;
    reader->not_finite = false;
    return (size_t)(at + 1 - reader->block->text);
}

size_t fp_fast_next(const struct fp_reader *reader, size_t from, bool comma) {
    const char *text = reader->block->text, *at = blanks(text + from);
    if (comma) {
        if (*at != ',')
            return 0;
        at = blanks(at + 1);
    }
    return *at == '{' && (size_t)(at - text) < reader->block->end ? (size_t)(at - text) : 0;
}
