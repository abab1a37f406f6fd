// topspti_truth.h - sessions on a simulated TOPSPTI, compared event by event with what the simulator did.
//
// In:  an observer of the simulator's own, beside the tracer under test. Under the fault epoch_clock the
//      vendor's times are the simulator's, so that they must be equal to the nanosecond.
// Out: every event that was emitted is one that happened, with its times, id, device, name and owner; or the
//      process ends with what differs.
#ifndef TOPSPTI_TRUTH_H
#define TOPSPTI_TRUTH_H

#include "twin_sessions.h"

#include "tracers/topspti.h"

#define LIBRARY BUILD_DIR "/sim/topspti/libtopspti.so"
#define NOT_KNOWN "the layout of TOPSPTI's records is not known"

enum { HAPPENINGS = 1 << 14 };

struct happening {
    int kind; // enum fp_kind
    uint32_t correlation, thread, device, stream, context;
    uint64_t start, end, bytes;
    uint32_t grid[3], block[3];
    const char *name;
    bool seen;
};

static struct happening happenings[HAPPENINGS];
static atomic_uint happened;

static inline void witness_work(void *user, const flagsim_activity *activity) {
    static const int kinds[] = { FP_KIND_KERNEL, FP_KIND_MEMCPY, FP_KIND_MEMSET };
    (void)user;
    if ((size_t)activity->kind > 2)
        return;
    struct happening *one = &happenings[atomic_fetch_add(&happened, 1) % HAPPENINGS];
    *one = (struct happening){
        .kind = kinds[activity->kind],
        .correlation = activity->correlation,
        .device = (uint32_t)activity->device,
        .stream = activity->stream,
        .context = activity->context,
        .start = activity->start_ns,
        .end = activity->end_ns > activity->start_ns ? activity->end_ns : activity->start_ns + 1,
    };
    if (one->kind == FP_KIND_KERNEL) {
        one->name = activity->of.kernel.info->name;
        memcpy(one->grid, activity->of.kernel.info->grid, sizeof(one->grid));
        memcpy(one->block, activity->of.kernel.info->block, sizeof(one->block));
    } else {
        one->bytes = activity->of.memory.bytes;
    }
}

static inline void witness_call(void *user, const flagsim_api_call *call) {
    (void)user;
    happenings[atomic_fetch_add(&happened, 1) % HAPPENINGS] = (struct happening){
        .kind = FP_KIND_RUNTIME,
        .correlation = call->correlation,
        .thread = call->thread,
        .start = call->start_ns,
        .end = call->end_ns,
    };
}

static inline bool is_id(const struct happening *one, uint32_t id) { // or counted from 1
    return id == one->correlation || id == one->correlation - 0x50000000u + 1;
}

static inline struct happening *happening_of(const struct fp_event *event) {
    for (unsigned at = 0; at < atomic_load(&happened) && at < HAPPENINGS; at++) {
        struct happening *one = &happenings[at];
        if (one->kind == (int)event->kind && is_id(one, event->vendor_id.value) && !one->seen &&
            one->start == (uint64_t)event->start_ns && one->end == (uint64_t)event->end_ns)
            return one;
    }
    return NULL;
}

static inline void check_fields(const struct fp_event *event, const struct happening *one) {
    const char *name = collected_name(&all, event->name);
    if (event->kind == FP_KIND_RUNTIME) {
        CHECK_EQUAL(event->u.call.thread, one->thread);
        return;
    }
    CHECK_EQUAL(event->device, one->device);
    if (event->fields & FP_HAS_STREAM)
        CHECK_EQUAL(event->stream, one->stream);
    if (event->fields & FP_HAS_CONTEXT)
        CHECK_EQUAL(event->context, one->context);
    if (event->kind == FP_KIND_KERNEL) {
        CHECK(strcmp(name, one->name) == 0, "%s is called %s", one->name, name);
        if (event->fields & FP_HAS_GEOMETRY) {
            CHECK(memcmp(event->u.kernel.grid, one->grid, sizeof(one->grid)) == 0, "%s: grid", name);
            CHECK(memcmp(event->u.kernel.block, one->block, sizeof(one->block)) == 0, "%s: block", name);
        }
    } else if (event->fields & FP_HAS_BYTES) {
        CHECK_EQUAL(event->kind == FP_KIND_MEMCPY ? event->u.copy.bytes : event->u.set.bytes, one->bytes);
    }
}

// Everything that was emitted is true.
static inline void check_truth(void) {
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        struct happening *one = happening_of(event);
        CHECK(one, "event %zu (kind %d, id %x, %s) never happened", at, event->kind, event->vendor_id.value,
              collected_name(&all, event->name));
        one->seen = true;
        check_fields(event, one);
    }
}

static bool has_callbacks = true;

static inline void check_complete(void) {
    check_counts();
    CHECK_EQUAL(collected_lost(&all), 0);
    if (has_callbacks)
        check_owners();
}

// A recording with a witness; under epoch_clock.
static inline void record_witnessed(void) {
    static const flagsim_observer witness = { sizeof(witness), NULL, witness_call, witness_work };
    int handle = flagsim_observe(&witness, NULL);
    CHECK(handle > 0, "no witness");
    record();
    flagsim_unobserve(handle);
    check_truth();
}

// Right events, all of them, or none and the reason aloud.
static inline void scenario_any_layout(void) {
    record_witnessed();
    if (!strstr(all.notes, NOT_KNOWN)) {
        check_complete();
        return;
    }
    CHECK_EQUAL(all.event_count, 0);
    CHECK_EQUAL(all.correlation_count, 0);
    CHECK(collected_lost(&all) > 0, "what was refused is not counted");
    exit(2);
}

static inline void broken(void) {
    record();
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED] > 0 || strstr(all.notes, NOT_KNOWN), "nothing is said");
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL) > truth.kernels, 0);
}

#endif
