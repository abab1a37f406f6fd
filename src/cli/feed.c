// feed.c - reads one trace for a verb.
//
// In:  a path.
// Out: events to a callback; the reader's notes as sentences.

#include "cli/feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/progress.h"

// A selection may have to look at the file before it can tell: then a pipe is copied first.
static int open_selected(const struct fp_options *options, const char *path,
                         const struct fp_reader_options *read, struct fp_select **select,
                         struct fp_reader **reader, struct fp_error *err) {
    struct fp_input input = { .fd = -1 };
    int code = fp_select_new(&options->select, select, err);
    bool ahead = !code && fp_select_needs_ahead(*select);
    if (!code)
        code = fp_input_open(path, ahead, &input, err);
    if (!code && ahead)
        code = fp_select_read_ahead(*select, input.path, read, err);
    if (!code)
        code = fp_reader_open(input.path, read, reader, err);
    fp_input_close(&input); // the reader has a descriptor of its own
    return code;
}

void fp_feed_read(struct fp_feed *feed, const char *path, const struct fp_options *options, bool salvage,
                  int (*each)(void *user, const struct fp_trace_event *event), void *user) {
    struct fp_reader_options read = fp_input_reader_options(options, path);
    struct fp_select *select = NULL;
    const struct fp_trace_event *event;
    struct fp_progress progress;
    *feed = (struct fp_feed){ 0 };
    read.salvage = salvage;
    feed->code = open_selected(options, path, &read, &select, &feed->reader, &feed->err);
    if (!feed->code) {
        bool all = fp_select_all(select);
        int code;
        feed->part = !all;
        fp_progress_begin(&progress, fp_reader_source(feed->reader));
        while ((code = fp_reader_next(feed->reader, &event, &feed->err)) == 1) {
            fp_progress_event(&progress, ++feed->events);
            int chosen = all ? 1 : fp_select_test(select, event);
            if (chosen > 0) {
                feed->chosen++;
                feed->chosen_things += !strchr("MstfEeF", event->phase);
                chosen = each(user, event);
            }
            if (chosen < 0) {
                fp_error_set(&feed->err, "%s: not enough memory after %llu events", path,
                             (unsigned long long)feed->events);
                code = chosen;
                break;
            }
        }
        feed->code = code;
        fp_progress_end(&progress);
    }
    fp_select_free(select);
}

bool fp_feed_nothing_lost(const struct fp_feed *feed) {
    static const enum fp_note_kind ends[] = { FP_NOTE_EVENT_CUT, FP_NOTE_PACKING_CUT,
                                              FP_NOTE_PACKING_DAMAGED };
    struct fp_reader_summary summary;
    fp_reader_summarise(feed->reader, &summary);
    if (summary.faults || summary.events_complete)
        return !summary.faults;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (fp_reader_note(feed->reader, ends[i])->count)
            return false;
    return feed->code == 0;
}

static void say_note(struct fp_report *report, const struct fp_note *note, enum fp_note_kind kind) {
    char place[160] = "";
    if (note->place_count && note->places[0].line)
        snprintf(place, sizeof(place), ", first at line %llu, column %llu (byte %llu)",
                 (unsigned long long)note->places[0].line, (unsigned long long)note->places[0].column,
                 (unsigned long long)note->places[0].byte);
    char times[40] = "";
    if (note->count > 1)
        snprintf(times, sizeof(times), " (%llu times)", (unsigned long long)note->count);
    fp_report_note(report, "%s%s%s%s%s", fp_note_sentence(kind), times, place,
                   note->places[0].text[0] ? ": " : "", note->places[0].text);
}

void fp_feed_notes(const struct fp_feed *feed, struct fp_report *report) {
    struct fp_reader_summary summary;
    if (!feed->reader)
        return;
    fp_reader_summarise(feed->reader, &summary);
    if (summary.faults)
        fp_report_note(report,
                       "NOT WHOLE: %llu stretches (%llu bytes, at least %llu events) could not be read",
                       (unsigned long long)summary.faults, (unsigned long long)summary.lost_bytes,
                       (unsigned long long)summary.lost_events);
    for (int severity = FP_SEVERITY_ERROR; severity >= FP_SEVERITY_NOTE; severity--)
        for (int kind = 0; kind < FP_NOTE_KINDS; kind++) {
            const struct fp_note *note = fp_reader_note(feed->reader, kind);
            // The wording of the fault stands in the sentence about the trailer, and about what was lost.
            bool said =
                kind == FP_NOTE_JSON_FAULT && fp_reader_note(feed->reader, FP_NOTE_TRAILER_BAD)->count;
            if (note->count && (int)fp_note_severity(kind) == severity && !said)
                say_note(report, note, kind);
        }
}

void fp_feed_part(const struct fp_feed *feed, const char *said, struct fp_report *report) {
    if (!feed->part)
        return;
    fp_report_note(report, "%s: %llu of %llu events.", said, (unsigned long long)feed->chosen,
                   (unsigned long long)feed->events);
    if (!feed->chosen_things)
        fp_report_note(report, "Nothing that was asked for is in the file.");
}

void fp_feed_producer(const struct fp_producer *producer, struct fp_report *report) {
    char text[200];
    fp_report_fact_text(report, "recorded_by", "recorded by", producer->recorded_by);
    if (producer->simulated[0]) {
        snprintf(text, sizeof(text), "SIMULATED: %s, no hardware", producer->simulated);
        fp_report_fact_text(report, "simulated", "device", text);
    }
    if (producer->not_recorded[0])
        fp_report_fact_text(report, "not_recorded", "device not recorded", producer->not_recorded);
}

bool fp_feed_output_begin(struct fp_feed_output *out, const struct fp_options *options, const char *verb) {
    struct fp_error err = { "" };
    struct fp_output_options plain = { sizeof(plain), FP_PACKING_PLAIN + 1, 0 };
    *out = (struct fp_feed_output){ .options = options, .verb = verb };
    int code = fp_output_open(options->output ? options->output : "-", &plain, &out->output, &err);
    if (code)
        fp_say(verb, "%s", err.text);
    return code == 0;
}

void fp_feed_output_next(struct fp_feed_output *out) {
    bool list = out->options->format == FP_FORMAT_JSON && out->options->path_count > 1;
    if (list)
        (void)fp_output_text(out->output, out->begun ? ",\n" : "[\n");
    else if (out->begun)
        (void)fp_output_text(out->output, "\n");
    out->begun++;
}

bool fp_feed_output_end(struct fp_feed_output *out) {
    struct fp_error err = { "" };
    if (!out->begun) { // no file could be read: what stood there before stays
        fp_output_abort(out->output);
        return true;
    }
    if (out->failed) {
        fp_output_abort(out->output);
        return false;
    }
    if (out->options->format == FP_FORMAT_JSON && out->options->path_count > 1)
        (void)fp_output_text(out->output, "]\n");
    int code = fp_output_commit(out->output, &err);
    if (code)
        fp_say(out->verb, "%s", err.text);
    return code == 0;
}
