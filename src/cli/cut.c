// cut.c - `flagprof cut FILE -o PART`: a part of a trace that is a true trace itself.
//
// In:  a trace and a selection.
// Out: what analysis/cut.c keeps of it, written by rewrite.c; a line that says how much.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rewrite.h"
#include "cli/verbs.h"

static const char text[] =
    "Writes the part of a trace that was asked for, as a trace of its own: begin/end pairs stay pairs,\n"
    "an arrow is kept when both of its ends are, the names of processes and lanes come along (each once),\n"
    "and every key of an event survives. Several conditions must all hold.\n"
    "\n"
    "By time, what touches [FROM, TO) is kept, whole. By step, the host's events in the step are kept, and\n"
    "the device work that they launched whenever it ran. By kernel, the work whose name matches, the calls\n"
    "that launched it and the operators that own it. By device, all of the host but the launches of other\n"
    "devices' work. The file is read two to six times; memory is one bit an event and 16 bytes for each\n"
    "slice that is kept.\n";

static const char examples[] =
    "  flagprof cut big.json.gz --from 1.5s --to 1.6s -o part.json.gz   a tenth of a second\n"
    "  flagprof cut big.json --step 12 -o step12.json                   one step with its kernels\n"
    "  flagprof cut big.json --around-slowest 1 -o slow.json            the slowest step and its neighbours\n"
    "  flagprof cut big.json --every 100 -o sample.json                 every hundredth step\n"
    "  flagprof cut big.json --kernel gemm -o gemm.json                 matrix products and who launched "
    "them\n"
    "  flagprof cut big.json --category kernel,gpu_memcpy -o device.json\n"
    "  flagprof cut a.json b.json --step 3 --drop-secrets -o parts/     several files, to a folder\n";

struct cut_options {
    bool drop_metadata, drop_secrets;
    const char *category, *kernel;
    int64_t around_slowest, every;
};

static const struct fp_column columns[] = {
    { "file", "file", FP_CELL_TEXT },
    { "events", "events", FP_CELL_COUNT },
    { "kept", "kept", FP_CELL_COUNT },
    { "slices", "kept_slices", FP_CELL_COUNT },
    { "arrow ends cut", "arrow_ends_cut", FP_CELL_COUNT },
    { "repeats", "metadata_collapsed", FP_CELL_COUNT },
    { "secrets", "secrets_removed", FP_CELL_COUNT },
};

struct outcome {
    struct fp_cut cut;
    struct fp_rewrite_result written;
    char finding[160];
    bool to_standard;
};

static int cut_file(const struct fp_options *options, const struct cut_options *own, struct fp_select *select,
                    const char *path, struct outcome *outcome, struct fp_error *err) {
    struct fp_reader_options reading = fp_input_reader_options(options, path);
    struct fp_cut *cut = &outcome->cut;
    struct fp_input input;
    int code = fp_input_open(path, true, &input, err);
    if (code)
        return code;
    char *target = fp_input_target(options, &input, NULL, err);
    code = target ? fp_cut_plan(input.path, select, &reading, cut, err) : -EINVAL;
    if (!code) {
        struct fp_rewrite rewrite = { .verb = "cut",
                                      .drop_metadata = own->drop_metadata,
                                      .drop_secrets = own->drop_secrets };
        code = fp_rewrite_run(&rewrite, options, &input, cut, target, &outcome->written, err);
        snprintf(outcome->finding, sizeof(outcome->finding), "%s", fp_select_finding(select));
        outcome->to_standard = fp_input_target_is_standard(target);
    }
    fp_cut_free(cut);
    free(target);
    fp_input_close(&input);
    return code;
}

static void describe(struct fp_report *report, const struct fp_options *options,
                     const struct outcome *outcomes) {
    fp_report_table(report, "files", "what was kept", columns, sizeof(columns) / sizeof(*columns), NULL);
    for (size_t i = 0; i < options->path_count; i++) {
        const struct fp_cut *cut = &outcomes[i].cut;
        fp_report_text(report, fp_text_of(options->paths[i]));
        fp_report_count(report, cut->events);
        fp_report_count(report, cut->kept_events);
        fp_report_count(report, cut->kept_slices);
        fp_report_count(report, cut->arrow_halves_dropped);
        fp_report_count(report, cut->metadata_collapsed);
        fp_report_count(report, outcomes[i].written.secrets);
    }
    for (size_t i = 0; i < options->path_count; i++) {
        if (outcomes[i].finding[0])
            fp_report_note(report, "%s: %s.", options->paths[i], outcomes[i].finding);
        if (!outcomes[i].cut.kept_slices)
            fp_report_note(report, "%s: nothing that was asked for is in the file; the part has no slices.",
                           options->paths[i]);
    }
}

static int cut_files(const struct fp_options *options, const struct cut_options *own,
                     struct fp_select *select) {
    struct fp_error err = { "" };
    bool to_standard = false;
    int code = 0, status = FP_EXIT_CANNOT;
    struct fp_report *report = fp_report_new("flagprof-cut-1");
    struct outcome *outcomes = calloc(options->path_count, sizeof(*outcomes));
    if (!outcomes) {
        fp_error_set(&err, "not enough memory");
        code = -ENOMEM;
    }
    if (!code)
        code = fp_input_targets_differ(options, NULL, &err);
    for (size_t i = 0; i < options->path_count && !code; i++) {
        code = cut_file(options, own, select, options->paths[i], &outcomes[i], &err);
        to_standard = to_standard || outcomes[i].to_standard;
    }
    if (code) {
        fp_say("cut", "%s", err.text);
    } else {
        describe(report, options, outcomes);
        // The part itself may be on standard output, where a table would spoil it.
        status =
            to_standard || fp_options_report(options, "cut", report, false) ? FP_EXIT_OK : FP_EXIT_CANNOT;
    }
    fp_report_free(report);
    free(outcomes);
    return status;
}

int fp_cut_main(int argc, char **argv) {
    struct cut_options own = { .around_slowest = -1 };
    const struct fp_option rows[] = {
        { .name = "category",
          .value = "LIST",
          .help = "Only these categories, as the file spells them: kernel,cpu_op.",
          .text = &own.category },
        { .name = "kernel",
          .value = "REGEX",
          .help = "Only device work whose name matches, its launches and the operators that own it.",
          .text = &own.kernel },
        { .name = "around-slowest",
          .value = "N",
          .help = "The slowest step and N steps on either side; 0: it alone.",
          .number = &own.around_slowest },
        { .name = "every",
          .value = "N",
          .help = "Every N-th step; in a file without steps, every N-th slice of each lane.",
          .number = &own.every },
        { .name = "drop-metadata",
          .help = "Leave out top-level keys that neither viewers nor analyses need.",
          .flag = &own.drop_metadata },
        { .name = "drop-secrets",
          .help = "Replace the values of tokens, keys and passwords by [removed].",
          .flag = &own.drop_secrets },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "cut",
        .summary = "takes a part out of a trace, by time, step, kernel, device and more",
        .synopsis = "FILE ... CONDITION ... -o PART",
        .text = text,
        .examples = examples,
        .exit_status = "0 written, 2 cannot read, cannot write, or no such step",
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
    options.select.category = own.category;
    options.select.kernel = own.kernel;
    options.select.slowest = own.around_slowest + 1;
    options.select.every = own.every;
    if (fp_select_new(&options.select, &select, &err)) {
        fp_say("cut", "%s", err.text);
        return FP_EXIT_CANNOT;
    }
    if (fp_select_all(select) && !own.drop_metadata && !own.drop_secrets) {
        fp_say("cut", "which part? Name one, for example --step 3 or --from 1s --to 2s");
        status = FP_EXIT_CANNOT;
    } else {
        status = cut_files(&options, &own, select);
    }
    fp_select_free(select);
    return status;
}
