// facade.c - libmspti.so: Huawei's MSPTI over the simulated accelerator.
//
// In:  a tool's calls to the functions that libmspti.so exports.
// Out: the same results, and records through the tool's own buffers. The table of layouts is written from the
//      fact sheet, whose mark is [HEADER] throughout; FlagProf's own numbers are not looked at, so that a
//      mistake there is not repeated here. Copies and sets come from interpose.c alone.
#include "mspti.h"

#include "acl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: MSPTI of CANN 9.0 over FlagProf's simulated accelerator";

enum {
    OK = 0,
    INVALID_PARAMETER = 1,
    MULTIPLE_SUBSCRIBERS = 2,
    MAX_LIMIT_REACHED = 3,
    DEVICE_OFFLINE = 4,
    QUEUE_EMPTY = 5,
    WITHOUT_LD_PRELOAD = 6,
    INNER = 999,
};

enum { EXTERNAL_KINDS = 5, DEPTH = 4096, KIND_OF_TOMORROW = 40, BYTES_OF_TOMORROW = 48 };

// ---- records: packed, and as a whole a multiple of 8 bytes

enum field {
    START,
    END,
    DEVICE,
    STREAM,
    ID,
    NAME,
    TYPE,
    PROCESS,
    THREAD,
    COPY_KIND,
    VALUE,
    BYTES,
    ASYNC,
    EXTERNAL_KIND,
    EXTERNAL_ID,
    DATA_TYPE,
    COUNT,
    ALGORITHM,
    GROUP,
    BAND_WIDTH,
    FIELDS
};

static const struct layout {
    uint8_t bytes;
    int8_t at[FIELDS]; // of the field; 0: it has none
} layouts[MSPTI_KINDS] = {
    [MSPTI_MARKER] = { 56, { [START] = 12 } },
    [MSPTI_KERNEL] = { 56,
                       { [START] = 4,
                         [END] = 12,
                         [DEVICE] = 20,
                         [STREAM] = 24,
                         [ID] = 28,
                         [TYPE] = 36,
                         [NAME] = 44 } },
    [MSPTI_API] = { 48, { [START] = 4, [END] = 12, [PROCESS] = 20, [THREAD] = 24, [ID] = 28, [NAME] = 36 } },
    [MSPTI_HCCL] = { 56,
                     { [START] = 4,
                       [END] = 12,
                       [DEVICE] = 20,
                       [STREAM] = 24,
                       [BAND_WIDTH] = 28,
                       [NAME] = 36,
                       [GROUP] = 44 } },
    [MSPTI_MEMORY] = { 64, { [START] = 20, [END] = 28, [ID] = 12 } },
    [MSPTI_MEMSET] = { 56,
                       { [VALUE] = 4,
                         [BYTES] = 8,
                         [START] = 16,
                         [END] = 24,
                         [DEVICE] = 32,
                         [STREAM] = 36,
                         [ID] = 40,
                         [ASYNC] = 48 } },
    [MSPTI_MEMCPY] = { 56,
                       { [COPY_KIND] = 4,
                         [BYTES] = 8,
                         [START] = 16,
                         [END] = 24,
                         [DEVICE] = 32,
                         [STREAM] = 36,
                         [ID] = 40,
                         [ASYNC] = 48 } },
    [MSPTI_EXTERNAL] = { 24, { [EXTERNAL_KIND] = 4, [EXTERNAL_ID] = 8, [ID] = 16 } },
    [MSPTI_COMMUNICATION] = { 72,
                              { [DATA_TYPE] = 4,
                                [COUNT] = 8,
                                [DEVICE] = 16,
                                [STREAM] = 20,
                                [START] = 24,
                                [END] = 32,
                                [ALGORITHM] = 40,
                                [NAME] = 48,
                                [GROUP] = 56,
                                [ID] = 64 } },
    [MSPTI_ACL_API] = { 48,
                        { [START] = 4, [END] = 12, [PROCESS] = 20, [THREAD] = 24, [ID] = 28, [NAME] = 36 } },
    [MSPTI_NODE_API] = { 48,
                         { [START] = 4, [END] = 12, [PROCESS] = 20, [THREAD] = 24, [ID] = 28, [NAME] = 36 } },
    [MSPTI_RUNTIME_API] = { 48,
                            { [START] = 4,
                              [END] = 12,
                              [PROCESS] = 20,
                              [THREAD] = 24,
                              [ID] = 28,
                              [NAME] = 36 } },
};

struct record {
    const struct layout *layout;
    uint8_t bytes[FC_RECORD_BYTES_MAX];
};

static void begin(struct record *record, uint32_t kind) {
    memset(record, 0, sizeof *record);
    record->layout = &layouts[kind];
    memcpy(record->bytes, &kind, sizeof kind);
}

static void put32(struct record *record, enum field field, uint32_t value) {
    memcpy(record->bytes + record->layout->at[field], &value, sizeof value);
}

static void put64(struct record *record, enum field field, uint64_t value) {
    memcpy(record->bytes + record->layout->at[field], &value, sizeof value);
}

static void put_text(struct record *record, enum field field, const char *text) {
    put64(record, field, (uint64_t)(uintptr_t)text);
}

static void finish(const struct record *record, flagsim_record family, uint32_t flaws) {
    fc_write(family, record->bytes, record->layout->bytes, flaws);
}

// ---- devices, ids

// Numbers of devices are the machine's: those that ASCEND_RT_VISIBLE_DEVICES lists, in its order.
uint32_t mspti_physical_device(int device) {
    const char *list = getenv("ASCEND_RT_VISIBLE_DEVICES");
    for (int at = 0; list && *list; at++) {
        if (at == device)
            return (uint32_t)strtoul(list, NULL, 10);
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return (uint32_t)device;
}

// Under wide_ids two ids that follow each other are alike in the lower 32 bits.
static uint64_t id_of(uint32_t correlation) {
    if (!flagsim_fault_on(FLAGSIM_FAULT_wide_ids))
        return correlation;
    return (uint64_t)correlation << 32 | 7;
}

// A call carries the id that its thread drew last, be it this call's or another's [CODE].
static __thread uint64_t current_id;
static __thread bool interposing;

// One stack of a kind for the whole process, though the header speaks of the calling thread [CODE].
static struct {
    pthread_mutex_t lock;
    struct {
        uint64_t ids[DEPTH];
        size_t depth;
    } of[EXTERNAL_KINDS];
    uint64_t pushes;
} stacks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool top(uint32_t kind, uint64_t *id) {
    if (flagsim_fault_on(FLAGSIM_FAULT_own_stacks))
        return fc_top(kind, id);
    pthread_mutex_lock(&stacks.lock);
    bool found = stacks.of[kind].depth > 0;
    if (found)
        *id = stacks.of[kind].ids[stacks.of[kind].depth - 1];
    pthread_mutex_unlock(&stacks.lock);
    return found;
}

static void draw_id(const flagsim_api_call *call) {
    current_id = id_of(call->correlation);
    for (uint32_t kind = 1; kind < EXTERNAL_KINDS && fc_armed(MSPTI_EXTERNAL); kind++) {
        struct record record;
        uint64_t id;
        if (!top(kind, &id))
            continue;
        begin(&record, MSPTI_EXTERNAL);
        put32(&record, EXTERNAL_KIND, kind);
        put64(&record, EXTERNAL_ID, id);
        put64(&record, ID, current_id);
        finish(&record, FLAGSIM_RECORD_EXTERNAL, 0);
    }
}

void mspti_interpose(bool on) {
    interposing = on;
}

// ---- what happened

static const char *const acl_names[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_INIT] = "aclInit",
    [FLAGSIM_API_DEVICE_COUNT] = "aclrtGetDeviceCount",
    [FLAGSIM_API_GET_DEVICE] = "aclrtGetDevice",
    [FLAGSIM_API_SET_DEVICE] = "aclrtSetDevice",
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = "aclrtSynchronizeDevice",
    [FLAGSIM_API_GET_LAST_ERROR] = "aclrtGetLastError",
    [FLAGSIM_API_PEEK_LAST_ERROR] = "aclrtPeekAtLastError",
    [FLAGSIM_API_MALLOC] = "aclrtMalloc",
    [FLAGSIM_API_FREE] = "aclrtFree",
    [FLAGSIM_API_HOST_MALLOC] = "aclrtMallocHost",
    [FLAGSIM_API_HOST_FREE] = "aclrtFreeHost",
    [FLAGSIM_API_MEM_INFO] = "aclrtGetMemInfo",
    [FLAGSIM_API_MEMCPY] = "aclrtMemcpy",
    [FLAGSIM_API_MEMCPY_ASYNC] = "aclrtMemcpyAsync",
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = "aclrtMemcpyAsync",
    [FLAGSIM_API_MEMSET] = "aclrtMemset",
    [FLAGSIM_API_MEMSET_ASYNC] = "aclrtMemsetAsync",
    [FLAGSIM_API_STREAM_CREATE] = "aclrtCreateStream",
    [FLAGSIM_API_STREAM_DESTROY] = "aclrtDestroyStream",
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = "aclrtSynchronizeStream",
    [FLAGSIM_API_STREAM_QUERY] = "aclrtStreamQuery",
    [FLAGSIM_API_STREAM_WAIT_EVENT] = "aclrtStreamWaitEvent",
    [FLAGSIM_API_EVENT_CREATE] = "aclrtCreateEvent",
    [FLAGSIM_API_EVENT_DESTROY] = "aclrtDestroyEvent",
    [FLAGSIM_API_EVENT_RECORD] = "aclrtRecordEvent",
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = "aclrtSynchronizeEvent",
    [FLAGSIM_API_EVENT_QUERY] = "aclrtQueryEventStatus",
    [FLAGSIM_API_EVENT_ELAPSED] = "aclrtEventElapsedTime",
    [FLAGSIM_API_LAUNCH] = "aclrtLaunchKernel",
    [FLAGSIM_API_CAPTURE_BEGIN] = "aclmdlRICaptureBegin",
    [FLAGSIM_API_CAPTURE_END] = "aclmdlRICaptureEnd",
    [FLAGSIM_API_GRAPH_CREATE] = "aclmdlRICreate",
    [FLAGSIM_API_GRAPH_INSTANTIATE] = "aclmdlRIBuildEnd",
    [FLAGSIM_API_GRAPH_LAUNCH] = "aclmdlRIExecuteAsync",
    [FLAGSIM_API_GRAPH_DESTROY] = "aclmdlRIDestroy",
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = "aclmdlRIDestroy",
};

static bool is_memory_call(flagsim_api api) {
    return api == FLAGSIM_API_MEMCPY || api == FLAGSIM_API_MEMCPY_ASYNC || api == FLAGSIM_API_MEMSET ||
           api == FLAGSIM_API_MEMSET_ASYNC || api == FLAGSIM_API_MEMCPY_PEER_ASYNC;
}

static void on_enter(void *user, const flagsim_api_call *call) {
    (void)user;
    if (call->api == FLAGSIM_API_LAUNCH || call->api == FLAGSIM_API_GRAPH_LAUNCH ||
        (interposing && is_memory_call(call->api)))
        draw_id(call);
}

static void write_level(const flagsim_api_call *call, uint32_t level, const char *name, uint64_t inset_ns) {
    // Before 2026-02 all levels came as one kind [HEADER].
    uint32_t kind = flagsim_fault_on(FLAGSIM_FAULT_old_release) ? MSPTI_API : level;
    struct record record;
    if (!fc_armed(kind))
        return;
    uint64_t start = call->start_ns + inset_ns, end = call->end_ns - inset_ns;
    bool fits = start < end;
    begin(&record, kind);
    put64(&record, START, fc_time(fits ? start : call->start_ns));
    put64(&record, END,
          fc_time(fits                            ? end
                  : call->end_ns > call->start_ns ? call->end_ns
                                                  : call->start_ns + 1));
    put32(&record, PROCESS, call->process);
    put32(&record, THREAD, call->thread);
    put64(&record, ID, current_id);
    put_text(&record, NAME, name);
    finish(&record, FLAGSIM_RECORD_RUNTIME, 0);
}

// The inner level returns first. A launch below the runtime's interface has that level alone. A collective's
// outermost is HCCL's own function [GUESS].
static void on_exit_(void *user, const flagsim_api_call *call) {
    const char *collective = call->kernel ? call->kernel->collective.call : NULL;
    const char *name = collective ? collective : acl_names[call->api];
    (void)user;
    if (call->api == FLAGSIM_API_LAUNCH) {
        write_level(call, MSPTI_RUNTIME_API, "rtKernelLaunch", call->low_level ? 0 : 20);
        if (!call->low_level)
            write_level(call, MSPTI_NODE_API, collective ? call->kernel->name : "launch", 10);
    } else if (is_memory_call(call->api)) {
        write_level(call, MSPTI_RUNTIME_API, call->api >= FLAGSIM_API_MEMSET ? "rtMemset" : "rtMemcpy", 20);
    }
    if (name && !call->low_level)
        write_level(call, MSPTI_ACL_API, name, 0);
}

static bool every(flagsim_fault fault, uint64_t number) {
    uint64_t step = flagsim_fault_value(fault);
    return step && number % step == 0;
}

static bool preload_names_us(void);

// The newer kind, in any process; the older one, which has no id, where the process was started with us [CODE].
static void write_collective(const flagsim_activity *activity, uint32_t kind) {
    const flagsim_collective *collective = &activity->of.kernel.info->collective;
    const double band_width = 21.5;
    struct record record;
    fc_work work;
    if (!fc_armed_for(kind, activity) || (kind == MSPTI_HCCL && !preload_names_us()) ||
        !fc_shape(activity, FLAGSIM_RECORD_KERNEL, &work))
        return;
    begin(&record, kind);
    put64(&record, START, work.start);
    put64(&record, END, work.end);
    put32(&record, DEVICE, mspti_physical_device(activity->device));
    put32(&record, STREAM, activity->stream);
    put_text(&record, NAME, work.name);
    put_text(&record, GROUP, collective->group);
    if (kind == MSPTI_HCCL) {
        memcpy(record.bytes + record.layout->at[BAND_WIDTH], &band_width, sizeof band_width);
    } else {
        put32(&record, DATA_TYPE, collective->data_type);
        put64(&record, COUNT, collective->count);
        put_text(&record, ALGORITHM, collective->algorithm);
        put64(&record, ID, id_of(activity->correlation));
    }
    finish(&record, FLAGSIM_RECORD_KERNEL, work.flaws);
}

// Kernels and collectives alone: copies and sets are the interposer's, which sees the host's call and nothing of
// the device. Whether a collective has kernels' records too is not known; here it has none.
static void on_activity(void *user, const flagsim_activity *activity) {
    static _Atomic uint64_t kernels;
    struct record record;
    fc_work work;
    (void)user;
    if (activity->kind == FLAGSIM_ACTIVITY_KERNEL && activity->of.kernel.info->collective.call) {
        write_collective(activity, MSPTI_COMMUNICATION);
        write_collective(activity, MSPTI_HCCL);
        return;
    }
    if (activity->kind != FLAGSIM_ACTIVITY_KERNEL || !fc_armed_for(MSPTI_KERNEL, activity) ||
        !fc_shape(activity, FLAGSIM_RECORD_KERNEL, &work))
        return;
    // Where the device's rate is not known its counter comes out as it is [CODE]: 50 MHz since it was started.
    if (every(FLAGSIM_FAULT_raw_counter, atomic_fetch_add(&kernels, 1) + 1)) {
        work.start = work.start / 20 % 100000000000000u;
        work.end = work.start + 1000;
    }
    begin(&record, MSPTI_KERNEL);
    put64(&record, START, work.start);
    put64(&record, END, work.end);
    put32(&record, DEVICE, mspti_physical_device(activity->device));
    put32(&record, STREAM, activity->stream);
    put64(&record, ID, id_of(activity->correlation));
    put_text(&record, TYPE, "KERNEL_AICORE");
    put_text(&record, NAME, work.name);
    if (!fc_hold_kernel(record.bytes, record.layout->bytes, work.flaws))
        finish(&record, FLAGSIM_RECORD_KERNEL, work.flaws);
}

void mspti_write_memory(const struct mspti_memory *memory) {
    struct record record;
    fc_work work;
    flagsim_record family = memory->kind == MSPTI_MEMSET ? FLAGSIM_RECORD_SET : FLAGSIM_RECORD_COPY;
    flagsim_activity activity = {
        .size = sizeof activity,
        .kind = memory->kind == MSPTI_MEMSET ? FLAGSIM_ACTIVITY_SET : FLAGSIM_ACTIVITY_COPY,
        .queued_ns = memory->start_ns,
        .start_ns = memory->start_ns,
        .end_ns = memory->end_ns,
    };
    int device = 0;
    if (!fc_armed_for(memory->kind, &activity) || !fc_shape(&activity, family, &work))
        return;
    flagsim_get_device(&device);
    begin(&record, memory->kind);
    put32(&record, memory->kind == MSPTI_MEMSET ? VALUE : COPY_KIND, memory->word);
    put64(&record, BYTES, memory->bytes);
    put64(&record, START, work.start);
    put64(&record, END, work.end);
    put32(&record, DEVICE, mspti_physical_device(device));
    put32(&record, STREAM, memory->stream ? flagsim_stream_id(memory->stream) : UINT32_MAX);
    put64(&record, ID, current_id);
    record.bytes[record.layout->at[ASYNC]] = memory->is_async;
    finish(&record, family, work.flaws);
}

bool mspti_is_armed(uint32_t kind) {
    return fc_armed(kind);
}

// ---- buffers

static size_t foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    uint32_t kind = KIND_OF_TOMORROW;
    memset(bytes, 0xa5, BYTES_OF_TOMORROW);
    memcpy(bytes, &kind, sizeof kind);
    return BYTES_OF_TOMORROW;
}

typedef void (*complete_fn)(uint8_t *buffer, size_t size, size_t valid);

struct handing {
    complete_fn complete;
    uint8_t *buffer;
    size_t size, valid;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned under_way;
} hands = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *hand_over(void *owner) {
    struct handing *handing = owner;
    handing->complete(handing->buffer, handing->size, handing->valid);
    free(handing);
    pthread_mutex_lock(&hands.lock);
    hands.under_way--;
    pthread_cond_broadcast(&hands.changed);
    pthread_mutex_unlock(&hands.lock);
    return NULL;
}

// Each on a thread of its own, several at once, as MSPTI's workers do [CODE].
static bool hand_over_apart(const struct handing *given) {
    struct handing *handing = malloc(sizeof *handing);
    pthread_t thread;
    if (!handing)
        return false;
    *handing = *given;
    pthread_mutex_lock(&hands.lock);
    bool started = pthread_create(&thread, NULL, hand_over, handing) == 0;
    hands.under_way += started;
    pthread_mutex_unlock(&hands.lock);
    if (started)
        pthread_detach(thread);
    else
        free(handing);
    return started;
}

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    struct handing handing = { (complete_fn)(void (*)(void))tool->complete, buffer, size, valid };
    if (!flagsim_fault_on(FLAGSIM_FAULT_many_workers) || !hand_over_apart(&handing))
        handing.complete(buffer, size, valid);
}

static fc_complete registered;

static int flush(void) {
    int result = fc_flush();
    pthread_mutex_lock(&hands.lock);
    while (hands.under_way)
        pthread_cond_wait(&hands.changed, &hands.lock);
    pthread_mutex_unlock(&hands.lock);
    if (registered && flagsim_fault_on(FLAGSIM_FAULT_null_completion)) // for a buffer that was refused [CODE]
        ((complete_fn)(void (*)(void))registered)(NULL, 0, 0);
    return result ? INNER : OK;
}

// ---- exported

PUBLIC int msptiSubscribe(void **handle, void *callback, void *user);
PUBLIC int msptiUnsubscribe(void *handle);
PUBLIC int msptiEnableCallback(uint32_t on, void *handle, int domain, uint32_t cbid);
PUBLIC int msptiEnableDomain(uint32_t on, void *handle, int domain);
PUBLIC int msptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
PUBLIC int msptiActivityEnable(int kind);
PUBLIC int msptiActivityDisable(int kind);
PUBLIC bool msptiActivityIsEnabled(int kind);
PUBLIC int msptiActivityFlushAll(uint32_t flag);
PUBLIC int msptiActivityFlushPeriod(uint32_t milliseconds);
PUBLIC int msptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
PUBLIC int msptiActivityPushExternalCorrelationId(int kind, uint64_t id);
PUBLIC int msptiActivityPopExternalCorrelationId(int kind, uint64_t *last);

static atomic_int subscribed;

#define ENTER()                                                                                              \
    do {                                                                                                     \
        if (fc_enter())                                                                                      \
            return DEVICE_OFFLINE;                                                                           \
    } while (0)

int msptiSubscribe(void **handle, void *callback, void *user) {
    int none = 0;
    (void)callback;
    (void)user;
    fc_driver_ready();
    ENTER();
    if (!handle)
        return INVALID_PARAMETER;
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber) ||
        !atomic_compare_exchange_strong(&subscribed, &none, 1))
        return MULTIPLE_SUBSCRIBERS;
    *handle = &subscribed;
    return OK;
}

int msptiUnsubscribe(void *handle) {
    ENTER();
    if (handle != &subscribed)
        return INVALID_PARAMETER;
    fc_release_held();
    atomic_store(&subscribed, 0);
    return OK;
}

// The environment as it was at the first question, not as it is [CODE].
static bool preload_names_us(void) {
    static atomic_int answer;
    if (!atomic_load(&answer)) {
        const char *list = getenv("LD_PRELOAD");
        atomic_store(&answer, list && strstr(list, "libmspti.so") ? 1 : -1);
    }
    return atomic_load(&answer) > 0;
}

int msptiEnableCallback(uint32_t on, void *handle, int domain, uint32_t cbid) {
    ENTER();
    (void)on;
    (void)cbid;
    if (!preload_names_us())
        return WITHOUT_LD_PRELOAD;
    return handle == &subscribed && domain > 0 && domain < 3 ? OK : INVALID_PARAMETER;
}

int msptiEnableDomain(uint32_t on, void *handle, int domain) {
    return msptiEnableCallback(on, handle, domain, 0);
}

int msptiActivityRegisterCallbacks(fc_request requested, fc_complete completed) {
    ENTER();
    registered = completed;
    return fc_register(requested, completed) ? INVALID_PARAMETER : OK;
}

static bool needs_preload(int kind) {
    return kind == MSPTI_MEMCPY || kind == MSPTI_MEMSET || kind == MSPTI_MEMORY || kind == MSPTI_HCCL;
}

int msptiActivityEnable(int kind) {
    ENTER();
    bool is_old = flagsim_fault_on(FLAGSIM_FAULT_old_release);
    if (kind <= 0 || kind >= (is_old ? MSPTI_ACL_API : MSPTI_KINDS))
        return INVALID_PARAMETER;
    if (kind == MSPTI_NODE_API && flagsim_fault_on(FLAGSIM_FAULT_no_node_api))
        return INVALID_PARAMETER;
    if (kind == MSPTI_COMMUNICATION && flagsim_fault_on(FLAGSIM_FAULT_no_communication))
        return INVALID_PARAMETER;
    if (!is_old && needs_preload(kind) && !preload_names_us())
        return WITHOUT_LD_PRELOAD; // an old release takes the kind and writes nothing
    fc_arm((unsigned)kind, true);
    return OK;
}

int msptiActivityDisable(int kind) {
    ENTER();
    if (kind <= 0 || kind >= MSPTI_KINDS)
        return INVALID_PARAMETER;
    fc_arm((unsigned)kind, false);
    return OK;
}

bool msptiActivityIsEnabled(int kind) {
    return kind > 0 && kind < MSPTI_KINDS && fc_armed((unsigned)kind);
}

int msptiActivityFlushAll(uint32_t flag) {
    ENTER();
    (void)flag;
    return flush();
}

int msptiActivityFlushPeriod(uint32_t milliseconds) {
    ENTER();
    fc_flush_period(milliseconds);
    return OK;
}

// Its place is the thread's, whatever buffer is meant, and goes back to 0 at a buffer's end alone [CODE].
int msptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    static __thread size_t place;
    uint32_t kind;
    ENTER();
    if (!buffer || !record)
        return INVALID_PARAMETER;
    if (place >= valid) {
        place = 0;
        return MAX_LIMIT_REACHED;
    }
    memcpy(&kind, buffer + place, sizeof kind);
    if (kind >= MSPTI_KINDS || !layouts[kind].bytes)
        return INNER; // and the place stays
    *record = buffer + place;
    place += layouts[kind].bytes;
    return OK;
}

int msptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    ENTER();
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return INVALID_PARAMETER;
    if (flagsim_fault_on(FLAGSIM_FAULT_own_stacks))
        return fc_push((unsigned)kind, id) ? INNER : OK;
    pthread_mutex_lock(&stacks.lock);
    bool fails = every(FLAGSIM_FAULT_push_fails, ++stacks.pushes) || stacks.of[kind].depth == DEPTH;
    if (!fails)
        stacks.of[kind].ids[stacks.of[kind].depth++] = id;
    pthread_mutex_unlock(&stacks.lock);
    flagsim_truth_add(fails ? FLAGSIM_COUNT_failed_pushes : FLAGSIM_COUNT_pushes, 1);
    return fails ? INNER : OK;
}

int msptiActivityPopExternalCorrelationId(int kind, uint64_t *last) {
    ENTER();
    if (kind <= 0 || kind >= EXTERNAL_KINDS || !last) // without a place for it nothing is taken off [CODE]
        return INVALID_PARAMETER;
    if (flagsim_fault_on(FLAGSIM_FAULT_own_stacks))
        return fc_pop((unsigned)kind, last) ? QUEUE_EMPTY : OK;
    pthread_mutex_lock(&stacks.lock);
    bool is_empty = stacks.of[kind].depth == 0;
    if (!is_empty)
        *last = stacks.of[kind].ids[--stacks.of[kind].depth];
    pthread_mutex_unlock(&stacks.lock);
    flagsim_truth_add(is_empty ? FLAGSIM_COUNT_failed_pops : FLAGSIM_COUNT_pops, 1);
    return is_empty ? QUEUE_EMPTY : OK;
}

__attribute__((constructor)) static void load(void) {
    fc_setup(&(fc_facade){
        .vendor = "mspti",
        .observer = { sizeof(flagsim_observer), on_enter, on_exit_, on_activity },
        .deliver = deliver,
        .foreign = foreign,
    });
    // Its times come from counters, and are set right against the epoch now and then [CODE].
    if (flagsim_fault_on(FLAGSIM_FAULT_clock_behind) || flagsim_fault_on(FLAGSIM_FAULT_clock_ahead))
        fc_clock_set(flagsim_fault_value(FLAGSIM_FAULT_clock_ahead) -
                         flagsim_fault_value(FLAGSIM_FAULT_clock_behind),
                     0);
}
