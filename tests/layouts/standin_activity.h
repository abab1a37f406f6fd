// standin_activity.h - a small header that looks as a vendor's would who copied CUPTI, for the tests of
// check_layouts.py: with it the check itself can be tried where nobody has the vendor's SDK.
//
// In:  the names: Vpti_, VPTI_ are replaced by the vendor's prefixes, and KERNEL_VERSION and the like by its
//      versions (test_layouts_standin.py). Out: records at CUPTI's offsets. It proves nothing about a vendor.
#include <stdint.h>

#define RECORD struct __attribute__((packed, aligned(8)))

typedef RECORD {
    uint32_t kind;
    uint8_t cacheConfig, sharedMemoryConfig;
    uint16_t registersPerThread;
    uint32_t partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted;
    uint64_t start, end, completed;
    uint32_t deviceId, contextId, streamId;
    int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
    int32_t staticSharedMemory, dynamicSharedMemory;
    uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
    int64_t gridId;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested, padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId;
    uint32_t shmemLimitConfig, graphId;
    void *pAccessPolicyWindow;
#if KERNEL_VERSION >= 8
    uint32_t channelID, channelType;
    uint32_t clusterX, clusterY, clusterZ, clusterSchedulingPolicy;
    uint64_t localMemoryTotal_v2;
#endif
#if KERNEL_VERSION >= 9
    uint32_t maxPotentialClusterSize, maxActiveClusters;
#endif
}
Vpti_ActivityKernelN;

typedef RECORD {
    uint32_t kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
    void *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
#if MEMCPY_VERSION >= 5
    uint32_t channelID, channelType, pad2;
#else
    uint32_t padding;
#endif
#if MEMCPY_VERSION >= 6
    uint64_t copyCount;
#endif
}
Vpti_ActivityMemcpyN;

typedef RECORD {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint16_t flags, memoryKind;
    uint32_t pad;
    void *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
#if MEMSET_VERSION >= 4
    uint32_t channelID, channelType, pad2;
#else
    uint32_t padding;
#endif
}
Vpti_ActivityMemsetN;

typedef RECORD {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t processId, threadId, correlationId, returnValue;
}
Vpti_ActivityAPI;

typedef RECORD {
    uint32_t kind, externalKind;
    uint64_t externalId;
    uint32_t correlationId, reserved;
}
Vpti_ActivityExternalCorrelation;

enum {
    VPTI_ACTIVITY_KIND_MEMCPY = 1,
    VPTI_ACTIVITY_KIND_MEMSET = 2,
    VPTI_ACTIVITY_KIND_KERNEL = 3,
    VPTI_ACTIVITY_KIND_DRIVER = 4,
    VPTI_ACTIVITY_KIND_RUNTIME = 5,
    VPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
    VPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
    VPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 3,
    VPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1 = 4,
    VPTI_SUCCESS = 0,
};
