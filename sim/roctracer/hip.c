// hip.c - the functions of HIP (libamdhip64.so, on DTK libgalaxyhip.so) that a tool or a small native program
// calls.
//
// In:  calls by their real names [HEADER].
// Out: the simulated accelerator's answers. A function to launch is a `struct flagsim_function *`
//      (function.h). The library carries a soname that no real one has.
#include "../twin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define PUBLIC __attribute__((visibility("default")))

#ifndef FLAGSIM_DTK
extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: HIP over FlagProf's simulated accelerator";
#endif

enum { HIP_NUMBER = 60100000 }; // major * 10^7 + minor * 10^5 + patch [HEADER]

struct launch_dim {
    unsigned x, y, z;
};

static atomic_bool seen;

PUBLIC bool
flagsim_hip_seen(void); // has the program seen a device? For ROCtracer, which lies in another file
PUBLIC int hipInit(unsigned flags);
PUBLIC int hipGetDeviceCount(int *count);
PUBLIC int hipGetDevice(int *device);
PUBLIC int hipSetDevice(int device);
PUBLIC int hipDeviceGetName(char *name, int length, int device);
PUBLIC int hipDeviceTotalMem(size_t *bytes, int device);
PUBLIC int hipRuntimeGetVersion(int *version);
PUBLIC int hipDriverGetVersion(int *version);
PUBLIC int hipDeviceSynchronize(void);
PUBLIC int hipMalloc(void **pointer, size_t bytes);
PUBLIC int hipFree(void *pointer);
PUBLIC int hipMemcpy(void *dst, const void *src, size_t bytes, int kind);
PUBLIC int hipMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream);
PUBLIC int hipMemset(void *dst, int value, size_t bytes);
PUBLIC int hipMemsetAsync(void *dst, int value, size_t bytes, void *stream);
PUBLIC int hipLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block,
                           void **arguments, size_t shared_bytes, void *stream);
PUBLIC int hipModuleLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
                                 void **arguments, void **extra);

bool flagsim_hip_seen(void) {
    return atomic_load(&seen);
}

int hipInit(unsigned flags) {
    return flags ? 1 : twin_result_of(flagsim_init());
}

int hipGetDeviceCount(int *count) {
    *count = flagsim_device_count();
    atomic_store(&seen, *count > 0);
    return *count ? 0 : twin_result_of(-ENODEV);
}

int hipGetDevice(int *device) {
    return twin_result_of(flagsim_get_device(device));
}

int hipSetDevice(int device) {
    return twin_result_of(flagsim_set_device(device));
}

static int properties(int device, flagsim_device_props *props) {
    *props = (flagsim_device_props){ .size = sizeof *props };
    return twin_result_of(flagsim_device_properties(device, props));
}

int hipDeviceGetName(char *name, int length, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0 && length > 0)
        snprintf(name, (size_t)length, "%s", props.name);
    return result;
}

int hipDeviceTotalMem(size_t *bytes, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0)
        *bytes = props.total_memory_bytes;
    return result;
}

int hipRuntimeGetVersion(int *version) {
    *version = HIP_NUMBER;
    return 0;
}

int hipDriverGetVersion(int *version) {
    *version = HIP_NUMBER;
    return 0;
}

int hipDeviceSynchronize(void) {
    return twin_result_of(flagsim_device_synchronize());
}

int hipMalloc(void **pointer, size_t bytes) {
    return twin_result_of(flagsim_malloc(pointer, bytes));
}

int hipFree(void *pointer) {
    return twin_result_of(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(int kind) { // numbered alike [HEADER]
    return kind < 0 || kind > 4 ? FLAGSIM_COPY_DEFAULT : (flagsim_copy_kind)kind;
}

int hipMemcpy(void *dst, const void *src, size_t bytes, int kind) {
    return twin_result_of(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

int hipMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
    return twin_result_of(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream));
}

int hipMemset(void *dst, int value, size_t bytes) {
    return twin_result_of(flagsim_memset(dst, value, bytes));
}

int hipMemsetAsync(void *dst, int value, size_t bytes, void *stream) {
    return twin_result_of(flagsim_memset_async(dst, value, bytes, stream));
}

int hipLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block, void **arguments,
                    size_t shared_bytes, void *stream) {
    const uint32_t g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
    return twin_result_of(twin_launch(function, g, b, arguments, shared_bytes, stream));
}

int hipModuleLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared_bytes, void *stream, void **arguments,
                          void **extra) {
    const uint32_t grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
    (void)extra;
    flagsim_set_low_level(true);
    int result = twin_launch(function, grid, block, arguments, shared_bytes, stream);
    flagsim_set_low_level(false);
    return twin_result_of(result);
}
