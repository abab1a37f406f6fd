// diff.c - `flagprof diff BASE TEST`: what changed, and what of it is more than noise.
//
// In:  one or several traces on either side.
// Out: tables of changes; with --fail-on, an exit status for CI.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "analysis/names.h"
#include "analysis/stats.h"
#include "cli/diff_limit.h"
#include "cli/feed.h"
#include "cli/readable.h"
#include "cli/verbs.h"

static const char text[] =
    "Compares two traces, or two sides of several each: totals of the run, device work by name, operators\n"
    "and API calls. Names are matched first as they are, then by what stays of them without template\n"
    "arguments, parameters, numbers and hashes; those are marked ~. What only one side has is new or gone.\n"
    "\n"
    "A change counts only beyond the noise. With one file a side the noise is three standard errors of the\n"
    "sum of its own durations; with a few files, Student's t at 1 % (and the sides must not overlap); with\n"
    "five or more a side, three standard errors of the medians (and the files must rank apart at 1 %). With\n"
    "several files a name's noise is never taken for less than what is usual in its table. Never less than\n"
    "1 % (one file: 2 %). Two single runs can differ for reasons that no single run shows: take several.\n"
    "\n"
    "Traces of different vendors have no kernel name in common; their operators are compared.\n"
    "\n"
    "A limit of --fail-on that cannot be judged fails: nothing matches it, a file has no device work, steps\n"
    "or calls of which it speaks, or was not read whole.\n";

static const char examples[] =
    "  flagprof diff before.json after.json                      what changed?\n"
    "  flagprof diff --base a*.json.gz --test b*.json.gz         with several runs a side\n"
    "  flagprof diff old.json new.json --fail-on 'device_time>5%'\n"
    "                                                            exit status 1 when it got slower\n"
    "  flagprof diff old.json new.json --fail-on 'kernel:gemm>10%, new>0, step_time>2%'\n"
    "  flagprof diff cuda.json rocm.json --by operator           across vendors\n"
    "  flagprof diff a.json b.json --per call                    means instead of totals\n";

struct diff_options {
    const char *by, *per;
    int64_t top, base_mark, test_mark;
    bool all;
    struct fp_text_list limits;
};

enum per { PER_RUN, PER_CALL, PER_STEP };

// One side's files.
struct sides {
    char **paths[2];
    size_t counts[2];
};

struct course {
    const struct fp_options *options;
    struct fp_diff *diff;
    struct fp_report *notes;
    enum per per;
    size_t half_read, without_steps; // files; of the latter only where steps were asked for
};

static int add(struct course *course, enum fp_diff_section section, enum fp_diff_side side, size_t file,
               const char *name, int64_t value) {
    return fp_diff_add(course->diff, section, side, file, fp_text_of(name),
                       (struct fp_diff_value){ 1, value, 0 });
}

// Standard deviation of a group's durations, from its percentiles: half of what the middle two thirds span.
static double deviation_of(struct fp_distribution *times) {
    double spread =
        (double)(fp_distribution_percentile(times, 84) - fp_distribution_percentile(times, 16)) / 2;
    return spread > 0 ? spread : 0;
}

static int add_group(struct course *course, enum fp_diff_section section, enum fp_diff_side side, size_t file,
                     struct fp_text name, uint64_t count, int64_t total, double deviation, uint64_t steps) {
    struct fp_diff_value value = { count, total, deviation * deviation * (double)count };
    uint64_t by = course->per == PER_CALL ? count : course->per == PER_STEP ? steps : 1;
    if (by > 1) {
        value.total /= (int64_t)by;
        value.variance /= (double)by * (double)by;
    }
    return fp_diff_add(course->diff, section, side, file, name, value);
}

// The name as a person reads it: mangled ones demangled, descriptors and compilers' suffixes off.
static int add_named(struct course *course, enum fp_diff_section section, enum fp_diff_side side, size_t file,
                     struct fp_text raw, uint64_t count, int64_t total, double deviation, uint64_t steps) {
    char *readable = fp_readable_name(raw);
    int code = add_group(course, section, side, file, readable ? fp_text_of(readable) : raw, count, total,
                         deviation, steps);
    free(readable);
    return code;
}

static bool is_device_work(const struct fp_stats_group *group) {
    return group->category == FP_CAT_KERNEL || group->category == FP_CAT_MEMCPY ||
           group->category == FP_CAT_MEMSET;
}

// Own time scatters as the whole does, in proportion.
static double own_share(const struct fp_stats_group *group) {
    return group->nested.host_total_ns > 0
               ? (double)group->nested.host_self_ns / (double)group->nested.host_total_ns
               : 0;
}

static int add_groups(struct course *course, enum fp_diff_side side, size_t file, struct fp_stats *stats) {
    uint64_t steps = stats->step_count;
    int code = 0;
    for (uint32_t i = 0; i < stats->group_count && !code; i++) {
        struct fp_stats_group *group = &stats->groups[i];
        struct fp_text name = fp_intern_text(stats->names, group->name_id);
        if (!group->times.count || group->hidden)
            continue;
        double deviation = deviation_of(&group->times);
        if (is_device_work(group))
            code = add_named(course, FP_DIFF_KERNEL, side, file, name, group->times.count, group->times.sum,
                             deviation, steps);
        else if (group->category == FP_CAT_RUNTIME || group->category == FP_CAT_DRIVER)
            code = add_named(course, FP_DIFF_CALL, side, file, name, group->times.count,
                             group->nested.host_self_ns, deviation * own_share(group), steps);
        if (code || group->category != FP_CAT_CPU_OP)
            continue;
        // How device time of an operator scatters is not in its durations.
        code = add_named(course, FP_DIFF_OPERATOR, side, file, name, group->nested.count,
                         group->nested.device_self_ns, 0, steps);
        if (!code)
            code = add_named(course, FP_DIFF_OPERATOR_HOST, side, file, name, group->nested.count,
                             group->nested.host_self_ns, deviation * own_share(group), steps);
    }
    return code;
}

struct totals {
    int64_t kernel, copy, call, operator_host, operator_device, busy, idle, step;
    uint64_t kernels, copies, calls, operators;
};

static struct totals total_up(const struct fp_stats *stats) {
    struct totals totals = { 0 };
    for (uint32_t i = 0; i < stats->group_count; i++) {
        const struct fp_stats_group *group = &stats->groups[i];
        switch (group->category) {
        case FP_CAT_KERNEL:
            totals.kernel += group->times.sum;
            totals.kernels += group->times.count;
            break;
        case FP_CAT_MEMCPY:
        case FP_CAT_MEMSET:
            totals.copy += group->times.sum;
            totals.copies += group->times.count;
            break;
        case FP_CAT_RUNTIME:
        case FP_CAT_DRIVER:
            totals.call += group->nested.host_self_ns;
            totals.calls += group->times.count;
            break;
        case FP_CAT_CPU_OP:
            totals.operator_host += group->nested.host_self_ns;
            totals.operator_device += group->nested.device_self_ns;
            totals.operators += group->nested.count;
            break;
        default:
            break;
        }
    }
    for (uint32_t i = 0; i < stats->device_count; i++) {
        const struct fp_work_times *times = &stats->devices[i].times;
        totals.busy += times->busy_ns;
        totals.idle += times->last_ns - times->first_ns - times->busy_ns;
    }
    for (uint32_t i = 0; i < stats->step_count; i++)
        totals.step += stats->steps[i].window.to_ns - stats->steps[i].window.from_ns;
    if (stats->step_count)
        totals.step /= stats->step_count;
    return totals;
}

static int add_totals(struct course *course, enum fp_diff_side side, size_t file,
                      const struct fp_stats *stats) {
    struct totals totals = total_up(stats);
    const struct {
        enum fp_diff_section section;
        const char *name;
        int64_t value;
        bool known;
    } rows[] = {
        { FP_DIFF_TIMES, "wall_time", stats->last_ns - stats->first_ns, stats->any_time },
        { FP_DIFF_TIMES, "step_time", totals.step, stats->step_count > 0 },
        { FP_DIFF_TIMES, "device_time", stats->device_total_ns, true },
        { FP_DIFF_TIMES, "device_busy", totals.busy, true },
        { FP_DIFF_TIMES, "device_idle", totals.idle, true },
        { FP_DIFF_TIMES, "kernel_time", totals.kernel, true },
        { FP_DIFF_TIMES, "copy_time", totals.copy, true },
        { FP_DIFF_TIMES, "operator_device_time", totals.operator_device, true },
        { FP_DIFF_TIMES, "operator_host_time", totals.operator_host, true },
        { FP_DIFF_TIMES, "call_time", totals.call, true },
        { FP_DIFF_COUNTS, "kernels", (int64_t)totals.kernels, true },
        { FP_DIFF_COUNTS, "copies", (int64_t)totals.copies, true },
        { FP_DIFF_COUNTS, "calls", (int64_t)totals.calls, true },
        { FP_DIFF_COUNTS, "operators", (int64_t)totals.operators, true },
        { FP_DIFF_COUNTS, "steps", (int64_t)stats->step_count, true },
    };
    int code = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !code; i++)
        if (rows[i].known)
            code = add(course, rows[i].section, side, file, rows[i].name, rows[i].value);
    return code;
}

static int each(void *user, const struct fp_trace_event *event) {
    return fp_stats_add(user, event);
}

static int read_file(struct course *course, enum fp_diff_side side, size_t file, const char *path,
                     struct fp_error *err) {
    struct fp_stats *stats = fp_stats_new();
    struct fp_feed feed = { 0 };
    if (!stats) {
        fp_error_set(err, "%s: not enough memory", path);
        return -ENOMEM;
    }
    fp_feed_read(&feed, path, course->options, course->options->salvage, each, stats);
    int code = feed.code;
    if (code) {
        *err = feed.err;
    } else {
        code = fp_stats_finish(stats, feed.reader);
        if (!code)
            code = add_totals(course, side, file, stats);
        if (!code)
            code = add_groups(course, side, file, stats);
        if (code)
            fp_error_set(err, "%s: not enough memory", path);
        if (feed.part && !feed.chosen_things)
            fp_report_note(course->notes, "%s: nothing that was asked for is in it.", path);
        if (!fp_feed_nothing_lost(&feed)) {
            course->half_read++;
            fp_report_note(course->notes, "%s was not read whole: its totals are too small.", path);
        }
        if (!code && course->per == PER_STEP && !stats->step_count) {
            course->without_steps++;
            fp_report_note(course->notes, "%s has no steps: its totals are those of the run.", path);
        }
    }
    fp_reader_close(feed.reader);
    fp_stats_free(stats);
    return code;
}

// Which sides the paths belong to.
static bool split(const struct fp_options *options, const struct diff_options *own, struct sides *sides) {
    size_t count = options->path_count;
    if (own->base_mark < 0 && own->test_mark < 0) {
        if (count != 2)
            return false;
        *sides = (struct sides){ { options->paths, options->paths + 1 }, { 1, 1 } };
        return true;
    }
    if (own->base_mark < 0 || own->test_mark < 0)
        return false;
    size_t base = (size_t)own->base_mark, test = (size_t)own->test_mark;
    bool base_first = base <= test;
    if ((base_first ? base : test) != 0)
        return false; // files before the first of the two
    *sides = (struct sides){ { options->paths + base, options->paths + test },
                             { base_first ? test - base : count - base,
                               base_first ? count - test : base - test } };
    return sides->counts[0] && sides->counts[1];
}

// Printing.

static const struct fp_column time_columns[] = {
    { "total", "name", FP_CELL_TEXT },
    { "base", "base_ns", FP_CELL_TIME },
    { "test", "test_ns", FP_CELL_TIME },
    { "change", "change_ns", FP_CELL_SIGNED_TIME },
    { "change", "change_percent", FP_CELL_PERCENT },
    { "noise", "noise_ns", FP_CELL_TIME },
    { "verdict", "verdict", FP_CELL_TEXT },
};

static const struct fp_column count_columns[] = {
    { "count", "name", FP_CELL_TEXT },      { "base", "base", FP_CELL_COUNT },
    { "test", "test", FP_CELL_COUNT },      { "change", "change_percent", FP_CELL_PERCENT },
    { "verdict", "verdict", FP_CELL_TEXT },
};

static const struct fp_column group_columns[] = {
    { "name", "name", FP_CELL_TEXT },
    { "calls", "base_calls", FP_CELL_COUNT },
    { "then", "test_calls", FP_CELL_COUNT },
    { "base", "base_ns", FP_CELL_TIME },
    { "test", "test_ns", FP_CELL_TIME },
    { "change", "change_ns", FP_CELL_SIGNED_TIME },
    { "change", "change_percent", FP_CELL_PERCENT },
    { "noise", "noise_ns", FP_CELL_TIME },
    { "verdict", "verdict", FP_CELL_TEXT },
};

#define COLUMNS(table) table, sizeof(table) / sizeof(*(table))

#define NOT_IN_BASE "not in base"
#define NOT_IN_TEST "not in test"

static const char *verdict_word(enum fp_diff_verdict verdict, bool counts) {
    static const char *const words[] = { "same", "slower", "faster", "new", "gone" };
    return counts && verdict == FP_DIFF_SLOWER   ? "more"
           : counts && verdict == FP_DIFF_FASTER ? "fewer"
                                                 : words[verdict];
}

// A time that one side does not have at all is neither slower nor faster; a name is new or gone.
static const char *time_word(const struct fp_diff_row *row) {
    return row->base == row->test ? "same"
           : row->base == 0       ? NOT_IN_BASE
           : row->test == 0       ? NOT_IN_TEST
                                  : verdict_word(row->verdict, false);
}

// The side that has no device work at all, where the other has: NOT_IN_BASE, NOT_IN_TEST or NULL.
static const char *side_without_device(const struct fp_diff *diff) {
    const struct fp_diff_table *times = &diff->tables[FP_DIFF_TIMES];
    for (size_t i = 0; i < times->count; i++) {
        const struct fp_diff_row *row = &times->rows[i];
        struct fp_text name =
            fp_intern_text(diff->names, row->test_name != FP_NO_ID ? row->test_name : row->base_name);
        if (fp_text_equals(name, "device_time") && (row->base == 0) != (row->test == 0))
            return row->base == 0 ? NOT_IN_BASE : NOT_IN_TEST;
    }
    return NULL;
}

static struct fp_text name_of(const struct fp_diff *diff, const struct fp_diff_row *row) {
    return fp_intern_text(diff->names, row->test_name != FP_NO_ID ? row->test_name : row->base_name);
}

static void put_change(struct fp_report *report, const struct fp_diff_row *row) {
    fp_report_time(report, row->base);
    fp_report_time(report, row->test);
    fp_report_time(report, row->test - row->base);
    double percent = fp_diff_percent(row);
    bool one_sided = (row->base == 0) != (row->test == 0); // no noise lies between something and nothing
    if (isfinite(percent))
        fp_report_number(report, percent);
    else
        fp_report_none(report);
    if (one_sided)
        fp_report_none(report);
    else
        fp_report_time(report, row->noise);
}

static void put_times(struct fp_report *report, const struct fp_diff *diff) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_TIMES];
    const char *missing = side_without_device(diff);
    fp_report_table(report, "times", "the run", COLUMNS(time_columns), NULL);
    fp_report_row_units(report);
    for (size_t i = 0; i < table->count; i++) {
        fp_report_text(report, name_of(diff, &table->rows[i]));
        put_change(report, &table->rows[i]);
        // A device may have been idle for no time at all.
        bool idle = fp_text_equals(name_of(diff, &table->rows[i]), "device_idle") && !missing;
        fp_report_text(report, fp_text_of(idle ? verdict_word(table->rows[i].verdict, false)
                                               : time_word(&table->rows[i])));
    }
}

static void put_counts(struct fp_report *report, const struct fp_diff *diff) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_COUNTS];
    fp_report_table(report, "counts", "what it consisted of", COLUMNS(count_columns), NULL);
    for (size_t i = 0; i < table->count; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        double percent = fp_diff_percent(row);
        fp_report_text(report, name_of(diff, row));
        fp_report_count(report, (uint64_t)row->base);
        fp_report_count(report, (uint64_t)row->test);
        if (isfinite(percent))
            fp_report_number(report, percent);
        else
            fp_report_none(report);
        fp_report_text(report, fp_text_of(verdict_word(row->verdict, true)));
    }
}

static void put_name(struct fp_report *report, const struct fp_diff *diff, const struct fp_diff_row *row) {
    struct fp_text name = name_of(diff, row);
    if (!row->similar) {
        fp_report_text(report, name);
        return;
    }
    char *marked = malloc(name.size + 64);
    if (!marked) {
        fp_report_text(report, name);
        return;
    }
    int size = row->base_variants == 1 && row->test_variants == 1
                   ? sprintf(marked, "~ ")
                   : sprintf(marked, "~ (%u names, then %u) ", row->base_variants, row->test_variants);
    memcpy(marked + size, name.at, name.size);
    fp_report_text(report, (struct fp_text){ marked, (size_t)size + name.size });
    free(marked);
}

static void put_groups(struct fp_report *report, const struct fp_diff *diff, enum fp_diff_section section,
                       const char *key, const char *title, const struct diff_options *own) {
    const struct fp_diff_table *table = &diff->tables[section];
    size_t changed = 0, shown = 0;
    for (size_t i = 0; i < table->count; i++)
        changed += fp_diff_changed(&table->rows[i]);
    const char *missing = section == FP_DIFF_OPERATOR ? side_without_device(diff) : NULL;
    fp_report_table(report, key, title, COLUMNS(group_columns), NULL);
    for (size_t i = 0; i < table->count && (!own->top || shown < (size_t)own->top); i++) {
        const struct fp_diff_row *row = &table->rows[i];
        if (!own->all && !fp_diff_changed(row))
            continue;
        shown++;
        put_name(report, diff, row);
        fp_report_count(report, row->base_count);
        fp_report_count(report, row->test_count);
        put_change(report, row);
        bool common = row->base_name != FP_NO_ID && row->test_name != FP_NO_ID;
        fp_report_text(report, fp_text_of(missing && common ? missing : verdict_word(row->verdict, false)));
    }
    fp_report_note(report, "%s: %zu changed beyond the noise, %zu did not%s.", title, changed,
                   table->count - changed,
                   shown < changed ? "; the largest changes are listed (--top 0: all)" : "");
}

static const struct {
    enum fp_diff_section section;
    const char *word, *key, *title;
} sections[] = {
    { FP_DIFF_KERNEL, "kernel", "kernels", "device work by name" },
    { FP_DIFF_OPERATOR, "operator", "operators", "operators, own device time" },
    { FP_DIFF_OPERATOR_HOST, "operator", "operators_host", "operators, own host time" },
    { FP_DIFF_CALL, "call", "calls", "API calls, own host time" },
};

// Whether operators own device time on a side of the comparison.
static bool operators_on_device(const struct fp_diff *diff) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_OPERATOR];
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].base || table->rows[i].test)
            return true;
    return false;
}

static bool operators_are_shared(const struct fp_diff *diff) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_OPERATOR];
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].base_name != FP_NO_ID && table->rows[i].test_name != FP_NO_ID)
            return true;
    return false;
}

// Kernels of two vendors are all new or gone, which says nothing.
static bool kernels_are_strangers(const struct fp_diff *diff) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_KERNEL];
    int64_t both = 0, all = 0;
    bool copies_only = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        int64_t larger = row->base > row->test ? row->base : row->test;
        all += larger;
        if (row->verdict != FP_DIFF_NEW && row->verdict != FP_DIFF_GONE)
            both += larger;
        copies_only = copies_only && fp_text_begins(name_of(diff, row), "Mem");
    }
    return all && !copies_only && both * 10 < all && operators_are_shared(diff);
}

static void describe(struct fp_report *report, const struct fp_diff *diff, const struct diff_options *own) {
    bool strangers = kernels_are_strangers(diff), on_device = operators_on_device(diff);
    fp_report_fact_count(report, "base_files", "base files", diff->files[FP_DIFF_BASE]);
    fp_report_fact_count(report, "test_files", "test files", diff->files[FP_DIFF_TEST]);
    put_times(report, diff);
    put_counts(report, diff);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        bool wanted = own->by ? strcmp(own->by, "all") == 0 || strcmp(own->by, sections[i].word) == 0
                              : sections[i].section != FP_DIFF_CALL &&
                                    !(strangers && sections[i].section == FP_DIFF_KERNEL) &&
                                    !(on_device && sections[i].section == FP_DIFF_OPERATOR_HOST);
        if (wanted && sections[i].section == FP_DIFF_OPERATOR && !on_device) // nothing but zeros
            fp_report_table(report, sections[i].key, sections[i].title, COLUMNS(group_columns), NULL);
        else if (wanted)
            put_groups(report, diff, sections[i].section, sections[i].key, sections[i].title, own);
    }
    if (strangers && !own->by)
        fp_report_note(
            report,
            "The sides have hardly a kernel name in common (different vendors?): operators are compared. "
            "--by kernel lists the kernels all the same.");
    const char *missing = side_without_device(diff);
    if (missing)
        fp_report_note(report, "The %s has no device work: nothing of the device can be compared.",
                       missing + sizeof("not in"));
    if (diff->files[0] == 1 || diff->files[1] == 1)
        fp_report_note(report,
                       "One file on a side: the noise between runs is not known. Several files a side tell.");
}

// Limits on numbers that are too small, or of which some are a step's and others a run's, mean nothing.
static size_t check_limits(const struct course *course, const struct diff_options *own,
                           struct fp_report *report) {
    size_t failed = 0, files = course->diff->files[FP_DIFF_BASE] + course->diff->files[FP_DIFF_TEST];
    bool mixed = course->without_steps && course->without_steps < files;
    for (size_t i = 0; i < own->limits.count; i++)
        failed += fp_diff_limits_check(own->limits.texts[i], course->diff, report);
    if (own->limits.count && (course->half_read || mixed)) {
        failed++;
        fp_report_note(report, "FAILED: no limit can be judged, %s.",
                       course->half_read ? "since a file was not read whole"
                                         : "since some files have no steps, and --per step was asked for");
    }
    return failed;
}

static int compare_and_print(struct course *course, const struct diff_options *own) {
    struct fp_report *report = course->notes;
    describe(report, course->diff, own);
    size_t failed = check_limits(course, own, report);
    if (!fp_options_report(course->options, "diff", report, true))
        return FP_EXIT_CANNOT;
    return failed ? FP_EXIT_FOUND : FP_EXIT_OK;
}

static int run(const struct fp_options *options, const struct diff_options *own, const struct sides *sides,
               enum per per) {
    struct fp_error err = { "" };
    struct course course = { .options = options, .per = per };
    int code = 0, status = FP_EXIT_CANNOT;
    for (size_t i = 0; i < own->limits.count; i++)
        if (fp_diff_limits_parse(own->limits.texts[i], &err)) {
            fp_say("diff", "%s", err.text);
            return status;
        }
    course.diff = fp_diff_new(sides->counts[0], sides->counts[1]);
    course.notes = fp_report_new("flagprof-diff-1");
    if (!course.diff) {
        fp_error_set(&err, "not enough memory");
        code = -ENOMEM;
    }
    for (int side = 0; side < 2 && !code; side++)
        for (size_t i = 0; i < sides->counts[side] && !code; i++)
            code = read_file(&course, (enum fp_diff_side)side, i, sides->paths[side][i], &err);
    if (!code && (code = fp_diff_finish(course.diff)))
        fp_error_set(&err, "not enough memory to compare");
    if (code)
        fp_say("diff", "%s", err.text);
    else
        status = compare_and_print(&course, own);
    fp_report_free(course.notes);
    fp_diff_free(course.diff);
    return status;
}

// The place of a word in a list; -1 for one that is not in it.
static int place_of(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

int fp_diff_main(int argc, char **argv) {
    static const char *const pers[] = { "run", "call", "step" }, *const bys[] = { "kernel", "operator",
                                                                                  "call", "all" };
    struct diff_options own = { .top = 15, .base_mark = -1, .test_mark = -1 };
    const struct fp_option rows[] = {
        { .name = "base",
          .help = "The files behind it are the base, as --base a1.json a2.json.",
          .mark = &own.base_mark },
        { .name = "test", .help = "The files behind it are the test.", .mark = &own.test_mark },
        { .name = "by",
          .value = "kernel|operator|call|all",
          .help = "Tables of groups. Default: kernel and operator.",
          .text = &own.by },
        { .name = "per",
          .value = "run|call|step",
          .help = "Compare totals of the run, means of a call, or totals of a step. "
                  "Default: run.",
          .text = &own.per },
        { .name = "fail-on",
          .value = "LIMITS",
          .help = "Exit with 1 when a limit is exceeded beyond the noise: 'device_time>5%', 'step_time>2ms', "
                  "'kernel:gemm>10%', 'operator>20%', 'new>0'. Names are those of the tables; several are "
                  "separated by commas. May be given more than once. What cannot be judged fails.",
          .list = &own.limits },
        { .name = "top", .value = "N", .help = "Rows a table; 0: all. Default: 15.", .number = &own.top },
        { .name = "all", .help = "List also what did not change.", .flag = &own.all },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "diff",
        .summary = "what changed between two traces, beyond the noise",
        .synopsis = "[options] BASE TEST | --base FILE ... --test FILE ...",
        .text = text,
        .examples = examples,
        .exit_status = "0 compared, 1 a limit of --fail-on was exceeded or cannot be judged, 2 cannot read",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = rows,
    };
    struct fp_options options;
    struct sides sides;
    int status = fp_options_parse(argc, argv, &usage, &options);
    int per = own.per ? place_of(own.per, pers, 3) : 0;
    if (status < 0 && (per < 0 || (own.by && place_of(own.by, bys, 4) < 0))) {
        fp_say("diff", per < 0 ? "--per is run, call or step" : "--by is kernel, operator, call or all");
        status = FP_EXIT_CANNOT;
    }
    if (status < 0 && !split(&options, &own, &sides))
        status = fp_say_usage(&usage, "which files on which side?");
    if (status < 0)
        status = run(&options, &own, &sides, (enum per)per);
    fp_text_list_free(&own.limits);
    return status;
}
