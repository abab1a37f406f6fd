// intake.c - the process's end of a vendor's buffer callbacks (intake.h).

#include "tracers/intake.h"

#include "tracers/clock.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

void fp_intake_request(struct fp_intake *intake, uint8_t **buffer, size_t *size, size_t *max_records) {
    if (max_records)
        *max_records = 0; // as many as fit
    *buffer = fp_buffers_request(fp_intake_buffers(intake), size);
}

void fp_intake_complete(struct fp_intake *intake, uint8_t *buffer, size_t valid) {
    fp_intake_enter(intake);
    if (fp_buffers_complete(fp_intake_buffers(intake), buffer, valid))
        fp_intake_wake(intake);
    fp_intake_leave(intake);
}

void fp_intake_wake(struct fp_intake *intake) {
    fp_intake_enter(intake);
    void (*wake)(void *) = atomic_load(&intake->wake);
    if (wake)
        wake(atomic_load(&intake->wake_owner));
    fp_intake_leave(intake);
}

int fp_intake_open(struct fp_intake *intake, const struct fp_buffers_setup *setup, struct fp_error *err) {
    struct fp_buffers *buffers = NULL;
    if (fp_intake_buffers(intake))
        return 0;
    int result = fp_buffers_open(setup, &buffers, err);
    if (result == 0)
        atomic_store_explicit(&intake->buffers, buffers, memory_order_release);
    return result;
}

size_t fp_intake_discard(struct fp_intake *intake) {
    struct fp_buffers *buffers = fp_intake_buffers(intake);
    struct fp_buffer buffer;
    uint64_t dropped[FP_KIND_COUNT + 1] = { 0 };
    size_t count = 0;
    for (; fp_buffers_take(buffers, &buffer); count++)
        fp_buffers_recycle(buffers, &buffer);
    fp_buffers_take_dropped(buffers, dropped);
    return count;
}

void fp_intake_begin(struct fp_intake *intake, const struct fp_session_options *options) {
    atomic_store(&intake->wake_owner, options->wake_owner);
    atomic_store(&intake->wake, options->wake);
}

void fp_intake_end(struct fp_intake *intake) {
    atomic_store(&intake->wake, NULL);
    while (atomic_load(&intake->inside) != 0)
        sched_yield();
}

uint32_t fp_intake_wait(const struct fp_intake *intake, uint64_t timeout_ns, int64_t patience_ns) {
    struct fp_buffers *buffers = fp_intake_buffers(intake);
    int64_t now = fp_clock_monotonic_ns(), came_last = now;
    int64_t until = now + (int64_t)(timeout_ns < INT64_MAX / 2 ? timeout_ns : INT64_MAX / 2);
    uint32_t left, before = UINT32_MAX;
    while ((left = fp_buffers_filled(buffers)) != 0 && now < until && now - came_last < patience_ns) {
        if (left < before)
            came_last = now;
        before = left;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        now = fp_clock_monotonic_ns();
    }
    return left;
}

int fp_intake_judge(uint32_t left, const char *title, struct fp_notes *notes, struct fp_error *err) {
    if (left == 0)
        return 0;
    fp_notes_add(notes, "%u buffers with records did not come back from %s", left, title);
    fp_error_set(err, "%s still holds %u buffers with records", title, left);
    return -ETIMEDOUT;
}

uint64_t fp_intake_lose_spares(struct fp_intake *intake, const struct fp_sink *sink) {
    uint64_t spare[FP_KIND_COUNT + 1] = { 0 };
    uint64_t sum = fp_buffers_take_dropped(fp_intake_buffers(intake), spare);
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        if (spare[kind])
            sink->lose(sink->owner, (enum fp_kind)kind, FP_LOSS_DROPPED, spare[kind]);
    return sum;
}
