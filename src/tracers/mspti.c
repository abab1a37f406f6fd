// mspti.c - the tracer of Huawei Ascend NPUs, over CANN's MSPTI and nothing else.
//
// In:  the contract's calls (device_tracer.h); MSPTI's two buffer callbacks, which carry no pointer of ours,
//      so that what they need is static.
// Out: events in the sink, through mspti_decode.c. Finding is mspti_open.c's business.
//
// Kernels and host calls are there in any process. Copies and sets are known only to an interposer that
// libmspti.so brings, and which works where that library was in the process from its start; so are collectives
// by their older kind, HCCL, while the newer one, COMMUNICATION, is taken in any process [CODE, not run]:
// MSPTI's own answer is believed first, then what the process looked like when FlagProf was loaded. Nothing is
// started anew for it; `flagprof env` tells how a program is begun so.

#include "tracers/mspti.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/clock.h"
#include "tracers/intake.h"
#include "tracers/mspti_decode.h"
#include "tracers/mspti_ids.h"
#include "tracers/mspti_open.h"
#include "tracers/mspti_walk.h"
#include "tracers/notes.h"
#include "tracers/opening.h"
#include "tracers/text_arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MSPTI asks for at least 2 MB and hands a buffer over when it is filled by four fifths [CODE].
enum { BUFFER_BYTES = 8 << 20, BUFFERS = 32, SPARE_BYTES = 2 << 20, SPARES = 4, BUFFERS_KEPT = 1 };
enum { NAME_BYTES = 256 << 20, NAMES = 1 << 15 }; // of address space; what is written costs memory
enum { ID_ENTRIES = 1 << 20 };                    // 32 MB of address space

enum need { NEEDED, WANTED, INSTEAD }; // instead: only where the row before it was refused

static const struct kind {
    int number;
    enum need need;
    const char *word;
} kinds[] = {
    { FP_MSPTI_KERNEL, NEEDED, "KERNEL" },
    { FP_MSPTI_API, NEEDED, "API" },
    { FP_MSPTI_EXTERNAL, NEEDED, "EXTERNAL_CORRELATION" },
    // Since CANN 9.0 the levels have kinds of their own, and API alone would lack the launches [CODE].
    { FP_MSPTI_ACL_API, WANTED, "ACL_API" },
    { FP_MSPTI_NODE_API, WANTED, "NODE_API" },
    { FP_MSPTI_RUNTIME_API, WANTED, "RUNTIME_API" },
    { FP_MSPTI_MEMCPY, WANTED, "MEMCPY" },
    { FP_MSPTI_MEMSET, WANTED, "MEMSET" },
    { FP_MSPTI_COMMUNICATION, WANTED, "COMMUNICATION" },
    { FP_MSPTI_HCCL, INSTEAD, "HCCL" },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct {
    struct fp_intake intake;
    struct fp_text_arena *names;
    _Atomic uint64_t earliest, texts_lost; // of the session
    struct fp_fork_mark fork;
} shared;

struct fp_tracer {
    struct fp_mspti_library library;
    struct fp_mspti_ids *ids;
    // One session, from start to the drain after stop.
    void *subscriber;
    bool running;
    atomic_bool stopped; // another thread drains
    int answers[KINDS];  // what Enable said; -1: not asked
    bool armed[KINDS];
    struct fp_buffers_counts counts_at_start;
    struct fp_mspti_decoder *decoder;
    uint32_t left_outside;
    struct fp_notes notes; // found outside of drain, told by the last one
};

static uint64_t epoch_now(void) {
    return (uint64_t)fp_clock_epoch_ns();
}

static bool in_child(void) {
    return fp_fork_in_child(&shared.fork);
}

// ---- MSPTI's callbacks: on any of its threads, several at once; no lock, no allocation

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    fp_intake_request(&shared.intake, buffer, size, max_records);
}

static uint64_t keep_text(void *owner, uint64_t address) {
    const char *text = (const char *)(uintptr_t)address;
    const char *kept = fp_text_arena_keep(owner, text);
    if (text && !kept)
        atomic_fetch_add_explicit(&shared.texts_lost, 1, memory_order_relaxed);
    return (uint64_t)(uintptr_t)kept;
}

// With NULL and 0 for a buffer that was refused [CODE].
static void on_completed(uint8_t *buffer, size_t size, size_t valid) {
    if (!buffer || valid > size)
        return;
    fp_intake_enter(&shared.intake);
    struct fp_mspti_walk walk = {
        .bytes = buffer,
        .valid = valid,
        .earliest = atomic_load_explicit(&shared.earliest, memory_order_relaxed),
        .latest = fp_mspti_latest(epoch_now()),
    };
    fp_mspti_keep_texts(walk, keep_text, shared.names);
    fp_intake_complete(&shared.intake, buffer, valid);
    fp_intake_leave(&shared.intake);
}

static void count_spare(void *owner, const uint8_t *buffer, size_t valid,
                        uint64_t counts[FP_KIND_COUNT + 1]) {
    (void)owner;
    fp_mspti_count_records((uint8_t *)(uintptr_t)buffer, valid, counts);
}

// ---- Open and describe

static int mspti_open(const struct fp_tracer_options *options, struct fp_tracer **result,
                      struct fp_error *err) {
    struct fp_tracer *tracer;
    int status = fp_tracer_new(sizeof(*tracer), "MSPTI", &shared.fork, &tracer, err);
    if (status == 0)
        status = fp_mspti_library_find(&tracer->library, fp_tracer_library(options), err);
    if (status != 0) {
        free(tracer);
        return status;
    }
    fp_fork_watch(&shared.fork);
    *result = tracer;
    return 0;
}

static int mspti_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    static const char *const words[] = { "KERNEL",  "API",      "EXTERNAL_CORRELATION",
                                         "ACL_API", "NODE_API", "RUNTIME_API",
                                         "MEMCPY",  "MEMSET",   "COMMUNICATION",
                                         NULL };
    struct fp_tracer_description found = {
        .size = sizeof(found),
        .library_path = tracer->library.path,
        .version = NULL, // MSPTI does not tell it
        .simulated = tracer->library.simulated ? FP_SIMULATED_TITLE : NULL,
        .kinds = words,
        .runtime_kind = "acl_runtime",
    };
    fp_tracer_hand_out(description, &found);
    return 0;
}

static int mspti_device_count(struct fp_tracer *tracer) {
    return tracer->library.device_count;
}

static int mspti_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    struct fp_device found = { .size = sizeof(found) };
    if (ordinal >= (uint32_t)tracer->library.device_count)
        return -EINVAL;
    const char *name = tracer->library.call.get_soc_name ? tracer->library.call.get_soc_name() : NULL;
    if (name) // one for all: it is the chip's
        snprintf(found.name, sizeof(found.name), "%s", name);
    fp_tracer_hand_out(device, &found);
    return 0;
}

// ---- Start

static int open_memory(struct fp_tracer *tracer, struct fp_error *err) {
    struct fp_buffers_setup setup = {
        .buffer_bytes = BUFFER_BYTES,
        .count = BUFFERS,
        .spare_bytes = SPARE_BYTES,
        .spares = SPARES,
        .may_refuse = true, // what would have gone into a refused buffer is dropped [CODE]
        .count_records = count_spare,
    };
    if (!shared.names)
        shared.names = fp_text_arena_new(NAME_BYTES, NAMES);
    if (!tracer->ids)
        tracer->ids = fp_mspti_ids_new(ID_ENTRIES);
    if (!shared.names || !tracer->ids) {
        fp_error_set(err, "no memory for an MSPTI session");
        return -ENOMEM;
    }
    return fp_intake_open(&shared.intake, &setup, err);
}

// The one subscription of the process. Who has it MSPTI does not say; torch_npu has had a profiler of its own
// on it since 2.13 [HEADER].
static int subscribe(struct fp_tracer *tracer, struct fp_error *err) {
    char path[FP_LIBRARY_PATH_BYTES];
    int result = tracer->library.call.subscribe(&tracer->subscriber, NULL, NULL);
    fp_log("mspti", "subscribing: %d", result);
    if (result == FP_MSPTI_SUCCESS)
        return 0;
    if (result != FP_MSPTI_MULTIPLE_SUBSCRIBERS) {
        fp_error_set(err, "MSPTI does not take a subscriber (result %d)", result);
        return -EIO;
    }
    bool is_torchs = fp_library_loaded("libtorch_npu.so", 0, path, sizeof(path));
    fp_error_set(err,
                 "MSPTI's one subscription is taken by another profiler of this process%s%s: end that one "
                 "first. CPU activity is recorded",
                 is_torchs ? ", most likely torch_npu's own: " : "", is_torchs ? path : "");
    return -EBUSY;
}

static void disarm(struct fp_tracer *tracer) {
    for (size_t at = KINDS; at-- > 0;)
        if (tracer->armed[at]) {
            tracer->library.call.disable(kinds[at].number);
            tracer->armed[at] = false;
        }
}

static int answer_of(const struct fp_tracer *tracer, int number) {
    for (size_t at = 0; at < KINDS; at++)
        if (kinds[at].number == number)
            return tracer->answers[at];
    return -1;
}

static int arm(struct fp_tracer *tracer, struct fp_error *err) {
    for (size_t at = 0; at < KINDS; at++) {
        tracer->answers[at] = -1;
        if (kinds[at].need == INSTEAD && tracer->answers[at - 1] == FP_MSPTI_SUCCESS)
            continue;
        tracer->answers[at] = tracer->library.call.enable(kinds[at].number);
        tracer->armed[at] = tracer->answers[at] == FP_MSPTI_SUCCESS;
        fp_log("mspti", "enabling %s: %d", kinds[at].word, tracer->answers[at]);
        if (kinds[at].need == NEEDED && tracer->answers[at] != FP_MSPTI_SUCCESS) {
            fp_error_set(err, "MSPTI does not record %s (result %d)", kinds[at].word, tracer->answers[at]);
            return -EIO;
        }
    }
    return 0;
}

#define HOW "Run it through `flagprof env -- COMMAND`"

// MSPTI's answer counts. Where the two other signs speak against it or against each other, that is said.
static void judge_preload(struct fp_tracer *tracer) {
    int answer = answer_of(tracer, FP_MSPTI_MEMCPY);
    bool was_there = fp_mspti_was_preloaded(), is_named = fp_mspti_is_named_in_preload();
    if (answer == FP_MSPTI_WITHOUT_LD_PRELOAD)
        fp_notes_add(
            &tracer->notes,
            "copies%s are not recorded: MSPTI needs libmspti.so in the process from its start (result "
            "6)%s. " HOW,
            answer_of(tracer, FP_MSPTI_COMMUNICATION) == FP_MSPTI_SUCCESS ? " and sets"
                                                                          : ", sets and collectives",
            was_there ? ", and does not see that it was, since LD_PRELOAD does not name it" : "");
    else if (answer != FP_MSPTI_SUCCESS)
        fp_notes_add(&tracer->notes, "copies are not recorded: MSPTI refuses their kind (result %d)", answer);
    else if (is_named && !was_there)
        fp_notes_add(
            &tracer->notes,
            "LD_PRELOAD names libmspti.so, but this process did not start with it (it was set later, or "
            "the file could not be loaded): copies and sets will be missing. " HOW);
}

static int make_decoder(struct fp_tracer *tracer, const struct fp_session_options *options,
                        struct fp_error *err) {
    struct fp_mspti_decoder_options decoding = {
        .ids = tracer->ids,
        .session_start = epoch_now(),
        .copies = answer_of(tracer, FP_MSPTI_MEMCPY) == FP_MSPTI_SUCCESS,
        .sets = answer_of(tracer, FP_MSPTI_MEMSET) == FP_MSPTI_SUCCESS,
        .all_calls = options->all_calls,
        .next = fp_ablated("iterator") ? tracer->library.call.next_record : NULL,
    };
    decoding.visible_count = fp_mspti_read_visible(getenv("ASCEND_RT_VISIBLE_DEVICES"), decoding.visible);
    tracer->decoder = fp_mspti_decoder_new(&decoding);
    if (tracer->decoder)
        return 0;
    fp_error_set(err, "no memory to decode MSPTI's records");
    return -ENOMEM;
}

static void end_session(struct fp_tracer *tracer) {
    fp_mspti_decoder_free(tracer->decoder);
    tracer->decoder = NULL;
    tracer->running = false;
    atomic_store(&tracer->stopped, false);
    tracer->notes.count = 0;
    fp_mspti_ids_clear(tracer->ids);
    fp_buffers_trim(fp_intake_buffers(&shared.intake), BUFFERS_KEPT);
}

static int begin_recording(struct fp_tracer *tracer, const struct fp_session_options *options,
                           struct fp_error *err) {
    int result = tracer->library.call.register_callbacks(on_requested, on_completed);
    if (result != FP_MSPTI_SUCCESS) {
        fp_error_set(err, "MSPTI does not take our buffers (result %d)", result);
        return -EIO;
    }
    atomic_store(&shared.earliest, fp_mspti_earliest(epoch_now()));
    atomic_store(&shared.texts_lost, 0);
    fp_buffers_count(fp_intake_buffers(&shared.intake), &tracer->counts_at_start);
    fp_intake_begin(&shared.intake, options);
    result = arm(tracer, err);
    if (result == 0)
        result = make_decoder(tracer, options, err);
    if (result == 0) {
        judge_preload(tracer);
        return 0;
    }
    disarm(tracer);
    fp_intake_end(&shared.intake);
    return result;
}

static int mspti_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                       struct fp_error *err) {
    int result = fp_tracer_check_start(&shared.fork, tracer->running, "MSPTI", err);
    if (result == 0)
        result = open_memory(tracer, err);
    if (result == 0)
        result = fp_mspti_library_bind(&tracer->library, err);
    if (result == 0)
        result = subscribe(tracer, err);
    if (result != 0)
        return result;
    fp_intake_discard(&shared.intake);
    fp_mspti_ids_clear(tracer->ids);
    tracer->notes.count = 0;
    tracer->left_outside = 0;
    tracer->running = true;
    result = begin_recording(tracer, options, err);
    if (result != 0) {
        tracer->library.call.unsubscribe(tracer->subscriber);
        end_session(tracer);
    }
    return result;
}

// ---- Stop

// Unsubscribed first, which ends the device's side; then flushed; and once more when the kinds are off, since
// switching one off may still bring what the device held [CODE].
static int end_recording(struct fp_tracer *tracer) {
    const struct fp_mspti_functions *call = &tracer->library.call;
    if (call->synchronize_device)
        call->synchronize_device();
    call->unsubscribe(tracer->subscriber);
    tracer->subscriber = NULL;
    int result = call->flush_all(1);
    disarm(tracer);
    int last = call->flush_all(1);
    fp_log("mspti", "flush: %d, last flush: %d", result, last);
    return result != FP_MSPTI_SUCCESS ? result : last;
}

static int mspti_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    if (!tracer->running || atomic_load(&tracer->stopped)) {
        fp_error_set(err, "no MSPTI session runs");
        return -EINVAL;
    }
    if (in_child()) {
        atomic_store(&tracer->stopped, true);
        return -ECHILD;
    }
    int flushed = end_recording(tracer);
    tracer->left_outside = fp_intake_wait(&shared.intake, timeout_ns, INT64_MAX);
    fp_intake_end(&shared.intake);
    int result = fp_intake_judge(tracer->left_outside, "MSPTI", &tracer->notes, err);
    atomic_store(&tracer->stopped, true);
    if (result != 0 || flushed == FP_MSPTI_SUCCESS)
        return result;
    fp_error_set(err, "MSPTI's flush answered %d", flushed);
    return -EIO;
}

// ---- Drain

// MSPTI counts nothing that it drops: what we know is what went into spares, and how often it asked in vain.
static void report_lost(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_buffers_counts now;
    if (fp_ablated("lost"))
        return;
    fp_intake_lose_spares(&shared.intake, sink);
    fp_buffers_count(fp_intake_buffers(&shared.intake), &now);
    if (now.refused > tracer->counts_at_start.refused)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED,
                   now.refused - tracer->counts_at_start.refused);
    tracer->counts_at_start.refused = now.refused;
}

// Calls that copied, set or were collectives, and not one record of it, though MSPTI took the kind: older
// releases do not say that they need the library from the process's start.
static void judge_silence(struct fp_tracer *tracer, const struct fp_sink *sink) {
    const struct fp_mspti_seen *seen = fp_mspti_decoder_seen(tracer->decoder);
    bool is_told = answer_of(tracer, FP_MSPTI_MEMCPY) != FP_MSPTI_SUCCESS || tracer->notes.count > 0;
    if (!is_told && ((seen->copy_calls && !seen->copies) || (seen->set_calls && !seen->sets)))
        sink->note(
            sink->owner,
            "MSPTI gave no record of the copies or sets that were called: libmspti.so has to be in the "
            "process from its start, and be reached through the process's global symbols. " HOW);
    bool asked = answer_of(tracer, FP_MSPTI_COMMUNICATION) == FP_MSPTI_SUCCESS ||
                 answer_of(tracer, FP_MSPTI_HCCL) == FP_MSPTI_SUCCESS;
    if (asked && seen->collective_calls && !seen->collectives)
        sink->note(sink->owner, "MSPTI took the kind of collectives and gave no record of those that were "
                                "called: libmspti.so may have to be in the process from its start. " HOW);
}

static void end_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    fp_mspti_decode_end(tracer->decoder, sink);
    judge_silence(tracer, sink);
    if (tracer->left_outside)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, tracer->left_outside);
    if (fp_mspti_ids_lost(tracer->ids))
        sink->note(sink->owner, "more operators began and ended than could be followed: from then on device "
                                "work of threads that ran side by side has none");
    if (atomic_load(&shared.texts_lost))
        sink->note(sink->owner, "there was no room for all names: some events have none");
    fp_notes_tell(&tracer->notes, sink);
    end_session(tracer);
}

static int mspti_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_buffer buffer;
    size_t count = 0;
    bool last = atomic_load(&tracer->stopped);
    if (!tracer->decoder)
        return 0;
    if (in_child())
        return -ECHILD;
    struct fp_buffers *buffers = fp_intake_buffers(&shared.intake);
    fp_mspti_ids_read(tracer->ids); // which makes room in their log
    for (; fp_buffers_take(buffers, &buffer); count++) {
        fp_mspti_decode(tracer->decoder, sink, buffer.bytes, buffer.valid, epoch_now());
        fp_buffers_recycle(buffers, &buffer);
    }
    report_lost(tracer, sink);
    fp_log("mspti", "drained %zu buffers%s", count, last ? " after stop" : "");
    if (last)
        end_drain(tracer, sink);
    return 0;
}

// ---- Push, pop and the rest

static const int external_kinds[FP_ID_KIND_COUNT] = {
    [FP_ID_OPERATOR] = FP_MSPTI_CUSTOM0,
    [FP_ID_RANGE] = FP_MSPTI_CUSTOM1,
};

static uint32_t own_thread(void) {
    static _Thread_local uint32_t number;
    if (number == 0)
        number = (uint32_t)gettid();
    return number;
}

static int mspti_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    if (in_child() || !atomic_load_explicit(&tracer->library.bound, memory_order_acquire))
        return 0;
    uint64_t now = fp_mspti_ids_now(tracer->ids);
    int result = tracer->library.call.push(external_kinds[kind], framework_id);
    if (result != FP_MSPTI_SUCCESS)
        return -EIO;
    if (fp_mspti_ids_push(tracer->ids, kind, own_thread(), framework_id, now))
        fp_intake_wake(&shared.intake);
    return 0;
}

static int mspti_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    uint64_t popped = 0; // always a real address: without one MSPTI takes nothing off
    if (in_child() || !atomic_load_explicit(&tracer->library.bound, memory_order_acquire))
        return 0;
    int result = tracer->library.call.pop(external_kinds[kind], &popped);
    if (fp_mspti_ids_pop(tracer->ids, kind, own_thread(), result == FP_MSPTI_SUCCESS ? &popped : NULL,
                         fp_mspti_ids_now(tracer->ids)))
        fp_intake_wake(&shared.intake);
    if (last)
        *last = popped;
    return result == FP_MSPTI_SUCCESS ? 0 : -EIO;
}

static int mspti_synchronize(struct fp_tracer *tracer, struct fp_error *err) {
    if (in_child() || !tracer->library.call.synchronize_device)
        return 0;
    int result = tracer->library.call.synchronize_device();
    if (result == 0)
        return 0;
    fp_error_set(err, "aclrtSynchronizeDevice: error %d", result);
    return -EIO;
}

static int mspti_preload(char *path, size_t capacity, struct fp_error *err) {
    return fp_mspti_preload(path, capacity, err);
}

static void mspti_close(struct fp_tracer *tracer) {
    if (!tracer)
        return;
    if (tracer->running && !atomic_load(&tracer->stopped))
        mspti_stop(tracer, 0, NULL);
    if (tracer->decoder)
        end_session(tracer);
    fp_mspti_ids_free(tracer->ids); // MSPTI keeps our callbacks: what they use stays
    free(tracer);
}

const struct fp_tracer_ops fp_mspti_ops = {
    .size = sizeof(fp_mspti_ops),
    .name = "mspti",
    .open = mspti_open,
    .close = mspti_close,
    .describe = mspti_describe,
    .device_count = mspti_device_count,
    .device = mspti_device,
    .start = mspti_start,
    .stop = mspti_stop,
    .drain = mspti_drain,
    .push = mspti_push,
    .pop = mspti_pop,
    .synchronize = mspti_synchronize,
    .preload = mspti_preload,
};
