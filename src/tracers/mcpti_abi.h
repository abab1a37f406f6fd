// mcpti_abi.h - MetaX's MCPTI as bytes: numbers, record shapes, functions to bind. No SDK is needed.
//
// In:  nothing; this is data.
// Out: what mcpti.c needs to bind a libmcpti.so of MACA 3.x and to read its records. Only mcpti.c
//      includes it.
//
// MetaX publishes no header. Marks say where a fact comes from: [CODE] public source that calls the library,
// [DERIVED] the record is a renamed CUPTI 11.8 record and the field was not seen by itself, [GUESS] by
// analogy. tests/layouts/metax.def compares each line with MetaX's own header wherever somebody has it.
#ifndef FP_TRACERS_MCPTI_ABI_H
#define FP_TRACERS_MCPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define FP_MCPTI_RECORD struct __attribute__((packed, may_alias))

enum {                                 // MCptiResult
    FP_MCPTI_SUCCESS = 0,              // [CODE]
    FP_MCPTI_MAX_LIMIT_REACHED = 12,   // [CODE] the iterator's end of buffer
    FP_MCPTI_MULTIPLE_SUBSCRIBERS = 39 // [GUESS]
};

enum { FP_MCPTI_VERSION = 18 }; // MACA 3.5.3 reports it: the CUPTI 11.8 generation [CODE]

enum { // MCpti_ActivityKind [CODE]
    FP_MCPTI_KIND_MEMCPY = 1,
    FP_MCPTI_KIND_MEMSET = 2,
    FP_MCPTI_KIND_KERNEL = 3, // serialises kernels: never enabled
    FP_MCPTI_KIND_DRIVER = 4,
    FP_MCPTI_KIND_RUNTIME = 5,
    FP_MCPTI_KIND_CONCURRENT_KERNEL = 10,
    FP_MCPTI_KIND_EXTERNAL_CORRELATION = 39,
};

enum { // MCpti_ExternalCorrelationKind: 1 to 5 are taken, CUSTOM0 is 3 [CODE]
    FP_MCPTI_EXTERNAL_CUSTOM0 = 3,
    FP_MCPTI_EXTERNAL_CUSTOM1 = 4,
};

enum { FP_MCPTI_ASYNC = 1 }; // in a copy's and a set's flags [GUESS]

FP_MCPTI_RECORD fp_mcpti_kernel { // MCpti_ActivityKernel8: 200 bytes [CODE]
    uint32_t kind;                // [CODE] down to name
    uint8_t cacheConfig;
    uint8_t sharedMemoryConfig;
    uint16_t registersPerThread;
    uint32_t partitionedGlobalCacheRequested;
    uint32_t partitionedGlobalCacheExecuted;
    uint64_t start;
    uint64_t end;
    uint64_t completed;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    int32_t gridX, gridY, gridZ;
    int32_t blockX, blockY, blockZ;
    int32_t staticSharedMemory;
    int32_t dynamicSharedMemory;
    uint32_t localMemoryPerThread;
    uint32_t localMemoryTotal;
    uint32_t correlationId;
    int64_t gridId;
    uint64_t name;      // const char *; NULL for kernels of a graph [CODE]
    uint64_t reserved0; // [DERIVED] from here on
    uint64_t queued;
    uint64_t submitted;
    uint8_t launchType;
    uint8_t isSharedMemoryCarveoutRequested;
    uint8_t sharedMemoryCarveoutRequested;
    uint8_t padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId; // MetaX's own code reads it [CODE]; where it lies [DERIVED]
    uint32_t shmemLimitConfig;
    uint32_t graphId;
    uint64_t pAccessPolicyWindow;
    uint32_t channelID;
    uint32_t channelType;
    uint32_t clusterX, clusterY, clusterZ;
    uint32_t clusterSchedulingPolicy;
    uint64_t localMemoryTotal_v2;
};

FP_MCPTI_RECORD fp_mcpti_memcpy { // MCpti_ActivityMemcpy5: 88 bytes [CODE]
    uint32_t kind;                // [CODE] down to correlationId
    uint8_t copyKind;             // values as CUPTI's [GUESS]
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
    uint32_t runtimeCorrelationId; // [DERIVED] from here on
    uint32_t pad;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint32_t pad2;
};

FP_MCPTI_RECORD fp_mcpti_memset { // MCpti_ActivityMemset4: 88 bytes [CODE]
    uint32_t kind;                // [CODE] down to correlationId
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t correlationId;
    uint16_t flags; // [DERIVED] from here on
    uint16_t memoryKind;
    uint32_t pad;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint32_t pad2;
};

FP_MCPTI_RECORD fp_mcpti_api { // MCpti_ActivityAPI: 40 bytes [CODE]
    uint32_t kind;
    uint32_t cbid; // MetaX's own numbering, not NVIDIA's [CODE]
    uint64_t start;
    uint64_t end;
    uint32_t processId;
    uint32_t threadId;
    uint32_t correlationId;
    uint32_t returnValue;
};

FP_MCPTI_RECORD fp_mcpti_external_correlation { // MCpti_ActivityExternalCorrelation: 24 bytes [CODE]
    uint32_t kind;
    uint32_t externalKind;
    uint64_t externalId;
    uint32_t correlationId;
    uint32_t reserved;
};

// Runtime callback ids that public code names [CODE]: X(id, name).
#define FP_MCPTI_RUNTIME_NAMES(X)                                                                            \
    X(18, "mcDeviceSynchronize")                                                                             \
    X(19, "mcGetDevice")                                                                                     \
    X(20, "mcGetDeviceCount")                                                                                \
    X(22, "mcGetDeviceProperties")                                                                           \
    X(23, "mcSetDevice")                                                                                     \
    X(46, "mcStreamSynchronize")                                                                             \
    X(47, "mcStreamWaitEvent")                                                                               \
    X(56, "mcLaunchKernel")                                                                                  \
    X(60, "mcModuleLaunchKernel")                                                                            \
    X(62, "mcLaunchKernelExC")                                                                               \
    X(74, "mcEventRecord")                                                                                   \
    X(76, "mcEventSynchronize")                                                                              \
    X(107, "mcMalloc")                                                                                       \
    X(108, "mcFree")                                                                                         \
    X(118, "mcMemcpy")                                                                                       \
    X(119, "mcMemcpyAsync")                                                                                  \
    X(146, "mcMemset")                                                                                       \
    X(147, "mcMemsetAsync")

// Runtime callback ids that start kernels, named or not [CODE].
#define FP_MCPTI_LAUNCH_IDS 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 333, 394

#endif
