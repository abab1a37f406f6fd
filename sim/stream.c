// stream.c - streams: a queue and a thread each.
//
// In:  operations (work, graphs, event marks) from any thread.
// Out: the operations run in order, one after the other; tickets that can be waited for. How an operation
//      is run is execute.c's business.
#include "core.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static __thread bool on_stream_thread;

static void cond_init_monotonic(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void op_drop(const struct op *op) {
    switch (op->kind) {
    case OP_WORK:
        work_drop(op->of.work);
        break;
    case OP_GRAPH:
        graph_exec_drop(op->of.exec);
        break;
    case OP_EVENT_RECORD:
    case OP_EVENT_WAIT:
        event_drop(op->of.event);
        break;
    }
}

static void stream_drop(struct flagsim_stream *stream) {
    if (atomic_fetch_sub(&stream->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->arrived);
    pthread_cond_destroy(&stream->drained);
    free(stream);
}

// The next operation, or NULL when the stream is to end.
static struct op *take_next(struct flagsim_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    while (!stream->head && !stream->closing)
        pthread_cond_wait(&stream->arrived, &stream->lock);
    struct op *op = stream->head;
    if (op && !(stream->head = op->next))
        stream->tail = &stream->head;
    pthread_mutex_unlock(&stream->lock);
    return op;
}

static void mark_completed(struct flagsim_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->completed++;
    if (stream->waiters)
        pthread_cond_broadcast(&stream->drained);
    pthread_mutex_unlock(&stream->lock);
}

static void *stream_thread(void *arg) {
    struct flagsim_stream *stream = arg;
    char name[16];
    snprintf(name, sizeof name, "flagsim-%d-%u", stream->device, stream->id);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_TIMERSLACK, 1000);
    on_stream_thread = true;
    for (struct op *op; (op = take_next(stream)); free(op)) {
        stream_run(stream, op);
        op_drop(op);
        mark_completed(stream);
    }
    pthread_mutex_lock(&stream->lock);
    stream->exited = true;
    pthread_cond_broadcast(&stream->drained);
    pthread_mutex_unlock(&stream->lock);
    stream_drop(stream);
    return NULL;
}

// The program's signal handlers must run on the program's threads.
static int start_thread(struct flagsim_stream *stream) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, stream_thread, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_detach(thread);
    return -error;
}

static int stream_new(int device, uint32_t id, struct flagsim_stream **out) {
    struct flagsim_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return -ENOMEM;
    atomic_init(&stream->refs, 2);
    stream->id = id;
    stream->device = device;
    stream->is_default = id == DEFAULT_STREAM_ID;
    stream->tail = &stream->head;
    pthread_mutex_init(&stream->lock, NULL);
    cond_init_monotonic(&stream->arrived);
    cond_init_monotonic(&stream->drained);
    int result = start_thread(stream);
    if (result) {
        atomic_store(&stream->refs, 1);
        stream_drop(stream);
        return result;
    }
    sim_make_context(device);
    *out = stream;
    return 0;
}

static int default_stream(int device, struct flagsim_stream **out) {
    struct device *of = &sim.device[device];
    int result = 0;
    if ((*out = atomic_load_explicit(&of->default_stream, memory_order_acquire)))
        return 0;
    pthread_mutex_lock(&of->lock);
    *out = atomic_load(&of->default_stream);
    if (!*out && !(result = stream_new(device, DEFAULT_STREAM_ID, out))) {
        (*out)->next = of->streams;
        of->streams = *out;
        atomic_store_explicit(&of->default_stream, *out, memory_order_release);
    }
    pthread_mutex_unlock(&of->lock);
    return result;
}

int stream_resolve(flagsim_stream **stream) {
    int result = sim_ready();
    return result || *stream ? result : default_stream(sim_current_device(), stream);
}

int stream_submit(struct flagsim_stream *stream, const struct op *op, uint64_t *ticket) {
    struct op *queued = malloc(sizeof *queued);
    if (!queued) {
        op_drop(op);
        return -ENOMEM;
    }
    *queued = *op;
    queued->next = NULL;
    pthread_mutex_lock(&stream->lock);
    *stream->tail = queued;
    stream->tail = &queued->next;
    uint64_t number = ++stream->submitted;
    pthread_cond_signal(&stream->arrived);
    pthread_mutex_unlock(&stream->lock);
    if (ticket)
        *ticket = number;
    return 0;
}

void stream_wait(struct flagsim_stream *stream, uint64_t ticket) {
    pthread_mutex_lock(&stream->lock);
    stream->waiters++;
    while (stream->completed < ticket && !stream->exited)
        pthread_cond_wait(&stream->drained, &stream->lock);
    stream->waiters--;
    pthread_mutex_unlock(&stream->lock);
}

static uint64_t last_ticket(struct flagsim_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    uint64_t ticket = stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return ticket;
}

int stream_put(struct flagsim_stream *stream, struct work *work, struct call *call, uint64_t *ticket) {
    pthread_mutex_lock(&stream->lock);
    struct flagsim_graph *capture = stream->capture;
    int result = capture ? graph_append(capture, work) : 0;
    pthread_mutex_unlock(&stream->lock);
    if (capture) {
        call->view.captured = true;
        return result;
    }
    struct op op = { .kind = OP_WORK, .origin = call_origin(call), .of.work = work };
    return stream_submit(stream, &op, ticket);
}

void call_stream(struct call *call, const struct flagsim_stream *stream) {
    call->view.stream = stream->id;
    call->view.stream_handle = (struct flagsim_stream *)(uintptr_t)stream;
    call->view.device = stream->device;
    call->view.context = flagsim_context_id(stream->device);
}

// Visits the streams without holding the list's lock, so that a long visit stops nobody from making streams.
void streams_each(struct device *device, void (*visit)(struct flagsim_stream *, void *), void *user) {
    pthread_mutex_lock(&device->lock);
    size_t count = 0;
    for (struct flagsim_stream *stream = device->streams; stream; stream = stream->next)
        count++;
    struct flagsim_stream **all = malloc((count + 1) * sizeof(void *));
    size_t kept = 0;
    for (struct flagsim_stream *stream = device->streams; stream && all; stream = stream->next) {
        atomic_fetch_add(&stream->refs, 1);
        all[kept++] = stream;
    }
    pthread_mutex_unlock(&device->lock);
    for (size_t i = 0; i < kept; i++) {
        visit(all[i], user);
        stream_drop(all[i]);
    }
    free(all);
}

static void visit_wait(struct flagsim_stream *stream, void *user) {
    (void)user;
    stream_wait(stream, last_ticket(stream));
}

void streams_wait(struct device *device) {
    streams_each(device, visit_wait, NULL);
}

static void visit_drain(struct flagsim_stream *stream, void *user) {
    const struct timespec *until = user;
    pthread_mutex_lock(&stream->lock);
    stream->waiters++;
    while (stream->completed < stream->submitted &&
           pthread_cond_timedwait(&stream->drained, &stream->lock, until) != ETIMEDOUT)
        continue;
    stream->waiters--;
    pthread_mutex_unlock(&stream->lock);
}

// At exit: gives queued work a last chance to finish, but not for ever.
void streams_drain(uint64_t limit_ns) {
    if (!atomic_load(&sim.ready) || atomic_load(&sim.forked) || on_stream_thread)
        return;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(limit_ns / 1000000000u);
    for (int i = 0; i < sim.devices; i++)
        streams_each(&sim.device[i], visit_drain, &until);
}

static void stream_close(struct flagsim_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->closing = true;
    pthread_cond_signal(&stream->arrived);
    while (!stream->exited)
        pthread_cond_wait(&stream->drained, &stream->lock);
    struct flagsim_graph *capture = stream->capture;
    stream->capture = NULL;
    pthread_mutex_unlock(&stream->lock);
    graph_drop(capture);
    stream_drop(stream);
}

void streams_end(struct device *device) {
    for (struct flagsim_stream *stream; (stream = device->streams);) {
        device->streams = stream->next;
        stream_close(stream);
    }
    atomic_store(&device->default_stream, NULL);
}

int flagsim_stream_create(flagsim_stream **stream) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    struct call call;
    call_begin(&call, FLAGSIM_API_STREAM_CREATE);
    call.view.device = device;
    call.view.context = flagsim_context_id(device);
    call_enter(&call);
    result = stream_new(device, atomic_fetch_add(&sim.next_stream_id, 1), stream);
    if (!result) {
        struct device *of = &sim.device[device];
        pthread_mutex_lock(&of->lock);
        (*stream)->next = of->streams;
        of->streams = *stream;
        pthread_mutex_unlock(&of->lock);
        call_stream(&call, *stream);
    }
    return call_end(&call, result);
}

static bool unlist(struct device *device, const struct flagsim_stream *stream) {
    pthread_mutex_lock(&device->lock);
    struct flagsim_stream **link = &device->streams;
    while (*link && *link != stream)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found)
        *link = stream->next;
    pthread_mutex_unlock(&device->lock);
    return found;
}

int flagsim_stream_destroy(flagsim_stream *stream) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    if (!stream || stream->is_default)
        return sim_fail(-EINVAL);
    struct call call;
    call_begin(&call, FLAGSIM_API_STREAM_DESTROY);
    call_stream(&call, stream);
    call_enter(&call);
    if (!unlist(&sim.device[stream->device], stream))
        return call_end(&call, -EINVAL);
    stream_close(stream);
    return call_end(&call, 0);
}

int flagsim_stream_default(int device, flagsim_stream **stream) {
    int result = sim_ready();
    if (!result && (device < 0 || device >= sim.devices))
        result = -EINVAL;
    return sim_fail(result ? result : default_stream(device, stream));
}

int flagsim_stream_device(const flagsim_stream *stream) {
    return stream ? stream->device : sim_current_device();
}

uint32_t flagsim_stream_id(const flagsim_stream *stream) {
    return stream ? stream->id : DEFAULT_STREAM_ID;
}

int flagsim_stream_synchronize(flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_STREAM_SYNCHRONIZE);
    call_stream(&call, stream);
    call_enter(&call);
    if (flagsim_stream_is_capturing(stream))
        return call_end(&call, -EPERM);
    uint64_t start_ns = flagsim_now_ns();
    stream_wait(stream, last_ticket(stream));
    report_sync(&call, FLAGSIM_SYNC_STREAM, start_ns, 0);
    return call_end(&call, 0);
}

int flagsim_stream_query(flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_STREAM_QUERY);
    call_stream(&call, stream);
    call_enter(&call);
    pthread_mutex_lock(&stream->lock);
    bool idle = stream->completed == stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return call_end(&call, idle ? 0 : -EBUSY);
}

int flagsim_device_synchronize(void) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    struct call call;
    call_begin(&call, FLAGSIM_API_DEVICE_SYNCHRONIZE);
    call.view.device = device;
    call.view.context = flagsim_context_id(device);
    call_enter(&call);
    uint64_t start_ns = flagsim_now_ns();
    streams_wait(&sim.device[device]);
    report_sync(&call, FLAGSIM_SYNC_DEVICE, start_ns, 0);
    return call_end(&call, 0);
}
