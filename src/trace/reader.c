// reader.c - what stands where in a trace file: the list of events, the keys beside it, and how it may end.
//
// In:  indexed blocks.
// Out: events, the header, notes. A small machine of places in the file's grammar: each step reads one
//      thing (a key with its value, an event, a comma) and is repeated from its start when the block ends
//      within it.

#include "trace/reader_internal.h"

#include <errno.h>
#include <stdlib.h>

#define HEADER_LIMIT ((uint64_t)64 << 20)
#define SALVAGE_WINDOW ((size_t)4096)    // indexed at once: behind a fault it was for nothing
#define THREAD_WORTH ((uint64_t)4 << 20) // stored bytes below which a second thread does not pay

static const struct fp_reader_options defaults = { .size = sizeof(struct fp_reader_options) };

static struct fp_reader_options options_of(const struct fp_reader_options *given) {
    struct fp_reader_options options = defaults;
    if (given)
        memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
    if (!options.block_bytes)
        options.block_bytes = 64 * 1024; // with its index of fields it stays in a core's own cache
    if (options.block_bytes < 64)
        options.block_bytes = 64;
    if (!options.value_limit)
        options.value_limit = (uint64_t)256 << 20;
    return options;
}

int fp_reader_open_source(struct fp_source *source, const struct fp_reader_options *given,
                          struct fp_reader **out, struct fp_error *err) {
    struct fp_reader_options options = options_of(given);
    struct fp_reader *reader = calloc(1, sizeof(*reader));
    *out = NULL;
    if (!reader) {
        fp_error_set(err, "%s: not enough memory to read it", fp_source_name(source));
        fp_source_close(source);
        return -ENOMEM;
    }
    fp_arg_prepare();
    memset(reader->arg_after, FP_ARG_COUNT, sizeof(reader->arg_after));
    fp_fast_begin(&reader->fast);
    reader->salvage = options.salvage;
    reader->value_limit = options.value_limit;
    int threads = options.threads;
    if (threads == 0)
        threads = fp_source_size(source) >= THREAD_WORTH ? 2 : 1;
    reader->threads = threads > 1 ? 2 : 1;
    reader->names = fp_intern_new();
    reader->lane_texts = fp_intern_new();
    reader->digested = calloc(threads > 1 ? FP_DIGEST_TEXTS : 1, sizeof(*reader->digested));
    if (!reader->names || !reader->lane_texts || !reader->digested) {
        fp_error_set(err, "%s: not enough memory to read it", fp_source_name(source));
        fp_source_close(source);
        fp_reader_close(reader);
        return -ENOMEM;
    }
    int code =
        fp_blocks_open(source, options.block_bytes, threads, options.value_limit, &reader->blocks, err);
    if (code) {
        fp_reader_close(reader);
        return code;
    }
    *out = reader;
    return 0;
}

int fp_reader_open(const char *path, const struct fp_reader_options *options, struct fp_reader **reader,
                   struct fp_error *err) {
    struct fp_source *source;
    *reader = NULL;
    int code = fp_source_open_as(path, options_of(options).name, &source, err);
    return code ? code : fp_reader_open_source(source, options, reader, err);
}

void fp_reader_close(struct fp_reader *reader) {
    if (!reader)
        return;
    fp_blocks_close(reader->blocks);
    fp_intern_free(reader->names);
    fp_intern_free(reader->lane_texts);
    free(reader->digested);
    for (size_t i = 0; i < reader->header_count; i++)
        free(reader->headers[i].text);
    free(reader->headers);
    fp_fast_end(&reader->fast);
    free(reader->stack);
    free(reader->fields);
    free(reader->args);
    free(reader->decoded);
    free(reader->lanes);
    free(reader->lane_table);
    free(reader->processes);
    free(reader);
}

static const char *name_of(const struct fp_reader *reader) {
    return fp_source_name(fp_blocks_source(reader->blocks));
}

static int no_memory(const struct fp_reader *reader, struct fp_error *err) {
    fp_error_set(err, "%s: not enough memory after %llu events", name_of(reader),
                 (unsigned long long)reader->events);
    return -ENOMEM;
}

// The next block, keeping what the current step has not finished. -ENODATA at the end of the text.
static int more_text(struct fp_reader *reader, struct fp_error *err) {
    struct fp_block *block = reader->block;
    size_t keep = 0;
    if (block) {
        if (block->last)
            return -ENODATA;
        keep = reader->entry < block->index_end ? block->index[reader->entry] : block->end;
    }
    int code = fp_blocks_next(reader->blocks, keep, err);
    if (code)
        return code == -ENODATA ? -EIO : code;
    block = reader->block = fp_blocks_current(reader->blocks);
    reader->indexed = false;
    reader->at = block->start;
    reader->special = 0;
    if (block->bad_utf8) {
        for (unsigned i = 0; i < FP_SCAN_BAD_PLACES && i < block->bad_utf8; i++)
            fp_reader_note_at(reader, FP_NOTE_BAD_UTF8, block->bad_place[i], UINT64_MAX, NULL);
        if (block->bad_utf8 > FP_SCAN_BAD_PLACES)
            reader->notes[FP_NOTE_BAD_UTF8].count += block->bad_utf8 - FP_SCAN_BAD_PLACES;
    }
    return 0;
}

// Notes the fault; without salvage, ends the reading with its sentence.
static int meet_fault(struct fp_reader *reader, struct fp_error *err) {
    const char *cause = fp_fault_cause(reader);
    struct fp_place place;
    fp_reader_note_at(reader, FP_NOTE_JSON_FAULT, reader->fault.at, reader->events, cause);
    if (reader->list_done)
        fp_reader_note_at(reader, FP_NOTE_TRAILER_BAD, reader->fault.at, UINT64_MAX, cause);
    if (reader->salvage) // it goes on: the notes say what was met
        return -EBADMSG;
    fp_reader_place_of(reader, reader->fault.at, &place);
    if (reader->list_done) {
        fp_error_set(
            err,
            "%s: line %llu, column %llu (byte %llu): %s. All %llu events before it were read; only what "
            "stands after them is broken",
            name_of(reader), (unsigned long long)place.line, (unsigned long long)place.column,
            (unsigned long long)place.byte, cause, (unsigned long long)reader->events);
    } else {
        fp_error_set(err, "%s: line %llu, column %llu (byte %llu): %s. --salvage reads what else can be read",
                     name_of(reader), (unsigned long long)place.line, (unsigned long long)place.column,
                     (unsigned long long)place.byte, cause);
    }
    return -EBADMSG;
}

// A fault inside a string is harmless to what stands around it: salvage notes it and goes on.
static int check_specials(struct fp_reader *reader, size_t end, struct fp_error *err) {
    while (!fp_reader_check_specials(reader, end)) {
        int code = meet_fault(reader, err);
        if (!reader->salvage)
            return code;
    }
    return 0;
}

static int keep_header(struct fp_reader *reader, struct fp_text key, struct fp_text value) {
    if (reader->header_count == reader->header_room) {
        size_t room = reader->header_room ? reader->header_room * 2 : 16;
        struct fp_header_entry *grown = realloc(reader->headers, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        reader->headers = grown;
        reader->header_room = room;
    }
    bool kept = reader->header_bytes + key.size + value.size <= HEADER_LIMIT;
    if (!kept) {
        fp_reader_note_at(reader, FP_NOTE_HEADER_TOO_LARGE, (size_t)(value.at - reader->block->text),
                          UINT64_MAX, NULL);
        value.size = 0;
        if (key.size > HEADER_LIMIT / 1024 || reader->header_count > 100000)
            return 0; // hostile: no room for its name either
    }
    struct fp_header_entry *entry = &reader->headers[reader->header_count];
    entry->text = malloc(key.size + value.size + 1);
    if (!entry->text)
        return -ENOMEM;
    memcpy(entry->text, key.at, key.size);
    memcpy(entry->text + key.size, value.at, value.size);
    entry->text[key.size + value.size] = '\0';
    entry->header = (struct fp_trace_header){
        { entry->text, key.size }, { entry->text + key.size, value.size }, reader->list_done, kept
    };
    reader->header_bytes += key.size + value.size;
    reader->header_count++;
    return 0;
}

// How a step ends.
enum step {
    STEP_ON,
    STEP_EVENT,
    STEP_MORE,
    STEP_FAULT,
    STEP_END,
    STEP_MEMORY,
    STEP_SPECIAL,
    STEP_NOT_A_TRACE
};

static const char NO_LIST[] = "events stand one after the other without a list around them (JSON Lines?)";
static const char SECOND_DOCUMENT[] = "a second document begins here: files were put one behind the other";

static enum step walk_failed(size_t code) {
    return code == FP_WALK_MORE ? STEP_MORE : code == FP_WALK_FAULT ? STEP_FAULT : STEP_MEMORY;
}

static enum step fault_here(struct fp_reader *reader, const char *cause) {
    reader->fault = (struct fp_fault){ reader->block->index[reader->entry], cause };
    return STEP_FAULT;
}

static enum step not_a_trace(const struct fp_reader *reader, struct fp_error *err, const char *what) {
    const struct fp_source *source = fp_blocks_source(reader->blocks);
    if ((fp_source_flags(source) & FP_SOURCE_WRONG_SUFFIX) && fp_source_packing(source) == FP_PACKING_PLAIN) {
        fp_error_set(err, "%s: %s, and it is not packed as its name says. Is it a trace, and whole?",
                     name_of(reader), what);
        return STEP_NOT_A_TRACE;
    }
    fp_error_set(
        err,
        "%s: %s, where a list of events or an object with the key traceEvents is expected. Is it a trace?",
        name_of(reader), what);
    return STEP_NOT_A_TRACE;
}

// What stands at the beginning is of another kind altogether. False where it is not known.
static bool name_foreign(const struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    const struct fp_foreign *foreign = fp_foreign_find(block->text + block->start, block->end - block->start);
    if (foreign)
        fp_error_set(err, "%s: this is %s instead of a trace in JSON. %s", name_of(reader), foreign->what,
                     foreign->cure);
    return foreign != NULL;
}

// Events one after the other, without a list around them (JSON Lines): salvage reads them as if it were there.
static enum step begin_bare(struct fp_reader *reader, struct fp_error *err) {
    reader->fault = (struct fp_fault){ reader->block->index[reader->entry], NO_LIST };
    (void)meet_fault(reader, err);
    reader->in_object = false;
    reader->seen_list = reader->bare = true;
    reader->list_done = false;
    reader->place = FP_AT_EVENT;
    return STEP_ON;
}

static enum step step_top(struct fp_reader *reader, char c, struct fp_error *err) {
    if (c == '{' && reader->salvage) {
        int code = fp_salvage_is_event(reader, reader->block->index[reader->entry]);
        if (code < 0)
            return STEP_MEMORY;
        if (code > 0)
            return begin_bare(reader, err);
    }
    if (c == '[' || c == '{') {
        reader->in_object = c == '{';
        reader->entry++;
        reader->place = c == '[' ? FP_AT_FIRST_EVENT : FP_AT_FIRST_KEY;
        if (c == '[' && reader->seen_list)
            fp_reader_note_at(reader, FP_NOTE_SECOND_LIST, reader->block->index[reader->entry - 1],
                              UINT64_MAX, NULL);
        if (c == '[') {
            reader->seen_list = true;
            reader->list_done = false;
        }
        return STEP_ON;
    }
    if (name_foreign(reader, err))
        return STEP_NOT_A_TRACE;
    if ((c == '/' || c == '#') && !reader->salvage)
        return fault_here(reader, "a comment");
    if (c == '"')
        return not_a_trace(reader, err, "a bare text stands at the beginning");
    if ((c >= '0' && c <= '9') || c == '-')
        return not_a_trace(reader, err, "a bare number stands at the beginning");
    if (c == 't' || c == 'f' || c == 'n')
        return not_a_trace(reader, err, "a bare word stands at the beginning");
    return not_a_trace(reader, err, "no JSON stands at the beginning");
}

// Where the value that begins with `c` ends, `behind` being the entry behind it. A scalar's end is only known from
// what follows it, so that everything before that is checked.
static size_t end_of_value(const struct fp_block *block, char c, size_t behind) {
    return c == '{' || c == '[' ? block->index[behind - 1] : block->index[behind];
}

// A key beside the list and its value, or the beginning of the list.
static enum step step_key(struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    const uint32_t *index = block->index + reader->entry;
    const char *text = block->text;
    if (text[index[0]] != '"')
        return fault_here(reader, "a key in double quotes is expected here");
    if (index[1] >= block->end || index[2] >= block->end)
        return STEP_MORE;
    if (text[index[1]] != ':') {
        reader->fault = (struct fp_fault){ index[1], "a colon is expected here" };
        return STEP_FAULT;
    }
    struct fp_text key = { text + index[0] + 1, 0 };
    size_t key_end = index[1];
    while (text[key_end - 1] != '"')
        key_end--;
    key.size = key_end - index[0] - 2;
    char c = text[index[2]];
    if (fp_text_equals(key, "traceEvents")) {
        if (c == '[') {
            if (reader->seen_list)
                fp_reader_note_at(reader, FP_NOTE_SECOND_LIST, index[0], UINT64_MAX, NULL);
            reader->seen_list = true;
            reader->list_done = false;
            reader->entry += 3;
            reader->place = FP_AT_FIRST_EVENT;
            return STEP_ON;
        }
        if (c == '{' && reader->nested < 8) {
            fp_reader_note_at(reader, FP_NOTE_NESTED_EVENTS, index[2], UINT64_MAX, NULL);
            reader->nested++;
            reader->entry += 3;
            reader->place = FP_AT_FIRST_KEY;
            return STEP_ON;
        }
        return not_a_trace(reader, err,
                           c == '"'   ? "traceEvents is a text"
                           : c == 'n' ? "traceEvents is null"
                           : c == '{' ? "traceEvents is an object in an object in an object"
                                      : "traceEvents is a bare value");
    }
    reader->mild.cause = NULL;
    size_t behind = fp_walk_value(reader, reader->entry + 2);
    if (behind >= FP_WALK_MEMORY)
        return walk_failed(behind);
    if (reader->mild.cause) {
        reader->fault = reader->mild;
        (void)meet_fault(reader, err);
    }
    if (keep_header(reader, key, fp_walk_text(reader, reader->entry + 2, behind)) != 0)
        return STEP_MEMORY;
    reader->entry = behind;
    reader->place = FP_AT_OBJECT_NEXT;
    return check_specials(reader, end_of_value(block, c, behind), err) ? STEP_SPECIAL : STEP_ON;
}

static enum step close_object(struct fp_reader *reader) {
    reader->entry++;
    if (reader->nested) {
        reader->nested--;
        reader->place = FP_AT_OBJECT_NEXT;
    } else {
        reader->object_closed = true;
        reader->place = FP_AT_TRAILER;
    }
    return STEP_ON;
}

static enum step close_list(struct fp_reader *reader) {
    reader->entry++;
    reader->list_done = true;
    reader->place = reader->in_object ? FP_AT_OBJECT_NEXT : FP_AT_TRAILER;
    return STEP_ON;
}

// Salvage: the event is kept; a counter's sample without a value counts as skipped.
static void meet_mild_fault(struct fp_reader *reader, struct fp_error *err) {
    reader->fault = reader->mild;
    (void)meet_fault(reader, err);
    if (reader->not_finite && reader->event.phase == 'C')
        fp_reader_note_at(reader, FP_NOTE_COUNTER_NOT_FINITE, reader->fault.at, reader->events, NULL);
}

static enum step step_element(struct fp_reader *reader, char c, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    reader->mild.cause = NULL;
    size_t behind = c == '{' ? fp_walk_event(reader, reader->entry) : fp_walk_value(reader, reader->entry);
    if (behind >= FP_WALK_MEMORY)
        return walk_failed(behind);
    if (c == '{') {
        static const struct fp_values none;
        if (fp_event_finish(reader, reader->top, &none) != 0)
            return STEP_MEMORY;
    } else {
        fp_reader_note_at(reader, FP_NOTE_NOT_AN_OBJECT, block->index[reader->entry], UINT64_MAX, NULL);
        reader->objects_skipped++;
    }
    if (reader->special < block->special_end &&
        check_specials(reader, end_of_value(block, c, behind), err) != 0)
        return STEP_SPECIAL;
    if (reader->mild.cause)
        meet_mild_fault(reader, err);
    reader->entry = behind;
    reader->place = FP_AT_LIST_NEXT;
    if (c != '{')
        return STEP_ON;
    reader->events++;
    return STEP_EVENT;
}

// Makes an event that was read straight from the text the current one.
static inline void adopt(struct fp_reader *reader, const struct fp_parsed *parsed) {
    struct fp_trace_event *event = &reader->event;
    event->raw.at = parsed->raw.at;
    event->raw.size = parsed->raw.size;
    event->fields = parsed->fields;
    event->args = parsed->args;
    event->field_count = parsed->field_count;
    event->arg_count = parsed->arg_count;
    event->args_type = parsed->args_type;
    event->known_args = parsed->known_args;
    reader->mild.cause = NULL;
    reader->not_finite = false;
    reader->at = (size_t)(parsed->raw.at + parsed->raw.size - reader->block->text);
    reader->place = FP_AT_LIST_NEXT;
}

static int adopt_read_here(struct fp_reader *reader, const struct fp_parsed *parsed) {
    struct fp_values values;
    adopt(reader, parsed);
    for (uint32_t i = 0; i < parsed->arg_count; i++)
        reader->event.known_slot[parsed->args[i].known] = i;
    fp_fast_values(parsed, &values);
    return fp_event_finish(reader, parsed->top, &values);
}

static int adopt_read_ahead(struct fp_reader *reader, const struct fp_ahead_event *ahead) {
    const struct fp_parsed *parsed = &ahead->parsed;
    const struct fp_ahead_events *events = &reader->block->ahead;
    struct fp_values values;
    adopt(reader, parsed);
    const uint8_t *known = events->known + (parsed->args - events->args);
    for (uint32_t i = 0; i < parsed->arg_count; i++)
        reader->event.known_slot[known[i]] = i;
    if (ahead->digest.whole)
        return fp_event_finish_digest(reader, parsed->top, &ahead->digest);
    fp_fast_values(parsed, &values);
    return fp_event_finish(reader, parsed->top, &values);
}

// The next event straight from the text, where that can be done.
static bool step_fast(struct fp_reader *reader, enum step *step) {
    const char *text = reader->block->text, *end = text + reader->block->end;
    struct fp_fast *fast = &reader->fast;
    const bool behind_event = reader->place == FP_AT_LIST_NEXT;
    const struct fp_ahead_event *ahead =
        behind_event ? fp_ahead_follow(&reader->block->ahead, text + reader->at) : NULL;
    const char *from = NULL;
    int code;
    if (!ahead) {
        from = fp_fast_next(text + reader->at, end, behind_event);
        if (!from)
            return false;
        ahead = fp_ahead_take(&reader->block->ahead, from);
    }
    if (ahead) {
        code = adopt_read_ahead(reader, ahead);
    } else {
        fast->event.fields = reader->fields;
        fast->event.args = reader->args;
        fast->field_room = reader->field_room;
        fast->arg_room = reader->arg_room;
        if (!fp_fast_event(fast, from, end))
            return false;
        code = adopt_read_here(reader, &fast->event);
    }
    *step = code == 0 ? STEP_EVENT : STEP_MEMORY;
    reader->events++;
    return true;
}

static enum step step_list_next(struct fp_reader *reader, char c, struct fp_error *err) {
    if (c == ']')
        return close_list(reader);
    if (c == '{' && reader->salvage) { // a comma is missing, and no event with it
        (void)fault_here(reader, "a comma is missing before this brace");
        if (!reader->bare)
            (void)meet_fault(reader, err);
        reader->place = FP_AT_EVENT;
        return STEP_ON;
    }
    if (c != ',')
        return fault_here(reader, "a comma or a closing bracket is expected here");
    reader->entry++;
    reader->place = FP_AT_EVENT;
    return STEP_ON;
}

// Behind the trace begins another document. What stands in it is no trailer: it may be events.
static enum step step_document(struct fp_reader *reader, struct fp_error *err) {
    bool done = reader->list_done;
    (void)fault_here(reader, reader->seen_list ? SECOND_DOCUMENT : NO_LIST);
    reader->list_done = false;
    if (!reader->salvage)
        return STEP_FAULT;
    (void)meet_fault(reader, err);
    reader->list_done = done;
    reader->object_closed = false;
    reader->place = FP_AT_TOP;
    return STEP_ON;
}

static void index_from(struct fp_reader *reader, size_t at, size_t most) {
    fp_blocks_index(reader->blocks, at, most);
    reader->indexed = true;
    reader->window = most;
    reader->entry = 0;
    reader->special = 0;
}

// Indexes more of the block, from what the current step began with. False where it is indexed to its end.
static bool index_further(struct fp_reader *reader) {
    const struct fp_block *block = reader->block;
    if (!block || !reader->indexed || block->index_to == block->end)
        return false;
    size_t at = reader->entry < block->index_end ? block->index[reader->entry] : block->index_to;
    index_from(reader, at, reader->window * 4);
    return true;
}

// Salvage: steps over a comment, which costs no event. STEP_END where none begins here.
static enum step skip_comment(struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    const char *from = block->text + block->index[reader->entry], *end = block->text + block->end;
    bool line = from[0] == '#' || (from[0] == '/' && from[1] == '/');
    if (from + 1 == end && !block->last)
        return STEP_MORE;
    if (!line && (from[0] != '/' || from[1] != '*'))
        return STEP_END;
    const char *behind =
        line ? memchr(from, '\n', (size_t)(end - from)) : memmem(from + 2, (size_t)(end - from) - 2, "*/", 2);
    if (!behind && (!line || !block->last))
        return block->last ? STEP_END : STEP_MORE;
    (void)fault_here(reader, "a comment");
    (void)meet_fault(reader, err);
    reader->at = behind ? (size_t)(behind - block->text) + (line ? 1 : 2) : block->end;
    reader->indexed = false;
    reader->special = 0;
    reader->block->special_end = 0;
    return STEP_ON;
}

static enum step step(struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    bool in_list = reader->place >= FP_AT_FIRST_EVENT && reader->place <= FP_AT_LIST_NEXT;
    enum step fast;
    if (!block)
        return STEP_MORE;
    if (!reader->indexed) {
        if (in_list && block->clean && step_fast(reader, &fast))
            return fast;
        index_from(reader, reader->at, reader->salvage ? SALVAGE_WINDOW : SIZE_MAX);
    }
    if (reader->entry >= block->index_end)
        return STEP_MORE;
    char c = block->text[block->index[reader->entry]];
    if ((c == '/' || c == '#') && reader->salvage && (in_list || reader->place == FP_AT_TOP)) {
        enum step skipped = skip_comment(reader, err);
        if (skipped != STEP_END)
            return skipped;
    }
    switch (reader->place) {
    case FP_AT_TOP:
        return step_top(reader, c, err);
    case FP_AT_FIRST_KEY:
        return c == '}' ? close_object(reader) : step_key(reader, err);
    case FP_AT_KEY:
        return step_key(reader, err);
    case FP_AT_OBJECT_NEXT:
        if (c == '}')
            return close_object(reader);
        if (c != ',')
            return fault_here(reader, "a comma or a closing brace is expected here");
        reader->entry++;
        reader->place = FP_AT_KEY;
        return STEP_ON;
    case FP_AT_FIRST_EVENT:
        if (c == ']')
            return close_list(reader);
        // fallthrough
    case FP_AT_EVENT:
        if (reader->salvage && (c == ']' || c == ',')) { // a comma too many
            (void)fault_here(reader, "a value is missing before this comma");
            (void)meet_fault(reader, err);
            if (c == ']')
                return close_list(reader);
            reader->entry++;
            reader->place = FP_AT_EVENT;
            return STEP_ON;
        }
        return step_element(reader, c, err);
    case FP_AT_LIST_NEXT:
        return step_list_next(reader, c, err);
    case FP_AT_TRAILER:
        if (c == '{' || c == '[')
            return step_document(reader, err);
        return fault_here(reader, "something follows behind the end of the trace");
    default:
        return STEP_END;
    }
}

// Text from `from` to the end of the file that closes the list and, in the object form, what holds it, so
// that what could not be read in it was not cut off.
static bool tail_is_closed(const struct fp_reader *reader, size_t from) {
    const char *text = reader->block->text;
    size_t end = reader->block->end;
    while (end > from && strchr(" \t\r\n", text[end - 1]) && text[end - 1])
        end--;
    if (end == from || text[end - 1] != (reader->in_object ? '}' : ']'))
        return false;
    if (!reader->in_object)
        return true;
    for (size_t i = from; i < end; i++) { // "]" behind an event, and behind it the end or another key
        if (text[i] != ']')
            continue;
        size_t before = i, behind = i + 1;
        while (before > from && strchr(" \t\r\n", text[before - 1]) && text[before - 1])
            before--;
        while (behind < end && strchr(" \t\r\n", text[behind]) && text[behind])
            behind++;
        if (before > from && text[before - 1] == '}' && behind < end &&
            (text[behind] == ',' || behind + 1 == end))
            return true;
    }
    return false;
}

// The file goes on to its end within an event that began at `at`, and yet the end is there: a quote or brace
// in the event is missing or too many. As for any fault; in salvage the event is counted as lost.
static int meet_endless_event(struct fp_reader *reader, size_t at, struct fp_error *err) {
    reader->fault =
        (struct fp_fault){ at,
                           "an event that never ends, though the file does: a quote or a brace is missing "
                           "in it, or one too many" };
    int code = meet_fault(reader, err);
    if (!reader->salvage)
        return code;
    char shown[80];
    size_t left = reader->block->end - at;
    fp_reader_note_at(reader, FP_NOTE_EVENTS_LOST, at, reader->events,
                      fp_text_show((struct fp_text){ reader->block->text + at, left < 60 ? left : 60 }, shown,
                                   sizeof(shown)));
    reader->faults++;
    reader->lost_bytes += left;
    reader->lost_events++;
    return 0;
}

static int nothing_read(const struct fp_reader *reader, struct fp_error *err) {
    const struct fp_source *source = fp_blocks_source(reader->blocks);
    bool packed = fp_source_packing(source) != FP_PACKING_PLAIN;
    unsigned flags = fp_source_flags(source);
    fp_error_set(
        err, "%s%s", name_of(reader),
        flags & FP_SOURCE_CUT       ? " is cut short: nothing could be unpacked"
        : flags & FP_SOURCE_DAMAGED ? " is damaged: nothing could be unpacked"
        : packed && !reader->end_bytes
            ? " is empty when unpacked (0 bytes): the program that should have written it wrote nothing"
        : reader->notes[FP_NOTE_JSON_FAULT].count ? " holds nothing but comments"
                                                  : " holds nothing but blanks");
    return -ENODATA;
}

// The notes that only the end of the text can justify. Returns 0 or why this was no trace.
static int finish(struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    bool within = reader->entry < block->index_end;
    size_t at = within ? block->index[reader->entry] : block->end;
    enum fp_reader_place place = reader->place;
    reader->place = FP_AT_END;
    reader->end_bytes = block->offset + block->end - block->head;
    reader->end_lines = block->head_line + block->newlines - 1;
    unsigned flags = fp_source_flags(fp_blocks_source(reader->blocks));
    static const struct {
        unsigned flag;
        enum fp_note_kind note;
    } rows[] = {
        { FP_SOURCE_CUT, FP_NOTE_PACKING_CUT },
        { FP_SOURCE_DAMAGED, FP_NOTE_PACKING_DAMAGED },
        { FP_SOURCE_TRAILING_BYTES, FP_NOTE_PACKING_TRAILING },
        { FP_SOURCE_WRONG_SUFFIX, FP_NOTE_WRONG_SUFFIX },
        { FP_SOURCE_UTF16, FP_NOTE_UTF16 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (flags & rows[i].flag)
            reader->notes[rows[i].note].count++;
    if (place == FP_AT_TOP)
        return nothing_read(reader, err);
    if (reader->bare && !within) { // there is no list to close
        reader->list_done = true;
        place = FP_AT_TRAILER;
    }
    if (place == FP_AT_FIRST_EVENT || place == FP_AT_EVENT || place == FP_AT_LIST_NEXT) {
        if (within && place != FP_AT_LIST_NEXT && tail_is_closed(reader, at))
            return meet_endless_event(reader, at, err);
        if (within && place != FP_AT_LIST_NEXT)
            fp_reader_note_at(reader, FP_NOTE_EVENT_CUT, at, reader->events, NULL);
        fp_reader_note_at(reader, reader->in_object ? FP_NOTE_OBJECT_NOT_CLOSED : FP_NOTE_LIST_NOT_CLOSED, at,
                          UINT64_MAX, NULL);
    } else if (place != FP_AT_TRAILER) {
        fp_reader_note_at(reader, FP_NOTE_OBJECT_NOT_CLOSED, at, UINT64_MAX, NULL);
    }
    if (!reader->seen_list) {
        fp_error_set(err, "%s: an object without the key traceEvents%s. Is it a trace?", name_of(reader),
                     place == FP_AT_TRAILER ? "" : ", and it is cut short");
        return -ENODATA;
    }
    if (reader->events == 0 && reader->objects_skipped) {
        fp_error_set(err,
                     "%s: its list holds %llu elements and no event: an event is an object. Is it a trace?",
                     name_of(reader), (unsigned long long)reader->objects_skipped);
        return -ENODATA;
    }
    return 0;
}

static int end_with(struct fp_reader *reader, int code, struct fp_error *err) {
    reader->place = FP_AT_END;
    reader->ended = code;
    if (err)
        reader->end_error = *err;
    return code;
}

// Salvage: from a fault to the next event, or to the end.
static int step_over(struct fp_reader *reader, struct fp_error *err) {
    const struct fp_block *block = reader->block;
    size_t from = reader->entry < block->index_end ? block->index[reader->entry] : reader->fault.at;
    (void)meet_fault(reader, err);
    if (reader->list_done) // no event is lost
        return -ENODATA;
    reader->faults++;
    int code = fp_salvage_resume(reader, from, err);
    if (code == 0) {
        reader->place = FP_AT_EVENT;
        reader->seen_list = true;
    }
    return code;
}

int fp_reader_next(struct fp_reader *reader, const struct fp_trace_event **event, struct fp_error *err) {
    struct fp_error local;
    if (!err)
        err = &local;
    err->text[0] = '\0';
    while (reader->place != FP_AT_END) {
        int code;
        switch (step(reader, err)) {
        case STEP_ON:
            continue;
        case STEP_EVENT:
            *event = &reader->event;
            return 1;
        case STEP_MORE:
            if (index_further(reader))
                continue;
            code = more_text(reader, err);
            if (code == 0)
                continue;
            return end_with(reader, code == -ENODATA ? finish(reader, err) : code, err);
        case STEP_FAULT:
            if (!reader->salvage)
                return end_with(reader, meet_fault(reader, err), err);
            code = step_over(reader, err);
            if (code == 0)
                continue;
            if (code == -ENODATA) { // nothing more to be had
                reader->entry = reader->block->index_end;
                bool done = reader->list_done || tail_is_closed(reader, reader->lost_from);
                reader->place = FP_AT_TRAILER;
                code = finish(reader, err);
                if (!done && code == 0)
                    fp_reader_note_at(reader, FP_NOTE_OBJECT_NOT_CLOSED, reader->block->end, UINT64_MAX,
                                      NULL);
            }
            return end_with(reader, code, err);
        case STEP_SPECIAL:
            return end_with(reader, -EBADMSG, err);
        case STEP_NOT_A_TRACE:
            return end_with(reader, -ENODATA, err);
        case STEP_MEMORY:
            return end_with(reader, no_memory(reader, err), err);
        case STEP_END:
            reader->place = FP_AT_END;
            break;
        }
    }
    *err = reader->end_error;
    return reader->ended;
}

int fp_reader_run(struct fp_reader *reader, int (*each)(void *user, const struct fp_trace_event *event),
                  void *user, struct fp_error *err) {
    const struct fp_trace_event *event = NULL;
    int code;
    while ((code = fp_reader_next(reader, &event, err)) == 1) {
        int stop = each(user, event);
        if (stop)
            return stop;
    }
    return code;
}

const struct fp_intern *fp_reader_names(const struct fp_reader *reader) {
    return reader->names;
}

struct fp_intern *fp_reader_take_names(struct fp_reader *reader) {
    struct fp_intern *names = reader->names;
    reader->names = NULL;
    return names;
}

uint32_t fp_reader_lane_count(const struct fp_reader *reader) {
    return reader->lane_count;
}

const struct fp_lane *fp_reader_lane(const struct fp_reader *reader, uint32_t lane) {
    return &reader->lanes[lane];
}

size_t fp_reader_header_count(const struct fp_reader *reader) {
    return reader->header_count;
}

const struct fp_trace_header *fp_reader_header(const struct fp_reader *reader, size_t place) {
    return &reader->headers[place].header;
}

const struct fp_trace_header *fp_reader_header_named(const struct fp_reader *reader, const char *key) {
    for (size_t i = reader->header_count; i-- > 0;)
        if (fp_text_equals(reader->headers[i].header.key, key))
            return &reader->headers[i].header;
    return NULL;
}

bool fp_reader_base_time(const struct fp_reader *reader, int64_t *ns) {
    const struct fp_trace_header *header = fp_reader_header_named(reader, "baseTimeNanoseconds");
    if (!header || !header->value.size)
        return false;
    struct fp_text text = header->value;
    if (text.at[0] == '"')
        text = (struct fp_text){ text.at + 1, text.size - 2 };
    return fp_number_scaled(text, 0, ns, NULL) == FP_NUMBER_OK;
}

const struct fp_note *fp_reader_note(const struct fp_reader *reader, enum fp_note_kind kind) {
    return &reader->notes[kind];
}

int fp_reader_threads(const struct fp_reader *reader) {
    return reader->threads;
}

bool fp_reader_events_complete(const struct fp_reader *reader) {
    return reader->list_done && reader->faults == 0;
}

void fp_reader_summarise(const struct fp_reader *reader, struct fp_reader_summary *summary) {
    *summary = (struct fp_reader_summary){
        .events = reader->events,
        .faults = reader->faults,
        .lost_bytes = reader->lost_bytes,
        .lost_events = reader->lost_events,
        .bytes = reader->end_bytes,
        .lines = reader->end_lines,
        .array_form = !reader->in_object,
        .closed = reader->list_done && (!reader->in_object || reader->object_closed),
        .events_complete = reader->list_done,
        .whole_microseconds = !reader->fractions,
        .ts_text = reader->ts_text,
    };
}

const struct fp_source *fp_reader_source(const struct fp_reader *reader) {
    return fp_blocks_source(reader->blocks);
}
