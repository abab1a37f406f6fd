// convert.c - `flagprof convert FILE -o OTHER`: the same trace in another form.
//
// In:  traces.
// Out: JSON laid out anew or packed otherwise, CSV, or one SQLite database. A row of `forms` says how
//      each is written; the ending of -o or --as picks the row.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/csv.h"
#include "analysis/database.h"
#include "cli/rewrite.h"
#include "cli/verbs.h"

static const char text[] =
    "Writes the same events in another form; what -o ends in, or --as, says which:\n"
    "  .json .json.gz .json.zst   a Chrome trace; each event as it stood unless --pretty or --compact\n"
    "  .csv .csv.gz .csv.zst      a line an event: number, phase, category, name, pid, tid, ts_ns, dur_ns, "
    "id,\n"
    "                             device, stream, correlation, external_id, bytes, args and other (JSON)\n"
    "  .sqlite .sqlite3 .db       tables trace, header, name, lane, event and views: events, slices,\n"
    "                             device_work, launches, arrows, work_summary, host_summary,\n"
    "                             operator_device_time, steps, counters (docs/sqlite.md)\n"
    "Nothing is lost: keys that FlagProf does not know are kept, ids and times keep every digit. Bytes that\n"
    "are no UTF-8 are written as U+FFFD and counted. A file cut short is written closed, and that is said.\n"
    "Memory does not grow with the file, but for the distinct names and lanes.\n";

static const char examples[] =
    "  flagprof convert trace.json -o trace.json.zst            a twelfth of the size\n"
    "  flagprof convert trace.json.gz --pretty -o - | less      to look at with your own eyes\n"
    "  flagprof convert rank*.json -o run.sqlite                many files, one database\n"
    "  sqlite3 run.sqlite 'SELECT name, total_ns FROM work_summary LIMIT 10'\n"
    "  flagprof convert trace.json --step 5-7 -o steps.csv      a part of it, for a spreadsheet\n"
    "  flagprof convert *.json --as json.gz -o packed/          a folder of packed files\n"
    "  zcat trace.json.gz | flagprof convert - -o trace.csv     from standard input\n";

struct convert_options {
    const char *as;
    bool pretty, compact;
    int64_t level;
};

enum shape { SHAPE_JSON, SHAPE_CSV, SHAPE_DATABASE };

static const struct form {
    const char *name; // also the ending, behind a dot
    enum shape shape;
    int packing;
} forms[] = {
    { "json", SHAPE_JSON, FP_PACKING_PLAIN },
    { "json.gz", SHAPE_JSON, FP_PACKING_GZIP },
    { "json.zst", SHAPE_JSON, FP_PACKING_ZSTD },
    { "csv", SHAPE_CSV, FP_PACKING_PLAIN },
    { "csv.gz", SHAPE_CSV, FP_PACKING_GZIP },
    { "csv.zst", SHAPE_CSV, FP_PACKING_ZSTD },
    { "sqlite", SHAPE_DATABASE, 0 },
    { "sqlite3", SHAPE_DATABASE, 0 },
    { "db", SHAPE_DATABASE, 0 },
    { "gz", SHAPE_JSON, FP_PACKING_GZIP },
    { "zst", SHAPE_JSON, FP_PACKING_ZSTD },
};

#define FORM_COUNT (sizeof(forms) / sizeof(*forms))

// A folder and standard output have no ending: what goes there is JSON unless --as says otherwise.
static bool has_no_ending(const char *output) {
    struct stat found;
    return !output || strcmp(output, "-") == 0 || output[strlen(output) - 1] == '/' ||
           (stat(output, &found) == 0 && !S_ISREG(found.st_mode));
}

// NULL: neither says which.
static const struct form *form_of(const struct convert_options *own, const char *output) {
    const struct form *best = NULL;
    size_t size = output ? strlen(output) : 0;
    for (size_t i = 0; i < FORM_COUNT; i++) {
        size_t tail = strlen(forms[i].name);
        if (own->as ? strcmp(own->as, forms[i].name) == 0
                    : size > tail && output[size - tail - 1] == '.' &&
                          strcmp(output + size - tail, forms[i].name) == 0 &&
                          (!best || tail > strlen(best->name)))
            best = &forms[i];
    }
    return best || own->as || !has_no_ending(output) ? best : &forms[0];
}

struct outcome {
    uint64_t events, written;
    struct fp_mended mended;
    bool to_standard;
};

// What is kept of a file; the whole of it where nothing was asked for.
static int plan(const struct fp_options *options, struct fp_select *select, const struct fp_input *input,
                struct fp_cut *cut, const struct fp_cut **kept, struct fp_error *err) {
    struct fp_reader_options reading = fp_input_reader_options(options, input->name);
    *kept = NULL;
    if (fp_select_all(select))
        return 0;
    *kept = cut;
    return fp_cut_plan(input->path, select, &reading, cut, err);
}

static int to_json(const struct fp_options *options, const struct convert_options *own,
                   const struct form *form, const struct fp_input *input, const struct fp_cut *kept,
                   const char *target, struct outcome *outcome, struct fp_error *err) {
    struct fp_rewrite_result result;
    struct fp_rewrite rewrite = { .verb = "convert",
                                  .style = own->pretty    ? FP_EMIT_PRETTY
                                           : own->compact ? FP_EMIT_COMPACT
                                                          : FP_EMIT_AS_IS,
                                  .packing = form->packing + 1,
                                  .level = (int)own->level };
    int code = fp_rewrite_run(&rewrite, options, input, kept, target, &result, err);
    outcome->events = result.events;
    outcome->written = result.written;
    outcome->mended = result.mended;
    return code;
}

static int to_csv(const struct fp_options *options, const struct convert_options *own,
                  const struct form *form, const struct fp_input *input, const struct fp_cut *kept,
                  const char *target, struct outcome *outcome, struct fp_error *err) {
    struct fp_reader_options reading = fp_input_reader_options(options, input->name);
    struct fp_output_options writing = { sizeof(writing), form->packing + 1, (int)own->level };
    struct fp_mender mender = { .salvaged = options->salvage };
    const struct fp_trace_event *event;
    struct fp_output *output = NULL;
    struct fp_reader *reader;
    int code = fp_reader_open(input->path, &reading, &reader, err);
    if (!code)
        code = fp_output_open(target, &writing, &output, err);
    if (!code) {
        fp_csv_header(output);
        while ((code = fp_reader_next(reader, &event, err)) == 1 && !fp_output_state(output)) {
            outcome->events++;
            if (kept && !fp_cut_keeps(kept, event->number))
                continue;
            outcome->written++;
            fp_csv_event(output, event, &mender);
        }
        code = code > 0 ? 0 : code;
    }
    outcome->mended = mender.mended;
    if (!code && mender.failed) {
        fp_error_set(err, "%s: not enough memory", input->name);
        code = -ENOMEM;
    }
    if (!code) {
        code = fp_output_commit(output, err);
        output = NULL;
    }
    if (!code)
        fp_input_say_notes("convert", input, reader);
    fp_output_abort(output);
    fp_mender_free(&mender);
    fp_reader_close(reader);
    return code;
}

static int into_database(const struct fp_options *options, const struct fp_input *input,
                         const struct fp_cut *kept, struct fp_database *database, struct outcome *outcome,
                         struct fp_error *err) {
    struct fp_reader_options reading = fp_input_reader_options(options, input->name);
    const struct fp_trace_event *event;
    struct fp_reader *reader;
    int code = fp_reader_open(input->path, &reading, &reader, err);
    if (!code)
        code = fp_database_begin_trace(database, input->name, err);
    while (!code && (code = fp_reader_next(reader, &event, err)) == 1) {
        outcome->events++;
        code = 0;
        if (kept && !fp_cut_keeps(kept, event->number))
            continue;
        outcome->written++;
        code = fp_database_add(database, event, err);
    }
    if (!code)
        code = fp_database_end_trace(database, reader, err);
    if (!code)
        fp_input_say_notes("convert", input, reader);
    fp_reader_close(reader);
    return code;
}

static int convert_file(const struct fp_options *options, const struct convert_options *own,
                        const struct form *form, struct fp_select *select, const char *path,
                        struct fp_database *database, struct outcome *outcome, struct fp_error *err) {
    struct fp_input input;
    struct fp_cut cut = { 0 };
    const struct fp_cut *kept;
    char *target = NULL, ending[16];
    int code = fp_input_open(path, !fp_select_all(select), &input, err);
    if (code)
        return code;
    snprintf(ending, sizeof(ending), ".%s", form->name);
    code = plan(options, select, &input, &cut, &kept, err);
    if (!code && form->shape == SHAPE_DATABASE) {
        code = into_database(options, &input, kept, database, outcome, err);
    } else if (!code) {
        target = fp_input_target(options, &input, ending, err);
        outcome->to_standard = target && fp_input_target_is_standard(target);
        code = !target ? -EINVAL
                       : (form->shape == SHAPE_JSON ? to_json : to_csv)(options, own, form, &input, kept,
                                                                        target, outcome, err);
    }
    free(target);
    fp_cut_free(&cut);
    fp_input_close(&input);
    return code;
}

static const struct fp_column columns[] = {
    { "file", "file", FP_CELL_TEXT },
    { "events", "events", FP_CELL_COUNT },
    { "written", "written", FP_CELL_COUNT },
    { "bad UTF-8", "bad_utf8", FP_CELL_COUNT },
    { "texts mended", "texts_mended", FP_CELL_COUNT },
};

static bool describe(const struct fp_options *options, const struct outcome *outcomes) {
    struct fp_report *report = fp_report_new("flagprof-convert-1");
    fp_report_table(report, "files", "what was written", columns, sizeof(columns) / sizeof(*columns), NULL);
    for (size_t i = 0; i < options->path_count; i++) {
        const struct fp_mended *mended = &outcomes[i].mended;
        fp_report_text(report, fp_text_of(options->paths[i]));
        fp_report_count(report, outcomes[i].events);
        fp_report_count(report, outcomes[i].written);
        fp_report_count(report, mended->utf8);
        fp_report_count(report, mended->escapes + mended->controls + mended->numbers + mended->commas);
    }
    bool good = fp_options_report(options, "convert", report, false);
    fp_report_free(report);
    return good;
}

static int convert_files(const struct fp_options *options, const struct convert_options *own,
                         const struct form *form, struct fp_select *select) {
    struct fp_error err = { "" };
    struct fp_database *database = NULL;
    bool to_standard = false;
    int code = 0;
    struct outcome *outcomes = calloc(options->path_count, sizeof(*outcomes));
    if (!outcomes) {
        fp_error_set(&err, "not enough memory");
        code = -ENOMEM;
    }
    if (!code && form->shape == SHAPE_DATABASE) {
        code =
            options->output ? fp_database_open(options->output, options->salvage, &database, &err) : -EINVAL;
        if (!options->output)
            fp_error_set(&err, "name the database: -o FILE.sqlite");
    }
    if (!code && form->shape != SHAPE_DATABASE) {
        char ending[16];
        snprintf(ending, sizeof(ending), ".%s", form->name);
        code = fp_input_targets_differ(options, ending, &err);
    }
    for (size_t i = 0; i < options->path_count && !code; i++) {
        code = convert_file(options, own, form, select, options->paths[i], database, &outcomes[i], &err);
        to_standard = to_standard || outcomes[i].to_standard;
    }
    if (code)
        fp_database_abort(database);
    else if (database)
        code = fp_database_commit(database, &err);
    if (code)
        fp_say("convert", "%s", err.text);
    bool good = !code && (to_standard || describe(options, outcomes));
    free(outcomes);
    return good ? FP_EXIT_OK : FP_EXIT_CANNOT;
}

static void say_unknown(const struct convert_options *own, const char *output) {
    char names[160];
    size_t used = 0;
    for (size_t i = 0; i < FORM_COUNT; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s", i ? ", " : "",
                                 own->as ? "" : ".", forms[i].name);
    if (own->as)
        fp_say("convert", "--as %s is no form that is known here. Known are %s", own->as, names);
    else
        fp_say("convert", "%s: its ending names no form. Known are %s; or name one: --as json", output,
               names);
}

int fp_convert_main(int argc, char **argv) {
    struct convert_options own = { 0 };
    const struct fp_option rows[] = {
        { .name = "as",
          .value = "FORM",
          .help = "json, json.gz, json.zst, csv, csv.gz, csv.zst or sqlite. Default: by "
                  "what -o ends in.",
          .text = &own.as },
        { .name = "pretty", .help = "JSON with one member a line.", .flag = &own.pretty },
        { .name = "compact", .help = "JSON without blanks.", .flag = &own.compact },
        { .name = "level",
          .value = "N",
          .help = "Level of zstd, 1 to 19. Default: 1.",
          .number = &own.level },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "convert",
        .summary = "writes a trace in another form: JSON, packed JSON, CSV, SQLite",
        .synopsis = "FILE ... -o OTHER",
        .text = text,
        .examples = examples,
        .exit_status = "0 written, 2 cannot read or cannot write",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = rows,
        .least_paths = 1,
    };
    struct fp_options options;
    struct fp_select *select;
    struct fp_error err = { "" };
    int status = fp_options_parse(argc, argv, &usage, &options);
    if (status >= 0)
        return status;
    const struct form *form = form_of(&own, options.output);
    if (!form || (own.pretty && own.compact) || own.level > 19) {
        if (form)
            fp_say("convert", own.level > 19 ? "--level goes from 1 to 19"
                                             : "--pretty and --compact exclude each other");
        else
            say_unknown(&own, options.output);
        return FP_EXIT_CANNOT;
    }
    if (fp_select_new(&options.select, &select, &err)) {
        fp_say("convert", "%s", err.text);
        return FP_EXIT_CANNOT;
    }
    status = convert_files(&options, &own, form, select);
    fp_select_free(select);
    return status;
}
