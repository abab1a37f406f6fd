// execute.c - running work, on a stream's thread, and launching kernels, on the caller's.
//
// In:  operations in the order of their stream.
// Out: functions called, bytes copied and set, events reached; and for each piece of work one activity
//      with its true start and end. End is always after start, and no work of a stream starts before the
//      one before it ended, whatever the resolution of the clock.
#include "core.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static void sleep_until(uint64_t until_ns) {
    uint64_t now = flagsim_now_ns();
    if (now >= until_ns)
        return;
    struct timespec rest = { .tv_sec = (time_t)((until_ns - now) / 1000000000u),
                             .tv_nsec = (long)((until_ns - now) % 1000000000u) };
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
        continue;
}

static void perform(struct work *work, uint64_t start_ns) {
    switch (work->kind) {
    case FLAGSIM_ACTIVITY_KERNEL:
        if (work->fn)
            work->fn(work->arg);
        if (work->kernel.min_duration_ns)
            sleep_until(start_ns + work->kernel.min_duration_ns);
        break;
    case FLAGSIM_ACTIVITY_COPY:
        if (work->memory.bytes)
            memmove(work->dst, work->src, work->memory.bytes);
        break;
    case FLAGSIM_ACTIVITY_SET:
        if (work->memory.bytes)
            memset(work->dst, work->memory.value, work->memory.bytes);
        break;
    case FLAGSIM_ACTIVITY_SYNC:
        break;
    }
}

static void count(const struct work *work, bool of_graph) {
    switch (work->kind) {
    case FLAGSIM_ACTIVITY_KERNEL:
        flagsim_truth_add(FLAGSIM_COUNT_kernels, 1);
        flagsim_truth_add(FLAGSIM_COUNT_graph_kernels, of_graph);
        break;
    case FLAGSIM_ACTIVITY_COPY:
        flagsim_truth_add(FLAGSIM_COUNT_copies, 1);
        flagsim_truth_add(FLAGSIM_COUNT_bytes_copied, work->memory.bytes);
        break;
    case FLAGSIM_ACTIVITY_SET:
        flagsim_truth_add(FLAGSIM_COUNT_sets, 1);
        break;
    case FLAGSIM_ACTIVITY_SYNC:
        break;
    }
}

static void run_work(struct flagsim_stream *stream, struct work *work, const struct origin *origin,
                     uint32_t graph_id, uint64_t node_id) {
    flagsim_activity activity = {
        .size = sizeof activity,
        .kind = work->kind,
        .correlation = origin->correlation,
        .queued_ns = origin->queued_ns,
        .device = stream->device,
        .context = flagsim_context_id(stream->device),
        .stream = stream->id,
        .graph_id = graph_id,
        .graph_node_id = node_id,
    };
    activity.start_ns = flagsim_now_ns();
    if (activity.start_ns < stream->last_end_ns)
        activity.start_ns = stream->last_end_ns;
    perform(work, activity.start_ns);
    activity.end_ns = flagsim_now_ns();
    if (activity.end_ns <= activity.start_ns)
        activity.end_ns = activity.start_ns + 1;
    stream->last_end_ns = activity.end_ns;
    if (work->kind == FLAGSIM_ACTIVITY_KERNEL)
        activity.of.kernel = (flagsim_kernel_work){ &work->kernel, atomic_fetch_add(&sim.next_grid_id, 1) };
    else
        activity.of.memory = work->memory;
    count(work, graph_id != 0);
    activity_report(&activity);
}

static void run_graph(struct flagsim_stream *stream, const struct op *op) {
    const struct flagsim_graph_exec *exec = op->of.exec;
    for (size_t i = 0; i < exec->count; i++)
        run_work(stream, exec->nodes[i], &op->origin, exec->id, (uint64_t)exec->id << 32 | i);
}

static void run_event_wait(struct flagsim_stream *stream, const struct op *op) {
    flagsim_activity activity = {
        .size = sizeof activity,
        .kind = FLAGSIM_ACTIVITY_SYNC,
        .correlation = op->origin.correlation,
        .queued_ns = op->origin.queued_ns,
        .device = stream->device,
        .context = flagsim_context_id(stream->device),
        .stream = stream->id,
        .start_ns = flagsim_now_ns(),
        .of.sync = { FLAGSIM_SYNC_STREAM_WAIT, op->of.event->id },
    };
    event_wait(op->of.event, op->ticket);
    activity.end_ns = flagsim_now_ns();
    if (activity.end_ns <= activity.start_ns)
        activity.end_ns = activity.start_ns + 1;
    flagsim_truth_add(FLAGSIM_COUNT_waits, 1);
    activity_report(&activity);
}

void stream_run(struct flagsim_stream *stream, const struct op *op) {
    switch (op->kind) {
    case OP_WORK:
        run_work(stream, op->of.work, &op->origin, 0, 0);
        break;
    case OP_GRAPH:
        run_graph(stream, op);
        break;
    case OP_EVENT_RECORD:
        event_reach(op->of.event, op->ticket);
        break;
    case OP_EVENT_WAIT:
        run_event_wait(stream, op);
        break;
    }
}

void report_sync(const struct call *call, flagsim_sync_kind kind, uint64_t start_ns, uint32_t event_id) {
    flagsim_activity activity = {
        .size = sizeof activity,
        .kind = FLAGSIM_ACTIVITY_SYNC,
        .correlation = call->view.correlation,
        .queued_ns = call->view.start_ns,
        .start_ns = start_ns,
        .end_ns = flagsim_now_ns(),
        .device = call->view.device,
        .context = call->view.context,
        .stream = call->view.stream,
        .of.sync = { kind, event_id },
    };
    if (activity.end_ns <= activity.start_ns)
        activity.end_ns = activity.start_ns + 1;
    flagsim_truth_add(FLAGSIM_COUNT_waits, 1);
    activity_report(&activity);
}

static int launch(struct flagsim_stream *stream, flagsim_kernel_fn fn, const void *arg, size_t arg_bytes,
                  void (*destroy)(void *), const flagsim_kernel_info *kernel) {
    struct work *work = work_kernel(fn, arg, arg_bytes, destroy, kernel);
    int result = work ? stream_resolve(&stream) : -ENOMEM;
    if (result) {
        work_drop(work);
        if (!work && destroy)
            destroy((void *)(uintptr_t)arg);
        return sim_fail(result);
    }
    struct call call;
    call_begin(&call, FLAGSIM_API_LAUNCH);
    call_stream(&call, stream);
    call.view.kernel = kernel;
    call.view.low_level |= (kernel->flags & FLAGSIM_LAUNCH_LOW_LEVEL) != 0;
    call.view.kernel_handle = (const void *)(uintptr_t)fn;
    call_enter(&call);
    flagsim_truth_add(FLAGSIM_COUNT_low_level_launches, call.view.low_level);
    return call_end(&call, stream_put(stream, work, &call, NULL));
}

int flagsim_launch(flagsim_stream *stream, flagsim_kernel_fn fn, const void *arg, size_t arg_bytes,
                   const flagsim_kernel_info *kernel) {
    return launch(stream, fn, arg, arg_bytes, NULL, kernel);
}

int flagsim_launch_owned(flagsim_stream *stream, flagsim_kernel_fn fn, void *arg, void (*destroy)(void *arg),
                         const flagsim_kernel_info *kernel) {
    return launch(stream, fn, arg, 0, destroy, kernel);
}
