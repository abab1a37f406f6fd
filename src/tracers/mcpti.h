// mcpti.h - the MCPTI tracer's one door: its ops, for the table of accelerators.
#ifndef FP_TRACERS_MCPTI_H
#define FP_TRACERS_MCPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_mcpti_ops;

#endif
