// roctracer.h - the ROCtracer tracer's one door: its ops, for the table of accelerators.
#ifndef FP_TRACERS_ROCTRACER_H
#define FP_TRACERS_ROCTRACER_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_roctracer_ops;

#endif
