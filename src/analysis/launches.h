// launches.h - the host call that launched a piece of device work, found by its correlation.
//
// In:  the calls and the device work of a whole file, each thread's in order of time.
// Out: when the launch of a piece of work was over; the device time of each call's row.
//
// Where two producers wrote into one file and both count from 1, a correlation names several calls: the work then belongs
// to the latest of them that began before it.
#ifndef FLAGPROF_ANALYSIS_LAUNCHES_H
#define FLAGPROF_ANALYSIS_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/stats.h"

struct fp_launches {
    const struct fp_stats *stats;
    struct fp_time_by_id ends;   // of lanes whose correlations are not in order of time
    struct fp_time_by_id groups; // likewise: the number of the call's group
    bool is_shared;              // a correlation names several calls
    struct {
        uint32_t lane, role;
        size_t at;
    } last; // where a call was found last: the next one is mostly there too
};

// `stats` is read until fp_launches_free, which is due after a failure too. 0 or -ENOMEM.
int fp_launches_begin(struct fp_launches *launches, const struct fp_stats *stats);
void fp_launches_free(struct fp_launches *launches);

// For fp_work_measure: `user` is the struct fp_launches. False where the file has no launch of this work.
bool fp_launches_end_of(void *user, const struct fp_slice *work, int64_t *ns);

// Each call's row gets the device time of the work that it launched.
void fp_launches_add(struct fp_launches *launches, struct fp_stats *stats);

#endif
