// scripted_tracer.h - a tracer that hands to the sink what a test wrote down, for tests of the recording
// alone.
#ifndef SCRIPTED_TRACER_H
#define SCRIPTED_TRACER_H

#include "tracers/accelerator.h"

#include <pthread.h>
#include <stdatomic.h>

enum step_kind { STEP_EVENT, STEP_CORRELATE, STEP_LOSE, STEP_NOTE };

struct step {
    enum step_kind what;
    struct fp_event event;
    const char *name;
    enum fp_name_form form;
    uint32_t vendor_id;
    enum fp_id_kind id_kind;
    uint64_t framework_id;
    enum fp_kind lost_kind;
    enum fp_loss reason;
    uint64_t count;
    const char *note;
};

struct fp_tracer {
    struct step steps[64];
    size_t count;
    bool done;
    int start_result, push_result, pop_result;
    atomic_int pushed, popped, started, stopped;
    atomic_int drained; // how often, and by which thread last
    _Atomic(pthread_t) drained_by;
    void (*wake)(void *);
    void *wake_owner;
};

static int scripted_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                          struct fp_error *err) {
    if (tracer->start_result) {
        fp_error_set(err, "scripted refusal");
        return tracer->start_result;
    }
    tracer->started++;
    tracer->done = false;
    tracer->wake = options->wake;
    tracer->wake_owner = options->wake_owner;
    return 0;
}

static int scripted_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    (void)timeout_ns;
    (void)err;
    tracer->stopped++;
    return 0;
}

static void play(const struct step *step, const struct fp_sink *sink) {
    struct fp_event event = step->event;
    switch (step->what) {
    case STEP_EVENT:
        event.name = sink->name(sink->owner, step->name, step->form);
        sink->event(sink->owner, &event);
        break;
    case STEP_CORRELATE:
        sink->correlate(sink->owner, (fp_vendor_id){ step->vendor_id }, step->id_kind, step->framework_id);
        break;
    case STEP_LOSE:
        sink->lose(sink->owner, step->lost_kind, step->reason, step->count);
        break;
    case STEP_NOTE:
        sink->note(sink->owner, step->note);
        break;
    }
}

static int scripted_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    tracer->drained_by = pthread_self();
    tracer->drained++;
    if (tracer->done)
        return 0;
    tracer->done = true;
    for (size_t at = 0; at < tracer->count; at++)
        play(&tracer->steps[at], sink);
    return 0;
}

static int scripted_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    (void)kind;
    (void)framework_id;
    tracer->pushed++;
    return tracer->push_result;
}

static int scripted_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    (void)kind;
    (void)last;
    tracer->popped++;
    return tracer->pop_result;
}

static const struct fp_tracer_ops scripted_ops = {
    .size = sizeof(struct fp_tracer_ops),
    .name = "scripted",
    .start = scripted_start,
    .stop = scripted_stop,
    .drain = scripted_drain,
    .push = scripted_push,
    .pop = scripted_pop,
};

static inline struct step device_step(enum fp_kind kind, uint32_t vendor_id, int64_t start_ns,
                                      int64_t end_ns) {
    return (struct step){ .what = STEP_EVENT,
                          .name = "work",
                          .event = { .kind = kind,
                                     .fields = FP_HAS_STREAM,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .vendor_id = { vendor_id },
                                     .stream = 7 } };
}

static inline struct step call_step(enum fp_kind kind, uint32_t vendor_id, int64_t start_ns, int64_t end_ns,
                                    uint32_t fields) {
    return (struct step){ .what = STEP_EVENT,
                          .name = "call",
                          .event = { .kind = kind,
                                     .fields = fields,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .vendor_id = { vendor_id },
                                     .u.call = { .thread = 11 } } };
}

static inline struct step correlate_step(uint32_t vendor_id, enum fp_id_kind kind, uint64_t framework_id) {
    return (struct step){
        .what = STEP_CORRELATE, .vendor_id = vendor_id, .id_kind = kind, .framework_id = framework_id
    };
}

#endif
