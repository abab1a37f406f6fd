// calls.h - what sort of call an API function is: does it start device work, is it shown, does it capture.
//
// In:  a function's name, without what the vendor begins its names with.
// Out: its sorts, told from the name, so that one table serves every release and every variant (_ptsz,
//      Ex, v2) of a call, and every vendor whose API is CUDA's under another prefix.
#ifndef FP_TRACERS_CALLS_H
#define FP_TRACERS_CALLS_H

#include <stdint.h>

#include "flagprof/device_tracer.h"

enum fp_call_sort {
    FP_CALL_LAUNCH = 1,        // can start device work
    FP_CALL_QUIET = 2,         // torch on CUDA does not show it
    FP_CALL_CAPTURE_BEGIN = 4, // what follows until the end is put into a graph, not run
    FP_CALL_CAPTURE_END = 8,
    FP_CALL_MOVE = 16, // a copy or a set: of 0 bytes it starts nothing
};

// Bits of enum fp_call_sort; 0 for a name that does not begin with `prefix`, or is NULL. Underscores before
// the prefix are passed over.
unsigned fp_call_sorts(const char *prefix, const char *name);

// What an event of a call of these sorts says of it, in bits of enum fp_field_bit.
static inline uint32_t fp_call_fields(unsigned sorts) {
    return (sorts & FP_CALL_LAUNCH ? FP_IS_LAUNCH : 0) | (sorts & FP_CALL_MOVE ? FP_MAY_MOVE_NOTHING : 0) |
           (sorts & FP_CALL_CAPTURE_BEGIN ? FP_BEGINS_CAPTURE : 0) |
           (sorts & FP_CALL_CAPTURE_END ? FP_ENDS_CAPTURE : 0);
}

#endif
