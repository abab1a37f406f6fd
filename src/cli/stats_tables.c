// stats_tables.c - what `flagprof stats` shows of the numbers, table by table.
//
// In:  analysis/stats.c's groups, devices, lanes, steps, collectives.
// Out: the report's tables, the largest first, as many rows as were asked for.

#include "cli/stats_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "cli/readable.h"

double fp_percent(int64_t part, int64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

// A table without rows is left out, unless it was asked for by name.
static const char *empty(const struct fp_stats_page *context, const char *sentence) {
    return context->options->by ? sentence : NULL;
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

// Sorts `count` rows, and takes them: only their places stay. NULL places when memory is out, or `rows` is NULL.
static struct ranking rank_rows(struct ranked *rows, uint32_t count) {
    struct ranking ranking = { malloc((count + 1) * sizeof(*ranking.places)), count };
    if (!rows || !ranking.places) {
        free(rows);
        free(ranking.places);
        return (struct ranking){ 0 };
    }
    qsort(rows, count, sizeof(*rows), heavier);
    for (uint32_t i = 0; i < count; i++)
        ranking.places[i] = rows[i].place;
    free(rows);
    return ranking;
}

static struct ranked *room_for_rows(uint32_t count) {
    return malloc((count + 1) * sizeof(struct ranked));
}

// Ranks the groups of the categories in `categories` (a bit each) by `weight`.
static struct ranking rank_groups(const struct fp_stats *stats, uint32_t categories,
                                  int64_t (*weight)(const struct fp_stats_group *group)) {
    struct ranked *rows = room_for_rows(stats->group_count);
    uint32_t count = 0;
    for (uint32_t i = 0; rows && i < stats->group_count; i++)
        if (categories >> stats->groups[i].category & 1 && stats->groups[i].times.count)
            rows[count++] = (struct ranked){ weight(&stats->groups[i]), i };
    return rank_rows(rows, count);
}

// By number: a person looks for device 3 behind device 2.
static struct ranking rank_devices(const struct fp_stats *stats) {
    struct ranked *rows = room_for_rows(stats->device_count);
    for (uint32_t i = 0; rows && i < stats->device_count; i++)
        rows[i] = (struct ranked){ -(int64_t)(stats->devices[i].number & INT64_MAX), i };
    return rank_rows(rows, stats->device_count);
}

static struct ranking rank_streams(const struct fp_stats *stats) {
    struct ranked *rows = room_for_rows(stats->lane_count);
    uint32_t count = 0;
    for (uint32_t i = 0; rows && i < stats->lane_count; i++)
        if (stats->lanes[i].device >= 0)
            rows[count++] = (struct ranked){ stats->lanes[i].total_ns, i };
    return rank_rows(rows, count);
}

static struct ranking rank_collectives(const struct fp_stats *stats) {
    struct ranked *rows = room_for_rows(stats->collective_count);
    for (uint32_t i = 0; rows && i < stats->collective_count; i++)
        rows[i] = (struct ranked){ stats->collectives[i].times.sum, i };
    return rank_rows(rows, stats->collective_count);
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
static void put_name(struct fp_stats_page *context, struct fp_text name) {
    char *readable = context->options->shared.format == FP_FORMAT_TABLE ? fp_readable_name(name) : NULL;
    fp_report_text(context->report, readable ? fp_text_of(readable) : name);
    free(readable);
}

static struct fp_text name_of(const struct fp_stats_page *context, const struct fp_stats_group *group) {
    return fp_intern_text(context->stats->names, group->name_id);
}

static void put_distribution(struct fp_stats_page *context, struct fp_distribution *times) {
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
    { "max", "max_ns", FP_CELL_TIME },       { NULL, "mean_ns", FP_CELL_TIME },
    { NULL, "min_ns", FP_CELL_TIME },
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
    { "process", "pid", FP_CELL_TEXT },
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
    { "max", "max_ns", FP_CELL_TIME },      { NULL, "mean_ns", FP_CELL_TIME },
    { NULL, "p95_ns", FP_CELL_TIME },       { NULL, "min_ns", FP_CELL_TIME },
};

#define COUNT(columns) (sizeof(columns) / sizeof(*(columns)))
#define BIT(category) (1u << (category))

// The title of a table that shows only part of its rows says so.
static const char *title_for(const struct fp_stats_page *context, const char *title, uint32_t count,
                             char *room, size_t size) {
    if (context->top && count > context->top)
        snprintf(room, size, "%s (the first %zu of %u; --top 0 shows all)", title, context->top, count);
    else
        snprintf(room, size, "%s", title);
    return room;
}

static uint32_t shown(const struct fp_stats_page *context, uint32_t count) {
    return context->top && count > context->top ? (uint32_t)context->top : count;
}

static void put_kernels(struct fp_stats_page *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_KERNEL), by_total);
    fp_report_table(
        context->report, "kernels",
        title_for(context, "kernels, by total time", ranking.count, context->titles[0], TITLE_SIZE),
        kernel_columns, COUNT(kernel_columns), empty(context, "no kernels"));
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_group *group = &context->stats->groups[ranking.places[i]];
        put_name(context, name_of(context, group));
        fp_report_count(context->report, group->times.count);
        fp_report_time(context->report, group->times.sum);
        fp_report_number(context->report, fp_percent(group->times.sum, context->stats->device_total_ns));
        put_distribution(context, &group->times);
    }
    free(ranking.places);
}

static void put_operators(struct fp_stats_page *context) {
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
                    operator_columns, COUNT(operator_columns), empty(context, "no operators"));
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

static void put_calls(struct fp_stats_page *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_RUNTIME) | BIT(FP_CAT_DRIVER), by_total);
    fp_report_table(
        context->report, "calls",
        title_for(context, "API calls, by total time", ranking.count, context->titles[2], TITLE_SIZE),
        call_columns, COUNT(call_columns), empty(context, "no API calls"));
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

static void put_copies(struct fp_stats_page *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_MEMCPY) | BIT(FP_CAT_MEMSET), by_total);
    fp_report_table(
        context->report, "copies",
        title_for(context, "copies and fills, by total time", ranking.count, context->titles[3], TITLE_SIZE),
        copy_columns, COUNT(copy_columns), empty(context, "no copies or fills"));
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
        fp_report_time(context->report, group->times.sum / (int64_t)group->times.count);
        fp_report_time(context->report, group->times.least);
    }
    free(ranking.places);
}

static void put_device_name(struct fp_stats_page *context, const struct fp_stats_device *device) {
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

static void put_devices(struct fp_stats_page *context) {
    struct fp_stats *stats = context->stats;
    struct ranking ranking = rank_devices(stats);
    fp_report_table(context->report, "devices",
                    title_for(context, "devices: time in which at least one piece of work ran", ranking.count,
                              context->titles[8], TITLE_SIZE),
                    device_columns, COUNT(device_columns), empty(context, "no device work"));
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        const struct fp_stats_device *device = &stats->devices[ranking.places[i]];
        const struct fp_work_times *times = &device->times;
        put_device_name(context, device);
        fp_report_time(context->report, times->busy_ns);
        fp_report_number(context->report, fp_percent(times->busy_ns, times->last_ns - times->first_ns));
        fp_report_time(context->report, times->kind_ns[FP_WORK_COMPUTE]);
        fp_report_time(context->report, times->kind_ns[FP_WORK_COLLECTIVE]);
        fp_report_time(context->report, times->compute_and_collective_ns);
        fp_report_time(context->report, times->kind_ns[FP_WORK_COPY]);
    }
    fp_report_table(context->report, "idle",
                    "devices without work, from first to last work: what the next work waited for",
                    idle_columns, COUNT(idle_columns), NULL);
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        const struct fp_stats_device *device = &stats->devices[ranking.places[i]];
        const struct fp_work_times *times = &device->times;
        put_device_name(context, device);
        fp_report_time(context->report, times->last_ns - times->first_ns);
        fp_report_time(context->report, times->last_ns - times->first_ns - times->busy_ns);
        fp_report_time(context->report, times->idle_host_ns);
        fp_report_time(context->report, times->idle_stream_ns);
        fp_report_time(context->report, times->idle_unknown_ns);
        fp_report_time(context->report, times->collective_alone_ns);
    }
    free(ranking.places);
}

static void put_streams(struct fp_stats_page *context) {
    struct fp_stats *stats = context->stats;
    struct ranking ranking = rank_streams(stats);
    fp_report_table(
        context->report, "streams",
        title_for(context, "streams, by total time", ranking.count, context->titles[9], TITLE_SIZE),
        stream_columns, COUNT(stream_columns), empty(context, "no device work in streams"));
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        const struct fp_stats_lane *lane = &stats->lanes[ranking.places[i]];
        put_device_name(context, &stats->devices[lane->device]);
        fp_report_text(context->report, fp_reader_lane(context->reader, ranking.places[i])->tid.text);
        fp_report_count(context->report, lane->count);
        fp_report_time(context->report, lane->busy_ns);
        fp_report_time(context->report, lane->total_ns);
        fp_report_number(context->report,
                         fp_percent(lane->busy_ns, stats->devices[lane->device].times.busy_ns));
    }
    free(ranking.places);
}

static void put_steps(struct fp_stats_page *context) {
    struct fp_stats *stats = context->stats;
    fp_report_table(context->report, "steps",
                    title_for(context, "steps: the host's span, and the devices within it", stats->step_count,
                              context->titles[4], TITLE_SIZE),
                    step_columns, COUNT(step_columns), empty(context, "no steps (ProfilerStep#N)"));
    for (uint32_t i = 0; i < shown(context, stats->step_count); i++) {
        const struct fp_window_work *window = &stats->steps[i].window;
        fp_report_count(context->report, stats->steps[i].number);
        fp_report_text(context->report, fp_reader_lane(context->reader, stats->steps[i].lane)->pid.text);
        fp_report_time(context->report, window->from_ns - stats->first_ns);
        fp_report_time(context->report, window->to_ns - window->from_ns);
        fp_report_time(context->report, window->busy_ns);
        fp_report_number(context->report, fp_percent(window->busy_ns, window->to_ns - window->from_ns));
        fp_report_count(context->report, window->begun);
    }
}

static void put_collectives(struct fp_stats_page *context) {
    struct fp_stats *stats = context->stats;
    struct ranking ranking = rank_collectives(stats);
    fp_report_table(
        context->report, "collectives",
        title_for(context, "collectives, by total time", ranking.count, context->titles[10], TITLE_SIZE),
        collective_columns, COUNT(collective_columns), empty(context, "no collectives"));
    for (uint32_t i = 0; i < shown(context, ranking.count); i++) {
        struct fp_stats_collective *collective = &stats->collectives[ranking.places[i]];
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
        fp_report_time(context->report, collective->times.sum / (int64_t)collective->times.count);
        fp_report_time(context->report, fp_distribution_percentile(&collective->times, 95));
        fp_report_time(context->report, collective->times.least);
    }
    free(ranking.places);
}

static void put_python(struct fp_stats_page *context) {
    struct ranking ranking = rank_groups(context->stats, BIT(FP_CAT_PYTHON), by_self_host);
    fp_report_table(
        context->report, "python",
        title_for(context, "Python frames, by their own time", ranking.count, context->titles[5], TITLE_SIZE),
        python_columns, COUNT(python_columns), empty(context, "no Python frames"));
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

static void put_others(struct fp_stats_page *context) {
    uint32_t others = BIT(FP_CAT_OTHER) | BIT(FP_CAT_GPU_ANNOTATION) | BIT(FP_CAT_SYNC) |
                      BIT(FP_CAT_OVERHEAD) | BIT(FP_CAT_AC2G) | BIT(FP_CAT_FWDBWD) | BIT(FP_CAT_TRACE);
    struct ranking ranking = rank_groups(context->stats, others, by_total);
    fp_report_table(
        context->report, "other_slices",
        title_for(context, "other slices, by total time", ranking.count, context->titles[6], TITLE_SIZE),
        slice_columns, COUNT(slice_columns), empty(context, "no other slices"));
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

const struct fp_stats_section fp_stats_sections[] = {
    { "device", put_devices },     { "kernel", put_kernels },
    { "operator", put_operators }, { "call", put_calls },
    { "copy", put_copies },        { "stream", put_streams },
    { "step", put_steps },         { "collective", put_collectives },
    { "python", put_python },      { "other", put_others },
};

const size_t fp_stats_section_count = COUNT(fp_stats_sections);
