// abi.h - ROCtracer's and HIP's data as a tool sees them, for the facade of AMD's and Hygon's libraries.
//
// In:  nothing.
// Out: the record, the pool's properties, the arguments of the calls that the simulator makes, and HIP's
//      numbering of its functions; written from the headers of HIP 6.1 and 7.1 [HEADER] as the fact sheet
//      gives them. judge.c holds all of it against AMD's own headers where scripts/fetch_roctracer.py
//      brought them.
#ifndef FLAGSIM_ROCTRACER_ABI_H
#define FLAGSIM_ROCTRACER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { DOMAIN_HIP_OPS = 2, DOMAIN_HIP_API = 3, DOMAIN_EXT_API = 5 };
enum { PHASE_ENTER = 0, PHASE_EXIT = 1 };
enum { OP_DISPATCH = 0, OP_COPY = 1, OP_BARRIER = 2 };
enum { // kinds of HIP_OPS records [CODE]
    KIND_KERNEL = 0x11F0,
    KIND_TASK = 0x11F1, // a graph's kernel
    KIND_DTOH = 0x11F3,
    KIND_HTOD = 0x11F4,
    KIND_DTOD = 0x11F5,
    KIND_FILL = 0x1207,
    KIND_BARRIER = 0x1208, // [GUESS]
    KIND_KERNEL_OF_DTK = 0x1,
};
enum { // statuses
    ROC_OK = 0,
    ROC_ERROR = -1,
    ROC_INVALID_DOMAIN = -2,
    ROC_INVALID_ARGUMENT = -3,
    ROC_NO_DEFAULT_POOL = -4,
    ROC_DEFAULT_POOL_EXISTS = -5,
    ROC_MISMATCHED_EXTERNAL_ID = -7,
    ROC_NOT_IMPLEMENTED = -8,
};

typedef struct Record {
    uint32_t domain, kind, op;
    uint64_t correlation_id;
    uint64_t begin_ns, end_ns;
    int32_t device_id; // HIP_API: process and thread id; EXT_API: external id
    uint64_t queue_id;
    union {
        uint64_t bytes;
        const char *kernel_name;
    } of;
} Record;

typedef struct Properties {
    uint32_t mode;
    size_t buffer_size;
    void (*alloc_fun)(char **pointer, size_t size, void *arg);
    void *alloc_arg;
    void (*buffer_callback_fun)(const char *begin, const char *end, void *arg);
    void *buffer_callback_arg;
} Properties;

typedef struct Dim3 {
    uint32_t x, y, z;
} Dim3;

// hip_api_data_t. `room` is the union's whole size, so that what follows lies where it does.
typedef struct ApiData {
    uint64_t correlation_id;
    uint32_t phase;
    union {
        struct {
            const void *function_address;
            Dim3 numBlocks, dimBlocks;
            void **args;
            void *args__val;
            size_t sharedMemBytes;
            void *stream;
        } hipLaunchKernel; // hipExtLaunchKernel begins alike
        struct {
            const void *f;
            uint32_t gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
            void *stream;
        } hipModuleLaunchKernel;
        struct {
            void *graphExec, *stream;
        } hipGraphLaunch;
        struct {
            void *dst;
            const void *src;
            size_t sizeBytes;
            uint32_t kind;
            void *stream; // only the asynchronous form's
        } hipMemcpyAsync;
        struct {
            void *dst;
            int dstDeviceId;
            const void *src;
            int srcDevice;
            size_t sizeBytes;
            void *stream;
        } hipMemcpyPeerAsync;
        struct {
            void *dst;
            int value;
            size_t sizeBytes;
            void *stream; // only the asynchronous form's
        } hipMemsetAsync;
        struct {
            void **ptr;
            void *ptr__val;
            size_t size;
        } hipMalloc;
        uint8_t room[1496];
    } args;
    uint64_t *phase_data;
} ApiData;

_Static_assert(sizeof(Record) == 64 && offsetof(Record, correlation_id) == 16 &&
                   offsetof(Record, device_id) == 40 && offsetof(Record, of) == 56,
               "Record");
_Static_assert(sizeof(Properties) == 48 && offsetof(Properties, buffer_callback_fun) == 32, "Properties");
_Static_assert(sizeof(ApiData) == 1520 && offsetof(ApiData, args) == 16 &&
                   offsetof(ApiData, phase_data) == 1512,
               "ApiData");

// The calls that the simulator makes: flagsim's name, HIP's name, its number from ROCm 5.6 to 7.1, and
// another for the form that stands for DTK and HIP 4, which number otherwise (hipLaunchKernel was 51, 54 or
// 83 [CODE]; the rest of that column is made up).
#define HIP_CALLS(X)                                                                                         \
    X(INIT, hipInit, 98, 61)                                                                                 \
    X(DEVICE_COUNT, hipGetDeviceCount, 79, 107)                                                              \
    X(GET_DEVICE, hipGetDevice, 78, 125)                                                                     \
    X(SET_DEVICE, hipSetDevice, 186, 134)                                                                    \
    X(DEVICE_SYNCHRONIZE, hipDeviceSynchronize, 48, 154)                                                     \
    X(GET_LAST_ERROR, hipGetLastError, 84, 169)                                                              \
    X(PEEK_LAST_ERROR, hipPeekAtLastError, 181, 215)                                                         \
    X(MALLOC, hipMalloc, 108, 79)                                                                            \
    X(FREE, hipFree, 69, 48)                                                                                 \
    X(HOST_MALLOC, hipHostMalloc, 93, 70)                                                                    \
    X(HOST_FREE, hipHostFree, 90, 71)                                                                        \
    X(MEM_INFO, hipMemGetInfo, 120, 72)                                                                      \
    X(MEMCPY, hipMemcpy, 125, 159)                                                                           \
    X(MEMCPY_ASYNC, hipMemcpyAsync, 134, 108)                                                                \
    X(MEMCPY_PEER_ASYNC, hipMemcpyPeerAsync, 149, 73)                                                        \
    X(MEMSET, hipMemset, 154, 74)                                                                            \
    X(MEMSET_ASYNC, hipMemsetAsync, 159, 75)                                                                 \
    X(STREAM_CREATE, hipStreamCreateWithFlags, 193, 76)                                                      \
    X(STREAM_DESTROY, hipStreamDestroy, 195, 77)                                                             \
    X(STREAM_SYNCHRONIZE, hipStreamSynchronize, 199, 78)                                                     \
    X(STREAM_QUERY, hipStreamQuery, 198, 80)                                                                 \
    X(STREAM_WAIT_EVENT, hipStreamWaitEvent, 200, 81)                                                        \
    X(EVENT_CREATE, hipEventCreateWithFlags, 55, 82)                                                         \
    X(EVENT_DESTROY, hipEventDestroy, 56, 84)                                                                \
    X(EVENT_RECORD, hipEventRecord, 59, 85)                                                                  \
    X(EVENT_SYNCHRONIZE, hipEventSynchronize, 60, 86)                                                        \
    X(EVENT_QUERY, hipEventQuery, 58, 87)                                                                    \
    X(EVENT_ELAPSED, hipEventElapsedTime, 57, 88)                                                            \
    X(LAUNCH, hipLaunchKernel, 107, 83)                                                                      \
    X(CAPTURE_BEGIN, hipStreamBeginCapture, 219, 89)                                                         \
    X(CAPTURE_END, hipStreamEndCapture, 220, 90)                                                             \
    X(GRAPH_CREATE, hipGraphCreate, 211, 91)                                                                 \
    X(GRAPH_ADD_KERNEL, hipGraphAddKernelNode, 208, 92)                                                      \
    X(GRAPH_ADD_COPY, hipGraphAddMemcpyNode1D, 256, 93)                                                      \
    X(GRAPH_ADD_SET, hipGraphAddMemsetNode, 210, 94)                                                         \
    X(GRAPH_INSTANTIATE, hipGraphInstantiate, 214, 95)                                                       \
    X(GRAPH_LAUNCH, hipGraphLaunch, 215, 96)                                                                 \
    X(GRAPH_DESTROY, hipGraphDestroy, 212, 97)                                                               \
    X(GRAPH_EXEC_DESTROY, hipGraphExecDestroy, 213, 98)

// Launches that do not go through hipLaunchKernel, by what flagsim says of them.
enum { ID_MODULE_LAUNCH = 169, ID_EXT_LAUNCH = 62, ID_MODULE_LAUNCH_OF_DTK = 99, ID_EXT_LAUNCH_OF_DTK = 100 };

#endif
