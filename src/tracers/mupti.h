// mupti.h - the MUPTI tracer's one door: its ops, for the table of accelerators.
#ifndef FP_TRACERS_MUPTI_H
#define FP_TRACERS_MUPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_mupti_ops;

#endif
