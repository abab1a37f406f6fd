// stats_tasks.h - what is worked out behind the last event, by one thread or two.
//
// Private to fp_stats_finish.
#ifndef FLAGPROF_ANALYSIS_STATS_TASKS_H
#define FLAGPROF_ANALYSIS_STATS_TASKS_H

#include "analysis/stats.h"

// Sorts each lane's slices, then counts operators and measures devices. 0 or -ENOMEM.
int fp_stats_work_out(struct fp_stats *stats, int threads);

#endif
