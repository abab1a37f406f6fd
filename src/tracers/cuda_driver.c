// cuda_driver.c - the CUDA driver, bound at run time (cuda_driver.h).
//
// Numbers are those of cuda.h [HEADER: 13.5; they never change]. Every function but the first three may be
// absent.

#include "tracers/cuda_driver.h"

#include "tracers/libraries.h"
#include "tracers/opening.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_THREADS_PER_BLOCK = 1,
    SHARED_PER_BLOCK = 8,
    WARP_SIZE = 10,
    REGISTERS_PER_BLOCK = 12,
    MULTIPROCESSORS = 16,
    MAX_THREADS_PER_MULTIPROCESSOR = 39,
    COMPUTE_MAJOR = 75,
    COMPUTE_MINOR = 76,
    SHARED_PER_MULTIPROCESSOR = 81,
    REGISTERS_PER_MULTIPROCESSOR = 82,
    SHARED_PER_BLOCK_OPTIN = 97,
    RESERVED_SHARED_PER_BLOCK = 111,
};

enum { DRIVER_NO_DEVICE = 100, DRIVER_NOT_INITIALIZED = 3 };

// What a person can do about an answer of the driver's.
static const struct {
    int result;
    const char *meaning;
} meanings[] = {
    { DRIVER_NO_DEVICE, "the driver sees no device (CUDA_VISIBLE_DEVICES may hide it)" },
    { DRIVER_NOT_INITIALIZED, "the driver cannot be used in a process forked after CUDA was initialised" },
    { 34, "libcuda.so.1 is a stub, not the driver" },
    { 802, "the driver is not ready yet" },
    { 803, "the driver's library and its kernel module are of different versions" },
    { 804, "the compatibility driver does not support this device" },
};

static int say_result(struct fp_error *err, const char *call, int result) {
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].result == result) {
            fp_error_set(err, "%s (%s answered %d)", meanings[i].meaning, call, result);
            return -ENODEV;
        }
    }
    fp_error_set(err, "the CUDA driver's %s answered %d", call, result);
    return -ENODEV;
}

static void bind(void *handle, void *function, const char *symbol) {
    void *address = dlsym(handle, symbol);
    memcpy(function, &address,
           sizeof(address)); // ISO C knows no cast from an object's to a function's address
}

int fp_cuda_driver_open(struct fp_cuda_driver *driver, void *simulated, struct fp_error *err) {
    int (*initialise)(unsigned flags);
    int (*get_version)(int *version);
    memset(driver, 0, sizeof(*driver));
    void *handle = simulated ? simulated : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        fp_error_set(err, "there is no NVIDIA driver: %s", dlerror());
        return -ENODEV;
    }
    bind(handle, &initialise, "cuInit");
    bind(handle, &driver->count_devices, "cuDeviceGetCount");
    bind(handle, &get_version, "cuDriverGetVersion");
    if (!initialise || !driver->count_devices) {
        fp_error_set(err, "the CUDA driver's library lacks cuInit or cuDeviceGetCount");
        return -ENODEV;
    }
    int result = initialise(0);
    if (result != 0)
        return say_result(err, "cuInit", result);
    result = driver->count_devices(&driver->device_count);
    if (result != 0 || driver->device_count <= 0)
        return say_result(err, "cuDeviceGetCount", result ? result : DRIVER_NO_DEVICE);
    if (get_version && get_version(&driver->version) != 0)
        driver->version = 0;
    bind(handle, &driver->device_get, "cuDeviceGet");
    bind(handle, &driver->device_name, "cuDeviceGetName");
    bind(handle, &driver->device_memory, "cuDeviceTotalMem_v2");
    bind(handle, &driver->device_attribute, "cuDeviceGetAttribute");
    bind(handle, &driver->primary_state, "cuDevicePrimaryCtxGetState");
    bind(handle, &driver->primary_retain, "cuDevicePrimaryCtxRetain");
    bind(handle, &driver->primary_release, "cuDevicePrimaryCtxRelease_v2");
    bind(handle, &driver->context_push, "cuCtxPushCurrent_v2");
    bind(handle, &driver->context_pop, "cuCtxPopCurrent_v2");
    bind(handle, &driver->context_wait, "cuCtxSynchronize");
    driver->handle = handle;
    return 0;
}

static bool device_of(const struct fp_cuda_driver *driver, uint32_t ordinal, int *device) {
    if (ordinal >= (uint32_t)driver->device_count)
        return false;
    *device = (int)ordinal;
    return !driver->device_get || driver->device_get(device, (int)ordinal) == 0;
}

static int attribute(const struct fp_cuda_driver *driver, int device, int which) {
    int value = 0;
    if (!driver->device_attribute || driver->device_attribute(&value, which, device) != 0)
        return 0;
    return value;
}

int fp_cuda_driver_device(const struct fp_cuda_driver *driver, uint32_t ordinal, struct fp_device *device) {
    int id;
    if (!device_of(driver, ordinal, &id))
        return -EINVAL;
    struct fp_device found = {
        .size = sizeof(found),
        .compute_major = attribute(driver, id, COMPUTE_MAJOR),
        .compute_minor = attribute(driver, id, COMPUTE_MINOR),
        .max_threads_per_block = attribute(driver, id, MAX_THREADS_PER_BLOCK),
        .max_threads_per_multiprocessor = attribute(driver, id, MAX_THREADS_PER_MULTIPROCESSOR),
        .registers_per_block = attribute(driver, id, REGISTERS_PER_BLOCK),
        .registers_per_multiprocessor = attribute(driver, id, REGISTERS_PER_MULTIPROCESSOR),
        .warp_size = attribute(driver, id, WARP_SIZE),
        .shared_per_block_bytes = attribute(driver, id, SHARED_PER_BLOCK),
        .shared_per_multiprocessor_bytes = attribute(driver, id, SHARED_PER_MULTIPROCESSOR),
        .shared_per_block_optin_bytes = attribute(driver, id, SHARED_PER_BLOCK_OPTIN),
        .multiprocessors = attribute(driver, id, MULTIPROCESSORS),
    };
    size_t bytes = 0;
    if (driver->device_name && driver->device_name(found.name, (int)sizeof(found.name), id) != 0)
        found.name[0] = '\0';
    found.name[sizeof(found.name) - 1] = '\0';
    if (driver->device_memory && driver->device_memory(&bytes, id) == 0)
        found.total_memory_bytes = bytes;
    fp_tracer_hand_out(device, &found);
    return 0;
}

void fp_cuda_driver_limits(const struct fp_cuda_driver *driver, uint32_t ordinal,
                           struct fp_cuda_limits *limits) {
    struct fp_device device = { .size = sizeof(device) };
    int id;
    memset(limits, 0, sizeof(*limits));
    if (fp_cuda_driver_device(driver, ordinal, &device) != 0 || !device_of(driver, ordinal, &id))
        return;
    *limits = (struct fp_cuda_limits){
        .compute_major = device.compute_major,
        .compute_minor = device.compute_minor,
        .multiprocessors = device.multiprocessors,
        .warp_size = device.warp_size,
        .max_threads_per_block = device.max_threads_per_block,
        .max_threads_per_multiprocessor = device.max_threads_per_multiprocessor,
        .registers_per_block = device.registers_per_block,
        .registers_per_multiprocessor = device.registers_per_multiprocessor,
        .shared_per_block_bytes = (int32_t)device.shared_per_block_bytes,
        .shared_per_multiprocessor_bytes = (int32_t)device.shared_per_multiprocessor_bytes,
        .reserved_shared_per_block_bytes = attribute(driver, id, RESERVED_SHARED_PER_BLOCK),
    };
    if (limits->reserved_shared_per_block_bytes == 0 && limits->compute_major >= 8)
        limits->reserved_shared_per_block_bytes = 1024; // since Ampere; drivers before 11.0 do not tell
}

static int is_active(const struct fp_cuda_driver *driver, int device) {
    unsigned flags;
    int active = 0;
    return driver->primary_state(device, &flags, &active) == 0 && active;
}

int fp_cuda_driver_has_context(const struct fp_cuda_driver *driver) {
    if (!driver->primary_state)
        return -1;
    for (int ordinal = 0; ordinal < driver->device_count; ordinal++) {
        int device;
        if (device_of(driver, (uint32_t)ordinal, &device) && is_active(driver, device))
            return 1;
    }
    return 0;
}

static int wait_for(const struct fp_cuda_driver *driver, int device) {
    void *context, *popped;
    int result = driver->primary_retain(&context, device);
    if (result != 0)
        return result;
    result = driver->context_push(context);
    if (result == 0) {
        result = driver->context_wait();
        driver->context_pop(&popped);
    }
    driver->primary_release(device);
    return result;
}

// By the runtime's functions in the same library: the simulated one has no primary contexts.
static int wait_by_runtime(const struct fp_cuda_driver *driver, struct fp_error *err) {
    int (*get_device)(int *device), (*set_device)(int device), (*wait)(void);
    int before = 0, worst = 0;
    bind(driver->handle, &get_device, "cudaGetDevice");
    bind(driver->handle, &set_device, "cudaSetDevice");
    bind(driver->handle, &wait, "cudaDeviceSynchronize");
    if (!get_device || !set_device || !wait || get_device(&before) != 0) {
        fp_error_set(err, "the CUDA driver lacks a function that waiting for its devices takes");
        return -ENOTSUP;
    }
    for (int ordinal = 0; ordinal < driver->device_count; ordinal++)
        if (set_device(ordinal) != 0 || wait() != 0)
            worst = -EIO;
    set_device(before);
    return worst;
}

int fp_cuda_driver_synchronize(const struct fp_cuda_driver *driver, struct fp_error *err) {
    if (!driver->primary_state || !driver->primary_retain || !driver->primary_release ||
        !driver->context_push || !driver->context_pop || !driver->context_wait)
        return wait_by_runtime(driver, err);
    int worst = 0;
    for (int ordinal = 0; ordinal < driver->device_count; ordinal++) {
        int device;
        if (!device_of(driver, (uint32_t)ordinal, &device) || !is_active(driver, device))
            continue; // nothing can run where no context is, and retaining would make one
        int result = wait_for(driver, device);
        if (result != 0) {
            fp_error_set(err, "waiting for CUDA device %d: the driver answered %d", ordinal, result);
            worst = -EIO;
        }
    }
    return worst;
}

static int ask_runtime(void *handle) {
    int (*get_version)(int *version);
    int version = 0;
    bind(handle, &get_version, "cudaRuntimeGetVersion");
    return get_version && get_version(&version) == 0 ? version : 0;
}

int fp_cuda_runtime_version(void *simulated, int major) {
    char path[FP_LIBRARY_PATH_BYTES];
    int first = 0;
    if (simulated)
        return ask_runtime(simulated);
    for (size_t nth = 0; fp_library_loaded("libcudart.so", nth, path, sizeof(path)); nth++) {
        void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        int version = handle ? ask_runtime(handle) : 0;
        if (handle)
            dlclose(handle); // the count that NOLOAD took; the library stays
        if (version / 1000 == major)
            return version;
        first = first ? first : version;
    }
    return first;
}
