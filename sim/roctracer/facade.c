// facade.c - AMD's ROCtracer over the simulated accelerator, and Hygon's in libgalaxyhip (FLAGSIM_DTK).
//
// In:  a tool's calls to the functions that libroctracer64.so.4 exports.
// Out: the same results; a callback at enter and exit of each HIP call, on its thread; device records in
//      the tool's pool, on a thread of the library. What a record says holds in the buffer callback
//      alone: names are overwritten after it, as the real library frees them.
#include "../facade_common.h"

#include "abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))
extern const char flagsim_marker[];

#ifdef FLAGSIM_DTK
enum { IS_DTK = 1 };
#define NUMBER(call, name, id, of_dtk) [FLAGSIM_API_##call] = (of_dtk),
const char flagsim_marker[] PUBLIC = "simulated: ROCtracer of DTK over FlagProf's simulated accelerator";
#else
enum { IS_DTK = 0 };
#define NUMBER(call, name, id, of_dtk) [FLAGSIM_API_##call] = (id),
const char flagsim_marker[] PUBLIC = "simulated: ROCtracer 4.1 over FlagProf's simulated accelerator";
#endif

enum { IDS = 512, MODULE_LAUNCH = IS_DTK ? ID_MODULE_LAUNCH_OF_DTK : ID_MODULE_LAUNCH };
enum { EXT_LAUNCH = IS_DTK ? ID_EXT_LAUNCH_OF_DTK : ID_EXT_LAUNCH };

static const uint32_t ids[FLAGSIM_API_COUNT] = { HIP_CALLS(NUMBER) };

#define NAME(call, name, id, of_dtk) [FLAGSIM_API_##call] = #name,
static const char *const names[FLAGSIM_API_COUNT] = { HIP_CALLS(NAME) };

typedef void (*ApiCallback)(uint32_t domain, uint32_t cid, const void *data, void *arg);

struct held {
    struct held *next;
    flagsim_record family;
    uint32_t flaws;
    Record record;
};

static struct {
    pthread_mutex_t lock;
    Properties *default_pool;
    Properties *_Atomic pool; // that HIP_OPS writes to
    _Atomic(ApiCallback) callback;
    void *_Atomic callback_arg;
    atomic_bool wanted[IDS];        // calls that the tool wants to be told of
    struct held *held, **held_tail; // late_records
    _Atomic uint64_t device_records, clock_readings;
    atomic_int bound; // 0: HIP was not looked for yet, 1: found, -1: not there, and never looked for again
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .held_tail = &state.held };

// ---- HIP, which must be in the process first

#ifdef FLAGSIM_DTK
bool flagsim_hip_seen(void);

static bool hip_is_there(void) {
    if (flagsim_hip_seen())
        fc_driver_ready();
    return true;
}
#else
static int look_for_hip(struct dl_phdr_info *object, size_t size, void *found) {
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash + 1, "libamdhip64.so", 14) != 0)
        return 0;
    *(void **)found = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

static bool hip_is_there(void) {
    void *hip = NULL;
    bool (*seen)(void) = NULL;
    dl_iterate_phdr(look_for_hip, &hip);
    void *symbol = hip ? dlsym(hip, "flagsim_hip_seen") : NULL;
    memcpy(&seen, &symbol, sizeof seen);
    if (seen && seen())
        fc_driver_ready();
    return hip != NULL;
}
#endif

// Looked for at the first need and never again; without it everything is answered well and nothing is told of
// [CODE].
static bool is_bound(void) {
    int bound = atomic_load(&state.bound);
    if (!bound)
        atomic_compare_exchange_strong(&state.bound, &bound, hip_is_there() ? 1 : -1);
    return atomic_load(&state.bound) > 0;
}

#define ENTER()                                                                                              \
    do {                                                                                                     \
        hip_is_there();                                                                                      \
        if (fc_enter())                                                                                      \
            return ROC_ERROR;                                                                                \
    } while (0)

// ---- HIP calls

static uint32_t id_of(const flagsim_api_call *call) {
    if (call->api == FLAGSIM_API_LAUNCH && call->low_level)
        return MODULE_LAUNCH;
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel && call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED)
        return EXT_LAUNCH;
    return ids[call->api];
}

// 64 bits wide in the real library, and counted from 1. The fault makes ids that are alike in their lower
// half.
static uint64_t wide_id(uint32_t correlation) {
    if (!flagsim_fault_on(FLAGSIM_FAULT_wide_ids))
        return correlation;
    return (uint64_t)correlation << 32 | (correlation / 7 & 1);
}

static void fill_launch(ApiData *data, const flagsim_api_call *call) {
    const flagsim_kernel_info *info = call->kernel;
    if (!info)
        return;
    if (call->low_level) {
        data->args.hipModuleLaunchKernel.f = call->kernel_handle;
        memcpy(&data->args.hipModuleLaunchKernel.gridDimX, info->grid, sizeof info->grid);
        memcpy(&data->args.hipModuleLaunchKernel.blockDimX, info->block, sizeof info->block);
        data->args.hipModuleLaunchKernel.sharedMemBytes = info->shared_dynamic_bytes;
        data->args.hipModuleLaunchKernel.stream = call->stream_handle;
        return;
    }
    data->args.hipLaunchKernel.function_address = call->kernel_handle;
    memcpy(&data->args.hipLaunchKernel.numBlocks, info->grid, sizeof info->grid);
    memcpy(&data->args.hipLaunchKernel.dimBlocks, info->block, sizeof info->block);
    data->args.hipLaunchKernel.sharedMemBytes = info->shared_dynamic_bytes;
    data->args.hipLaunchKernel.stream = call->stream_handle;
}

static void fill_copy(ApiData *data, const flagsim_api_call *call) {
    data->args.hipMemcpyAsync.dst = call->dst;
    data->args.hipMemcpyAsync.src = call->src;
    data->args.hipMemcpyAsync.sizeBytes = call->bytes;
    data->args.hipMemcpyAsync.kind =
        call->copy == FLAGSIM_COPY_PTOP ? 3 : (uint32_t)call->copy; // numbered alike
    if (call->api == FLAGSIM_API_MEMCPY_ASYNC)
        data->args.hipMemcpyAsync.stream = call->stream_handle;
}

static void fill_peer(ApiData *data, const flagsim_api_call *call) {
    data->args.hipMemcpyPeerAsync.dst = call->dst;
    data->args.hipMemcpyPeerAsync.dstDeviceId = call->dst_device;
    data->args.hipMemcpyPeerAsync.src = call->src;
    data->args.hipMemcpyPeerAsync.srcDevice = call->src_device;
    data->args.hipMemcpyPeerAsync.sizeBytes = call->bytes;
    data->args.hipMemcpyPeerAsync.stream = call->stream_handle;
}

static void fill_set(ApiData *data, const flagsim_api_call *call) {
    data->args.hipMemsetAsync.dst = call->dst;
    data->args.hipMemsetAsync.value = call->value;
    data->args.hipMemsetAsync.sizeBytes = call->bytes;
    if (call->api == FLAGSIM_API_MEMSET_ASYNC)
        data->args.hipMemsetAsync.stream = call->stream_handle;
}

static void fill_graph(ApiData *data, const flagsim_api_call *call) {
    data->args.hipGraphLaunch.graphExec = call->graph;
    data->args.hipGraphLaunch.stream = call->stream_handle;
}

static void fill_malloc(ApiData *data, const flagsim_api_call *call) {
    data->args.hipMalloc.ptr__val = call->dst;
    data->args.hipMalloc.size = call->bytes;
}

static void tell(const flagsim_api_call *call, uint32_t phase) {
    static void (*const fill[FLAGSIM_API_COUNT])(ApiData *, const flagsim_api_call *) = {
        [FLAGSIM_API_LAUNCH] = fill_launch,      [FLAGSIM_API_MEMCPY] = fill_copy,
        [FLAGSIM_API_MEMCPY_ASYNC] = fill_copy,  [FLAGSIM_API_MEMCPY_PEER_ASYNC] = fill_peer,
        [FLAGSIM_API_MEMSET] = fill_set,         [FLAGSIM_API_MEMSET_ASYNC] = fill_set,
        [FLAGSIM_API_GRAPH_LAUNCH] = fill_graph, [FLAGSIM_API_MALLOC] = fill_malloc,
    };
    uint64_t phase_data = 0;
    ApiData data = { .correlation_id = wide_id(call->correlation), .phase = phase };
    data.phase_data = &phase_data;
    memset(&data.args, 0xa5, sizeof data.args); // what no call fills is not zero in the real library either
    if (fill[call->api])
        fill[call->api](&data, call);
    ApiCallback callback = atomic_load(&state.callback);
    if (callback)
        callback(DOMAIN_HIP_API, id_of(call), &data, atomic_load(&state.callback_arg));
}

static void on_enter(void *user, const flagsim_api_call *call) {
    (void)user;
    uint32_t id = id_of(call);
    if (!id || !fc_armed(DOMAIN_HIP_API) || !atomic_load_explicit(&state.wanted[id], memory_order_relaxed))
        return;
    *call->scratch = 1;
    tell(call, PHASE_ENTER);
}

static void on_exit_(void *user, const flagsim_api_call *call) {
    (void)user;
    if (!*call->scratch || !fc_armed(DOMAIN_HIP_API))
        return;
    tell(call, PHASE_EXIT);
    flagsim_truth_record(FLAGSIM_FATE_DELIVERED, FLAGSIM_RECORD_RUNTIME, 1);
}

// ---- device records

static uint32_t kind_of(const flagsim_activity *activity) {
    static const uint32_t copies[] = {
        [FLAGSIM_COPY_HTOH] = KIND_DTOD, [FLAGSIM_COPY_HTOD] = KIND_HTOD, [FLAGSIM_COPY_DTOH] = KIND_DTOH,
        [FLAGSIM_COPY_DTOD] = KIND_DTOD, [FLAGSIM_COPY_PTOP] = KIND_DTOD, [FLAGSIM_COPY_DEFAULT] = KIND_DTOD,
    };
    if (activity->kind == FLAGSIM_ACTIVITY_COPY)
        return copies[activity->of.memory.copy];
    if (activity->kind == FLAGSIM_ACTIVITY_SET)
        return KIND_FILL;
    return IS_DTK ? KIND_KERNEL_OF_DTK : activity->graph_node_id ? KIND_TASK : KIND_KERNEL;
}

static Record compose(const flagsim_activity *activity, const fc_work *work) {
    bool is_kernel = activity->kind == FLAGSIM_ACTIVITY_KERNEL;
    Record record = {
        .domain = DOMAIN_HIP_OPS,
        .kind = kind_of(activity),
        .op = is_kernel ? OP_DISPATCH : OP_COPY,
        .correlation_id = wide_id(activity->correlation),
        .begin_ns = work->start,
        .end_ns = work->end,
        // The driver's number of the device: KFD's nodes, of which the processors are the first [CODE].
        .device_id = activity->device + (int)flagsim_fault_value(FLAGSIM_FAULT_kfd_nodes),
        .queue_id = activity->stream,
    };
    if (is_kernel)
        record.of.kernel_name = work->name;
    else
        record.of.bytes = flagsim_fault_on(FLAGSIM_FAULT_no_bytes) ? 0 : activity->of.memory.bytes;
    return record;
}

static void write_barrier(const Record *after) {
    uint64_t step = flagsim_fault_value(FLAGSIM_FAULT_barriers);
    Record barrier = *after;
    if (!step || (atomic_fetch_add(&state.device_records, 1) + 1) % step)
        return;
    barrier.kind = KIND_BARRIER;
    barrier.op = OP_BARRIER;
    barrier.begin_ns = barrier.end_ns;
    barrier.of.bytes = 0;
    fc_write(FLAGSIM_RECORD_SYNC, &barrier, sizeof barrier, 0);
}

static bool kept_for_later(flagsim_record family, const Record *record, uint32_t flaws) {
    struct held *held = flagsim_fault_on(FLAGSIM_FAULT_late_records) ? malloc(sizeof *held) : NULL;
    if (!held)
        return false;
    *held = (struct held){ NULL, family, flaws, *record };
    pthread_mutex_lock(&state.lock);
    *state.held_tail = held;
    state.held_tail = &held->next;
    pthread_mutex_unlock(&state.lock);
    return true;
}

// What one flush gets of the records whose signals were handled late.
static void release_held(uint64_t count) {
    while (count-- > 0) {
        pthread_mutex_lock(&state.lock);
        struct held *held = state.held;
        if (held && !(state.held = held->next))
            state.held_tail = &state.held;
        pthread_mutex_unlock(&state.lock);
        if (!held)
            return;
        fc_write(held->family, &held->record, sizeof held->record, held->flaws);
        free(held);
    }
}

static void on_activity(void *user, const flagsim_activity *activity) {
    static const flagsim_record families[] = {
        [FLAGSIM_ACTIVITY_KERNEL] = FLAGSIM_RECORD_KERNEL,
        [FLAGSIM_ACTIVITY_COPY] = FLAGSIM_RECORD_COPY,
        [FLAGSIM_ACTIVITY_SET] = FLAGSIM_RECORD_SET,
    };
    fc_work work;
    (void)user;
    if ((size_t)activity->kind >= sizeof families / sizeof *families ||
        !fc_armed_for(DOMAIN_HIP_OPS, activity) || !fc_shape(activity, families[activity->kind], &work))
        return;
    Record record = compose(activity, &work);
    if (!kept_for_later(families[activity->kind], &record, work.flaws))
        fc_write(families[activity->kind], &record, sizeof record, work.flaws);
    write_barrier(&record);
}

static size_t foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    Record record = { .domain = DOMAIN_HIP_OPS, .kind = 0x1300, .op = 9, .correlation_id = 1 };
    memcpy(bytes, &record, sizeof record);
    return sizeof record;
}

// ---- the pool

static void allocate(const Properties *pool, char **bytes, size_t size) {
    if (pool->alloc_fun)
        pool->alloc_fun(bytes, size, pool->alloc_arg);
    else if (size)
        *bytes = malloc(size);
    else
        free(*bytes);
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    const Properties *pool = atomic_load(&state.pool);
    char *bytes = NULL;
    *buffer = NULL;
    *max_records = 0;
    if (!pool)
        return;
    allocate(pool, &bytes, pool->buffer_size);
    *buffer = (uint8_t *)bytes;
    *size = pool->buffer_size;
}

static bool has_name(const Record *record) {
    return record->domain == DOMAIN_HIP_OPS && record->op == OP_DISPATCH && record->of.kernel_name;
}

// Names live during the callback only: each is a copy, overwritten and freed after it.
static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    const Properties *pool = atomic_load(&state.pool);
    char *bytes = (char *)buffer;
    size_t count = valid / sizeof(Record);
    char **copies = calloc(count + 1, sizeof *copies);
    (void)tool;
    (void)size;
    for (size_t i = 0; copies && i < count; i++) {
        Record *record = &((Record *)(void *)buffer)[i];
        if (has_name(record))
            record->of.kernel_name = copies[i] = strdup(record->of.kernel_name);
    }
    if (pool && pool->buffer_callback_fun)
        pool->buffer_callback_fun(bytes, bytes + valid, pool->buffer_callback_arg);
    for (size_t i = 0; copies && i < count; i++) {
        if (copies[i])
            memset(copies[i], '!', strlen(copies[i]));
        free(copies[i]);
    }
    free(copies);
    if (pool)
        allocate(pool, &bytes, 0);
}

static void completed(void) { // deliver knows the pool's callback
}

// ---- exported

PUBLIC uint32_t roctracer_version_major(void);
PUBLIC uint32_t roctracer_version_minor(void);
PUBLIC const char *roctracer_error_string(void);
PUBLIC const char *roctracer_op_string(uint32_t domain, uint32_t op, uint32_t kind);
PUBLIC int roctracer_op_code(uint32_t domain, const char *name, uint32_t *op, uint32_t *kind);
PUBLIC int roctracer_set_properties(uint32_t domain, void *properties);
PUBLIC int roctracer_enable_op_callback(uint32_t domain, uint32_t op, ApiCallback callback, void *arg);
PUBLIC int roctracer_disable_op_callback(uint32_t domain, uint32_t op);
PUBLIC int roctracer_enable_domain_callback(uint32_t domain, ApiCallback callback, void *arg);
PUBLIC int roctracer_disable_domain_callback(uint32_t domain);
PUBLIC int roctracer_open_pool_expl(const Properties *properties, void **pool);
PUBLIC int roctracer_open_pool(const Properties *properties);
PUBLIC int roctracer_close_pool_expl(void *pool);
PUBLIC int roctracer_close_pool(void);
PUBLIC int roctracer_enable_domain_activity_expl(uint32_t domain, void *pool);
PUBLIC int roctracer_enable_domain_activity(uint32_t domain);
PUBLIC int roctracer_disable_domain_activity(uint32_t domain);
PUBLIC int roctracer_flush_activity_expl(void *pool);
PUBLIC int roctracer_flush_activity(void);
PUBLIC int roctracer_next_record(const Record *record, const Record **next);
PUBLIC int roctracer_get_timestamp(uint64_t *ns);
PUBLIC void roctracer_start(void);
PUBLIC void roctracer_stop(void);
PUBLIC int roctracer_activity_push_external_correlation_id(uint64_t id);
PUBLIC int roctracer_activity_pop_external_correlation_id(uint64_t *last);

uint32_t roctracer_version_major(void) {
    return 4;
}

uint32_t roctracer_version_minor(void) {
    return 1;
}

const char *roctracer_error_string(void) {
    return strdup("an error of the simulated ROCtracer"); // the caller frees it
}

static const char *name_of(uint32_t id) {
    if (id == MODULE_LAUNCH)
        return "hipModuleLaunchKernel";
    if (id == EXT_LAUNCH)
        return "hipExtLaunchKernel";
    for (int api = 0; api < FLAGSIM_API_COUNT; api++)
        if (ids[api] == id && names[api])
            return names[api];
    return NULL;
}

const char *roctracer_op_string(uint32_t domain, uint32_t op, uint32_t kind) {
    if (fc_enter())
        return NULL;
    is_bound();
    if (domain == DOMAIN_HIP_API)
        return name_of(op);
    return domain != DOMAIN_HIP_OPS ? NULL : kind == KIND_FILL ? "FillBuffer" : "Unknown command type";
}

int roctracer_op_code(uint32_t domain, const char *name, uint32_t *op, uint32_t *kind) {
    ENTER();
    if (domain != DOMAIN_HIP_API || !name || !op)
        return ROC_INVALID_ARGUMENT;
    for (uint32_t id = 1; id < IDS; id++)
        if (name_of(id) && strcmp(name_of(id), name) == 0) {
            *op = id;
            if (kind)
                *kind = 0;
            return ROC_OK;
        }
    return ROC_INVALID_ARGUMENT;
}

int roctracer_set_properties(uint32_t domain, void *properties) {
    ENTER();
    (void)properties;
    return domain > 7 ? ROC_INVALID_DOMAIN : ROC_OK;
}

static int arm_calls(uint32_t domain, uint32_t first, uint32_t last, ApiCallback callback, void *arg) {
    ENTER();
    if (domain != DOMAIN_HIP_API)
        return ROC_INVALID_DOMAIN;
    if (!callback || first > last || last >= IDS)
        return ROC_INVALID_ARGUMENT;
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber))
        return ROC_ERROR;
    atomic_store(&state.callback_arg, arg);
    atomic_store(&state.callback, callback);
    for (uint32_t id = first; id <= last; id++)
        atomic_store(&state.wanted[id], true);
    if (is_bound())
        fc_arm(DOMAIN_HIP_API, true);
    return ROC_OK;
}

int roctracer_enable_op_callback(uint32_t domain, uint32_t op, ApiCallback callback, void *arg) {
    return arm_calls(domain, op, op, callback, arg);
}

int roctracer_enable_domain_callback(uint32_t domain, ApiCallback callback, void *arg) {
    return arm_calls(domain, 1, IDS - 1, callback, arg);
}

int roctracer_disable_op_callback(uint32_t domain, uint32_t op) {
    ENTER();
    if (domain != DOMAIN_HIP_API || op >= IDS)
        return ROC_INVALID_ARGUMENT;
    atomic_store(&state.wanted[op], false);
    return ROC_OK;
}

// A callback that another thread is in may still be running afterwards.
int roctracer_disable_domain_callback(uint32_t domain) {
    ENTER();
    if (domain != DOMAIN_HIP_API)
        return ROC_INVALID_DOMAIN;
    for (uint32_t id = 0; id < IDS; id++)
        atomic_store(&state.wanted[id], false);
    fc_arm(DOMAIN_HIP_API, false);
    return ROC_OK;
}

int roctracer_open_pool_expl(const Properties *properties, void **pool) {
    ENTER();
    if (!properties || !properties->buffer_size)
        return ROC_INVALID_ARGUMENT;
    if (!pool && state.default_pool)
        return ROC_DEFAULT_POOL_EXISTS;
    Properties *made = malloc(sizeof *made);
    if (!made)
        return ROC_ERROR;
    *made = *properties;
    *(pool ? pool : (void **)&state.default_pool) = made;
    return fc_register(request, completed) ? ROC_ERROR : ROC_OK;
}

int roctracer_open_pool(const Properties *properties) {
    return roctracer_open_pool_expl(properties, NULL);
}

int roctracer_close_pool_expl(void *pool) {
    ENTER();
    Properties *closing = pool ? pool : state.default_pool;
    if (!closing)
        return ROC_NO_DEFAULT_POOL;
    fc_flush();
    if (atomic_load(&state.pool) == closing)
        atomic_store(&state.pool, NULL);
    if (closing == state.default_pool)
        state.default_pool = NULL;
    free(closing);
    return ROC_OK;
}

int roctracer_close_pool(void) {
    return roctracer_close_pool_expl(NULL);
}

// Of HIP_API only callbacks are simulated, no activity.
int roctracer_enable_domain_activity_expl(uint32_t domain, void *pool) {
    ENTER();
    if (domain != DOMAIN_HIP_OPS)
        return domain == DOMAIN_HIP_API ? ROC_NOT_IMPLEMENTED : ROC_INVALID_DOMAIN;
    if (!pool && !state.default_pool)
        return ROC_NO_DEFAULT_POOL;
    atomic_store(&state.pool, pool ? pool : state.default_pool);
    if (is_bound())
        fc_arm(DOMAIN_HIP_OPS, true);
    return ROC_OK;
}

int roctracer_enable_domain_activity(uint32_t domain) {
    return roctracer_enable_domain_activity_expl(domain, NULL);
}

int roctracer_disable_domain_activity(uint32_t domain) {
    ENTER();
    if (domain == DOMAIN_HIP_OPS)
        fc_arm(DOMAIN_HIP_OPS, false);
    return ROC_OK;
}

int roctracer_flush_activity_expl(void *pool) {
    ENTER();
    if (!pool && !state.default_pool)
        return ROC_NO_DEFAULT_POOL;
    release_held(flagsim_fault_value(FLAGSIM_FAULT_late_records));
    return fc_flush() ? ROC_ERROR : ROC_OK;
}

int roctracer_flush_activity(void) {
    return roctracer_flush_activity_expl(NULL);
}

int roctracer_next_record(const Record *record, const Record **next) {
    *next = record + 1;
    return ROC_OK;
}

// 0 while HSA sleeps [CODE].
int roctracer_get_timestamp(uint64_t *ns) {
    ENTER();
    if (!ns)
        return ROC_INVALID_ARGUMENT;
    uint64_t asleep = flagsim_fault_value(FLAGSIM_FAULT_clock_asleep);
    *ns = asleep && atomic_fetch_add(&state.clock_readings, 1) < asleep ? 0 : fc_now();
    return ROC_OK;
}

void roctracer_start(void) {}

void roctracer_stop(void) {}

int roctracer_activity_push_external_correlation_id(uint64_t id) {
    ENTER();
    return fc_push(0, id) ? ROC_ERROR : ROC_OK;
}

int roctracer_activity_pop_external_correlation_id(uint64_t *last) {
    ENTER();
    return fc_pop(0, last) ? ROC_MISMATCHED_EXTERNAL_ID : ROC_OK;
}

// The counter of HSA in nanoseconds, near CLOCK_MONOTONIC and not quite its rate [CODE].
__attribute__((constructor)) static void load(void) {
    struct timespec now;
    fc_setup(&(fc_facade){
        .vendor = "roctracer",
        .observer = { sizeof(flagsim_observer), on_enter, on_exit_, on_activity },
        .consumer_thread = true,
        .deliver = deliver,
        .foreign = foreign,
    });
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!flagsim_fault_on(FLAGSIM_FAULT_clock_domain) && !flagsim_fault_on(FLAGSIM_FAULT_epoch_clock))
        fc_clock_set((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - flagsim_now_ns(), 12);
}
