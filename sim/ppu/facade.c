// facade.c - T-Head's HGPTI over the simulated accelerator.
//
// In:  a tool's calls to the functions that libhgpti.so exports, by HGPTI's names or by CUPTI's: the SDK maps
//      one to the other [CODE].
// Out: the same results, and records through the tool's own buffers. The offsets are the fact sheet's, of
//      which only the beginning of each record is known [CODE]; what lies behind, and how long a record is,
//      is made up here, differs from every release of CUPTI's, and is filled with bytes that mean nothing.
#include "../twin.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: HGPTI of PPU SDK 2.1 over FlagProf's simulated accelerator";

// ---- records: the beginnings that public code reads, at the fact sheet's offsets

enum { MEANINGLESS = 0xA5 };

typedef struct Kernel {
    uint32_t kind;
    uint8_t cache_config, shared_memory_config;
    uint16_t registers_per_thread;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device_id, context_id, stream_id;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation_id;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t unknown[56]; // 192 bytes in all
} Kernel;

typedef struct Memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint8_t unknown[24]; // 72 bytes
} Memcpy;

typedef struct Memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint16_t flags, memory_kind;
    uint8_t unknown[12]; // 64 bytes
} Memset;

typedef struct Api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process_id, thread_id, correlation_id, return_value;
    uint8_t unknown[8]; // 48 bytes
} Api;

typedef struct External {
    uint32_t kind, external_kind;
    uint64_t external_id;
    uint32_t correlation_id, reserved;
    uint8_t unknown[8]; // 32 bytes
} External;

// The fact sheet's own numbers, so that a slip of the pen above does not compile.
_Static_assert(offsetof(Kernel, start) == 16 && offsetof(Kernel, device_id) == 40 &&
                   offsetof(Kernel, grid) == 52 && offsetof(Kernel, correlation_id) == 92 &&
                   offsetof(Kernel, name) == 104 && offsetof(Kernel, submitted) == 128 &&
                   sizeof(Kernel) == 192,
               "Kernel");
_Static_assert(offsetof(Memcpy, correlation_id) == 44 && sizeof(Memcpy) == 72, "Memcpy");
_Static_assert(offsetof(Memset, correlation_id) == 44 && sizeof(Memset) == 64, "Memset");
_Static_assert(offsetof(Api, correlation_id) == 32 && sizeof(Api) == 48, "Api");
_Static_assert(offsetof(External, correlation_id) == 16 && sizeof(External) == 32, "External");

static size_t compose_kernel(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    Kernel *record = bytes;
    *record = (Kernel){ TWIN_OF_KERNEL(activity, work, activity->of.kernel.info), .name = work->name };
    memset(record->unknown, MEANINGLESS, sizeof record->unknown);
    return sizeof *record;
}

static size_t compose_copy(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    Memcpy *record = bytes;
    *record = (Memcpy){ TWIN_OF_COPY(activity, work) };
    memset(record->unknown, MEANINGLESS, sizeof record->unknown);
    return sizeof *record;
}

static size_t compose_set(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    Memset *record = bytes;
    *record = (Memset){ TWIN_OF_SET(activity, work) }; // its flags [DERIVED] as in CUPTI's Memset4
    memset(record->unknown, MEANINGLESS, sizeof record->unknown);
    return sizeof *record;
}

static size_t compose_api(void *bytes, const flagsim_api_call *call, uint32_t id, uint32_t result) {
    Api *record = bytes;
    *record = (Api){ TWIN_OF_CALL(call, id, result) };
    memset(record->unknown, MEANINGLESS, sizeof record->unknown);
    return sizeof *record;
}

static size_t compose_external(void *bytes, uint32_t kind, uint64_t id, uint32_t correlation) {
    External *record = bytes;
    *record = (External){ TWIN_EXTERNAL, kind, id, correlation, 0, { 0 } };
    memset(record->unknown, MEANINGLESS, sizeof record->unknown);
    return sizeof *record;
}

// ---- callback ids: CUPTI's [CODE], as its headers of 13.0 number them

static const struct {
    uint32_t runtime;
    const char *runtime_name;
    uint32_t driver;
    const char *driver_name;
} ids[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_INIT] = { 0, NULL, 1, "cuInit" },
    [FLAGSIM_API_DEVICE_COUNT] = { 3, "cudaGetDeviceCount", 4, "cuDeviceGetCount" },
    [FLAGSIM_API_GET_DEVICE] = { 17, "cudaGetDevice", 16, "cuCtxGetDevice" },
    [FLAGSIM_API_SET_DEVICE] = { 16, "cudaSetDevice", 303, "cuCtxSetCurrent" },
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = { 165, "cudaDeviceSynchronize", 17, "cuCtxSynchronize" },
    [FLAGSIM_API_GET_LAST_ERROR] = { 10, "cudaGetLastError", 0, NULL },
    [FLAGSIM_API_PEEK_LAST_ERROR] = { 11, "cudaPeekAtLastError", 0, NULL },
    [FLAGSIM_API_MALLOC] = { 20, "cudaMalloc", 243, "cuMemAlloc" },
    [FLAGSIM_API_FREE] = { 22, "cudaFree", 245, "cuMemFree" },
    [FLAGSIM_API_HOST_MALLOC] = { 27, "cudaHostAlloc", 39, "cuMemHostAlloc" },
    [FLAGSIM_API_HOST_FREE] = { 26, "cudaFreeHost", 38, "cuMemFreeHost" },
    [FLAGSIM_API_MEM_INFO] = { 30, "cudaMemGetInfo", 242, "cuMemGetInfo" },
    [FLAGSIM_API_MEMCPY] = { 31, "cudaMemcpy", 305, "cuMemcpy" },
    [FLAGSIM_API_MEMCPY_ASYNC] = { 41, "cudaMemcpyAsync", 306, "cuMemcpyAsync" },
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = { 161, "cudaMemcpyPeerAsync", 319, "cuMemcpyPeerAsync" },
    [FLAGSIM_API_MEMSET] = { 49, "cudaMemset", 249, "cuMemsetD8" },
    [FLAGSIM_API_MEMSET_ASYNC] = { 51, "cudaMemsetAsync", 216, "cuMemsetD8Async" },
    [FLAGSIM_API_STREAM_CREATE] = { 198, "cudaStreamCreateWithFlags", 124, "cuStreamCreate" },
    [FLAGSIM_API_STREAM_DESTROY] = { 201, "cudaStreamDestroy", 326, "cuStreamDestroy" },
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = { 131, "cudaStreamSynchronize", 126, "cuStreamSynchronize" },
    [FLAGSIM_API_STREAM_QUERY] = { 132, "cudaStreamQuery", 125, "cuStreamQuery" },
    [FLAGSIM_API_STREAM_WAIT_EVENT] = { 147, "cudaStreamWaitEvent", 295, "cuStreamWaitEvent" },
    [FLAGSIM_API_EVENT_CREATE] = { 134, "cudaEventCreateWithFlags", 118, "cuEventCreate" },
    [FLAGSIM_API_EVENT_DESTROY] = { 136, "cudaEventDestroy", 325, "cuEventDestroy" },
    [FLAGSIM_API_EVENT_RECORD] = { 135, "cudaEventRecord", 119, "cuEventRecord" },
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = { 137, "cudaEventSynchronize", 121, "cuEventSynchronize" },
    [FLAGSIM_API_EVENT_QUERY] = { 138, "cudaEventQuery", 120, "cuEventQuery" },
    [FLAGSIM_API_EVENT_ELAPSED] = { 139, "cudaEventElapsedTime", 123, "cuEventElapsedTime" },
    [FLAGSIM_API_LAUNCH] = { 211, "cudaLaunchKernel", 307, "cuLaunchKernel" },
    [FLAGSIM_API_CAPTURE_BEGIN] = { 315, "cudaStreamBeginCapture", 539, "cuStreamBeginCapture" },
    [FLAGSIM_API_CAPTURE_END] = { 319, "cudaStreamEndCapture", 497, "cuStreamEndCapture" },
    [FLAGSIM_API_GRAPH_CREATE] = { 286, "cudaGraphCreate", 501, "cuGraphCreate" },
    [FLAGSIM_API_GRAPH_ADD_KERNEL] = { 289, "cudaGraphAddKernelNode", 502, "cuGraphAddKernelNode" },
    [FLAGSIM_API_GRAPH_ADD_COPY] = { 352, "cudaGraphAddMemcpyNode1D", 504, "cuGraphAddMemcpyNode" },
    [FLAGSIM_API_GRAPH_ADD_SET] = { 293, "cudaGraphAddMemsetNode", 506, "cuGraphAddMemsetNode" },
    [FLAGSIM_API_GRAPH_INSTANTIATE] = { 310, "cudaGraphInstantiate", 643, "cuGraphInstantiateWithFlags" },
    [FLAGSIM_API_GRAPH_LAUNCH] = { 311, "cudaGraphLaunch", 514, "cuGraphLaunch" },
    [FLAGSIM_API_GRAPH_DESTROY] = { 314, "cudaGraphDestroy", 517, "cuGraphDestroy" },
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = { 313, "cudaGraphExecDestroy", 516, "cuGraphExecDestroy" },
};

static uint32_t runtime_id(const flagsim_api_call *call) {
    return call->low_level ? 0 : ids[call->api].runtime;
}

// A driver record comes with every call of the runtime too, under the same id [SEED].
static uint32_t driver_id(const flagsim_api_call *call) {
    return ids[call->api].driver;
}

// ---- results: those that end an iteration have numbers that are not NVIDIA's [CODE]; which is not known

enum { PPU_MAX_LIMIT_REACHED = 41, PPU_INVALID_KIND = 42, PPU_NOT_COMPATIBLE = 14 };

static int result_of(int result) {
    return result == TWIN_MAX_LIMIT_REACHED ? PPU_MAX_LIMIT_REACHED
           : result == TWIN_INVALID_KIND    ? PPU_INVALID_KIND
                                            : result;
}

// ---- what both spellings do

static int get_version(uint32_t *version) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    *version = 21; // [GUESS] nobody has told what it reports
    return TWIN_SUCCESS;
}

static int get_result_string(int result, const char **text) {
    if (result == PPU_NOT_COMPATIBLE && !fc_enter()) {
        *text = "HGPTI_ERROR_NOT_COMPATIBLE";
        return TWIN_SUCCESS;
    }
    return twin_result_text(result == PPU_MAX_LIMIT_REACHED ? TWIN_MAX_LIMIT_REACHED
                            : result == PPU_INVALID_KIND    ? TWIN_INVALID_KIND
                                                            : result,
                            "HGPTI", text);
}

static int get_callback_name(int domain, uint32_t cbid, const char **name) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    for (int api = 0; name && cbid && api < FLAGSIM_API_COUNT; api++) {
        uint32_t id = domain == 2 ? ids[api].runtime : domain == 1 ? ids[api].driver : 0;
        if (id != cbid)
            continue;
        *name = domain == 2 ? ids[api].runtime_name : ids[api].driver_name;
        return TWIN_SUCCESS;
    }
    return TWIN_INVALID_PARAMETER;
}

// The two kinds of kernels exclude each other [CODE].
static int enable(int kind) {
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber))
        return TWIN_MULTIPLE_SUBSCRIBERS;
    bool taken = flagsim_fault_on(FLAGSIM_FAULT_kernel_kind_taken);
    if (kind == TWIN_CONCURRENT_KERNEL && (taken || fc_armed(TWIN_KERNEL)))
        return PPU_NOT_COMPATIBLE;
    if (kind == TWIN_KERNEL && fc_armed(TWIN_CONCURRENT_KERNEL))
        return PPU_NOT_COMPATIBLE;
    return result_of(twin_enable((uint32_t)kind, true));
}

// What no flush brought out before is gone with the last kind, though the facts tell only the order that works.
static int disable(int kind) {
    int result = twin_enable((uint32_t)kind, false);
    if (result == TWIN_SUCCESS && !twin_is_busy())
        fc_discard();
    return result_of(result);
}

// Buffers that were handed back lately: the library knows no others.
enum { KNOWN = 256 };
static _Atomic(uint8_t *) known[KNOWN];
static atomic_uint known_count;

static bool is_known(const uint8_t *buffer) {
    for (size_t at = 0; at < KNOWN; at++)
        if (atomic_load(&known[at]) == buffer)
            return true;
    return false;
}

static int get_next_record(uint8_t *buffer, size_t valid, void **record) {
    if (flagsim_fault_on(FLAGSIM_FAULT_own_buffers_only) && !is_known(buffer))
        return TWIN_INVALID_PARAMETER;
    int result = twin_next_record(buffer, valid, record);
    if (result == TWIN_MAX_LIMIT_REACHED && flagsim_fault_on(FLAGSIM_FAULT_end_is_null)) {
        *record = NULL;
        return TWIN_SUCCESS;
    }
    return result_of(result);
}

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t) =
        (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))(void (*)(void))tool->complete;
    if (!is_known(buffer))
        atomic_store(&known[atomic_fetch_add(&known_count, 1) % KNOWN], buffer);
    complete(NULL, 0, buffer, size, valid);
}

// ---- exported, each under both names

#define BOTH(name, parameters, body)                                                                         \
    PUBLIC int hgpti##name parameters;                                                                       \
    PUBLIC int cupti##name parameters;                                                                       \
    int hgpti##name parameters {                                                                             \
        return body;                                                                                         \
    }                                                                                                        \
    int cupti##name parameters {                                                                             \
        return body;                                                                                         \
    }

BOTH(GetVersion, (uint32_t * version), get_version(version))
BOTH(GetTimestamp, (uint64_t * timestamp), twin_timestamp(timestamp))
BOTH(GetResultString, (int result, const char **text), get_result_string(result, text))
BOTH(GetCallbackName, (int domain, uint32_t cbid, const char **name), get_callback_name(domain, cbid, name))
BOTH(ActivityEnable, (int kind), enable(kind))
BOTH(ActivityDisable, (int kind), disable(kind))
BOTH(ActivityRegisterCallbacks, (fc_request requested, fc_complete completed),
     twin_register(requested, completed))
BOTH(ActivityFlushAll, (uint32_t flag), (flag ? twin_flush() : TWIN_SUCCESS))
BOTH(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record),
     get_next_record(buffer, valid, record))
BOTH(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped),
     ((void)context, (void)stream, twin_dropped(dropped)))
BOTH(ActivityPushExternalCorrelationId, (int kind, uint64_t id), twin_push((uint32_t)kind, id))
BOTH(ActivityPopExternalCorrelationId, (int kind, uint64_t *last), twin_pop((uint32_t)kind, last))

__attribute__((constructor)) static void load(void) {
    twin_setup(&(twin_vendor){
        .name = "ppu",
        .kernel = compose_kernel,
        .copy = compose_copy,
        .set = compose_set,
        .api = compose_api,
        .external = compose_external,
        .kernel_bytes = sizeof(Kernel),
        .copy_bytes = sizeof(Memcpy),
        .set_bytes = sizeof(Memset),
        .api_bytes = sizeof(Api),
        .external_bytes = sizeof(External),
        .runtime_id = runtime_id,
        .driver_id = driver_id,
        .clock_start_ns = UINT64_C(4100000000000), // its epoch is its own, and its rate under load [CODE]
        .clock_ppm = 60,
        .kernel_as_armed = true,
        .deliver = deliver,
    });
}
