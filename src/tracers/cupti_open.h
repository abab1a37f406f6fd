// cupti_open.h - which libcupti is used, and the proof that it can be. Private to the CUPTI tracer.
//
// In:  the person's choice, what the process has loaded, the disk.
// Out: bound functions, version, record layout, or one sentence that says of each library why it was
//      refused.
//
// Order: FLAGOS_TRACER_LIBRARY, and then no other; the copies already in the process; torch's wheel, told
// from where libcudart and libtorch lie; the folders of FLAGOS_LIBRARY_PATH; CUDA_HOME, CUDA_PATH,
// /usr/local/cuda; the loader's own search. A simulated library comes after every real one.
#ifndef FP_TRACERS_CUPTI_OPEN_H
#define FP_TRACERS_CUPTI_OPEN_H

#include "flagprof/device_tracer.h"
#include "tracers/cuda_driver.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"
#include "tracers/libraries.h"

struct fp_cupti_library {
    struct fp_cupti_functions call;
    void *handle; // never closed: the library keeps hooks in the driver
    char path[FP_LIBRARY_PATH_BYTES];
    bool simulated;
    uint32_t api_version;
    int major; // of CUDA: 13
    struct fp_cupti_layout layout;
    bool layout_mismatch;
    struct fp_cuda_driver driver;
    int runtime_version; // 13000; 0: no CUDA runtime is loaded
};

// `named`: the library to use and no other; NULL: the search. 0, or a negative errno with the reasons. Calls
// no function of CUPTI before a driver is initialised and reports a device.
int fp_cupti_library_open(struct fp_cupti_library *library, const char *named, struct fp_error *err);
// Whether the CUDA runtime loaded by now is of the library's major. 0, or -ENOEXEC with the reason.
int fp_cupti_library_check_runtime(struct fp_cupti_library *library, struct fp_error *err);
// The library's own word for a result, or "unknown error".
const char *fp_cupti_result_text(const struct fp_cupti_library *library, uint32_t result);

#endif
