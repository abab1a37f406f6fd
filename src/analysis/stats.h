// stats.h - where the time goes, for anybody's trace.
//
// In:  events, one by one.
// Out: groups by name with their durations, operators with host and device time, devices with busy and
//      idle time, lanes, steps, collectives. Nothing is printed here.
//
// Memory: 20 bytes for each host slice and each piece of device work, 4 bytes for each duration up to a
// million a group, and the distinct names. Not the text.
#ifndef FLAGPROF_ANALYSIS_STATS_H
#define FLAGPROF_ANALYSIS_STATS_H

#include "analysis/distribution.h"
#include "analysis/operators.h"
#include "analysis/work.h"
#include "trace/reader.h"

struct fp_stats;

// Slices of one name and category.
struct fp_stats_group {
    uint32_t name_id;
    uint8_t category;  // enum fp_category
    uint8_t work_kind; // enum fp_work_kind, for device work
    bool hidden;       // torch leaves it out of its averages
    bool pending;      // asynchronous: no slice of it holds another or is held
    uint32_t next;     // another group of the same name, plus one
    struct fp_distribution times;
    uint64_t bytes;                  // of copies and fills, where the file says
    uint64_t odd;                    // negative or missing durations: counted here, not in `times`
    struct fp_operator_times nested; // self and device time, after fp_stats_finish
    int64_t launched_ns;             // of calls: the device work that carries their correlation, likewise
};

struct fp_stats_lane {
    uint32_t lane;                          // the reader's
    int32_t device;                         // place among the devices, -1 for the host
    struct fp_slices *roles[FP_ROLE_COUNT]; // each NULL until there is a slice
    struct fp_slices *work;
    struct fp_slices *marks; // begins and ends: twice the group, plus one for an end
    int64_t busy_ns;         // of device lanes
    int64_t total_ns;
    uint64_t count;
};

struct fp_stats_device {
    struct fp_trace_id pid; // of the lanes
    uint64_t number;        // args "device", or the process id where that is missing
    bool numbered;
    struct fp_work_times times;
    uint64_t count;
    int64_t total_ns; // sum of durations, above the union where work overlaps
};

struct fp_stats_step {
    uint64_t number;
    uint32_t lane;          // of the host, where its span is
    struct fp_trace_id pid; // of that lane, without its text
    struct fp_window_work window;
    uint64_t device_ns; // durations of the work that begins in it
};

struct fp_stats_collective {
    uint32_t name, group, dtype; // in `texts`
    uint64_t ranks;
    uint64_t bytes;
    struct fp_distribution times;
};

struct fp_stats {
    struct fp_intern *names; // taken over from the reader
    struct fp_stats_group *groups;
    uint32_t group_count, group_room;
    uint32_t *heads; // name id -> group plus one
    uint32_t head_room;

    struct fp_stats_lane *lanes;
    uint32_t lane_count, lane_room;
    struct fp_stats_device *devices;
    uint32_t device_count;
    struct fp_stats_step *steps;
    uint32_t step_count, step_room;
    struct fp_stats_collective *collectives;
    uint32_t collective_count, collective_room;
    struct fp_intern *texts; // names of collectives and their groups
    uint32_t *collective_of; // text id of the key -> collective plus one
    uint32_t collective_of_room;

    struct fp_time_by_id device_ns;         // by External id
    struct fp_time_by_id device_ns_by_call; // by correlation, of work without External id

    uint64_t events, phases[256];
    uint64_t slices; // with a duration, begin/end pairs included
    uint64_t open_begins, lone_ends;
    uint64_t odd_durations, odd_times;
    int64_t first_ns, last_ns; // of everything with a time but metadata
    bool any_time;
    bool window; // the profiler's own span was seen
    int64_t window_from_ns, window_to_ns;
    bool whole_microseconds;
    int64_t device_total_ns; // sum of all device work
    int64_t owned_ns;        // of it, what an operator owns
    uint64_t unowned_count;  // pieces of work without External id
    bool like_torch;  // set before fp_stats_finish: operators' totals as torch counts them, see operators.h
    int64_t twice_ns; // what torch counts twice of the device time
    uint64_t linked_calls; // host calls with an External id
    bool by_call;          // ownership came from correlation: no work carries an External id
    bool out_of_memory;
};

struct fp_stats *fp_stats_new(void); // NULL when memory is out
void fp_stats_free(struct fp_stats *stats);

// 0 or -ENOMEM.
int fp_stats_add(struct fp_stats *stats, const struct fp_trace_event *event);

// After the last event of the reader, which must still be open. 0 or -ENOMEM.
int fp_stats_finish(struct fp_stats *stats, struct fp_reader *reader);

#endif
