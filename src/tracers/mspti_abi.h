// mspti_abi.h - Huawei's MSPTI and what of AscendCL is asked, as bytes: numbers, places of fields, functions
// to bind.
//
// In:  nothing; this is data. Only mspti*.c include it. No SDK is needed: everything here is from MSPTI's
//      public header [HEADER: Ascend/mspti, 2025-12 to 2026-07, unchanged between].
//
// Records are packed and only 8-byte aligned as a whole, so their 64-bit fields lie at odd words: fields are
// read by memcpy at these offsets, and no struct mirrors a record.
#ifndef FP_TRACERS_MSPTI_ABI_H
#define FP_TRACERS_MSPTI_ABI_H

#include "tracers/symbol.h"

#include <stddef.h>
#include <stdint.h>

enum { // msptiResult
    FP_MSPTI_SUCCESS = 0,
    FP_MSPTI_INVALID_PARAMETER = 1, // also: a kind that this release does not know
    FP_MSPTI_MULTIPLE_SUBSCRIBERS = 2,
    FP_MSPTI_WITHOUT_LD_PRELOAD = 6, // newer releases; older ones accept the kind and write nothing
};

enum { // msptiActivityKind; 10 to 12 since 2026-02 (CANN 9.0), before which 3 stands for all of them
    FP_MSPTI_MARKER = 1,
    FP_MSPTI_KERNEL = 2,
    FP_MSPTI_API = 3,
    FP_MSPTI_HCCL = 4,
    FP_MSPTI_MEMORY = 5,
    FP_MSPTI_MEMSET = 6,
    FP_MSPTI_MEMCPY = 7,
    FP_MSPTI_EXTERNAL = 8,
    FP_MSPTI_COMMUNICATION = 9,
    FP_MSPTI_ACL_API = 10,
    FP_MSPTI_NODE_API = 11,
    FP_MSPTI_RUNTIME_API = 12,
    FP_MSPTI_KINDS,
};

enum { // msptiExternalCorrelationKind: not CUPTI's numbers
    FP_MSPTI_CUSTOM0 = 2,
    FP_MSPTI_CUSTOM1 = 3,
};

enum { // msptiActivityMemcpyKind
    FP_MSPTI_HTOH = 1,
    FP_MSPTI_HTOD = 2,
    FP_MSPTI_DTOH = 3,
    FP_MSPTI_DTOD = 4,
    FP_MSPTI_COPY_KINDS = 6,
};

#define FP_MSPTI_NO_STREAM UINT32_MAX // "none": no index of anything

enum { // sizes of records; none carries its own
    FP_MSPTI_MARKER_BYTES = 56,
    FP_MSPTI_KERNEL_BYTES = 56,
    FP_MSPTI_API_BYTES = 48,
    FP_MSPTI_HCCL_BYTES = 56,
    FP_MSPTI_MEMORY_BYTES = 64,
    FP_MSPTI_MEMSET_BYTES = 56,
    FP_MSPTI_MEMCPY_BYTES = 56,
    FP_MSPTI_EXTERNAL_BYTES = 24,
    FP_MSPTI_COMMUNICATION_BYTES = 72,
    FP_MSPTI_ALIGNMENT = 8,
};

enum { FP_MSPTI_KERNEL_START = 4, FP_MSPTI_KERNEL_END = 12, FP_MSPTI_KERNEL_DEVICE = 20 };
enum { FP_MSPTI_KERNEL_STREAM = 24, FP_MSPTI_KERNEL_ID = 28, FP_MSPTI_KERNEL_TYPE = 36 };
enum { FP_MSPTI_KERNEL_NAME = 44 };

enum { FP_MSPTI_API_START = 4, FP_MSPTI_API_END = 12, FP_MSPTI_API_THREAD = 24, FP_MSPTI_API_ID = 28 };
enum { FP_MSPTI_API_NAME = 36 };

// Copies and sets are alike but for the word at 4.
enum { FP_MSPTI_COPY_KIND = 4, FP_MSPTI_SET_VALUE = 4, FP_MSPTI_MEM_BYTES = 8, FP_MSPTI_MEM_START = 16 };
enum { FP_MSPTI_MEM_END = 24, FP_MSPTI_MEM_DEVICE = 32, FP_MSPTI_MEM_STREAM = 36, FP_MSPTI_MEM_ID = 40 };
enum { FP_MSPTI_MEM_ASYNC = 48 };

enum { FP_MSPTI_EXTERNAL_KIND = 4, FP_MSPTI_EXTERNAL_ID = 8, FP_MSPTI_EXTERNAL_CORRELATION = 16 };

enum { FP_MSPTI_COMM_TYPE = 4, FP_MSPTI_COMM_COUNT = 8, FP_MSPTI_COMM_DEVICE = 16 };
enum { FP_MSPTI_COMM_STREAM = 20, FP_MSPTI_COMM_START = 24, FP_MSPTI_COMM_END = 32 };
enum { FP_MSPTI_COMM_ALGORITHM = 40, FP_MSPTI_COMM_NAME = 48, FP_MSPTI_COMM_GROUP = 56 };
enum { FP_MSPTI_COMM_ID = 64 };

enum { FP_MSPTI_HCCL_START = 4, FP_MSPTI_HCCL_END = 12, FP_MSPTI_HCCL_DEVICE = 20 };
enum { FP_MSPTI_HCCL_STREAM = 24, FP_MSPTI_HCCL_NAME = 36, FP_MSPTI_HCCL_GROUP = 44 };

enum { FP_MSPTI_MARKER_TIME = 12, FP_MSPTI_MEMORY_START = 20, FP_MSPTI_MEMORY_END = 28 };

typedef void (*fp_mspti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fp_mspti_complete_fn)(uint8_t *buffer, size_t size, size_t valid);

struct fp_mspti_functions {
    int (*subscribe)(void **handle, void *callback, void *user);
    int (*unsubscribe)(void *handle);
    int (*register_callbacks)(fp_mspti_request_fn requested, fp_mspti_complete_fn completed);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flag); // the flag has no effect [CODE]
    int (*push)(int kind, uint64_t id);
    int (*pop)(int kind, uint64_t *last); // NULL: refused, and nothing is taken off
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    // AscendCL's own [CODE: torch_npu calls them so]
    int (*get_device_count)(uint32_t *count);
    int (*synchronize_device)(void);
    const char *(*get_soc_name)(void);
};

#define FP_MSPTI_SYMBOL(name, field, required)                                                               \
    { name, offsetof(struct fp_mspti_functions, field), required }

static const struct fp_symbol fp_mspti_symbols[] = {
    FP_MSPTI_SYMBOL("msptiSubscribe", subscribe, true),
    FP_MSPTI_SYMBOL("msptiUnsubscribe", unsubscribe, true),
    FP_MSPTI_SYMBOL("msptiActivityRegisterCallbacks", register_callbacks, true),
    FP_MSPTI_SYMBOL("msptiActivityEnable", enable, true),
    FP_MSPTI_SYMBOL("msptiActivityDisable", disable, true),
    FP_MSPTI_SYMBOL("msptiActivityFlushAll", flush_all, true),
    FP_MSPTI_SYMBOL("msptiActivityPushExternalCorrelationId", push, true),
    FP_MSPTI_SYMBOL("msptiActivityPopExternalCorrelationId", pop, true),
    FP_MSPTI_SYMBOL("msptiActivityGetNextRecord", next_record, false),
};

static const struct fp_symbol fp_ascendcl_symbols[] = {
    FP_MSPTI_SYMBOL("aclrtGetDeviceCount", get_device_count, true),
    FP_MSPTI_SYMBOL("aclrtSynchronizeDevice", synchronize_device, false),
    FP_MSPTI_SYMBOL("aclrtGetSocName", get_soc_name, false),
};

#endif
