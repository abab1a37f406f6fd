// roctracer_open.h - finds and binds ROCtracer and the HIP that it observes.
//
// In:  a path, or the documented search.
// Out: the functions of both, what they are, and how this release numbers HIP's functions; or the reason
//      why there is none. Nothing is armed, and ROCtracer is not asked anything before HIP is there: it
//      would look for HIP once, in vain, and keep that answer [CODE].
#ifndef FP_TRACERS_ROCTRACER_OPEN_H
#define FP_TRACERS_ROCTRACER_OPEN_H

#include "flagprof/device_tracer.h"
#include "tracers/libraries.h"
#include "tracers/roctracer_abi.h"

enum { FP_ROC_API_IDS = 2048 }; // LAST was 363 to 444 in the releases seen [HEADER]

struct fp_roc_library {
    struct fp_roc_functions call;
    char path[FP_LIBRARY_PATH_BYTES], version[96];
    bool simulated;
    int device_count;
    int first_node;                                 // of KFD's topology that is a GPU; -1: not known
    const struct fp_hip_call *apis[FP_ROC_API_IDS]; // by this release's numbers; NULL: none that starts work
};

// 0, or a negative errno with the reason in `err`. `named` NULL: the search.
int fp_roc_library_open(struct fp_roc_library *library, const char *named, struct fp_error *err);

#endif
