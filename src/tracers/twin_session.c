// twin_session.c - one session after another with a library whose interface is a copy of CUPTI's
// (twin_session.h).
//
// The vendor's callbacks take no lock, allocate nothing and call nothing of the vendor's: a name asked for
// from there deadlocks [CODE: MCPTI 3.8.0].

#include "tracers/twin_session.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/clock.h"
#include "tracers/keep.h"
#include "tracers/notes.h"
#include "tracers/opening.h"
#include "tracers/twin_decode.h"
#include "tracers/twin_window.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// As for CUPTI (cupti.c tells the figures): 128 MB at most, untouched ones cost nothing.
enum { BUFFER_BYTES = 2 << 20, BUFFERS = 64, SPARE_BYTES = 64 << 10, SPARES = 16, BUFFERS_KEPT = 2 };
// A clock within a second of the epoch is the epoch's.
enum { SAME_CLOCK_NS = 1000000000 };
// How many buffers wait for the layout's verdict, at most.
enum { HELD_MAX = 32, KINDS_MAX = 16, NOTE_BYTES = 400 };
#define NO_FUNCTION INT_MIN // where a vendor's result would stand
#define SECOND_NS INT64_C(1000000000)
#define UNDER_WAY_NS (10 * SECOND_NS)

struct fp_tracer {
    const struct fp_twin_profile *profile;
    struct fp_twin_library library;
    char version[96];
    const char *kinds[KINDS_MAX + 1];
    // What the records have shown of the layout; kept from session to session.
    struct fp_twin_evidence evidence;
    enum fp_twin_verdict verdict;
    // One session, from start to the drain after stop.
    bool running, stopped;
    bool armed[KINDS_MAX];
    struct fp_buffers_counts counts_at_start;
    struct fp_clock clock;
    struct fp_twin_decoder *decoder;
    struct fp_twin_surroundings around;
    struct fp_buffer held[HELD_MAX];
    size_t held_count;
    struct fp_twin_window *window; // where the library may lack ids; else NULL
    atomic_bool logs_ids;          // until the library has shown that it gives them back
    struct fp_notes notes;         // found outside of drain, told by the last one
};

static int say(const struct fp_tracer *tracer, const char *what, const char *of, int result) {
    fp_log(tracer->profile->name, "%s %s: %s", what, of,
           result == 0 ? "ok" : fp_twin_result_text(&tracer->library, result));
    return result;
}

static struct fp_buffers *buffers_of(const struct fp_tracer *tracer) {
    return fp_intake_buffers(&tracer->profile->callbacks->intake);
}

static bool in_child(const struct fp_tracer *tracer) {
    return fp_fork_in_child(&tracer->profile->callbacks->fork);
}

static void count_spare(void *owner, const uint8_t *buffer, size_t valid,
                        uint64_t counts[FP_KIND_COUNT + 1]) {
    const struct fp_twin_layout *layout = atomic_load(&((struct fp_twin_callbacks *)owner)->layout);
    if (layout)
        fp_twin_count_records(layout, buffer, valid, counts);
}

// ---- Open and describe

static int open_buffers(struct fp_twin_callbacks *callbacks, struct fp_error *err) {
    struct fp_buffers_setup setup = {
        .buffer_bytes = BUFFER_BYTES,
        .count = BUFFERS,
        .spare_bytes = SPARE_BYTES,
        .spares = SPARES,
        .may_refuse = false, // what a refusal does is not known; CUPTI before 12.9 died of it
        .count_records = count_spare,
        .owner = callbacks,
    };
    return fp_intake_open(&callbacks->intake, &setup, err);
}

static void list_kinds(struct fp_tracer *tracer) {
    const struct fp_twin_layout *layout = &tracer->library.layout;
    size_t count = 0;
    for (size_t at = 0; at < layout->kind_count && count < KINDS_MAX; at++)
        if (layout->kinds[at].arming != FP_TWIN_READ_ONLY)
            tracer->kinds[count++] = layout->kinds[at].word;
}

int fp_twin_open(const struct fp_twin_profile *profile, const struct fp_tracer_options *options,
                 struct fp_tracer **result, struct fp_error *err) {
    struct fp_tracer *tracer;
    int status = fp_tracer_new(sizeof(*tracer), profile->title, &profile->callbacks->fork, &tracer, err);
    if (status == 0)
        status = fp_twin_library_open(&tracer->library, profile->search, fp_tracer_library(options), err);
    if (status != 0) {
        free(tracer);
        return status;
    }
    tracer->profile = profile;
    if (profile->manners & FP_TWIN_MAY_LACK_IDS)
        tracer->window = fp_twin_window_new(); // without memory for it operators are known by records alone
    atomic_store(&tracer->logs_ids, tracer->window != NULL);
    fp_fork_watch(&profile->callbacks->fork);
    list_kinds(tracer);
    snprintf(tracer->version, sizeof(tracer->version), "%u", tracer->library.version);
    *result = tracer;
    return 0;
}

int fp_twin_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    const struct fp_twin_library *library = &tracer->library;
    struct fp_tracer_description found = {
        .size = sizeof(found),
        .library_path = library->path,
        .version = tracer->version,
        .simulated = library->simulated ? FP_SIMULATED_TITLE : NULL,
        .kinds = tracer->kinds,
        .runtime_kind = tracer->profile->runtime_kind,
        .driver_version = fp_tracer_version(library->device.driver_version),
        .runtime_version = fp_tracer_version(library->device.runtime_version),
        .library_version = library->version,
    };
    fp_tracer_hand_out(description, &found);
    return 0;
}

int fp_twin_device_count(struct fp_tracer *tracer) {
    return tracer->library.device_count;
}

int fp_twin_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    const struct fp_twin_devices *ask = &tracer->library.device;
    return fp_tracer_device(device, ordinal, tracer->library.device_count, ask->name, ask->memory);
}

// ---- Clock

static int read_clock(void *owner, uint64_t *vendor_ns) {
    int (*ask)(uint64_t *) = ((const struct fp_tracer *)owner)->library.call.get_timestamp;
    return ask && ask(vendor_ns) == 0 ? 0 : -EIO;
}

static void begin_clock(struct fp_tracer *tracer) {
    if (!fp_clock_open(&tracer->clock, tracer->profile->name, read_clock, tracer, SAME_CLOCK_NS))
        fp_notes_add(&tracer->notes, "%s does not tell its clock: its times are taken for the Unix epoch's",
                     tracer->profile->title);
}

int64_t fp_twin_to_epoch(struct fp_tracer *tracer, int64_t vendor_ns) {
    return fp_ablated("clock") ? vendor_ns : fp_clock_to_epoch(&tracer->clock, vendor_ns);
}

static const char *library_name(void *owner, uint32_t domain, uint32_t cbid) {
    const struct fp_tracer *tracer = owner;
    const char *name = NULL;
    if (!tracer->library.call.call_name ||
        tracer->library.call.call_name(tracer->profile->name_keys[domain], cbid, &name) != 0)
        return NULL;
    if (name && *name)
        fp_keep_line("name %" PRIu32 " %" PRIu32 " %s", domain, cbid, name);
    return name && *name ? name : NULL;
}

// What may be asked at any time.
static const char *name_now(void *owner, uint32_t domain, uint32_t cbid) {
    const struct fp_twin_profile *profile = ((struct fp_tracer *)owner)->profile;
    const char *name = profile->known_name ? profile->known_name(domain, cbid) : NULL;
    return name || profile->manners & FP_TWIN_NAMES_AT_END ? name : library_name(owner, domain, cbid);
}

// What a record of this session may say: times from a little before its start (work that was under way) to
// this moment, in the vendor's clock.
static void look_around(struct fp_tracer *tracer) {
    int64_t first = tracer->clock.first.vendor_ns - UNDER_WAY_NS;
    tracer->around.device_count = (uint32_t)tracer->library.device_count;
    tracer->around.process = (uint32_t)getpid();
    tracer->around.call_name = name_now;
    tracer->around.owner = tracer;
    tracer->around.earliest = first > 1 ? (uint64_t)first : 1;
    tracer->around.latest =
        tracer->clock.last.vendor_ns > 0 ? (uint64_t)tracer->clock.last.vendor_ns + (uint64_t)SECOND_NS : 0;
}

// ---- Start

static int refused(const struct fp_tracer *tracer, int result) {
    return result == tracer->profile->busy_result ? -EBUSY : -EIO;
}

static void tell_refusal(const struct fp_tracer *tracer, struct fp_error *err, const char *what, int result) {
    fp_error_set(err, "%s does not record %s: %s (%d)%s", tracer->profile->title, what,
                 fp_twin_result_text(&tracer->library, result), result,
                 result == tracer->profile->busy_result
                     ? ". Another profiler of this process has its only subscription: end that one first"
                     : "");
}

static int register_callbacks(struct fp_tracer *tracer, struct fp_error *err) {
    const struct fp_twin_profile *profile = tracer->profile;
    int result = open_buffers(profile->callbacks, err);
    if (result != 0)
        return result;
    atomic_store(&profile->callbacks->layout, &tracer->library.layout);
    static bool registered; // asked by an ablation alone
    if (fp_ablated("registration") && registered)
        return 0;
    registered = true;
    result = say(tracer, "registering", "the buffer callbacks",
                 tracer->library.call.register_callbacks(profile->callbacks->requested,
                                                         profile->callbacks->completed));
    if (result != 0) {
        tell_refusal(tracer, err, "into our buffers", result);
        return refused(tracer, result);
    }
    if (profile->manners & FP_TWIN_FLUSH_AT_START)
        say(tracer, "flush", "of leftovers", tracer->library.call.flush_all(0));
    return 0;
}

static void disarm(struct fp_tracer *tracer) {
    const struct fp_twin_layout *layout = &tracer->library.layout;
    for (size_t at = layout->kind_count; at-- > 0;)
        if (tracer->armed[at]) {
            say(tracer, "disabling", layout->kinds[at].word,
                tracer->library.call.disable(layout->kinds[at].number));
            tracer->armed[at] = false;
        }
}

static bool is_armed(const struct fp_tracer *tracer, enum fp_twin_shape shape) {
    const struct fp_twin_layout *layout = &tracer->library.layout;
    for (size_t at = 0; at < layout->kind_count && at < KINDS_MAX; at++)
        if (tracer->armed[at] && layout->kinds[at].shape == shape)
            return true;
    return false;
}

// Of kinds that exclude each other the refusal of one is no news while another is armed, or may be.
static bool may_lack(const struct fp_tracer *tracer, size_t at) {
    const struct fp_twin_layout *layout = &tracer->library.layout;
    const struct fp_twin_kind *kind = &layout->kinds[at];
    for (size_t other = at + 1; other < layout->kind_count; other++)
        if (layout->kinds[other].arming == FP_TWIN_EITHER && layout->kinds[other].shape == kind->shape)
            return true;
    return false;
}

static bool is_needed(const struct fp_tracer *tracer, size_t at) {
    const struct fp_twin_kind *kind = &tracer->library.layout.kinds[at];
    return kind->arming == FP_TWIN_NEEDED || (kind->arming == FP_TWIN_EITHER && !may_lack(tracer, at));
}

static int arm(struct fp_tracer *tracer, struct fp_error *err) {
    const struct fp_twin_layout *layout = &tracer->library.layout;
    for (size_t at = 0; at < layout->kind_count && at < KINDS_MAX; at++) {
        const struct fp_twin_kind *kind = &layout->kinds[at];
        if (kind->arming == FP_TWIN_READ_ONLY ||
            (kind->arming == FP_TWIN_EITHER && is_armed(tracer, kind->shape)))
            continue;
        int result = say(tracer, "enabling", kind->word, tracer->library.call.enable(kind->number));
        tracer->armed[at] = result == 0;
        if (result != 0 && (is_needed(tracer, at) || result == tracer->profile->busy_result)) {
            tell_refusal(tracer, err, kind->word, result);
            return refused(tracer, result);
        }
        if (result != 0 && kind->arming != FP_TWIN_EITHER)
            fp_notes_add(&tracer->notes, "%s does not record %s here (%s)", tracer->profile->title,
                         kind->word, fp_twin_result_text(&tracer->library, result));
    }
    return 0;
}

// What an earlier session left completed is of no use to this one.
static void discard_leftovers(struct fp_tracer *tracer) {
    size_t count = fp_intake_discard(&tracer->profile->callbacks->intake), vendors_count = 0;
    if (tracer->library.call.get_dropped)
        tracer->library.call.get_dropped(NULL, 0, &vendors_count); // asking sets it back to 0
    if (count || vendors_count)
        fp_log(tracer->profile->name, "%zu buffers and %zu dropped records of before are discarded", count,
               vendors_count);
}

// NULL where the library's own is not to be trusted.
static fp_twin_next_fn iterator_of(const struct fp_tracer *tracer) {
    bool by_size =
        tracer->profile->manners & FP_TWIN_WALK_BY_SIZE ? !fp_ablated("iterator") : fp_ablated("stride");
    return by_size ? NULL : tracer->library.call.next_record;
}

static void keep_call(void *owner, uint32_t thread, uint64_t start, fp_vendor_id id) {
    fp_twin_window_call(owner, thread, start, id);
}

static int make_decoder(struct fp_tracer *tracer, bool all_calls, struct fp_error *err) {
    const struct fp_twin_profile *profile = tracer->profile;
    struct fp_twin_decoder_options options = {
        .layout = &tracer->library.layout,
        .log_name = profile->name,
        .next = iterator_of(tracer),
        .known_name = profile->known_name,
        .library_name = library_name,
        .names_at_end = profile->manners & FP_TWIN_NAMES_AT_END && !fp_ablated("names"),
        .launches = profile->launches,
        .owner = tracer,
        .all_calls = all_calls,
    };
    memcpy(options.prefixes, profile->prefixes, sizeof(options.prefixes));
    memcpy(options.unknown, profile->unknown, sizeof(options.unknown));
    tracer->decoder = fp_twin_decoder_new(&options);
    if (tracer->decoder && atomic_load(&tracer->logs_ids)) {
        fp_twin_window_clear(tracer->window);
        fp_twin_decoder_watch(tracer->decoder, keep_call, tracer->window);
    }
    if (!tracer->decoder)
        fp_error_set(err, "no memory to decode the records of %s", profile->title);
    return tracer->decoder ? 0 : -ENOMEM;
}

static void end_session(struct fp_tracer *tracer) {
    fp_twin_decoder_free(tracer->decoder);
    tracer->decoder = NULL;
    tracer->running = tracer->stopped = false;
    tracer->notes.count = 0;
    for (size_t at = 0; at < tracer->held_count; at++)
        fp_buffers_recycle(buffers_of(tracer), &tracer->held[at]);
    tracer->held_count = 0;
    fp_twin_evidence_clear(&tracer->evidence);
    fp_buffers_trim(buffers_of(tracer), BUFFERS_KEPT);
}

static int check_start(const struct fp_tracer *tracer, struct fp_error *err) {
    const char *title = tracer->profile->title;
    int result = fp_tracer_check_start(&tracer->profile->callbacks->fork, tracer->running, title, err);
    if (result != 0)
        return result;
    if (tracer->verdict == FP_TWIN_DIFFERS) {
        fp_error_set(err, "this %s writes other records than are known: nothing of it can be trusted", title);
        return -ENOTSUP;
    }
    return 0;
}

int fp_twin_start(struct fp_tracer *tracer, const struct fp_session_options *options, struct fp_error *err) {
    struct fp_twin_callbacks *callbacks = tracer->profile->callbacks;
    int result = check_start(tracer, err);
    if (result == 0)
        result = register_callbacks(tracer, err);
    if (result != 0)
        return result;
    discard_leftovers(tracer);
    tracer->notes.count = 0;
    begin_clock(tracer);
    uint32_t expected = tracer->profile->version_expected;
    if (expected && tracer->library.version != expected)
        fp_notes_add(&tracer->notes, "%s reports version %u; what is known of its records is of version %u",
                     tracer->profile->title, tracer->library.version, expected);
    if ((result = make_decoder(tracer, options->all_calls, err)) != 0)
        return result;
    fp_intake_begin(&callbacks->intake, options);
    fp_buffers_count(buffers_of(tracer), &tracer->counts_at_start);
    tracer->running = true;
    result = arm(tracer, err);
    if (result != 0) {
        disarm(tracer);
        fp_intake_end(&callbacks->intake);
        end_session(tracer);
    }
    return result;
}

// ---- Stop

// The wait for the device is a call of ours that the library must have recorded: a flush behind it that gives
// nothing back says that the buffers go elsewhere.
static void judge_silence(struct fp_tracer *tracer, uint64_t completed_before, bool called) {
    struct fp_buffers_counts counts;
    fp_buffers_count(buffers_of(tracer), &counts);
    if (called && counts.completed == completed_before)
        fp_notes_add(
            &tracer->notes,
            "%s gave no buffer back although calls were made: another library may have registered its own "
            "callbacks, and took the records",
            tracer->profile->title);
}

static int flush_and_disarm(struct fp_tracer *tracer) {
    const struct fp_twin_profile *profile = tracer->profile;
    struct fp_buffers_counts counts;
    bool called = tracer->library.device.synchronize && tracer->library.device.synchronize() == 0;
    fp_buffers_count(buffers_of(tracer), &counts);
    if (fp_ablated("teardown"))
        disarm(tracer);
    int result = say(tracer, "flush", "", tracer->library.call.flush_all(profile->flush_flag));
    disarm(tracer);
    if (profile->manners & FP_TWIN_FLUSH_AFTER_DISABLE && result == 0)
        result = say(tracer, "flush", "after disabling", tracer->library.call.flush_all(0));
    judge_silence(tracer, counts.completed, called);
    return result;
}

int fp_twin_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    const char *title = tracer->profile->title;
    struct fp_intake *intake = &tracer->profile->callbacks->intake;
    if (!tracer->running || tracer->stopped) {
        fp_error_set(err, "no session of %s runs", title);
        return -EINVAL;
    }
    tracer->stopped = true;
    if (in_child(tracer))
        return -ECHILD;
    int flushed = flush_and_disarm(tracer);
    uint32_t left = fp_intake_wait(intake, timeout_ns, INT64_MAX);
    fp_intake_end(intake);
    int result = fp_intake_judge(left, title, &tracer->notes, err);
    if (result != 0 || flushed == 0)
        return result;
    fp_error_set(err, "%s's flush answered %d (%s)", title, flushed,
                 fp_twin_result_text(&tracer->library, flushed));
    return -EIO;
}

// ---- Drain

static void drain_dropped(struct fp_tracer *tracer, const struct fp_sink *sink) {
    size_t dropped = 0;
    if (fp_ablated("lost"))
        return;
    fp_intake_lose_spares(&tracer->profile->callbacks->intake, sink);
    if (tracer->library.call.get_dropped && tracer->library.call.get_dropped(NULL, 0, &dropped) == 0 &&
        dropped)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_DROPPED, dropped); // of what kind is not told
}

// All records of a refused layout are lost as what they claim to be.
static void lose_buffer(struct fp_tracer *tracer, const struct fp_sink *sink,
                        const struct fp_buffer *buffer) {
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
    uint64_t sum = 0;
    fp_twin_count_records(&tracer->library.layout, buffer->bytes, buffer->valid, counts);
    for (int kind = 0; kind < FP_KIND_COUNT; kind++) {
        if (counts[kind])
            sink->lose(sink->owner, (enum fp_kind)kind, FP_LOSS_MALFORMED, counts[kind]);
        sum += counts[kind];
    }
    if (sum == 0)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_MALFORMED, 1);
}

static void use_buffer(struct fp_tracer *tracer, const struct fp_sink *sink, const struct fp_buffer *buffer) {
    if (tracer->verdict == FP_TWIN_DIFFERS)
        lose_buffer(tracer, sink, buffer);
    else
        fp_twin_decode(tracer->decoder, sink, &tracer->around, buffer->bytes, buffer->valid);
    fp_buffers_recycle(buffers_of(tracer), buffer);
}

static void reach_verdict(struct fp_tracer *tracer, const struct fp_sink *sink, bool final) {
    char why[160] = "", text[NOTE_BYTES];
    tracer->verdict = fp_twin_evidence_judge(&tracer->evidence, final, why, sizeof(why));
    if (tracer->verdict == FP_TWIN_DIFFERS) {
        snprintf(text, sizeof(text),
                 "%s %s writes other records than are known (%s): no device activity is recorded. "
                 "check-layouts with the vendor's header tells what differs",
                 tracer->profile->title, tracer->version, why);
        fp_warn_once("record-layout", "%s", text);
        sink->note(sink->owner, text);
    }
    if (tracer->verdict == FP_TWIN_UNDECIDED)
        return;
    for (size_t at = 0; at < tracer->held_count; at++)
        use_buffer(tracer, sink, &tracer->held[at]);
    tracer->held_count = 0;
}

// Judged is every buffer of a session until each sort of record has been seen to agree.
static void take_buffer(struct fp_tracer *tracer, const struct fp_sink *sink,
                        const struct fp_buffer *buffer) {
    if (tracer->verdict == FP_TWIN_DIFFERS || fp_twin_evidence_is_complete(&tracer->evidence) ||
        fp_ablated("layout")) {
        use_buffer(tracer, sink, buffer);
        return;
    }
    fp_twin_evidence_add(&tracer->evidence, &tracer->library.layout, &tracer->around, iterator_of(tracer),
                         buffer->bytes, buffer->valid);
    tracer->held[tracer->held_count++] = *buffer;
    reach_verdict(tracer, sink, tracer->held_count == HELD_MAX);
}

// A library that has given ids back once gives them always; one that was given ids and gave none back, never.
static void find_operators(struct fp_tracer *tracer, const struct fp_sink *sink) {
    uint64_t missed = 0;
    if (!atomic_load(&tracer->logs_ids) || !fp_twin_window_was_used(tracer->window) || fp_ablated("window"))
        return;
    if (fp_twin_decoder_seen(tracer->decoder).external_ids > 0) {
        atomic_store(&tracer->logs_ids, false);
        return;
    }
    if (fp_twin_window_resolve(tracer->window, sink, &missed) == 0)
        return;
    fp_notes_add(
        &tracer->notes,
        "%s gave no external ids back: operators were found by the thread and the time of the calls%s",
        tracer->profile->title, missed ? ", as far as the log of them had room" : "");
}

static void end_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    if (tracer->held_count)
        reach_verdict(tracer, sink, true);
    if (tracer->verdict != FP_TWIN_DIFFERS) {
        fp_twin_decode_end(tracer->decoder, sink);
        find_operators(tracer, sink);
    }
    fp_notes_tell(&tracer->notes, sink);
    end_session(tracer);
}

int fp_twin_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    struct fp_buffer buffer;
    size_t count = 0;
    if (!tracer->decoder)
        return 0;
    if (in_child(tracer))
        return -ECHILD;
    fp_clock_follow(&tracer->clock, read_clock,
                    tracer); // here alone, which one thread runs at a time; the last drain comes after stop
    look_around(tracer);
    for (; fp_buffers_take(buffers_of(tracer), &buffer); count++)
        take_buffer(tracer, sink, &buffer);
    drain_dropped(tracer, sink);
    fp_log(tracer->profile->name, "drained %zu buffers%s", count, tracer->stopped ? " after stop" : "");
    if (tracer->stopped)
        end_drain(tracer, sink);
    return 0;
}

// ---- Push, pop and the rest

static bool is_logging(struct fp_tracer *tracer, uint64_t *now) {
    return atomic_load_explicit(&tracer->logs_ids, memory_order_relaxed) &&
           tracer->library.call.get_timestamp(now) == 0;
}

// What a call for ids came to. One that the library does not have is no failure where the log stands in for
// it.
static int id_result(const struct fp_tracer *tracer, bool logged, int result) {
    if (result == 0 || (logged && (result == NO_FUNCTION || result == tracer->profile->absent_result)))
        return 0;
    return result == NO_FUNCTION ? -ENOSYS : -EIO;
}

int fp_twin_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    const struct fp_twin_functions *call = &tracer->library.call;
    uint64_t now = 0;
    if (in_child(tracer))
        return 0;
    bool logs = is_logging(tracer, &now);
    int result =
        call->push ? call->push(tracer->library.layout.external_kinds[kind], framework_id) : NO_FUNCTION;
    result = id_result(tracer, logs, result);
    if (logs && result == 0)
        fp_twin_window_push(tracer->window, now, kind, framework_id);
    return result;
}

int fp_twin_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    const struct fp_twin_functions *call = &tracer->library.call;
    uint64_t popped = 0, now = 0; // always a real address: these libraries write through it
    if (in_child(tracer))
        return 0;
    bool logs = is_logging(tracer, &now);
    int result = call->pop ? call->pop(tracer->library.layout.external_kinds[kind], &popped) : NO_FUNCTION;
    result = id_result(tracer, logs, result);
    if (logs && result == 0)
        fp_twin_window_pop(tracer->window, now, kind);
    if (last)
        *last = popped;
    return result;
}

int fp_twin_synchronize(struct fp_tracer *tracer, struct fp_error *err) {
    if (in_child(tracer))
        return 0;
    if (!tracer->library.device.synchronize)
        return -ENOTSUP;
    int result = tracer->library.device.synchronize();
    if (result != 0)
        fp_error_set(err, "waiting for the device failed (result %d)", result);
    return result == 0 ? 0 : -EIO;
}

void fp_twin_close(struct fp_tracer *tracer) {
    if (!tracer)
        return;
    if (tracer->running && !tracer->stopped)
        fp_twin_stop(tracer, 0, NULL);
    if (tracer->decoder)
        end_session(tracer);
    // The library keeps our callbacks, so what they use stays; the layout alone was this tracer's.
    atomic_store(&tracer->profile->callbacks->layout, NULL);
    fp_twin_window_free(tracer->window);
    free(tracer);
}
