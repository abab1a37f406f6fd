// mcpti_layout.h - MCPTI's records as places for the one reader of such records (twin.h). Private to the
// MCPTI tracer and to the tests that feed it bytes.
#ifndef FP_TRACERS_MCPTI_LAYOUT_H
#define FP_TRACERS_MCPTI_LAYOUT_H

#include "tracers/twin.h"

extern const struct fp_twin_layout fp_mcpti_layout;

#endif
