// twin_places.h - the table of places (twin.h) out of a vendor's own mirror structs.
//
// In:  five struct types of the vendor whose members carry the names of CUPTI's; where each lies is the
//      vendor's own business.
// Out: the initialisers of a layout's sizes and places. What is surely there in a record of another size
//      ends before the first member that only some releases have.
#ifndef FP_TRACERS_TWIN_PLACES_H
#define FP_TRACERS_TWIN_PLACES_H

#include "tracers/twin.h"

#define FP_TWIN_WORK_PLACES(record)                                                                          \
    [FP_TWIN_START] = FP_TWIN_PLACE(record, start), [FP_TWIN_END] = FP_TWIN_PLACE(record, end),              \
    [FP_TWIN_DEVICE] = FP_TWIN_PLACE(record, deviceId),                                                      \
    [FP_TWIN_CONTEXT] = FP_TWIN_PLACE(record, contextId),                                                    \
    [FP_TWIN_STREAM] = FP_TWIN_PLACE(record, streamId),                                                      \
    [FP_TWIN_CORRELATION] = FP_TWIN_PLACE(record, correlationId),                                            \
    [FP_TWIN_GRAPH] = FP_TWIN_PLACE(record, graphId),                                                        \
    [FP_TWIN_GRAPH_NODE] = FP_TWIN_PLACE(record, graphNodeId)

#define FP_TWIN_KERNEL_PLACES(record)                                                                        \
    {                                                                                                        \
        FP_TWIN_WORK_PLACES(record), [FP_TWIN_GRID_X] = FP_TWIN_PLACE(record, gridX),                        \
                                     [FP_TWIN_GRID_Y] = FP_TWIN_PLACE(record, gridY),                        \
                                     [FP_TWIN_GRID_Z] = FP_TWIN_PLACE(record, gridZ),                        \
                                     [FP_TWIN_BLOCK_X] = FP_TWIN_PLACE(record, blockX),                      \
                                     [FP_TWIN_BLOCK_Y] = FP_TWIN_PLACE(record, blockY),                      \
                                     [FP_TWIN_BLOCK_Z] = FP_TWIN_PLACE(record, blockZ),                      \
                                     [FP_TWIN_REGISTERS] = FP_TWIN_PLACE(record, registersPerThread),        \
                                     [FP_TWIN_STATIC_SHARED] = FP_TWIN_PLACE(record, staticSharedMemory),    \
                                     [FP_TWIN_DYNAMIC_SHARED] = FP_TWIN_PLACE(record, dynamicSharedMemory),  \
                                     [FP_TWIN_NAME] = FP_TWIN_PLACE(record, name),                           \
                                     [FP_TWIN_QUEUED] = FP_TWIN_PLACE(record, queued)                        \
    }

#define FP_TWIN_COPY_PLACES(record)                                                                          \
    {                                                                                                        \
        FP_TWIN_WORK_PLACES(record), [FP_TWIN_COPY_KIND] = FP_TWIN_PLACE(record, copyKind),                  \
                                     [FP_TWIN_FROM_KIND] = FP_TWIN_PLACE(record, srcKind),                   \
                                     [FP_TWIN_TO_KIND] = FP_TWIN_PLACE(record, dstKind),                     \
                                     [FP_TWIN_FLAGS] = FP_TWIN_PLACE(record, flags),                         \
                                     [FP_TWIN_BYTES] = FP_TWIN_PLACE(record, bytes)                          \
    }

#define FP_TWIN_SET_PLACES(record)                                                                           \
    {                                                                                                        \
        FP_TWIN_WORK_PLACES(record), [FP_TWIN_TO_KIND] = FP_TWIN_PLACE(record, memoryKind),                  \
                                     [FP_TWIN_FLAGS] = FP_TWIN_PLACE(record, flags),                         \
                                     [FP_TWIN_BYTES] = FP_TWIN_PLACE(record, bytes),                         \
                                     [FP_TWIN_VALUE] = FP_TWIN_PLACE(record, value)                          \
    }

#define FP_TWIN_API_PLACES(record)                                                                           \
    {                                                                                                        \
        [FP_TWIN_START] = FP_TWIN_PLACE(record, start), [FP_TWIN_END] = FP_TWIN_PLACE(record, end),          \
        [FP_TWIN_CORRELATION] = FP_TWIN_PLACE(record, correlationId),                                        \
        [FP_TWIN_CBID] = FP_TWIN_PLACE(record, cbid), [FP_TWIN_PROCESS] = FP_TWIN_PLACE(record, processId),  \
        [FP_TWIN_THREAD] = FP_TWIN_PLACE(record, threadId),                                                  \
        [FP_TWIN_RESULT] = FP_TWIN_PLACE(record, returnValue)                                                \
    }

#define FP_TWIN_EXTERNAL_PLACES(record)                                                                      \
    {                                                                                                        \
        [FP_TWIN_CORRELATION] = FP_TWIN_PLACE(record, correlationId),                                        \
        [FP_TWIN_EXTERNAL_KIND] = FP_TWIN_PLACE(record, externalKind),                                       \
        [FP_TWIN_EXTERNAL_ID] = FP_TWIN_PLACE(record, externalId)                                            \
    }

#define FP_TWIN_PLACES(kernel, copy, set, api, external)                                                     \
    .bytes = { [FP_TWIN_KERNEL] = sizeof(kernel),                                                            \
               [FP_TWIN_COPY] = sizeof(copy),                                                                \
               [FP_TWIN_SET] = sizeof(set),                                                                  \
               [FP_TWIN_API] = sizeof(api),                                                                  \
               [FP_TWIN_EXTERNAL] = sizeof(external) },                                                      \
    .sure_bytes = { [FP_TWIN_KERNEL] = offsetof(kernel, reserved0),                                          \
                    [FP_TWIN_COPY] = offsetof(copy, runtimeCorrelationId),                                   \
                    [FP_TWIN_SET] = offsetof(set, flags),                                                    \
                    [FP_TWIN_API] = offsetof(api, returnValue),                                              \
                    [FP_TWIN_EXTERNAL] = offsetof(external, reserved) },                                     \
    .place = { [FP_TWIN_KERNEL] = FP_TWIN_KERNEL_PLACES(kernel),                                             \
               [FP_TWIN_COPY] = FP_TWIN_COPY_PLACES(copy),                                                   \
               [FP_TWIN_SET] = FP_TWIN_SET_PLACES(set),                                                      \
               [FP_TWIN_API] = FP_TWIN_API_PLACES(api),                                                      \
               [FP_TWIN_EXTERNAL] = FP_TWIN_EXTERNAL_PLACES(external) }

#endif
