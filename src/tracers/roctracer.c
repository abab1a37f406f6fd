// roctracer.c - the tracer of AMD GPUs and Hygon DCUs, over ROCtracer.
//
// In:  the contract's calls (device_tracer.h); ROCtracer's two callbacks, one for each HIP call on the
// calling thread, one for
//      device records on the pool's own thread. Out: events in the sink.
//
// ROCtracer tells host calls and device work in different ways. A call comes as enter and exit with its
// arguments and no times, so we read ROCtracer's clock ourselves; a device record comes with times and
// neither geometry nor, often, bytes, so these are taken from the call's arguments by correlation id.
// Framework ids are the calling thread's (id_stack.h), since ROCtracer's own serve only activity records.
// Both callbacks put fixed entries into rings and do nothing else.

#include "tracers/roctracer.h"

#include "base/log.h"
#include "tracers/clock.h"
#include "tracers/id_map.h"
#include "tracers/id_stack.h"
#include "tracers/libraries.h"
#include "tracers/ring.h"
#include "tracers/roctracer_abi.h"
#include "tracers/text_arena.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_ENTRIES = 1 << 16,
    DEVICE_ENTRIES = 1 << 17,
    WAKE_EVERY = 1 << 12,
    POOL_BYTES = 1 << 20,
    NAME_BYTES = 256 << 20, // of address space; what is written costs memory
    NAMES = 1 << 15,
    CALL_DEPTH = 8,             // HIP calls that call HIP
    API_IDS = 2048,             // LAST was 363 to 444 in the releases seen [HEADER]
    FLUSH_QUIET_NS = 200000000, // nothing new for so long: what is not here by now does not come
    SAME_CLOCK_NS = 1000000,
    FIELDS_MAX = 6,
};

#define HOUR_NS UINT64_C(3600000000000)
#define SIMULATION_MARK "flagsim_marker"

struct call { // one HIP call, as its exit callback hands it over
    uint64_t correlation_id, start, end;
    uint64_t operator_id, range_id, bytes;
    uint32_t cid, thread;
    uint32_t grid[3], block[3], shared_bytes, value;
    int32_t to_device, from_device;
    uint8_t copy_kind;
    bool has_operator, has_range;
};

struct work { // one device record, its name kept
    struct fp_roc_record record;
    const char *name;
};

struct details {             // of a launching call, until its device records have come
    uint64_t correlation_id; // 0: free
    uint64_t bytes;
    uint32_t grid[3], block[3], shared_bytes, value;
    int32_t to_device, from_device;
    uint8_t copy_kind, sort;
};

struct api {                        // one row of the vendor's numbering, resolved at open
    const struct fp_hip_call *call; // NULL: it starts nothing
    bool quiet;
};

struct fp_tracer {
    struct fp_roc_functions call;
    void *handle;
    char path[FP_LIBRARY_PATH_BYTES], version[96];
    bool simulated;
    int device_count, first_node;
    struct api apis[API_IDS];
    struct fp_ring *calls, *work;
    struct fp_text_arena *names;
    // One session.
    void *pool;
    bool running, all_calls;
    void (*wake)(void *);
    void *wake_owner;
    struct fp_clock clock;
    bool clock_begun;
    struct fp_id_map *ids;
    struct details *details;
    size_t details_count, details_mask;
    struct work *waiting; // device records whose call has not returned yet
    size_t waiting_count, waiting_capacity;
    uint64_t records_lost_here;
    atomic_ullong last_launch, last_work, callbacks, puts;
};

// ROCtracer's callbacks carry a pointer of ours; what the pool's thread may still use after a session lives
// as long.
static atomic_bool in_child;

// ---- Callbacks

static _Thread_local struct {
    struct {
        uint64_t correlation_id, start;
    } open[CALL_DEPTH];
    unsigned depth;
} own;

static uint64_t vendor_now(struct fp_tracer *tracer) {
    uint64_t now = 0;
    return tracer->call.get_timestamp(&now) == 0 ? now : 0;
}

static uint32_t word_at(const unsigned char *data, size_t offset) {
    uint32_t word;
    memcpy(&word, data + offset, sizeof(word));
    return word;
}

static uint64_t wide_at(const unsigned char *data, size_t offset, size_t bytes) {
    uint64_t wide = 0;
    memcpy(&wide, data + offset, bytes); // little-endian, as all hosts of these devices
    return wide;
}

static void read_geometry(struct call *call, const struct fp_hip_call *row, const unsigned char *data) {
    for (size_t axis = 0; axis < 3; axis++) {
        call->grid[axis] = word_at(data, row->grid + 4 * axis);
        call->block[axis] = word_at(data, row->block + 4 * axis);
        if (row->grid_is_threads && call->block[axis])
            call->grid[axis] = (call->grid[axis] + call->block[axis] - 1) / call->block[axis];
    }
    if (row->shared)
        call->shared_bytes = (uint32_t)wide_at(data, row->shared, row->shared_bytes);
}

static void read_arguments(struct call *call, const struct fp_hip_call *row, const unsigned char *data) {
    call->copy_kind = row->sort == FP_HIP_COPY ? row->fixed_kind : FP_HIP_COPY_DEFAULT;
    call->to_device = call->from_device = -1;
    if (row->sort == FP_HIP_LAUNCH)
        read_geometry(call, row, data);
    if (row->bytes)
        call->bytes = wide_at(data, row->bytes, 8) * (row->value_unit ? row->value_unit : 1);
    if (row->kind)
        call->copy_kind = (uint8_t)word_at(data, row->kind);
    if (row->value_bytes)
        call->value = (uint32_t)wide_at(data, row->value, row->value_bytes);
    if (row->to_device) {
        call->to_device = (int32_t)word_at(data, row->to_device);
        call->from_device = (int32_t)word_at(data, row->from_device);
    }
}

static void wake(struct fp_tracer *tracer, bool now) {
    uint64_t puts = atomic_fetch_add_explicit(&tracer->puts, 1, memory_order_relaxed);
    if ((now || puts % WAKE_EVERY == WAKE_EVERY - 1) && tracer->wake)
        tracer->wake(tracer->wake_owner);
}

static void raise_to(atomic_ullong *highest, uint64_t value) {
    unsigned long long now = atomic_load_explicit(highest, memory_order_relaxed);
    while (now < value && !atomic_compare_exchange_weak_explicit(highest, &now, value, memory_order_relaxed,
                                                                 memory_order_relaxed))
        ;
}

static void on_exit_of(struct fp_tracer *tracer, uint32_t cid, const unsigned char *data,
                       uint64_t correlation_id) {
    while (own.depth && own.open[own.depth - 1].correlation_id != correlation_id)
        own.depth--; // an exit that never came
    if (own.depth == 0)
        return; // entered before the session
    static _Thread_local uint32_t thread;
    if (!thread)
        thread = (uint32_t)syscall(SYS_gettid);
    fp_framework_id operator_id = fp_id_stack_top(FP_ID_OPERATOR), range_id = fp_id_stack_top(FP_ID_RANGE);
    struct call call = {
        .correlation_id = correlation_id,
        .start = own.open[--own.depth].start,
        .end = vendor_now(tracer),
        .operator_id = operator_id.value,
        .has_operator = operator_id.present,
        .range_id = range_id.value,
        .has_range = range_id.present,
        .cid = cid,
        .thread = thread,
    };
    const struct fp_hip_call *row = cid < API_IDS ? tracer->apis[cid].call : NULL;
    if (row) {
        read_arguments(&call, row, data);
        raise_to(&tracer->last_launch, correlation_id);
    }
    fp_ring_put(tracer->calls, &call);
    wake(tracer, false);
}

static void on_api(uint32_t domain, uint32_t cid, const void *data, void *argument) {
    struct fp_tracer *tracer = argument;
    struct fp_roc_api_data head;
    if (domain != FP_ROC_DOMAIN_HIP_API || !data)
        return;
    memcpy(&head, data, sizeof(head));
    atomic_fetch_add_explicit(&tracer->callbacks, 1, memory_order_relaxed);
    if (head.phase == FP_ROC_PHASE_EXIT) {
        on_exit_of(tracer, cid, data, head.correlation_id);
    } else if (own.depth < CALL_DEPTH) {
        own.open[own.depth].correlation_id = head.correlation_id;
        own.open[own.depth++].start = vendor_now(tracer);
    }
}

static void on_records(const char *begin, const char *end, void *argument) {
    struct fp_tracer *tracer = argument;
    for (; begin && end - begin >= (ptrdiff_t)sizeof(struct fp_roc_record);
         begin += sizeof(struct fp_roc_record)) {
        struct work work = { .name = NULL };
        memcpy(&work.record, begin, sizeof(work.record));
        if (work.record.domain != FP_ROC_DOMAIN_HIP_OPS || work.record.op == FP_ROC_OP_BARRIER)
            continue;
        if (work.record.op == FP_ROC_OP_DISPATCH)
            work.name = fp_text_arena_keep(tracer->names, work.record.u.kernel_name);
        raise_to(&tracer->last_work, work.record.correlation_id);
        fp_ring_put(tracer->work, &work);
    }
    wake(tracer, true);
}

// ---- Binding

static bool bind(struct fp_roc_functions *functions, const struct fp_roc_symbol *symbols, size_t count,
                 void *handle, const char **missing) {
    for (size_t at = 0; at < count; at++) {
        void *found = dlsym(handle, symbols[at].name);
        if (!found && symbols[at].required) {
            *missing = symbols[at].name;
            return false;
        }
        memcpy((char *)functions + symbols[at].at, &found, sizeof(found));
    }
    return true;
}

#define BIND(functions, symbols, handle, missing)                                                            \
    bind(functions, symbols, sizeof(symbols) / sizeof((symbols)[0]), handle, missing)

// HIP must be in the process first: ROCtracer looks for libamdhip64 once, at its own loading, and keeps the
// answer; bound too early it delivers nothing and says nothing [CODE].
static void *loaded_hip(const char *tracer_path, char *path, size_t capacity) {
    static const char *const names[] = { "libamdhip64.so", "libgalaxyhip.so" };
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++)
        if (fp_library_loaded(names[at], 0, path, capacity))
            return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    // A simulated library is its own HIP.
    void *handle = dlopen(tracer_path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return handle && dlsym(handle, SIMULATION_MARK) && dlsym(handle, "hipGetDeviceCount") ? handle : NULL;
}

static void list_places(struct fp_library_list *list) {
    static const char *const names[] = { "libroctracer64.so.4", "libroctracer64.so", NULL };
    static const char *const folders[] = {
        "/opt/rocm/lib",
        "/opt/dtk/lib",
        "/opt/dtk/roctracer/lib",
        NULL,
    };
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t nth = 0; fp_library_loaded("libroctracer64.so", nth, path, sizeof(path)); nth++)
        fp_library_list_add(list, path);
    // DTK's HIP exports ROCtracer's functions itself [CODE].
    for (size_t nth = 0; fp_library_loaded("libgalaxyhip.so", nth, path, sizeof(path)); nth++)
        fp_library_list_add(list, path);
    if (fp_library_loaded("libtorch_hip.so", 0, path, sizeof(path))) {
        *strrchr(path, '/') = '\0';
        fp_library_list_add_folder(list, path, NULL, names);
    }
    fp_library_list_add_folders(list, getenv("FLAGOS_LIBRARY_PATH"), names);
    fp_library_list_add_folder(list, getenv("ROCM_PATH"), "lib", names);
    fp_library_list_add_folder(list, getenv("DTK_ROOT"), "lib", names);
    fp_library_list_add_folder(list, getenv("DTK_ROOT"), "roctracer/lib", names);
    for (size_t at = 0; folders[at]; at++)
        fp_library_list_add_folder(list, folders[at], NULL, names);
}

static int try_library(struct fp_tracer *tracer, const char *path, struct fp_error *err) {
    const char *missing = NULL;
    char hip_path[FP_LIBRARY_PATH_BYTES] = "";
    // Whether HIP is there is asked before ROCtracer is loaded: the order matters to ROCtracer.
    bool was_loaded = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) != NULL;
    if (!was_loaded && !loaded_hip(path, hip_path, sizeof(hip_path))) {
        fp_error_set(
            err,
            "%s: HIP is not loaded in this process yet, and ROCtracer loaded before it records nothing: "
            "import torch and make a device first",
            path);
        return -EAGAIN;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); // never closed: it keeps hooks in HIP
    if (!handle) {
        fp_error_set(err, "%s", dlerror());
        return -ELIBACC;
    }
    void *hip = loaded_hip(path, hip_path, sizeof(hip_path));
    if (!hip) {
        fp_error_set(err, "%s: ROCtracer was loaded before HIP and records nothing in this process", path);
        return -EAGAIN;
    }
    if (!BIND(&tracer->call, fp_roc_symbols, handle, &missing) ||
        !BIND(&tracer->call, fp_hip_symbols, hip, &missing)) {
        fp_error_set(err, "%s lacks %s", path, missing);
        return -ENOSYS;
    }
    tracer->handle = handle;
    tracer->simulated = dlsym(handle, SIMULATION_MARK) != NULL;
    snprintf(tracer->path, sizeof(tracer->path), "%s", path);
    return 0;
}

static void say_nothing_found(struct fp_error *err) {
    char path[FP_LIBRARY_PATH_BYTES];
    if (fp_library_loaded("librocprofiler-sdk.so", 0, path, sizeof(path)) ||
        access("/opt/rocm/lib/librocprofiler-sdk.so", R_OK) == 0)
        fp_error_set(err, "only rocprofiler-sdk is installed here: FlagProf records through ROCtracer "
                          "(libroctracer64.so.4)");
    else
        fp_error_set(
            err,
            "no libroctracer64.so.4 found: set FLAGOS_TRACER_LIBRARY to its path, or ROCM_PATH or DTK_ROOT");
}

static int find_library(struct fp_tracer *tracer, const char *named, struct fp_error *err) {
    if (named)
        return try_library(tracer, named, err);
    struct fp_library_list list = { 0 };
    list_places(&list);
    int result = -ENOENT;
    say_nothing_found(err);
    for (size_t at = 0; at < list.count && result != 0; at++)
        result = try_library(tracer, list.paths[at], err);
    fp_library_list_free(&list);
    return result;
}

// The driver counts devices as nodes of KFD's topology, in which the processors come first: the ordinal is
// the distance from the first node that is a GPU [CODE]. FLAGOS_KFD_TOPOLOGY names another folder than the
// kernel's, for tests.
static int first_gpu_node(void) {
    const char *root = getenv("FLAGOS_KFD_TOPOLOGY");
    DIR *folder = opendir(root && *root ? root : "/sys/class/kfd/kfd/topology/nodes");
    int first = -1;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *end;
        long node = strtol(entry->d_name, &end, 10);
        if (*end || end == entry->d_name)
            continue;
        char path[512];
        snprintf(path, sizeof(path), "%s/%ld/gpu_id",
                 root && *root ? root : "/sys/class/kfd/kfd/topology/nodes", node);
        FILE *file = fopen(path, "re");
        unsigned long gpu = 0;
        if (file && fscanf(file, "%lu", &gpu) == 1 && gpu != 0 && (first < 0 || node < first))
            first = (int)node;
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return first;
}

// ROCm 5.6 to 7.1 agree on the numbers of HIP's functions; older ones and DTK differ, so the name is asked
// first.
static uint32_t id_of(const struct fp_tracer *tracer, const char *name, uint32_t otherwise) {
    uint32_t op = 0;
    if (tracer->call.op_code && tracer->call.op_code(FP_ROC_DOMAIN_HIP_API, name, &op, NULL) == 0 && op > 0)
        return op;
    return otherwise;
}

static void resolve_apis(struct fp_tracer *tracer) {
    for (size_t at = 0; at < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); at++) {
        uint32_t id = id_of(tracer, fp_hip_calls[at].name, fp_hip_calls[at].id);
        if (id < API_IDS)
            tracer->apis[id].call = &fp_hip_calls[at];
    }
    for (size_t at = 0; fp_hip_quiet_calls[at]; at++) {
        uint32_t id = id_of(tracer, fp_hip_quiet_calls[at], 0);
        if (id > 0 && id < API_IDS)
            tracer->apis[id].quiet = true;
    }
}

static void free_tracer(struct fp_tracer *tracer) {
    fp_ring_free(tracer->calls);
    fp_ring_free(tracer->work);
    free(tracer); // the names stay: records may point at them
}

static void mark_child(void) {
    atomic_store(&in_child, true);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, mark_child);
}

static int roctracer_open(const struct fp_tracer_options *options, struct fp_tracer **result,
                          struct fp_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool named =
        options && options->size >= offsetof(struct fp_tracer_options, library) + sizeof(options->library);
    if (atomic_load(&in_child)) {
        fp_error_set(err, "this process was forked after ROCtracer was opened: it cannot be used here");
        return -ENODEV;
    }
    struct fp_tracer *tracer = calloc(1, sizeof(*tracer));
    if (!tracer) {
        fp_error_set(err, "no memory for the ROCtracer tracer");
        return -ENOMEM;
    }
    int status = find_library(tracer, named ? options->library : NULL, err);
    if (status == 0 &&
        (tracer->call.get_device_count(&tracer->device_count) != 0 || tracer->device_count <= 0)) {
        fp_error_set(err, "%s: HIP reports no device", tracer->path);
        status = -ENODEV;
    }
    if (status == 0) {
        tracer->calls = fp_ring_new(CALL_ENTRIES, sizeof(struct call));
        tracer->work = fp_ring_new(DEVICE_ENTRIES, sizeof(struct work));
        tracer->names = fp_text_arena_new(NAME_BYTES, NAMES);
        if (!tracer->calls || !tracer->work || !tracer->names) {
            fp_error_set(err, "no memory for the ROCtracer tracer's rings");
            status = -ENOMEM;
        }
    }
    if (status != 0) {
        free_tracer(tracer);
        return status;
    }
    pthread_once(&once, watch_forks);
    tracer->first_node = first_gpu_node();
    resolve_apis(tracer);
    if (tracer->call.version_major && tracer->call.version_minor)
        snprintf(tracer->version, sizeof(tracer->version), "%u.%u", tracer->call.version_major(),
                 tracer->call.version_minor());
    *result = tracer;
    return 0;
}

static void roctracer_close(struct fp_tracer *tracer) {
    if (!tracer->running)
        free_tracer(tracer);
}

static int version_by(int (*ask)(int *)) {
    int version = 0;
    return ask && ask(&version) == 0 ? version : 0;
}

static int roctracer_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    static const char *const kinds[] = { "HIP_OPS dispatch", "HIP_OPS copy", "HIP_OPS fill", "HIP_API",
                                         NULL };
    struct fp_tracer_description found = {
        .library_path = tracer->path,
        .version = tracer->version,
        .simulated = tracer->simulated ? "FlagProf's simulated accelerator" : NULL,
        .kinds = kinds,
        .runtime_kind = "hip_runtime",
        .driver_version = (uint64_t)version_by(tracer->call.driver_get_version),
        .runtime_version = (uint64_t)version_by(tracer->call.runtime_get_version),
    };
    found.size = description->size < sizeof(found) ? description->size : sizeof(found);
    memcpy(description, &found, found.size);
    return 0;
}

static int roctracer_device_count(struct fp_tracer *tracer) {
    return tracer->device_count;
}

// Name and memory alone: the attribute numbers of HIP changed between its major releases, and a wrong figure
// is worse than none.
static int roctracer_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    struct fp_device found = { .size = sizeof(found) };
    if (ordinal >= (uint32_t)tracer->device_count)
        return -ENODEV;
    if (tracer->call.device_get_name &&
        tracer->call.device_get_name(found.name, sizeof(found.name) - 1, (int)ordinal) != 0)
        found.name[0] = '\0';
    size_t bytes = 0;
    if (tracer->call.device_total_mem && tracer->call.device_total_mem(&bytes, (int)ordinal) == 0)
        found.total_memory_bytes = bytes;
    found.size = device->size < sizeof(found) ? device->size : sizeof(found);
    memcpy(device, &found, found.size);
    return 0;
}

// ---- Clock

static int read_clock(void *owner, uint64_t *vendor_ns) {
    struct fp_tracer *tracer = owner;
    *vendor_ns = vendor_now(tracer);
    return *vendor_ns ? 0 : -EAGAIN; // 0 while HSA sleeps: before the first HIP call [CODE]
}

static void sample_clock(struct fp_tracer *tracer) {
    struct fp_clock_sample sample;
    if (fp_clock_sample(read_clock, tracer, &sample) != 0)
        return;
    if (tracer->clock_begun)
        fp_clock_finish(&tracer->clock, sample);
    else
        fp_clock_begin(&tracer->clock, sample, SAME_CLOCK_NS);
    tracer->clock_begun = true;
}

static int64_t roctracer_to_epoch(struct fp_tracer *tracer, int64_t vendor_ns) {
    return fp_clock_to_epoch(&tracer->clock, vendor_ns);
}

// ---- Start and stop

static void empty_rings(struct fp_tracer *tracer) {
    struct call call;
    struct work work;
    while (fp_ring_take(tracer->calls, &call))
        ;
    while (fp_ring_take(tracer->work, &work))
        ;
    fp_ring_take_refused(tracer->calls);
    fp_ring_take_refused(tracer->work);
}

static void end_session(struct fp_tracer *tracer) {
    fp_id_map_free(tracer->ids);
    free(tracer->details);
    free(tracer->waiting);
    tracer->ids = NULL;
    tracer->details = NULL;
    tracer->waiting = NULL;
    tracer->details_count = tracer->details_mask = tracer->waiting_count = tracer->waiting_capacity = 0;
    tracer->records_lost_here = 0;
    tracer->clock_begun = false;
}

static void disarm(struct fp_tracer *tracer) {
    tracer->call.disable_domain_callback(FP_ROC_DOMAIN_HIP_API);
    tracer->call.disable_domain_activity(FP_ROC_DOMAIN_HIP_OPS);
    if (tracer->pool)
        tracer->call.close_pool(tracer->pool);
    tracer->pool = NULL;
}

static int arm(struct fp_tracer *tracer, struct fp_error *err) {
    struct fp_roc_properties properties = {
        .buffer_size = POOL_BYTES,
        .buffer_callback_fun = on_records,
        .buffer_callback_arg = tracer,
    };
    tracer->call.set_properties(FP_ROC_DOMAIN_HIP_API, NULL);
    const char *failed = NULL;
    if (tracer->call.open_pool(&properties, &tracer->pool) != 0)
        failed = "a pool";
    else if (tracer->call.enable_domain_callback(FP_ROC_DOMAIN_HIP_API, on_api, tracer) != 0)
        failed = "HIP calls";
    else if (tracer->call.enable_domain_activity(FP_ROC_DOMAIN_HIP_OPS, tracer->pool) != 0)
        failed = "device records";
    if (!failed) {
        if (tracer->call.start)
            tracer->call.start();
        return 0;
    }
    disarm(tracer);
    fp_error_set(err, "ROCtracer does not give %s: another profiler may hold it", failed);
    return -EIO;
}

static int roctracer_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                           struct fp_error *err) {
    if (atomic_load(&in_child)) {
        fp_error_set(err, "ROCtracer cannot be used in a process forked from one that used it");
        return -ECHILD;
    }
    if (tracer->running) {
        fp_error_set(err, "a ROCtracer session runs already: stop and drain it first");
        return -EBUSY;
    }
    end_session(tracer);
    empty_rings(tracer);
    tracer->ids = fp_id_map_new();
    if (!tracer->ids) {
        fp_error_set(err, "no memory for a ROCtracer session");
        return -ENOMEM;
    }
    tracer->all_calls = options->all_calls;
    tracer->wake = options->wake;
    tracer->wake_owner = options->wake_owner;
    atomic_store(&tracer->last_launch, 0);
    atomic_store(&tracer->last_work, 0);
    atomic_store(&tracer->callbacks, 0);
    sample_clock(tracer);
    int result = arm(tracer, err);
    tracer->running = result == 0;
    fp_log("roctracer", "%s: %s", tracer->path, result == 0 ? "armed" : "not armed");
    return result;
}

static uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Flushes until the work of the last launch has come, or nothing new has come for a while: not every call
// starts something.
static bool flush(struct fp_tracer *tracer, uint64_t timeout_ns) {
    uint64_t begun = monotonic_ns(), moved = begun, before = 0;
    for (;;) {
        tracer->call.flush_activity(tracer->pool);
        uint64_t seen = atomic_load(&tracer->last_work), now = monotonic_ns();
        if (seen >= atomic_load(&tracer->last_launch))
            return true;
        if (seen != before)
            moved = now;
        before = seen;
        if (now - begun > timeout_ns)
            return false;
        if (now - moved > FLUSH_QUIET_NS)
            return true;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static int roctracer_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    if (!tracer->running)
        return 0;
    tracer->running = false;
    tracer->call.disable_domain_callback(FP_ROC_DOMAIN_HIP_API); // so that our own calls are not recorded
    if (tracer->call.device_synchronize)
        tracer->call.device_synchronize();
    if (tracer->call.stop)
        tracer->call.stop();
    bool flushed = flush(tracer, timeout_ns);
    sample_clock(tracer);
    disarm(tracer);
    tracer->wake = NULL;
    if (flushed)
        return 0;
    fp_error_set(err, "ROCtracer still holds device records after %" PRIu64 " ms", timeout_ns / 1000000);
    return -ETIMEDOUT;
}

// ---- Drain

static struct details *find_details(const struct fp_tracer *tracer, uint64_t correlation_id) {
    uint64_t at = (correlation_id * 0x9e3779b97f4a7c15u >> 32) & tracer->details_mask;
    while (tracer->details[at].correlation_id && tracer->details[at].correlation_id != correlation_id)
        at = (at + 1) & tracer->details_mask;
    return &tracer->details[at];
}

static bool grow_details(struct fp_tracer *tracer) {
    if (tracer->details && tracer->details_count * 2 <= tracer->details_mask)
        return true;
    size_t slots = tracer->details ? (tracer->details_mask + 1) * 2 : 4096;
    struct details *before = tracer->details;
    size_t before_slots = before ? tracer->details_mask + 1 : 0;
    struct details *bigger = calloc(slots, sizeof(*bigger));
    if (!bigger)
        return false;
    tracer->details = bigger;
    tracer->details_mask = slots - 1;
    for (size_t at = 0; at < before_slots; at++)
        if (before[at].correlation_id)
            *find_details(tracer, before[at].correlation_id) = before[at];
    free(before);
    return true;
}

static void remember(struct fp_tracer *tracer, const struct call *call, const struct fp_hip_call *row) {
    if (!call->correlation_id || !grow_details(tracer))
        return;
    struct details *details = find_details(tracer, call->correlation_id);
    tracer->details_count += details->correlation_id == 0;
    *details = (struct details){
        .correlation_id = call->correlation_id,
        .bytes = call->bytes,
        .shared_bytes = call->shared_bytes,
        .value = call->value,
        .to_device = call->to_device,
        .from_device = call->from_device,
        .copy_kind = call->copy_kind,
        .sort = row->sort,
    };
    memcpy(details->grid, call->grid, sizeof(details->grid));
    memcpy(details->block, call->block, sizeof(details->block));
}

static bool take_times(struct fp_event *event, const struct fp_sink *sink, uint64_t start, uint64_t end) {
    bool missing = start == 0 && end == 0;
    if (missing || start == 0 || end < start || end - start > HOUR_NS || end > INT64_MAX) {
        sink->lose(sink->owner, event->kind, missing ? FP_LOSS_NO_TIMING : FP_LOSS_MALFORMED, 1);
        return false;
    }
    event->start_ns = (int64_t)start; // to_epoch maps them after stop
    event->end_ns = (int64_t)end;
    return true;
}

static void emit_call(struct fp_tracer *tracer, const struct fp_sink *sink, const struct call *call) {
    const struct api *api = call->cid < API_IDS ? &tracer->apis[call->cid] : NULL;
    const struct fp_hip_call *row = api ? api->call : NULL;
    if (row)
        remember(tracer, call, row);
    else if (api && api->quiet && !tracer->all_calls)
        return;
    struct fp_event event = {
        .kind = FP_KIND_RUNTIME,
        .fields = FP_HAS_CBID | (row ? FP_IS_LAUNCH : 0),
        .vendor_id = fp_id_map_get(tracer->ids, call->correlation_id),
        .u.call = { .thread = call->thread, .cbid = call->cid },
    };
    if (call->has_operator)
        sink->correlate(sink->owner, event.vendor_id, FP_ID_OPERATOR, call->operator_id);
    if (call->has_range)
        sink->correlate(sink->owner, event.vendor_id, FP_ID_RANGE, call->range_id);
    if (!take_times(&event, sink, call->start, call->end))
        return;
    char label[32];
    const char *name = tracer->call.op_string(FP_ROC_DOMAIN_HIP_API, call->cid, 0);
    if (!name || !*name) {
        snprintf(label, sizeof(label), "hipApi%" PRIu32, call->cid);
        name = label;
    }
    event.name = sink->name(sink->owner, name, FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

static uint8_t copy_kind_of(const struct fp_roc_record *record, const struct details *details) {
    switch (record->kind) {
    case FP_ROC_KIND_COPY_DTOH:
    case FP_ROC_KIND_COPY_2D_DTOH:
        return FP_HIP_COPY_DTOH;
    case FP_ROC_KIND_COPY_HTOD:
    case FP_ROC_KIND_COPY_2D_HTOD:
        return FP_HIP_COPY_HTOD;
    case FP_ROC_KIND_COPY_DTOD:
    case FP_ROC_KIND_COPY_2D_DTOD:
        return FP_HIP_COPY_DTOD;
    default:
        return details ? details->copy_kind : FP_HIP_COPY_DEFAULT;
    }
}

static void fill_kernel(struct fp_event *event, const struct details *details) {
    event->kind = FP_KIND_KERNEL;
    if (!details || details->sort != FP_HIP_LAUNCH || !details->block[0])
        return; // a graph's kernels: one call, no geometry of their own
    event->fields |= FP_HAS_GEOMETRY | FP_HAS_SHARED;
    memcpy(event->u.kernel.grid, details->grid, sizeof(details->grid));
    memcpy(event->u.kernel.block, details->block, sizeof(details->block));
    event->u.kernel.shared_bytes = details->shared_bytes;
}

static void fill_copy(struct fp_event *event, const struct fp_roc_record *record,
                      const struct details *details) {
    event->kind = FP_KIND_MEMCPY;
    event->u.copy.bytes = record->u.bytes ? record->u.bytes : details ? details->bytes : 0;
    event->fields |= event->u.copy.bytes ? FP_HAS_BYTES : 0;
}

static void fill_set(struct fp_event *event, const struct fp_roc_record *record,
                     const struct details *details) {
    event->kind = FP_KIND_MEMSET;
    event->u.set.bytes = record->u.bytes ? record->u.bytes : details ? details->bytes : 0;
    event->fields |= event->u.set.bytes ? FP_HAS_BYTES : 0;
    if (details && details->sort == FP_HIP_SET) {
        event->u.set.value = details->value;
        event->fields |= FP_HAS_VALUE;
    }
}

static size_t add_peer(const struct fp_sink *sink, const struct details *details, struct fp_extra *extras) {
    if (!details || details->sort != FP_HIP_COPY || details->to_device < 0)
        return 0;
    const int32_t values[] = { details->from_device, details->to_device };
    static const char *const keys[] = { "fromDevice", "toDevice" };
    for (size_t at = 0; at < 2; at++)
        extras[at] = (struct fp_extra){ .key = sink->name(sink->owner, keys[at], FP_NAME_PLAIN),
                                        .type = FP_EXTRA_INTEGER,
                                        .value.integer = values[at] };
    return 2;
}

static void emit_work(struct fp_tracer *tracer, const struct fp_sink *sink, const struct work *work,
                      const struct details *details) {
    // torch's words on ROCm, so that tools read both alike
    static const char *const copies[] = {
        [FP_HIP_COPY_HTOH] = "Memcpy HtoH (Host -> Host)",
        [FP_HIP_COPY_HTOD] = "Memcpy HtoD (Host -> Device)",
        [FP_HIP_COPY_DTOH] = "Memcpy DtoH (Device -> Host)",
        [FP_HIP_COPY_DTOD] = "Memcpy DtoD (Device -> Device)",
        [FP_HIP_COPY_DEFAULT] = "Memcpy",
    };
    const struct fp_roc_record *record = &work->record;
    struct fp_extra extras[FIELDS_MAX];
    struct fp_event event = {
        .fields = FP_HAS_STREAM,
        .vendor_id = fp_id_map_get(tracer->ids, record->correlation_id),
        .device = (uint32_t)(record->device_id - (tracer->first_node > 0 ? tracer->first_node : 0)),
        .stream = (uint32_t)record->queue_id,
        .extras = extras,
    };
    const char *name = work->name;
    enum fp_name_form form = FP_NAME_PLAIN;
    if (record->op == FP_ROC_OP_DISPATCH) {
        fill_kernel(&event, details);
        form = FP_NAME_MANGLED;
    } else if (record->kind == FP_ROC_KIND_FILL || (details && details->sort == FP_HIP_SET)) {
        fill_set(&event, record, details);
        name = "Memset (Device)";
    } else {
        uint8_t kind = copy_kind_of(record, details);
        fill_copy(&event, record, details);
        name = copies[kind < sizeof(copies) / sizeof(copies[0]) ? kind : FP_HIP_COPY_DEFAULT];
        event.extra_count = add_peer(sink, details, extras);
    }
    if (!take_times(&event, sink, record->begin_ns, record->end_ns))
        return;
    event.name = sink->name(sink->owner, name, form);
    sink->event(sink->owner, &event);
}

// A device record may come before the call that started it has returned: it waits for the call's arguments.
static void take_work(struct fp_tracer *tracer, const struct fp_sink *sink, const struct work *work,
                      bool last) {
    if (work->record.op != FP_ROC_OP_DISPATCH && work->record.op != FP_ROC_OP_COPY) {
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNKNOWN_KIND, 1);
        return;
    }
    struct details *details = tracer->details ? find_details(tracer, work->record.correlation_id) : NULL;
    if (details && !details->correlation_id)
        details = NULL;
    if (!details && !last) {
        if (tracer->waiting_count == tracer->waiting_capacity) {
            size_t capacity = tracer->waiting_capacity ? tracer->waiting_capacity * 2 : 256;
            struct work *waiting = realloc(tracer->waiting, capacity * sizeof(*waiting));
            if (waiting) {
                tracer->waiting = waiting;
                tracer->waiting_capacity = capacity;
            }
        }
        if (tracer->waiting_count < tracer->waiting_capacity) {
            tracer->waiting[tracer->waiting_count++] = *work;
            return;
        }
    }
    emit_work(tracer, sink, work, details);
}

static void take_waiting(struct fp_tracer *tracer, const struct fp_sink *sink, bool last) {
    size_t count = tracer->waiting_count;
    tracer->waiting_count = 0;
    for (size_t at = 0; at < count; at++) {
        struct work work =
            tracer->waiting[at]; // a record that goes on waiting is written to a place before this one
        take_work(tracer, sink, &work, last);
    }
}

static void report_refused(struct fp_tracer *tracer, const struct fp_sink *sink) {
    uint64_t calls = fp_ring_take_refused(tracer->calls), work = fp_ring_take_refused(tracer->work);
    if (calls)
        sink->lose(sink->owner, FP_KIND_RUNTIME, FP_LOSS_DROPPED, calls);
    if (work) // of which kind is not known any more; nearly all are kernels
        sink->lose(sink->owner, FP_KIND_KERNEL, FP_LOSS_DROPPED, work);
}

static int roctracer_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    if (!tracer->ids)
        return 0;
    bool last = !tracer->running;
    if (!tracer->clock_begun)
        sample_clock(tracer);
    struct call call;
    while (fp_ring_take(tracer->calls, &call))
        emit_call(tracer, sink, &call);
    take_waiting(tracer, sink, last);
    struct work work;
    while (fp_ring_take(tracer->work, &work))
        take_work(tracer, sink, &work, last);
    report_refused(tracer, sink);
    if (last && atomic_load(&tracer->callbacks) == 0 && atomic_load(&tracer->last_work) == 0)
        sink->note(sink->owner,
                   "ROCtracer called back for no HIP call: nothing ran, or it was loaded before HIP");
    if (last && tracer->first_node < 0)
        sink->note(sink->owner,
                   "no KFD topology is readable here: device numbers are the driver's, not the ordinals");
    if (last)
        end_session(tracer);
    return 0;
}

static int roctracer_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    (void)tracer;
    return fp_id_stack_push(kind, framework_id);
}

static int roctracer_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    (void)tracer;
    return fp_id_stack_pop(kind, last);
}

static int roctracer_synchronize(struct fp_tracer *tracer, struct fp_error *err) {
    if (!tracer->call.device_synchronize)
        return 0;
    int status = tracer->call.device_synchronize();
    if (status == 0)
        return 0;
    fp_error_set(err, "hipDeviceSynchronize: error %d", status);
    return -EIO;
}

const struct fp_tracer_ops fp_roctracer_ops = {
    .size = sizeof(struct fp_tracer_ops),
    .name = "roctracer",
    .open = roctracer_open,
    .close = roctracer_close,
    .describe = roctracer_describe,
    .device_count = roctracer_device_count,
    .device = roctracer_device,
    .start = roctracer_start,
    .stop = roctracer_stop,
    .drain = roctracer_drain,
    .push = roctracer_push,
    .pop = roctracer_pop,
    .to_epoch = roctracer_to_epoch,
    .synchronize = roctracer_synchronize,
};
