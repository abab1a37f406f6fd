// stats_tasks.c - what is worked out behind the last event, by one thread or two.
//
// In:  stats with every slice in its lane.
// Out: operators' times, devices, lanes and steps. Whole numbers are added up, so that the order in which two threads do
//      it changes nothing.

#include "analysis/stats_tasks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/launches.h"
#include "analysis/pieces.h"
#include "analysis/tasks.h"

#define PIECE 16384 // slices that one task counts, where they can be taken apart

static int by_window(const void *a, const void *b) {
    const struct fp_stats_step *x = a, *y = b;
    return (x->window.from_ns > y->window.from_ns) - (x->window.from_ns < y->window.from_ns);
}

static int measure_devices(struct fp_stats *stats) {
    struct fp_launches launches;
    struct fp_work_lane *lanes = calloc(stats->lane_count ? stats->lane_count : 1, sizeof(*lanes));
    uint8_t *kinds = malloc(stats->group_count ? stats->group_count : 1);
    struct fp_window_work *windows = calloc(stats->step_count ? stats->step_count : 1, sizeof(*windows));
    int code = fp_launches_begin(&launches, stats);
    if (!lanes || !kinds || !windows)
        code = -ENOMEM;
    for (uint32_t i = 0; !code && i < stats->group_count; i++)
        kinds[i] = stats->groups[i].work_kind;
    size_t all = 0;
    for (uint32_t device = 0; !code && device < stats->device_count; device++) {
        size_t count = 0;
        for (uint32_t i = 0; i < stats->lane_count; i++)
            if (stats->lanes[i].device == (int32_t)device && stats->lanes[i].work)
                lanes[count++].slices = stats->lanes[i].work;
        code = fp_work_measure(lanes, count, kinds, fp_launches_end_of, &launches,
                               &stats->devices[device].times);
    }
    for (uint32_t i = 0; !code && i < stats->lane_count; i++) {
        struct fp_work_lane one = { stats->lanes[i].work };
        struct fp_window_work whole = { .from_ns = INT64_MIN, .to_ns = INT64_MAX };
        if (!one.slices)
            continue;
        code = fp_work_windows(&one, 1, &whole, 1);
        stats->lanes[i].busy_ns = whole.busy_ns;
        lanes[all++].slices = one.slices;
    }
    if (!code && stats->step_count) {
        qsort(stats->steps, stats->step_count, sizeof(*stats->steps), by_window);
        for (uint32_t i = 0; i < stats->step_count; i++)
            windows[i] = stats->steps[i].window;
        code = fp_work_windows(lanes, all, windows, stats->step_count);
        for (uint32_t i = 0; i < stats->step_count; i++)
            stats->steps[i].window = windows[i];
    }
    if (!code)
        fp_launches_add(&launches, stats);
    fp_launches_free(&launches);
    free(windows);
    free(kinds);
    free(lanes);
    return code;
}

// What is worked out behind the last event, in tasks. Those that count operators touch sums of their worker's own and
// who took which device time; the one that measures devices touches the rest.
struct ending {
    struct fp_stats *stats;
    int threads;
    uint32_t *names; // of each group
    struct fp_operator_times *times[FP_WORKERS];
    int64_t twice_ns[FP_WORKERS];
    struct fp_pieces *pieces; // of each lane
    struct lane_piece {
        uint32_t lane;
        const struct fp_piece *piece;
    } * tasks;
    size_t task_count;
};

static int sort_lane(void *user, size_t task, unsigned worker) {
    struct ending *ending = user;
    struct fp_stats_lane *lane = &ending->stats->lanes[task];
    (void)worker;
    for (int role = 0; role < FP_ROLE_PENDING; role++)
        if (lane->roles[role])
            fp_slices_sort(lane->roles[role]);
    if (lane->work)
        fp_slices_sort(lane->work);
    if (ending->threads < 2)
        return 0;
    const struct fp_slices *roles[FP_ROLE_COUNT];
    for (int role = 0; role < FP_ROLE_COUNT; role++)
        roles[role] = lane->roles[role];
    return fp_pieces_cut(roles, PIECE, &ending->pieces[task]);
}

static int count_operators(struct ending *ending, const struct lane_piece *task, unsigned worker) {
    struct fp_stats *stats = ending->stats;
    struct fp_operator_input input = {
        .piece = task->piece,
        .device_ns = &stats->device_ns,
        .device_ns_by_call = stats->by_call ? &stats->device_ns_by_call : NULL,
        .group_name = ending->names,
        .tolerance_ns = stats->whole_microseconds ? 1000 : 1,
        .like_torch = stats->like_torch && stats->linked_calls,
    };
    for (int role = 0; role < FP_ROLE_COUNT; role++)
        input.by_role[role] = stats->lanes[task->lane].roles[role];
    return fp_operators_count(&input, ending->times[worker], &ending->twice_ns[worker]);
}

static int do_task(void *user, size_t task, unsigned worker) {
    struct ending *ending = user;
    return task ? count_operators(ending, &ending->tasks[task - 1], worker) : measure_devices(ending->stats);
}

static int list_tasks(struct ending *ending) {
    const struct fp_stats *stats = ending->stats;
    size_t room = stats->lane_count;
    for (uint32_t i = 0; i < stats->lane_count; i++)
        room += ending->pieces[i].count;
    ending->tasks = calloc(room ? room : 1, sizeof(*ending->tasks));
    if (!ending->tasks)
        return -ENOMEM;
    for (uint32_t i = 0; i < stats->lane_count; i++) {
        const struct fp_pieces *pieces = &ending->pieces[i];
        for (size_t j = 0; j < pieces->count || (!j && !pieces->count); j++)
            ending->tasks[ending->task_count++] =
                (struct lane_piece){ i, pieces->count ? &pieces->pieces[j] : NULL };
    }
    return 0;
}

static int begin_ending(struct ending *ending) {
    const struct fp_stats *stats = ending->stats;
    size_t groups = stats->group_count ? stats->group_count : 1;
    ending->pieces = calloc(stats->lane_count ? stats->lane_count : 1, sizeof(*ending->pieces));
    ending->names = malloc(groups * sizeof(*ending->names));
    bool complete = ending->pieces && ending->names;
    for (int worker = 0; worker < (ending->threads > 1 ? FP_WORKERS : 1); worker++) {
        ending->times[worker] = calloc(groups, sizeof(**ending->times));
        complete &= ending->times[worker] != NULL;
    }
    // Steps are one name to torch ("ProfilerStep*"), which matters only for a step within a step: never.
    for (uint32_t i = 0; complete && i < stats->group_count; i++)
        ending->names[i] = stats->groups[i].name_id;
    return complete ? 0 : -ENOMEM;
}

static void add_up(const struct ending *ending, struct fp_stats *stats) {
    for (int worker = 0; worker < FP_WORKERS && ending->times[worker]; worker++) {
        stats->twice_ns += ending->twice_ns[worker];
        for (uint32_t i = 0; i < stats->group_count; i++)
            fp_operator_times_add(&stats->groups[i].nested, &ending->times[worker][i]);
    }
}

static void end_ending(struct ending *ending) {
    for (uint32_t i = 0; ending->pieces && i < ending->stats->lane_count; i++)
        fp_pieces_free(&ending->pieces[i]);
    for (int worker = 0; worker < FP_WORKERS; worker++)
        free(ending->times[worker]);
    free(ending->pieces);
    free(ending->names);
    free(ending->tasks);
}

int fp_stats_work_out(struct fp_stats *stats, int threads) {
    struct ending ending = { .stats = stats, .threads = threads };
    int code = begin_ending(&ending);
    if (!code)
        code = fp_tasks_run(stats->lane_count, threads, sort_lane, &ending);
    if (!code)
        code = list_tasks(&ending);
    if (!code)
        code = fp_tasks_run(ending.task_count + 1, threads, do_task, &ending);
    if (!code)
        add_up(&ending, stats);
    end_ending(&ending);
    return code;
}
