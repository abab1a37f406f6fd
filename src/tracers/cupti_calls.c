// cupti_calls.c - the one table of CUDA call families (cupti_calls.h).
//
// Both APIs name a family alike but for cuda and cu, so a row names the stem. Host functions
// (cudaLaunchHostFunc) run on the host and are no launch.

#include "tracers/cupti_calls.h"

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
    { "LaunchKernel", false, FP_CUPTI_CALL_LAUNCH },
    { "LaunchCooperativeKernel", false, FP_CUPTI_CALL_LAUNCH },
    { "Launch", true, FP_CUPTI_CALL_LAUNCH },
    { "LaunchGrid", false, FP_CUPTI_CALL_LAUNCH },
    { "GraphLaunch", false, FP_CUPTI_CALL_LAUNCH },
    { "Memcpy", false, FP_CUPTI_CALL_LAUNCH },
    { "Memset", false, FP_CUPTI_CALL_LAUNCH },
    // Left out by Kineto for being frequent and dull [measured on torch 2.11, CUDA 13.0].
    { "GetDevice", true, FP_CUPTI_CALL_QUIET },
    { "SetDevice", true, FP_CUPTI_CALL_QUIET },
    { "GetLastError", true, FP_CUPTI_CALL_QUIET },
    { "EventCreate", true, FP_CUPTI_CALL_QUIET },
    { "EventCreateWithFlags", true, FP_CUPTI_CALL_QUIET },
    { "EventDestroy", true, FP_CUPTI_CALL_QUIET },
    { "StreamBeginCapture", false, FP_CUPTI_CALL_CAPTURE_BEGIN },
    { "StreamBeginRecapture", false, FP_CUPTI_CALL_CAPTURE_BEGIN },
    { "StreamEndCapture", false, FP_CUPTI_CALL_CAPTURE_END },
};

unsigned fp_cupti_call_sorts(uint32_t domain, const char *name) {
    static const char *const prefixes[] = { [1] = "cu", [2] = "cuda" };
    if (!name || domain < 1 || domain > 2)
        return 0;
    while (*name == '_') // __cudaLaunchKernel, the runtime's own from 13.0 on
        name++;
    size_t prefix = strlen(prefixes[domain]);
    if (strncmp(name, prefixes[domain], prefix) != 0)
        return 0;
    name += prefix;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        size_t stem = strlen(families[i].stem);
        if (strncmp(name, families[i].stem, stem) == 0 && (!families[i].whole || name[stem] == '\0'))
            return families[i].sorts;
    }
    return 0;
}
