// steps.c - whose device work counts for a step, where several processes have steps, as in a merged trace.
//
// In:  the steps' spans, sorted work of the device lanes, calls of the host lanes.
// Out: each step's busy time and how much work began in it, on the devices that its own process launched work on.
//
// Not here: steps of one process. All devices count for those (stats.c).

#include "analysis/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/work.h"

enum {
    NOBODY = -1,  // no call of a process with steps launched its work: it counts for all
    SEVERAL = -2, // likewise
    SAMPLES = 64, // pieces of work of each lane whose launch is looked for
};

// The processes that have steps, by their numbers in order of appearance.
struct owners {
    struct fp_stats *stats;
    uint32_t count;           // processes
    int32_t *of_lane;         // process of a host lane, NOBODY
    int32_t *of_device;       // process of a device, NOBODY or SEVERAL
    struct fp_time_by_id ids; // correlation of sampled work -> device
};

static void free_owners(struct owners *owners) {
    free(owners->of_lane);
    free(owners->of_device);
    fp_time_by_id_free(&owners->ids);
}

static bool same_process(const struct fp_reader *reader, uint32_t a, uint32_t b) {
    return fp_trace_id_same(&fp_reader_lane(reader, a)->pid, &fp_reader_lane(reader, b)->pid);
}

// Numbers the steps' processes, and gives each lane of theirs its number.
static void number_processes(struct owners *owners, const struct fp_reader *reader) {
    struct fp_stats *stats = owners->stats;
    for (uint32_t i = 0; i < stats->step_count; i++) {
        uint32_t lane = stats->steps[i].lane;
        if (owners->of_lane[lane] != NOBODY)
            continue;
        for (uint32_t j = 0; j < stats->lane_count; j++)
            if (same_process(reader, j, lane))
                owners->of_lane[j] = (int32_t)owners->count;
        owners->count++;
    }
}

static int sample_work(struct owners *owners) {
    struct fp_stats *stats = owners->stats;
    int code = 0;
    for (uint32_t i = 0; i < stats->lane_count && !code; i++) {
        const struct fp_slices *work = stats->lanes[i].work;
        size_t count = work ? work->count : 0;
        for (size_t k = 0; k < SAMPLES && k < count && !code; k++) {
            struct fp_slice slice = fp_slices_get(work, count <= SAMPLES ? k : k * count / SAMPLES);
            int64_t known;
            if (slice.id != FP_NO_SLICE_ID && !fp_time_by_id_find(&owners->ids, slice.id, &known))
                code = fp_time_by_id_add(&owners->ids, slice.id, stats->lanes[i].device);
        }
    }
    return code;
}

static void own_by_calls(struct owners *owners, uint32_t lane, const struct fp_slices *calls) {
    for (size_t i = 0; calls && i < calls->count; i++) {
        uint64_t id = fp_slices_get(calls, i).id;
        int64_t device;
        if (id == FP_NO_SLICE_ID || !fp_time_by_id_find(&owners->ids, id, &device))
            continue;
        int32_t *owner = &owners->of_device[device];
        if (*owner != owners->of_lane[lane])
            *owner = *owner == NOBODY ? owners->of_lane[lane] : SEVERAL;
    }
}

static int find_owners(struct owners *owners, const struct fp_reader *reader) {
    struct fp_stats *stats = owners->stats;
    owners->of_lane = malloc((stats->lane_count + 1) * sizeof(*owners->of_lane));
    owners->of_device = malloc((stats->device_count + 1) * sizeof(*owners->of_device));
    if (!owners->of_lane || !owners->of_device)
        return -ENOMEM;
    memset(owners->of_lane, 0xFF, (stats->lane_count + 1) * sizeof(*owners->of_lane)); // NOBODY
    memset(owners->of_device, 0xFF, (stats->device_count + 1) * sizeof(*owners->of_device));
    number_processes(owners, reader);
    if (owners->count < 2)
        return 0;
    int code = sample_work(owners);
    for (uint32_t i = 0; i < stats->lane_count && !code; i++)
        if (owners->of_lane[i] != NOBODY) {
            own_by_calls(owners, i, stats->lanes[i].roles[FP_ROLE_CALL]);
            own_by_calls(owners, i, stats->lanes[i].roles[FP_ROLE_UNLINKED]);
        }
    return code;
}

// One process's steps over the devices that are its own, or nobody's.
static int measure_process(struct owners *owners, int32_t process, struct fp_work_lane *lanes,
                           struct fp_window_work *windows) {
    struct fp_stats *stats = owners->stats;
    size_t lane_count = 0, window_count = 0;
    for (uint32_t i = 0; i < stats->lane_count; i++) {
        const struct fp_stats_lane *lane = &stats->lanes[i];
        int32_t owner = lane->work ? owners->of_device[lane->device] : NOBODY;
        if (lane->work && (owner == process || owner < 0))
            lanes[lane_count++].slices = lane->work;
    }
    for (uint32_t i = 0; i < stats->step_count; i++)
        if (owners->of_lane[stats->steps[i].lane] == process)
            windows[window_count++] = (struct fp_window_work){ .from_ns = stats->steps[i].window.from_ns,
                                                               .to_ns = stats->steps[i].window.to_ns };
    int code = fp_work_windows(lanes, lane_count, windows, window_count);
    window_count = 0;
    for (uint32_t i = 0; i < stats->step_count; i++)
        if (owners->of_lane[stats->steps[i].lane] == process)
            stats->steps[i].window = windows[window_count++];
    return code;
}

int fp_steps_by_process(struct fp_stats *stats, const struct fp_reader *reader) {
    if (stats->step_count < 2)
        return 0;
    struct owners owners = { .stats = stats };
    struct fp_work_lane *lanes = malloc((stats->lane_count + 1) * sizeof(*lanes));
    struct fp_window_work *windows = malloc(stats->step_count * sizeof(*windows));
    int code = lanes && windows ? find_owners(&owners, reader) : -ENOMEM;
    for (uint32_t process = 0; owners.count > 1 && process < owners.count && !code; process++)
        code = measure_process(&owners, (int32_t)process, lanes, windows);
    free(windows);
    free(lanes);
    free_owners(&owners);
    return code;
}
