// graph.c - graphs: work described once and launched as a whole, by one call.
//
// In:  nodes, from a capture or added one by one.
// Out: an instance whose launch runs every node; each node's record carries the instance's id, a node id
//      and the correlation of the one launching call, as vendors report it.
#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct flagsim_graph *graph_new(void) {
    struct flagsim_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    atomic_init(&graph->refs, 1);
    pthread_mutex_init(&graph->lock, NULL);
    return graph;
}

int graph_append(struct flagsim_graph *graph, struct work *work) {
    if (!work)
        return -ENOMEM;
    pthread_mutex_lock(&graph->lock);
    int result = 0;
    if (graph->count == graph->room) {
        size_t room = graph->room ? graph->room * 2 : 16;
        struct work **nodes = realloc(graph->nodes, room * sizeof(struct work *));
        if (nodes) {
            graph->nodes = nodes;
            graph->room = room;
        } else {
            result = -ENOMEM;
        }
    }
    if (!result)
        graph->nodes[graph->count++] = work;
    pthread_mutex_unlock(&graph->lock);
    if (result)
        work_drop(work);
    return result;
}

void graph_drop(struct flagsim_graph *graph) {
    if (!graph || atomic_fetch_sub(&graph->refs, 1) != 1)
        return;
    for (size_t i = 0; i < graph->count; i++)
        work_drop(graph->nodes[i]);
    free(graph->nodes);
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}

void graph_exec_drop(struct flagsim_graph_exec *exec) {
    if (!exec || atomic_fetch_sub(&exec->refs, 1) != 1)
        return;
    for (size_t i = 0; i < exec->count; i++)
        work_drop(exec->nodes[i]);
    free(exec);
}

bool flagsim_stream_is_capturing(flagsim_stream *stream) {
    if (stream_resolve(&stream))
        return false;
    pthread_mutex_lock(&stream->lock);
    bool capturing = stream->capture != NULL;
    pthread_mutex_unlock(&stream->lock);
    return capturing;
}

int flagsim_capture_begin(flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_CAPTURE_BEGIN);
    call_stream(&call, stream);
    call_enter(&call);
    struct flagsim_graph *graph = graph_new();
    if (!graph)
        return call_end(&call, -ENOMEM);
    graph->capturing = true;
    pthread_mutex_lock(&stream->lock);
    if (stream->capture) {
        result = -EINVAL;
    } else {
        stream->capture = graph;
        stream->capture_origin = true;
    }
    pthread_mutex_unlock(&stream->lock);
    if (result)
        graph_drop(graph);
    return call_end(&call, result);
}

static void leave_capture(struct flagsim_stream *stream, void *user) {
    struct flagsim_graph *graph = user;
    pthread_mutex_lock(&stream->lock);
    bool was_in = stream->capture == graph;
    if (was_in) {
        stream->capture = NULL;
        stream->capture_origin = false;
    }
    pthread_mutex_unlock(&stream->lock);
    if (was_in)
        graph_drop(graph);
}

int flagsim_capture_end(flagsim_stream *stream, flagsim_graph **out) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_CAPTURE_END);
    call_stream(&call, stream);
    call_enter(&call);
    pthread_mutex_lock(&stream->lock);
    struct flagsim_graph *graph = stream->capture_origin ? stream->capture : NULL;
    if (graph)
        atomic_fetch_add(&graph->refs, 1);
    pthread_mutex_unlock(&stream->lock);
    if (!graph)
        return call_end(&call, -EINVAL);
    pthread_mutex_lock(&graph->lock);
    graph->capturing = false;
    pthread_mutex_unlock(&graph->lock);
    for (int i = 0; i < sim.devices; i++)
        streams_each(&sim.device[i], leave_capture, graph);
    *out = graph;
    return call_end(&call, 0);
}

static int graph_call(struct call *call, flagsim_api api) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    call_begin(call, api);
    call->view.device = device;
    call->view.context = flagsim_context_id(device);
    call->view.captured = true;
    return 0;
}

int flagsim_graph_create(flagsim_graph **graph) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_CREATE);
    if (result)
        return result;
    call_enter(&call);
    *graph = graph_new();
    return call_end(&call, *graph ? 0 : -ENOMEM);
}

int flagsim_graph_add_kernel(flagsim_graph *graph, flagsim_kernel_fn fn, const void *arg, size_t arg_bytes,
                             const flagsim_kernel_info *kernel) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_ADD_KERNEL);
    if (result)
        return result;
    call.view.kernel = kernel;
    call.view.kernel_handle = (const void *)(uintptr_t)fn;
    call_enter(&call);
    return call_end(&call, graph_append(graph, work_kernel(fn, arg, arg_bytes, NULL, kernel)));
}

int flagsim_graph_add_copy(flagsim_graph *graph, void *dst, const void *src, size_t bytes,
                           flagsim_copy_kind kind) {
    struct call call;
    flagsim_memory_work facts;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_ADD_COPY);
    if (result)
        return result;
    call.view.dst = dst;
    call.view.src = src;
    call.view.bytes = bytes;
    call_enter(&call);
    result = graph_copy_facts(dst, src, bytes, kind, &facts);
    call.view.copy = facts.copy;
    return call_end(&call, result ? result : graph_append(graph, work_copy(dst, src, &facts)));
}

int flagsim_graph_add_set(flagsim_graph *graph, void *dst, int value, size_t bytes) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_ADD_SET);
    if (result)
        return result;
    call.view.dst = dst;
    call.view.value = value;
    call.view.bytes = bytes;
    call_enter(&call);
    flagsim_memory_work facts = {
        .bytes = bytes, .value = value & 0xff, .asynchronous = true, .src_device = -1
    };
    facts.dst_memory = flagsim_pointer_kind(dst, &facts.dst_device, NULL, NULL);
    return call_end(&call, graph_append(graph, work_set(dst, &facts)));
}

int flagsim_graph_instantiate(flagsim_graph *graph, flagsim_graph_exec **out) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_INSTANTIATE);
    if (result)
        return result;
    call_enter(&call);
    pthread_mutex_lock(&graph->lock);
    struct flagsim_graph_exec *exec = calloc(1, sizeof *exec + graph->count * sizeof(struct work *));
    if (exec) {
        atomic_init(&exec->refs, 1);
        exec->id = atomic_fetch_add(&sim.next_graph_id, 1);
        exec->count = graph->count;
        for (size_t i = 0; i < graph->count; i++)
            exec->nodes[i] = work_take(graph->nodes[i]);
    }
    pthread_mutex_unlock(&graph->lock);
    *out = exec;
    return call_end(&call, exec ? 0 : -ENOMEM);
}

int flagsim_graph_launch(flagsim_graph_exec *exec, flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_GRAPH_LAUNCH);
    call_stream(&call, stream);
    call.view.graph = exec;
    call_enter(&call);
    if (flagsim_stream_is_capturing(stream))
        return call_end(&call, -EPERM);
    atomic_fetch_add(&exec->refs, 1);
    struct op op = { .kind = OP_GRAPH, .origin = call_origin(&call), .of.exec = exec };
    return call_end(&call, stream_submit(stream, &op, NULL));
}

int flagsim_graph_destroy(flagsim_graph *graph) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_DESTROY);
    if (result)
        return result;
    call_enter(&call);
    graph_drop(graph);
    return call_end(&call, 0);
}

int flagsim_graph_exec_destroy(flagsim_graph_exec *exec) {
    struct call call;
    int result = graph_call(&call, FLAGSIM_API_GRAPH_EXEC_DESTROY);
    if (result)
        return result;
    call_enter(&call);
    graph_exec_drop(exec);
    return call_end(&call, 0);
}
