// standin_mspti.h - a small header with MSPTI's names, for the tests of check_layouts.py: with it the check
// itself can be tried where nobody has CANN.
//
// In:  nothing. Out: records as the fact sheet tells them: packed, aligned to 8 bytes. It proves nothing
//      about a vendor.
#include <stdint.h>

#define RECORD struct __attribute__((packed, aligned(8)))

typedef enum {
    MSPTI_ACTIVITY_KIND_MARKER = 1,
    MSPTI_ACTIVITY_KIND_KERNEL = 2,
    MSPTI_ACTIVITY_KIND_API = 3,
    MSPTI_ACTIVITY_KIND_HCCL = 4,
    MSPTI_ACTIVITY_KIND_MEMORY = 5,
    MSPTI_ACTIVITY_KIND_MEMSET = 6,
    MSPTI_ACTIVITY_KIND_MEMCPY = 7,
    MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 8,
    MSPTI_ACTIVITY_KIND_COMMUNICATION = 9,
} msptiActivityKind;

typedef enum {
    MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 2,
    MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1 = 3,
} msptiExternalCorrelationKind;

typedef struct {
    uint32_t deviceId, streamId;
} msptiDeviceStream;

typedef struct {
    uint32_t processId, threadId;
} msptiProcessThread;

typedef RECORD {
    msptiActivityKind kind;
    uint64_t start, end;
    msptiDeviceStream ds;
    uint64_t correlationId;
    const char *type, *name;
}
msptiActivityKernel;

typedef RECORD {
    msptiActivityKind kind;
    uint64_t start, end;
    msptiProcessThread pt;
    uint64_t correlationId;
    const char *name;
}
msptiActivityApi;

typedef RECORD {
    msptiActivityKind kind;
    uint32_t copyKind;
    uint64_t bytes, start, end;
    uint32_t deviceId, streamId;
    uint64_t correlationId;
    uint8_t isAsync;
}
msptiActivityMemcpy;

typedef RECORD {
    msptiActivityKind kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t deviceId, streamId;
    uint64_t correlationId;
    uint8_t isAsync;
}
msptiActivityMemset;

typedef RECORD {
    msptiActivityKind kind;
    msptiExternalCorrelationKind externalKind;
    uint64_t externalId, correlationId;
}
msptiActivityExternalCorrelation;

typedef RECORD {
    msptiActivityKind kind;
    uint32_t dataType;
    uint64_t count;
    msptiDeviceStream ds;
    uint64_t start, end;
    const char *algType, *name, *commName;
    uint64_t correlationId;
}
msptiActivityCommunication;

typedef RECORD {
    msptiActivityKind kind;
    uint64_t start, end;
    msptiDeviceStream ds;
    double bandWidth;
    const char *name, *commName;
}
msptiActivityHccl;

typedef RECORD {
    msptiActivityKind kind;
    uint32_t flag, sourceKind;
    uint64_t timestamp, id, objectId;
    const char *name, *domain;
}
msptiActivityMarker;

typedef RECORD {
    msptiActivityKind kind;
    uint32_t memoryOperationType, memoryKind;
    uint64_t correlationId, start, end, address, bytes;
    uint32_t processId, deviceId, streamId;
}
msptiActivityMemory;
