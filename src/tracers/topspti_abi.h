// topspti_abi.h - what is known of Enflame's TOPSPTI before any library is asked: functions, numbers, names.
//
// In:  nothing; this is data. Only topspti*.c include it.
//
// Record layouts are not here: none is public (topspti_layout.h).
#ifndef FP_TRACERS_TOPSPTI_ABI_H
#define FP_TRACERS_TOPSPTI_ABI_H

#include "tracers/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FP_TOPS_RUNTIME_DOMAIN = 2, FP_TOPS_DRIVER_DOMAIN = 1 }; // [GUESS]: the library's own names confirm it
enum { FP_TOPS_CBID_LAUNCH = 24, FP_TOPS_CBID_SET_DEVICE = 41 }; // topsLaunchKernel, topsSetDevice [CODE]
enum { FP_TOPS_FIRST_KIND = 1, FP_TOPS_LAST_KIND = 5 };          // [GUESS]: as CUPTI's
enum { FP_TOPS_FLUSH_FORCED = 1 };                               // [CODE]
enum { FP_TOPS_SYSTEM_THREADS = 1 };                             // [GUESS]: 0, the default, is pthread's ids

typedef void (*fp_tops_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fp_tops_completed_fn)(uint8_t *buffer, size_t size, size_t valid);
typedef void (*fp_tops_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);
typedef int (*fp_tops_next_fn)(uint8_t *buffer, size_t valid, void **record);

// Results are 0 for success [CODE]. Required are those without which nothing can be recorded.
struct fp_tops_functions {
    int (*register_callbacks)(fp_tops_requested_fn requested, fp_tops_completed_fn completed);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flag);
    fp_tops_next_fn next_record;
    int (*get_dropped)(size_t *dropped);
    int (*get_timestamp)(uint64_t *timestamp);
    int (*get_version)(uint32_t *version);
    int (*subscribe)(void **subscriber, fp_tops_callback_fn callback, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*enable_domain)(uint32_t on, void *subscriber, int domain);
    int (*enable_all_domains)(uint32_t on, void *subscriber);
    int (*call_name)(int domain, uint32_t cbid, const char **name);
    int (*set_thread_id_type)(uint32_t type);
    // The runtime's. Names [CODE], parameters as HIP's [GUESS].
    int (*get_device_count)(int *count);
    int (*get_device)(int *device);
    int (*device_get_name)(char *name, int length, int device);
    int (*device_total_mem)(size_t *bytes, int device);
    int (*device_synchronize)(void);
    int (*driver_get_version)(int *version);
    int (*runtime_get_version)(int *version);
};

#define FP_TOPS_SYMBOL(member, name, required)                                                               \
    { name, offsetof(struct fp_tops_functions, member), required }

static const struct fp_symbol fp_tops_symbols[] = {
    FP_TOPS_SYMBOL(register_callbacks, "topsptiActivityRegisterCallbacks", true),
    FP_TOPS_SYMBOL(enable, "topsptiActivityEnable", true),
    FP_TOPS_SYMBOL(disable, "topsptiActivityDisable", true),
    FP_TOPS_SYMBOL(flush_all, "topsptiActivityFlushAll", true),
    FP_TOPS_SYMBOL(next_record, "topsptiActivityGetNextRecord", true),
    FP_TOPS_SYMBOL(get_timestamp, "topsptiGetTimestamp", true),
    FP_TOPS_SYMBOL(get_dropped, "topsptiActivityGetNumDroppedRecords", false),
    FP_TOPS_SYMBOL(get_version, "topsptiGetVersion", false),
    FP_TOPS_SYMBOL(subscribe, "topsptiSubscribe", false),
    FP_TOPS_SYMBOL(unsubscribe, "topsptiUnsubscribe", false),
    FP_TOPS_SYMBOL(enable_domain, "topsptiEnableDomain", false),
    FP_TOPS_SYMBOL(enable_all_domains, "topsptiEnableAllDomains", false),
    FP_TOPS_SYMBOL(call_name, "topsptiGetCallbackName", false),
    FP_TOPS_SYMBOL(set_thread_id_type, "topsptiSetThreadIdType", false),
};

static const struct fp_symbol fp_tops_runtime_symbols[] = {
    FP_TOPS_SYMBOL(get_device_count, "topsGetDeviceCount", true),
    FP_TOPS_SYMBOL(get_device, "topsGetDevice", false),
    FP_TOPS_SYMBOL(device_get_name, "topsDeviceGetName", false),
    FP_TOPS_SYMBOL(device_total_mem, "topsDeviceTotalMem", false),
    FP_TOPS_SYMBOL(device_synchronize, "topsDeviceSynchronize", false),
    FP_TOPS_SYMBOL(driver_get_version, "topsDriverGetVersion", false),
    FP_TOPS_SYMBOL(runtime_get_version, "topsRuntimeGetVersion", false),
};

#endif
