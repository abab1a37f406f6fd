// fix.c - `flagprof fix FILE -o GOOD`: a file that every parser reads and every viewer shows whole.
//
// In:  a trace, broken or not.
// Out: what analysis/fix.c makes of it, and a table of the changes.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fix.h"
#include "cli/feed.h"
#include "cli/rewrite.h"
#include "cli/verbs.h"

static const char text[] =
    "Writes a valid trace from a broken one, and lists each kind of change:\n"
    "  text     closes what was cut off, escapes what JSON wants escaped, replaces bytes that are no UTF-8,\n"
    "           steps over what cannot be read (and says how much), writes plain UTF-8\n"
    "  slices   ends those that were never finished with what holds them or with the trace, clips by\n"
    "           rounding (1 us in files of whole microseconds, 1 ns else), and moves slices that cross\n"
    "           others to extra lanes, where no viewer drops them; their arrows follow\n"
    "  metadata writes repetitions once; with --drop-secrets, replaces tokens and passwords\n"
    "A file that needs nothing comes out with the same events. The file is read twice; memory is 20 bytes\n"
    "for each slice.\n";

static const char examples[] =
    "  flagprof fix broken.json -o good.json              then open good.json in any viewer\n"
    "  flagprof fix killed.json.gz -o good.json.gz        the writer died; keep what it wrote\n"
    "  flagprof fix trace.json --drop-secrets -o public.json\n"
    "                                                     before you publish it\n"
    "  flagprof fix a.json b.json -o fixed/               several files, to a folder\n"
    "  flagprof fix broken.json -o /dev/null --format json\n"
    "                                                     what would change, for a script\n";

static const struct fp_column columns[] = {
    { "change", "change", FP_CELL_TEXT },
    { "what was done", "sentence", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },
    { "first event", "first_event", FP_CELL_COUNT },
};

static int each(void *user, const struct fp_trace_event *event, const struct fp_edit *edit,
                struct fp_emit *emit) {
    return fp_fix_event(user, event, edit, emit);
}

static int finish(void *user, const struct fp_reader *reader, struct fp_emit *emit) {
    return fp_fix_finish(user, reader, emit);
}

static void note_text(void *user, const struct fp_reader *reader, const struct fp_emit *emit) {
    fp_fix_note_text(user, reader, emit);
}

static void describe(struct fp_report *report, const char *name, const struct fp_fix *fix,
                     const struct fp_rewrite_result *result) {
    fp_report_fact_text(report, "file", "file", name);
    fp_report_fact_count(report, "events_read", "events read", result->events);
    fp_report_fact_count(report, "events_written", "events written", result->written);
    fp_report_table(report, "changes", "what was changed", columns, sizeof(columns) / sizeof(*columns),
                    "nothing had to be changed");
    for (int kind = 0; kind < FP_FIX_KINDS; kind++) {
        struct fp_fix_count change = fp_fix_changes(fix, (enum fp_fix_kind)kind);
        if (!change.count)
            continue;
        fp_report_text(report, fp_text_of(fp_fix_name((enum fp_fix_kind)kind)));
        fp_report_text(report, fp_text_of(fp_fix_sentence((enum fp_fix_kind)kind)));
        fp_report_count(report, change.count);
        if (change.first_event == UINT64_MAX)
            fp_report_none(report);
        else
            fp_report_count(report, change.first_event);
    }
}

static int fix_file(const struct fp_options *options, bool drop_secrets, struct fp_select *select,
                    const char *path, bool *to_standard, struct fp_report *report, struct fp_error *err) {
    struct fp_reader_options reading = fp_input_reader_options(options, path);
    struct fp_rewrite_result result;
    struct fp_input input;
    struct fp_cut cut = { 0 };
    struct fp_fix *fix = NULL;
    int code = fp_input_open(path, true, &input, err);
    if (code)
        return code;
    char *target = fp_input_target(options, &input, NULL, err);
    bool all = fp_select_all(select);
    code = !target ? -EINVAL : all ? 0 : fp_cut_plan(input.path, select, &reading, &cut, err);
    if (!code)
        code = fp_fix_plan(input.path, &reading, all ? NULL : &cut, &fix, err);
    if (!code) {
        struct fp_rewrite rewrite = { .verb = "fix",
                                      .drop_secrets = drop_secrets,
                                      .each = each,
                                      .finish = finish,
                                      .note_text = note_text,
                                      .user = fix };
        code = fp_rewrite_run(&rewrite, options, &input, NULL, target, &result, err);
        *to_standard = *to_standard || fp_input_target_is_standard(target);
    }
    if (!code) {
        fp_fix_note_secrets(fix, result.secrets);
        describe(report, input.name, fix, &result);
    }
    fp_fix_free(fix);
    fp_cut_free(&cut);
    free(target);
    fp_input_close(&input);
    return code;
}

// One file after the other; what was changed is printed like any verb's reports on several files.
static int fix_files(const struct fp_options *options, bool drop_secrets, struct fp_select *select,
                     struct fp_error *err) {
    struct fp_options printed = *options;
    struct fp_feed_output out = { 0 };
    bool to_standard = false;
    int code = fp_input_targets_differ(options, NULL, err);
    printed.output = NULL; // the trace goes there, the table to standard output
    if (!code && !fp_feed_output_begin(&out, &printed, "fix"))
        return -EIO;
    for (size_t i = 0; i < options->path_count && !code; i++) {
        struct fp_report *report = fp_report_new("flagprof-fix-1");
        code = fix_file(options, drop_secrets, select, options->paths[i], &to_standard, report, err);
        if (options->path_count > 1)
            fp_report_csv_file(report, options->paths[i]);
        if (!code && !to_standard) {
            fp_feed_output_next(&out);
            out.failed = fp_report_write(report, out.output, options->format, options->unit) == -ENOMEM;
            if (out.failed)
                code = -ENOMEM, fp_error_set(err, "%s: not enough memory for the table", options->paths[i]);
        }
        fp_report_free(report);
    }
    if (out.output && !fp_feed_output_end(&out) && !code)
        code = -EIO; // it was said
    return code;
}

int fp_fix_main(int argc, char **argv) {
    bool drop_secrets = false;
    const struct fp_option rows[] = {
        { .name = "drop-secrets",
          .help = "Replace the values of tokens, keys and passwords by [removed].",
          .flag = &drop_secrets },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "fix",
        .summary = "writes a valid, viewer-safe trace from a broken one",
        .synopsis = "FILE ... -o GOOD",
        .text = text,
        .examples = examples,
        .exit_status = "0 written (whatever had to be changed), 2 nothing could be read, or cannot write",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT,
        .own = rows,
        .least_paths = 1,
    };
    struct fp_options options;
    struct fp_select *select;
    struct fp_error err = { "" };
    int status = fp_options_parse(argc, argv, &usage, &options);
    if (status >= 0)
        return status;
    options.salvage = true; // that is what the verb is for
    int code = fp_select_new(&options.select, &select, &err);
    if (!code)
        code = fix_files(&options, drop_secrets, select, &err);
    if (code && err.text[0])
        fp_say("fix", "%s", err.text);
    fp_select_free(select);
    return code ? FP_EXIT_CANNOT : FP_EXIT_OK;
}
