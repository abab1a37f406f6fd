// facade.c - CUPTI's activity interface over the simulated accelerator.
//
// In:  a tool's calls to the functions that libcupti exports.
// Out: the same results, and records through the tool's own buffers. What is not simulated answers as a
//      library that does not support it; nothing pretends.
#include "release.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

// A tool that finds this symbol in a libcupti knows that the accelerator is simulated, and takes the driver's
// functions from the same library. The text is for people.
extern const char flagsim_marker[];
const char flagsim_marker[] __attribute__((visibility("default"))) =
    "simulated: CUPTI " CUPTI_RELEASE_TEXT " over FlagProf's simulated accelerator";

enum { RUNTIME_IDS = 1024, DRIVER_IDS = 1024 };

static struct {
    atomic_bool runtime[RUNTIME_IDS], driver[DRIVER_IDS];
    atomic_bool runtime_kind, driver_kind;
    size_t runtime_on, driver_on; // how many of the switches are on; under the lock
    atomic_int thread_id_type;
    pthread_mutex_t lock;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_BuffersCallbackCompleteFunc complete =
        (CUpti_BuffersCallbackCompleteFunc)(void (*)(void))tool->complete;
    complete(NULL, 0, buffer, size, valid);
}

__attribute__((constructor)) static void load(void) {
    fc_setup(&(fc_facade){
        .vendor = "cupti",
        .observer = { sizeof(flagsim_observer), record_enter, record_exit, record_activity },
        .crash_on_refused_buffer =
            CUPTI_RELEASE < 1209, // measured on an H200: SIGSEGV in every release up to 12.8
        .deliver = deliver,
        .foreign = compose_foreign,
        .broken = compose_broken,
        .overhead = compose_overhead,
    });
}

#define ENTER()                                                                                              \
    do {                                                                                                     \
        if (fc_enter())                                                                                      \
            return CUPTI_ERROR_UNKNOWN; /* what 13.3 to 13.5 answer without a device [MEASURED] */           \
    } while (0)

// ---- kinds

// The size of each kind's record: what can be enabled, and what the iterator can step over.
static const uint16_t record_bytes[64] = {
    [CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(record_memcpy),
    [CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(record_memset),
    [CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(record_kernel),
    [CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(record_api),
    [CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(record_api),
    [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(record_kernel),
    [CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(record_overhead),
    [CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(record_peer),
    [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(record_sync),
    [CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = sizeof(record_external),
    [CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(record_memory),
};

// 12.5 brought the switches for single calls [HEADER].
#if CUPTI_RELEASE >= 1205
#define HAS_SINGLE_CALLS 1
#else
#define HAS_SINGLE_CALLS 0
#endif

static void set_calls(atomic_bool *calls, size_t count, size_t *on_count, unsigned slot, bool on) {
    *on_count = on ? count : 0;
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&calls[i], on, memory_order_relaxed);
    fc_arm(slot, on);
}

static void set_kind(CUpti_ActivityKind kind, bool on) {
    pthread_mutex_lock(&state.lock);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        atomic_store(&state.runtime_kind, on);
        set_calls(state.runtime, RUNTIME_IDS, &state.runtime_on, kind, on);
    } else if (kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        atomic_store(&state.driver_kind, on);
        set_calls(state.driver, DRIVER_IDS, &state.driver_on, kind, on);
    } else {
        fc_arm(kind, on);
    }
    pthread_mutex_unlock(&state.lock);
}

static CUptiResult change_kind(CUpti_ActivityKind kind, bool on) {
    if ((unsigned)kind == 0 || (unsigned)kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return CUPTI_ERROR_INVALID_KIND;
    if ((unsigned)kind >= sizeof record_bytes / sizeof *record_bytes || !record_bytes[kind])
        return CUPTI_ERROR_NOT_SUPPORTED;
    set_kind(kind, on);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
    ENTER();
    return change_kind(kind, true);
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
    ENTER();
    return change_kind(kind, false);
}

#if HAS_SINGLE_CALLS
// A switch counts only while its kind is enabled, and enabling the kind sets all switches on; a call switched
// on without its kind succeeds and records nothing [MEASURED: H200, 13.0, driver 580].
static CUptiResult set_one(atomic_bool *calls, const atomic_bool *kind, size_t *on_count, unsigned slot,
                           uint32_t id, bool on) {
    if (!id || id >= (slot == CUPTI_ACTIVITY_KIND_RUNTIME ? RUNTIME_IDS : DRIVER_IDS))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!atomic_load(kind))
        return CUPTI_SUCCESS;
    pthread_mutex_lock(&state.lock);
    if (atomic_exchange(&calls[id], on) != on)
        *on_count += on ? 1 : (size_t)-1;
    fc_arm(slot, *on_count > 0);
    pthread_mutex_unlock(&state.lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
    ENTER();
    return set_one(state.runtime, &state.runtime_kind, &state.runtime_on, CUPTI_ACTIVITY_KIND_RUNTIME, cbid,
                   enable);
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
    ENTER();
    return set_one(state.driver, &state.driver_kind, &state.driver_on, CUPTI_ACTIVITY_KIND_DRIVER, cbid,
                   enable);
}
#endif

bool runtime_wanted(uint32_t id) {
    return id && id < RUNTIME_IDS && atomic_load_explicit(&state.runtime[id], memory_order_relaxed);
}

bool driver_wanted(uint32_t id) {
    return id && id < DRIVER_IDS && atomic_load_explicit(&state.driver[id], memory_order_relaxed);
}

// ---- buffers

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                                    CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
    ENTER();
    int result = fc_register(funcBufferRequested, (fc_complete)(void (*)(void))funcBufferCompleted);
    return result ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
    ENTER();
    (void)flag; // records are written when they are complete, so there are no others
    return fc_flush() ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag) {
    (void)context;
    (void)streamId;
    return cuptiActivityFlushAll(flag);
}

CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t time) {
    ENTER();
    fc_flush_period(time);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
                                                       size_t *dropped) {
    ENTER();
    (void)context;
    (void)streamId;
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = fc_take_dropped();
    return CUPTI_SUCCESS;
}

static size_t bytes_of(uint32_t kind) {
    if (kind == KIND_OF_TOMORROW)
        return BYTES_OF_TOMORROW;
    return kind < sizeof record_bytes / sizeof *record_bytes ? record_bytes[kind] : 0;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                                CUpti_Activity **record) {
    ENTER();
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *next = buffer;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        size_t bytes = bytes_of(kind);
        if (!bytes)
            return CUPTI_ERROR_INVALID_KIND;
        next = (uint8_t *)*record + bytes;
    }
    if (!validBufferSizeBytes || next + sizeof kind > buffer + validBufferSizeBytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    memcpy(&kind, next, sizeof kind);
    if (!bytes_of(kind))
        return CUPTI_ERROR_INVALID_KIND;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

// ---- external ids

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    ENTER();
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind > CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return fc_push(kind, id) ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                           uint64_t *lastId) {
    ENTER();
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind > CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return fc_pop(kind, lastId) ? CUPTI_ERROR_QUEUE_EMPTY : CUPTI_SUCCESS;
}

// ---- time, threads, version

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp) {
    ENTER();
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = fc_now();
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
    ENTER();
    if ((unsigned)type > CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&state.thread_id_type, (int)type);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type) {
    ENTER();
    if (!type)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *type = (CUpti_ActivityThreadIdType)atomic_load(&state.thread_id_type);
    return CUPTI_SUCCESS;
}

static bool system_threads(void) {
    return atomic_load(&state.thread_id_type) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
}

uint32_t thread_number(const flagsim_api_call *call) {
    return system_threads() ? call->thread : (uint32_t)call->pthread;
}

uint32_t own_thread_number(void) {
    return system_threads() ? (uint32_t)gettid() : (uint32_t)(uintptr_t)pthread_self();
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version) {
    ENTER();
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    if (flagsim_fault_on(FLAGSIM_FAULT_version_mismatch))
        *version = CUPTI_RELEASE >= 1300 ? 26 : 130001; // 12.8, 13.0
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiFinalize(void) {
    ENTER();
    for (unsigned kind = 1; kind < sizeof record_bytes / sizeof *record_bytes; kind++)
        if (record_bytes[kind])
            set_kind((CUpti_ActivityKind)kind, false);
    disarm_callbacks();
    return CUPTI_SUCCESS;
}

// ---- attributes

enum { ATTRIBUTES = 16 };
static _Atomic uint64_t attributes[ATTRIBUTES] = { 8 << 20, 8 << 20, 250, 25 << 10, 250, 0, 3, 3, 0 };

static size_t attribute_bytes(CUpti_ActivityAttribute attribute) {
    return (unsigned)attribute > CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ? 0
           : attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER             ? 1
           : attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED        ? 1
                                                                                     : sizeof(size_t);
}

static CUptiResult attribute_check(CUpti_ActivityAttribute attribute, const size_t *size, const void *value) {
    size_t bytes = attribute_bytes(attribute);
    if (!bytes || !size || !value)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return *size < bytes ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value) {
    ENTER();
    CUptiResult result = attribute_check(attr, valueSize, value);
    if (result == CUPTI_SUCCESS) {
        uint64_t held = atomic_load(&attributes[attr]);
        memcpy(value, &held, *valueSize = attribute_bytes(attr));
    }
    return result;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value) {
    ENTER();
    CUptiResult result = attribute_check(attr, valueSize, value);
    if (result == CUPTI_SUCCESS) {
        uint64_t held = 0;
        memcpy(&held, value, attribute_bytes(attr));
        atomic_store(&attributes[attr], held);
    }
    return result;
}

// ---- switches that are accepted and change nothing here

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
    ENTER();
    (void)enable;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable) {
    ENTER();
    (void)enable;
    return CUPTI_SUCCESS;
}
