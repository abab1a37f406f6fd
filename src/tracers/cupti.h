// cupti.h - the CUPTI tracer's one door: its ops, for the table of accelerators.
#ifndef FP_TRACERS_CUPTI_H
#define FP_TRACERS_CUPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_cupti_ops;

#endif
