// mupti.c - the tracer of Moore Threads GPUs, over MUPTI of MUSA 4.3 to 5.2.
//
// In:  what MUPTI is (mupti_abi.h).
// Out: a profile for the tracer that it shares with other copies of CUPTI (twin_session.c), which does
//      the work.
//
// MUPTI's own: its numbers are guessed from CUPTI's, so the library itself must confirm them before anything
// is armed, and is refused otherwise. It exports less than its headers declare, so each symbol is resolved
// alone. One subscriber a process. One forced flush, with the kinds still enabled: it waits up to a second
// and then hands out what is not finished, without times; a second flush may hang (MUSA 4.3). Early releases
// take external ids and write no record of them: operators are then found by thread and time (twin_window.c).
// Its hooks in the driver stay until muptiFinalize, which is not called: it would take them from others too.

#include "tracers/mupti.h"

#include "tracers/ablation.h"
#include "tracers/mupti_abi.h"
#include "tracers/mupti_layout.h"
#include "tracers/twin_places.h"
#include "tracers/twin_session.h"

#include <errno.h>

// External ids come first, so that no call is without its owner.
static const struct fp_twin_kind kinds[] = {
    { FP_MUPTI_KIND_EXTERNAL_CORRELATION, FP_TWIN_EXTERNAL, FP_KIND_COUNT, "EXTERNAL_CORRELATION",
      FP_TWIN_WANTED, 0 },
    { FP_MUPTI_KIND_MEMCPY, FP_TWIN_COPY, FP_KIND_MEMCPY, "MEMCPY", FP_TWIN_NEEDED, 0 },
    { FP_MUPTI_KIND_MEMSET, FP_TWIN_SET, FP_KIND_MEMSET, "MEMSET", FP_TWIN_NEEDED, 0 },
    { FP_MUPTI_KIND_CONCURRENT_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "CONCURRENT_KERNEL", FP_TWIN_NEEDED,
      0 },
    { FP_MUPTI_KIND_KERNEL, FP_TWIN_KERNEL, FP_KIND_KERNEL, "KERNEL", FP_TWIN_READ_ONLY, 0 },
    { FP_MUPTI_KIND_RUNTIME, FP_TWIN_API, FP_KIND_RUNTIME, "RUNTIME", FP_TWIN_NEEDED, FP_TWIN_RUNTIME },
    { FP_MUPTI_KIND_DRIVER, FP_TWIN_API, FP_KIND_DRIVER, "DRIVER", FP_TWIN_WANTED, FP_TWIN_DRIVER },
};

const struct fp_twin_layout fp_mupti_layout = {
    FP_TWIN_PLACES(struct fp_mupti_kernel, struct fp_mupti_memcpy, struct fp_mupti_memset,
                   struct fp_mupti_api, struct fp_mupti_external_correlation),
    .kinds = kinds,
    .kind_count = sizeof(kinds) / sizeof(kinds[0]),
    .external_kinds = { [FP_ID_OPERATOR] = FP_MUPTI_EXTERNAL_CUSTOM0,
                        [FP_ID_RANGE] = FP_MUPTI_EXTERNAL_CUSTOM1 },
    .async_flag = FP_MUPTI_ASYNC,
};

// ---- Are the guessed numbers right?

#define CURE "`make check-layouts VENDOR=musa INCLUDE=DIR` tells what its kit's headers have instead"

static int confirm_result(const struct fp_twin_library *library, int result, const char *word,
                          struct fp_error *err) {
    const char *text = NULL;
    if (library->call.result_text(result, &text) == 0 && text && strstr(text, word))
        return 0;
    fp_error_set(err, "it calls result %d \"%s\" where %s was expected: its numbers are not known. " CURE,
                 result, text ? text : "", word);
    return -ENOTSUP;
}

// By the beginning of the name: CUPTI calls its driver's 60 cuMemcpyHtoDAsync, public code MUPTI's
// muMemcpyAsync.
static int confirm_call(const struct fp_twin_library *library, uint32_t domain, uint32_t cbid,
                        const char *word, struct fp_error *err) {
    const char *name = NULL;
    if (library->call.call_name(domain, cbid, &name) == 0 && name && strncmp(name, word, strlen(word)) == 0 &&
        strstr(name, "Async"))
        return 0;
    fp_error_set(
        err,
        "it calls callback %u of domain %u \"%s\" where an asynchronous %s was expected: its numbers are "
        "not known. " CURE,
        cbid, domain, name ? name : "", word);
    return -ENOTSUP;
}

static int confirm(const struct fp_twin_library *library, struct fp_error *err) {
    static const struct {
        int result;
        const char *word;
    } results[] = {
        { FP_MUPTI_INVALID_OPERATION, "INVALID_OPERATION" },
        { FP_MUPTI_MAX_LIMIT_REACHED, "MAX_LIMIT_REACHED" },
        { FP_MUPTI_NOT_INITIALIZED, "NOT_INITIALIZED" },
    };
    int status = 0;
    if (fp_ablated("numbers"))
        return 0;
    for (size_t at = 0; status == 0 && at < sizeof(results) / sizeof(results[0]); at++)
        status = confirm_result(library, results[at].result, results[at].word, err);
    if (status == 0)
        status = confirm_call(library, FP_TWIN_DRIVER, FP_MUPTI_CBID_DRIVER_MEMCPY_ASYNC, "muMemcpy", err);
    if (status == 0)
        status = confirm_call(library, FP_TWIN_RUNTIME, FP_MUPTI_CBID_RUNTIME_MEMCPY_ASYNC, "musaMemcpyAsync",
                              err);
    return status;
}

// ---- Where it lies, what it exports

static const struct fp_twin_symbol symbols[] = {
    FP_TWIN_FUNCTION(register_callbacks, "muptiActivityRegisterCallbacks", NULL, true),
    FP_TWIN_FUNCTION(enable, "muptiActivityEnable", NULL, true),
    FP_TWIN_FUNCTION(disable, "muptiActivityDisable", NULL, true),
    FP_TWIN_FUNCTION(flush_all, "muptiActivityFlushAll", NULL, true),
    FP_TWIN_FUNCTION(next_record, "muptiActivityGetNextRecord", NULL, true),
    FP_TWIN_FUNCTION(result_text, "muptiGetResultString", NULL, true),
    FP_TWIN_FUNCTION(call_name, "muptiGetCallbackName", NULL, true),
    FP_TWIN_FUNCTION(get_timestamp, "muptiGetTimestamp", NULL, true),
    FP_TWIN_FUNCTION(get_version, "muptiGetVersion", NULL, false),
    FP_TWIN_FUNCTION(get_dropped, "muptiActivityGetNumDroppedRecords", NULL, false),
    FP_TWIN_FUNCTION(push, "muptiActivityPushExternalCorrelationId", NULL, false),
    FP_TWIN_FUNCTION(pop, "muptiActivityPopExternalCorrelationId", NULL, false),
    { { NULL, NULL }, 0, false },
};

static const struct fp_twin_symbol device_symbols[] = {
    FP_TWIN_DEVICE_FUNCTION(init, "muInit", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(count, "muDeviceGetCount", "musaGetDeviceCount", true),
    FP_TWIN_DEVICE_FUNCTION(name, "muDeviceGetName", NULL, false), // its device is the ordinal [GUESS]
    FP_TWIN_DEVICE_FUNCTION(memory, "muDeviceTotalMem_v2", "muDeviceTotalMem", false),
    FP_TWIN_DEVICE_FUNCTION(driver_version, "muDriverGetVersion", "musaDriverGetVersion", false),
    FP_TWIN_DEVICE_FUNCTION(runtime_version, "musaRuntimeGetVersion", NULL, false),
    FP_TWIN_DEVICE_FUNCTION(synchronize, "musaDeviceSynchronize", "muCtxSynchronize", false),
    { { NULL, NULL }, 0, false },
};

static const struct fp_twin_search search = {
    .name = "mupti",
    .loaded = (const char *const[]){ "libmupti.so", NULL },
    .files = (const char *const[]){ "libmupti.so", "libmupti.so.1", "libmupti.so.1.2", NULL },
    .variables = (const char *const[]){ "MUSA_HOME", NULL },
    .roots = (const char *const[]){ "/usr/local/musa", "/usr/local/musa-*", NULL },
    .places = (const char *const[]){ "lib", "lib64", NULL },
    .device_files = (const char *const[]){ "libmusa.so.1", "libmusa.so", "libmusart.so", NULL },
    .symbols = symbols,
    .device_symbols = device_symbols,
    .layout = &fp_mupti_layout,
    .confirm = confirm,
};

// ---- The tracer

FP_TWIN_CALLBACKS

static const struct fp_twin_profile profile = {
    .name = "mupti",
    .title = "MUPTI",
    .search = &search,
    .manners = FP_TWIN_MAY_LACK_IDS,
    .flush_flag = FP_MUPTI_FLUSH_FORCED,
    .busy_result = FP_MUPTI_MULTIPLE_SUBSCRIBERS,
    .absent_result = FP_MUPTI_API_NOT_IMPLEMENTED,
    .callbacks = &callbacks,
    .name_keys = { [FP_TWIN_DRIVER] = FP_TWIN_DRIVER, [FP_TWIN_RUNTIME] = FP_TWIN_RUNTIME },
    .prefixes = { [FP_TWIN_DRIVER] = "mu", [FP_TWIN_RUNTIME] = "musa" },
    .unknown = { [FP_TWIN_DRIVER] = "muDriverCall_", [FP_TWIN_RUNTIME] = "musaRuntimeCall_" },
    .runtime_kind = "musa_runtime",
};

static int mupti_open(const struct fp_tracer_options *options, struct fp_tracer **tracer,
                      struct fp_error *err) {
    return fp_twin_open(&profile, options, tracer, err);
}

const struct fp_tracer_ops fp_mupti_ops = {
    .size = sizeof(fp_mupti_ops),
    .name = "mupti",
    .open = mupti_open,
    FP_TWIN_OPS,
};
