// cupti.c - the tracer of NVIDIA GPUs, over CUPTI's activity interface of 11.8 to 13.5.
//
// In:  the contract's calls (device_tracer.h), CUPTI's buffer callbacks.
// Out: events in the sink, through cupti_decode.c. Binding is cupti_open.c's business, memory that of
//      buffers.c.
//
// CUPTI's callbacks are global to the process and carry no pointer of ours, so what they need is static. They
// take no lock, allocate nothing and call nothing of CUPTI's, which may deadlock from there.
//
// Armed is only what runs between start and stop, and each start registers the callbacks anew: another
// library that registers its own takes CUPTI's buffers over, silently [MEASURED].

#include "tracers/cupti.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/clock.h"
#include "tracers/cupti_arm.h"
#include "tracers/cupti_open.h"
#include "tracers/intake.h"
#include "tracers/notes.h"
#include "tracers/opening.h"
#include "tracers/since.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 2 MB hold about 7,500 launches (kernel, call and id: 280 bytes): 30 ms of a launch-bound program, decoded
// in 3 ms. At most 64 are handed out, so 128 MB, as much as Kineto allows itself; untouched ones cost
// nothing. Two stay warm from one recording to the next.
enum { BUFFER_BYTES = 2 << 20, BUFFERS = 64, SPARE_BYTES = 64 << 10, SPARES = 16, BUFFERS_KEPT = 2 };

// CUPTI's clock is the Unix epoch but for microseconds (4 seen) [MEASURED]; under WSL it is another one.
enum { SAME_CLOCK_NS = 1000000 };

// A buffer that has not come back so long after a flush is not on its way: another library may go on
// recording into it.
enum { PATIENCE_NS = 500000000 };

enum { MAX_DEVICES = 128, FIRST_MAJOR_THAT_BEARS_REFUSAL = 13 };

struct fp_tracer {
    struct fp_cupti_library library;
    struct fp_cuda_limits limits[MAX_DEVICES];
    char version[96];
    bool prepared;
    // One session, from start to the drain after stop. Another thread drains while this one stops: what stop
    // finds out is read by the drain that began after `stopped` was set, and by no other.
    bool running;
    atomic_bool stopped;
    bool tried;            // a call was made to see whether CUPTI says anything at all
    bool taken_over;       // its buffers, by another library
    uint32_t left_outside; // buffers with records that did not come back
    bool late;             // one that an earlier session left outside has come back in this one
    int64_t began_ns;
    struct fp_cupti_arms arms;
    struct fp_buffers_counts counts_at_start;
    struct fp_clock clock;
    struct fp_cupti_decoder *decoder;
    struct fp_notes notes; // found outside of drain, told by the last one
};

static struct {
    struct fp_intake intake;
    struct fp_fork_mark fork;
    _Atomic(struct fp_cupti_layout *) layout;
    // Buffers with records that came back in this session: by a flush of ours, and because they were full.
    atomic_bool flushing;
    atomic_uint came_by_flush, came_full;
    atomic_bool pushed; // in this session
} shared;

static void note_sentence(void *owner, const char *sentence) {
    fp_notes_add(owner, "%s", sentence);
}

// ---- CUPTI's callbacks

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    fp_intake_request(&shared.intake, buffer, size, max_records);
    fp_log("cupti", "buffer %p requested, %zu bytes", (void *)*buffer, *size);
}

static void on_completed(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid) {
    (void)context;
    (void)stream;
    (void)size;
    fp_intake_enter(&shared.intake);
    fp_log("cupti", "buffer %p completed, %zu bytes", (void *)buffer, valid);
    if (valid)
        atomic_fetch_add(atomic_load(&shared.flushing) ? &shared.came_by_flush : &shared.came_full, 1);
    fp_intake_complete(&shared.intake, buffer, valid);
    fp_intake_leave(&shared.intake);
}

static void count_spare(void *owner, const uint8_t *buffer, size_t valid,
                        uint64_t counts[FP_KIND_COUNT + 1]) {
    (void)owner;
    const struct fp_cupti_layout *layout = atomic_load(&shared.layout);
    if (layout)
        fp_cupti_count_records(layout, buffer, valid, counts);
}

// ---- Open and describe

static int open_buffers(const struct fp_tracer *tracer, struct fp_error *err) {
    const struct fp_cupti_library *library = &tracer->library;
    struct fp_buffers_setup setup = {
        .buffer_bytes = BUFFER_BYTES,
        .count = BUFFERS,
        .spare_bytes = SPARE_BYTES,
        .spares = SPARES,
        // Up to 12.8 a refusal is a SIGSEGV, from 12.9 on the records are dropped and counted [MEASURED].
        .may_refuse = library->major >= FIRST_MAJOR_THAT_BEARS_REFUSAL || library->api_version >= 28,
        .count_records = count_spare,
    };
    return fp_intake_open(&shared.intake, &setup, err);
}

static int cupti_open(const struct fp_tracer_options *options, struct fp_tracer **result,
                      struct fp_error *err) {
    struct fp_tracer *tracer;
    int status = fp_tracer_new(sizeof(*tracer), "CUPTI", &shared.fork, &tracer, err);
    if (status == 0)
        status = fp_cupti_library_open(&tracer->library, fp_tracer_library(options), err);
    if (status != 0) {
        free(tracer);
        return status;
    }
    fp_fork_watch(&shared.fork);
    fp_cupti_arms_init(&tracer->arms, &tracer->library);
    const struct fp_cupti_library *library = &tracer->library;
    int count = library->driver.device_count < MAX_DEVICES ? library->driver.device_count : MAX_DEVICES;
    for (int device = 0; device < count; device++)
        fp_cuda_driver_limits(&library->driver, (uint32_t)device, &tracer->limits[device]);
    snprintf(tracer->version, sizeof(tracer->version), "%s%s (API %u)", library->layout.release,
             library->layout.newer ? " or newer" : "", library->api_version);
    *result = tracer;
    return 0;
}

static int cupti_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    const struct fp_cupti_library *library = &tracer->library;
    struct fp_tracer_description found = {
        .size = sizeof(found),
        .library_path = library->path,
        .version = tracer->version,
        .simulated = library->simulated ? FP_SIMULATED_TITLE : NULL,
        .kinds = fp_cupti_offered_kinds,
        .runtime_kind = "cuda_runtime",
        .driver_version = (uint64_t)library->driver.version,
        .runtime_version =
            (uint64_t)fp_cuda_runtime_version(library->simulated ? library->handle : NULL, library->major),
        .library_version = library->api_version,
    };
    fp_tracer_hand_out(description, &found);
    return 0;
}

static int cupti_device_count(struct fp_tracer *tracer) {
    return tracer->library.driver.device_count;
}

static int cupti_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    return fp_cuda_driver_device(&tracer->library.driver, ordinal, device);
}

// ---- Start

static int register_callbacks(struct fp_tracer *tracer, struct fp_error *err) {
    int result = open_buffers(tracer, err);
    if (result != 0)
        return result;
    atomic_store(&shared.layout, &tracer->library.layout);
    static bool registered; // asked by an ablation alone
    if (fp_ablated("registration") && registered)
        return 0;
    registered = true;
    uint32_t status = fp_cupti_say(&tracer->library, "registering the buffer callbacks",
                                   tracer->library.call.register_callbacks(on_requested, on_completed));
    if (status == FP_CUPTI_SUCCESS)
        return 0;
    fp_error_set(err, "CUPTI does not take our buffer callbacks: %s (%u)",
                 fp_cupti_result_text(&tracer->library, status), status);
    return status == FP_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS ? -EBUSY : -EIO;
}

static int read_clock(void *owner, uint64_t *vendor_ns) {
    uint32_t (*ask)(uint64_t *) = ((const struct fp_tracer *)owner)->library.call.get_timestamp;
    return ask && ask(vendor_ns) == FP_CUPTI_SUCCESS ? 0 : -EIO;
}

static void begin_clock(struct fp_tracer *tracer) {
    const struct fp_clock *clock = &tracer->clock;
    bool told = fp_clock_open(&tracer->clock, "cupti", read_clock, tracer, SAME_CLOCK_NS);
    tracer->began_ns = told ? fp_clock_to_epoch(clock, clock->first.vendor_ns) : INT64_MIN;
    if (!clock->identity)
        fp_notes_add(&tracer->notes,
                     "CUPTI's clock is not the Unix epoch (%" PRId64 " ns apart): its times were mapped",
                     clock->first.vendor_ns - clock->first.epoch_ns);
}

// What an earlier session left completed is of no use to this one.
static void discard_leftovers(struct fp_tracer *tracer) {
    size_t count = fp_intake_discard(&shared.intake), vendors_count = 0;
    if (tracer->library.call.get_dropped)
        tracer->library.call.get_dropped(NULL, 0, &vendors_count); // asking sets it back to 0
    if (count || vendors_count)
        fp_log("cupti", "%zu buffers and %zu dropped records of before are discarded", count, vendors_count);
}

static const char *call_name(void *owner, uint32_t domain, uint32_t cbid) {
    const struct fp_tracer *tracer = owner;
    const char *name = NULL;
    if (!tracer->library.call.get_callback_name ||
        tracer->library.call.get_callback_name(domain, cbid, &name) != FP_CUPTI_SUCCESS)
        return NULL;
    return name;
}

static void end_session(struct fp_tracer *tracer) {
    fp_cupti_decoder_free(tracer->decoder);
    tracer->decoder = NULL;
    tracer->running = false;
    atomic_store(&tracer->stopped, false);
    tracer->notes.count = 0;
    fp_buffers_leave(fp_intake_buffers(&shared.intake));
    fp_buffers_trim(fp_intake_buffers(&shared.intake), BUFFERS_KEPT);
}

static int cupti_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                       struct fp_error *err) {
    int result = fp_tracer_check_start(&shared.fork, tracer->running, "CUPTI", err);
    if (result == 0)
        result = fp_cupti_library_check_runtime(&tracer->library, err);
    if (result == 0)
        result = register_callbacks(tracer, err);
    if (result != 0)
        return result;
    discard_leftovers(tracer);
    tracer->notes.count = 0;
    begin_clock(tracer);
    struct fp_cupti_decoder_options decoding = {
        .layout = &tracer->library.layout,
        .next = tracer->library.call.get_next_record,
        .call_name = call_name,
        .owner = tracer,
        .clock = &tracer->clock,
        .limits = tracer->limits,
        .device_count =
            (uint32_t)(tracer->library.driver.device_count < MAX_DEVICES ? tracer->library.driver.device_count
                                                                         : MAX_DEVICES),
        .all_calls = options->all_calls,
    };
    tracer->decoder = fp_cupti_decoder_new(&decoding);
    if (!tracer->decoder) {
        fp_error_set(err, "no memory to decode CUPTI's records");
        return -ENOMEM;
    }
    tracer->taken_over = tracer->tried = false;
    tracer->left_outside = 0;
    tracer->late = false;
    atomic_store(&shared.pushed, false);
    atomic_store(&shared.came_full, 0);
    atomic_store(&shared.came_by_flush, 0);
    fp_intake_begin(&shared.intake, options);
    fp_buffers_count(fp_intake_buffers(&shared.intake), &tracer->counts_at_start);
    tracer->running = true;
    result = fp_cupti_arm(&tracer->arms, options->all_calls, note_sentence, &tracer->notes, err);
    if (result != 0) {
        fp_intake_end(&shared.intake);
        end_session(tracer);
    }
    return result;
}

// ---- Stop

// Neither asked for a buffer nor brought one back in this session.
static bool is_silent(const struct fp_tracer *tracer) {
    const struct fp_buffers_counts *before = &tracer->counts_at_start;
    struct fp_buffers_counts counts;
    fp_buffers_count(fp_intake_buffers(&shared.intake), &counts);
    return counts.requested == before->requested && counts.completed == before->completed;
}

// Silence may mean that nothing ran on the device, or that the records go elsewhere. A call of our own tells
// the one from the other. Not asked where no operator ran or no context exists, since nothing can have run.
static void try_silence(struct fp_tracer *tracer) {
    if (is_silent(tracer) && atomic_load(&shared.pushed) &&
        fp_cuda_driver_has_context(&tracer->library.driver) != 0)
        tracer->tried = fp_cupti_make_a_call(&tracer->arms);
}

// What CUPTI does not say: that its buffers went to somebody else, or that it never began.
static void judge_silence(struct fp_tracer *tracer) {
    const struct fp_buffers_counts *before = &tracer->counts_at_start;
    if (fp_ablated("silence"))
        return;
    if (!is_silent(tracer)) {
        // A full buffer is followed by the next one, which comes back at the latest by the flush.
        tracer->taken_over = atomic_load(&shared.came_full) && !atomic_load(&shared.came_by_flush);
        if (tracer->taken_over)
            fp_notes_add(&tracer->notes,
                         "after %u full buffers CUPTI asked for no more: another library has registered "
                         "its own buffer callbacks, and the records that followed went there",
                         atomic_load(&shared.came_full));
        return;
    }
    if (!tracer->tried)
        return;
    // Where buffers came before in this process, the driver is not one that wants to be asked early.
    tracer->taken_over = true;
    fp_notes_add(
        &tracer->notes,
        "CUPTI gave no record, not even of a call made to try it: another library has registered its own "
        "buffer callbacks%s",
        tracer->prepared || before->requested
            ? ""
            : ", or this driver delivers nothing to those who register after the first context: call "
              "flagprof.prepare() before the first CUDA call");
}

static uint32_t flush(struct fp_tracer *tracer, const char *what) {
    return fp_cupti_say(&tracer->library, what, tracer->library.call.flush_all(FP_CUPTI_FLUSH_FORCED));
}

// Ends the session's part that CUPTI has: flushed first, since a kind that is switched off may forget what it
// has not written; and again, since calls of other threads went on meanwhile. Returns the first result that
// is not success.
static uint32_t end_recording(struct fp_tracer *tracer) {
    uint32_t first = flush(tracer, "flush");
    try_silence(tracer);
    fp_cupti_disarm(&tracer->arms);
    uint32_t last = flush(tracer, "last flush");
    return first ? first : last;
}

static void log_buffers(const struct fp_tracer *tracer) {
    const struct fp_buffers_counts *before = &tracer->counts_at_start;
    struct fp_buffers_counts now;
    fp_buffers_count(fp_intake_buffers(&shared.intake), &now);
    fp_log("cupti",
           "stopped: %" PRIu64 " buffers requested, %" PRIu64 " completed, %" PRIu64 " spares, %" PRIu64
           " refused, %u still out",
           now.requested - before->requested, now.completed - before->completed,
           now.spares_given - before->spares_given, now.refused - before->refused,
           fp_buffers_outstanding(fp_intake_buffers(&shared.intake)));
}

static int cupti_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    if (!tracer->running || atomic_load(&tracer->stopped)) {
        fp_error_set(err, "no CUPTI session runs");
        return -EINVAL;
    }
    if (fp_fork_in_child(&shared.fork)) {
        atomic_store(&tracer->stopped, true);
        return -ECHILD;
    }
    atomic_store(&shared.flushing, true);
    uint32_t status = end_recording(tracer);
    uint32_t left = fp_intake_wait(&shared.intake, timeout_ns, PATIENCE_NS); // some come after the flush
    atomic_store(&shared.flushing, false);
    fp_intake_end(&shared.intake);
    judge_silence(tracer);
    log_buffers(tracer);
    tracer->left_outside = left;
    int result = fp_intake_judge(left, "CUPTI", &tracer->notes, err);
    atomic_store(&tracer->stopped, true);
    if (result != 0 || status == FP_CUPTI_SUCCESS)
        return result;
    fp_error_set(err, "CUPTI's flush answered %u (%s)", status,
                 fp_cupti_result_text(&tracer->library, status));
    return -EIO;
}

// ---- Drain

static void drain_dropped(struct fp_tracer *tracer, const struct fp_sink *sink) {
    size_t dropped = 0;
    if (fp_ablated("lost"))
        return;
    uint64_t sum = fp_intake_lose_spares(&shared.intake, sink);
    if (tracer->library.call.get_dropped &&
        tracer->library.call.get_dropped(NULL, 0, &dropped) == FP_CUPTI_SUCCESS && dropped)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_DROPPED, dropped); // of what kind CUPTI does not tell
    if (sum || dropped)
        fp_log("cupti", "dropped: %" PRIu64 " records with spares, %zu by CUPTI's count", sum, dropped);
}

// A buffer that an earlier session left outside holds that session's records. From then on only what ended in
// this session is let through: the decoder may keep a call back for later.
static size_t decode_buffers(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_buffers *buffers = fp_intake_buffers(&shared.intake);
    struct fp_buffer buffer;
    size_t count = 0;
    for (; fp_buffers_take(buffers, &buffer); count++) {
        struct fp_since since = { sink, tracer->began_ns, buffer.left };
        struct fp_sink only = fp_since_sink(&since);
        tracer->late = tracer->late || buffer.left;
        fp_cupti_decode(tracer->decoder, tracer->late ? &only : sink, buffer.bytes, buffer.valid);
        fp_buffers_recycle(buffers, &buffer);
    }
    return count;
}

// What only the drain after stop may say.
static void drain_end(struct fp_tracer *tracer, const struct fp_sink *sink) {
    uint32_t places = tracer->left_outside + tracer->taken_over;
    struct fp_since since = { sink, tracer->began_ns, false };
    struct fp_sink only = fp_since_sink(&since);
    fp_cupti_decode_end(tracer->decoder, tracer->late ? &only : sink);
    if (places)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, places);
    fp_notes_tell(&tracer->notes, sink);
    end_session(tracer);
}

static int cupti_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    // Asked before the buffers are taken: whatever comes back before a stop ends is among them then.
    bool last = atomic_load(&tracer->stopped);
    if (!tracer->decoder)
        return 0;
    if (fp_fork_in_child(&shared.fork))
        return -ECHILD;
    if (!tracer->clock.identity)
        fp_clock_follow(&tracer->clock, read_clock, tracer);
    size_t count = decode_buffers(tracer, sink);
    drain_dropped(tracer, sink);
    fp_log("cupti", "drained %zu buffers%s", count, last ? " after stop" : "");
    if (last)
        drain_end(tracer, sink);
    return 0;
}

// ---- Push, pop and the rest

static const uint32_t external_kinds[FP_ID_KIND_COUNT] = {
    [FP_ID_OPERATOR] = FP_CUPTI_EXTERNAL_CUSTOM0,
    [FP_ID_RANGE] = FP_CUPTI_EXTERNAL_CUSTOM1,
};

static int cupti_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    if (fp_fork_in_child(&shared.fork))
        return 0;
    if (!tracer->library.call.push_external_id)
        return -ENOSYS;
    if (!atomic_load_explicit(&shared.pushed, memory_order_relaxed))
        atomic_store_explicit(&shared.pushed, true, memory_order_relaxed);
    return tracer->library.call.push_external_id(external_kinds[kind], framework_id) == FP_CUPTI_SUCCESS
               ? 0
               : -EIO;
}

static int cupti_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    uint64_t popped = 0; // always a real address: one vendor of this family needs it
    if (fp_fork_in_child(&shared.fork))
        return 0;
    if (!tracer->library.call.pop_external_id)
        return -ENOSYS;
    uint32_t result = tracer->library.call.pop_external_id(external_kinds[kind], &popped);
    if (last)
        *last = popped;
    return result == FP_CUPTI_SUCCESS ? 0 : -EIO;
}

static int cupti_synchronize(struct fp_tracer *tracer, struct fp_error *err) {
    if (fp_fork_in_child(&shared.fork))
        return 0;
    return fp_cuda_driver_synchronize(&tracer->library.driver, err);
}

static int cupti_prepare(struct fp_tracer *tracer, struct fp_error *err) {
    if (fp_fork_in_child(&shared.fork))
        return 0;
    int result = register_callbacks(tracer, err);
    tracer->prepared = result == 0;
    return result;
}

static void cupti_close(struct fp_tracer *tracer) {
    if (!tracer)
        return;
    if (tracer->running && !atomic_load(&tracer->stopped))
        cupti_stop(tracer, 0, NULL);
    fp_cupti_decoder_free(tracer->decoder);
    // CUPTI keeps our callbacks, so what they use stays; the layout alone was this tracer's.
    atomic_store(&shared.layout, NULL);
    free(tracer);
}

const struct fp_tracer_ops fp_cupti_ops = {
    .size = sizeof(fp_cupti_ops),
    .name = "cupti",
    .open = cupti_open,
    .close = cupti_close,
    .describe = cupti_describe,
    .device_count = cupti_device_count,
    .device = cupti_device,
    .start = cupti_start,
    .stop = cupti_stop,
    .drain = cupti_drain,
    .push = cupti_push,
    .pop = cupti_pop,
    .synchronize = cupti_synchronize,
    .prepare = cupti_prepare,
};
