// cuda_occupancy.h - the estimated achieved occupancy of a kernel, as torch's profiler computes it on CUDA.
//
// In:  a launch's geometry and needs, and what the device has.
// Out: percent of the thread slots that the launch can fill, from the kernel record alone. An estimate:
//      no carve-out and no barrier is known, so the whole shared memory counts as available. Proved on
//      2,196 kernels that torch recorded on an H200 (tests/c/test_cuda_occupancy.c).
#ifndef FP_TRACERS_CUDA_OCCUPANCY_H
#define FP_TRACERS_CUDA_OCCUPANCY_H

#include "flagprof/device_tracer.h"

// What of a device the estimate needs; 0 where the driver did not tell.
struct fp_cuda_limits {
    int32_t compute_major, compute_minor;
    int32_t multiprocessors, warp_size;
    int32_t max_threads_per_block, max_threads_per_multiprocessor;
    int32_t registers_per_block, registers_per_multiprocessor;
    int32_t shared_per_block_bytes, shared_per_multiprocessor_bytes;
    int32_t reserved_shared_per_block_bytes; // what the driver keeps of each block's shared memory: 1 KB
                                             // from 8.0 on
};

// Percent, or -1 where nothing can be said: a device whose rules are not known, or unknown limits.
int fp_cuda_occupancy_percent(const struct fp_cuda_limits *limits, const struct fp_kernel *kernel);

#endif
