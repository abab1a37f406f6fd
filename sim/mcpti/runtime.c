// runtime.c - the functions of MetaX's runtime (libmcruntime.so) that a tool or a small native program calls.
//
// In:  calls by their real names [CODE].
// Out: the simulated accelerator's answers. They live in the profiling library's file, since a library of
//      ours must never be taken for the runtime. A function to launch is a `struct flagsim_function *`
//      (function.h).
#include "../twin.h"

#include <errno.h>
#include <stdio.h>

#define PUBLIC __attribute__((visibility("default")))

enum { MACA_NUMBER = 3053 }; // [GUESS] how 3.5.3 counts

struct launch_dim {
    unsigned x, y, z;
};

PUBLIC int mcInit(unsigned flags);
PUBLIC int mcGetDeviceCount(int *count);
PUBLIC int mcDeviceGetName(char *name, int length, int device);
PUBLIC int mcDeviceTotalMem(size_t *bytes, int device);
PUBLIC int mcDriverGetVersion(int *version);
PUBLIC int mcRuntimeGetVersion(int *version);
PUBLIC int mcGetDevice(int *device);
PUBLIC int mcSetDevice(int device);
PUBLIC int mcDeviceSynchronize(void);
PUBLIC int mcMalloc(void **pointer, size_t bytes);
PUBLIC int mcFree(void *pointer);
PUBLIC int mcMemcpy(void *dst, const void *src, size_t bytes, int kind);
PUBLIC int mcMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream);
PUBLIC int mcMemset(void *dst, int value, size_t bytes);
PUBLIC int mcMemsetAsync(void *dst, int value, size_t bytes, void *stream);
PUBLIC int mcLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block,
                          void **arguments, size_t shared_bytes, void *stream);

int mcInit(unsigned flags) {
    return flags ? 1 : twin_result_of(flagsim_init());
}

int mcGetDeviceCount(int *count) {
    *count = twin_device_count();
    return *count ? 0 : twin_result_of(-ENODEV);
}

static int properties(int device, flagsim_device_props *props) {
    *props = (flagsim_device_props){ .size = sizeof *props };
    return twin_result_of(flagsim_device_properties(device, props));
}

int mcDeviceGetName(char *name, int length, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0 && length > 0)
        snprintf(name, (size_t)length, "%s", props.name);
    return result;
}

int mcDeviceTotalMem(size_t *bytes, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0)
        *bytes = props.total_memory_bytes;
    return result;
}

int mcDriverGetVersion(int *version) {
    *version = MACA_NUMBER;
    return 0;
}

int mcRuntimeGetVersion(int *version) {
    *version = MACA_NUMBER;
    return 0;
}

int mcGetDevice(int *device) {
    return twin_result_of(flagsim_get_device(device));
}

int mcSetDevice(int device) {
    return twin_result_of(flagsim_set_device(device));
}

int mcDeviceSynchronize(void) {
    return twin_result_of(flagsim_device_synchronize());
}

int mcMalloc(void **pointer, size_t bytes) {
    return twin_result_of(flagsim_malloc(pointer, bytes));
}

int mcFree(void *pointer) {
    return twin_result_of(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(int kind) { // [GUESS] numbered as CUDA's
    return kind < 0 || kind > 4 ? FLAGSIM_COPY_DEFAULT : (flagsim_copy_kind)kind;
}

int mcMemcpy(void *dst, const void *src, size_t bytes, int kind) {
    return twin_result_of(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

int mcMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
    return twin_result_of(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream));
}

int mcMemset(void *dst, int value, size_t bytes) {
    return twin_result_of(flagsim_memset(dst, value, bytes));
}

int mcMemsetAsync(void *dst, int value, size_t bytes, void *stream) {
    return twin_result_of(flagsim_memset_async(dst, value, bytes, stream));
}

int mcLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block, void **arguments,
                   size_t shared_bytes, void *stream) {
    const uint32_t g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
    return twin_result_of(twin_launch(function, g, b, arguments, shared_bytes, stream));
}
