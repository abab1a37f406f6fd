// accelerator.h - one usable accelerator: a row of the table with its tracer opened. Inside the library only.
//
// The recording takes ops and tracer from here; tests of the recording make one by hand around a scripted
// tracer.
#ifndef FP_TRACERS_ACCELERATOR_H
#define FP_TRACERS_ACCELERATOR_H

#include "flagprof/device_tracer.h"

struct fp_accelerator {
    const char *name;                // "cuda"
    const struct fp_tracer_ops *ops; // lives as long as the process
    struct fp_tracer *tracer;        // likewise: a thread may pop an id long after a recording ended
};

#endif
