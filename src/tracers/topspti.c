// topspti.c - the tracer of Enflame GCUs, over TOPSPTI.
//
// In:  the contract's calls (device_tracer.h); TOPSPTI's callbacks: one at enter and exit of each runtime
//      call, on its thread; two for buffers, on a thread of the library.
// Out: events in the sink, in the vendor's clock, which to_epoch maps once the session has ended.
//
// TOPSPTI knows no external ids, so the calling thread's framework ids (id_stack.h) are taken in the API
// callback together with the vendor's correlation id, put into a ring, and resolved in drain. Device work
// does without: where no callback comes, the operators alone are missing.
//
// No layout is public. It is the SDK header's where the build was given one, else it is found out from the
// records (topspti_calibrate.h), and until they agree nothing is handed on.

#include "tracers/topspti.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/clock.h"
#include "tracers/id_stack.h"
#include "tracers/intake.h"
#include "tracers/keep.h"
#include "tracers/notes.h"
#include "tracers/opening.h"
#include "tracers/ring.h"
#include "tracers/topspti_calibrate.h"
#include "tracers/topspti_open.h"
#include "tracers/topspti_text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// 4 to 8 MB are in use elsewhere [CODE]; untouched ones cost nothing, and smaller ones are decoded sooner.
enum { BUFFER_BYTES = 2 << 20, BUFFERS = 64, SPARE_BYTES = 64 << 10, SPARES = 16, BUFFERS_KEPT = 2 };
enum { HELD_MAX = 32 }; // buffers that wait for a verdict, at most
enum { CALL_ENTRIES = 1 << 16, WAKE_EVERY = 1 << 8, DOMAINS = 16, PAGE = 4096 };
#define SECOND_NS INT64_C(1000000000)
#define SAME_CLOCK_NS SECOND_NS // a clock within a second of the epoch is the epoch's
#define UNDER_WAY_NS (10 * SECOND_NS)

struct fp_tracer {
    struct fp_tops_library library;
    struct fp_tops_layout layout; // kept from session to session
    bool from_header;
    struct fp_error differs;             // why the records agree on no layout: nothing is recorded any more
    atomic_bool callback_known;          // the layout's callback is what it will stay
    atomic_bool wants_devices;           // it is not known yet which word of a record is its device
    atomic_bool asked_device, off_first; // a thread was asked for its device; one was not on the first
    struct fp_ring *calls;
    struct fp_tops_evidence *evidence; // NULL: a header tells the layout
    // One session.
    bool running, stopped;
    uint64_t armed, offered; // bit by kind: enabled now; in this session
    void *subscriber;
    struct fp_clock clock;
    struct fp_tops_decoder *decoder;
    struct fp_buffer held[HELD_MAX];
    size_t held_count;
    struct fp_notes notes;    // found outside of drain, told by the last one
    _Atomic uint32_t session; // that callbacks write for; 0: none
};

// The buffer callbacks carry no pointer of ours, so what they need is the process's.
static struct {
    struct fp_intake intake;
    struct fp_fork_mark fork;
} shared;

static _Thread_local struct {
    uint32_t session, thread, puts;
    int32_t device; // as last asked, -1: not known
    bool asking;    // this thread's call is our own
} own;

// ---- The vendor's callbacks: no lock, no allocation

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    fp_intake_request(&shared.intake, buffer, size, max_records);
}

static void on_completed(uint8_t *buffer, size_t size, size_t valid) {
    (void)size;
    fp_intake_complete(&shared.intake, buffer, valid);
}

// The struct's length is not known, but what lies on the page where it begins may be read. Word by word, so
// that neither the compiler nor a sanitizer takes it for an access to an object. What lies on the next page is
// asked for by a system call.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address", "thread")))
#endif
static void
read_words(const void *data, uint32_t words[FP_TOPS_CALLBACK_WORDS]) {
    const volatile uint32_t *from = data;
    size_t room = (PAGE - (uintptr_t)data % PAGE) / sizeof(uint32_t);
    for (size_t at = 0; at < FP_TOPS_CALLBACK_WORDS && at < room; at++)
        words[at] = from[at];
    if (room < FP_TOPS_CALLBACK_WORDS)
        fp_tops_read_bytes((uintptr_t)data + room * sizeof(uint32_t), words + room,
                           (FP_TOPS_CALLBACK_WORDS - room) * sizeof(uint32_t));
}

// False: this is not what a call is to be remembered by.
static bool read_call(struct fp_tracer *tracer, struct fp_tops_call *call, const void *data) {
    const struct fp_tops_callback *place = &tracer->layout.callback;
    if (!atomic_load_explicit(&tracer->callback_known, memory_order_acquire)) {
        if ((uintptr_t)data % sizeof(uint32_t) != 0)
            return false;
        read_words(data, call->words);
        return true;
    }
    uint32_t site = place->enter;
    if (place->has_site)
        memcpy(&site, (const char *)data + place->site, sizeof(site));
    memcpy(&call->correlation, (const char *)data + place->correlation, sizeof(call->correlation));
    if (tracer->evidence) // then it lies among the words
        call->words[place->correlation / sizeof(uint32_t)] = call->correlation;
    return site == place->enter;
}

static void put_call(struct fp_tracer *tracer, uint32_t domain, uint32_t cbid, const void *data) {
    fp_framework_id operator_id = fp_id_stack_top(FP_ID_OPERATOR), range_id = fp_id_stack_top(FP_ID_RANGE);
    struct fp_tops_call call = {
        .operator_id = operator_id.value,
        .range_id = range_id.value,
        .cbid = cbid,
        .domain = domain,
        .thread = own.thread,
        .pthread = (uint32_t)(uintptr_t)pthread_self(),
        .device = own.device,
        .has_operator = operator_id.present,
        .has_range = range_id.present,
        .ours = own.asking,
    };
    if (!read_call(tracer, &call, data))
        return;
    bool is_first = own.puts == 0; // which tells the thread's two ids
    if (tracer->evidence || is_first || call.has_operator || call.has_range || call.ours) {
        fp_ring_put(tracer->calls, &call);
        if (++own.puts % WAKE_EVERY == 0)
            fp_intake_wake(&shared.intake);
    }
}

static void enter_session(uint32_t session) {
    if (own.session == session)
        return;
    own.session = session;
    own.puts = 0;
    own.device = -1;
}

static void on_call(void *user, int domain, uint32_t cbid, const void *data) {
    struct fp_tracer *tracer = user;
    fp_intake_enter(&shared.intake);
    uint32_t session = atomic_load(&tracer->session);
    if (session && data) {
        enter_session(session);
        if (!own.thread)
            own.thread = (uint32_t)syscall(SYS_gettid);
        put_call(tracer, (uint32_t)domain, cbid, data);
        if (cbid == FP_TOPS_CBID_SET_DEVICE)
            own.device = -1;
    }
    fp_intake_leave(&shared.intake);
}

// ---- Open and describe

static struct fp_buffers *buffers(void) {
    return fp_intake_buffers(&shared.intake);
}

static void count_spare(void *owner, const uint8_t *buffer, size_t valid,
                        uint64_t counts[FP_KIND_COUNT + 1]) {
    (void)owner;
    (void)buffer; // it cannot be walked here: the vendor's iterator is not for its callbacks
    counts[FP_KIND_COUNT] += valid > 0;
}

static int open_buffers(struct fp_error *err) {
    struct fp_buffers_setup setup = {
        .buffer_bytes = BUFFER_BYTES,
        .count = BUFFERS,
        .spare_bytes = SPARE_BYTES,
        .spares = SPARES,
        .may_refuse = false, // what a refusal does is not known
        .count_records = count_spare,
    };
    return fp_intake_open(&shared.intake, &setup, err);
}

static const char *call_name(void *owner, uint32_t domain, uint32_t cbid) {
    const struct fp_tops_functions *call = &((struct fp_tracer *)owner)->library.call;
    const char *name = NULL;
    if (!call->call_name || call->call_name((int)domain, cbid, &name) != 0 || !name || !*name)
        return NULL;
    fp_keep_line("name %" PRIu32 " %" PRIu32 " %s", domain, cbid, name);
    return name;
}

static bool is_runtime_domain(struct fp_tracer *tracer, uint32_t domain) {
    const char *name = call_name(tracer, domain, FP_TOPS_CBID_LAUNCH);
    return name && strstr(name, "LaunchKernel");
}

// The numbers are guessed, the names are not.
static int find_domains(struct fp_tracer *tracer, struct fp_error *err) {
    if (!tracer->from_header) {
        tracer->layout.runtime_domain = FP_TOPS_RUNTIME_DOMAIN;
        tracer->layout.driver_domain = FP_TOPS_DRIVER_DOMAIN;
    }
    if (is_runtime_domain(tracer, tracer->layout.runtime_domain) ||
        (tracer->from_header && !tracer->library.call.call_name))
        return 0;
    for (uint32_t domain = 0; domain < DOMAINS && !tracer->from_header; domain++)
        if (is_runtime_domain(tracer, domain)) {
            tracer->layout.runtime_domain = domain;
            tracer->layout.driver_domain = DOMAINS; // not known: nothing came from it on hardware [CODE]
            return 0;
        }
    fp_error_set(
        err,
        "%s does not call its function %d of the runtime a LaunchKernel: its numbers are not those that "
        "are known",
        tracer->library.path, FP_TOPS_CBID_LAUNCH);
    return -ENOTSUP;
}

static int prepare_layout(struct fp_tracer *tracer, struct fp_error *err) {
    const struct fp_tops_layout *header = fp_tops_header_layout();
    tracer->from_header = header != NULL;
    if (header)
        tracer->layout = *header;
    else if (!(tracer->evidence = fp_tops_evidence_new())) {
        fp_error_set(err, "no memory for the TOPSPTI tracer");
        return -ENOMEM;
    }
    atomic_store(&tracer->callback_known, tracer->layout.callback.known);
    return find_domains(tracer, err);
}

static int topspti_open(const struct fp_tracer_options *options, struct fp_tracer **result,
                        struct fp_error *err) {
    struct fp_tracer *tracer;
    int status = fp_tracer_new(sizeof(*tracer), "TOPSPTI", &shared.fork, &tracer, err);
    if (status != 0)
        return status;
    status = fp_tops_library_open(&tracer->library, fp_tracer_library(options), err);
    if (status == 0)
        status = prepare_layout(tracer, err);
    if (status != 0) {
        fp_tops_evidence_free(tracer->evidence);
        free(tracer);
        return status;
    }
    fp_fork_watch(&shared.fork);
    *result = tracer;
    return 0;
}

static int topspti_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    static const char *const kinds[] = { "KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER", NULL };
    struct fp_tracer_description found = {
        .size = sizeof(found),
        .library_path = tracer->library.path,
        .version = tracer->library.version,
        .simulated = tracer->library.simulated ? FP_SIMULATED_TITLE : NULL,
        .kinds = kinds,
        .runtime_kind = "tops_runtime",
        .driver_version = fp_tracer_version(tracer->library.call.driver_get_version),
        .runtime_version = fp_tracer_version(tracer->library.call.runtime_get_version),
        .library_version = tracer->library.version_number,
    };
    fp_tracer_hand_out(description, &found);
    return 0;
}

static int topspti_device_count(struct fp_tracer *tracer) {
    return tracer->library.device_count;
}

static int topspti_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    const struct fp_tops_functions *call = &tracer->library.call;
    return fp_tracer_device(device, ordinal, tracer->library.device_count, call->device_get_name,
                            call->device_total_mem);
}

// ---- Clock

static int read_clock(void *owner, uint64_t *vendor_ns) {
    const struct fp_tracer *tracer = owner;
    return tracer->library.call.get_timestamp(vendor_ns) == 0 ? 0 : -EIO;
}

static void begin_clock(struct fp_tracer *tracer) {
    if (!fp_clock_open(&tracer->clock, "topspti", read_clock, tracer, SAME_CLOCK_NS))
        fp_notes_add(&tracer->notes,
                     "TOPSPTI does not tell its clock: its times are taken for the Unix epoch's");
}

static int64_t topspti_to_epoch(struct fp_tracer *tracer, int64_t vendor_ns) {
    return fp_ablated("clock") ? vendor_ns : fp_clock_to_epoch(&tracer->clock, vendor_ns);
}

// ---- Start

static bool read_text(void *owner, uint64_t address, char *text, size_t capacity) {
    (void)owner;
    return fp_tops_read_text(address, text, capacity);
}

static bool is_thread(void *owner, uint32_t thread) {
    char path[64];
    struct stat status;
    (void)owner;
    snprintf(path, sizeof(path), "/proc/self/task/%" PRIu32, thread);
    return stat(path, &status) == 0;
}

// Until the words of kernels and copies that are their device are told from all others.
static bool wants_devices(const struct fp_tracer *tracer) {
    bool known[FP_TOPS_DRIVER + 1] = { false };
    for (int kind = 0; kind < FP_TOPS_KINDS; kind++) {
        const struct fp_tops_record *place = &tracer->layout.kinds[kind];
        known[place->sort] |= (place->device_words & (place->device_words - 1)) == 0;
    }
    return tracer->evidence && tracer->library.device_count > 1 &&
           !(known[FP_TOPS_KERNEL] && known[FP_TOPS_COPY]);
}

static void end_session(struct fp_tracer *tracer) {
    for (size_t at = 0; at < tracer->held_count; at++)
        fp_buffers_recycle(buffers(), &tracer->held[at]);
    tracer->held_count = 0;
    if (tracer->evidence)
        fp_tops_evidence_end(tracer->evidence);
    fp_tops_decoder_free(tracer->decoder);
    tracer->decoder = NULL;
    tracer->running = false;
    tracer->notes.count = 0;
    if (buffers())
        fp_buffers_trim(buffers(), BUFFERS_KEPT);
}

static int prepare_memory(struct fp_tracer *tracer, const struct fp_session_options *options,
                          struct fp_error *err) {
    struct fp_tops_decoder_options decoder = {
        .layout = &tracer->layout,
        .next = tracer->library.call.next_record,
        .call_name = call_name,
        .text = read_text,
        .owner = tracer,
        .device_count = (uint32_t)tracer->library.device_count,
        .process = (uint32_t)getpid(),
        .all_calls = options->all_calls,
    };
    struct fp_tops_call call;
    int result = open_buffers(err);
    if (result != 0)
        return result;
    tracer->decoder = fp_tops_decoder_new(&decoder);
    if (!tracer->calls)
        tracer->calls = fp_ring_new(CALL_ENTRIES, sizeof(struct fp_tops_call));
    if (!tracer->decoder || !tracer->calls) {
        fp_error_set(err, "no memory for a TOPSPTI session");
        return -ENOMEM;
    }
    while (fp_ring_take(tracer->calls, &call))
        ; // of a session that nobody drained
    fp_ring_take_refused(tracer->calls);
    fp_intake_discard(&shared.intake);
    return 0;
}

static void disarm(struct fp_tracer *tracer) {
    for (int kind = 0; kind < FP_TOPS_KINDS; kind++)
        if (tracer->armed >> kind & 1)
            tracer->library.call.disable(kind);
    tracer->armed = 0;
    if (tracer->subscriber && tracer->library.call.unsubscribe)
        tracer->library.call.unsubscribe(tracer->subscriber);
    tracer->subscriber = NULL;
    atomic_store(&tracer->session, 0);
    fp_intake_end(&shared.intake);
}

// Without it there are device records and no operators.
static void subscribe(struct fp_tracer *tracer) {
    const struct fp_tops_functions *call = &tracer->library.call;
    int result = -1;
    if (call->subscribe && call->unsubscribe &&
        (result = call->subscribe(&tracer->subscriber, on_call, tracer)) != 0)
        tracer->subscriber = NULL;
    if (result == 0 && call->enable_domain)
        result = call->enable_domain(1, tracer->subscriber, (int)tracer->layout.runtime_domain);
    else if (result == 0 && call->enable_all_domains)
        result = call->enable_all_domains(1, tracer->subscriber);
    if (result != 0)
        fp_notes_add(
            &tracer->notes,
            "TOPSPTI tells of no host call (subscribing answered %d): another profiler of this process may "
            "hold "
            "its only subscription. Device work is recorded without its operators",
            result);
}

static int try_kind(struct fp_tracer *tracer, int kind) {
    int result = tracer->library.call.enable(kind);
    fp_log("topspti", "enabling kind %d: %d", kind, result);
    if (result == 0)
        tracer->armed |= UINT64_C(1) << kind;
    tracer->offered = tracer->armed;
    return result;
}

// Without a header the five kinds are those that CUPTI numbers so, or any others that the library takes.
static int arm_kinds(struct fp_tracer *tracer, struct fp_error *err) {
    int result = 0, first = 0, last = FP_TOPS_KINDS - 1, answer;
    if (!tracer->from_header) {
        for (int kind = FP_TOPS_FIRST_KIND; kind <= FP_TOPS_LAST_KIND; kind++)
            result = (answer = try_kind(tracer, kind)) != 0 ? answer : result;
        for (int kind = FP_TOPS_LAST_KIND + 1; result != 0 && kind <= last; kind++)
            try_kind(tracer, kind);
    }
    for (int kind = first; tracer->from_header && kind <= last; kind++)
        if (tracer->layout.kinds[kind].sort != FP_TOPS_STRANGE && (answer = try_kind(tracer, kind)) != 0) {
            result = answer;
            if (tracer->layout.kinds[kind].sort != FP_TOPS_DRIVER) // absent on hardware [CODE]
                fp_notes_add(&tracer->notes, "TOPSPTI does not record activity kind %d here (%d)", kind,
                             answer);
        }
    if (tracer->armed)
        return 0;
    fp_error_set(err, "TOPSPTI records no activity kind: enabling them answered %d", result);
    return -EIO;
}

static int arm(struct fp_tracer *tracer, struct fp_error *err) {
    const struct fp_tops_functions *call = &tracer->library.call;
    size_t dropped;
    int result = call->register_callbacks(on_requested, on_completed);
    if (result != 0) {
        fp_error_set(err, "TOPSPTI does not take our buffers: %d", result);
        return -EIO;
    }
    if (call->get_dropped)
        call->get_dropped(&dropped); // asking sets it back to 0
    if (call->set_thread_id_type)
        call->set_thread_id_type(FP_TOPS_SYSTEM_THREADS);
    subscribe(tracer);
    return arm_kinds(tracer, err);
}

static void synchronize_quietly(struct fp_tracer *tracer) {
    own.asking = true;
    if (tracer->library.call.device_synchronize)
        tracer->library.call.device_synchronize();
    own.asking = false;
}

// Where several devices are there and no layout tells yet which word is the device, it is asked for here: not
// in a callback, and on the thread that is about to make calls.
static void ask_device(struct fp_tracer *tracer) {
    int device;
    uint32_t session = atomic_load_explicit(&tracer->session, memory_order_relaxed);
    if (!session || !tracer->library.call.get_device ||
        !atomic_load_explicit(&tracer->wants_devices, memory_order_relaxed))
        return;
    enter_session(session);
    own.asking = true;
    own.device = -1;
    if (tracer->library.call.get_device(&device) == 0)
        own.device = device;
    own.asking = false;
    atomic_store_explicit(&tracer->asked_device, true, memory_order_relaxed);
    if (own.device != 0)
        atomic_store_explicit(&tracer->off_first, true, memory_order_relaxed);
}

static int topspti_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                         struct fp_error *err) {
    static _Atomic uint32_t sessions;
    int result = fp_tracer_check_start(&shared.fork, tracer->running, "TOPSPTI", err);
    if (result != 0)
        return result;
    if (tracer->differs.text[0]) {
        fp_error_set(err, "%s", tracer->differs.text);
        return -ENOTSUP;
    }
    result = prepare_memory(tracer, options, err);
    if (result == 0) {
        fp_intake_begin(&shared.intake, options);
        if (tracer->evidence) // work of before has calls that nobody saw
            synchronize_quietly(tracer);
        begin_clock(tracer);
        atomic_store(&tracer->wants_devices, wants_devices(tracer));
        atomic_store(&tracer->asked_device, false);
        atomic_store(&tracer->off_first, false);
        atomic_store(&tracer->session, atomic_fetch_add(&sessions, 1) + 1);
        result = arm(tracer, err);
        if (result != 0)
            disarm(tracer);
        else
            ask_device(tracer);
    }
    if (result != 0)
        end_session(tracer);
    tracer->running = result == 0;
    tracer->stopped = false;
    fp_log("topspti", "%s: %s", tracer->library.path, result == 0 ? "armed" : "not armed");
    return result;
}

// ---- Stop

static int topspti_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    struct fp_buffers_counts before, after;
    if (!tracer->running || tracer->stopped) {
        fp_error_set(err, "no TOPSPTI session runs");
        return -EINVAL;
    }
    if (fp_fork_in_child(&shared.fork))
        return -ECHILD;
    tracer->stopped = true;
    synchronize_quietly(tracer);
    fp_buffers_count(buffers(), &before);
    int flushed = tracer->library.call.flush_all(FP_TOPS_FLUSH_FORCED);
    uint32_t left = fp_intake_wait(&shared.intake, timeout_ns, INT64_MAX);
    fp_buffers_count(buffers(), &after);
    disarm(tracer);
    if (tracer->library.call.device_synchronize && after.completed == before.completed)
        fp_notes_add(
            &tracer->notes,
            "TOPSPTI gave no buffer back although calls were made: another library may have registered "
            "its own callbacks, and took the records");
    int result = fp_intake_judge(left, "TOPSPTI", &tracer->notes, err);
    if (result != 0 || flushed == 0)
        return result;
    fp_error_set(err, "TOPSPTI's flush answered %d", flushed);
    return -EIO;
}

// ---- Drain

static void drain_dropped(struct fp_tracer *tracer, const struct fp_sink *sink) {
    uint64_t spare[FP_KIND_COUNT + 1] = { 0 };
    size_t dropped = 0;
    if (fp_ablated("lost"))
        return;
    if (fp_buffers_take_dropped(buffers(), spare) > 0)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, spare[FP_KIND_COUNT]);
    if (tracer->library.call.get_dropped && tracer->library.call.get_dropped(&dropped) == 0 && dropped)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_DROPPED, dropped); // of what kind is not told
    uint64_t calls = fp_ring_take_refused(tracer->calls);
    if (calls) {
        char text[160];
        snprintf(text, sizeof(text),
                 "%" PRIu64 " calls came faster than they were drained: their operators are "
                 "not known",
                 calls);
        sink->note(sink->owner, text);
    }
}

static struct fp_tops_session look_around(struct fp_tracer *tracer) {
    int64_t first = tracer->clock.first.vendor_ns - UNDER_WAY_NS;
    return (struct fp_tops_session){
        .next = tracer->library.call.next_record,
        .call_name = call_name,
        .text = read_text,
        .is_thread = is_thread,
        .owner = tracer,
        .earliest = first > 1 ? (uint64_t)first : 1,
        .begun = (uint64_t)tracer->clock.first.vendor_ns,
        .latest = (uint64_t)(tracer->clock.last.vendor_ns + SECOND_NS),
        .armed = tracer->offered,
        .device_count = (uint32_t)tracer->library.device_count,
        .process = (uint32_t)getpid(),
        .on_first = atomic_load(&tracer->asked_device) && !atomic_load(&tracer->off_first),
    };
}

static void use_buffer(struct fp_tracer *tracer, const struct fp_sink *sink, const struct fp_buffer *buffer) {
    fp_tops_decode_buffer(tracer->decoder, sink, buffer->bytes, buffer->valid);
    fp_buffers_recycle(buffers(), buffer);
}

static void refuse(struct fp_tracer *tracer, const struct fp_sink *sink, const char *why, bool for_good) {
    char text[400];
    size_t records = fp_tops_evidence_records(tracer->evidence);
    snprintf(
        text, sizeof(text),
        "the layout of TOPSPTI's records is not known (%s): no device activity is recorded%s. A build with "
        "the SDK's header knows it (-DFLAGPROF_TOPSPTI_INCLUDE)",
        why, for_good ? "" : " in this session");
    fp_warn_once("record-layout", "%s", text);
    sink->note(sink->owner, text);
    sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_MALFORMED, records > 0 ? records : 1);
    if (for_good)
        fp_error_set(&tracer->differs, "%s", text);
}

// What waited for a verdict is handed on, or lost.
static void settle(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_tops_session session = look_around(tracer);
    const struct fp_tops_call *calls;
    bool knew_callback = tracer->layout.callback.known;
    char why[200] = "";
    for (size_t at = 0; at < tracer->held_count; at++)
        fp_tops_evidence_add_buffer(tracer->evidence, &session, tracer->held[at].bytes,
                                    tracer->held[at].valid);
    enum fp_tops_verdict verdict =
        fp_tops_evidence_judge(tracer->evidence, &session, &tracer->layout, why, sizeof(why));
    if (verdict == FP_TOPS_AGREED) {
        size_t count = fp_tops_evidence_calls(tracer->evidence, &calls);
        atomic_store_explicit(&tracer->callback_known, tracer->layout.callback.known, memory_order_release);
        for (size_t at = 0; at < count && !knew_callback; at++)
            fp_tops_decode_call(tracer->decoder, sink, &calls[at]);
        for (size_t at = 0; at < tracer->held_count; at++)
            use_buffer(tracer, sink, &tracer->held[at]);
        tracer->held_count = 0;
    } else {
        refuse(tracer, sink, why, verdict == FP_TOPS_DIFFERS);
    }
    fp_log("topspti", "layout: %s%s", verdict == FP_TOPS_AGREED ? "agreed" : "not known: ", why);
    for (size_t at = 0; at < tracer->held_count; at++)
        fp_buffers_recycle(buffers(), &tracer->held[at]);
    tracer->held_count = 0;
    fp_tops_evidence_clear(tracer->evidence, &tracer->layout);
}

static void take_call(struct fp_tracer *tracer, const struct fp_sink *sink, const struct fp_tops_call *call) {
    if (tracer->differs.text[0])
        return;
    if (tracer->layout.callback.known)
        fp_tops_decode_call(tracer->decoder, sink, call);
    if (tracer->evidence && !fp_tops_evidence_add_call(tracer->evidence, &tracer->layout, call) &&
        tracer->held_count > 0)
        settle(tracer, sink);
}

static void take_buffer(struct fp_tracer *tracer, const struct fp_sink *sink,
                        const struct fp_buffer *buffer) {
    struct fp_tops_session session = look_around(tracer);
    fp_keep_line("session earliest %" PRIu64 " begun %" PRIu64 " latest %" PRIu64 " armed %" PRIx64
                 " devices %" PRIu32 " process %" PRIu32 " first %d",
                 session.earliest, session.begun, session.latest, session.armed, session.device_count,
                 session.process, session.on_first);
    if (tracer->differs.text[0]) {
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, 1);
        fp_buffers_recycle(buffers(), buffer);
        return;
    }
    if (!tracer->evidence ||
        !fp_tops_evidence_wants(&session, &tracer->layout, buffer->bytes, buffer->valid)) {
        use_buffer(tracer, sink, buffer);
        return;
    }
    tracer->held[tracer->held_count++] = *buffer;
    if (tracer->held_count == HELD_MAX)
        settle(tracer, sink);
}

static void end_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    if (tracer->held_count)
        settle(tracer, sink);
    fp_notes_tell(&tracer->notes, sink);
    end_session(tracer);
}

static int topspti_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_tops_call call;
    struct fp_buffer buffer;
    if (!tracer->decoder)
        return 0;
    if (fp_fork_in_child(&shared.fork))
        return -ECHILD;
    fp_clock_follow(&tracer->clock, read_clock,
                    tracer); // here alone, which one thread runs at a time; the last drain comes after stop
    // A call's callback comes before its record, so buffers that are complete now have theirs in the ring.
    for (bool more = true; more;) {
        more = fp_buffers_take(buffers(), &buffer);
        while (fp_ring_take(tracer->calls, &call)) {
            fp_keep_bytes("call", &call, sizeof(call));
            take_call(tracer, sink, &call);
        }
        if (more)
            take_buffer(tracer, sink, &buffer);
    }
    drain_dropped(tracer, sink);
    if (tracer->stopped)
        end_drain(tracer, sink);
    return 0;
}

// ---- Push, pop and the rest

static int topspti_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    if (!fp_fork_in_child(&shared.fork))
        ask_device(tracer);
    return fp_id_stack_push(kind, framework_id);
}

static int topspti_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    (void)tracer;
    return fp_id_stack_pop(kind, last);
}

static int topspti_synchronize(struct fp_tracer *tracer, struct fp_error *err) {
    if (fp_fork_in_child(&shared.fork))
        return 0;
    if (!tracer->library.call.device_synchronize)
        return -ENOTSUP;
    int result = tracer->library.call.device_synchronize();
    if (result != 0)
        fp_error_set(err, "topsDeviceSynchronize: error %d", result);
    return result == 0 ? 0 : -EIO;
}

static void topspti_close(struct fp_tracer *tracer) {
    if (!tracer)
        return;
    if (tracer->running && !tracer->stopped)
        topspti_stop(tracer, 0, NULL);
    if (tracer->decoder)
        end_session(tracer);
    fp_tops_evidence_free(tracer->evidence);
    fp_ring_free(tracer->calls);
    free(tracer);
}

const struct fp_tracer_ops fp_topspti_ops = {
    .size = sizeof(struct fp_tracer_ops),
    .name = "topspti",
    .open = topspti_open,
    .close = topspti_close,
    .describe = topspti_describe,
    .device_count = topspti_device_count,
    .device = topspti_device,
    .start = topspti_start,
    .stop = topspti_stop,
    .drain = topspti_drain,
    .push = topspti_push,
    .pop = topspti_pop,
    .to_epoch = topspti_to_epoch,
    .synchronize = topspti_synchronize,
};
