// cupti_ppu_layout.h - a PPU's records as places for the one reader of such records (twin.h). Private to the
// CUPTI tracer and to the tests that feed it bytes.
#ifndef FP_TRACERS_CUPTI_PPU_LAYOUT_H
#define FP_TRACERS_CUPTI_PPU_LAYOUT_H

#include "tracers/twin.h"

extern const struct fp_twin_layout fp_cupti_ppu_layout;

#endif
