// rewrite.c - the course that cut, convert and fix share: read, keep or leave out, write.
//
// In:  events from the reader.
// Out: those that are kept, through emit.c, to a file that appears only when all of them were written.

#include "cli/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/secrets.h"
#include "cli/progress.h"

// A file that holds a part says so itself, and of how many events.
#define PART_KEY "flagprof_cut"

struct course {
    const struct fp_rewrite *rewrite;
    char part[96]; // the value of PART_KEY; "" for a whole file
    struct fp_rewrite_result *result;
    char *redacted;
    int failed;
};

// What viewers and analyses read; everything else beside the events is somebody's notes.
static bool is_needed(struct fp_text key) {
    static const char *needed[] = {
        "schemaVersion",  "displayTimeUnit", "baseTimeNanoseconds", "deviceProperties", "distributedInfo",
        "traceName",      "trace_id",        "stackFrames",         "samples",          "flagprof",
        "flagprof_merge", PART_KEY,
    };
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (fp_text_equals(key, needed[i]))
            return true;
    return false;
}

// The value without secrets; `value` itself where it holds none.
static bool redact(struct course *course, struct fp_text key, struct fp_text *value) {
    size_t count = 0;
    free(course->redacted);
    course->redacted = NULL;
    if (fp_secret_key(key) && value->size > 2) {
        course->result->secrets++;
        *value = fp_text_of("\"" FP_SECRET_REMOVED "\"");
        return true;
    }
    if (!fp_secrets_find(*value, NULL, NULL))
        return true;
    struct fp_text clean = fp_secrets_remove(*value, &count);
    if (!clean.at) {
        course->failed = -ENOMEM;
        return false;
    }
    course->redacted = (char *)clean.at;
    course->result->secrets += count;
    *value = clean;
    return true;
}

static bool filter_header(void *user, const struct fp_trace_header *header, struct fp_text *value) {
    struct course *course = user;
    if (course->part[0] && fp_text_equals(header->key, PART_KEY))
        return false; // an older one of the same name gives way
    if (course->rewrite->drop_metadata && !is_needed(header->key)) {
        course->result->keys_dropped++;
        return false;
    }
    return !course->rewrite->drop_secrets || redact(course, header->key, value);
}

static int put_event(struct course *course, struct fp_emit *emit, const struct fp_trace_event *event) {
    const struct fp_rewrite *rewrite = course->rewrite;
    struct fp_edit edit = { .kind = FP_EDIT_SET };
    const struct fp_edit *clean = NULL;
    if (rewrite->drop_secrets && event->args_type == '{') {
        edit.field = fp_event_field(event, "args");
        edit.value = fp_field_text(edit.field);
        if (fp_secrets_find(edit.value, NULL, NULL) && redact(course, (struct fp_text){ "", 0 }, &edit.value))
            clean = &edit;
    }
    if (rewrite->each)
        return rewrite->each(rewrite->user, event, clean, emit);
    fp_emit_event(emit, event, clean, clean != NULL);
    return 0;
}

// Whether the file is a bare list is known once its first event was read.
static struct fp_emit *begin(struct course *course, const struct fp_reader *reader, struct fp_output *output,
                             bool salvaged) {
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    struct fp_emit_options options = { sizeof(options), course->rewrite->style, summary.array_form,
                                       salvaged };
    struct fp_emit *emit = fp_emit_new(output, &options);
    if (!emit)
        return NULL;
    fp_emit_set_header_filter(emit, filter_header, course);
    if (course->part[0])
        fp_emit_set_last(emit, PART_KEY, course->part);
    return emit;
}

static int copy(struct course *course, struct fp_reader *reader, struct fp_output *output,
                const struct fp_cut *cut, bool salvaged, struct fp_error *err) {
    const struct fp_trace_event *event;
    int code = fp_reader_next(reader, &event, err);
    if (code < 0)
        return code;
    struct fp_emit *emit = begin(course, reader, output, salvaged);
    if (!emit)
        return -ENOMEM;
    struct fp_progress progress;
    fp_progress_begin(&progress, fp_reader_source(reader));
    if (salvaged)
        fp_emit_set_salvaged(emit, fp_reader_note(reader, FP_NOTE_JSON_FAULT)->count > 0);
    fp_emit_headers(emit, reader);
    for (; code == 1 && !fp_emit_state(emit) && !course->failed; code = fp_reader_next(reader, &event, err)) {
        course->result->events++;
        fp_progress_event(&progress, course->result->events);
        if (salvaged)
            fp_emit_set_salvaged(emit, fp_reader_note(reader, FP_NOTE_JSON_FAULT)->count > 0);
        if (!cut || fp_cut_keeps(cut, event->number))
            course->failed = put_event(course, emit, event);
    }
    fp_progress_end(&progress);
    if (salvaged) // what stands behind the events may be broken too
        fp_emit_set_salvaged(emit, fp_reader_note(reader, FP_NOTE_JSON_FAULT)->count > 0);
    if (code >= 0 && !course->failed && course->rewrite->finish)
        course->failed = course->rewrite->finish(course->rewrite->user, reader, emit);
    if (code >= 0)
        fp_emit_end(emit, reader);
    if (course->rewrite->note_text)
        course->rewrite->note_text(course->rewrite->user, reader, emit);
    course->result->written = fp_emit_events(emit);
    course->result->mended = *fp_emit_mended(emit);
    code = code < 0 ? code : course->failed ? course->failed : fp_emit_state(emit);
    fp_emit_free(emit);
    return code;
}

int fp_rewrite_run(const struct fp_rewrite *rewrite, const struct fp_options *options,
                   const struct fp_input *input, const struct fp_cut *cut, const char *target,
                   struct fp_rewrite_result *result, struct fp_error *err) {
    struct course course = { .rewrite = rewrite, .result = result };
    if (cut)
        snprintf(course.part, sizeof(course.part), "{\"events_before\": %llu, \"events_kept\": %llu}",
                 (unsigned long long)cut->events, (unsigned long long)cut->kept_events);
    struct fp_reader_options reading = fp_input_reader_options(options, input->name);
    struct fp_output_options writing = { sizeof(writing), rewrite->packing, rewrite->level };
    struct fp_reader *reader = NULL;
    struct fp_output *output = NULL;
    *result = (struct fp_rewrite_result){ 0 };
    err->text[0] = 0;
    int code = fp_reader_open(input->path, &reading, &reader, err);
    if (!code)
        code = fp_output_open(target, &writing, &output, err);
    if (!code)
        code = copy(&course, reader, output, cut, options->salvage, err);
    if (output && (!code || fp_output_state(output))) { // commit says what failed
        code = fp_output_commit(output, err);
        output = NULL;
    }
    if (!code)
        fp_input_say_notes(rewrite->verb, input, reader);
    if (code == -ENOMEM && !err->text[0])
        fp_error_set(err, "%s: not enough memory", input->name);
    fp_output_abort(output);
    free(course.redacted);
    fp_reader_close(reader);
    return code;
}
