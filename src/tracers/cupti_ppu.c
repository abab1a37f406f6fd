// cupti_ppu.c - the tracer of T-Head PPUs, over HGPTI and the face of CUPTI that the SDK gives it.
//
// In:  CUPTI's numbers, records and call names (cupti_abi.h, the generated tables): the PPU's are the same
//      [CODE], as far as a record's beginning goes.
// Out: a profile: what differs from NVIDIA's, for the session that copies of CUPTI share (twin_session.c),
//      since here too a layout has to be judged before it is believed and times have to be mapped.
//
// What differs: functions are found under either spelling. Records are read as prefixes, of which the
// library's iterator alone knows how long they are. Numbers of results differ from CUPTI's, so a buffer ends
// with any status that is not 0 and with a record that is none. Kernels come as KERNEL or as
// CONCURRENT_KERNEL, which exclude each other. Callbacks are a process's and are registered at every start,
// since a flush rejects buffers of others. Flushed is before kinds are switched off. The clock has an epoch
// and a rate of its own. [all CODE]

#include "tracers/cupti.h"

#include "tracers/cupti_abi.h"
#include "tracers/cupti_names.h"
#include "tracers/cupti_ppu_layout.h"
#include "tracers/twin_session.h"

// External ids come first, so that no call is without its owner.
static const struct fp_twin_kind kinds[] = {
    { FP_CUPTI_KIND_EXTERNAL_CORRELATION, FP_TWIN_EXTERNAL, FP_KIND_COUNT, "EXTERNAL_CORRELATION",
      FP_TWIN_NEEDED, 0 },
    { FP_CUPTI_KIND_MEMCPY, FP_TWIN_COPY, FP_KIND_MEMCPY, "MEMCPY", FP_TWIN_NEEDED, 0 },
    { FP_CUPTI_KIND_MEMSET, FP_TWIN_SET, FP_KIND_MEMSET, "MEMSET", FP_TWIN_NEEDED, 0 },
    { FP_CUPTI_KIND_CONCURRENT_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "CONCURRENT_KERNEL", FP_TWIN_EITHER,
      0 },
    { FP_CUPTI_KIND_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "KERNEL", FP_TWIN_EITHER, 0 },
    { FP_CUPTI_KIND_RUNTIME, FP_TWIN_API, FP_KIND_RUNTIME, "RUNTIME", FP_TWIN_NEEDED, FP_TWIN_RUNTIME },
    { FP_CUPTI_KIND_DRIVER, FP_TWIN_API, FP_KIND_DRIVER, "DRIVER", FP_TWIN_WANTED, FP_TWIN_DRIVER },
};

#define AT(record, member) FP_TWIN_PLACE(struct fp_cupti_##record, member)
#define TIMES_AND_IDS(record)                                                                                \
    [FP_TWIN_START] = AT(record, start), [FP_TWIN_END] = AT(record, end),                                    \
    [FP_TWIN_DEVICE] = AT(record, deviceId), [FP_TWIN_CONTEXT] = AT(record, contextId),                      \
    [FP_TWIN_STREAM] = AT(record, streamId), [FP_TWIN_CORRELATION] = AT(record, correlationId)

// Kernels up to `submitted`, copies up to the correlation id: what was seen to work on a PPU 810e [CODE]. A
// set's flags and memory kind lie behind its id, as in CUPTI's Memset4 [DERIVED].
enum { KERNEL_BYTES = 136, COPY_BYTES = 48, SET_BYTES = 56, API_BYTES = 40, EXTERNAL_BYTES = 24 };

#define SIZES                                                                                                \
    {                                                                                                        \
        [FP_TWIN_KERNEL] = KERNEL_BYTES, [FP_TWIN_COPY] = COPY_BYTES, [FP_TWIN_SET] = SET_BYTES,             \
        [FP_TWIN_API] = API_BYTES, [FP_TWIN_EXTERNAL] = EXTERNAL_BYTES                                       \
    }

const struct fp_twin_layout fp_cupti_ppu_layout = {
    .bytes = SIZES,
    .sure_bytes = SIZES,
    .prefix_only = { true, true, true, true, true },
    .place = {
        [FP_TWIN_KERNEL] = { TIMES_AND_IDS(kernel),
                             [FP_TWIN_GRID_X] = AT(kernel, gridX), [FP_TWIN_GRID_Y] = AT(kernel, gridY),
                             [FP_TWIN_GRID_Z] = AT(kernel, gridZ), [FP_TWIN_BLOCK_X] = AT(kernel, blockX),
                             [FP_TWIN_BLOCK_Y] = AT(kernel, blockY), [FP_TWIN_BLOCK_Z] = AT(kernel, blockZ),
                             [FP_TWIN_REGISTERS] = AT(kernel, registersPerThread),
                             [FP_TWIN_STATIC_SHARED] = AT(kernel, staticSharedMemory),
                             [FP_TWIN_DYNAMIC_SHARED] = AT(kernel, dynamicSharedMemory),
                             [FP_TWIN_NAME] = AT(kernel, name), [FP_TWIN_QUEUED] = AT(kernel, queued) },
        [FP_TWIN_COPY] = { TIMES_AND_IDS(memcpy),
                           [FP_TWIN_COPY_KIND] = AT(memcpy, copyKind), [FP_TWIN_FROM_KIND] = AT(memcpy, srcKind),
                           [FP_TWIN_TO_KIND] = AT(memcpy, dstKind), [FP_TWIN_FLAGS] = AT(memcpy, flags),
                           [FP_TWIN_BYTES] = AT(memcpy, bytes) },
        [FP_TWIN_SET] = { TIMES_AND_IDS(memset),
                          [FP_TWIN_TO_KIND] = AT(memset, memoryKind), [FP_TWIN_FLAGS] = AT(memset, flags),
                          [FP_TWIN_BYTES] = AT(memset, bytes), [FP_TWIN_VALUE] = AT(memset, value) },
        [FP_TWIN_API] = { [FP_TWIN_START] = AT(api, start), [FP_TWIN_END] = AT(api, end),
                          [FP_TWIN_CORRELATION] = AT(api, correlationId), [FP_TWIN_CBID] = AT(api, cbid),
                          [FP_TWIN_PROCESS] = AT(api, processId), [FP_TWIN_THREAD] = AT(api, threadId),
                          [FP_TWIN_RESULT] = AT(api, returnValue) },
        [FP_TWIN_EXTERNAL] = { [FP_TWIN_CORRELATION] = AT(external_correlation, correlationId),
                               [FP_TWIN_EXTERNAL_KIND] = AT(external_correlation, externalKind),
                               [FP_TWIN_EXTERNAL_ID] = AT(external_correlation, externalId) },
    },
    .kinds = kinds,
    .kind_count = sizeof(kinds) / sizeof(kinds[0]),
    .external_kinds = { [FP_ID_OPERATOR] = FP_CUPTI_EXTERNAL_CUSTOM0,
                        [FP_ID_RANGE] = FP_CUPTI_EXTERNAL_CUSTOM1 },
    .async_flag = FP_CUPTI_MEMCPY_ASYNC,
};

// ---- Where it lies, what it exports

#define EITHER(member, name, required) FP_TWIN_FUNCTION(member, "hgpti" name, "cupti" name, required)

static const struct fp_twin_symbol symbols[] = {
    EITHER(register_callbacks, "ActivityRegisterCallbacks", true),
    EITHER(enable, "ActivityEnable", true),
    EITHER(disable, "ActivityDisable", true),
    EITHER(flush_all, "ActivityFlushAll", true),
    EITHER(next_record, "ActivityGetNextRecord", true),
    EITHER(push, "ActivityPushExternalCorrelationId", true),
    EITHER(pop, "ActivityPopExternalCorrelationId", true),
    EITHER(get_timestamp, "GetTimestamp", true),
    EITHER(get_version, "GetVersion", false),
    EITHER(get_dropped, "ActivityGetNumDroppedRecords", false),
    EITHER(result_text, "GetResultString", false),
    EITHER(call_name, "GetCallbackName", false),
    { { NULL, NULL }, 0, false },
};

// The driver's names are CUDA's with hg for cu, the runtime's with hggc for cuda [CODE: the exports of SDK
// 2.1.1].
static const struct fp_twin_symbol device_symbols[] = {
    FP_TWIN_DEVICE_FUNCTION(init, "hgInit", "cuInit", false),
    FP_TWIN_DEVICE_FUNCTION(count, "hgDeviceGetCount", "cuDeviceGetCount", true),
    FP_TWIN_DEVICE_FUNCTION(name, "hgDeviceGetName", "cuDeviceGetName", false),
    FP_TWIN_DEVICE_FUNCTION(memory, "hgDeviceTotalMem_v2", "cuDeviceTotalMem_v2", false),
    FP_TWIN_DEVICE_FUNCTION(driver_version, "hgDriverGetVersion", "cuDriverGetVersion", false),
    FP_TWIN_DEVICE_FUNCTION(runtime_version, "hggcRuntimeGetVersion", "cudaRuntimeGetVersion", false),
    FP_TWIN_DEVICE_FUNCTION(synchronize, "hggcDeviceSynchronize", "hgCtxSynchronize", false),
    { { NULL, NULL }, 0, false },
};

static const struct fp_twin_search search = {
    .name = "cupti",
    .loaded = (const char *const[]){ "libhgpti.so", "libcupti.so", NULL },
    .files = (const char *const[]){ "libhgpti.so", "libcupti.so.13", "libcupti.so", NULL }, // 13: [GUESS]
    .variables = (const char *const[]){ "PPU_SDK", "PPU_HOME", NULL },
    .roots = (const char *const[]){ "/usr/local/PPU_SDK", NULL },
    .places = (const char *const[]){ "targets/{target}/lib", "asight/lib", "lib", "CUDA_SDK/lib64",
                                     "CUDA_SDK/targets/{target}/lib", "CUDA_SDK/extras/CUPTI/lib64", NULL },
    .device_files = (const char *const[]){ "libhggc.so", "libhggcrt.13.0.so", "libhggcrt.so", NULL },
    .symbols = symbols,
    .device_symbols = device_symbols,
    .layout = &fp_cupti_ppu_layout,
    .face = "ppu", // NVIDIA's library has the same names: it is left to NVIDIA's tracer
};

// ---- The tracer

FP_TWIN_CALLBACKS

static const struct fp_twin_profile profile = {
    .name = "cupti",
    .title = "HGPTI",
    .search = &search,
    .flush_flag = FP_CUPTI_FLUSH_FORCED,
    .busy_result = FP_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS,
    .callbacks = &callbacks,
    .known_name = fp_cupti_api_name_known,
    .name_keys = { [FP_TWIN_DRIVER] = FP_TWIN_DRIVER, [FP_TWIN_RUNTIME] = FP_TWIN_RUNTIME },
    .prefixes = { [FP_TWIN_DRIVER] = "cu", [FP_TWIN_RUNTIME] = "cuda" },
    .unknown = { [FP_TWIN_DRIVER] = FP_CUPTI_UNKNOWN_DRIVER_CALL,
                 [FP_TWIN_RUNTIME] = FP_CUPTI_UNKNOWN_RUNTIME_CALL },
    .runtime_kind = "cuda_runtime",
};

static int ppu_open(const struct fp_tracer_options *options, struct fp_tracer **tracer,
                    struct fp_error *err) {
    return fp_twin_open(&profile, options, tracer, err);
}

const struct fp_tracer_ops fp_cupti_ppu_ops = {
    .size = sizeof(fp_cupti_ppu_ops),
    .name = "cupti",
    .open = ppu_open,
    FP_TWIN_OPS,
};
