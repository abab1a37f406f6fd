// emit.c - a trace written from another one.
//
// In:  an event's text and edits.
// Out: the text with the edits spliced in, mended where it is no JSON, laid out anew where a style is
//      asked for. Most events take the short way: no edit, nothing to mend, copied.

#include "analysis/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *at;
    size_t used, room;
};

struct fp_emit {
    struct fp_output *output;
    struct fp_emit_options options;
    fp_emit_header_filter *filter;
    void *filter_user;
    size_t next_header;
    const char *last_key, *last_value;
    bool begun, listed; // '{' was written; the list was opened
    bool any_key;
    uint64_t events;
    int failed;
    struct buffer edited;
    struct fp_mender mender;
};

struct fp_emit *fp_emit_new(struct fp_output *output, const struct fp_emit_options *options) {
    struct fp_emit *emit = calloc(1, sizeof(*emit));
    if (!emit)
        return NULL;
    emit->output = output;
    memcpy(&emit->options, options, options->size < sizeof(*options) ? options->size : sizeof(*options));
    emit->mender.salvaged = emit->options.salvaged;
    return emit;
}

void fp_emit_free(struct fp_emit *emit) {
    if (!emit)
        return;
    free(emit->edited.at);
    fp_mender_free(&emit->mender);
    free(emit);
}

void fp_emit_set_salvaged(struct fp_emit *emit, bool salvaged) {
    emit->mender.salvaged = salvaged;
}

void fp_emit_set_header_filter(struct fp_emit *emit, fp_emit_header_filter *filter, void *user) {
    emit->filter = filter;
    emit->filter_user = user;
}

static void append(struct fp_emit *emit, struct buffer *buffer, const char *at, size_t size) {
    if (size > buffer->room - buffer->used) {
        size_t room = (buffer->used + size) * 2 + 256;
        char *grown = realloc(buffer->at, room);
        if (!grown) {
            emit->failed = -ENOMEM;
            return;
        }
        buffer->at = grown;
        buffer->room = room;
    }
    if (size)
        memcpy(buffer->at + buffer->used, at, size);
    buffer->used += size;
}

static void append_text(struct fp_emit *emit, struct buffer *buffer, const char *text) {
    append(emit, buffer, text, strlen(text));
}

// Layout.

static void new_line(struct fp_emit *emit, unsigned depth) {
    static const char blanks[] = "\n                                ";
    fp_output_write(emit->output, blanks, 1 + (depth * 2 < 32 ? depth * 2 : 32));
}

static size_t skip_blanks(struct fp_text text, size_t i) {
    while (i < text.size &&
           (text.at[i] == ' ' || text.at[i] == '\t' || text.at[i] == '\r' || text.at[i] == '\n'))
        i++;
    return i;
}

// Behind the string that begins at i.
static size_t string_end(struct fp_text text, size_t i) {
    for (i++; i < text.size && text.at[i] != '"'; i++)
        i += text.at[i] == '\\';
    return i < text.size ? i + 1 : text.size;
}

// The text without blanks, or with one member a line.
static void lay_out(struct fp_emit *emit, struct fp_text text, unsigned depth) {
    bool pretty = emit->options.style == FP_EMIT_PRETTY;
    for (size_t i = skip_blanks(text, 0); i < text.size; i = skip_blanks(text, i)) {
        char c = text.at[i];
        if (c == '"') {
            size_t end = string_end(text, i);
            fp_output_write(emit->output, text.at + i, end - i);
            i = end;
            continue;
        }
        size_t next = skip_blanks(text, i + 1);
        bool empty =
            next < text.size && ((c == '{' && text.at[next] == '}') || (c == '[' && text.at[next] == ']'));
        if (empty) {
            fp_output_text(emit->output, c == '{' ? "{}" : "[]");
            i = next + 1;
            continue;
        }
        if ((c == '}' || c == ']') && depth)
            depth--;
        if (pretty && (c == '}' || c == ']'))
            new_line(emit, depth);
        fp_output_write(emit->output, &c, 1);
        depth += c == '{' || c == '[';
        if (pretty && (c == '{' || c == '[' || c == ','))
            new_line(emit, depth);
        else if (pretty && c == ':')
            fp_output_text(emit->output, " ");
        i++;
    }
}

static void put(struct fp_emit *emit, struct fp_text text, unsigned depth) {
    text = fp_mend_json(&emit->mender, text);
    if (emit->options.style == FP_EMIT_AS_IS)
        fp_output_write(emit->output, text.at, text.size);
    else
        lay_out(emit, text, depth);
}

// Top-level keys.

static bool compact(const struct fp_emit *emit) {
    return emit->options.style == FP_EMIT_COMPACT;
}

static void begin_key(struct fp_emit *emit) {
    if (!emit->begun)
        fp_output_text(emit->output, "{");
    emit->begun = true;
    if (emit->any_key)
        fp_output_text(emit->output, ",");
    if (!compact(emit))
        new_line(emit, emit->options.style == FP_EMIT_PRETTY);
    emit->any_key = true;
}

void fp_emit_header(struct fp_emit *emit, struct fp_text key, struct fp_text value) {
    if (emit->options.array_form)
        return;
    begin_key(emit);
    fp_output_text(emit->output, "\"");
    struct fp_text mended = key;
    if (fp_mend_needed(&emit->mender, key)) { // as a string of its own, so that it is looked through as one
        emit->edited.used = 0;
        append_text(emit, &emit->edited, "\"");
        append(emit, &emit->edited, key.at, key.size);
        append_text(emit, &emit->edited, "\"");
        mended = fp_mend_json(&emit->mender, (struct fp_text){ emit->edited.at, emit->edited.used });
        if (mended.size >= 2)
            mended = (struct fp_text){ mended.at + 1, mended.size - 2 };
    }
    fp_output_write(emit->output, mended.at, mended.size);
    fp_output_text(emit->output, compact(emit) ? "\":" : "\": ");
    put(emit, value, 1);
}

void fp_emit_set_last(struct fp_emit *emit, const char *key, const char *value) {
    emit->last_key = key;
    emit->last_value = value;
}

static void emit_headers(struct fp_emit *emit, const struct fp_reader *reader, bool behind_too) {
    for (; emit->next_header < fp_reader_header_count(reader); emit->next_header++) {
        const struct fp_trace_header *header = fp_reader_header(reader, emit->next_header);
        if (header->after_events && !behind_too)
            break;
        struct fp_text value = header->value;
        if (header->kept && (!emit->filter || emit->filter(emit->filter_user, header, &value)))
            fp_emit_header(emit, header->key, value);
    }
}

void fp_emit_headers(struct fp_emit *emit, const struct fp_reader *reader) {
    emit_headers(emit, reader, emit->listed);
}

static void open_list(struct fp_emit *emit) {
    if (emit->listed)
        return;
    if (emit->options.array_form) {
        fp_output_text(emit->output, "[");
    } else {
        begin_key(emit);
        fp_output_text(emit->output, compact(emit) ? "\"traceEvents\":[" : "\"traceEvents\": [");
    }
    emit->listed = true;
}

// Events.

static unsigned event_depth(const struct fp_emit *emit) {
    return emit->options.array_form ? 1 : 2;
}

void fp_emit_text(struct fp_emit *emit, struct fp_text event) {
    open_list(emit);
    if (emit->events++)
        fp_output_text(emit->output, ",");
    if (!compact(emit))
        new_line(emit, emit->options.style == FP_EMIT_PRETTY ? event_depth(emit) : 0);
    put(emit, event, event_depth(emit));
}

// The whole value in the event's text, quotes included.
static struct fp_text whole_value(const struct fp_trace_field *field) {
    bool quoted = field->type == '"';
    return (struct fp_text){ field->value - quoted, field->value_size + 2u * quoted };
}

static const struct fp_edit *edit_of(const struct fp_edit *edits, size_t count,
                                     const struct fp_trace_field *field) {
    for (size_t i = 0; i < count; i++)
        if (edits[i].field == field && edits[i].kind <= FP_EDIT_REMOVE)
            return &edits[i];
    return NULL;
}

static void append_member(struct fp_emit *emit, bool *any, const char *key, size_t key_size,
                          struct fp_text value) {
    struct buffer *to = &emit->edited;
    append_text(emit, to, *any ? ", \"" : "\"");
    append(emit, to, key, key_size);
    append_text(emit, to, "\": ");
    append(emit, to, value.at, value.size);
    *any = true;
}

static void append_added(struct fp_emit *emit, bool *any, enum fp_edit_kind kind, const struct fp_edit *edits,
                         size_t count) {
    for (size_t i = 0; i < count; i++)
        if (edits[i].kind == kind)
            append_member(emit, any, edits[i].key, strlen(edits[i].key), edits[i].value);
}

// The args object anew, member by member.
static void append_args(struct fp_emit *emit, const struct fp_trace_event *event, const struct fp_edit *edits,
                        size_t count) {
    bool any = false;
    append_text(emit, &emit->edited, "{");
    for (uint32_t i = 0; i < event->arg_count; i++) {
        const struct fp_trace_field *arg = &event->args[i];
        const struct fp_edit *edit = edit_of(edits, count, arg);
        if (!edit || edit->kind == FP_EDIT_SET)
            append_member(emit, &any, arg->key, arg->key_size, edit ? edit->value : whole_value(arg));
    }
    append_added(emit, &any, FP_EDIT_ADD_ARG, edits, count);
    append_text(emit, &emit->edited, "}");
}

static bool touches_args(const struct fp_trace_event *event, const struct fp_edit *edits, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (edits[i].kind == FP_EDIT_ADD_ARG || (event->arg_count && edits[i].field >= event->args &&
                                                 edits[i].field < event->args + event->arg_count))
            return true;
    return false;
}

static bool is_args(const struct fp_trace_field *field) {
    return field->key_size == 4 && memcmp(field->key, "args", 4) == 0;
}

// The event anew, member by member: for edits that take members away or add some.
static void rebuild(struct fp_emit *emit, const struct fp_trace_event *event, const struct fp_edit *edits,
                    size_t count) {
    bool any = false, args = touches_args(event, edits, count), seen_args = false;
    append_text(emit, &emit->edited, "{");
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct fp_trace_field *field = &event->fields[i];
        const struct fp_edit *edit = edit_of(edits, count, field);
        if (edit && edit->kind == FP_EDIT_REMOVE)
            continue;
        if (args && is_args(field) && field->type == '{' && !edit) {
            if (!seen_args) {
                append_member(emit, &any, "args", 4, (struct fp_text){ "", 0 });
                append_args(emit, event, edits, count);
            }
            seen_args = true;
            continue;
        }
        append_member(emit, &any, field->key, field->key_size, edit ? edit->value : whole_value(field));
    }
    append_added(emit, &any, FP_EDIT_ADD, edits, count);
    if (args && !seen_args) {
        append_member(emit, &any, "args", 4, (struct fp_text){ "", 0 });
        append_args(emit, event, edits, count);
    }
    append_text(emit, &emit->edited, "}");
}

// Only values change: everything between them stays as it stood.
static void splice(struct fp_emit *emit, const struct fp_trace_event *event, const struct fp_edit *edits,
                   size_t count) {
    const char *at = event->raw.at, *end = at + event->raw.size;
    for (;;) { // a handful of edits: the next one in the text's order is looked for each time
        const struct fp_edit *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (whole_value(edits[i].field).at >= at &&
                (!next || whole_value(edits[i].field).at < whole_value(next->field).at))
                next = &edits[i];
        if (!next)
            break;
        struct fp_text old = whole_value(next->field);
        append(emit, &emit->edited, at, (size_t)(old.at - at));
        append(emit, &emit->edited, next->value.at, next->value.size);
        at = old.at + old.size;
    }
    append(emit, &emit->edited, at, (size_t)(end - at));
}

void fp_emit_event(struct fp_emit *emit, const struct fp_trace_event *event, const struct fp_edit *edits,
                   size_t count) {
    bool sets_only = true;
    for (size_t i = 0; i < count; i++)
        sets_only = sets_only && edits[i].kind == FP_EDIT_SET;
    if (!count) {
        fp_emit_text(emit, event->raw);
        return;
    }
    emit->edited.used = 0;
    (sets_only ? splice : rebuild)(emit, event, edits, count);
    if (!emit->failed)
        fp_emit_text(emit, (struct fp_text){ emit->edited.at, emit->edited.used });
}

int fp_emit_end(struct fp_emit *emit, const struct fp_reader *reader) {
    if (reader && !emit->listed)
        fp_emit_headers(emit, reader);
    open_list(emit);
    if (!compact(emit))
        new_line(emit, emit->options.style == FP_EMIT_PRETTY && emit->events ? event_depth(emit) - 1 : 0);
    fp_output_text(emit->output, "]");
    if (reader)
        fp_emit_headers(emit, reader);
    if (emit->last_key)
        fp_emit_header(emit, fp_text_of(emit->last_key), fp_text_of(emit->last_value));
    if (!emit->options.array_form) {
        if (!compact(emit))
            new_line(emit, 0);
        fp_output_text(emit->output, "}");
    }
    fp_output_text(emit->output, "\n");
    return fp_emit_state(emit);
}

int fp_emit_state(const struct fp_emit *emit) {
    return emit->failed ? emit->failed : emit->mender.failed ? -ENOMEM : fp_output_state(emit->output);
}

uint64_t fp_emit_events(const struct fp_emit *emit) {
    return emit->events;
}

const struct fp_mended *fp_emit_mended(const struct fp_emit *emit) {
    return &emit->mender.mended;
}
