// topspti_activity.h - a stand-in of ours for the header of Enflame's SDK, which is not public.
//
// In:  the struct and field names that public code reads [CODE]; everything else is ours, made so that the
//      tracer's form with a header can be built and tested. Its offsets are nobody's but the simulator's.
#ifndef STANDIN_TOPSPTI_ACTIVITY_H
#define STANDIN_TOPSPTI_ACTIVITY_H

#include <stdint.h>

typedef enum {
    TOPSPTI_ACTIVITY_KIND_INVALID = 0,
    TOPSPTI_ACTIVITY_KIND_MEMCPY = 1,
    TOPSPTI_ACTIVITY_KIND_MEMSET = 2,
    TOPSPTI_ACTIVITY_KIND_KERNEL = 3,
    TOPSPTI_ACTIVITY_KIND_DRIVER = 4,
    TOPSPTI_ACTIVITY_KIND_RUNTIME = 5,
} Topspti_ActivityKind;

typedef struct {
    Topspti_ActivityKind kind;
} Topspti_Activity;

typedef struct {
    Topspti_ActivityKind kind;
    uint64_t start, end, completed;
    uint32_t deviceId, contextId, streamId;
    int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
    uint32_t correlationId;
    int64_t gridId;
    const char *name;
    void *reserved;
} Topspti_ActivityKernel;

typedef struct {
    Topspti_ActivityKind kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
} Topspti_ActivityMemcpy;

typedef struct {
    Topspti_ActivityKind kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint16_t flags, memoryKind;
    uint32_t padding;
} Topspti_ActivityMemset;

typedef struct {
    Topspti_ActivityKind kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t processId, threadId, correlationId, returnValue;
} Topspti_ActivityAPI;

#endif
