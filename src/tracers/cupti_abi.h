// cupti_abi.h - NVIDIA's CUPTI as bytes: numbers, record shapes, sizes by release, functions to bind. No SDK
// is needed.
//
// In:  nothing; this is data.
// Out: what cupti.c needs to bind a libcupti of 11.8 to 13.5 and to read its records. Only cupti.c
//      includes it (and the tests that judge it: tests/layouts/nvidia.def compares every line below with
//      NVIDIA's own header of each release, so a mark [HEADER] here is re-proved by every run of those
//      tests).
//
// Records: later releases only append fields or name padding, so one struct, the newest, serves all: a field
// may be read if and only if it ends within the record's stride. Write FP_CUPTI_HAS(record, field, stride)
// before reading what 11.8 did not have. The structs are packed and may alias, so a pointer into a buffer can
// be used as it is.

#ifndef FP_TRACERS_CUPTI_ABI_H
#define FP_TRACERS_CUPTI_ABI_H

#include "tracers/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FP_CUPTI_RECORD struct __attribute__((packed, may_alias))

#define FP_CUPTI_HAS(record, field, stride)                                                                  \
    (offsetof(struct record, field) + sizeof(((struct record *)0)->field) <= (size_t)(stride))

// ---- numbers [HEADER]. CUPTI's enums are unsigned 32-bit; these compare with the uint32_t of a record. ----

enum { // CUpti_ActivityKind
    FP_CUPTI_KIND_INVALID = 0,
    FP_CUPTI_KIND_MEMCPY = 1,
    FP_CUPTI_KIND_MEMSET = 2,
    FP_CUPTI_KIND_KERNEL = 3, // serialises kernels: never enabled on NVIDIA, but PPU may deliver it
    FP_CUPTI_KIND_DRIVER = 4,
    FP_CUPTI_KIND_RUNTIME = 5,
    FP_CUPTI_KIND_DEVICE = 8,
    FP_CUPTI_KIND_CONTEXT = 9,
    FP_CUPTI_KIND_CONCURRENT_KERNEL = 10,
    FP_CUPTI_KIND_NAME = 11,
    FP_CUPTI_KIND_MARKER = 12,
    FP_CUPTI_KIND_OVERHEAD = 17,
    FP_CUPTI_KIND_MEMCPY_PEER = 22, // the header says MEMCPY2
    FP_CUPTI_KIND_CUDA_EVENT = 36,
    FP_CUPTI_KIND_STREAM = 37,
    FP_CUPTI_KIND_SYNCHRONIZATION = 38,
    FP_CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    FP_CUPTI_KIND_INTERNAL_LAUNCH_API = 48,
    FP_CUPTI_KIND_MEMORY2 = 49,
    FP_CUPTI_KIND_GRAPH_TRACE = 51, // on: one record a graph launch and no kernel of the graph
};

enum { // CUpti_ExternalCorrelationKind
    FP_CUPTI_EXTERNAL_UNKNOWN = 1,
    FP_CUPTI_EXTERNAL_CUSTOM0 = 3,
    FP_CUPTI_EXTERNAL_CUSTOM1 = 4,
    FP_CUPTI_EXTERNAL_CUSTOM2 = 5,
};

enum { // CUpti_ActivityMemcpyKind
    FP_CUPTI_COPY_UNKNOWN = 0,
    FP_CUPTI_COPY_HTOD = 1,
    FP_CUPTI_COPY_DTOH = 2,
    FP_CUPTI_COPY_HTOA = 3,
    FP_CUPTI_COPY_ATOH = 4,
    FP_CUPTI_COPY_ATOA = 5,
    FP_CUPTI_COPY_ATOD = 6,
    FP_CUPTI_COPY_DTOA = 7,
    FP_CUPTI_COPY_DTOD = 8,
    FP_CUPTI_COPY_HTOH = 9,
    FP_CUPTI_COPY_PTOP = 10,
};

enum { // CUpti_ActivityMemoryKind
    FP_CUPTI_MEMORY_UNKNOWN = 0,
    FP_CUPTI_MEMORY_PAGEABLE = 1,
    FP_CUPTI_MEMORY_PINNED = 2,
    FP_CUPTI_MEMORY_DEVICE = 3,
    FP_CUPTI_MEMORY_ARRAY = 4,
    FP_CUPTI_MEMORY_MANAGED = 5,
    FP_CUPTI_MEMORY_DEVICE_STATIC = 6,
    FP_CUPTI_MEMORY_MANAGED_STATIC = 7,
};

enum { // CUpti_ActivityOverheadKind
    FP_CUPTI_OVERHEAD_UNKNOWN = 0,
    FP_CUPTI_OVERHEAD_DRIVER_COMPILER = 1,
    FP_CUPTI_OVERHEAD_BUFFER_FLUSH = 1 << 16,
    FP_CUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
    FP_CUPTI_OVERHEAD_RESOURCE = 3 << 16,
    FP_CUPTI_OVERHEAD_MODULE_LOADING = 4 << 16, // from 12.0 on (RUNTIME_TRIGGERED_MODULE_LOADING)
    FP_CUPTI_OVERHEAD_LAZY_FUNCTION_LOADING = 5 << 16,
    FP_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
    FP_CUPTI_OVERHEAD_BUFFER_REQUEST = 7 << 16, // ACTIVITY_BUFFER_REQUEST
    FP_CUPTI_OVERHEAD_UVM_INIT = 8 << 16,       // UVM_ACTIVITY_INIT
};

enum { // CUpti_ActivityObjectKind: which of objectId's words are meant
    FP_CUPTI_OBJECT_UNKNOWN = 0,
    FP_CUPTI_OBJECT_PROCESS = 1,
    FP_CUPTI_OBJECT_THREAD = 2,
    FP_CUPTI_OBJECT_DEVICE = 3,
    FP_CUPTI_OBJECT_CONTEXT = 4,
    FP_CUPTI_OBJECT_STREAM = 5,
};

enum { // CUpti_ActivitySynchronizationType
    FP_CUPTI_SYNC_UNKNOWN = 0,
    FP_CUPTI_SYNC_EVENT_SYNCHRONIZE = 1,
    FP_CUPTI_SYNC_STREAM_WAIT_EVENT = 2,
    FP_CUPTI_SYNC_STREAM_SYNCHRONIZE = 3,
    FP_CUPTI_SYNC_CONTEXT_SYNCHRONIZE = 4,
};

enum { // CUptiResult
    FP_CUPTI_SUCCESS = 0,
    FP_CUPTI_ERROR_INVALID_PARAMETER = 1,
    FP_CUPTI_ERROR_INVALID_DEVICE = 2,
    FP_CUPTI_ERROR_INVALID_CONTEXT = 3,
    FP_CUPTI_ERROR_INVALID_OPERATION = 7,
    FP_CUPTI_ERROR_OUT_OF_MEMORY = 8,
    FP_CUPTI_ERROR_API_NOT_IMPLEMENTED = 11,
    FP_CUPTI_ERROR_MAX_LIMIT_REACHED = 12, // the iterator's end of buffer on NVIDIA; PPU's number differs
    FP_CUPTI_ERROR_NOT_READY = 13,
    FP_CUPTI_ERROR_NOT_COMPATIBLE = 14,
    FP_CUPTI_ERROR_NOT_INITIALIZED = 15,
    FP_CUPTI_ERROR_QUEUE_EMPTY = 18, // a pop without its push
    FP_CUPTI_ERROR_INVALID_KIND = 21,
    FP_CUPTI_ERROR_DISABLED = 23,
    FP_CUPTI_ERROR_NOT_SUPPORTED = 27,
    FP_CUPTI_ERROR_VIRTUALIZED_DEVICE = 33, // VIRTUALIZED_DEVICE_NOT_SUPPORTED
    FP_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
    FP_CUPTI_ERROR_OLD_PROFILER_API = 36,     // OLD_PROFILER_API_INITIALIZED
    FP_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39, // MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
    FP_CUPTI_ERROR_UNKNOWN = 999,
};

enum { // CUpti_CallbackDomain, CUpti_ApiCallbackSite
    FP_CUPTI_DOMAIN_DRIVER = 1,
    FP_CUPTI_DOMAIN_RUNTIME = 2,
    FP_CUPTI_SITE_ENTER = 0,
    FP_CUPTI_SITE_EXIT = 1,
};

enum {
    FP_CUPTI_THREAD_ID_DEFAULT = 0, // pthread_self cut to 32 bits
    FP_CUPTI_THREAD_ID_SYSTEM = 1,  // gettid
    FP_CUPTI_FLUSH_FORCED = 1,      // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: incomplete buffers too
    FP_CUPTI_MEMCPY_ASYNC = 1,      // CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC
    FP_CUPTI_MEMSET_ASYNC = 1,      // CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC
};

#define FP_CUPTI_TIMESTAMP_UNKNOWN UINT64_C(0)
#define FP_CUPTI_ID_INVALID UINT32_C(0xFFFFFFFF) // contexts, streams, devices, events

// Bounds that hold for every release: a buffer must be 8-byte aligned, and no record is shorter than 16 bytes
// (CUpti_ActivityContext of 11.8), but 4 is what a kind alone needs: the iteration's bound is valid size / 4.
#define FP_CUPTI_BUFFER_ALIGNMENT 8

// ---- records [HEADER: 13.5; the earlier releases' are prefixes, sizes in fp_cupti_releases below] ----

struct fp_cupti_activity { // the head of every record
    uint32_t kind;
} __attribute__((packed, may_alias));

FP_CUPTI_RECORD fp_cupti_kernel { // CUpti_ActivityKernel13
    uint32_t kind;
    uint8_t cacheConfig;
    uint8_t sharedMemoryConfig;
    uint16_t registersPerThread;
    uint32_t partitionedGlobalCacheRequested;
    uint32_t partitionedGlobalCacheExecuted;
    uint64_t start; // ns of CLOCK_REALTIME; start = end = 0: not measured
    uint64_t end;
    uint64_t completed;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    int32_t gridX;
    int32_t gridY;
    int32_t gridZ;
    int32_t blockX;
    int32_t blockY;
    int32_t blockZ;
    int32_t staticSharedMemory; // bytes
    int32_t dynamicSharedMemory;
    uint32_t localMemoryPerThread;
    uint32_t localMemoryTotal; // superseded by localMemoryTotal_v2
    uint32_t correlationId;
    int64_t gridId;
    uint64_t name; // const char *, mangled; valid in the completion callback only
    uint64_t reserved0;
    uint64_t queued; // ns; 0 unless latency timestamps were enabled before CUDA's initialisation
    uint64_t submitted;
    uint8_t launchType;
    uint8_t isSharedMemoryCarveoutRequested;
    uint8_t sharedMemoryCarveoutRequested;
    uint8_t padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId; // 0: not launched by a graph
    uint32_t shmemLimitConfig;
    uint32_t graphId;
    uint64_t pAccessPolicyWindow;
    uint32_t channelID;
    uint32_t channelType;
    uint32_t clusterX;
    uint32_t clusterY;
    uint32_t clusterZ;
    uint32_t clusterSchedulingPolicy;
    uint64_t localMemoryTotal_v2;     // 11.8's record, Kernel8, ends here: 200
    uint32_t maxPotentialClusterSize; // Kernel9, 12.0
    uint32_t maxActiveClusters;       // 208
    uint8_t isDeviceLaunched;         // Kernel10, 13.0
    uint8_t padding3[7];              // 216
    int32_t priority;                 // Kernel11, 13.1
    uint32_t padding4;                // 224
    uint32_t executionModel;          // Kernel12, 13.3
    uint32_t padding5;                // 232
    uint32_t sourceGraphId;           // Kernel13, 13.4
    uint32_t padding6;
    uint64_t sourceGraphNodeId; // 248
};

FP_CUPTI_RECORD fp_cupti_memcpy { // CUpti_ActivityMemcpy7
    uint32_t kind;
    uint8_t copyKind;
    uint8_t srcKind;
    uint8_t dstKind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t correlationId;
    uint32_t runtimeCorrelationId; // unused by CUPTI
    uint32_t pad;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint8_t isDeviceLaunched; // named in 13.0; padding before
    uint8_t pad2[3];          // 11.8's record, Memcpy5, ends here: 88
    uint64_t copyCount;       // Memcpy6: 96
    uint32_t sourceGraphId;   // Memcpy7, 13.4
    uint32_t pad3;
    uint64_t sourceGraphNodeId; // 112
};

FP_CUPTI_RECORD fp_cupti_memcpy_peer { // CUpti_ActivityMemcpyPtoP4, 96 in all releases
    uint32_t kind;
    uint8_t copyKind;
    uint8_t srcKind;
    uint8_t dstKind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t srcDeviceId;
    uint32_t srcContextId;
    uint32_t dstDeviceId;
    uint32_t dstContextId;
    uint32_t correlationId;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint32_t tail_padding; // ours: the header leaves it unnamed
};

FP_CUPTI_RECORD fp_cupti_memset { // CUpti_ActivityMemset5
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t correlationId;
    uint16_t flags;
    uint16_t memoryKind;
    uint32_t pad;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint8_t isDeviceLaunched; // named in 13.0; padding before
    uint8_t pad2[3];          // Memset4 ends here: 88
    uint32_t sourceGraphId;   // Memset5, 13.4
    uint32_t pad3;
    uint64_t sourceGraphNodeId; // 104
};

FP_CUPTI_RECORD
fp_cupti_api { // CUpti_ActivityAPI: DRIVER, RUNTIME and INTERNAL_LAUNCH_API; 40 in all releases
    uint32_t kind;
    uint32_t cbid;
    uint64_t start;
    uint64_t end;
    uint32_t processId;
    uint32_t threadId; // see FP_CUPTI_THREAD_ID_*
    uint32_t correlationId;
    uint32_t returnValue;
};

FP_CUPTI_RECORD fp_cupti_external_correlation { // CUpti_ActivityExternalCorrelation, 24 in all releases
    uint32_t kind;
    uint32_t externalKind;
    uint64_t externalId;
    uint32_t correlationId;
    uint32_t reserved;
};

FP_CUPTI_RECORD fp_cupti_overhead { // CUpti_ActivityOverhead3
    uint32_t kind;
    uint32_t overheadKind;
    uint32_t objectKind;
    uint32_t objectId[3]; // {process, thread} or {device, context, stream}
    uint64_t start;
    uint64_t end;           // Overhead ends here: 40
    uint32_t correlationId; // Overhead2, 12.3
    uint32_t reserved0;     // 48
    uint64_t overheadData;  // Overhead3, 12.4: 56
};

FP_CUPTI_RECORD fp_cupti_synchronization { // CUpti_ActivitySynchronization2
    uint32_t kind;
    uint32_t type;
    uint64_t start;
    uint64_t end;
    uint32_t correlationId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t cudaEventId;     // Synchronization ends here: 40
    uint64_t cudaEventSyncId; // Synchronization2, 12.8
    uint32_t returnValue;
    uint32_t pad; // 56
};

FP_CUPTI_RECORD fp_cupti_graph_trace { // CUpti_ActivityGraphTrace2
    uint32_t kind;
    uint32_t correlationId;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t graphId;
    uint32_t contextId;
    uint32_t streamId;
    uint64_t reserved;     // GraphTrace ends here: 48
    uint32_t endDeviceId;  // GraphTrace2, 12.3
    uint32_t endContextId; // 56
};

FP_CUPTI_RECORD fp_cupti_context { // CUpti_ActivityContext4
    uint32_t kind;
    uint32_t contextId;
    uint32_t deviceId;
    uint16_t computeApiKind;
    uint16_t nullStreamId;    // Context ends here: 16
    uint32_t parentContextId; // Context2, 12.4
    uint8_t isGreenContext;
    uint8_t padding;
    uint16_t numMultiprocessors; // named in 12.5; padding in 12.4: 24
    uint32_t cigMode;            // Context3, 12.5
    uint32_t padding2;           // 32
    uint64_t processId;          // Context4, 13.1: 40
};

FP_CUPTI_RECORD fp_cupti_device { // CUpti_ActivityDevice6
    uint32_t kind;
    uint32_t flags;
    uint64_t globalMemoryBandwidth; // kB/s
    uint64_t globalMemorySize;      // bytes
    uint32_t constantMemorySize;
    uint32_t l2CacheSize;
    uint32_t numThreadsPerWarp;
    uint32_t coreClockRate; // kHz
    uint32_t numMemcpyEngines;
    uint32_t numMultiprocessors;
    uint32_t maxIPC;
    uint32_t maxWarpsPerMultiprocessor;
    uint32_t maxBlocksPerMultiprocessor;
    uint32_t maxSharedMemoryPerMultiprocessor;
    uint32_t maxRegistersPerMultiprocessor;
    uint32_t maxRegistersPerBlock;
    uint32_t maxSharedMemoryPerBlock;
    uint32_t maxThreadsPerBlock;
    uint32_t maxBlockDimX;
    uint32_t maxBlockDimY;
    uint32_t maxBlockDimZ;
    uint32_t maxGridDimX;
    uint32_t maxGridDimY;
    uint32_t maxGridDimZ;
    uint32_t computeCapabilityMajor;
    uint32_t computeCapabilityMinor;
    uint32_t id;
    uint32_t eccEnabled;
    uint8_t uuid[16];
    uint64_t name; // const char *
    uint8_t isCudaVisible;
    uint8_t isMigEnabled;
    uint8_t reserved[6];
    uint32_t gpuInstanceId;
    uint32_t computeInstanceId;
    uint8_t migUuid[16]; // Device4, 11.8, ends here: 176
    uint32_t isNumaNode; // Device5, 12.2
    uint32_t numaId;     // 184
    uint32_t numTpcs;    // Device6, 13.2
    uint32_t reserved0;  // 192
};

// What cuptiSubscribe's callback gets [HEADER]; natural alignment, a plain C struct.
struct fp_cupti_callback_data { // CUpti_CallbackData
    uint32_t callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue;
    const char *symbolName;
    struct CUctx_st *context;
    uint32_t contextUid;
    uint64_t *correlationData;
    uint32_t correlationId;
};

// ---- sizes by release [HEADER: each row compiled against that release; fp_cupti_release_of explains the
// choice] ----

enum fp_cupti_shape { // rows of kinds that share a record
    FP_CUPTI_SHAPE_KERNEL,
    FP_CUPTI_SHAPE_MEMCPY,
    FP_CUPTI_SHAPE_MEMCPY_PEER,
    FP_CUPTI_SHAPE_MEMSET,
    FP_CUPTI_SHAPE_API,
    FP_CUPTI_SHAPE_EXTERNAL_CORRELATION,
    FP_CUPTI_SHAPE_OVERHEAD,
    FP_CUPTI_SHAPE_SYNCHRONIZATION,
    FP_CUPTI_SHAPE_GRAPH_TRACE,
    FP_CUPTI_SHAPE_CONTEXT,
    FP_CUPTI_SHAPE_DEVICE,
    FP_CUPTI_SHAPE_CUDA_EVENT,
    FP_CUPTI_SHAPE_MEMORY,
    FP_CUPTI_SHAPE_COUNT,
};

struct fp_cupti_release {
    const char *name;     // the CUDA releases that have it
    uint32_t api_version; // cuptiGetVersion's answer
    uint16_t size[FP_CUPTI_SHAPE_COUNT];
};

static const struct fp_cupti_release fp_cupti_releases[] = {
    // oldest first: kernel, memcpy, peer, memset, api, external, overhead, sync, graph, context, device,
    // event, memory
    { "11.8", 18, { 200, 88, 96, 88, 40, 24, 40, 40, 48, 16, 176, 24, 120 } },
    { "12.0, 12.1", 18, { 208, 88, 96, 88, 40, 24, 40, 40, 48, 16, 176, 24, 120 } },
    { "12.2", 20, { 208, 88, 96, 88, 40, 24, 40, 40, 48, 16, 184, 24, 120 } },
    { "12.3", 21, { 208, 88, 96, 88, 40, 24, 48, 40, 56, 16, 184, 24, 120 } },
    { "12.4", 22, { 208, 88, 96, 88, 40, 24, 56, 40, 56, 24, 184, 24, 120 } },
    { "12.5", 23, { 208, 88, 96, 88, 40, 24, 56, 40, 56, 32, 184, 24, 120 } },
    { "12.6", 24, { 208, 88, 96, 88, 40, 24, 56, 40, 56, 32, 184, 24, 128 } },
    { "12.8", 26, { 208, 96, 96, 88, 40, 24, 56, 56, 56, 32, 184, 56, 128 } },
    { "12.9", 28, { 208, 96, 96, 88, 40, 24, 56, 56, 56, 32, 184, 56, 128 } },
    { "13.0", 130001, { 216, 96, 96, 88, 40, 24, 56, 56, 56, 32, 184, 56, 128 } },
    { "13.1", 130101, { 224, 96, 96, 88, 40, 24, 56, 56, 56, 40, 184, 56, 128 } },
    { "13.2", 130202, { 224, 96, 96, 88, 40, 24, 56, 56, 56, 40, 192, 56, 128 } },
    { "13.3", 130301, { 232, 96, 96, 88, 40, 24, 56, 56, 56, 40, 192, 56, 128 } },
    { "13.4", 130401, { 248, 112, 96, 104, 40, 24, 56, 56, 56, 40, 192, 56, 128 } },
    { "13.5", 130500, { 248, 112, 96, 104, 40, 24, 56, 56, 56, 40, 192, 80, 128 } },
};

#define FP_CUPTI_RELEASE_COUNT (sizeof(fp_cupti_releases) / sizeof(fp_cupti_releases[0]))

// The row for a library that reports `api_version`. 11.8, 12.0 and 12.1 all say 18: `kernel_stride`, what the
// stride probe saw for kind 10 (0: nothing), tells them apart; without it the smaller row, the prefix they
// share. A version between rows, or newer than all, takes the nearest older row, of which it is at least an
// extension. NULL: older than 11.8, whose records are not known to be safe to read.
static inline const struct fp_cupti_release *fp_cupti_release_of(uint32_t api_version, size_t kernel_stride) {
    const struct fp_cupti_release *found = NULL;
    for (size_t i = 0; i < FP_CUPTI_RELEASE_COUNT; i++) {
        const struct fp_cupti_release *row = &fp_cupti_releases[i];
        bool twin = found != NULL && found->api_version == row->api_version;
        if (row->api_version <= api_version && (!twin || row->size[FP_CUPTI_SHAPE_KERNEL] <= kernel_stride)) {
            found = row;
        }
    }
    return found;
}

// The shape that records of `kind` have, or -1: a kind that FlagProf does not read.
static inline int fp_cupti_shape_of(uint32_t kind) {
    switch (kind) {
    case FP_CUPTI_KIND_KERNEL:
    case FP_CUPTI_KIND_CONCURRENT_KERNEL:
        return FP_CUPTI_SHAPE_KERNEL;
    case FP_CUPTI_KIND_MEMCPY:
        return FP_CUPTI_SHAPE_MEMCPY;
    case FP_CUPTI_KIND_MEMCPY_PEER:
        return FP_CUPTI_SHAPE_MEMCPY_PEER;
    case FP_CUPTI_KIND_MEMSET:
        return FP_CUPTI_SHAPE_MEMSET;
    case FP_CUPTI_KIND_DRIVER:
    case FP_CUPTI_KIND_RUNTIME:
        return FP_CUPTI_SHAPE_API;
    case FP_CUPTI_KIND_EXTERNAL_CORRELATION:
        return FP_CUPTI_SHAPE_EXTERNAL_CORRELATION;
    case FP_CUPTI_KIND_OVERHEAD:
        return FP_CUPTI_SHAPE_OVERHEAD;
    case FP_CUPTI_KIND_SYNCHRONIZATION:
        return FP_CUPTI_SHAPE_SYNCHRONIZATION;
    case FP_CUPTI_KIND_GRAPH_TRACE:
        return FP_CUPTI_SHAPE_GRAPH_TRACE;
    case FP_CUPTI_KIND_CONTEXT:
        return FP_CUPTI_SHAPE_CONTEXT;
    case FP_CUPTI_KIND_DEVICE:
        return FP_CUPTI_SHAPE_DEVICE;
    case FP_CUPTI_KIND_CUDA_EVENT:
        return FP_CUPTI_SHAPE_CUDA_EVENT;
    case FP_CUPTI_KIND_MEMORY2:
        return FP_CUPTI_SHAPE_MEMORY;
    default:
        return -1;
    }
}

// ---- functions [HEADER; which release has which: nm over all sixteen libraries] ----

struct CUctx_st;            // CUcontext's tag in cuda.h
struct CUpti_Subscriber_st; // CUpti_SubscriberHandle's

typedef void (*fp_cupti_buffer_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fp_cupti_buffer_completed_fn)(struct CUctx_st *context, uint32_t stream, uint8_t *buffer,
                                             size_t size, size_t valid_size);
typedef void (*fp_cupti_callback_fn)(void *userdata, uint32_t domain, uint32_t cbid,
                                     const void *callback_data);

// X(member, symbol, required, (parameters)). Every function returns CUptiResult as uint32_t. "Required" is
// what a recording cannot do without; the rest is NULL where a library lacks it, and the caller says what it
// then does without. Never call any of them before the driver library is initialised and reports a
// device: 13.2 then dies by SIGSEGV.
#define FP_CUPTI_FUNCTIONS(X)                                                                                \
    X(get_version, cuptiGetVersion, true, (uint32_t * version))                                              \
    X(get_timestamp, cuptiGetTimestamp, false, (uint64_t * timestamp_ns))                                    \
    X(register_callbacks, cuptiActivityRegisterCallbacks, true,                                              \
      (fp_cupti_buffer_requested_fn requested, fp_cupti_buffer_completed_fn completed))                      \
    X(enable, cuptiActivityEnable, true, (uint32_t kind))                                                    \
    X(disable, cuptiActivityDisable, true, (uint32_t kind))                                                  \
    X(flush_all, cuptiActivityFlushAll, true, (uint32_t flag))                                               \
    X(get_next_record, cuptiActivityGetNextRecord, true,                                                     \
      (uint8_t * buffer, size_t valid_size, void **record))                                                  \
    X(get_dropped, cuptiActivityGetNumDroppedRecords, false,                                                 \
      (struct CUctx_st * context, uint32_t stream, size_t * dropped))                                        \
    X(push_external_id, cuptiActivityPushExternalCorrelationId, false,                                       \
      (uint32_t external_kind, uint64_t id))                                                                 \
    X(pop_external_id, cuptiActivityPopExternalCorrelationId, false,                                         \
      (uint32_t external_kind, uint64_t * last_id))                                                          \
    X(set_thread_id_type, cuptiSetThreadIdType, false, (uint32_t type))                                      \
    X(get_thread_id_type, cuptiGetThreadIdType, false, (uint32_t * type))                                    \
    X(enable_latency_timestamps, cuptiActivityEnableLatencyTimestamps, false, (uint8_t on))                  \
    X(enable_runtime_call, cuptiActivityEnableRuntimeApi, false,                                             \
      (uint32_t cbid, uint8_t on))                                                          /* from 12.5 */  \
    X(enable_driver_call, cuptiActivityEnableDriverApi, false, (uint32_t cbid, uint8_t on)) /* from 12.5 */  \
    X(set_attribute, cuptiActivitySetAttribute, false, (uint32_t attribute, size_t * size, void *value))     \
    X(get_attribute, cuptiActivityGetAttribute, false, (uint32_t attribute, size_t * size, void *value))     \
    X(subscribe, cuptiSubscribe, false,                                                                      \
      (struct CUpti_Subscriber_st * *subscriber, fp_cupti_callback_fn callback, void *userdata))             \
    X(unsubscribe, cuptiUnsubscribe, false, (struct CUpti_Subscriber_st * subscriber))                       \
    X(enable_callback, cuptiEnableCallback, false,                                                           \
      (uint32_t on, struct CUpti_Subscriber_st * subscriber, uint32_t domain, uint32_t cbid))                \
    X(enable_domain, cuptiEnableDomain, false,                                                               \
      (uint32_t on, struct CUpti_Subscriber_st * subscriber, uint32_t domain))                               \
    X(get_callback_name, cuptiGetCallbackName, false, (uint32_t domain, uint32_t cbid, const char **name))   \
    X(get_result_string, cuptiGetResultString, false, (uint32_t result, const char **text))                  \
    X(finalize, cuptiFinalize, false, (void))

#define FP_CUPTI_MEMBER(member, symbol, required, parameters) uint32_t(*member) parameters; // NOLINT
struct fp_cupti_functions {
    FP_CUPTI_FUNCTIONS(FP_CUPTI_MEMBER)
};
#undef FP_CUPTI_MEMBER

// The same list as a table, for the one loop that binds them.
#define FP_CUPTI_SYMBOL(member, symbol, required, parameters)                                                \
    { #symbol, offsetof(struct fp_cupti_functions, member), required },
static const struct fp_symbol fp_cupti_symbols[] = { FP_CUPTI_FUNCTIONS(FP_CUPTI_SYMBOL) };
#undef FP_CUPTI_SYMBOL

#define FP_CUPTI_SYMBOL_COUNT (sizeof(fp_cupti_symbols) / sizeof(fp_cupti_symbols[0]))

#endif
