// stats.c - `flagprof stats FILE ...`: where does the time go?
//
// In:  traces.
// Out: tables: devices, kernels, operators, API calls, copies, streams, steps, collectives, Python
//      frames. The numbers come from analysis/stats.c; here is what of them is shown, and in which order.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/producer.h"
#include "analysis/stats.h"
#include "cli/feed.h"
#include "cli/options.h"
#include "cli/readable.h"
#include "cli/verbs.h"

#define DEFAULT_TOP 10
#define TITLE_SIZE 128

struct stats_options {
    struct fp_options shared;
    const char *by; // names of sections, NULL: all
    int64_t top;    // rows a table; 0: all
    bool exact;     // not as torch counts
};

struct context {
    const struct stats_options *options;
    struct fp_stats *stats;
    struct fp_reader *reader;
    struct fp_producer producer;
    struct fp_report *report;
    size_t top;                 // rows a table
    char titles[8][TITLE_SIZE]; // of tables that do not show all: the report keeps pointers
};

static double percent(int64_t part, int64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

// Rows of one table: places in an array, the largest first.
struct ranking {
    uint32_t *places;
    uint32_t count;
};

struct ranked {
    int64_t weight;
    uint32_t place;
};

static int heavier(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->place < y->place ? -1 : x->place > y->place;
}

// Ranks the groups of the categories in `categories` (a bit each) by `weight`. NULL places when memory is
// out.
static struct ranking rank_groups(const struct fp_stats *stats, uint32_t categories,
                                  int64_t (*weight)(const struct fp_stats_group *group)) {
    struct ranking ranking = { 0 };
    struct ranked *rows = malloc((stats->group_count + 1) * sizeof(*rows));
    ranking.places = malloc((stats->group_count + 1) * sizeof(*ranking.places));
    if (!rows || !ranking.places) {
        free(rows);
        free(ranking.places);
        return (struct ranking){ 0 };
    }
    for (uint32_t i = 0; i < stats->group_count; i++)
        if (categories >> stats->groups[i].category & 1 && stats->groups[i].times.count)
            rows[ranking.count++] = (struct ranked){ weight(&stats->groups[i]), i };
    qsort(rows, ranking.count, sizeof(*rows), heavier);
    for (uint32_t i = 0; i < ranking.count; i++)
        ranking.places[i] = rows[i].place;
    free(rows);
    return ranking;
}

static int64_t by_total(const struct fp_stats_group *group) {
    return group->times.sum;
}

static int64_t by_self_device(const struct fp_stats_group *group) {
    return group->nested.device_self_ns;
}

static int64_t by_self_host(const struct fp_stats_group *group) {
    return group->nested.host_self_ns;
}

// A name as a person reads it. Mangled names stay as they are in CSV and JSON, where they are searched for.
static void put_name(struct context *context, struct fp_text name) {
    char *readable = context->options->shared.format == FP_FORMAT_TABLE ? fp_readable_name(name) : NULL;
    fp_report_text(context->report, readable ? fp_text_of(readable) : name);
    free(readable);
}

static struct fp_text name_of(const struct context *context, const struct fp_stats_group *group) {
    return fp_intern_text(context->stats->names, group->name_id);
}

static void put_distribution(struct context *context, struct fp_distribution *times) {
    struct fp_report *report = context->report;
    fp_report_time(report, times->count ? times->sum / (int64_t)times->count : 0);
    fp_report_time(report, fp_distribution_percentile(times, 50));
    fp_report_time(report, fp_distribution_percentile(times, 95));
    fp_report_time(report, times->least);
    fp_report_time(report, times->most);
}

#define DISTRIBUTION_COLUMNS                                                                                 \
    { "mean", "mean_ns", FP_CELL_TIME }, { "median", "median_ns", FP_CELL_TIME },                            \
        { "p95", "p95_ns", FP_CELL_TIME }, { "min", "min_ns", FP_CELL_TIME }, {                              \
        "max", "max_ns", FP_CELL_TIME                                                                        \
    }

static const struct fp_column kernel_columns[] = {
    { "kernel", "name", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },
    { "total", "total_ns", FP_CELL_TIME },
    { "%", "device_time_percent", FP_CELL_PERCENT },
    DISTRIBUTION_COLUMNS,
};

static const struct fp_column call_columns[] = {
    { "call", "name", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },
    { "total", "total_ns", FP_CELL_TIME },
    { "device", "device_ns", FP_CELL_TIME }, // of the work that it launched
    DISTRIBUTION_COLUMNS,
};

static const struct fp_column slice_columns[] = {
    { "slice", "name", FP_CELL_TEXT },   { "category", "category", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT }, { "total", "total_ns", FP_CELL_TIME },
    { "self", "self_ns", FP_CELL_TIME }, { "median", "median_ns", FP_CELL_TIME },
    { "p95", "p95_ns", FP_CELL_TIME },   { "max", "max_ns", FP_CELL_TIME },
    { NULL, "mean_ns", FP_CELL_TIME },   { NULL, "min_ns", FP_CELL_TIME },
};

static const struct fp_column python_columns[] = {
    { "frame", "name", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },
    { "total", "total_ns", FP_CELL_TIME },
    { "self", "self_ns", FP_CELL_TIME },
    DISTRIBUTION_COLUMNS,
};

static const struct fp_column operator_columns[] = {
    { "operator", "name", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },
    { "self device", "device_self_ns", FP_CELL_TIME },
    { "device", "device_total_ns", FP_CELL_TIME },
    { "self host", "host_self_ns", FP_CELL_TIME },
    { "host", "host_total_ns", FP_CELL_TIME },
    { "median host", "host_median_ns", FP_CELL_TIME },
    { "p95 host", "host_p95_ns", FP_CELL_TIME },
    { NULL, "host_mean_ns", FP_CELL_TIME },
    { NULL, "host_min_ns", FP_CELL_TIME },
    { NULL, "host_max_ns", FP_CELL_TIME },
};

static const struct fp_column copy_columns[] = {
    { "copy", "name", FP_CELL_TEXT },        { "direction", "direction", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },     { "total", "total_ns", FP_CELL_TIME },
    { "bytes", "bytes", FP_CELL_BYTES },     { "GB/s", "gigabytes_per_second", FP_CELL_NUMBER },
    { "median", "median_ns", FP_CELL_TIME }, { "p95", "p95_ns", FP_CELL_TIME },
    { "max", "max_ns", FP_CELL_TIME },
};

static const struct fp_column device_columns[] = {
    { "device", "device", FP_CELL_TEXT },
    { "busy", "busy_ns", FP_CELL_TIME },
    { "busy %", "busy_percent", FP_CELL_PERCENT },
    { "compute", "compute_ns", FP_CELL_TIME },
    { "collectives", "collective_ns", FP_CELL_TIME },
    { "overlap", "compute_collective_overlap_ns", FP_CELL_TIME },
    { "copies", "copy_ns", FP_CELL_TIME },
};

static const struct fp_column idle_columns[] = {
    { "device", "device", FP_CELL_TEXT },
    { "span", "span_ns", FP_CELL_TIME },
    { "idle", "idle_ns", FP_CELL_TIME },
    { "for host", "idle_host_ns", FP_CELL_TIME },
    { "for stream", "idle_stream_ns", FP_CELL_TIME },
    { "unknown", "idle_unknown_ns", FP_CELL_TIME },
    { "collective alone", "collective_alone_ns", FP_CELL_TIME },
};

static const struct fp_column stream_columns[] = {
    { "device", "device", FP_CELL_TEXT },  { "stream", "stream", FP_CELL_TEXT },
    { "work", "count", FP_CELL_COUNT },    { "busy", "busy_ns", FP_CELL_TIME },
    { "total", "total_ns", FP_CELL_TIME }, { "% of device", "device_busy_percent", FP_CELL_PERCENT },
};

static const struct fp_column step_columns[] = {
    { "step", "step", FP_CELL_COUNT },
    { "begins", "begin_ns", FP_CELL_TIME },
    { "duration", "duration_ns", FP_CELL_TIME },
    { "device busy", "device_busy_ns", FP_CELL_TIME },
    { "busy %", "device_busy_percent", FP_CELL_PERCENT },
    { "work begun", "work_begun", FP_CELL_COUNT },
};

static const struct fp_column collective_columns[] = {
    { "collective", "name", FP_CELL_TEXT }, { "group", "group", FP_CELL_TEXT },
    { "ranks", "ranks", FP_CELL_COUNT },    { "type", "dtype", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },    { "total", "total_ns", FP_CELL_TIME },
    { "bytes in", "bytes", FP_CELL_BYTES }, { "median", "median_ns", FP_CELL_TIME },
    { "max", "max_ns", FP_CELL_TIME },
};

#define COUNT(columns) (sizeof(columns) / sizeof(*(columns)))
#define BIT(category) (1u << (category))

// The title of a table that shows only part of its rows says so.
static const char *title_for(const struct context *context, const char *title, uint32_t count, char *room,
                             size_t size) {
    if (context->top && count > context->top)
        snprintf(room, size, "%s (the first %zu of %u; --top 0 shows all)", title, context->top, count);
    else
        snprintf(room, size, "%s", title);
    return room;
}

static uint32_t shown(const struct context *context, uint32_t count) {
    return context->top && count > context->top ? (uint32_t)context->top : count;
}

static void put_kernels(struct context *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_KERNEL), by_total);
    fp_report_table(
        context->report, "kernels",
        title_for(context, "kernels, by total time", ranking.count, context->titles[0], TITLE_SIZE),
        kernel_columns, COUNT(kernel_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        fp_report_number(context->report, percent(group->times.sum, context->stats->device_total_ns));
        put_distribution(context, &group->times);
    }
    free(ranking.places);
}

static void put_operators(struct context *context) {
    struct fp_stats *stats = context->stats;
    bool device = stats->owned_ns != 0;
    struct ranking ranking = rank_groups(stats, BIT(FP_CAT_CPU_OP) | BIT(FP_CAT_USER_ANNOTATION),
                                         device ? by_self_device : by_self_host);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranking.count; i++)
        if (stats->groups[ranking.places[i]].nested.count)
            ranking.places[count++] = ranking.places[i];
    fp_report_table(context->report, "operators",
                    title_for(context,
                              device ? "operators, by the device time that they issued themselves"
                                     : "operators, by their own host time",
                              count, context->titles[1], TITLE_SIZE),
                    operator_columns, COUNT(operator_columns), NULL);
    for (uint32_t i = 0; i < shown(context, count); i++) {
        struct fp_stats_group *group = &stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_count(context->report, group->nested.count);
        fp_report_time(context->report, group->nested.device_self_ns);
        fp_report_time(context->report, group->nested.device_total_ns);
        fp_report_time(context->report, group->nested.host_self_ns);
        fp_report_time(context->report, group->nested.host_total_ns);
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 50));
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 95));
        fp_report_time(context->report, group->times.sum / (int64_t)group->times.count);
        fp_report_time(context->report, group->times.least);
        fp_report_time(context->report, group->times.most);
    }
    free(ranking.places);
}

static void put_calls(struct context *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_RUNTIME) | BIT(FP_CAT_DRIVER), by_total);
    fp_report_table(
        context->report, "calls",
        title_for(context, "API calls, by total time", ranking.count, context->titles[2], TITLE_SIZE),
        call_columns, COUNT(call_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        fp_report_time(context->report, group->launched_ns);
        put_distribution(context, &group->times);
    }
    free(ranking.places);
}

static void put_copies(struct context *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_MEMCPY) | BIT(FP_CAT_MEMSET), by_total);
    fp_report_table(context->report, "copies",
                    title_for(context, "copies and fills", ranking.count, context->titles[3], TITLE_SIZE),
                    copy_columns, COUNT(copy_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        const char *direction =
            group->category == FP_CAT_MEMSET ? "fill" : fp_name_direction(name_of(context, group));
        put_name(context, name_of(context, group));
        fp_report_text(context->report, fp_text_of(direction ? direction : "unknown"));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        if (group->bytes)
            fp_report_count(context->report, group->bytes);
        else
            fp_report_none(context->report);
        if (group->bytes && group->times.sum)
            fp_report_number(context->report, (double)group->bytes / (double)group->times.sum);
        else
            fp_report_none(context->report);
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 50));
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 95));
        fp_report_time(context->report, group->times.most);
    }
    free(ranking.places);
}

static void put_device_name(struct context *context, const struct fp_stats_device *device) {
    char text[64];
    bool alone = true; // several processes may each have a device 0
    for (uint32_t i = 0; i < context->stats->device_count; i++)
        alone &= &context->stats->devices[i] == device || context->stats->devices[i].number != device->number;
    if (!device->numbered && device->pid.kind == FP_ID_TEXT)
        snprintf(text, sizeof(text), "device");
    else if (alone)
        snprintf(text, sizeof(text), "%llu", (unsigned long long)device->number);
    else
        snprintf(text, sizeof(text), "%llu (pid %llu)", (unsigned long long)device->number,
                 (unsigned long long)device->pid.number);
    fp_report_text(context->report, fp_text_of(text));
}

static void put_devices(struct context *context) {
    struct fp_stats *stats = context->stats;
    fp_report_table(context->report, "devices", "devices: time in which at least one piece of work ran",
                    device_columns, COUNT(device_columns), NULL);
    for (uint32_t i = 0; i < stats->device_count; i++) {
        const struct fp_work_times *times = &stats->devices[i].times;
        put_device_name(context, &stats->devices[i]);
        fp_report_time(context->report, times->busy_ns);
        fp_report_number(context->report, percent(times->busy_ns, times->last_ns - times->first_ns));
        fp_report_time(context->report, times->kind_ns[FP_WORK_COMPUTE]);
        fp_report_time(context->report, times->kind_ns[FP_WORK_COLLECTIVE]);
        fp_report_time(context->report, times->compute_and_collective_ns);
        fp_report_time(context->report, times->kind_ns[FP_WORK_COPY]);
    }
    fp_report_table(context->report, "idle",
                    "devices without work, from first to last work: what the next work waited for",
                    idle_columns, COUNT(idle_columns), NULL);
    for (uint32_t i = 0; i < stats->device_count; i++) {
        const struct fp_work_times *times = &stats->devices[i].times;
        put_device_name(context, &stats->devices[i]);
        fp_report_time(context->report, times->last_ns - times->first_ns);
        fp_report_time(context->report, times->last_ns - times->first_ns - times->busy_ns);
        fp_report_time(context->report, times->idle_host_ns);
        fp_report_time(context->report, times->idle_stream_ns);
        fp_report_time(context->report, times->idle_unknown_ns);
        fp_report_time(context->report, times->collective_alone_ns);
    }
}

static void put_streams(struct context *context) {
    struct fp_stats *stats = context->stats;
    fp_report_table(context->report, "streams", "streams", stream_columns, COUNT(stream_columns), NULL);
    for (uint32_t i = 0; i < stats->lane_count; i++) {
        const struct fp_stats_lane *lane = &stats->lanes[i];
        if (lane->device < 0)
            continue;
        put_device_name(context, &stats->devices[lane->device]);
        fp_report_text(context->report, fp_reader_lane(context->reader, i)->tid.text);
        fp_report_count(context->report, lane->count);
        fp_report_time(context->report, lane->busy_ns);
        fp_report_time(context->report, lane->total_ns);
        fp_report_number(context->report, percent(lane->busy_ns, stats->devices[lane->device].times.busy_ns));
    }
}

static void put_steps(struct context *context) {
    struct fp_stats *stats = context->stats;
    fp_report_table(context->report, "steps",
                    title_for(context, "steps: the host's span, and the devices within it", stats->step_count,
                              context->titles[4], TITLE_SIZE),
                    step_columns, COUNT(step_columns), NULL);
    for (uint32_t i = 0; i < shown(context, stats->step_count); i++) {
        const struct fp_window_work *window = &stats->steps[i].window;
        fp_report_count(context->report, stats->steps[i].number);
        fp_report_time(context->report, window->from_ns - stats->first_ns);
        fp_report_time(context->report, window->to_ns - window->from_ns);
        fp_report_time(context->report, window->busy_ns);
        fp_report_number(context->report, percent(window->busy_ns, window->to_ns - window->from_ns));
        fp_report_count(context->report, window->begun);
    }
}

static void put_collectives(struct context *context) {
    struct fp_stats *stats = context->stats;
    fp_report_table(context->report, "collectives", "collectives", collective_columns,
                    COUNT(collective_columns), NULL);
    for (uint32_t i = 0; i < stats->collective_count; i++) {
        struct fp_stats_collective *collective = &stats->collectives[i];
        fp_report_text(context->report, fp_intern_text(stats->texts, collective->name));
        fp_report_text(context->report, fp_intern_text(stats->texts, collective->group));
        if (collective->ranks)
            fp_report_count(context->report, collective->ranks);
        else
            fp_report_none(context->report);
        fp_report_text(context->report, fp_intern_text(stats->texts, collective->dtype));
        fp_report_count(context->report, collective->times.count);
        fp_report_time(context->report, collective->times.sum);
        if (collective->bytes)
            fp_report_count(context->report, collective->bytes);
        else
            fp_report_none(context->report);
        fp_report_time(context->report, fp_distribution_percentile(&collective->times, 50));
        fp_report_time(context->report, collective->times.most);
    }
}

static void put_python(struct context *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_PYTHON), by_self_host);
    fp_report_table(
        context->report, "python",
        title_for(context, "Python frames, by their own time", ranking.count, context->titles[5], TITLE_SIZE),
        python_columns, COUNT(python_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        fp_report_time(context->report, group->nested.host_self_ns);
        put_distribution(context, &group->times);
    }
    free(ranking.places);
}

static const char *const category_names[FP_CAT_COUNT] = {
    [FP_CAT_OTHER] = "other",           [FP_CAT_GPU_ANNOTATION] = "device annotation",
    [FP_CAT_SYNC] = "synchronisation",  [FP_CAT_OVERHEAD] = "profiler overhead",
    [FP_CAT_AC2G] = "launch",           [FP_CAT_FWDBWD] = "forward to backward",
    [FP_CAT_TRACE] = "profiler window",
};

static void put_others(struct context *context) {
    uint32_t others = BIT(FP_CAT_OTHER) | BIT(FP_CAT_GPU_ANNOTATION) | BIT(FP_CAT_SYNC) |
                      BIT(FP_CAT_OVERHEAD) | BIT(FP_CAT_AC2G) | BIT(FP_CAT_FWDBWD) | BIT(FP_CAT_TRACE);
    struct ranking ranking = rank_groups(context->stats, others, by_total);
    fp_report_table(
        context->report, "other_slices",
        title_for(context, "other slices, by total time", ranking.count, context->titles[6], TITLE_SIZE),
        slice_columns, COUNT(slice_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_text(context->report, fp_text_of(category_names[group->category]));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        if (group->nested.count)
            fp_report_time(context->report, group->nested.host_self_ns);
        else
            fp_report_none(context->report);
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 50));
        fp_report_time(context->report, fp_distribution_percentile(&group->times, 95));
        fp_report_time(context->report, group->times.most);
        fp_report_time(context->report, group->times.sum / (int64_t)group->times.count);
        fp_report_time(context->report, group->times.least);
    }
    free(ranking.places);
}

static const struct {
    const char *name;
    void (*put)(struct context *context);
} sections[] = {
    { "device", put_devices },     { "kernel", put_kernels },
    { "operator", put_operators }, { "call", put_calls },
    { "copy", put_copies },        { "stream", put_streams },
    { "step", put_steps },         { "collective", put_collectives },
    { "python", put_python },      { "other", put_others },
};

static bool asked_for(const char *by, const char *section) {
    if (!by)
        return true;
    size_t size = strlen(section);
    for (const char *at = by; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, section, size) == 0 && (at[size] == ',' || !at[size]))
            return true;
    return false;
}

static bool is_whole(const struct fp_feed *feed) {
    struct fp_reader_summary summary;
    fp_reader_summarise(feed->reader, &summary);
    return feed->code == 0 && summary.faults == 0 && fp_reader_events_complete(feed->reader);
}

static void put_facts(struct context *context, const struct fp_feed *feed, const char *path) {
    struct fp_stats *stats = context->stats;
    struct fp_report *report = context->report;
    char text[200];
    fp_report_fact_text(report, "file", "file", strcmp(path, "-") == 0 ? "standard input" : path);
    snprintf(text, sizeof(text), "%s",
             is_whole(feed)               ? "read to its end"
             : fp_feed_nothing_lost(feed) ? "every event was read; the file is not closed"
                                          : "NOT WHOLE, see the notes below");
    fp_report_fact_text(report, "state", "state", text);
    fp_feed_producer(&context->producer, report);
    fp_report_fact_count(report, "events", "events", stats->events);
    fp_report_fact_count(report, "slices_with_duration", "slices with a duration", stats->slices);
    if (stats->any_time)
        fp_report_fact_time(report, "span_ns", "from first to last", stats->last_ns - stats->first_ns);
    if (stats->device_total_ns) {
        fp_report_fact_time(report, "device_total_ns", "device work, summed", stats->device_total_ns);
        fp_report_fact_time(report, "unowned_ns", "of it, no operator owns",
                            stats->device_total_ns - stats->owned_ns);
    }
}

static void put_stats_notes(struct context *context) {
    struct fp_stats *stats = context->stats;
    struct fp_report *report = context->report;
    if (context->producer.not_recorded[0])
        fp_report_note(report, "The device was not recorded: %s", context->producer.not_recorded);
    if (!stats->slices)
        fp_report_note(report, "no events with a duration");
    else if (!stats->device_total_ns && !context->producer.not_recorded[0])
        fp_report_note(report,
                       "no device work is in the file, or none that is known as such: the times are the "
                       "host's, and slices of unknown kind stand last");
    if (stats->odd_durations)
        fp_report_note(report,
                       "%llu slices have no duration of 0 or more (open or broken); they count in no sum",
                       (unsigned long long)stats->odd_durations);
    if (stats->open_begins || stats->lone_ends)
        fp_report_note(report, "%llu begins have no end and %llu ends no begin; they count in no sum",
                       (unsigned long long)stats->open_begins, (unsigned long long)stats->lone_ends);
    if (stats->device_total_ns && stats->device_total_ns > stats->owned_ns)
        fp_report_note(
            report,
            "%.1f %% of the device time is outside the operator table: no operator's External id is on it",
            percent(stats->device_total_ns - stats->owned_ns, stats->device_total_ns));
    if (stats->twice_ns)
        fp_report_note(
            report,
            "torch's key_averages counts %.3f us of device time twice in operators' totals (it mistakes "
            "ids of calls for operators'), and so does this table; --exact does not",
            (double)stats->twice_ns / 1e3);
    if (stats->by_call && stats->owned_ns)
        fp_report_note(
            report,
            "no work carries an External id: it was given to operators through its launch's correlation");
    for (uint32_t i = 0; i < stats->group_count; i++)
        if (fp_distribution_sketched(&stats->groups[i].times)) {
            fp_report_note(report, "medians and p95 of groups above %u slices are within %.1f %%",
                           FP_DISTRIBUTION_EXACT, FP_DISTRIBUTION_ERROR * 100);
            break;
        }
}

static int add_event(void *user, const struct fp_trace_event *event) {
    return fp_stats_add(user, event);
}

// Reads one file and writes its report. False after a sentence was printed.
static bool report_file(const struct stats_options *options, const char *path, struct fp_feed_output *out) {
    struct fp_feed feed = { 0 };
    struct context context = { .options = options };
    context.top = options->top >= 0                           ? (size_t)options->top
                  : options->shared.format == FP_FORMAT_TABLE ? DEFAULT_TOP
                                                              : 0;
    context.stats = fp_stats_new();
    if (!context.stats) {
        fp_say("stats", "%s: not enough memory", path);
        return false;
    }
    context.stats->like_torch = !options->exact;
    fp_feed_read(&feed, path, &options->shared, options->shared.salvage, add_event, context.stats);
    // A broken trailer costs nothing that stats needs but the base time.
    bool done =
        feed.code == 0 || (feed.code == -EBADMSG && feed.reader && fp_reader_events_complete(feed.reader));
    if (done) // while the reader still has the names
        fp_producer_read(feed.reader, &context.producer);
    if (!done) {
        fp_say("stats", "%s", feed.err.text);
    } else if (fp_stats_finish(context.stats, feed.reader) != 0 ||
               !(context.report = fp_report_new("flagprof-stats-1"))) {
        fp_say("stats", "%s: not enough memory for the report", path);
        done = false;
    } else {
        context.reader = feed.reader;
        put_facts(&context, &feed, path);
        // CSV has no place for it, and nothing is summed of half a file without saying so.
        if (options->shared.format == FP_FORMAT_CSV && !fp_feed_nothing_lost(&feed))
            fp_say("stats", "%s: NOT WHOLE: the figures are of what could be read", path);
        fp_feed_notes(&feed, context.report);
        put_stats_notes(&context);
        for (size_t i = 0; i < COUNT(sections); i++)
            if (asked_for(options->by, sections[i].name))
                sections[i].put(&context);
        if (options->shared.path_count > 1)
            fp_report_csv_file(context.report, path);
        fp_feed_output_next(out);
        if (fp_report_write(context.report, out->output, options->shared.format, options->shared.unit) ==
            -ENOMEM) {
            fp_say("stats", "%s: not enough memory for the report", path);
            out->failed = true;
            done = false;
        }
    }
    fp_report_free(context.report);
    fp_reader_close(feed.reader);
    fp_stats_free(context.stats);
    return done;
}

static bool check_by(const char *by) {
    for (const char *at = by; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t size = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < COUNT(sections); i++)
            known |= strlen(sections[i].name) == size && strncmp(at, sections[i].name, size) == 0;
        if (!known) {
            fp_say("stats",
                   "--by has no '%.*s'; it takes device, kernel, operator, call, copy, stream, step, "
                   "collective, "
                   "python, other",
                   (int)size, at);
            return false;
        }
    }
    return true;
}

int fp_stats_main(int argc, char **argv) {
    struct stats_options options = { .top = -1 };
    const struct fp_option own[] = {
        { .name = "by",
          .value = "LIST",
          .help = "Only these tables: device, kernel, operator, call, copy, stream, step, collective, "
                  "python, other.",
          .text = &options.by },
        { .name = "top",
          .value = "N",
          .help = "Rows a table; 0 shows all. Default: 10 in tables, all in CSV and JSON.",
          .number = &options.top },
        { .name = "exact",
          .help = "Operators' device totals without what torch's key_averages counts twice.",
          .flag = &options.exact },
        { 0 },
    };
    const struct fp_usage usage = {
        .verb = "stats",
        .summary = "where does the time go?",
        .synopsis = "[options] FILE ...",
        .text = "Reads traces of torch.profiler on any accelerator, and any other Chrome trace (.json, .gz, "
                ".zst, \"-\"\n"
                "for standard input), and says what took the time: on the devices, in kernels, per operator, "
                "in API\n"
                "calls, copies, streams, steps, collectives and Python frames.\n\n"
                "Busy time is a union: two kernels at once are one busy moment. An operator's self time is "
                "without the\n"
                "operators within it, as in torch's key_averages, to the nanosecond. Idle time is split by "
                "what the next\n"
                "piece of work waited for: the host (it was not launched yet) or its stream (it was).\n"
                "A median is a value that occurred; half of the slices are not longer.\n",
        .examples = "  flagprof stats trace.json.gz                         the whole picture\n"
                    "  flagprof stats trace.json --by kernel --top 30       the thirty costliest kernels\n"
                    "  flagprof stats trace.json --step 12 --by operator    operators of one step\n"
                    "  flagprof stats trace.json --exclude nccl --unit us   without communication\n"
                    "  flagprof stats rank*.json --format json -o all.json  every number, in nanoseconds\n",
        .exit_status = "0 it was read, 2 it cannot be read",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = own,
        .least_paths = 1,
    };
    int status = fp_options_parse(argc, argv, &usage, &options.shared);
    if (status >= 0)
        return status;
    if (!check_by(options.by))
        return FP_EXIT_CANNOT;
    struct fp_feed_output out;
    if (!fp_feed_output_begin(&out, &options.shared, "stats"))
        return FP_EXIT_CANNOT;
    bool all = true;
    for (size_t i = 0; i < options.shared.path_count; i++) {
        all &= report_file(&options, options.shared.paths[i], &out);
    }
    return fp_feed_output_end(&out) && all ? FP_EXIT_OK : FP_EXIT_CANNOT;
}
