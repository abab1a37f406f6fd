// event.c - from an event's spans to numbers, ids, names and its lane; and what callers may ask of it.
//
// In:  the fields that the walk found.
// Out: struct fp_trace_event, complete. Names and categories get their numbers here.

#include <errno.h>
#include <stdlib.h>

#include "trace/digits.h"
#include "trace/reader_internal.h"

struct fp_trace_id fp_field_id(const struct fp_trace_field *field) {
    struct fp_trace_id id = { { NULL, 0 }, 0, FP_ID_ABSENT, false };
    if (!field)
        return id;
    id.text = (struct fp_text){ field->value, field->value_size };
    id.quoted = field->type == '"';
    id.kind = FP_ID_TEXT;
    if (field->type == '"' || field->type == '0') {
        int64_t small;
        // "007" as a string is a text of its own; as a number JSON does not allow it.
        bool canonical = field->value_size == 1 || (field->value_size && field->value[0] != '0');
        if (canonical && fp_number_u64(id.text, &id.number)) {
            id.kind = FP_ID_NUMBER;
        } else if (field->value_size > 1 && field->value[0] == '-' && field->value[1] != '0' &&
                   fp_number_i64(id.text, &small)) {
            id.kind = FP_ID_NEGATIVE;
            id.number = (uint64_t)small;
        }
    }
    return id;
}

static const struct fp_trace_id absent = { { NULL, 0 }, 0, FP_ID_ABSENT, false };

static inline void read_id(const struct fp_trace_field *field, bool known, uint64_t number,
                           struct fp_trace_id *id) {
    if (!field || (!known && !fp_plain_id(field, &number))) {
        *id = field ? fp_field_id(field) : absent;
        return;
    }
    id->text.at = field->value;
    id->text.size = field->value_size;
    id->number = number;
    id->kind = FP_ID_NUMBER;
    id->quoted = false;
}

// A time in microseconds as text.
static enum fp_number_state read_time(struct fp_reader *reader, const struct fp_trace_field *field,
                                      int64_t *ns) {
    struct fp_trace_field plain = *field;
    size_t point;
    bool rounded = false;
    *ns = 0;
    if (field->type != '0' && field->type != '"')
        return FP_NUMBER_BAD;
    if (!plain.plain && fp_digits_plain(field->value, field->value_size, &point)) // as a string
        plain.plain = (uint8_t)(point + 1);
    if (fp_plain_time(&plain, ns, &reader->fractions))
        return FP_NUMBER_OK;
    enum fp_number_state state =
        fp_number_scaled((struct fp_text){ field->value, field->value_size }, 3, ns, &rounded);
    if (state == FP_NUMBER_OK && *ns % 1000 != 0)
        reader->fractions = true;
    if (rounded)
        fp_reader_note_at(reader, FP_NOTE_TIME_ROUNDED, (size_t)(field->value - reader->block->text),
                          reader->events, NULL);
    return state;
}

static void note_time(struct fp_reader *reader, enum fp_note_kind kind, const struct fp_trace_field *field) {
    char shown[100];
    fp_reader_note_at(
        reader, kind, (size_t)(field->value - reader->block->text), reader->events,
        fp_text_show((struct fp_text){ field->value, field->value_size }, shown, sizeof(shown)));
}

// As fp_text_same, without a call for texts of 8 to 16 bytes.
static inline bool same_short(struct fp_text a, struct fp_text b) {
    uint64_t a_head, b_head, a_tail, b_tail;
    if (a.size != b.size || a.size - 8 > 8)
        return fp_text_same(a, b);
    memcpy(&a_head, a.at, 8);
    memcpy(&b_head, b.at, 8);
    memcpy(&a_tail, a.at + a.size - 8, 8);
    memcpy(&b_tail, b.at + b.size - 8, 8);
    return a_head == b_head && a_tail == b_tail;
}

static int read_cat(struct fp_reader *reader, const struct fp_trace_field *field) {
    struct fp_trace_event *event = &reader->event;
    struct fp_text cat = { field->value, field->value_size };
    event->cat = cat;
    unsigned char last = cat.size ? (unsigned char)cat.at[cat.size - 1] : 0;
    unsigned char middle = cat.size ? (unsigned char)cat.at[cat.size / 2] : 0;
    struct fp_cat_slot *slot = &reader->cats[(cat.size * 7 + last + middle * 3u) % FP_CAT_SLOTS];
    if (!slot->text.at || !same_short(slot->text, cat)) {
        uint32_t id = fp_intern_add(reader->names, cat);
        if (id == FP_NO_ID)
            return -ENOMEM;
        *slot = (struct fp_cat_slot){ fp_intern_text(reader->names, id), id, (uint8_t)fp_category_of(cat) };
    }
    event->cat_id = slot->id;
    event->category = slot->category;
    return 0;
}

static inline int read_name(struct fp_reader *reader, const struct fp_trace_field *field, bool hashed,
                            uint64_t hash) {
    struct fp_trace_event *event = &reader->event;
    const struct fp_text name = { field->value, field->value_size };
    event->name = event->name_raw = name;
    event->name_escaped = false;
    if (hashed) {
        event->name_id = fp_intern_add_hashed(reader->names, name, hash);
        return event->name_id == FP_NO_ID ? -ENOMEM : 0;
    }
    // Escapes of this block are listed: without any, no name needs to be looked through.
    if (reader->special < reader->block->special_end && memchr(field->value, '\\', field->value_size)) {
        if (field->value_size > reader->decoded_room) {
            char *grown = realloc(reader->decoded, field->value_size * 2);
            if (!grown)
                return -ENOMEM;
            reader->decoded = grown;
            reader->decoded_room = field->value_size * 2;
        }
        event->name.size = fp_text_unescape(event->name_raw, reader->decoded);
        event->name.at = reader->decoded;
        event->name_escaped = true;
    }
    event->name_id = fp_intern_add(reader->names, event->name);
    return event->name_id == FP_NO_ID ? -ENOMEM : 0;
}

static int grow_lanes(struct fp_reader *reader) {
    if (reader->lane_count == reader->lane_room) {
        uint32_t room = reader->lane_room ? reader->lane_room * 2 : 64;
        struct fp_lane *lanes = realloc(reader->lanes, room * sizeof(*lanes));
        if (!lanes)
            return -ENOMEM;
        reader->lanes = lanes;
        reader->lane_room = room;
    }
    return 0;
}

static uint64_t id_key(const struct fp_trace_id *id) {
    return (id->kind == FP_ID_TEXT ? fp_text_hash(id->text.at, id->text.size) : id->number) * 4 + id->kind;
}

static uint64_t lane_hash(const struct fp_trace_id *pid, const struct fp_trace_id *tid) {
    uint64_t hash = (id_key(pid) ^ 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
    hash = (hash ^ hash >> 32 ^ id_key(tid)) * 0xD6E8FEB86659FD93ULL;
    return hash ^ hash >> 29;
}

static int rehash_lanes(struct fp_reader *reader) {
    uint32_t mask = reader->lane_mask ? reader->lane_mask * 2 + 1 : 127;
    uint32_t *table = calloc((size_t)mask + 1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    for (uint32_t lane = 0; lane < reader->lane_count; lane++) {
        uint32_t i = (uint32_t)lane_hash(&reader->lanes[lane].pid, &reader->lanes[lane].tid);
        while (table[i & mask])
            i++;
        table[i & mask] = lane + 1;
    }
    free(reader->lane_table);
    reader->lane_table = table;
    reader->lane_mask = mask;
    return 0;
}

// The texts of a lane's ids outlive the event.
static int keep_id(struct fp_reader *reader, const struct fp_trace_id *id, struct fp_trace_id *kept) {
    *kept = *id;
    if (id->kind == FP_ID_ABSENT)
        return 0;
    uint32_t text = fp_intern_add(reader->lane_texts, id->text);
    if (text == FP_NO_ID)
        return -ENOMEM;
    kept->text = fp_intern_text(reader->lane_texts, text);
    return 0;
}

static int find_lane(struct fp_reader *reader, const struct fp_trace_id *pid, const struct fp_trace_id *tid,
                     uint32_t *lane) {
    if ((!reader->lane_table || reader->lane_count >= reader->lane_mask / 2) && rehash_lanes(reader) != 0)
        return -ENOMEM;
    uint32_t i = (uint32_t)lane_hash(pid, tid);
    for (; reader->lane_table[i & reader->lane_mask]; i++) {
        const struct fp_lane *known = &reader->lanes[reader->lane_table[i & reader->lane_mask] - 1];
        if (fp_trace_id_same(&known->pid, pid) && fp_trace_id_same(&known->tid, tid)) {
            *lane = reader->lane_table[i & reader->lane_mask] - 1;
            return 0;
        }
    }
    if (grow_lanes(reader) != 0 || keep_id(reader, pid, &reader->lanes[reader->lane_count].pid) != 0 ||
        keep_id(reader, tid, &reader->lanes[reader->lane_count].tid) != 0)
        return -ENOMEM;
    fp_lane_begin(reader, &reader->lanes[reader->lane_count]);
    *lane = reader->lane_count++;
    reader->lane_table[i & reader->lane_mask] = *lane + 1;
    return 0;
}

static inline int read_lane(struct fp_reader *reader) {
    struct fp_trace_event *event = &reader->event;
    const struct fp_trace_id *pid = &event->pid, *tid = &event->tid;
    if (pid->kind == FP_ID_TEXT || tid->kind == FP_ID_TEXT)
        return find_lane(reader, pid, tid, &event->lane);
    struct fp_lane_slot *slot = &reader->lane_slots[(pid->number * 31 + tid->number) % FP_LANE_SLOTS];
    if (slot->lane && slot->pid == pid->number && slot->tid == tid->number && slot->pid_kind == pid->kind &&
        slot->tid_kind == tid->kind) {
        event->lane = slot->lane - 1;
        return 0;
    }
    int code = find_lane(reader, pid, tid, &event->lane);
    if (!code)
        *slot = (struct fp_lane_slot){ pid->number, tid->number, pid->kind, tid->kind, event->lane + 1 };
    return code;
}

static inline void read_times(struct fp_reader *reader, const struct fp_trace_field *ts,
                              const struct fp_trace_field *dur, const struct fp_values *values) {
    struct fp_trace_event *event = &reader->event;
    reader->fractions |= values->fractions;
    event->ts_state = event->dur_state = FP_NUMBER_ABSENT;
    event->ts_quoted = false;
    event->ts_ns = event->dur_ns = 0;
    if (values->known >> FP_TOP_TS & 1) {
        event->ts_state = FP_NUMBER_OK;
        event->ts_ns = values->ts_ns;
    } else if (ts) {
        event->ts_state = (uint8_t)read_time(reader, ts, &event->ts_ns);
        event->ts_quoted = ts->type == '"';
        if (event->ts_quoted && !reader->ts_text) {
            reader->ts_text = true;
            note_time(reader, FP_NOTE_TIME_IS_TEXT, ts);
        }
        if (event->ts_state == FP_NUMBER_BAD)
            note_time(reader, FP_NOTE_BAD_TIME, ts);
    }
    if (values->known >> FP_TOP_DUR & 1) {
        event->dur_state = FP_NUMBER_OK;
        event->dur_ns = values->dur_ns;
    } else if (dur) {
        event->dur_state = (uint8_t)read_time(reader, dur, &event->dur_ns);
        if (event->dur_state == FP_NUMBER_BAD)
            note_time(reader, FP_NOTE_BAD_TIME, dur);
    }
}

// A phase is one letter, which may be written as an escape. Everything else is none.
static inline char phase_of(const struct fp_trace_field *ph) {
    char letter[16];
    if (!ph || ph->type != '"')
        return 0;
    if (ph->value_size == 1)
        return ph->value[0];
    if (ph->value_size != 6 || ph->value[0] != '\\')
        return 0;
    return fp_text_unescape((struct fp_text){ ph->value, ph->value_size }, letter) == 1 ? letter[0] : '\0';
}

static const struct fp_trace_field empty = { .key = "", .value = "", .type = '"' };

// The rest, once the event's own values are known.
static inline int finish_on_lane(struct fp_reader *reader) {
    struct fp_trace_event *event = &reader->event;
    int code = read_lane(reader);
    if (code)
        return code;
    const struct fp_lane *lane = &reader->lanes[event->lane];
    event->lane_device = lane->device;
    if (lane->role && event->category == FP_CAT_OTHER && strchr("XBE", event->phase) && event->phase)
        event->category = (uint8_t)fp_lane_category(lane->role, event->name);
    else if (event->phase == 'M')
        code = fp_lane_learn(reader);
    if (event->args_type && event->args_type != '{')
        fp_reader_note_at(reader, FP_NOTE_ODD_ARGS, (size_t)(event->raw.at - reader->block->text),
                          event->number, NULL);
    return code;
}

static inline void begin_event(struct fp_reader *reader) {
    struct fp_trace_event *event = &reader->event;
    event->number = reader->events;
    event->byte =
        reader->block->offset + (uint64_t)(event->raw.at - reader->block->text) - reader->block->head;
    event->cat_id = event->name_id = FP_NO_ID;
}

int fp_event_finish(struct fp_reader *reader, const uint32_t *top, const struct fp_values *values) {
    struct fp_trace_event *event = &reader->event;
    const unsigned known = values->known;
#define FIELD(key) (top[key] == FP_NO_FIELD ? NULL : &event->fields[top[key]])
#define KNOWN(key) (known >> (key)&1)
    begin_event(reader);
    event->ids_known = 0;
    const struct fp_trace_field *ph = FIELD(FP_TOP_PH), *name = FIELD(FP_TOP_NAME), *cat = FIELD(FP_TOP_CAT);
    event->phase = phase_of(ph);
    read_id(FIELD(FP_TOP_PID), KNOWN(FP_TOP_PID), values->pid, &event->pid);
    read_id(FIELD(FP_TOP_TID), KNOWN(FP_TOP_TID), values->tid, &event->tid);
    read_id(FIELD(FP_TOP_ID), KNOWN(FP_TOP_ID), values->id, &event->id);
    read_times(reader, FIELD(FP_TOP_TS), FIELD(FP_TOP_DUR), values);
    int code = read_cat(reader, cat ? cat : &empty);
    if (!code)
        code = read_name(reader, name ? name : &empty, KNOWN(FP_TOP_NAME), values->name_hash);
    return code ? code : finish_on_lane(reader);
#undef KNOWN
#undef FIELD
}

static inline void take_id(const struct fp_trace_event *event, uint64_t number, uint16_t at, uint8_t size,
                           struct fp_trace_id *id) {
    id->text.at = event->raw.at + at;
    id->text.size = size;
    id->number = number;
    id->kind = FP_ID_NUMBER;
    id->quoted = false;
}

static inline int take_cat(struct fp_reader *reader, const struct fp_trace_field *field, uint32_t number) {
    struct fp_trace_event *event = &reader->event;
    struct fp_digested_text *text = &reader->digested[number - 1];
    if (!text->cat_id) {
        int code = read_cat(reader, field);
        if (code)
            return code;
        text->cat_id = event->cat_id + 1;
        text->category = event->category;
    }
    event->cat_id = text->cat_id - 1;
    event->category = text->category;
    event->cat = fp_intern_text(reader->names, event->cat_id);
    return 0;
}

static inline int take_name(struct fp_reader *reader, const struct fp_trace_field *field, uint32_t number) {
    struct fp_trace_event *event = &reader->event;
    struct fp_digested_text *text = &reader->digested[number ? number - 1 : 0];
    if (!number || !text->name_id) {
        int code = read_name(reader, field, true, fp_text_hash(field->value, field->value_size));
        if (!code && number)
            text->name_id = event->name_id + 1;
        return code;
    }
    event->name_id = text->name_id - 1;
    event->name = event->name_raw = fp_intern_text(reader->names, event->name_id);
    event->name_escaped = false;
    return 0;
}

int fp_event_finish_digest(struct fp_reader *reader, const uint32_t *top, const struct fp_digest *digest) {
    struct fp_trace_event *event = &reader->event;
#define FIELD(key) (top[key] == FP_NO_FIELD ? &empty : &event->fields[top[key]])
    begin_event(reader);
    event->phase = digest->phase;
    take_id(event, digest->pid, digest->pid_at, digest->pid_size, &event->pid);
    take_id(event, digest->tid, digest->tid_at, digest->tid_size, &event->tid);
    if (digest->id_size)
        take_id(event, digest->id, digest->id_at, digest->id_size, &event->id);
    else
        event->id = absent;
    event->ts_quoted = false;
    event->ts_state = FP_NUMBER_OK;
    event->ts_ns = digest->ts_ns;
    event->dur_state = digest->has_dur ? FP_NUMBER_OK : FP_NUMBER_ABSENT;
    event->dur_ns = digest->has_dur ? digest->dur_ns : 0;
    reader->fractions |= digest->fractions;
    event->ids_known = digest->ids_known;
    event->external_id = digest->external_id;
    event->correlation = digest->correlation;
    int code = take_cat(reader, FIELD(FP_TOP_CAT), digest->cat);
    if (!code)
        code = take_name(reader, FIELD(FP_TOP_NAME), digest->name);
    return code ? code : finish_on_lane(reader);
#undef FIELD
}

const struct fp_trace_field *fp_event_arg_named(const struct fp_trace_event *event, const char *key) {
    size_t size = strlen(key);
    for (uint32_t i = event->arg_count; i-- > 0;)
        if (event->args[i].key_size == size && memcmp(event->args[i].key, key, size) == 0)
            return &event->args[i];
    return NULL;
}

const struct fp_trace_field *fp_event_field(const struct fp_trace_event *event, const char *key) {
    size_t size = strlen(key);
    for (uint32_t i = event->field_count; i-- > 0;)
        if (event->fields[i].key_size == size && memcmp(event->fields[i].key, key, size) == 0)
            return &event->fields[i];
    return NULL;
}

bool fp_field_u64(const struct fp_trace_field *field, uint64_t *value) {
    if (!field)
        return false;
    if (field->plain == field->value_size + 1 && field->value_size <= 16) { // digits, in a padded block
        *value = fp_digits_value(field->value, field->value_size);
        return true;
    }
    return (field->type == '0' || field->type == '"') && fp_number_u64(fp_field_text(field), value);
}

bool fp_field_i64(const struct fp_trace_field *field, int64_t *value) {
    return field && (field->type == '0' || field->type == '"') && fp_number_i64(fp_field_text(field), value);
}

bool fp_field_double(const struct fp_trace_field *field, double *value) {
    return field && (field->type == '0' || field->type == '"') &&
           fp_number_double(fp_field_text(field), value);
}

bool fp_event_correlation(const struct fp_trace_event *event, uint64_t *value) {
    if (event->ids_known & FP_READ_CORRELATION) {
        *value = event->correlation;
        return *value != 0;
    }
    return fp_field_u64(fp_event_arg(event, FP_ARG_CORRELATION), value) && *value != 0;
}

bool fp_event_external_id(const struct fp_trace_event *event, uint64_t *value) {
    if (event->ids_known & FP_READ_EXTERNAL_ID) {
        *value = event->external_id;
        return true;
    }
    const struct fp_trace_field *field = fp_event_arg(event, FP_ARG_EXTERNAL_ID);
    return fp_field_u64(field ? field : fp_event_arg(event, FP_ARG_EXTERNAL_ID_OLD), value);
}

// Behind a string, given the byte behind its opening quote: the byte behind the closing one.
static const char *string_end(const char *at, const char *end) {
    while (at < end && *at != '"')
        at += *at == '\\' ? 2 : 1;
    return at < end ? at + 1 : end;
}

static const char *value_end(const char *at, const char *end) {
    if (*at == '"')
        return string_end(at + 1, end);
    if (*at != '{' && *at != '[') {
        while (at < end && !strchr(",]} \t\r\n", *at))
            at++;
        return at;
    }
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = string_end(at + 1, end);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            break;
    }
    return at;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

struct fp_json_walk fp_json_walk_begin(struct fp_text text) {
    if (!text.size) // nothing was there: text.at may be NULL
        return (struct fp_json_walk){ text.at, text.at, false };
    const char *end = text.at + text.size;
    const char *at = skip_blanks(text.at, end);
    bool nested = at < end && (*at == '{' || *at == '[');
    return (struct fp_json_walk){ nested ? at + 1 : end, end, nested && *at == '{' };
}

bool fp_json_walk_next(struct fp_json_walk *walk, struct fp_trace_field *field) {
    const char *at = skip_blanks(walk->at, walk->end), *end = walk->end;
    if (at < end && *at == ',')
        at = skip_blanks(at + 1, end);
    if (at >= end || *at == '}' || *at == ']')
        return false;
    *field = (struct fp_trace_field){ 0 };
    if (walk->object) {
        const char *key_end = string_end(at + 1, end);
        field->key = at + 1;
        field->key_size = (uint32_t)(key_end - at) - 2;
        at = skip_blanks(key_end, end);
        at = skip_blanks(at + (at < end), end);
        if (at >= end)
            return false;
    }
    const char *behind = value_end(at, end);
    bool quoted = *at == '"';
    field->value = at + quoted;
    field->value_size = (uint32_t)(behind - at) - (quoted ? 2 : 0);
    field->type = strchr("\"{[tfn", *at) ? *at : '0';
    walk->at = behind;
    return true;
}

bool fp_json_find(struct fp_text object, const char *key, struct fp_trace_field *field) {
    struct fp_json_walk walk = fp_json_walk_begin(object);
    size_t size = strlen(key);
    bool found = false;
    struct fp_trace_field each;
    while (fp_json_walk_next(&walk, &each))
        if (walk.object && each.key_size == size && memcmp(each.key, key, size) == 0) {
            *field = each;
            found = true;
        }
    return found;
}
