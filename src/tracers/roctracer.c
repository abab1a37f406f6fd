// roctracer.c - the tracer of AMD GPUs and Hygon DCUs, over ROCtracer.
//
// In:  the contract's calls (device_tracer.h); ROCtracer's two callbacks, one for each HIP call on the
//      calling thread, one for device records on the pool's own thread.
// Out: events in the sink.
//
// ROCtracer tells host calls and device work in different ways. A call comes as enter and exit with its
// arguments and no times, so we read ROCtracer's clock ourselves; a device record comes with times and
// neither geometry nor, often, bytes, so these are taken from the call's arguments by correlation id.
// Framework ids are the calling thread's (id_stack.h), since ROCtracer's own serve only activity records.
// Both callbacks put fixed entries into rings and do nothing else.

#include "tracers/roctracer.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/clock.h"
#include "tracers/id_stack.h"
#include "tracers/keep.h"
#include "tracers/opening.h"
#include "tracers/ring.h"
#include "tracers/roctracer_decode.h"
#include "tracers/roctracer_open.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_ENTRIES = 1 << 16,
    DEVICE_ENTRIES = 1 << 17,
    WAKE_EVERY = 1 << 8, // of a thread's calls
    POOL_BYTES = 1 << 20,
    NAME_BYTES = 256 << 20, // of address space; what is written costs memory
    NAMES = 1 << 15,
    CALL_DEPTH = 8, // HIP calls that call HIP
    NAP_NS = 1000000,
    QUIET_NS = 200000000, // nothing new for so long: what is not here by now does not come
    SAME_CLOCK_NS = 1000000,
};

struct fp_tracer {
    struct fp_roc_library library;
    struct fp_ring *calls, *work; // taken at the first session, kept: a late callback may still write
    struct fp_text_arena *names;
    // One session.
    void *pool;
    atomic_bool running;
    bool deaf; // ROCtracer did not tell of a HIP call that was made to see whether it would
    void (*wake)(void *);
    void *wake_owner;
    pthread_mutex_t clock_lock; // a drain may sample while stop does
    struct fp_clock clock;
    bool clock_begun;
    struct fp_roc_decoder *decoder;
    _Atomic uint32_t session; // number of the session that callbacks write for; 0: none
    atomic_uint inside;       // callbacks that are at work
    atomic_ullong last_launch, last_work, records, malformed;
    atomic_bool heard;
};

static struct fp_fork_mark forked;

// ---- Callbacks

static _Thread_local struct {
    struct {
        uint64_t correlation_id, start;
    } open[CALL_DEPTH];
    unsigned depth, puts;
    uint32_t session, thread;
    bool probing, probe_heard; // this thread's call is our own
} own;

// What a session frees is freed only when no callback is inside, whatever the vendor promises. 0: there is no
// session.
static uint32_t enter(struct fp_tracer *tracer) {
    atomic_fetch_add(&tracer->inside, 1);
    uint32_t session = atomic_load(&tracer->session);
    if (!session)
        atomic_fetch_sub(&tracer->inside, 1);
    return session;
}

static void leave(struct fp_tracer *tracer) {
    atomic_fetch_sub_explicit(&tracer->inside, 1, memory_order_release);
}

static uint64_t vendor_now(struct fp_tracer *tracer) {
    uint64_t now = 0;
    return tracer->library.call.get_timestamp(&now) == 0 ? now : 0;
}

static void raise_to(atomic_ullong *highest, uint64_t value) {
    unsigned long long now = atomic_load_explicit(highest, memory_order_relaxed);
    while (now < value && !atomic_compare_exchange_weak_explicit(highest, &now, value, memory_order_relaxed,
                                                                 memory_order_relaxed))
        ;
}

static void remember_enter(struct fp_tracer *tracer, uint64_t correlation_id) {
    if (own.depth == CALL_DEPTH)
        return;
    own.open[own.depth].correlation_id = correlation_id;
    own.open[own.depth++].start = vendor_now(tracer);
}

// When the call was entered; false where it was before the session, or too deep inside of others. Entries
// above it are of calls whose exit never came.
static bool recall_enter(uint64_t correlation_id, uint64_t *start) {
    for (unsigned at = own.depth; at-- > 0;)
        if (own.open[at].correlation_id == correlation_id) {
            *start = own.open[at].start;
            own.depth = at;
            return true;
        }
    return false;
}

static void on_exit_of(struct fp_tracer *tracer, uint32_t cid, const void *data, uint64_t correlation_id) {
    uint64_t start;
    if (!recall_enter(correlation_id, &start))
        return;
    if (!own.thread)
        own.thread = (uint32_t)syscall(SYS_gettid);
    fp_framework_id operator_id = fp_id_stack_top(FP_ID_OPERATOR), range_id = fp_id_stack_top(FP_ID_RANGE);
    struct fp_roc_call call = {
        .correlation_id = correlation_id,
        .start = start,
        .end = vendor_now(tracer),
        .operator_id = operator_id.value,
        .has_operator = operator_id.present && !fp_ablated("owners"),
        .range_id = range_id.value,
        .has_range = range_id.present,
        .cid = cid,
        .thread = own.thread,
    };
    const struct fp_hip_call *row = cid < FP_ROC_API_IDS ? tracer->library.apis[cid] : NULL;
    if (row) {
        fp_roc_read_arguments(&call, row, data);
        raise_to(&tracer->last_launch, correlation_id);
    }
    fp_ring_put(tracer->calls, &call);
    if (++own.puts % WAKE_EVERY == 0 && tracer->wake)
        tracer->wake(tracer->wake_owner);
}

static void on_api(uint32_t domain, uint32_t cid, const void *data, void *argument) {
    struct fp_tracer *tracer = argument;
    struct fp_roc_api_data head;
    own.probe_heard |= own.probing;
    if (domain != FP_ROC_DOMAIN_HIP_API || !data || own.probing)
        return;
    uint32_t session = enter(tracer);
    if (!session)
        return;
    if (own.session != session) {
        own.session = session;
        own.depth = 0;
    }
    memcpy(&head, data, sizeof(head));
    if (!atomic_load_explicit(&tracer->heard, memory_order_relaxed))
        atomic_store_explicit(&tracer->heard, true, memory_order_relaxed);
    if (head.phase == FP_ROC_PHASE_EXIT)
        on_exit_of(tracer, cid, data, head.correlation_id);
    else
        remember_enter(tracer, head.correlation_id);
    leave(tracer);
}

static void put_work(void *owner, const struct fp_roc_work *work) {
    struct fp_tracer *tracer = owner;
    fp_ring_put(tracer->work, work);
    raise_to(&tracer->last_work, work->record.correlation_id);
    atomic_fetch_add_explicit(&tracer->records, 1, memory_order_relaxed);
}

static void on_records(const char *begin, const char *end, void *argument) {
    struct fp_tracer *tracer = argument;
    if (!enter(tracer))
        return;
    fp_keep_buffer((const uint8_t *)begin, (size_t)(end - begin));
    if (fp_roc_read_records(begin, end, tracer->names, put_work, tracer) > 0)
        atomic_fetch_add(&tracer->malformed, 1);
    if (tracer->wake)
        tracer->wake(tracer->wake_owner);
    leave(tracer);
}

// ---- Open and describe

static int roctracer_open(const struct fp_tracer_options *options, struct fp_tracer **result,
                          struct fp_error *err) {
    struct fp_tracer *tracer;
    int status = fp_tracer_new(sizeof(*tracer), "ROCtracer", &forked, &tracer, err);
    if (status == 0)
        status = fp_roc_library_open(&tracer->library, fp_tracer_library(options), err);
    if (status != 0) {
        free(tracer);
        return status;
    }
    fp_fork_watch(&forked);
    pthread_mutex_init(&tracer->clock_lock, NULL);
    *result = tracer;
    return 0;
}

static void roctracer_close(struct fp_tracer *tracer) {
    if (tracer->running)
        return;
    fp_roc_decoder_free(tracer->decoder);
    fp_ring_free(tracer->calls);
    fp_ring_free(tracer->work);
    free(tracer); // the names stay: a recording may point at them
}

static int roctracer_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    static const char *const kinds[] = { "HIP_OPS dispatch", "HIP_OPS copy", "HIP_OPS fill", "HIP_API",
                                         NULL };
    struct fp_tracer_description found = {
        .size = sizeof(found),
        .library_path = tracer->library.path,
        .version = tracer->library.version,
        .simulated = tracer->library.simulated ? FP_SIMULATED_TITLE : NULL,
        .kinds = kinds,
        .runtime_kind = "hip_runtime",
        .driver_version = fp_tracer_version(tracer->library.call.driver_get_version),
        .runtime_version = fp_tracer_version(tracer->library.call.runtime_get_version),
    };
    fp_tracer_hand_out(description, &found);
    return 0;
}

static int roctracer_device_count(struct fp_tracer *tracer) {
    return tracer->library.device_count;
}

// Name and memory alone: the attribute numbers of HIP changed between its major releases, and a wrong figure
// is worse than none.
static int roctracer_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    const struct fp_roc_functions *call = &tracer->library.call;
    return fp_tracer_device(device, ordinal, tracer->library.device_count, call->device_get_name,
                            call->device_total_mem);
}

// ---- Clock

static int read_clock(void *owner, uint64_t *vendor_ns) {
    *vendor_ns = vendor_now(owner);
    return *vendor_ns || fp_ablated("asleep")
               ? 0
               : -EAGAIN; // 0 while HSA sleeps: before the first HIP call [CODE]
}

// The first sample makes the clock, each later one its other end.
static void sample_clock(struct fp_tracer *tracer) {
    struct fp_clock_sample sample;
    pthread_mutex_lock(&tracer->clock_lock);
    if (fp_clock_sample(read_clock, tracer, &sample) == 0) {
        if (tracer->clock_begun)
            fp_clock_finish(&tracer->clock, sample);
        else
            fp_clock_begin(&tracer->clock, sample, SAME_CLOCK_NS);
        tracer->clock_begun = true;
    }
    pthread_mutex_unlock(&tracer->clock_lock);
}

static int64_t roctracer_to_epoch(struct fp_tracer *tracer, int64_t vendor_ns) {
    return fp_ablated("clock") ? vendor_ns : fp_clock_to_epoch(&tracer->clock, vendor_ns);
}

// ---- Start

static const char *call_name(void *owner, uint32_t cid) { // the vendor's texts are static [HEADER]
    return ((struct fp_tracer *)owner)->library.call.op_string(FP_ROC_DOMAIN_HIP_API, cid, 0);
}

static void end_session(struct fp_tracer *tracer) {
    fp_roc_decoder_free(tracer->decoder);
    tracer->decoder = NULL;
}

static int prepare_memory(struct fp_tracer *tracer, const struct fp_session_options *options) {
    struct fp_roc_call call;
    struct fp_roc_work work;
    struct fp_roc_decoder_options decoder = {
        .apis = tracer->library.apis,
        .api_count = FP_ROC_API_IDS,
        .call_name = call_name,
        .owner = tracer,
        .device_count = tracer->library.device_count,
        .first_node = tracer->library.first_node,
        .all_calls = options->all_calls,
    };
    end_session(tracer);
    tracer->decoder = fp_roc_decoder_new(&decoder);
    if (!tracer->calls)
        tracer->calls = fp_ring_new(CALL_ENTRIES, sizeof(struct fp_roc_call));
    if (!tracer->work)
        tracer->work = fp_ring_new(DEVICE_ENTRIES, sizeof(struct fp_roc_work));
    if (!tracer->names)
        tracer->names = fp_text_arena_new(NAME_BYTES, NAMES);
    if (!tracer->decoder || !tracer->calls || !tracer->work || !tracer->names)
        return -ENOMEM;
    while (fp_ring_take(tracer->calls, &call) || fp_ring_take(tracer->work, &work))
        ; // a session that nobody drained
    fp_ring_take_refused(tracer->calls);
    fp_ring_take_refused(tracer->work);
    return 0;
}

static void disarm(struct fp_tracer *tracer) {
    tracer->library.call.disable_domain_callback(FP_ROC_DOMAIN_HIP_API);
    tracer->library.call.disable_domain_activity(FP_ROC_DOMAIN_HIP_OPS);
    if (tracer->pool)
        tracer->library.call.close_pool(tracer->pool);
    tracer->pool = NULL;
    atomic_store(&tracer->session, 0);
    while (atomic_load(&tracer->inside) > 0)
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS / 20 }, NULL);
}

static int arm(struct fp_tracer *tracer, struct fp_error *err) {
    struct fp_roc_functions *call = &tracer->library.call;
    struct fp_roc_properties properties = {
        .buffer_size = POOL_BYTES,
        .buffer_callback_fun = on_records,
        .buffer_callback_arg = tracer,
    };
    const char *failed = NULL;
    call->set_properties(FP_ROC_DOMAIN_HIP_API, NULL);
    if (call->open_pool(&properties, &tracer->pool) != 0)
        failed = "a pool";
    else if (call->enable_domain_callback(FP_ROC_DOMAIN_HIP_API, on_api, tracer) != 0)
        failed = "HIP calls";
    else if (call->enable_domain_activity(FP_ROC_DOMAIN_HIP_OPS, tracer->pool) != 0)
        failed = "device records";
    if (failed) {
        disarm(tracer);
        fp_error_set(err, "ROCtracer does not give %s: another profiler may hold it", failed);
        return -EBUSY;
    }
    if (call->start)
        call->start();
    return 0;
}

// ROCtracer that looked for HIP before HIP was loaded answers well to everything and tells of nothing [CODE],
// so one call is made to see.
static bool is_deaf(struct fp_tracer *tracer) {
    int count;
    own.probe_heard = false;
    own.probing = true;
    tracer->library.call.get_device_count(&count);
    own.probing = false;
    return !own.probe_heard;
}

static int roctracer_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                           struct fp_error *err) {
    static _Atomic uint32_t sessions;
    int result = fp_tracer_check_start(&forked, tracer->running, "ROCtracer", err);
    if (result != 0)
        return result;
    if (prepare_memory(tracer, options) != 0) {
        fp_error_set(err, "no memory for a ROCtracer session");
        return -ENOMEM;
    }
    tracer->wake = options->wake;
    tracer->wake_owner = options->wake_owner;
    tracer->clock_begun = false;
    atomic_store(&tracer->last_launch, 0);
    atomic_store(&tracer->last_work, 0);
    atomic_store(&tracer->records, 0);
    atomic_store(&tracer->malformed, 0);
    atomic_store(&tracer->heard, false);
    sample_clock(tracer);
    atomic_store(&tracer->session, atomic_fetch_add(&sessions, 1) + 1);
    result = arm(tracer, err);
    tracer->running = result == 0;
    tracer->deaf = result == 0 && is_deaf(tracer);
    if (result != 0)
        end_session(tracer);
    fp_log("roctracer", "%s: %s", tracer->library.path, result == 0 ? "armed" : "not armed");
    return result;
}

// ---- Stop and drain

static uint64_t now_ns(void) {
    return (uint64_t)fp_clock_monotonic_ns();
}

// One flush is not enough: records come when the device's signals were handled. Flushes until the work of the
// last launch has come and a flush brought nothing more, or nothing has come for a while, since not every
// call starts something.
static bool flush(struct fp_tracer *tracer, uint64_t timeout_ns) {
    uint64_t begun = now_ns(), moved = begun, before = 0;
    for (unsigned flushes = 0;; flushes++) {
        tracer->library.call.flush_activity(tracer->pool);
        uint64_t records = atomic_load(&tracer->records), now = now_ns();
        bool new_ones = records != before;
        if (fp_ablated("flush"))
            return true;
        if (!new_ones && flushes > 0 && atomic_load(&tracer->last_work) >= atomic_load(&tracer->last_launch))
            return true;
        moved = new_ones ? now : moved;
        before = records;
        if (now - moved > QUIET_NS)
            return true;
        if (now - begun > timeout_ns)
            return false;
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
}

static int roctracer_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    if (fp_fork_in_child(&forked)) {
        fp_error_set(err, "this process was forked during a ROCtracer session, which is its parent's");
        return -ECHILD;
    }
    if (!tracer->running) {
        fp_error_set(err, "no ROCtracer session runs");
        return -EINVAL;
    }
    // First, so that our own calls are not recorded.
    tracer->library.call.disable_domain_callback(FP_ROC_DOMAIN_HIP_API);
    if (tracer->library.call.device_synchronize)
        tracer->library.call.device_synchronize();
    if (tracer->library.call.stop)
        tracer->library.call.stop();
    bool flushed = flush(tracer, timeout_ns);
    sample_clock(tracer);
    disarm(tracer);
    tracer->running = false;
    if (flushed)
        return 0;
    fp_error_set(err, "ROCtracer still hands out device records after %" PRIu64 " ms", timeout_ns / 1000000);
    return -ETIMEDOUT;
}

static void report_lost(struct fp_tracer *tracer, const struct fp_sink *sink) {
    uint64_t calls = fp_ring_take_refused(tracer->calls), work = fp_ring_take_refused(tracer->work);
    uint64_t malformed = atomic_exchange(&tracer->malformed, 0);
    if (calls)
        sink->lose(sink->owner, FP_KIND_RUNTIME, FP_LOSS_DROPPED, calls);
    if (work) // of which kind is not known any more
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_DROPPED, work);
    if (malformed)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_MALFORMED, malformed);
}

static int roctracer_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_roc_call call;
    struct fp_roc_work work;
    if (!tracer->decoder || fp_fork_in_child(&forked))
        return 0;
    bool last = !tracer->running;
    if (!last)
        sample_clock(tracer); // where the clock slept at start, the first drain wakes up with it
    while (fp_ring_take(tracer->calls, &call)) {
        fp_keep_bytes("call", &call, sizeof(call));
        fp_roc_decode_call(tracer->decoder, sink, &call);
    }
    fp_roc_decode_held(tracer->decoder, sink, false);
    while (fp_ring_take(tracer->work, &work))
        fp_roc_decode_work(tracer->decoder, sink, &work);
    report_lost(tracer, sink);
    if (!last)
        return 0;
    fp_roc_decode_held(tracer->decoder, sink, true);
    if (tracer->deaf && !fp_ablated("deaf") && !atomic_load(&tracer->heard) &&
        atomic_load(&tracer->records) == 0)
        sink->note(sink->owner, "ROCtracer tells of no HIP call in this process: it was asked before HIP was "
                                "loaded. Import torch before anything that uses libroctracer64.so");
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
    int status = tracer->library.call.device_synchronize ? tracer->library.call.device_synchronize() : 0;
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
