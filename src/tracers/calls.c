// calls.c - the one table of call families (calls.h).
//
// Runtime and driver, and the vendors that took CUDA's API over, name a family alike but for the prefix
// (cuda and cu, mc, musa and mu), so a row names the stem. Host functions (cudaLaunchHostFunc) run on the
// host and are no launch.

#include "tracers/calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct family {
    const char *stem;
    bool whole; // the stem is the whole name, else its beginning
    unsigned sorts;
};

static const struct family families[] = {
    { "LaunchHostFunc", false, 0 },
    { "LaunchKernel", false, FP_CALL_LAUNCH },
    { "LaunchCooperativeKernel", false, FP_CALL_LAUNCH },
    { "Launch", true, FP_CALL_LAUNCH },
    { "LaunchGrid", false, FP_CALL_LAUNCH },
    { "GraphLaunch", false, FP_CALL_LAUNCH },
    // cuBLASLt sets 0 bytes in half-precision products; of that there is no record [MEASURED, H200, CUPTI 13.0].
    { "Memcpy", false, FP_CALL_LAUNCH | FP_CALL_MOVE },
    { "Memset", false, FP_CALL_LAUNCH | FP_CALL_MOVE },
    // Left out by Kineto for being frequent and dull [measured on torch 2.11, CUDA 13.0].
    { "GetDevice", true, FP_CALL_QUIET },
    { "SetDevice", true, FP_CALL_QUIET },
    { "GetLastError", true, FP_CALL_QUIET },
    { "EventCreate", true, FP_CALL_QUIET },
    { "EventCreateWithFlags", true, FP_CALL_QUIET },
    { "EventDestroy", true, FP_CALL_QUIET },
    { "StreamBeginCapture", false, FP_CALL_CAPTURE_BEGIN },
    { "StreamBeginRecapture", false, FP_CALL_CAPTURE_BEGIN },
    { "StreamEndCapture", false, FP_CALL_CAPTURE_END },
};

unsigned fp_call_sorts(const char *prefix, const char *name) {
    if (!name)
        return 0;
    while (*name == '_') // __cudaLaunchKernel, the runtime's own from CUDA 13.0 on
        name++;
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0)
        return 0;
    name += length;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        size_t stem = strlen(families[i].stem);
        if (strncmp(name, families[i].stem, stem) == 0 && (!families[i].whole || name[stem] == '\0'))
            return families[i].sorts;
    }
    return 0;
}
