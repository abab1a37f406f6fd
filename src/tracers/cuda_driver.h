// cuda_driver.h - NVIDIA's driver library, as little of it as a recording needs: is there a device, and what
// is it like.
//
// In:  libcuda.so.1, or the library that simulates it.
// Out: versions, device properties, waiting for the devices. Why it comes first: without a driver CUPTI
//      13.2 dies of any call and later ones answer 999 [MEASURED], so CUPTI is called only after this
//      here found a device.
#ifndef FP_TRACERS_CUDA_DRIVER_H
#define FP_TRACERS_CUDA_DRIVER_H

#include "flagprof/device_tracer.h"
#include "tracers/cuda_occupancy.h"

struct fp_cuda_driver {
    void *handle;
    int device_count;
    int version; // 13000; 0: not told
    int (*count_devices)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int capacity, int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*primary_state)(int device, unsigned *flags, int *active);
    int (*primary_retain)(void **context, int device);
    int (*primary_release)(int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*context_wait)(void);
};

// Loads, initialises and asks for devices. `simulated` is the handle of the library that stands for the
// driver, NULL: libcuda.so.1. 0, or -ENODEV with the reason.
int fp_cuda_driver_open(struct fp_cuda_driver *driver, void *simulated, struct fp_error *err);
// 0; -EINVAL for an ordinal that is none. What the driver does not tell stays 0.
int fp_cuda_driver_device(const struct fp_cuda_driver *driver, uint32_t ordinal, struct fp_device *device);
void fp_cuda_driver_limits(const struct fp_cuda_driver *driver, uint32_t ordinal,
                           struct fp_cuda_limits *limits);
// Whether a context, the primary one, exists on any device; -1: cannot be told.
int fp_cuda_driver_has_context(const struct fp_cuda_driver *driver);
// Waits for every device that has its primary context. -ENOTSUP where the driver lacks what it takes.
int fp_cuda_driver_synchronize(const struct fp_cuda_driver *driver, struct fp_error *err);
// The version of the CUDA runtime that the process has loaded (13000), 0: none. Where it has loaded several,
// one of `major` is preferred. `simulated` as above.
int fp_cuda_runtime_version(void *simulated, int major);

#endif
