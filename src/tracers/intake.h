// intake.h - the process's end of a vendor's buffer callbacks.
//
// In:  requests and completions from the vendor's threads; the tracer's sessions, one after another.
// Out: memory (buffers.h), a wake for whoever drains, and the certainty that no callback is at work any more
//      for a session that has ended.
//
// Such callbacks are the process's and carry no pointer of ours, so each vendor's file has one intake,
// static, and two functions that name it. Nothing in here locks, allocates or calls the vendor on a
// callback's way.
#ifndef FP_TRACERS_INTAKE_H
#define FP_TRACERS_INTAKE_H

#include "tracers/buffers.h"
#include "tracers/notes.h"

#include <stdatomic.h>

struct fp_intake {
    _Atomic(struct fp_buffers *) buffers; // NULL until the first session
    _Atomic(void (*)(void *)) wake;       // the session's; NULL between sessions
    _Atomic(void *) wake_owner;
    atomic_uint inside; // threads in a callback of ours
};

// ---- From the vendor's threads

void fp_intake_request(struct fp_intake *intake, uint8_t **buffer, size_t *size, size_t *max_records);
void fp_intake_complete(struct fp_intake *intake, uint8_t *buffer, size_t valid);
void fp_intake_wake(struct fp_intake *intake);

// Around what else a callback does with what belongs to the session.
static inline void fp_intake_enter(struct fp_intake *intake) {
    atomic_fetch_add(&intake->inside, 1);
}

static inline void fp_intake_leave(struct fp_intake *intake) {
    atomic_fetch_sub(&intake->inside, 1);
}

static inline struct fp_buffers *fp_intake_buffers(const struct fp_intake *intake) {
    return atomic_load_explicit(&intake->buffers, memory_order_acquire);
}

// ---- From the thread that starts, stops and drains

// Opens the buffers, once a process. 0 or -ENOMEM.
int fp_intake_open(struct fp_intake *intake, const struct fp_buffers_setup *setup, struct fp_error *err);
// Takes back what an earlier session left completed, which is of no use to this one. Returns how many buffers
// that were.
size_t fp_intake_discard(struct fp_intake *intake);
void fp_intake_begin(struct fp_intake *intake, const struct fp_session_options *options);
// On return no callback uses what belongs to the session.
void fp_intake_end(struct fp_intake *intake);

// Waits for the buffers with records in them that the vendor still holds, which its own threads bring: at
// most `timeout_ns`, and no longer than `patience_ns` after the last that came. Returns how many are still
// out; an empty one is nobody's loss.
uint32_t fp_intake_wait(const struct fp_intake *intake, uint64_t timeout_ns, int64_t patience_ns);
// What there is to say when `left` of them are: 0, or -ETIMEDOUT with a note and the reason.
int fp_intake_judge(uint32_t left, const char *title, struct fp_notes *notes, struct fp_error *err);
// Tells the sink, by kind, what went into spares. Returns the sum.
uint64_t fp_intake_lose_spares(struct fp_intake *intake, const struct fp_sink *sink);

#endif
