// mcpti.c - the tracer of MetaX GPUs, over MCPTI of MACA 3.x.
//
// In:  what MCPTI is (mcpti_abi.h).
// Out: a profile for the tracer that it shares with other copies of CUPTI (twin_session.c), which does
//      the work.
//
// MetaX's own: callback ids are not NVIDIA's. The name resolver deadlocks inside a buffer callback (3.8.0),
// so it is asked after flush and disable alone. The iterator returns a stale pointer after
// external-correlation records (3.8.0), so records are walked by their sizes. start == end == 0 means that
// there is no timing.

#include "tracers/mcpti.h"

#include "tracers/mcpti_abi.h"
#include "tracers/mcpti_layout.h"
#include "tracers/twin_places.h"
#include "tracers/twin_session.h"

// External ids come first, so that no call is without its owner.
static const struct fp_twin_kind kinds[] = {
    { FP_MCPTI_KIND_EXTERNAL_CORRELATION, FP_TWIN_EXTERNAL, FP_KIND_COUNT, "EXTERNAL_CORRELATION",
      FP_TWIN_NEEDED, 0 },
    { FP_MCPTI_KIND_MEMCPY, FP_TWIN_COPY, FP_KIND_MEMCPY, "MEMCPY", FP_TWIN_NEEDED, 0 },
    { FP_MCPTI_KIND_MEMSET, FP_TWIN_SET, FP_KIND_MEMSET, "MEMSET", FP_TWIN_NEEDED, 0 },
    { FP_MCPTI_KIND_CONCURRENT_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "CONCURRENT_KERNEL", FP_TWIN_NEEDED,
      0 },
    { FP_MCPTI_KIND_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "KERNEL", FP_TWIN_READ_ONLY, 0 },
    { FP_MCPTI_KIND_RUNTIME, FP_TWIN_API, FP_KIND_RUNTIME, "RUNTIME", FP_TWIN_NEEDED, FP_TWIN_RUNTIME },
    { FP_MCPTI_KIND_DRIVER, FP_TWIN_API, FP_KIND_DRIVER, "DRIVER", FP_TWIN_WANTED, FP_TWIN_DRIVER },
};

const struct fp_twin_layout fp_mcpti_layout = {
    FP_TWIN_PLACES(struct fp_mcpti_kernel, struct fp_mcpti_memcpy, struct fp_mcpti_memset,
                   struct fp_mcpti_api, struct fp_mcpti_external_correlation),
    .kinds = kinds,
    .kind_count = sizeof(kinds) / sizeof(kinds[0]),
    .external_kinds = { [FP_ID_OPERATOR] = FP_MCPTI_EXTERNAL_CUSTOM0,
                        [FP_ID_RANGE] = FP_MCPTI_EXTERNAL_CUSTOM1 },
    .async_flag = FP_MCPTI_ASYNC,
};

// ---- Names of calls

static const char *known_name(uint32_t domain, uint32_t cbid) {
    static const struct {
        uint32_t cbid;
        const char *name;
    } names[] = {
#define NAME(id, text) { id, text },
        FP_MCPTI_RUNTIME_NAMES(NAME)
#undef NAME
    };
    for (size_t at = 0; domain == FP_TWIN_RUNTIME && at < sizeof(names) / sizeof(names[0]); at++)
        if (names[at].cbid == cbid)
            return names[at].name;
    return NULL;
}

static bool launches(uint32_t domain, uint32_t cbid) {
    static const uint32_t ids[] = { FP_MCPTI_LAUNCH_IDS };
    for (size_t at = 0; domain == FP_TWIN_RUNTIME && at < sizeof(ids) / sizeof(ids[0]); at++)
        if (ids[at] == cbid)
            return true;
    return false;
}

// ---- Where it lies, what it exports

// The bridge for CUDA programs offers CUPTI's spellings beside MetaX's own, or alone [CODE].
static const struct fp_twin_symbol symbols[] = {
    FP_TWIN_FUNCTION(get_version, "mcptiGetVersion", "cuptiGetVersion", true),
    FP_TWIN_FUNCTION(get_timestamp, "mcptiGetTimestamp", "cuptiGetTimestamp", true),
    FP_TWIN_FUNCTION(register_callbacks, "mcptiActivityRegisterCallbacks", "cuptiActivityRegisterCallbacks",
                     true),
    FP_TWIN_FUNCTION(enable, "mcptiActivityEnable", "cuptiActivityEnable", true),
    FP_TWIN_FUNCTION(disable, "mcptiActivityDisable", "cuptiActivityDisable", true),
    FP_TWIN_FUNCTION(flush_all, "mcptiActivityFlushAll", "cuptiActivityFlushAll", true),
    FP_TWIN_FUNCTION(next_record, "mcptiActivityGetNextRecord", "cuptiActivityGetNextRecord", true),
    FP_TWIN_FUNCTION(get_dropped, "mcptiActivityGetNumDroppedRecords", "cuptiActivityGetNumDroppedRecords",
                     false),
    FP_TWIN_FUNCTION(push, "mcptiActivityPushExternalCorrelationId", "cuptiActivityPushExternalCorrelationId",
                     true),
    FP_TWIN_FUNCTION(pop, "mcptiActivityPopExternalCorrelationId", "cuptiActivityPopExternalCorrelationId",
                     true),
    FP_TWIN_FUNCTION(result_text, "mcptiGetResultString", "cuptiGetResultString", false),
    FP_TWIN_FUNCTION(call_name, "mcptiActivityGetApiName", NULL, false),
    { { NULL, NULL }, 0, false },
};

static const struct fp_twin_symbol device_symbols[] = {
    FP_TWIN_DEVICE_FUNCTION(init, "mcInit", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(count, "mcGetDeviceCount", NULL, true),
    FP_TWIN_DEVICE_FUNCTION(name, "mcDeviceGetName", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(memory, "mcDeviceTotalMem", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(driver_version, "mcDriverGetVersion", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(runtime_version, "mcRuntimeGetVersion", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(synchronize, "mcDeviceSynchronize", NULL, false),
    { { NULL, NULL }, 0, false },
};

static const struct fp_twin_search search = {
    .name = "mcpti",
    .loaded = (const char *const[]){ "libmcpti.so", NULL },
    .files = (const char *const[]){ "libmcpti.so", NULL },
    .variables = (const char *const[]){ "MACA_PATH", "METAX_PATH", NULL },
    .roots = (const char *const[]){ "/opt/maca", "/opt/maca-3.*", NULL },
    .places = (const char *const[]){ "lib", "lib64", NULL },
    .device_files = (const char *const[]){ "libmcruntime.so", NULL },
    .symbols = symbols,
    .device_symbols = device_symbols,
    .layout = &fp_mcpti_layout,
};

// ---- The tracer

FP_TWIN_CALLBACKS

static const struct fp_twin_profile profile = {
    .name = "mcpti",
    .title = "MCPTI",
    .search = &search,
    .manners =
        FP_TWIN_WALK_BY_SIZE | FP_TWIN_NAMES_AT_END | FP_TWIN_FLUSH_AT_START | FP_TWIN_FLUSH_AFTER_DISABLE,
    .flush_flag = 0, // 1 may expose records that are not finished [CODE]
    .busy_result = FP_MCPTI_MULTIPLE_SUBSCRIBERS,
    .version_expected = FP_MCPTI_VERSION,
    .callbacks = &callbacks,
    .known_name = known_name,
    .launches = launches,
    .name_keys = { [FP_TWIN_DRIVER] = FP_MCPTI_KIND_DRIVER, [FP_TWIN_RUNTIME] = FP_MCPTI_KIND_RUNTIME },
    .prefixes = { [FP_TWIN_DRIVER] = "mc", [FP_TWIN_RUNTIME] = "mc" },
    .unknown = { [FP_TWIN_DRIVER] = "mcDriverCall_", [FP_TWIN_RUNTIME] = "mcRuntimeCall_" },
    .runtime_kind = "maca_runtime",
};

static int mcpti_open(const struct fp_tracer_options *options, struct fp_tracer **tracer,
                      struct fp_error *err) {
    return fp_twin_open(&profile, options, tracer, err);
}

const struct fp_tracer_ops fp_mcpti_ops = {
    .size = sizeof(fp_mcpti_ops),
    .name = "mcpti",
    .open = mcpti_open,
    FP_TWIN_OPS,
};
