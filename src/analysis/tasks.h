// tasks.h - many tasks, taken one after the other by one thread or by two.
//
// In:  a count, and what does the task of a number.
// Out: all of them done, in no order that two threads keep.
#ifndef FLAGPROF_ANALYSIS_TASKS_H
#define FLAGPROF_ANALYSIS_TASKS_H

#include <stddef.h>

#define FP_WORKERS 2 // at most

// Runs run(user, task, worker) for each task from 0 to `count` - 1. `worker` is below FP_WORKERS and no two calls at
// once have the same: what a worker sums up for itself needs no lock. With `threads` of 1, or where no thread can be had,
// the caller's does all. Returns 0, or what a task that failed returned; then some tasks were not begun.
int fp_tasks_run(size_t count, int threads, int (*run)(void *user, size_t task, unsigned worker), void *user);

#endif
