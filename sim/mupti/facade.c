// facade.c - Moore Threads' MUPTI over the simulated accelerator.
//
// In:  a tool's calls to the functions that libmupti.so exports.
// Out: the same results, and records through the tool's own buffers. The structs are written from the
//      fact sheet, whose marks they carry: MetaX publishes no header, and FlagProf's own mirror is not
//      looked at, so that a mistake there is not repeated here.
#include "../twin.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: MUPTI of MUSA 4.3 over FlagProf's simulated accelerator";

// ---- records: those of CUPTI 11.2 under other names, all offsets [DERIVED]

typedef struct Kernel6 { // 168 bytes
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
} Kernel6;

typedef struct Memcpy4 { // 80 bytes
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint32_t runtime_correlation_id, pad;
    void *reserved;
    uint64_t graph_node_id;
    uint32_t graph_id, padding;
} Memcpy4;

typedef struct Memset3 { // 80 bytes
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node_id;
    uint32_t graph_id, padding;
} Memset3;

typedef struct Api { // 40 bytes
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process_id, thread_id, correlation_id, return_value;
} Api;

typedef struct External { // 24 bytes
    uint32_t kind, external_kind;
    uint64_t external_id;
    uint32_t correlation_id, reserved;
} External;

// The fact sheet's own numbers, so that a slip of the pen above does not compile.
_Static_assert(sizeof(Kernel6) == 168 && offsetof(Kernel6, start) == 16 &&
                   offsetof(Kernel6, device_id) == 40 && offsetof(Kernel6, grid) == 52 &&
                   offsetof(Kernel6, correlation_id) == 92 && offsetof(Kernel6, name) == 104 &&
                   offsetof(Kernel6, queued) == 120 && offsetof(Kernel6, graph_node_id) == 144 &&
                   offsetof(Kernel6, graph_id) == 156,
               "Kernel6");
_Static_assert(sizeof(Memcpy4) == 80 && offsetof(Memcpy4, correlation_id) == 44 &&
                   offsetof(Memcpy4, graph_node_id) == 64,
               "Memcpy4");
_Static_assert(sizeof(Memset3) == 80 && offsetof(Memset3, memory_kind) == 50 &&
                   offsetof(Memset3, graph_id) == 72,
               "Memset3");
_Static_assert(sizeof(Api) == 40 && offsetof(Api, correlation_id) == 32 && sizeof(External) == 24, "Api");

static size_t compose_kernel(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Kernel6 *)bytes = (Kernel6){
        TWIN_OF_KERNEL(activity, work, activity->of.kernel.info),
        .name = twin_kernel_name(activity, work),
        .shared_executed = 32768,
        TWIN_OF_GRAPH(activity),
    };
    return sizeof(Kernel6);
}

static size_t compose_copy(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Memcpy4 *)bytes = (Memcpy4){
        TWIN_OF_COPY(activity, work),
        .runtime_correlation_id = activity->correlation, // [CODE]
        TWIN_OF_GRAPH(activity),
    };
    return sizeof(Memcpy4);
}

static size_t compose_set(void *bytes, const flagsim_activity *activity, const fc_work *work) {
    *(Memset3 *)bytes = (Memset3){ TWIN_OF_SET(activity, work), TWIN_OF_GRAPH(activity) };
    return sizeof(Memset3);
}

static size_t compose_api(void *bytes, const flagsim_api_call *call, uint32_t id, uint32_t result) {
    *(Api *)bytes = (Api){ TWIN_OF_CALL(call, id, result) };
    return sizeof(Api);
}

static size_t compose_external(void *bytes, uint32_t kind, uint64_t id, uint32_t correlation) {
    *(External *)bytes = (External){ TWIN_EXTERNAL, kind, id, correlation, 0 };
    return sizeof(External);
}

// ---- callback ids: CUPTI's numbering, of which two ids are [CODE] and the rest [GUESS]

static const struct {
    uint32_t runtime;
    const char *runtime_name;
    uint32_t driver;
    const char *driver_name;
} ids[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_INIT] = { 0, NULL, 1, "muInit" },
    [FLAGSIM_API_DEVICE_COUNT] = { 3, "musaGetDeviceCount", 4, "muDeviceGetCount" },
    [FLAGSIM_API_GET_DEVICE] = { 17, "musaGetDevice", 16, "muCtxGetDevice" },
    [FLAGSIM_API_SET_DEVICE] = { 16, "musaSetDevice", 303, "muCtxSetCurrent" },
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = { 165, "musaDeviceSynchronize", 17, "muCtxSynchronize" },
    [FLAGSIM_API_GET_LAST_ERROR] = { 10, "musaGetLastError", 0, NULL },
    [FLAGSIM_API_PEEK_LAST_ERROR] = { 11, "musaPeekAtLastError", 0, NULL },
    [FLAGSIM_API_MALLOC] = { 20, "musaMalloc", 243, "muMemAlloc_v2" },
    [FLAGSIM_API_FREE] = { 22, "musaFree", 245, "muMemFree_v2" },
    [FLAGSIM_API_HOST_MALLOC] = { 27, "musaHostAlloc", 39, "muMemHostAlloc" },
    [FLAGSIM_API_HOST_FREE] = { 26, "musaFreeHost", 38, "muMemFreeHost" },
    [FLAGSIM_API_MEM_INFO] = { 30, "musaMemGetInfo", 242, "muMemGetInfo_v2" },
    [FLAGSIM_API_MEMCPY] = { 31, "musaMemcpy", 248, "muMemcpy" },
    [FLAGSIM_API_MEMCPY_ASYNC] = { 41, "musaMemcpyAsync", 60, "muMemcpyAsync" },
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = { 161, "musaMemcpyPeerAsync", 319, "muMemcpyPeerAsync" },
    [FLAGSIM_API_MEMSET] = { 49, "musaMemset", 71, "muMemsetD8_v2" },
    [FLAGSIM_API_MEMSET_ASYNC] = { 51, "musaMemsetAsync", 216, "muMemsetD8Async" },
    [FLAGSIM_API_STREAM_CREATE] = { 198, "musaStreamCreateWithFlags", 124, "muStreamCreate" },
    [FLAGSIM_API_STREAM_DESTROY] = { 130, "musaStreamDestroy", 127, "muStreamDestroy" },
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = { 131, "musaStreamSynchronize_v3020", 126, "muStreamSynchronize" },
    [FLAGSIM_API_STREAM_QUERY] = { 132, "musaStreamQuery", 125, "muStreamQuery" },
    [FLAGSIM_API_STREAM_WAIT_EVENT] = { 147, "musaStreamWaitEvent", 295, "muStreamWaitEvent" },
    [FLAGSIM_API_EVENT_CREATE] = { 134, "musaEventCreateWithFlags", 118, "muEventCreate" },
    [FLAGSIM_API_EVENT_DESTROY] = { 136, "musaEventDestroy", 122, "muEventDestroy" },
    [FLAGSIM_API_EVENT_RECORD] = { 135, "musaEventRecord", 119, "muEventRecord" },
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = { 137, "musaEventSynchronize", 121, "muEventSynchronize" },
    [FLAGSIM_API_EVENT_QUERY] = { 138, "musaEventQuery", 120, "muEventQuery" },
    [FLAGSIM_API_EVENT_ELAPSED] = { 139, "musaEventElapsedTime", 123, "muEventElapsedTime" },
    [FLAGSIM_API_LAUNCH] = { 211, "musaLaunchKernel", 307, "muLaunchKernel" },
    [FLAGSIM_API_CAPTURE_BEGIN] = { 315, "musaStreamBeginCapture", 495, "muStreamBeginCapture" },
    [FLAGSIM_API_CAPTURE_END] = { 319, "musaStreamEndCapture", 497, "muStreamEndCapture" },
    [FLAGSIM_API_GRAPH_CREATE] = { 286, "musaGraphCreate", 501, "muGraphCreate" },
    [FLAGSIM_API_GRAPH_ADD_KERNEL] = { 289, "musaGraphAddKernelNode", 502, "muGraphAddKernelNode" },
    [FLAGSIM_API_GRAPH_ADD_COPY] = { 290, "musaGraphAddMemcpyNode", 504, "muGraphAddMemcpyNode" },
    [FLAGSIM_API_GRAPH_ADD_SET] = { 293, "musaGraphAddMemsetNode", 506, "muGraphAddMemsetNode" },
    [FLAGSIM_API_GRAPH_INSTANTIATE] = { 310, "musaGraphInstantiate", 513, "muGraphInstantiate" },
    [FLAGSIM_API_GRAPH_LAUNCH] = { 311, "musaGraphLaunch", 514, "muGraphLaunch" },
    [FLAGSIM_API_GRAPH_DESTROY] = { 314, "musaGraphDestroy", 517, "muGraphDestroy" },
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = { 313, "musaGraphExecDestroy", 516, "muGraphExecDestroy" },
};

// An API record is written only for the outermost call of a thread [CODE]: a driver call inside of a runtime
// call has none.
static uint32_t runtime_id(const flagsim_api_call *call) {
    return call->low_level ? 0 : ids[call->api].runtime;
}

static uint32_t driver_id(const flagsim_api_call *call) {
    return call->low_level ? ids[call->api].driver : 0;
}

// ---- exported

PUBLIC int muptiGetVersion(uint32_t *version);
PUBLIC int muptiGetTimestamp(uint64_t *timestamp);
PUBLIC int muptiGetResultString(int result, const char **text);
PUBLIC int muptiGetCallbackName(int domain, uint32_t cbid, const char **name);
PUBLIC int muptiActivityEnable(int kind);
PUBLIC int muptiActivityDisable(int kind);
PUBLIC int muptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
PUBLIC int muptiActivityFlushAll(uint32_t flag);
PUBLIC int muptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
PUBLIC int muptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
PUBLIC int muptiActivityPushExternalCorrelationId(int kind, uint64_t id);
PUBLIC int muptiActivityPopExternalCorrelationId(int kind, uint64_t *last);

int muptiGetVersion(uint32_t *version) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    *version = 14; // [GUESS] what CUPTI 11.2 reports
    return TWIN_SUCCESS;
}

int muptiGetTimestamp(uint64_t *timestamp) {
    return twin_timestamp(timestamp);
}

int muptiGetResultString(int result, const char **text) {
    uint64_t other = flagsim_fault_value(FLAGSIM_FAULT_other_numbers);
    if (other == 1 || (other > 2 && other == (uint64_t)result))
        result++;
    return twin_result_text(result, "MUPTI", text);
}

static const char *name_of(int domain, uint32_t cbid) {
    for (int api = 0; api < FLAGSIM_API_COUNT; api++) {
        if (domain == 2 && cbid && ids[api].runtime == cbid)
            return ids[api].runtime_name;
        if (domain == 1 && cbid && ids[api].driver == cbid)
            return ids[api].driver_name;
    }
    return NULL;
}

// Safe from a buffer callback too [CODE].
int muptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    if (fc_enter())
        return TWIN_NOT_INITIALIZED;
    uint64_t other = flagsim_fault_value(FLAGSIM_FAULT_other_numbers);
    if (other == 2)
        domain = 3 - domain;
    if (other > 2 && other == cbid)
        cbid++;
    const char *found = name_of(domain, cbid);
    if (!name || !found)
        return TWIN_INVALID_PARAMETER;
    *name = found;
    return TWIN_SUCCESS;
}

static atomic_bool enabled_since_flush;

int muptiActivityEnable(int kind) {
    atomic_store(&enabled_since_flush, true);
    // One subscriber a process, and the driver's one slot for tools [CODE].
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber))
        return TWIN_MULTIPLE_SUBSCRIBERS;
    return twin_enable((uint32_t)kind, true);
}

int muptiActivityDisable(int kind) {
    return twin_enable((uint32_t)kind, false);
}

int muptiActivityRegisterCallbacks(fc_request requested, fc_complete completed) {
    return twin_register(requested, completed);
}

// MUSA 4.3: a flush may hang where there is nothing to wait for any more, as a second one, or one with
// nothing enabled [CODE].
int muptiActivityFlushAll(uint32_t flag) {
    static atomic_bool flushed;
    bool again = atomic_exchange(&flushed, true) && !atomic_load(&enabled_since_flush);
    atomic_store(&enabled_since_flush, false);
    while (flagsim_fault_on(FLAGSIM_FAULT_second_flush_hangs) && (again || !twin_is_busy()))
        pause();
    return flag ? twin_flush() : TWIN_SUCCESS; // not forced: whole buffers alone, as CUPTI's [GUESS]
}

int muptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    return twin_next_record(buffer, valid, record);
}

int muptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    (void)context;
    (void)stream;
    return twin_dropped(dropped);
}

int muptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    if (flagsim_fault_value(FLAGSIM_FAULT_no_external_records) == 2)
        return TWIN_NOT_IMPLEMENTED;
    return twin_push((uint32_t)kind, id);
}

int muptiActivityPopExternalCorrelationId(int kind, uint64_t *last) {
    if (flagsim_fault_value(FLAGSIM_FAULT_no_external_records) == 2)
        return TWIN_NOT_IMPLEMENTED;
    return twin_pop((uint32_t)kind, last);
}

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t) =
        (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))(void (*)(void))tool->complete;
    complete(NULL, 0, buffer, size, valid);
}

__attribute__((constructor)) static void load(void) {
    twin_setup(&(twin_vendor){
        .name = "mupti",
        .kernel = compose_kernel,
        .copy = compose_copy,
        .set = compose_set,
        .api = compose_api,
        .external = compose_external,
        .kernel_bytes = sizeof(Kernel6),
        .copy_bytes = sizeof(Memcpy4),
        .set_bytes = sizeof(Memset3),
        .api_bytes = sizeof(Api),
        .external_bytes = sizeof(External),
        .runtime_id = runtime_id,
        .driver_id = driver_id,
        .clock_start_ns = UINT64_C(9000000000000000), // not the epoch on an MTT S5000 [CODE]
        .clock_ppm = -15,
        .deliver = deliver,
    });
}
