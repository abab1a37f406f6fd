// runtime.c - libascendcl.so: AscendCL's runtime, as far as a tool or a small native program calls it.
//
// In:  calls by their real names [CODE].
// Out: the simulated accelerator's answers. A library of its own, since MSPTI interposes some of these
//      functions by standing before it in the process's global scope, and by nothing else. A stream is a
//      flagsim_stream, a function to launch a `struct flagsim_function *` (function.h).
#include "acl.h"

#include "flagsim.h"
#include "function.h"

#include <errno.h>

extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: AscendCL over FlagProf's simulated accelerator";

PUBLIC int aclInit(const char *configuration);
PUBLIC int aclrtGetDeviceCount(uint32_t *count);
PUBLIC const char *aclrtGetSocName(void);
PUBLIC int aclrtSetDevice(int32_t device);
PUBLIC int aclrtGetDevice(int32_t *device);
PUBLIC int aclrtSynchronizeDevice(void);
PUBLIC int aclrtSynchronizeStream(void *stream);
PUBLIC int aclrtCreateStream(void **stream);
PUBLIC int aclrtDestroyStream(void *stream);
PUBLIC int aclrtMalloc(void **pointer, size_t bytes, int policy);
PUBLIC int aclrtFree(void *pointer);
PUBLIC int aclrtLaunchKernel(void *function, uint32_t blocks, const void *arguments, size_t argument_bytes,
                             void *stream);

static int result_of(int error) {
    return error == 0         ? ACL_OK
           : error == -EINVAL ? ACL_INVALID_PARAMETER
           : error == -ENODEV ? ACL_NO_DEVICE
                              : ACL_OTHER;
}

int aclInit(const char *configuration) {
    (void)configuration;
    return result_of(flagsim_init());
}

// Asked of the simulator's own state, so that a tool's question makes no record in its own trace.
int aclrtGetDeviceCount(uint32_t *count) {
    flagsim_device_props props = { .size = sizeof props };
    uint32_t found = 0;
    while (flagsim_device_properties((int)found, &props) == 0)
        found++;
    *count = found;
    return found ? ACL_OK : ACL_NO_DEVICE;
}

const char *aclrtGetSocName(void) {
    return "Ascend910B (simulated)";
}

int aclrtSetDevice(int32_t device) {
    return result_of(flagsim_set_device(device));
}

int aclrtGetDevice(int32_t *device) {
    return result_of(flagsim_get_device(device));
}

int aclrtSynchronizeDevice(void) {
    return result_of(flagsim_device_synchronize());
}

int aclrtSynchronizeStream(void *stream) {
    return result_of(flagsim_stream_synchronize(stream));
}

int aclrtCreateStream(void **stream) {
    return result_of(flagsim_stream_create((flagsim_stream **)stream));
}

int aclrtDestroyStream(void *stream) {
    return result_of(flagsim_stream_destroy(stream));
}

int aclrtMalloc(void **pointer, size_t bytes, int policy) {
    (void)policy;
    return result_of(flagsim_malloc(pointer, bytes));
}

int aclrtFree(void *pointer) {
    return result_of(flagsim_free(pointer));
}

static flagsim_copy_kind copy_of(int kind) {
    static const flagsim_copy_kind kinds[] = { [ACL_HOST_TO_HOST] = FLAGSIM_COPY_HTOH,
                                               [ACL_HOST_TO_DEVICE] = FLAGSIM_COPY_HTOD,
                                               [ACL_DEVICE_TO_HOST] = FLAGSIM_COPY_DTOH,
                                               [ACL_DEVICE_TO_DEVICE] = FLAGSIM_COPY_DTOD };
    return kind >= 0 && kind < ACL_DEFAULT ? kinds[kind] : FLAGSIM_COPY_DEFAULT;
}

int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind) {
    return bytes > room ? ACL_INVALID_PARAMETER : result_of(flagsim_memcpy(dst, src, bytes, copy_of(kind)));
}

int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream) {
    return bytes > room ? ACL_INVALID_PARAMETER
                        : result_of(flagsim_memcpy_async(dst, src, bytes, copy_of(kind), stream));
}

int aclrtMemset(void *dst, size_t room, int32_t value, size_t bytes) {
    return bytes > room ? ACL_INVALID_PARAMETER : result_of(flagsim_memset(dst, value, bytes));
}

int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream) {
    return bytes > room ? ACL_INVALID_PARAMETER : result_of(flagsim_memset_async(dst, value, bytes, stream));
}

struct launch {
    const struct flagsim_function *function;
    void *arguments[1];
};

static void run_function(void *arg) {
    struct launch *launch = arg;
    launch->function->run(launch->arguments);
}

// The function gets one argument: the block of arguments, which has to live until it has run.
int aclrtLaunchKernel(void *function, uint32_t blocks, const void *arguments, size_t argument_bytes,
                      void *stream) {
    struct launch launch = { function, { (void *)(uintptr_t)arguments } };
    (void)argument_bytes;
    if (!function || !launch.function->run)
        return ACL_INVALID_PARAMETER;
    flagsim_kernel_info info = {
        .name = launch.function->name,
        .grid = { blocks, 1, 1 },
        .block = { 1, 1, 1 },
        .min_duration_ns = launch.function->min_duration_ns,
    };
    return result_of(flagsim_launch(stream, run_function, &launch, sizeof launch, &info));
}
