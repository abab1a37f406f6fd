// cupti.h - the CUPTI tracer's two doors: its ops for the table of accelerators, NVIDIA's and those of the
// PPU, whose library has CUPTI's face.
#ifndef FP_TRACERS_CUPTI_H
#define FP_TRACERS_CUPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_cupti_ops;
extern const struct fp_tracer_ops fp_cupti_ppu_ops;

#endif
