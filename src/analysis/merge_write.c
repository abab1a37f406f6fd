// merge_write.c - the traces of many ranks as one: writing them.
//
// In:  the plan and each file's events.
// Out: the events with their numbers and times changed and everything else as it stood; names that say
//      whose a process is; the description of what was done to each file.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idmap.h"
#include "analysis/merge.h"
#include "analysis/metadata.h"
#include "analysis/secrets.h"

#define TEXT_ROOM 4096

// One event's edits; their texts live in one piece of memory.
struct change {
    struct fp_edit *edits;
    size_t count, edit_room;
    char *texts;
    size_t used, room;
};

struct writer {
    struct fp_merge *merge;
    struct fp_merge_file *file;
    size_t place;
    struct fp_emit *emit;
    const struct fp_cut *kept;
    struct fp_idmap said;    // hashes of metadata written
    struct fp_idmap new_ids; // where there are no blocks
    const struct fp_merge_process *last;
    struct change change;
    int failed;
};

// A copy of `size` bytes in the change's memory, which never moves while an event is dealt with: room is made
// before.
static struct fp_text keep_text(struct writer *writer, const char *text, size_t size) {
    struct change *change = &writer->change;
    if (size == 0)
        return (struct fp_text){ "", 0 };
    if (size > change->room - change->used) {
        writer->failed = -ENOMEM;
        return (struct fp_text){ "", 0 };
    }
    memcpy(change->texts + change->used, text, size);
    change->used += size;
    return (struct fp_text){ change->texts + change->used - size, size };
}

static int make_room(struct writer *writer, size_t size) {
    struct change *change = &writer->change;
    change->used = change->count = 0;
    if (size <= change->room)
        return 0;
    free(change->texts);
    change->texts = malloc(size * 2);
    change->room = change->texts ? size * 2 : 0;
    return change->texts ? 0 : -ENOMEM;
}

static void add_edit(struct writer *writer, struct fp_edit edit) {
    struct change *change = &writer->change;
    if (change->count == change->edit_room) {
        size_t room = change->edit_room * 2 + 16;
        struct fp_edit *grown = realloc(change->edits, room * sizeof(*grown));
        if (!grown) {
            writer->failed = -ENOMEM;
            return;
        }
        change->edits = grown;
        change->edit_room = room;
    }
    change->edits[change->count++] = edit;
}

static void set_field(struct writer *writer, const struct fp_trace_field *field, const char *text) {
    add_edit(writer, (struct fp_edit){ .kind = FP_EDIT_SET,
                                       .field = field,
                                       .value = keep_text(writer, text, strlen(text)) });
}

static void set_time(struct writer *writer, const struct fp_trace_event *event) {
    const struct fp_merge *merge = writer->merge;
    const struct fp_merge_file *file = writer->file;
    const struct fp_align_rank *rank = &merge->ranks[writer->place];
    bool moves = merge->align && (rank->offset_ns || rank->drift_known);
    if (event->ts_state != FP_NUMBER_OK || event->phase == 'M' || (!file->shift_ns && !moves))
        return;
    int64_t ns = (int64_t)((uint64_t)event->ts_ns + (uint64_t)file->shift_ns);
    if (moves)
        ns = fp_align_time(rank, ns);
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[48];
    int used = snprintf(text, sizeof(text), "%s%" PRIu64, ns < 0 ? "-" : "", size / 1000);
    if (size % 1000)
        snprintf(text + used, sizeof(text) - (size_t)used, ".%03u", (unsigned)(size % 1000));
    set_field(writer, fp_event_field(event, "ts"), text);
}

static const struct fp_merge_process *process_of(struct writer *writer, const struct fp_trace_id *pid) {
    if (writer->last && fp_trace_id_same(&writer->last->pid, pid))
        return writer->last;
    for (size_t i = 0; i < writer->file->process_count; i++)
        if (fp_trace_id_same(&writer->file->processes[i].pid, pid))
            return writer->last = &writer->file->processes[i];
    return NULL; // not reached: the first reading met every process
}

// An id as JSON in the merged file. Ids of numbers keep their distance within a rank; texts get the rank
// before them.
static void set_id(struct writer *writer, const struct fp_trace_field *field, bool zero_is_none) {
    struct fp_trace_id id = fp_field_id(field);
    char *text = NULL;
    uint64_t number = id.number;
    if (id.kind == FP_ID_ABSENT || (id.kind == FP_ID_NUMBER && number == 0 && zero_is_none))
        return;
    if (id.kind == FP_ID_NUMBER) {
        if (writer->merge->id_block) {
            if (!writer->place)
                return;
            number += writer->place * writer->merge->id_block;
        } else {
            bool added;
            uint64_t *found = fp_idmap_at(&writer->new_ids, number, &added);
            if (!found) {
                writer->failed = -ENOMEM;
                return;
            }
            if (added)
                *found = writer->merge->next_id++;
            number = *found;
        }
        char digits[32];
        snprintf(digits, sizeof(digits), id.quoted ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
        set_field(writer, field, digits);
        return;
    }
    if (!writer->place)
        return;
    char *own = fp_merge_id_text(&id);
    int made = own ? asprintf(&text, "\"%zu:%s\"", writer->place, own) : -1;
    free(own);
    if (made < 0) {
        writer->failed = -ENOMEM;
        return;
    }
    set_field(writer, field, text);
    free(text);
}

// "id2": {"global": "0x1"}; a local id is its process's and needs nothing.
static void set_id2(struct writer *writer, const struct fp_trace_field *id2) {
    struct fp_trace_field global;
    char *text = NULL;
    if (!writer->place || id2->type != '{' || !fp_json_find(fp_field_text(id2), "global", &global) ||
        global.type != '"')
        return;
    if (asprintf(&text, "{\"global\": \"%zu:%.*s\"}", writer->place, (int)global.value_size, global.value) <
        0) {
        writer->failed = -ENOMEM;
        return;
    }
    set_field(writer, id2, text);
    free(text);
}

// Events whose id means the same in every process of a file.
static bool id_is_global(char phase) {
    return phase && strchr("stfbneSTpF", phase);
}

static void set_ids(struct writer *writer, const struct fp_trace_event *event) {
    static const enum fp_arg_id args[] = { FP_ARG_EXTERNAL_ID, FP_ARG_EXTERNAL_ID_OLD, FP_ARG_CONNECTION_ID };
    const struct fp_trace_field *field;
    if (id_is_global(event->phase) && (field = fp_event_field(event, "id")))
        set_id(writer, field, false);
    if (id_is_global(event->phase) && (field = fp_event_field(event, "id2")))
        set_id2(writer, field);
    if ((field = fp_event_field(event, "bind_id")))
        set_id(writer, field, false);
    if ((field = fp_event_arg(event, FP_ARG_CORRELATION)))
        set_id(writer, field, true);
    for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++)
        if ((field = fp_event_arg(event, args[i])))
            set_id(writer, field, false);
}

// True where the same was said before.
static bool is_repetition(struct writer *writer, const struct fp_trace_event *event) {
    bool added;
    if (!fp_idmap_at(&writer->said, fp_metadata_key(event), &added)) {
        writer->failed = -ENOMEM;
        return true;
    }
    writer->file->metadata_collapsed += !added;
    return !added;
}

static void set_metadata(struct writer *writer, const struct fp_trace_event *event,
                         const struct fp_merge_process *process) {
    const struct fp_trace_field *name = fp_event_arg(event, FP_ARG_NAME),
                                *sort = fp_event_arg(event, FP_ARG_SORT_INDEX);
    char *text = NULL;
    int made = 0;
    if (fp_text_equals(event->name, "process_name") && name && name->type == '"')
        made = asprintf(&text, "\"rank %" PRIu64 ": %.*s\"", writer->file->rank, (int)name->value_size,
                        name->value);
    else if (fp_text_equals(event->name, "process_sort_index") && sort && process)
        made = asprintf(&text, "%" PRIu64, process->merged_sort);
    if (made < 0)
        writer->failed = -ENOMEM;
    else if (text)
        set_field(writer, sort && process && fp_text_equals(event->name, "process_sort_index") ? sort : name,
                  text);
    free(made < 0 ? NULL : text);
}

// Args that hold a secret: each such argument's value is replaced.
static void drop_secrets(struct writer *writer, const struct fp_trace_event *event) {
    for (uint32_t i = 0; i < event->arg_count; i++) {
        const struct fp_trace_field *arg = &event->args[i];
        struct fp_text key = { arg->key, arg->key_size }, value = fp_field_text(arg);
        struct fp_edit edit = { .kind = FP_EDIT_SET, .field = arg, .value = { NULL, 0 } };
        size_t count = 1;
        if (arg->type == '"' && value.size) // with its quotes
            value = (struct fp_text){ value.at - 1, value.size + 2 };
        if (fp_secret_key(key) && arg->type == '"' && value.size > 2)
            edit.value = fp_text_of("\"" FP_SECRET_REMOVED "\"");
        else if (!fp_secrets_find(value, NULL, NULL))
            continue;
        if (!edit.value.at) {
            struct fp_text clean = fp_secrets_remove(value, &count);
            if (!clean.at) {
                writer->failed = -ENOMEM;
                return;
            }
            edit.value = keep_text(writer, clean.at, clean.size);
            free((char *)clean.at);
        }
        add_edit(writer, edit);
        writer->merge->secrets += count;
    }
}

static void write_event(struct writer *writer, const struct fp_trace_event *event) {
    const struct fp_trace_field *pid = fp_event_field(event, "pid");
    const struct fp_merge_process *process = process_of(writer, &event->pid);
    if (make_room(writer, event->raw.size * 2 + TEXT_ROOM) != 0) {
        writer->failed = -ENOMEM;
        return;
    }
    if (event->phase == 'M') {
        if (is_repetition(writer, event))
            return;
        set_metadata(writer, event, process);
    }
    if (pid && process && (writer->place || writer->merge->compact_pids))
        set_field(writer, pid, process->merged);
    set_ids(writer, event);
    set_time(writer, event);
    struct change *change = &writer->change;
    if (!pid && process && event->phase && writer->place) // a lane of no process
        add_edit(writer,
                 (struct fp_edit){ .kind = FP_EDIT_ADD, .key = "pid", .value = fp_text_of(process->merged) });
    if (writer->merge->drop_secrets)
        drop_secrets(writer, event);
    fp_emit_event(writer->emit, event, change->edits, change->count);
}

// Processes that the file gives no name or place get one, so that every lane says whose it is.
static void name_processes(struct writer *writer) {
    for (size_t i = 0; i < writer->file->process_count; i++) {
        const struct fp_merge_process *process = &writer->file->processes[i];
        char *text = NULL;
        if (process->pid.kind == FP_ID_ABSENT && !writer->place)
            continue;
        if (!process->has_name) {
            bool numbered = process->pid.kind != FP_ID_TEXT;
            char *own = fp_merge_id_text(&process->pid);
            int made =
                own ? asprintf(
                          &text,
                          "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %s, \"args\": {\"name\": "
                          "\"rank %" PRIu64 ": %s%s\"}}",
                          process->merged, writer->file->rank, numbered ? "pid " : "", own)
                    : -1;
            free(own);
            if (made < 0) {
                writer->failed = -ENOMEM;
                return;
            }
            fp_emit_text(writer->emit, fp_text_of(text));
            free(text);
        }
        if (!process->has_sort) {
            if (asprintf(&text,
                         "{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %s, \"args\": "
                         "{\"sort_index\": %" PRIu64 "}}",
                         process->merged, process->merged_sort) < 0) {
                writer->failed = -ENOMEM;
                return;
            }
            fp_emit_text(writer->emit, fp_text_of(text));
            free(text);
        }
    }
}

int fp_merge_write(struct fp_merge *merge, size_t place, struct fp_reader *reader, const struct fp_cut *kept,
                   struct fp_emit *emit, struct fp_error *err) {
    struct writer writer = {
        .merge = merge, .file = &merge->files[place], .place = place, .emit = emit, .kept = kept
    };
    const struct fp_trace_event *event;
    int code = 0;
    while (!writer.failed && !fp_emit_state(emit) && (code = fp_reader_next(reader, &event, err)) == 1)
        if (!kept || fp_cut_keeps(kept, event->number))
            write_event(&writer, event);
    if (code >= 0 && !writer.failed)
        name_processes(&writer);
    fp_idmap_free(&writer.said);
    fp_idmap_free(&writer.new_ids);
    free(writer.change.texts);
    free(writer.change.edits);
    if (code >= 0 && writer.failed) {
        fp_error_set(err, "%s: not enough memory to merge it", writer.file->name);
        return writer.failed;
    }
    return code < 0 ? code : 0;
}

// Top-level keys.

static const char *value_of(const struct fp_merge_file *file, const char *key) {
    for (size_t i = file->key_count; i-- > 0;)
        if (strcmp(file->keys[i].key, key) == 0)
            return file->keys[i].value;
    return NULL;
}

static bool all_have(const struct fp_merge *merge, const char *key, const char *value) {
    for (size_t i = 0; i < merge->count; i++) {
        const char *other = value_of(&merge->files[i], key);
        if (!other || !value || strcmp(other, value) != 0)
            return false;
    }
    return true;
}

// The distinct devices of all ranks: analyses look here for what a device can do.
static int write_devices(const struct fp_merge *merge, struct fp_emit *emit) {
    struct fp_idmap seen = { 0 };
    char *text = NULL;
    size_t size = 0, count = 0, listed = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return -ENOMEM;
    fputc('[', out);
    for (size_t i = 0; i < merge->count; i++) {
        const char *value = value_of(&merge->files[i], "deviceProperties");
        struct fp_json_walk walk = fp_json_walk_begin(fp_text_of(value ? value : ""));
        struct fp_trace_field device;
        listed += value != NULL;
        while (fp_json_walk_next(&walk, &device)) {
            bool added = true;
            fp_idmap_at(&seen, fp_text_hash(device.value, device.value_size), &added);
            if (added && device.type == '{')
                fprintf(out, "%s%.*s", count++ ? ", " : "", (int)device.value_size, device.value);
        }
    }
    fputc(']', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed && text && listed)
        fp_emit_header(emit, fp_text_of("deviceProperties"), (struct fp_text){ text, size });
    free(text);
    fp_idmap_free(&seen);
    return failed ? -ENOMEM : 0;
}

int fp_merge_begin(struct fp_merge *merge, struct fp_emit *emit) {
    const struct fp_merge_file *first = &merge->files[0];
    for (size_t i = 0; i < first->key_count; i++) {
        const char *key = first->keys[i].key;
        if (strcmp(key, "baseTimeNanoseconds") != 0 && strcmp(key, "deviceProperties") != 0 &&
            strcmp(key, "flagprof_merge") != 0 && value_of(first, key) == first->keys[i].value &&
            all_have(merge, key, first->keys[i].value))
            fp_emit_header(emit, fp_text_of(key), fp_text_of(first->keys[i].value));
    }
    char base[32];
    snprintf(base, sizeof(base), "%" PRId64, merge->base_ns);
    if (merge->has_base)
        fp_emit_header(emit, fp_text_of("baseTimeNanoseconds"), fp_text_of(base));
    return write_devices(merge, emit);
}

static void put_text(FILE *out, struct fp_text text) {
    fputc('"', out);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            fputc('\\', out);
        if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_file(FILE *out, const struct fp_merge *merge, size_t place) {
    const struct fp_merge_file *file = &merge->files[place];
    const struct fp_align_rank *rank = &merge->ranks[place];
    fputs("\n  {\"path\": ", out);
    put_text(out, fp_text_of(file->name));
    fprintf(out, ", \"rank\": %" PRIu64 ", \"id_offset\": %" PRIu64 ", \"shift_ns\": %" PRId64, file->rank,
            place * merge->id_block, file->shift_ns);
    if (fp_align_holds(rank->state))
        fprintf(out, ", \"clock_offset_ns\": %" PRId64 ", \"clock_spread_ns\": %" PRId64, rank->offset_ns,
                rank->spread_ns);
    fputs(", \"pids\": {", out);
    for (size_t i = 0; i < file->process_count; i++) {
        fputs(i ? ", " : "", out);
        char *own = fp_merge_id_text(&file->processes[i].pid);
        fprintf(out, "\"%s\": %s", own ? own : "?", file->processes[i].merged);
        free(own);
    }
    fputs("}, \"header\": {", out);
    for (size_t i = 0; i < file->key_count; i++)
        fprintf(out, "%s\"%s\": %s", i ? ", " : "", file->keys[i].key, file->keys[i].value);
    fputs("}}", out);
}

char *fp_merge_description(const struct fp_merge *merge) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "{\"aligned\": %s, \"files\": [", merge->align ? "true" : "false");
    for (size_t i = 0; i < merge->count; i++) {
        fputs(i ? "," : "", out);
        put_file(out, merge, i);
    }
    fputs("\n]}", out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
