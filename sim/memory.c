// memory.c - device memory, copies and sets.
//
// In:  allocations, and requests to copy or set.
// Out: host memory that stands for device memory, with accounts; copies and sets as work on a stream.
//      What an address is (pageable, pinned, of which device) is looked up in a tree of allocations, so
//      that a copy is reported as what it really was, whatever the caller called it.
#include "core.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
    uintptr_t begin, end;
    int device; // -1: pinned host memory
};

static pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

// Ranges that overlap are equal: a search for one byte finds the allocation around it.
static int range_compare(const void *a, const void *b) {
    const struct allocation *x = a, *y = b;
    return x->end <= y->begin ? -1 : x->begin >= y->end ? 1 : 0;
}

// Held over a fork, so that the child finds the tree whole: destructors there still ask what an address is.
void memory_lock(void) {
    pthread_mutex_lock(&tree_lock);
}

void memory_unlock(void) {
    pthread_mutex_unlock(&tree_lock);
}

static struct allocation *find_locked(const void *pointer) {
    struct allocation key = { .begin = (uintptr_t)pointer, .end = (uintptr_t)pointer + 1 };
    struct allocation **found = (struct allocation **)tfind(&key, &tree, range_compare);
    return found ? *found : NULL;
}

static int allocate(void **pointer, size_t bytes, int device) {
    struct allocation *allocation = malloc(sizeof *allocation);
    size_t room = (bytes + 255) / 256 * 256;
    void *memory = allocation && room >= bytes ? aligned_alloc(256, room ? room : 256) : NULL;
    if (!memory) {
        free(allocation);
        return -ENOMEM;
    }
    *allocation = (struct allocation){ (uintptr_t)memory, (uintptr_t)memory + (room ? room : 256), device };
    pthread_mutex_lock(&tree_lock);
    void *node = tsearch(allocation, &tree, range_compare);
    pthread_mutex_unlock(&tree_lock);
    if (!node) {
        free(allocation);
        free(memory);
        return -ENOMEM;
    }
    *pointer = memory;
    return 0;
}

// Takes the allocation that begins at pointer out of the tree; NULL where there is none of that sort.
static struct allocation *take_out(void *pointer, bool of_device) {
    pthread_mutex_lock(&tree_lock);
    struct allocation *allocation = find_locked(pointer);
    if (allocation && (allocation->begin != (uintptr_t)pointer || (allocation->device >= 0) != of_device))
        allocation = NULL;
    if (allocation)
        tdelete(allocation, &tree, range_compare);
    pthread_mutex_unlock(&tree_lock);
    return allocation;
}

flagsim_memory flagsim_pointer_kind(const void *pointer, int *device, void **base, size_t *bytes) {
    pthread_mutex_lock(&tree_lock);
    struct allocation *found = find_locked(pointer);
    struct allocation copy = found ? *found : (struct allocation){ .device = -1 };
    pthread_mutex_unlock(&tree_lock);
    if (device)
        *device = copy.device;
    if (base)
        *base = (void *)copy.begin;
    if (bytes)
        *bytes = copy.end - copy.begin;
    return !found             ? FLAGSIM_MEMORY_PAGEABLE
           : copy.device >= 0 ? FLAGSIM_MEMORY_DEVICE
                              : FLAGSIM_MEMORY_PINNED;
}

static void release(struct allocation *allocation) {
    if (allocation->device >= 0)
        atomic_fetch_sub(&sim.device[allocation->device].bytes, allocation->end - allocation->begin);
    free((void *)allocation->begin);
    free(allocation);
}

void memory_release_all(void) {
    pthread_mutex_lock(&tree_lock);
    while (tree) {
        struct allocation *allocation = *(struct allocation **)tree;
        tdelete(allocation, &tree, range_compare);
        release(allocation);
    }
    pthread_mutex_unlock(&tree_lock);
}

static int device_allocate(void **pointer, size_t bytes, int device) {
    struct device *on = &sim.device[device];
    uint64_t charged = (bytes + 255) / 256 * 256;
    charged = charged ? charged : 256;
    if (bytes > sim.memory_bytes || atomic_fetch_add(&on->bytes, charged) + charged > sim.memory_bytes) {
        if (bytes <= sim.memory_bytes)
            atomic_fetch_sub(&on->bytes, charged);
        return -ENOMEM;
    }
    int result = allocate(pointer, bytes, device);
    if (result)
        atomic_fetch_sub(&on->bytes, charged);
    return result;
}

int flagsim_malloc(void **pointer, size_t bytes) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    struct call call;
    call_begin(&call, FLAGSIM_API_MALLOC);
    call.view.device = device;
    call.view.context = flagsim_context_id(device);
    call.view.bytes = bytes;
    call_enter(&call);
    result = device_allocate(pointer, bytes, device);
    call.view.dst = result ? NULL : *pointer;
    return call_end(&call, result);
}

int flagsim_free(void *pointer) {
    int result = sim_ready();
    if (result || !pointer)
        return sim_fail(result);
    int device = -1;
    struct call call;
    call_begin(&call, FLAGSIM_API_FREE);
    flagsim_pointer_kind(pointer, &device, NULL, &call.view.bytes);
    call.view.device = device < 0 ? 0 : device;
    call.view.context = flagsim_context_id(call.view.device);
    call.view.dst = pointer;
    call_enter(&call);
    if (device < 0)
        return call_end(&call, -EINVAL);
    streams_wait(&sim.device[device]);
    struct allocation *allocation = take_out(pointer, true);
    if (allocation)
        release(allocation);
    return call_end(&call, allocation ? 0 : -EINVAL);
}

int flagsim_host_malloc(void **pointer, size_t bytes) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    struct call call;
    call_begin(&call, FLAGSIM_API_HOST_MALLOC);
    call.view.device = device;
    call.view.context = flagsim_context_id(device);
    call.view.bytes = bytes;
    call_enter(&call);
    result = allocate(pointer, bytes, -1);
    call.view.dst = result ? NULL : *pointer;
    return call_end(&call, result);
}

int flagsim_host_free(void *pointer) {
    int result = sim_ready();
    if (result || !pointer)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_HOST_FREE);
    call.view.device = sim_current_device();
    call.view.dst = pointer;
    call_enter(&call);
    for (int i = 0; i < sim.devices; i++)
        streams_wait(&sim.device[i]);
    struct allocation *allocation = take_out(pointer, false);
    if (allocation)
        release(allocation);
    return call_end(&call, allocation ? 0 : -EINVAL);
}

int flagsim_mem_info(size_t *free_bytes, size_t *total_bytes) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    int device = sim_enter_context();
    struct call call;
    call_begin(&call, FLAGSIM_API_MEM_INFO);
    call.view.device = device;
    call_enter(&call);
    *total_bytes = sim.memory_bytes;
    *free_bytes = sim.memory_bytes - atomic_load(&sim.device[device].bytes);
    return call_end(&call, 0);
}

// The kind that the addresses tell; the caller's word counts only for FLAGSIM_COPY_HTOH of unregistered
// memory.
static flagsim_memory_work copy_facts(void *dst, const void *src, size_t bytes, bool asynchronous) {
    flagsim_memory_work facts = { .bytes = bytes, .asynchronous = asynchronous };
    facts.src_memory = flagsim_pointer_kind(src, &facts.src_device, NULL, NULL);
    facts.dst_memory = flagsim_pointer_kind(dst, &facts.dst_device, NULL, NULL);
    bool from = facts.src_device >= 0, to = facts.dst_device >= 0;
    if (from && to)
        facts.copy = facts.src_device == facts.dst_device ? FLAGSIM_COPY_DTOD : FLAGSIM_COPY_PTOP;
    else
        facts.copy = from ? FLAGSIM_COPY_DTOH : to ? FLAGSIM_COPY_HTOD : FLAGSIM_COPY_HTOH;
    return facts;
}

static bool kind_agrees(flagsim_copy_kind asked, flagsim_copy_kind is) {
    return asked == FLAGSIM_COPY_DEFAULT || asked == is ||
           (asked == FLAGSIM_COPY_DTOD && is == FLAGSIM_COPY_PTOP) ||
           (asked == FLAGSIM_COPY_PTOP && is == FLAGSIM_COPY_DTOD);
}

static void call_memory(struct call *call, void *dst, const void *src, const flagsim_memory_work *facts) {
    call->view.dst = dst;
    call->view.src = src;
    call->view.bytes = facts->bytes;
    call->view.value = facts->value;
    call->view.copy = facts->copy;
    call->view.src_memory = facts->src_memory;
    call->view.dst_memory = facts->dst_memory;
    call->view.src_device = facts->src_device;
    call->view.dst_device = facts->dst_device;
}

// Puts the work on the stream; waits for it where the call blocks, or must (pageable memory is the caller's
// again at return: a source is staged, a destination waited for, as on real accelerators).
static int put_memory(struct work *work, struct flagsim_stream *stream, struct call *call, bool blocking) {
    if (!work)
        return -ENOMEM;
    bool capturing = flagsim_stream_is_capturing(stream);
    if (capturing && blocking) {
        work_drop(work);
        return -EPERM;
    }
    const flagsim_memory_work *facts = &work->memory;
    if (!blocking && !capturing && work->src && facts->src_memory == FLAGSIM_MEMORY_PAGEABLE &&
        facts->bytes) {
        work->staging = malloc(facts->bytes);
        if (work->staging)
            work->src = memcpy(work->staging, work->src, facts->bytes);
        else
            blocking = true;
    }
    if (!capturing && facts->dst_memory == FLAGSIM_MEMORY_PAGEABLE)
        blocking = true;
    uint64_t ticket;
    int result = stream_put(stream, work, call, &ticket);
    if (!result && blocking && !call->view.captured)
        stream_wait(stream, ticket);
    return result;
}

static int copy_call(flagsim_api api, void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                     struct flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, api);
    flagsim_memory_work facts = copy_facts(dst, src, bytes, api != FLAGSIM_API_MEMCPY);
    call_memory(&call, dst, src, &facts);
    call_stream(&call, stream);
    call_enter(&call);
    if (!kind_agrees(kind, facts.copy) || (bytes && (!dst || !src)))
        return call_end(&call, -EINVAL);
    if (!bytes) // does nothing and leaves no record, as cudaMemsetAsync does [MEASURED, H200]
        return call_end(&call, 0);
    result = put_memory(work_copy(dst, src, &facts), stream, &call, api == FLAGSIM_API_MEMCPY);
    return call_end(&call, result);
}

int flagsim_memcpy(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind) {
    return copy_call(FLAGSIM_API_MEMCPY, dst, src, bytes, kind, NULL);
}

int flagsim_memcpy_async(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                         flagsim_stream *stream) {
    return copy_call(FLAGSIM_API_MEMCPY_ASYNC, dst, src, bytes, kind, stream);
}

int flagsim_memcpy_peer_async(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                              flagsim_stream *stream) {
    int to, from;
    flagsim_pointer_kind(dst, &to, NULL, NULL);
    flagsim_pointer_kind(src, &from, NULL, NULL);
    if (to != dst_device || from != src_device)
        return sim_fail(-EINVAL);
    return copy_call(FLAGSIM_API_MEMCPY_PEER_ASYNC, dst, src, bytes, FLAGSIM_COPY_PTOP, stream);
}

static int set_call(flagsim_api api, void *dst, int value, size_t bytes, struct flagsim_stream *stream) {
    int result = stream_resolve(&stream);
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, api);
    flagsim_memory_work facts = { .bytes = bytes,
                                  .value = value & 0xff,
                                  .asynchronous = api != FLAGSIM_API_MEMSET };
    facts.src_device = -1;
    facts.dst_memory = flagsim_pointer_kind(dst, &facts.dst_device, NULL, NULL);
    call_memory(&call, dst, NULL, &facts);
    call_stream(&call, stream);
    call_enter(&call);
    if (facts.dst_memory == FLAGSIM_MEMORY_PAGEABLE)
        return call_end(&call, -EINVAL);
    if (!bytes)
        return call_end(&call, 0);
    result = put_memory(work_set(dst, &facts), stream, &call, api == FLAGSIM_API_MEMSET);
    return call_end(&call, result);
}

int flagsim_memset(void *dst, int value, size_t bytes) {
    return set_call(FLAGSIM_API_MEMSET, dst, value, bytes, NULL);
}

int flagsim_memset_async(void *dst, int value, size_t bytes, flagsim_stream *stream) {
    return set_call(FLAGSIM_API_MEMSET_ASYNC, dst, value, bytes, stream);
}

int graph_copy_facts(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                     flagsim_memory_work *facts) {
    *facts = copy_facts(dst, src, bytes, true);
    return kind_agrees(kind, facts->copy) ? 0 : -EINVAL;
}
