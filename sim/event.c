// event.c - marks in a stream that other streams and the host wait for.
//
// In:  recordings, each with a ticket.
// Out: who waits for a ticket goes on once the stream has reached it. An event recorded again serves only
//      later waits: a wait keeps the ticket that was current when it was asked for.
#include "core.h"

#include <errno.h>
#include <stdlib.h>

struct flagsim_event *event_take(struct flagsim_event *event) {
    atomic_fetch_add(&event->refs, 1);
    return event;
}

void event_drop(struct flagsim_event *event) {
    if (!event || atomic_fetch_sub(&event->refs, 1) != 1)
        return;
    graph_drop(event->capture);
    pthread_mutex_destroy(&event->lock);
    pthread_cond_destroy(&event->changed);
    free(event);
}

void event_reach(struct flagsim_event *event, uint64_t ticket) {
    pthread_mutex_lock(&event->lock);
    if (ticket > event->reached) {
        event->reached = ticket;
        event->reached_ns = flagsim_now_ns();
        pthread_cond_broadcast(&event->changed);
    }
    pthread_mutex_unlock(&event->lock);
}

void event_wait(struct flagsim_event *event, uint64_t ticket) {
    pthread_mutex_lock(&event->lock);
    while (event->reached < ticket)
        pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

static uint64_t current_ticket(struct flagsim_event *event) {
    pthread_mutex_lock(&event->lock);
    uint64_t ticket = event->recorded;
    pthread_mutex_unlock(&event->lock);
    return ticket;
}

// Begins a call about the event; the caller fills in more and enters it.
static int event_call(struct call *call, flagsim_api api, struct flagsim_event *event) {
    int result = sim_ready();
    if (!result && !event)
        result = -EINVAL;
    if (result)
        return sim_fail(result);
    call_begin(call, api);
    call->view.device = sim_current_device();
    call->view.context = flagsim_context_id(call->view.device);
    call->view.event_handle = event;
    return 0;
}

int flagsim_event_create(flagsim_event **out) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_EVENT_CREATE);
    call.view.device = sim_current_device();
    call_enter(&call);
    struct flagsim_event *event = calloc(1, sizeof *event);
    if (!event)
        return call_end(&call, -ENOMEM);
    atomic_init(&event->refs, 1);
    event->id = atomic_fetch_add(&sim.next_event_id, 1);
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    *out = event;
    return call_end(&call, 0);
}

int flagsim_event_destroy(flagsim_event *event) {
    struct call call;
    int result = event_call(&call, FLAGSIM_API_EVENT_DESTROY, event);
    if (result)
        return result;
    call_enter(&call);
    event_drop(event);
    return call_end(&call, 0);
}

// The capture that the stream is in, with a reference for the caller; NULL where it is in none.
static struct flagsim_graph *stream_capture(struct flagsim_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct flagsim_graph *capture = stream->capture;
    if (capture)
        atomic_fetch_add(&capture->refs, 1);
    pthread_mutex_unlock(&stream->lock);
    return capture;
}

// Notes a recording; the capture, if any, belongs to the event from here on.
static uint64_t note_recording(struct flagsim_event *event, struct flagsim_graph *capture) {
    pthread_mutex_lock(&event->lock);
    struct flagsim_graph *before = event->capture;
    event->capture = capture;
    uint64_t ticket = capture ? event->recorded : ++event->recorded;
    pthread_mutex_unlock(&event->lock);
    graph_drop(before);
    return ticket;
}

int flagsim_event_record(flagsim_event *event, flagsim_stream *stream) {
    struct call call;
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    if ((result = event_call(&call, FLAGSIM_API_EVENT_RECORD, event)))
        return result;
    call_stream(&call, stream);
    call_enter(&call);
    struct flagsim_graph *capture = stream_capture(stream);
    uint64_t ticket = note_recording(event, capture);
    call.view.captured = capture != NULL;
    if (!capture) {
        struct op op = { .kind = OP_EVENT_RECORD, .origin = call_origin(&call), .ticket = ticket };
        op.of.event = event_take(event);
        result = stream_submit(stream, &op, NULL);
        if (result)
            event_reach(event, ticket);
    }
    return call_end(&call, result);
}

// Waiting for an event of a capture takes the stream into that capture. -EINVAL where that capture has ended.
static int join_capture(struct flagsim_stream *stream, struct flagsim_graph *capture) {
    pthread_mutex_lock(&capture->lock);
    bool open = capture->capturing;
    pthread_mutex_unlock(&capture->lock);
    if (!open)
        return -EINVAL;
    pthread_mutex_lock(&stream->lock);
    int result = stream->capture && stream->capture != capture ? -EINVAL : 0;
    if (!result && !stream->capture) {
        atomic_fetch_add(&capture->refs, 1);
        stream->capture = capture;
    }
    pthread_mutex_unlock(&stream->lock);
    return result;
}

static struct flagsim_graph *event_capture(struct flagsim_event *event, uint64_t *ticket) {
    pthread_mutex_lock(&event->lock);
    struct flagsim_graph *capture = event->capture;
    if (capture)
        atomic_fetch_add(&capture->refs, 1);
    *ticket = event->recorded;
    pthread_mutex_unlock(&event->lock);
    return capture;
}

int flagsim_stream_wait_event(flagsim_stream *stream, flagsim_event *event) {
    struct call call;
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    if ((result = event_call(&call, FLAGSIM_API_STREAM_WAIT_EVENT, event)))
        return result;
    call_stream(&call, stream);
    call_enter(&call);
    struct op op = { .kind = OP_EVENT_WAIT, .origin = call_origin(&call) };
    struct flagsim_graph *capture = event_capture(event, &op.ticket);
    if (capture) {
        call.view.captured = true;
        result = join_capture(stream, capture);
        graph_drop(capture);
    } else if (flagsim_stream_is_capturing(stream)) {
        result = -EPERM;
    } else {
        op.of.event = event_take(event);
        result = stream_submit(stream, &op, NULL);
    }
    return call_end(&call, result);
}

int flagsim_event_synchronize(flagsim_event *event) {
    struct call call;
    int result = event_call(&call, FLAGSIM_API_EVENT_SYNCHRONIZE, event);
    if (result)
        return result;
    call_enter(&call);
    uint64_t start_ns = flagsim_now_ns();
    event_wait(event, current_ticket(event));
    report_sync(&call, FLAGSIM_SYNC_EVENT, start_ns, event->id);
    return call_end(&call, 0);
}

int flagsim_event_query(flagsim_event *event) {
    struct call call;
    int result = event_call(&call, FLAGSIM_API_EVENT_QUERY, event);
    if (result)
        return result;
    call_enter(&call);
    pthread_mutex_lock(&event->lock);
    bool reached = event->reached == event->recorded;
    pthread_mutex_unlock(&event->lock);
    return call_end(&call, reached ? 0 : -EBUSY);
}

static int reached_time(struct flagsim_event *event, uint64_t *time_ns) {
    pthread_mutex_lock(&event->lock);
    int result = !event->recorded ? -EINVAL : event->reached < event->recorded ? -EBUSY : 0;
    *time_ns = event->reached_ns;
    pthread_mutex_unlock(&event->lock);
    return result;
}

int flagsim_event_elapsed_ns(flagsim_event *begin, flagsim_event *end, int64_t *elapsed_ns) {
    if (!begin || !end)
        return sim_fail(-EINVAL);
    struct call call;
    int result = event_call(&call, FLAGSIM_API_EVENT_ELAPSED, begin);
    if (result)
        return result;
    call_enter(&call);
    uint64_t from = 0, to = 0;
    result = reached_time(begin, &from);
    if (!result)
        result = reached_time(end, &to);
    if (!result)
        *elapsed_ns = (int64_t)(to - from);
    return call_end(&call, result);
}
