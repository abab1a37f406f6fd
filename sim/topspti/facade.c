// facade.c - Enflame's TOPSPTI over the simulated accelerator.
//
// In:  a tool's calls to the functions that libtopspti.so exports.
// Out: the same results; a callback at enter and exit of each runtime call, on its thread; records through
//      the tool's own buffers, handed back by a thread of the library. Names and calling conventions are the
//      fact sheet's [CODE]; where a record's fields lie is a table (layout.h), since nobody has published it.
//
// As on real hardware [CODE]: nothing comes from the driver's domain, and there are no external ids at all.
#include "../twin.h"

#include "layout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: TOPSPTI 4 over FlagProf's simulated accelerator";

enum { VERSION = 4, FORCED = 1, RUNTIME_CALLS = 40, DRIVER_CALLS = 41, KINDS_MAX = 40, BUSY = 39 };

typedef void (*Callback)(void *user, int domain, uint32_t cbid, const void *data);

static struct {
    _Atomic(Callback) callback; // the one subscriber's
    void *_Atomic user;
    atomic_int threads_are_system; // topsptiSetThreadIdType
    _Atomic uint64_t kernels;
} state;

// ---- callback ids: Enflame's own table [CODE]; what it lacks comes after it [GUESS]

static const char *const names[] = {
    NULL,
    "Memset",
    "MemsetAsync",
    "MemsetD8",
    "MemsetD8Async",
    "MemsetD16",
    "MemsetD16Async",
    "MemsetD32",
    "MemsetD32Async",
    "Memcpy",
    "MemcpyAsync",
    "MemcpyWithStream",
    "MemcpyHtoD",
    "MemcpyDtoH",
    "MemcpyDtoD",
    "MemcpyHtoDAsync",
    "MemcpyDtoHAsync",
    "MemcpyDtoDAsync",
    "MemcpyToSymbol",
    "MemcpyToSymbolAsync",
    "MemcpyFromSymbol",
    "MemcpyFromSymbolAsync",
    "ModuleLaunchKernel",
    "ModuleLaunchKernelEx",
    "LaunchKernel",
    "LaunchKernelExC",
    "LaunchCooperativeKernel",
    "GraphInstantiate",
    "GraphLaunch",
    "GraphExecDestroy",
    "GraphDestroy",
    "GraphDebugDotPrint",
    "GraphInstantiateWithFlags",
    "DriverGetVersion",
    "RuntimeGetVersion",
    "DeviceGet",
    "DeviceComputeCapability",
    "DeviceGetName",
    "DeviceTotalMem",
    "DeviceSynchronize",
    "DeviceReset",
    "SetDevice",
    "GetDevice",
    "GetDeviceCount",
    "DeviceGetAttribute",
    "GetDeviceProperties",
    "DeviceSetLimit",
    "DeviceGetLimit",
    "GetDeviceFlags",
    "SetDeviceFlags",
    "StreamCreate",
    "StreamCreateWithFlags",
    "StreamDestroy",
    "StreamGetId",
    "StreamSynchronize",
    "StreamWaitEvent",
    "EventCreateWithFlags",
    "EventCreate",
    "EventRecord",
    "EventDestroy",
    "EventSynchronize",
    "Malloc",
    "HostMalloc",
    "HostGetDevicePointer",
    "HostRegister",
    "HostUnregister",
    "Free",
    "HostFree",
    "MemPtrGetInfo",
    "ModuleLoadData",
    "ModuleLoad",
    "ModuleGetFunction",
    "IpcOpenEventHandle",
    "IpcGetEventHandle",
    "MemGetInfo",
    "GetErrorString",
    "StreamGetLaunchLimit",
    "StreamSetLaunchLimit",
    // [GUESS] not in the table that was seen
    "StreamQuery",
    "EventQuery",
    "EventElapsedTime",
    "GetLastError",
    "PeekAtLastError",
    "StreamBeginCapture",
    "StreamEndCapture",
    "GraphCreate",
    "GraphAddKernelNode",
    "GraphAddMemcpyNode",
    "GraphAddMemsetNode",
    "MemcpyPeerAsync",
};

enum { NAMES = sizeof names / sizeof *names };
_Static_assert(NAMES == 90, "the table of 77 names [CODE], the rest behind it");

static const uint8_t ids[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_DEVICE_COUNT] = 43,
    [FLAGSIM_API_GET_DEVICE] = 42,
    [FLAGSIM_API_SET_DEVICE] = 41,
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = 39,
    [FLAGSIM_API_MALLOC] = 61,
    [FLAGSIM_API_FREE] = 66,
    [FLAGSIM_API_HOST_MALLOC] = 62,
    [FLAGSIM_API_HOST_FREE] = 67,
    [FLAGSIM_API_MEM_INFO] = 74,
    [FLAGSIM_API_MEMCPY] = 9,
    [FLAGSIM_API_MEMCPY_ASYNC] = 10,
    [FLAGSIM_API_MEMSET] = 1,
    [FLAGSIM_API_MEMSET_ASYNC] = 2,
    [FLAGSIM_API_STREAM_CREATE] = 51,
    [FLAGSIM_API_STREAM_DESTROY] = 52,
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = 54,
    [FLAGSIM_API_STREAM_WAIT_EVENT] = 55,
    [FLAGSIM_API_EVENT_CREATE] = 56,
    [FLAGSIM_API_EVENT_RECORD] = 58,
    [FLAGSIM_API_EVENT_DESTROY] = 59,
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = 60,
    [FLAGSIM_API_LAUNCH] = 24,
    [FLAGSIM_API_GRAPH_INSTANTIATE] = 27,
    [FLAGSIM_API_GRAPH_LAUNCH] = 28,
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = 29,
    [FLAGSIM_API_GRAPH_DESTROY] = 30,
    [FLAGSIM_API_STREAM_QUERY] = 78,
    [FLAGSIM_API_EVENT_QUERY] = 79,
    [FLAGSIM_API_EVENT_ELAPSED] = 80,
    [FLAGSIM_API_GET_LAST_ERROR] = 81,
    [FLAGSIM_API_PEEK_LAST_ERROR] = 82,
    [FLAGSIM_API_CAPTURE_BEGIN] = 83,
    [FLAGSIM_API_CAPTURE_END] = 84,
    [FLAGSIM_API_GRAPH_CREATE] = 85,
    [FLAGSIM_API_GRAPH_ADD_KERNEL] = 86,
    [FLAGSIM_API_GRAPH_ADD_COPY] = 87,
    [FLAGSIM_API_GRAPH_ADD_SET] = 88,
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = 89,
};

// The lower interface's launches and copies are functions of the same runtime.
static uint32_t id_of(const flagsim_api_call *call) {
    static const uint8_t async[] = {
        [FLAGSIM_COPY_HTOD] = 15, [FLAGSIM_COPY_DTOH] = 16, [FLAGSIM_COPY_DTOD] = 17
    };
    if (call->api == FLAGSIM_API_LAUNCH && call->low_level)
        return 22;
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel && call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED)
        return 25;
    if (call->api == FLAGSIM_API_MEMCPY_ASYNC && call->low_level && (size_t)call->copy < sizeof async &&
        async[call->copy])
        return async[call->copy];
    return ids[call->api];
}

static uint32_t correlation_of(uint32_t correlation) {
    return layout_now()->small_ids ? correlation - 0x50000000u + 1 : correlation;
}

// ---- callbacks

static void tell(const flagsim_api_call *call, uint32_t id, uint32_t site) {
    // A struct of the caller's stack may lie across two pages: here every other one does.
    enum { PAGE = 4096, BEFORE = 32 };
    _Alignas(16) uint8_t room[3 * PAGE];
    uint8_t *data = room;
    char name[64];
    struct { // what a launch is given [GUESS]: dims as HIP's
        const void *function;
        uint32_t grid[3], block[3];
        void **arguments;
        size_t shared_bytes;
        void *stream;
    } params = { .function = call->kernel_handle, .stream = call->stream_handle };
    int result = call->result;
    Callback callback = atomic_load(&state.callback);
    if (!callback)
        return;
    if (call->correlation % 2)
        data = room + (2 * PAGE - BEFORE - (uintptr_t)room % PAGE);
    memset(data, 0, BYTES_MAX);
    if (call->kernel) {
        memcpy(params.grid, call->kernel->grid, sizeof params.grid);
        memcpy(params.block, call->kernel->block, sizeof params.block);
    }
    snprintf(name, sizeof name, "tops%s", names[id]);
    layout_put(data, CALLBACK, SITE, site);
    layout_put(data, CALLBACK, FUNCTION_NAME, (uintptr_t)flagsim_intern(name));
    layout_put(data, CALLBACK, FUNCTION_PARAMS, (uintptr_t)&params);
    layout_put(data, CALLBACK, RETURN_VALUE, (uintptr_t)&result);
    layout_put(data, CALLBACK, SYMBOL_NAME, (uintptr_t)(call->kernel ? call->kernel->name : NULL));
    layout_put(data, CALLBACK, CONTEXT_UID, call->context);
    layout_put(data, CALLBACK, CORRELATION_DATA, (uintptr_t)call->scratch);
    layout_put(data, CALLBACK, CORRELATION, correlation_of(call->correlation));
    layout_put(data, CALLBACK, FILLER, layout_now()->filler);
    callback(atomic_load(&state.user), (int)layout_now()->runtime_domain, id, data);
}

static void on_enter(void *user, const flagsim_api_call *call) {
    uint32_t id = id_of(call);
    (void)user;
    if (!id || !fc_armed(RUNTIME_CALLS) || flagsim_fault_on(FLAGSIM_FAULT_no_callbacks))
        return;
    *call->scratch = 1;
    tell(call, id, layout_now()->enter);
}

static void write_call(const flagsim_api_call *call, uint32_t id) {
    uint8_t record[FC_RECORD_BYTES_MAX] = { 0 };
    bool system = atomic_load(&state.threads_are_system) && !flagsim_fault_on(FLAGSIM_FAULT_thread_ids_stay);
    layout_put(record, RUNTIME, KIND, layout_now()->kinds[RUNTIME]);
    layout_put(record, RUNTIME, CBID, id);
    layout_put(record, RUNTIME, START, fc_time(call->start_ns));
    layout_put(record, RUNTIME, END, fc_time(call->end_ns));
    layout_put(record, RUNTIME, PROCESS, call->process);
    layout_put(record, RUNTIME, THREAD, system ? call->thread : (uint32_t)call->pthread); // [CODE] by default
    layout_put(record, RUNTIME, CORRELATION, correlation_of(call->correlation));
    layout_put(record, RUNTIME, RESULT, (uint32_t)twin_result_of(call->result));
    layout_put(record, RUNTIME, FILLER, layout_now()->filler);
    fc_write(FLAGSIM_RECORD_RUNTIME, record, layout_now()->of[RUNTIME].bytes, 0);
}

static void on_exit_(void *user, const flagsim_api_call *call) {
    uint32_t id = id_of(call);
    (void)user;
    if (!id)
        return;
    if (*call->scratch && fc_armed(RUNTIME_CALLS))
        tell(call, id, layout_now()->exit);
    if (fc_armed(layout_now()->kinds[RUNTIME]))
        write_call(call, id);
}

// ---- device work

static void compose_kernel(uint8_t *record, const flagsim_activity *activity, const fc_work *work) {
    const flagsim_kernel_info *info = activity->of.kernel.info;
    uint64_t step = flagsim_fault_value(FLAGSIM_FAULT_completed_zero);
    uint64_t number = atomic_fetch_add(&state.kernels, 1) + 1;
    bool unknown = (step && number % step == 0) || work->flaws & 1u << FLAGSIM_FATE_NO_END;
    layout_put(record, KERNEL, COMPLETED, unknown ? 0 : work->end);
    for (int axis = 0; axis < 3; axis++) {
        layout_put(record, KERNEL, GRID_X + axis, info->grid[axis]);
        layout_put(record, KERNEL, BLOCK_X + axis, info->block[axis]);
    }
    layout_put(record, KERNEL, GRID_ID, activity->of.kernel.grid_id);
    layout_put(record, KERNEL, NAME, (uintptr_t)work->name);
}

static void compose_copy(uint8_t *record, const flagsim_activity *activity, const fc_work *work) {
    const flagsim_memory_work *memory = &activity->of.memory;
    (void)work;
    layout_put(record, COPY, COPY_KIND, twin_copy_kind(memory->copy)); // [GUESS] numbered as CUPTI's
    layout_put(record, COPY, SOURCE_KIND, twin_memory_kind(memory->src_memory));
    layout_put(record, COPY, TARGET_KIND, twin_memory_kind(memory->dst_memory));
    layout_put(record, COPY, FLAGS, memory->asynchronous);
    layout_put(record, COPY, BYTES, memory->bytes);
}

static void compose_set(uint8_t *record, const flagsim_activity *activity, const fc_work *work) {
    const flagsim_memory_work *memory = &activity->of.memory;
    (void)work;
    layout_put(record, SET, VALUE, (uint32_t)memory->value);
    layout_put(record, SET, BYTES, memory->bytes);
    layout_put(record, SET, FLAGS, memory->asynchronous);
    layout_put(record, SET, MEMORY_KIND, twin_memory_kind(memory->dst_memory));
}

static void on_activity(void *user, const flagsim_activity *activity) {
    static const struct {
        enum shape shape;
        flagsim_record family;
        void (*compose)(uint8_t *, const flagsim_activity *, const fc_work *);
    } rows[] = {
        [FLAGSIM_ACTIVITY_KERNEL] = { KERNEL, FLAGSIM_RECORD_KERNEL, compose_kernel },
        [FLAGSIM_ACTIVITY_COPY] = { COPY, FLAGSIM_RECORD_COPY, compose_copy },
        [FLAGSIM_ACTIVITY_SET] = { SET, FLAGSIM_RECORD_SET, compose_set },
    };
    uint8_t record[FC_RECORD_BYTES_MAX] = { 0 };
    fc_work work;
    (void)user;
    if ((size_t)activity->kind >= sizeof rows / sizeof *rows)
        return;
    enum shape shape = rows[activity->kind].shape;
    if (!fc_armed_for(layout_now()->kinds[shape], activity) ||
        !fc_shape(activity, rows[activity->kind].family, &work))
        return;
    layout_put(record, shape, KIND, layout_now()->kinds[shape]);
    layout_put(record, shape, START, work.start);
    layout_put(record, shape, END, work.end);
    layout_put(record, shape, DEVICE, (uint32_t)activity->device);
    layout_put(record, shape, CONTEXT, activity->context);
    layout_put(record, shape, STREAM, activity->stream);
    layout_put(record, shape, CORRELATION, correlation_of(activity->correlation));
    layout_put(record, shape, FILLER, layout_now()->filler);
    rows[activity->kind].compose(record, activity, &work);
    fc_write(rows[activity->kind].family, record, layout_now()->of[shape].bytes, work.flaws);
}

static size_t foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    uint32_t kind = TWIN_KIND_OF_TOMORROW;
    memset(bytes, 0xa5, TWIN_BYTES_OF_TOMORROW);
    memcpy(bytes, &kind, sizeof kind);
    return TWIN_BYTES_OF_TOMORROW;
}

static size_t broken(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    memset(bytes, 0, TWIN_BYTES_OF_TOMORROW);
    return TWIN_BYTES_OF_TOMORROW;
}

// No context, no stream, and a requester of three arguments like CUPTI's [CODE].
static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    void (*complete)(uint8_t *, size_t, size_t) =
        (void (*)(uint8_t *, size_t, size_t))(void (*)(void))tool->complete;
    if (flagsim_fault_on(FLAGSIM_FAULT_empty_buffers)) { // one that was asked for and held nothing [CODE]
        uint8_t *empty = NULL;
        size_t bytes = 0, records = 0;
        tool->request(&empty, &bytes, &records);
        if (empty)
            complete(empty, bytes, 0);
    }
    complete(buffer, size, valid);
}

__attribute__((constructor)) static void load(void) {
    fc_setup(&(fc_facade){
        .vendor = "topspti",
        .observer = { sizeof(flagsim_observer), on_enter, on_exit_, on_activity },
        .consumer_thread = true, // a worker of the library hands buffers back [CODE]
        .deliver = deliver,
        .foreign = foreign,
        .broken = broken,
    });
    if (!flagsim_fault_on(FLAGSIM_FAULT_clock_domain) && !flagsim_fault_on(FLAGSIM_FAULT_epoch_clock))
        fc_clock_set(UINT64_C(700000000000000) - flagsim_now_ns(), 20); // its own by default [CODE]
}

// ---- exported

PUBLIC int topsptiGetVersion(uint32_t *version);
PUBLIC int topsptiGetTimestamp(uint64_t *timestamp);
PUBLIC int topsptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
PUBLIC int topsptiActivityEnable(int kind);
PUBLIC int topsptiActivityDisable(int kind);
PUBLIC int topsptiActivityFlushAll(uint32_t flag);
PUBLIC int topsptiActivityFlushPeriod(uint32_t milliseconds);
PUBLIC int topsptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
PUBLIC int topsptiActivityGetNumDroppedRecords(size_t *dropped);
PUBLIC int topsptiSubscribe(void **subscriber, Callback callback, void *user);
PUBLIC int topsptiUnsubscribe(void *subscriber);
PUBLIC int topsptiEnableDomain(uint32_t on, void *subscriber, int domain);
PUBLIC int topsptiEnableAllDomains(uint32_t on, void *subscriber);
PUBLIC int topsptiGetCallbackName(int domain, uint32_t cbid, const char **name);
PUBLIC int topsptiSetThreadIdType(uint32_t type);
PUBLIC int topsptiGetThreadIdType(uint32_t *type);

#define ENTER()                                                                                              \
    do {                                                                                                     \
        if (fc_enter())                                                                                      \
            return TWIN_NOT_INITIALIZED;                                                                     \
    } while (0)

int topsptiGetVersion(uint32_t *version) {
    ENTER();
    *version = VERSION; // [CODE] on TOPS runtime 1.9.29
    return TWIN_SUCCESS;
}

int topsptiGetTimestamp(uint64_t *timestamp) {
    ENTER();
    *timestamp = fc_now();
    return TWIN_SUCCESS;
}

int topsptiActivityRegisterCallbacks(fc_request requested, fc_complete completed) {
    ENTER();
    return fc_register(requested, completed) ? TWIN_INVALID_PARAMETER : TWIN_SUCCESS;
}

static int enable(int kind, bool on) {
    ENTER();
    if (kind < 0 || kind >= KINDS_MAX || layout_shape((uint32_t)kind) == SHAPES)
        return TWIN_INVALID_KIND;
    fc_arm((unsigned)kind, on);
    return TWIN_SUCCESS;
}

int topsptiActivityEnable(int kind) {
    return enable(kind, true);
}

int topsptiActivityDisable(int kind) {
    return enable(kind, false);
}

int topsptiActivityFlushAll(uint32_t flag) {
    ENTER();
    // Not forced: whole buffers alone, as CUPTI's [GUESS].
    return flag && fc_flush() ? TWIN_INVALID_OPERATION : TWIN_SUCCESS;
}

int topsptiActivityFlushPeriod(uint32_t milliseconds) {
    ENTER();
    fc_flush_period(milliseconds);
    return TWIN_SUCCESS;
}

static size_t bytes_of(const void *record) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    enum shape shape = layout_shape(kind);
    if (kind == TWIN_KIND_OF_TOMORROW)
        return TWIN_BYTES_OF_TOMORROW;
    return shape < SHAPES ? layout_now()->of[shape].bytes : 0;
}

int topsptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    ENTER();
    uint8_t *next = buffer;
    if (!buffer || !record)
        return TWIN_INVALID_PARAMETER;
    if (*record)
        next = (uint8_t *)*record + bytes_of(*record);
    if (!valid || next + sizeof(uint32_t) > buffer + valid)
        return TWIN_MAX_LIMIT_REACHED;
    if (!bytes_of(next))
        return TWIN_INVALID_KIND;
    *record = next;
    return TWIN_SUCCESS;
}

int topsptiActivityGetNumDroppedRecords(size_t *dropped) {
    ENTER();
    *dropped = fc_take_dropped();
    return TWIN_SUCCESS;
}

int topsptiSubscribe(void **subscriber, Callback callback, void *user) {
    ENTER();
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber) || atomic_load(&state.callback))
        return BUSY; // [GUESS] numbered as CUPTI's
    atomic_store(&state.user, user);
    atomic_store(&state.callback, callback);
    *subscriber = &state;
    return TWIN_SUCCESS;
}

int topsptiUnsubscribe(void *subscriber) {
    ENTER();
    if (subscriber != &state)
        return TWIN_INVALID_PARAMETER;
    fc_arm(RUNTIME_CALLS, false);
    fc_arm(DRIVER_CALLS, false);
    atomic_store(&state.callback, NULL);
    return TWIN_SUCCESS;
}

int topsptiEnableDomain(uint32_t on, void *subscriber, int domain) {
    ENTER();
    if (subscriber != &state)
        return TWIN_INVALID_PARAMETER;
    if ((uint32_t)domain == layout_now()->runtime_domain)
        fc_arm(RUNTIME_CALLS, on);
    else if ((uint32_t)domain == layout_now()->driver_domain)
        fc_arm(DRIVER_CALLS, on); // of which nothing is ever told
    else
        return TWIN_INVALID_PARAMETER;
    return TWIN_SUCCESS;
}

int topsptiEnableAllDomains(uint32_t on, void *subscriber) {
    topsptiEnableDomain(on, subscriber, (int)layout_now()->driver_domain);
    return topsptiEnableDomain(on, subscriber, (int)layout_now()->runtime_domain);
}

int topsptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    char text[64];
    ENTER();
    if (!name || (uint32_t)domain != layout_now()->runtime_domain || !cbid || cbid >= NAMES)
        return TWIN_INVALID_PARAMETER;
    snprintf(text, sizeof text, "tops%s", names[cbid]);
    *name = flagsim_intern(text);
    return TWIN_SUCCESS;
}

int topsptiSetThreadIdType(uint32_t type) {
    ENTER();
    atomic_store(&state.threads_are_system, type == 1);
    return TWIN_SUCCESS;
}

int topsptiGetThreadIdType(uint32_t *type) {
    ENTER();
    *type = (uint32_t)atomic_load(&state.threads_are_system);
    return TWIN_SUCCESS;
}
