// topspti_open.h - finds and binds TOPSPTI and the runtime that it observes.
//
// In:  a path, or the documented search.
// Out: the functions of both; or the reason why there is none. Nothing is armed, and TOPSPTI is not asked
//      anything before the runtime has reported a device.
#ifndef FP_TRACERS_TOPSPTI_OPEN_H
#define FP_TRACERS_TOPSPTI_OPEN_H

#include "flagprof/device_tracer.h"
#include "tracers/libraries.h"
#include "tracers/topspti_abi.h"

struct fp_tops_library {
    struct fp_tops_functions call;
    char path[FP_LIBRARY_PATH_BYTES], version[32];
    bool simulated;
    uint32_t version_number;
    int device_count;
};

// 0, or a negative errno with the reason in `err`. `named` NULL: the search.
int fp_tops_library_open(struct fp_tops_library *library, const char *named, struct fp_error *err);

#endif
