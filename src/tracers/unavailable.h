// unavailable.h - the tracer of what cannot be traced: its ops, for the table of accelerators.
#ifndef FP_TRACERS_UNAVAILABLE_H
#define FP_TRACERS_UNAVAILABLE_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_unavailable_ops;

#endif
