// steps.h - whose device work counts for a step, where several processes have steps.
//
// In:  finished stats: lanes and steps in order of time, all devices counted for each step.
// Out: steps with the work of their own process's devices, where more than one process has steps.
#ifndef FLAGPROF_ANALYSIS_STEPS_H
#define FLAGPROF_ANALYSIS_STEPS_H

#include "analysis/stats.h"

// 0 or -ENOMEM.
int fp_steps_by_process(struct fp_stats *stats, const struct fp_reader *reader);

#endif
