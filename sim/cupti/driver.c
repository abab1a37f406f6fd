// driver.c - the functions of the CUDA driver and runtime that a tool or a small native program calls.
//
// In:  calls by their real names.
// Out: the simulated accelerator's answers. They live in the CUPTI library, since a library of ours must
//      never be taken for libcuda or libcudart by a program on a machine without a GPU.
//
// A function to launch is a C function here: cuLaunchKernel's handle is a `struct flagsim_function *` made by
// the program itself (see docs/simulator.md), cudaLaunchKernel's is the same.
#include "release.h"

#include <builtin_types.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"

#define PUBLIC __attribute__((visibility("default")))

enum { CUDA_NUMBER = CUPTI_RELEASE / 100 * 1000 + CUPTI_RELEASE % 100 * 10 };

// ---- what a tool asks before it calls CUPTI

PUBLIC CUresult CUDAAPI cuInit(unsigned int flags) {
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    flagsim_set_low_level(true);
    int result = flagsim_init();
    flagsim_set_low_level(false);
    return result == -ENXIO ? CUDA_ERROR_STUB_LIBRARY : (CUresult)driver_result(result);
}

PUBLIC CUresult CUDAAPI cuDriverGetVersion(int *version) {
    *version = CUDA_NUMBER;
    return CUDA_SUCCESS;
}

// Asked of the simulator's own state, so that a tool's question makes no record in its own trace.
static int device_total(void) {
    flagsim_device_props props = { .size = sizeof props };
    int count = 0;
    while (flagsim_device_properties(count, &props) == 0)
        count++;
    return count;
}

// A call like any other, recorded where the driver's are: a tool may make it to see whether it still is heard.
PUBLIC CUresult CUDAAPI cuDeviceGetCount(int *count) {
    flagsim_set_low_level(true);
    *count = flagsim_device_count();
    flagsim_set_low_level(false);
    if (*count)
        fc_driver_ready();
    return *count ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

PUBLIC CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_total() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult properties(CUdevice device, flagsim_device_props *props) {
    *props = (flagsim_device_props){ .size = sizeof *props };
    return flagsim_device_properties(device, props) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device) {
    flagsim_device_props props;
    CUresult result = properties(device, &props);
    if (result == CUDA_SUCCESS && length > 0)
        snprintf(name, (size_t)length, "%s", props.name);
    return result;
}

PUBLIC CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    flagsim_device_props props;
    CUresult result = properties(device, &props);
    if (result == CUDA_SUCCESS)
        *bytes = props.total_memory_bytes;
    return result;
}

PUBLIC CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    static const struct {
        CUdevice_attribute attribute;
        size_t offset;
    } table[] = {
#define ROW(name, field) { CU_DEVICE_ATTRIBUTE_##name, offsetof(flagsim_device_props, field) }
        ROW(COMPUTE_CAPABILITY_MAJOR, compute_major),
        ROW(COMPUTE_CAPABILITY_MINOR, compute_minor),
        ROW(MULTIPROCESSOR_COUNT, multiprocessors),
        ROW(WARP_SIZE, warp_size),
        ROW(MAX_THREADS_PER_BLOCK, max_threads_per_block),
        ROW(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_multiprocessor),
        ROW(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_multiprocessor),
        ROW(MAX_REGISTERS_PER_BLOCK, registers_per_block),
        ROW(MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_multiprocessor),
        ROW(MAX_SHARED_MEMORY_PER_BLOCK, shared_bytes_per_block),
        ROW(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_bytes_per_block_optin),
        ROW(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_bytes_per_multiprocessor),
        ROW(CLOCK_RATE, clock_khz),
        ROW(MEMORY_CLOCK_RATE, memory_clock_khz),
        ROW(GLOBAL_MEMORY_BUS_WIDTH, memory_bus_bits),
        ROW(L2_CACHE_SIZE, l2_bytes),
#undef ROW
    };
    flagsim_device_props props;
    CUresult result = properties(device, &props);
    *value = 0;
    for (size_t i = 0; result == CUDA_SUCCESS && i < sizeof table / sizeof *table; i++)
        if (table[i].attribute == attribute)
            memcpy(value, (const char *)&props + table[i].offset, sizeof *value);
    if (result == CUDA_SUCCESS && attribute == CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)
        *value = 1024;
    return result;
}

PUBLIC CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) {
    *text = error == CUDA_SUCCESS           ? "no error"
            : error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
                                            : "an error of the simulated driver";
    return CUDA_SUCCESS;
}

// ---- the driver's working calls

static CUresult low(int result) {
    flagsim_set_low_level(false);
    return (CUresult)driver_result(result);
}

#define LOW(call) (flagsim_set_low_level(true), low(call))

static flagsim_stream *stream_of(void *handle) {
    return (uintptr_t)handle <= 2 ? NULL : (flagsim_stream *)handle; // 0, 1 and 2 mean default streams
}

PUBLIC CUresult CUDAAPI cuCtxSynchronize(void) {
    return LOW(flagsim_device_synchronize());
}

PUBLIC CUresult CUDAAPI cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
    void *memory = NULL;
    CUresult result = LOW(flagsim_malloc(&memory, bytes));
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

PUBLIC CUresult CUDAAPI cuMemFree(CUdeviceptr pointer) {
    return LOW(flagsim_free((void *)(uintptr_t)pointer));
}

PUBLIC CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
    return LOW(
        flagsim_memcpy_async((void *)(uintptr_t)dst, src, bytes, FLAGSIM_COPY_HTOD, stream_of(stream)));
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    return LOW(
        flagsim_memcpy_async(dst, (void *)(uintptr_t)src, bytes, FLAGSIM_COPY_DTOH, stream_of(stream)));
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    return LOW(flagsim_memcpy_async((void *)(uintptr_t)dst, (void *)(uintptr_t)src, bytes, FLAGSIM_COPY_DTOD,
                                    stream_of(stream)));
}

PUBLIC CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t bytes, CUstream stream) {
    return LOW(flagsim_memset_async((void *)(uintptr_t)dst, value, bytes, stream_of(stream)));
}

PUBLIC CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags) {
    (void)flags;
    return LOW(flagsim_stream_create((flagsim_stream **)stream));
}

PUBLIC CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
    return LOW(flagsim_stream_destroy(stream_of(stream)));
}

PUBLIC CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
    return LOW(flagsim_stream_synchronize(stream_of(stream)));
}

static void run_function(void *arg) {
    struct flagsim_launch *launch = arg;
    launch->function->run(launch->arguments);
}

// Arguments are copied at the launch, each by the size that the function declares, as the real launch does.
static int launch(const struct flagsim_function *function, const uint32_t grid[3], const uint32_t block[3],
                  void **arguments, size_t shared_bytes, flagsim_stream *stream) {
    if (!function || !function->run)
        return -EINVAL;
    size_t count = 0, bytes = 0;
    while (function->argument_bytes && function->argument_bytes[count])
        bytes += (function->argument_bytes[count++] + 15) / 16 * 16;
    struct flagsim_launch *copy = calloc(1, sizeof *copy + count * sizeof(void *) + 16 + bytes);
    if (!copy)
        return -ENOMEM;
    copy->function = function;
    uint8_t *at = (uint8_t *)(((uintptr_t)&copy->arguments[count] + 15) / 16 * 16);
    for (size_t i = 0; i < count; i++) {
        copy->arguments[i] = memcpy(at, arguments[i], function->argument_bytes[i]);
        at += (function->argument_bytes[i] + 15) / 16 * 16;
    }
    flagsim_kernel_info info = {
        .name = function->name,
        .grid = { grid[0], grid[1], grid[2] },
        .block = { block[0], block[1], block[2] },
        .registers = function->registers,
        .shared_static_bytes = function->shared_bytes,
        .shared_dynamic_bytes = (uint32_t)shared_bytes,
        .min_duration_ns = function->min_duration_ns,
    };
    return flagsim_launch_owned(stream, run_function, copy, free, &info);
}

PUBLIC CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                       unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                       unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                       void **kernelParams, void **extra) {
    (void)extra;
    const uint32_t grid[3] = { gridDimX, gridDimY, gridDimZ }, block[3] = { blockDimX, blockDimY, blockDimZ };
    return LOW(launch((const void *)f, grid, block, kernelParams, sharedMemBytes, stream_of(hStream)));
}

// ---- the runtime's

typedef cudaError_t rt;

static rt high(int result) {
    return (rt)runtime_result(result);
}

PUBLIC rt cudaRuntimeGetVersion(int *version);
PUBLIC rt cudaDriverGetVersion(int *version);
PUBLIC rt cudaGetDeviceCount(int *count);
PUBLIC rt cudaGetDevice(int *device);
PUBLIC rt cudaSetDevice(int device);
PUBLIC rt cudaDeviceSynchronize(void);
PUBLIC rt cudaGetLastError(void);
PUBLIC rt cudaMalloc(void **pointer, size_t bytes);
PUBLIC rt cudaFree(void *pointer);
PUBLIC rt cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
PUBLIC rt cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                          cudaStream_t stream);
PUBLIC rt cudaMemset(void *dst, int value, size_t bytes);
PUBLIC rt cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream);
PUBLIC rt cudaStreamCreate(cudaStream_t *stream);
PUBLIC rt cudaStreamDestroy(cudaStream_t stream);
PUBLIC rt cudaStreamSynchronize(cudaStream_t stream);
PUBLIC rt cudaEventCreate(cudaEvent_t *event);
PUBLIC rt cudaEventDestroy(cudaEvent_t event);
PUBLIC rt cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
PUBLIC rt cudaEventSynchronize(cudaEvent_t event);
PUBLIC rt cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
struct launch_dim {
    unsigned int x, y, z;
};
PUBLIC rt cudaLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block,
                           void **arguments, size_t shared_bytes, cudaStream_t stream);

rt cudaRuntimeGetVersion(int *version) {
    *version = CUDA_NUMBER;
    if (flagsim_fault_on(FLAGSIM_FAULT_runtime_mismatch))
        *version = CUDA_NUMBER >= 13000 ? 12080 : 13000;
    return cudaSuccess;
}

rt cudaDriverGetVersion(int *version) {
    *version = CUDA_NUMBER;
    return cudaSuccess;
}

rt cudaGetDeviceCount(int *count) {
    *count = flagsim_device_count();
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

rt cudaGetDevice(int *device) {
    return high(flagsim_get_device(device));
}

rt cudaSetDevice(int device) {
    return high(flagsim_set_device(device));
}

rt cudaDeviceSynchronize(void) {
    return high(flagsim_device_synchronize());
}

rt cudaGetLastError(void) {
    return high(-flagsim_get_last_error());
}

rt cudaMalloc(void **pointer, size_t bytes) {
    return high(flagsim_malloc(pointer, bytes));
}

rt cudaFree(void *pointer) {
    return high(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(enum cudaMemcpyKind kind) {
    return (unsigned)kind > cudaMemcpyDefault ? FLAGSIM_COPY_DEFAULT
                                              : (flagsim_copy_kind)kind; // numbered alike
}

rt cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
    return high(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

rt cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return high(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream_of(stream)));
}

rt cudaMemset(void *dst, int value, size_t bytes) {
    return high(flagsim_memset(dst, value, bytes));
}

rt cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream) {
    return high(flagsim_memset_async(dst, value, bytes, stream_of(stream)));
}

rt cudaStreamCreate(cudaStream_t *stream) {
    return high(flagsim_stream_create((flagsim_stream **)stream));
}

rt cudaStreamDestroy(cudaStream_t stream) {
    return high(flagsim_stream_destroy(stream_of(stream)));
}

rt cudaStreamSynchronize(cudaStream_t stream) {
    return high(flagsim_stream_synchronize(stream_of(stream)));
}

rt cudaEventCreate(cudaEvent_t *event) {
    return high(flagsim_event_create((flagsim_event **)event));
}

rt cudaEventDestroy(cudaEvent_t event) {
    return high(flagsim_event_destroy((flagsim_event *)event));
}

rt cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return high(flagsim_event_record((flagsim_event *)event, stream_of(stream)));
}

rt cudaEventSynchronize(cudaEvent_t event) {
    return high(flagsim_event_synchronize((flagsim_event *)event));
}

rt cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    (void)flags;
    return high(flagsim_stream_wait_event(stream_of(stream), (flagsim_event *)event));
}

rt cudaLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block, void **arguments,
                    size_t shared_bytes, cudaStream_t stream) {
    const uint32_t g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
    return high(launch(function, g, b, arguments, shared_bytes, stream_of(stream)));
}
