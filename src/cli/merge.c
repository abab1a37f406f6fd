// merge.c - `flagprof merge RANK0 RANK1 ... -o ALL`: one trace of many ranks, and what their clocks and
// collectives tell.
//
// In:  a file for each rank.
// Out: analysis/merge.c's one file, and tables: clocks, who came last.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/merge.h"
#include "cli/input.h"
#include "cli/verbs.h"

static const char text[] =
    "Writes one trace from a file for each rank. Process ids, flow ids, correlation and External ids are\n"
    "renumbered by rank so that no two ranks share one by accident; process names say whose they are; both\n"
    "schemes of time (absolute, and relative to baseTimeNanoseconds) are put on one base; each rank's own\n"
    "top-level keys (deviceProperties, distributedInfo, ...) are kept under flagprof_merge.\n"
    "\n"
    "Clocks: no rank leaves an all-reduce before the last one came, so the ends of one collective are one\n"
    "moment on several clocks. From the collectives that ranks share (same group and sequence number; by\n"
    "order where the file has none, and that is said) each rank's offset, drift and spread are printed.\n"
    "Times are moved only with --align, and only where the offset is proven. The second table says which\n"
    "rank came last to the collectives, and how long the others waited.\n"
    "\n"
    "Without -o nothing is written: only the tables are printed. Files are read one at a time, twice;\n"
    "memory is 40 bytes a collective, not the events.\n";

static const char examples[] =
    "  flagprof merge rank*.json.gz -o all.json.gz           one trace of all ranks\n"
    "  flagprof merge rank*.json.gz                          only: do the clocks agree, who is late?\n"
    "  flagprof merge rank*.json.gz --align -o all.json.gz   with the clocks put right\n"
    "  flagprof merge rank*.json --step 5 -o step5.json      one step of every rank\n"
    "  flagprof merge --format json rank*.json | jq .ranks   for a script\n";

struct merge_options {
    bool align, anyway, drop_secrets;
    int64_t top;
};

static const struct fp_column rank_columns[] = {
    { "rank", "rank", FP_CELL_COUNT },
    { "file", "file", FP_CELL_TEXT },
    { "events", "events", FP_CELL_COUNT },
    { "matched", "collectives_matched", FP_CELL_COUNT },
    { "offset", "clock_offset_ns", FP_CELL_SIGNED_TIME },
    { "drift us/s", "clock_drift_us_per_s", FP_CELL_NUMBER },
    { "spread", "clock_spread_ns", FP_CELL_TIME },
    { "worst", "clock_worst_ns", FP_CELL_TIME },
    { "clock is", "clock", FP_CELL_TEXT },
};

static const struct fp_column late_columns[] = {
    { "rank", "rank", FP_CELL_COUNT },
    { "collectives", "collectives", FP_CELL_COUNT },
    { "came last", "times_last", FP_CELL_COUNT },
    { "share", "share_last", FP_CELL_PERCENT },
    { "to the next", "behind_next_ns", FP_CELL_TIME },
    { "the first waited", "waited_ns", FP_CELL_TIME },
    { "worst wait", "worst_ns", FP_CELL_TIME },
};

static const struct fp_column meeting_columns[] = {
    { "collective", "collective", FP_CELL_TEXT },
    { "number", "number", FP_CELL_COUNT },
    { "ranks", "ranks", FP_CELL_COUNT },
    { "last rank", "last_rank", FP_CELL_COUNT },
    { "to the next", "behind_next_ns", FP_CELL_TIME },
    { "to the first", "behind_first_ns", FP_CELL_TIME },
    { "ends within", "ends_within_ns", FP_CELL_TIME },
};

#define COLUMNS(table) table, sizeof(table) / sizeof(*(table))

static void describe_ranks(struct fp_report *report, const struct fp_merge *merge) {
    fp_report_table(report, "ranks", "ranks and their clocks, against the first", COLUMNS(rank_columns),
                    NULL);
    for (size_t i = 0; i < merge->count; i++) {
        const struct fp_merge_file *file = &merge->files[i];
        const struct fp_align_rank *rank = &merge->ranks[i];
        bool measured = rank->matched > 0 && rank->state != FP_ALIGN_REFERENCE;
        fp_report_count(report, file->rank);
        const char *slash = strrchr(file->name, '/');
        fp_report_text(report, fp_text_of(slash ? slash + 1 : file->name));
        fp_report_count(report, file->events);
        fp_report_count(report, rank->matched);
        if (measured)
            fp_report_time(report, rank->offset_ns);
        else
            fp_report_none(report);
        if (measured && rank->drift_known)
            fp_report_number(report, rank->drift * 1e6);
        else
            fp_report_none(report);
        if (measured && rank->matched > 1) {
            fp_report_time(report, rank->spread_ns);
            fp_report_time(report, rank->worst_ns);
        } else {
            fp_report_none(report);
            fp_report_none(report);
        }
        fp_report_text(report, fp_text_of(fp_align_word(rank->state)));
    }
}

struct lateness {
    uint64_t meetings, last;
    int64_t behind_next, waited, worst;
};

static void describe_lateness(struct fp_report *report, const struct fp_merge *merge) {
    struct lateness *late = merge->count ? calloc(merge->count, sizeof(*late)) : NULL;
    if (!late)
        return;
    for (size_t i = 0; i < merge->meeting_count; i++) {
        const struct fp_meeting *meeting = &merge->meetings[i];
        struct lateness *rank = &late[meeting->last_rank];
        int64_t waited = meeting->last_ns - meeting->first_ns;
        rank->last++;
        rank->behind_next += meeting->last_ns - meeting->next_ns;
        rank->waited += waited;
        rank->worst = waited > rank->worst ? waited : rank->worst;
    }
    fp_report_table(report, "stragglers",
                    "who came last to the collectives that ranks share, and how long others waited",
                    COLUMNS(late_columns), "no collective is shared by ranks whose clocks can be compared");
    for (size_t i = 0; i < merge->count && merge->meeting_count; i++) {
        fp_report_count(report, merge->files[i].rank);
        fp_report_count(report, merge->meeting_count);
        fp_report_count(report, late[i].last);
        fp_report_number(report, 100.0 * (double)late[i].last / (double)merge->meeting_count);
        fp_report_time(report, late[i].behind_next);
        fp_report_time(report, late[i].waited);
        fp_report_time(report, late[i].worst);
    }
    free(late);
}

static int compare_waits(const void *left, const void *right) {
    const struct fp_meeting *a = left, *b = right;
    int64_t x = a->last_ns - a->first_ns, y = b->last_ns - b->first_ns;
    return x < y ? 1 : x > y ? -1 : a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static void describe_meetings(struct fp_report *report, const struct fp_merge *merge, int64_t top) {
    size_t count = merge->meeting_count < (size_t)top ? merge->meeting_count : (size_t)top;
    struct fp_meeting *sorted = malloc((merge->meeting_count + 1) * sizeof(*sorted));
    if (!sorted)
        return;
    if (merge->meeting_count)
        memcpy(sorted, merge->meetings, merge->meeting_count * sizeof(*sorted));
    qsort(sorted, merge->meeting_count, sizeof(*sorted), compare_waits);
    fp_report_table(report, "collectives",
                    "collectives that were waited for longest: how far the last rank was behind",
                    COLUMNS(meeting_columns), NULL);
    for (size_t i = 0; i < count; i++) {
        const struct fp_meeting *meeting = &sorted[i];
        fp_report_text(report, fp_intern_text(merge->texts, meeting->name));
        fp_report_count(report, meeting->number);
        fp_report_count(report, meeting->ranks);
        fp_report_count(report, merge->files[meeting->last_rank].rank);
        fp_report_time(report, meeting->last_ns - meeting->next_ns);
        fp_report_time(report, meeting->last_ns - meeting->first_ns);
        fp_report_time(report, meeting->ends_ns);
    }
    free(sorted);
}

static void note_clocks(struct fp_report *report, const struct fp_merge *merge) {
    bool by_order = false, held = merge->count > 1, apart = false, unchecked = false;
    for (size_t i = 1; i < merge->count; i++) {
        const struct fp_align_rank *rank = &merge->ranks[i];
        by_order |= rank->matched && rank->by_order;
        held &= fp_align_holds(rank->state);
        unchecked |= rank->state == FP_ALIGN_SINGLE;
        if (!fp_align_holds(rank->state) || rank->state == FP_ALIGN_SINGLE)
            fp_report_note(report, "Rank %llu's clock: %s.", (unsigned long long)merge->files[i].rank,
                           fp_align_sentence(rank->state));
        apart |= fp_align_holds(rank->state) && llabs(rank->offset_ns) > 20000 + 4 * rank->spread_ns;
    }
    if (by_order)
        fp_report_note(report, "Collectives carry no sequence number: they were matched by order.");
    if (merge->align && unchecked)
        fp_report_note(report, "Times were moved by the offsets of the table. Where an offset rests on one "
                               "collective it was asked for and not proven.");
    else if (merge->align)
        fp_report_note(report, "Times were moved by the offsets of the table: the clocks are aligned.");
    else if (apart)
        fp_report_note(report,
                       "The clocks stand apart and were left so; --align moves the times by the offsets.");
    else if (held)
        fp_report_note(report, "The clocks agree; no time was moved.");
    else if (merge->count > 1)
        fp_report_note(report, "Not every rank's clock could be compared; no time was moved.");
}

static void note_numbers(struct fp_report *report, const struct fp_merge *merge) {
    bool mixed = false, unknown = false;
    for (size_t i = 0; i < merge->count; i++) {
        mixed |= merge->files[i].times == FP_MERGE_EPOCH && merge->has_base;
        unknown |= merge->files[i].times == FP_MERGE_UNKNOWN && merge->has_base;
        if (merge->files[i].rank_source == FP_MERGE_RANK_ORDER)
            fp_report_note(report, "%s names no rank: it was taken as rank %llu.", merge->files[i].name,
                           (unsigned long long)merge->files[i].rank);
        if (merge->files[i].keys_too_large)
            fp_report_note(report, "%s: %llu top-level values above 1 MB were left out.",
                           merge->files[i].name, (unsigned long long)merge->files[i].keys_too_large);
    }
    if (merge->shared_rank)
        fp_report_note(report, "Two files claim the same rank; both are kept, told apart by their place.");
    if (mixed)
        fp_report_note(
            report,
            "Some files have absolute times, others a base time: all were put on the base time %lld ns.",
            (long long)merge->base_ns);
    if (unknown)
        fp_report_note(
            report,
            "Files without a base time were placed as if theirs were %lld ns: where they lie against "
            "the others is not known.",
            (long long)merge->base_ns);
    if (merge->compact_pids)
        fp_report_note(report,
                       "Process ids were numbered anew, the first rank's too: %llu numbers for each file.",
                       (unsigned long long)merge->pid_block);
    else
        fp_report_note(report,
                       "Process ids: the n-th file's are its own plus n times %llu (the first is number 0).",
                       (unsigned long long)merge->pid_block);
    if (merge->id_block)
        fp_report_note(report,
                       "Flow, correlation and External ids: the n-th file's are its own plus n times %llu.",
                       (unsigned long long)merge->id_block);
    else
        fp_report_note(report,
                       "Flow, correlation and External ids are too large to shift and were numbered anew.");
}

static void describe(struct fp_report *report, const struct fp_merge *merge, const struct merge_options *own,
                     uint64_t written) {
    uint64_t collapsed = 0;
    for (size_t i = 0; i < merge->count; i++)
        collapsed += merge->files[i].metadata_collapsed;
    fp_report_fact_count(report, "files", "files", merge->count);
    if (written)
        fp_report_fact_count(report, "events_written", "events written", written);
    if (collapsed)
        fp_report_fact_count(report, "metadata_collapsed", "metadata repeats left out", collapsed);
    if (written && merge->secrets)
        fp_report_fact_count(report, "secrets_removed", "secrets removed", merge->secrets);
    describe_ranks(report, merge);
    describe_lateness(report, merge);
    describe_meetings(report, merge, own->top);
    note_clocks(report, merge);
    if (written)
        note_numbers(report, merge);
}

// The files of a command line with what is kept of each.
struct course {
    const struct fp_options *options;
    const struct merge_options *own;
    struct fp_select *select;
    struct fp_input *inputs;
    struct fp_cut *cuts; // NULL: everything
    const char **paths, **names;
    struct fp_merge *merge;
};

static int scan_files(struct course *course, struct fp_error *err) {
    int code = 0;
    for (size_t i = 0; i < course->options->path_count && !code; i++) {
        struct fp_reader_options options = fp_input_reader_options(course->options, course->inputs[i].name);
        if (course->cuts)
            code = fp_cut_plan(course->inputs[i].path, course->select, &options, &course->cuts[i], err);
        if (!code)
            code = fp_merge_scan(course->merge, i, &options, course->cuts ? &course->cuts[i] : NULL, err);
    }
    return code ? code : fp_merge_plan(course->merge, course->own->align, course->own->anyway, err);
}

static int write_files(struct course *course, struct fp_emit *emit, struct fp_error *err) {
    int code = 0;
    for (size_t i = 0; i < course->merge->count && !code && !fp_emit_state(emit); i++) {
        size_t order = course->merge->files[i].order;
        struct fp_reader_options options =
            fp_input_reader_options(course->options, course->inputs[order].name);
        struct fp_reader *reader;
        code = fp_reader_open(course->inputs[order].path, &options, &reader, err);
        if (!code)
            code = fp_merge_write(course->merge, i, reader, course->cuts ? &course->cuts[order] : NULL, emit,
                                  err);
        if (!code)
            fp_input_say_notes("merge", &course->inputs[order], reader);
        fp_reader_close(reader);
    }
    return code;
}

static int write_output(struct course *course, uint64_t *written, struct fp_error *err) {
    struct fp_emit_options emitting = { sizeof(emitting), FP_EMIT_AS_IS, false, course->options->salvage };
    struct fp_output *output;
    int code = fp_output_open(course->options->output, NULL, &output, err);
    if (code)
        return code;
    struct fp_emit *emit = fp_emit_new(output, &emitting);
    char *description = fp_merge_description(course->merge);
    err->text[0] = 0;
    code = emit && description ? fp_merge_begin(course->merge, emit) : -ENOMEM;
    if (!code) {
        fp_emit_set_last(emit, "flagprof_merge", description);
        code = write_files(course, emit, err);
    }
    if (!code)
        code = fp_emit_end(emit, NULL);
    if (emit)
        *written = fp_emit_events(emit);
    fp_emit_free(emit);
    free(description);
    if (!code || fp_output_state(output))
        return fp_output_commit(output, err);
    fp_output_abort(output);
    if (!err->text[0])
        fp_error_set(err, "not enough memory to merge");
    return code;
}

static int run(struct course *course, struct fp_error *err) {
    uint64_t written = 0;
    int code = scan_files(course, err);
    if (!code && course->options->output)
        code = write_output(course, &written, err);
    if (code)
        return code;
    struct fp_report *report = fp_report_new("flagprof-merge-1");
    describe(report, course->merge, course->own, written);
    bool to_standard = course->options->output && fp_input_target_is_standard(course->options->output);
    if (!to_standard && !fp_options_report(course->options, "merge", report, false)) {
        fp_error_set(err, "the tables could not be printed");
        code = -EIO;
    }
    fp_report_free(report);
    return code;
}

static int open_inputs(struct course *course, struct fp_error *err) {
    size_t count = course->options->path_count;
    course->inputs = calloc(count, sizeof(*course->inputs));
    course->paths = calloc(count, sizeof(*course->paths));
    course->names = calloc(count, sizeof(*course->names));
    course->cuts = fp_select_all(course->select) ? NULL : calloc(count, sizeof(*course->cuts));
    if (!course->inputs || !course->paths || !course->names ||
        (!course->cuts && !fp_select_all(course->select)))
        goto no_memory;
    for (size_t i = 0; i < count; i++)
        course->inputs[i].fd = -1;
    for (size_t i = 0; i < count; i++) {
        int code = fp_input_open(course->options->paths[i], true, &course->inputs[i], err);
        if (code)
            return code;
        course->paths[i] = course->inputs[i].path;
        course->names[i] = course->inputs[i].name;
    }
    course->merge = fp_merge_new(course->paths, course->names, count);
    if (course->merge) {
        course->merge->drop_secrets = course->own->drop_secrets;
        return 0;
    }
no_memory:
    fp_error_set(err, "not enough memory to merge %zu files", count);
    return -ENOMEM;
}

static void close_course(struct course *course) {
    for (size_t i = 0; course->inputs && i < course->options->path_count; i++) {
        fp_input_close(&course->inputs[i]);
        if (course->cuts)
            fp_cut_free(&course->cuts[i]);
    }
    fp_merge_free(course->merge);
    fp_select_free(course->select);
    free(course->inputs);
    free(course->cuts);
    free(course->paths);
    free(course->names);
}

int fp_merge_main(int argc, char **argv) {
    struct merge_options own = { .top = 10 };
    const struct fp_option rows[] = {
        { .name = "align",
          .help = "Move each rank's times by its offset; refused where an offset is not proven.",
          .flag = &own.align },
        { .name = "anyway",
          .help = "Merge files that do not meet in time, though nothing shows that they belong together.",
          .flag = &own.anyway },
        { .name = "drop-secrets",
          .help = "Write \"[removed]\" for the values of tokens and passwords in headers and metadata.",
          .flag = &own.drop_secrets },
        { .name = "top",
          .value = "N",
          .help = "Collectives in the last table. Default: 10.",
          .number = &own.top },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "merge",
        .summary = "puts the traces of many ranks into one, and compares their clocks",
        .synopsis = "[options] RANK_FILE ... [-o ALL]",
        .text = text,
        .examples = examples,
        .exit_status =
            "0 merged or printed, 2 cannot read, cannot write, or refused (not one run, or not proven)",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = rows,
        .least_paths = 1,
    };
    struct fp_options options;
    struct fp_error err = { "" };
    struct course course = { .options = &options, .own = &own };
    int status = fp_options_parse(argc, argv, &usage, &options);
    if (status >= 0)
        return status;
    int code = fp_select_new(&options.select, &course.select, &err);
    if (!code)
        code = open_inputs(&course, &err);
    if (!code)
        code = run(&course, &err);
    if (code)
        fp_say("merge", "%s", err.text);
    close_course(&course);
    return code ? FP_EXIT_CANNOT : FP_EXIT_OK;
}
