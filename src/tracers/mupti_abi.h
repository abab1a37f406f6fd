// mupti_abi.h - Moore Threads' MUPTI as bytes: numbers and record shapes. No SDK is needed.
//
// In:  nothing; this is data.
// Out: what mupti.c needs to read the records of a libmupti.so of MUSA 4.3 to 5.2. Only mupti.c includes
//      it.
//
// No header of MUPTI is public. Which struct each kind has is [CODE]; the structs are CUPTI 11.2's under
// other names, so all offsets are [DERIVED]. Names of numbers are [CODE], their values [GUESS], except where
// marked: mupti.c has the library confirm them before it is used. tests/layouts/musa.def compares each line
// with the real header wherever somebody has it.
#ifndef FP_TRACERS_MUPTI_ABI_H
#define FP_TRACERS_MUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define FP_MUPTI_RECORD struct __attribute__((packed, may_alias))

enum {                    // MUptiResult
    FP_MUPTI_SUCCESS = 0, // [CODE]
    FP_MUPTI_INVALID_OPERATION = 7,
    FP_MUPTI_API_NOT_IMPLEMENTED = 11,
    FP_MUPTI_MAX_LIMIT_REACHED = 12,
    FP_MUPTI_NOT_INITIALIZED = 15,
    FP_MUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

enum { // MUpti_ActivityKind. A kind beyond the library's own must not be passed: it is an unchecked index
       // [CODE]
    FP_MUPTI_KIND_MEMCPY = 1,
    FP_MUPTI_KIND_MEMSET = 2,
    FP_MUPTI_KIND_KERNEL = 3,
    FP_MUPTI_KIND_DRIVER = 4,
    FP_MUPTI_KIND_RUNTIME = 5,
    FP_MUPTI_KIND_CONCURRENT_KERNEL = 10, // what kernels are always written as [CODE]
    FP_MUPTI_KIND_EXTERNAL_CORRELATION = 39,
};

enum { // MUpti_ExternalCorrelationKind
    FP_MUPTI_EXTERNAL_CUSTOM0 = 3,
    FP_MUPTI_EXTERNAL_CUSTOM1 = 4,
};

enum { FP_MUPTI_FLUSH_FORCED = 1 }; // [CODE]
enum { FP_MUPTI_ASYNC = 1 };        // in a copy's and a set's flags

// Two callback ids that public code knows, one of each domain [CODE].
enum { FP_MUPTI_CBID_DRIVER_MEMCPY_ASYNC = 60, FP_MUPTI_CBID_RUNTIME_MEMCPY_ASYNC = 41 };

FP_MUPTI_RECORD fp_mupti_kernel { // MUpti_ActivityKernel6: 168 bytes
    uint32_t kind;
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
    uint64_t name; // const char *
    uint64_t reserved0;
    uint64_t queued;
    uint64_t submitted;
    uint8_t launchType;
    uint8_t isSharedMemoryCarveoutRequested;
    uint8_t sharedMemoryCarveoutRequested;
    uint8_t padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId;
    uint32_t shmemLimitConfig;
    uint32_t graphId;
    uint64_t pAccessPolicyWindow;
};

FP_MUPTI_RECORD fp_mupti_memcpy { // MUpti_ActivityMemcpy4: 80 bytes
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
    uint32_t runtimeCorrelationId; // equals correlationId [CODE]
    uint32_t pad;
    uint64_t reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t padding;
};

FP_MUPTI_RECORD fp_mupti_memset { // MUpti_ActivityMemset3: 80 bytes
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
    uint32_t padding;
};

FP_MUPTI_RECORD fp_mupti_api { // MUpti_ActivityAPI: 40 bytes
    uint32_t kind;
    uint32_t cbid; // CUPTI's numbering, as far as two ids tell [CODE]
    uint64_t start;
    uint64_t end;
    uint32_t processId;
    uint32_t threadId;
    uint32_t correlationId;
    uint32_t returnValue;
};

FP_MUPTI_RECORD fp_mupti_external_correlation { // MUpti_ActivityExternalCorrelation: 24 bytes
    uint32_t kind;
    uint32_t externalKind;
    uint64_t externalId;
    uint32_t correlationId;
    uint32_t reserved;
};

#endif
