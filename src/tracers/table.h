// table.h - which tracer serves which accelerator: the one place that knows all tracers.
#ifndef FP_TRACERS_TABLE_H
#define FP_TRACERS_TABLE_H

#include "flagprof/device_tracer.h"

struct fp_accelerator_row {
    const char *accelerator; // what FLAGOS_ACCELERATOR names
    const struct fp_tracer_ops *ops;
    const char *library_symbol; // a library that exports it is this tracer's to open; NULL: there is none
};

// Ends with a row whose accelerator is NULL. The order is the order of detection.
extern const struct fp_accelerator_row fp_accelerator_rows[];

#endif
