// opening.h - how every vendor's tracer is opened and told of.
//
// In:  the caller's options; the vendor's own questions for versions, names and memory.
// Out: an empty tracer, descriptions as long as the caller knows them. What a vendor does not tell stays 0.
#ifndef FP_TRACERS_OPENING_H
#define FP_TRACERS_OPENING_H

#include "flagprof/device_tracer.h"
#include "tracers/forks.h"

#define FP_SIMULATED_TITLE "FlagProf's simulated accelerator"

// An empty tracer of `bytes`. -ENODEV in a child forked after the library was opened, -ENOMEM; then it is
// NULL, which may be freed.
int fp_tracer_new(size_t bytes, const char *title, const struct fp_fork_mark *mark, struct fp_tracer **tracer,
                  struct fp_error *err);
// 0, -ECHILD or -EBUSY: a session of the library called `title` may begin in this process.
int fp_tracer_check_start(const struct fp_fork_mark *mark, bool running, const char *title,
                          struct fp_error *err);

// The library that the caller wants and no other; NULL: the search.
const char *fp_tracer_library(const struct fp_tracer_options *options);

// Hands out one of the structs that begin with their size: as much of `found`, which has its own there, as
// the caller knows.
void fp_tracer_hand_out(void *to, const void *found);

uint64_t fp_tracer_version(int (*ask)(int *version));
// Name and memory. Either question may be NULL. 0; -EINVAL for an ordinal that is none of `count`.
int fp_tracer_device(struct fp_device *device, uint32_t ordinal, int count,
                     int (*name)(char *name, int capacity, int device),
                     int (*memory)(size_t *bytes, int device));

#endif
