// runtime.c - the functions of Enflame's runtime (libtopsrt.so) that a tool or a small native program calls.
//
// In:  calls by the names of Enflame's own table of runtime functions [CODE]; parameters as HIP's [GUESS].
// Out: the simulated accelerator's answers. They live in the profiling library's file, since a library of
//      ours must never be taken for the runtime. A function to launch is a `struct flagsim_function *`
//      (function.h).
#include "../twin.h"

#include <errno.h>
#include <stdio.h>

#define PUBLIC __attribute__((visibility("default")))

enum { VERSION_NUMBER = 10929 }; // [GUESS] how 1.9.29 counts

struct launch_dim {
    unsigned x, y, z;
};

PUBLIC int topsInit(unsigned flags);
PUBLIC int topsGetDeviceCount(int *count);
PUBLIC int topsDeviceGetName(char *name, int length, int device);
PUBLIC int topsDeviceTotalMem(size_t *bytes, int device);
PUBLIC int topsDriverGetVersion(int *version);
PUBLIC int topsRuntimeGetVersion(int *version);
PUBLIC int topsGetDevice(int *device);
PUBLIC int topsSetDevice(int device);
PUBLIC int topsDeviceSynchronize(void);
PUBLIC int topsMalloc(void **pointer, size_t bytes);
PUBLIC int topsFree(void *pointer);
PUBLIC int topsMemcpy(void *dst, const void *src, size_t bytes, int kind);
PUBLIC int topsMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream);
PUBLIC int topsMemset(void *dst, int value, size_t bytes);
PUBLIC int topsMemsetAsync(void *dst, int value, size_t bytes, void *stream);
PUBLIC int topsLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block,
                            void **arguments, size_t shared_bytes, void *stream);

int topsInit(unsigned flags) {
    return flags ? 1 : twin_result_of(flagsim_init());
}

int topsGetDeviceCount(int *count) {
    *count = twin_device_count();
    return *count ? 0 : twin_result_of(-ENODEV);
}

static int properties(int device, flagsim_device_props *props) {
    *props = (flagsim_device_props){ .size = sizeof *props };
    return twin_result_of(flagsim_device_properties(device, props));
}

int topsDeviceGetName(char *name, int length, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0 && length > 0)
        snprintf(name, (size_t)length, "%s", props.name);
    return result;
}

int topsDeviceTotalMem(size_t *bytes, int device) {
    flagsim_device_props props;
    int result = properties(device, &props);
    if (result == 0)
        *bytes = props.total_memory_bytes;
    return result;
}

int topsDriverGetVersion(int *version) {
    *version = VERSION_NUMBER;
    return 0;
}

int topsRuntimeGetVersion(int *version) {
    *version = VERSION_NUMBER;
    return 0;
}

int topsGetDevice(int *device) {
    return twin_result_of(flagsim_get_device(device));
}

int topsSetDevice(int device) {
    return twin_result_of(flagsim_set_device(device));
}

int topsDeviceSynchronize(void) {
    return twin_result_of(flagsim_device_synchronize());
}

int topsMalloc(void **pointer, size_t bytes) {
    return twin_result_of(flagsim_malloc(pointer, bytes));
}

int topsFree(void *pointer) {
    return twin_result_of(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(int kind) { // [GUESS] numbered as CUDA's
    return kind < 0 || kind > 4 ? FLAGSIM_COPY_DEFAULT : (flagsim_copy_kind)kind;
}

int topsMemcpy(void *dst, const void *src, size_t bytes, int kind) {
    return twin_result_of(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

int topsMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
    return twin_result_of(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream));
}

int topsMemset(void *dst, int value, size_t bytes) {
    return twin_result_of(flagsim_memset(dst, value, bytes));
}

int topsMemsetAsync(void *dst, int value, size_t bytes, void *stream) {
    return twin_result_of(flagsim_memset_async(dst, value, bytes, stream));
}

int topsLaunchKernel(const void *function, struct launch_dim grid, struct launch_dim block, void **arguments,
                     size_t shared_bytes, void *stream) {
    const uint32_t g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
    return twin_result_of(twin_launch(function, g, b, arguments, shared_bytes, stream));
}
