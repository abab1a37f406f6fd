// topspti.h - the factory of the tracer for Enflame GCUs (topspti.c).
#ifndef FP_TRACERS_TOPSPTI_H
#define FP_TRACERS_TOPSPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_topspti_ops;

#endif
