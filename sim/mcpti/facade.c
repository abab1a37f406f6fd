// facade.c - MetaX's MCPTI over the simulated accelerator.
//
// In:  a tool's calls to the functions that libmcpti.so exports.
// Out: the same results, and records through the tool's own buffers. The structs are written from the
//      fact sheet, whose marks they carry: MetaX publishes no header, and FlagProf's own mirror is not
//      looked at, so that a mistake there is not repeated here.
#include "../twin.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
// The bridge for CUDA programs offers the same functions by CUPTI's spellings [CODE].
#define BRIDGE(name) __attribute__((visibility("default"), alias(name)))

extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: MCPTI of MACA 3.5.3 over FlagProf's simulated accelerator";

// ---- records

typedef struct Kernel8 { // 200 bytes [CODE]; fields to 111 [CODE], the rest [DERIVED]
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
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node_id;
    uint32_t shared_limit_config, graph_id;
    void *access_policy_window;
    uint32_t channel_id, channel_type;
    uint32_t cluster[3], cluster_policy;
    uint64_t local_total_v2;
} Kernel8;

typedef struct Memcpy5 { // 88 bytes [CODE]; fields to 47 [CODE], the rest [DERIVED]
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint32_t runtime_correlation_id, pad;
    void *reserved;
    uint64_t graph_node_id;
    uint32_t graph_id, channel_id, channel_type, pad2;
} Memcpy5;

typedef struct Memset4 { // 88 bytes [CODE]; fields to 47 [CODE], the rest [DERIVED]
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node_id;
    uint32_t graph_id, channel_id, channel_type, pad2;
} Memset4;

typedef struct Api { // 40 bytes [CODE]
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process_id, thread_id, correlation_id, return_value;
} Api;

typedef struct External { // 24 bytes [CODE]
    uint32_t kind, external_kind;
    uint64_t external_id;
    uint32_t correlation_id, reserved;
} External;

// The fact sheet's own numbers, so that a slip of the pen above does not compile.
_Static_assert(sizeof(Kernel8) == 200 && offsetof(Kernel8, start) == 16 &&
                   offsetof(Kernel8, device_id) == 40 && offsetof(Kernel8, grid) == 52 &&
                   offsetof(Kernel8, correlation_id) == 92 && offsetof(Kernel8, name) == 104 &&
                   offsetof(Kernel8, queued) == 120 && offsetof(Kernel8, graph_node_id) == 144 &&
                   offsetof(Kernel8, graph_id) == 156,
               "Kernel8");
_Static_assert(sizeof(Memcpy5) == 88 && offsetof(Memcpy5, correlation_id) == 44 &&
                   offsetof(Memcpy5, graph_node_id) == 64,
               "Memcpy5");
_Static_assert(sizeof(Memset4) == 88 && offsetof(Memset4, memory_kind) == 50 &&
                   offsetof(Memset4, graph_id) == 72,
               "Memset4");
_Static_assert(sizeof(Api) == 40 && offsetof(Api, correlation_id) == 32 && sizeof(External) == 24, "Api");

static size_t compose_kernel(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Kernel8 *)bytes = (Kernel8){
        TWIN_OF_KERNEL(activity, work, activity->of.kernel.info),
        .name = twin_kernel_name(activity, work),
        .shared_executed = 32768,
        TWIN_OF_GRAPH(activity),
    };
    return sizeof(Kernel8);
}

static size_t compose_copy(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Memcpy5 *)bytes = (Memcpy5){
        TWIN_OF_COPY(activity, work),
        TWIN_OF_GRAPH(activity),
    };
    return sizeof(Memcpy5);
}

static size_t compose_set(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Memset4 *)bytes = (Memset4){ TWIN_OF_SET(activity, work), TWIN_OF_GRAPH(activity) };
    return sizeof(Memset4);
}

static size_t compose_api(void *bytes, const flagsim_api_call *call, uint32_t id, uint32_t result) {
    *(Api *)bytes = (Api){ TWIN_OF_CALL(call, id, result) };
    return sizeof(Api);
}

static size_t compose_external(void *bytes, uint32_t kind, uint64_t id, uint32_t correlation) {
    *(External *)bytes = (External){ TWIN_EXTERNAL, kind, id, correlation, 0 };
    return sizeof(External);
}

// ---- callback ids: MetaX's own numbering

// What public code names is [CODE]; the ids from 400 on are made up, since nobody has told theirs.
static const struct {
    uint32_t id;
    const char *name;
} ids[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_DEVICE_COUNT] = { 20, "mcGetDeviceCount" },
    [FLAGSIM_API_GET_DEVICE] = { 19, "mcGetDevice" },
    [FLAGSIM_API_SET_DEVICE] = { 23, "mcSetDevice" },
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = { 18, "mcDeviceSynchronize" },
    [FLAGSIM_API_GET_LAST_ERROR] = { 400, "mcGetLastError" },
    [FLAGSIM_API_PEEK_LAST_ERROR] = { 401, "mcPeekAtLastError" },
    [FLAGSIM_API_MALLOC] = { 107, "mcMalloc" },
    [FLAGSIM_API_FREE] = { 108, "mcFree" },
    [FLAGSIM_API_HOST_MALLOC] = { 402, "mcHostAlloc" },
    [FLAGSIM_API_HOST_FREE] = { 403, "mcFreeHost" },
    [FLAGSIM_API_MEM_INFO] = { 404, "mcMemGetInfo" },
    [FLAGSIM_API_MEMCPY] = { 118, "mcMemcpy" },
    [FLAGSIM_API_MEMCPY_ASYNC] = { 119, "mcMemcpyAsync" },
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = { 405, "mcMemcpyPeerAsync" },
    [FLAGSIM_API_MEMSET] = { 146, "mcMemset" },
    [FLAGSIM_API_MEMSET_ASYNC] = { 147, "mcMemsetAsync" },
    [FLAGSIM_API_STREAM_CREATE] = { 406, "mcStreamCreateWithFlags" },
    [FLAGSIM_API_STREAM_DESTROY] = { 407, "mcStreamDestroy" },
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = { 46, "mcStreamSynchronize" },
    [FLAGSIM_API_STREAM_QUERY] = { 408, "mcStreamQuery" },
    [FLAGSIM_API_STREAM_WAIT_EVENT] = { 47, "mcStreamWaitEvent" },
    [FLAGSIM_API_EVENT_CREATE] = { 409, "mcEventCreateWithFlags" },
    [FLAGSIM_API_EVENT_DESTROY] = { 410, "mcEventDestroy" },
    [FLAGSIM_API_EVENT_RECORD] = { 74, "mcEventRecord" },
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = { 76, "mcEventSynchronize" },
    [FLAGSIM_API_EVENT_QUERY] = { 411, "mcEventQuery" },
    [FLAGSIM_API_EVENT_ELAPSED] = { 412, "mcEventElapsedTime" },
    [FLAGSIM_API_LAUNCH] = { 56, "mcLaunchKernel" },
    [FLAGSIM_API_CAPTURE_BEGIN] = { 413, "mcStreamBeginCapture" },
    [FLAGSIM_API_CAPTURE_END] = { 414, "mcStreamEndCapture" },
    [FLAGSIM_API_GRAPH_CREATE] = { 415, "mcGraphCreate" },
    [FLAGSIM_API_GRAPH_ADD_KERNEL] = { 416, "mcGraphAddKernelNode" },
    [FLAGSIM_API_GRAPH_ADD_COPY] = { 417, "mcGraphAddMemcpyNode1D" },
    [FLAGSIM_API_GRAPH_ADD_SET] = { 418, "mcGraphAddMemsetNode" },
    [FLAGSIM_API_GRAPH_INSTANTIATE] = { 419, "mcGraphInstantiate" },
    [FLAGSIM_API_GRAPH_LAUNCH] = { 420, "mcGraphLaunch" },
    [FLAGSIM_API_GRAPH_DESTROY] = { 421, "mcGraphDestroy" },
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = { 422, "mcGraphExecDestroy" },
};

enum { MODULE_LAUNCH = 60, LAUNCH_EXTENDED = 62 };

// MACA keeps the module interface in its runtime library, so the lower interface's launches are runtime calls
// too, by another name [CODE].
static uint32_t runtime_id(const flagsim_api_call *call) {
    if (call->api == FLAGSIM_API_LAUNCH && call->low_level)
        return MODULE_LAUNCH;
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED)
        return LAUNCH_EXTENDED;
    return ids[call->api].id;
}

static uint32_t driver_id(const flagsim_api_call *call) {
    (void)call;
    return 0;
}

// ---- exported

PUBLIC int mcptiGetVersion(uint32_t *version);
PUBLIC int mcptiGetTimestamp(uint64_t *timestamp);
PUBLIC int mcptiGetResultString(int result, const char **text);
PUBLIC int mcptiActivityEnable(uint32_t kind);
PUBLIC int mcptiActivityDisable(uint32_t kind);
PUBLIC int mcptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
PUBLIC int mcptiActivityFlushAll(uint32_t flag);
PUBLIC int mcptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
PUBLIC int mcptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
PUBLIC int mcptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
PUBLIC int mcptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);
PUBLIC int mcptiActivityGetApiName(uint32_t kind, uint32_t cbid, const char **name);

int mcptiGetVersion(uint32_t *version) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    *version = flagsim_fault_on(FLAGSIM_FAULT_version_mismatch) ? 26 : 18; // 18 on MACA 3.5.3 [CODE]
    return TWIN_SUCCESS;
}

int mcptiGetTimestamp(uint64_t *timestamp) {
    return twin_timestamp(timestamp);
}

int mcptiGetResultString(int result, const char **text) {
    return twin_result_text(result, "MCPTI", text);
}

int mcptiActivityEnable(uint32_t kind) {
    return twin_enable(kind, true);
}

int mcptiActivityDisable(uint32_t kind) {
    return twin_enable(kind, false);
}

int mcptiActivityRegisterCallbacks(fc_request requested, fc_complete completed) {
    return twin_register(requested, completed);
}

// Forced, it may hand out what is not finished [CODE]: here a kernel that has begun.
static void write_unfinished(void) {
    Kernel8 record = {
        .kind = TWIN_CONCURRENT_KERNEL,
        .start = fc_now(),
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
        .correlation_id = flagsim_next_correlation(),
    };
    if (fc_armed(TWIN_CONCURRENT_KERNEL))
        fc_write(FLAGSIM_RECORD_KERNEL, &record, sizeof record, 1u << FLAGSIM_FATE_NO_END);
}

int mcptiActivityFlushAll(uint32_t flag) {
    if (flag)
        write_unfinished();
    return twin_flush();
}

int mcptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    return twin_next_record(buffer, valid, record);
}

int mcptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    (void)context;
    (void)stream;
    return twin_dropped(dropped);
}

int mcptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
    return twin_push(kind, id);
}

int mcptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) {
    return twin_pop(kind, last);
}

static const char *name_of(uint32_t cbid) {
    if (cbid == MODULE_LAUNCH)
        return "mcModuleLaunchKernel";
    if (cbid == LAUNCH_EXTENDED)
        return "mcLaunchKernelExC";
    for (int api = 0; api < FLAGSIM_API_COUNT; api++)
        if (cbid && ids[api].id == cbid)
            return ids[api].name;
    return NULL;
}

// 3.8.0 deadlocks when it is asked from inside a buffer callback, and is safe only after flush and disable
// [CODE].
int mcptiActivityGetApiName(uint32_t kind, uint32_t cbid, const char **name) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    while (flagsim_fault_on(FLAGSIM_FAULT_resolver_deadlock) && (twin_is_delivering() || twin_is_busy()))
        pause();
    const char *found = kind == TWIN_RUNTIME ? name_of(cbid) : NULL;
    if (!name || !found)
        return TWIN_INVALID_PARAMETER;
    *name = found;
    return TWIN_SUCCESS;
}

BRIDGE("mcptiGetVersion") int cuptiGetVersion(uint32_t *version);
BRIDGE("mcptiGetTimestamp") int cuptiGetTimestamp(uint64_t *timestamp);
BRIDGE("mcptiGetResultString") int cuptiGetResultString(int result, const char **text);
BRIDGE("mcptiActivityEnable") int cuptiActivityEnable(uint32_t kind);
BRIDGE("mcptiActivityDisable") int cuptiActivityDisable(uint32_t kind);
BRIDGE("mcptiActivityRegisterCallbacks")
int cuptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
BRIDGE("mcptiActivityFlushAll") int cuptiActivityFlushAll(uint32_t flag);
BRIDGE("mcptiActivityGetNextRecord")
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
BRIDGE("mcptiActivityGetNumDroppedRecords")
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
BRIDGE("mcptiActivityPushExternalCorrelationId")
int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
BRIDGE("mcptiActivityPopExternalCorrelationId")
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t) =
        (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))(void (*)(void))tool->complete;
    complete(NULL, 0, buffer, size, valid);
}

__attribute__((constructor)) static void load(void) {
    twin_setup(&(twin_vendor){
        .name = "mcpti",
        .kernel = compose_kernel,
        .copy = compose_copy,
        .set = compose_set,
        .api = compose_api,
        .external = compose_external,
        .kernel_bytes = sizeof(Kernel8),
        .copy_bytes = sizeof(Memcpy5),
        .set_bytes = sizeof(Memset4),
        .api_bytes = sizeof(Api),
        .external_bytes = sizeof(External),
        .runtime_id = runtime_id,
        .driver_id = driver_id,
        .clock_start_ns = UINT64_C(350000000000), // values like 3.5e11 against an epoch of 1.79e18 [CODE]
        .clock_ppm = 20,
        .stale_iterator = true,
        .holds = true,
        .deliver = deliver,
    });
}
