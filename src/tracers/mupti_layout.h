// mupti_layout.h - MUPTI's records as places for the one reader of such records (twin.h). Private to the
// MUPTI tracer and to the tests that feed it bytes.
#ifndef FP_TRACERS_MUPTI_LAYOUT_H
#define FP_TRACERS_MUPTI_LAYOUT_H

#include "tracers/twin.h"

extern const struct fp_twin_layout fp_mupti_layout;

#endif
