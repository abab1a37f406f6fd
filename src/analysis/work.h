// work.h - what a device did when: busy, idle and why, compute beside communication.
//
// In:  the device's slices of work, lane by lane, and where the host's launches stand.
// Out: unions of time, never sums: two kernels at once are one busy moment.
//
// Work is kernels, copies and fills; annotations and synchronisation records on the device's rows are not.
#ifndef FLAGPROF_ANALYSIS_WORK_H
#define FLAGPROF_ANALYSIS_WORK_H

#include "analysis/slices.h"

enum fp_work_kind {
    FP_WORK_COMPUTE,
    FP_WORK_COLLECTIVE, // kernels of a communication library
    FP_WORK_COPY,       // copies and fills
    FP_WORK_KINDS
};

struct fp_work_lane {
    const struct fp_slices *slices; // sorted; id is the correlation, FP_NO_SLICE_ID where there is none
};

struct fp_work_times {
    int64_t first_ns, last_ns;         // from the first work's start to the last one's end
    int64_t busy_ns;                   // union of all work
    int64_t kind_ns[FP_WORK_KINDS];    // union of each kind
    int64_t compute_and_collective_ns; // both at once
    int64_t collective_alone_ns;       // a collective and nothing else: waiting for a collective
    int64_t idle_host_ns;              // nothing runs, and the next work's launch was not finished yet
    int64_t idle_stream_ns;            // nothing runs, though the next work was already launched
    int64_t idle_unknown_ns;           // nothing runs, and the next work has no launch in the file
};

// `kind_of[group]` is enum fp_work_kind. `launch_end` tells when the launch of a piece of work, which has an id, was over,
// false where the file has none. 0 or -ENOMEM.
int fp_work_measure(const struct fp_work_lane *lanes, size_t lane_count, const uint8_t *kind_of,
                    bool (*launch_end)(void *user, const struct fp_slice *work, int64_t *ns), void *user,
                    struct fp_work_times *times);

// Busy time of the lanes within [from, to), and how many slices begin there. For steps. 0 or -ENOMEM.
struct fp_window_work {
    int64_t from_ns, to_ns;
    int64_t busy_ns;
    uint64_t begun;
};
int fp_work_windows(const struct fp_work_lane *lanes, size_t lane_count, struct fp_window_work *windows,
                    size_t count);

#endif
