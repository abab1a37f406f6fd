// runtime.c - the functions of T-Head's driver and runtime (libhggc.so, libhggcrt.13.0.so) that a tool or a
// small native program calls.
//
// In:  calls by their real names [CODE].
// Out: the simulated accelerator's answers. They live in the profiling library's file, since a library of
//      ours must never be taken for the runtime. A function to launch is a `struct flagsim_function *`
//      (function.h).
#include "../twin.h"

#include <errno.h>
#include <stdio.h>

#define PUBLIC __attribute__((visibility("default")))

enum { SDK_NUMBER = 13000 }; // [GUESS] what the CUDA-13-level SDK counts

struct launch_dim {
    unsigned x, y, z;
};

PUBLIC int hgInit(unsigned flags);
PUBLIC int hgDeviceGetCount(int *count);
PUBLIC int hgDeviceGetName(char *name, int length, int device);
PUBLIC int hgDeviceTotalMem_v2(size_t *bytes, int device);
PUBLIC int hgDriverGetVersion(int *version);
PUBLIC int hgCtxSynchronize(void);
PUBLIC int hgLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared_bytes, void *stream, void **arguments,
                          void **extra);
PUBLIC int hggcGetDeviceCount(int *count);
PUBLIC int hggcRuntimeGetVersion(int *version);
PUBLIC int hggcGetDevice(int *device);
PUBLIC int hggcSetDevice(int device);
PUBLIC int hggcDeviceSynchronize(void);
PUBLIC int hggcMalloc(void **pointer, size_t bytes);
PUBLIC int hggcFree(void *pointer);
PUBLIC int hggcMemcpy(void *dst, const void *src, size_t bytes, int kind);
PUBLIC int hggcMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream);
PUBLIC int hggcMemset(void *dst, int value, size_t bytes);
PUBLIC int hggcMemsetAsync(void *dst, int value, size_t bytes, void *stream);
PUBLIC int hggcLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block,
                            void **arguments, size_t shared_bytes, void *stream);

// ---- the driver's

static int low(int result) {
    flagsim_set_low_level(false);
    return twin_result_of(result);
}

#define LOW(call) (flagsim_set_low_level(true), low(call))

int hgInit(unsigned flags) {
    return flags ? 1 : LOW(flagsim_init());
}

int hgDeviceGetCount(int *count) {
    *count = twin_device_count();
    return *count ? 0 : twin_result_of(-ENODEV);
}

static int properties(int device, flagsim_device_props *props) {
    *props = (flagsim_device_props){ .size = sizeof *props };
    return twin_result_of(flagsim_device_properties(device, props));
}

int hgDeviceGetName(char *name, int length, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0 && length > 0)
        snprintf(name, (size_t)length, "%s", props.name);
    return result;
}

int hgDeviceTotalMem_v2(size_t *bytes, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0)
        *bytes = props.total_memory_bytes;
    return result;
}

int hgDriverGetVersion(int *version) {
    *version = SDK_NUMBER;
    return 0;
}

int hgCtxSynchronize(void) {
    return LOW(flagsim_device_synchronize());
}

int hgLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    const uint32_t grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
    (void)extra;
    return LOW(twin_launch(function, grid, block, arguments, shared_bytes, stream));
}

// ---- the runtime's

int hggcGetDeviceCount(int *count) {
    return hgDeviceGetCount(count);
}

int hggcRuntimeGetVersion(int *version) {
    *version = SDK_NUMBER;
    return 0;
}

int hggcGetDevice(int *device) {
    return twin_result_of(flagsim_get_device(device));
}

int hggcSetDevice(int device) {
    return twin_result_of(flagsim_set_device(device));
}

int hggcDeviceSynchronize(void) {
    return twin_result_of(flagsim_device_synchronize());
}

int hggcMalloc(void **pointer, size_t bytes) {
    return twin_result_of(flagsim_malloc(pointer, bytes));
}

int hggcFree(void *pointer) {
    return twin_result_of(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(int kind) { // [GUESS] numbered as CUDA's
    return kind < 0 || kind > 4 ? FLAGSIM_COPY_DEFAULT : (flagsim_copy_kind)kind;
}

int hggcMemcpy(void *dst, const void *src, size_t bytes, int kind) {
    return twin_result_of(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

int hggcMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
    return twin_result_of(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream));
}

int hggcMemset(void *dst, int value, size_t bytes) {
    return twin_result_of(flagsim_memset(dst, value, bytes));
}

int hggcMemsetAsync(void *dst, int value, size_t bytes, void *stream) {
    return twin_result_of(flagsim_memset_async(dst, value, bytes, stream));
}

int hggcLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block, void **arguments,
                     size_t shared_bytes, void *stream) {
    const uint32_t g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
    return twin_result_of(twin_launch(function, g, b, arguments, shared_bytes, stream));
}
