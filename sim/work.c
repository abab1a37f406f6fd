// work.c - a kernel, copy or set before it runs: one reference-counted object for queue and graph alike.
//
// In:  what a launch, copy or set was called with.
// Out: an object that runs as often as it is asked to and frees its argument after the last holder is
//      gone. Names are interned here too, since work outlives its call.
#include "core.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static struct work *work_new(flagsim_activity_kind kind, size_t extra) {
    struct work *work = calloc(1, sizeof *work + extra);
    if (!work)
        return NULL;
    atomic_init(&work->refs, 1);
    work->kind = kind;
    return work;
}

struct work *work_kernel(flagsim_kernel_fn fn, const void *arg, size_t arg_bytes, void (*destroy)(void *),
                         const flagsim_kernel_info *kernel) {
    struct work *work = work_new(FLAGSIM_ACTIVITY_KERNEL, arg_bytes);
    if (!work)
        return NULL;
    work->fn = fn;
    work->kernel = *kernel;
    work->destroy = destroy;
    work->arg = (void *)(uintptr_t)arg;
    if (arg_bytes)
        work->arg = memcpy(work->inline_arg, arg, arg_bytes);
    return work;
}

struct work *work_copy(void *dst, const void *src, const flagsim_memory_work *memory) {
    struct work *work = work_new(FLAGSIM_ACTIVITY_COPY, 0);
    if (!work)
        return NULL;
    work->dst = dst;
    work->src = src;
    work->memory = *memory;
    return work;
}

struct work *work_set(void *dst, const flagsim_memory_work *memory) {
    struct work *work = work_new(FLAGSIM_ACTIVITY_SET, 0);
    if (!work)
        return NULL;
    work->dst = dst;
    work->memory = *memory;
    return work;
}

struct work *work_take(struct work *work) {
    atomic_fetch_add(&work->refs, 1);
    return work;
}

void work_drop(struct work *work) {
    if (!work || atomic_fetch_sub(&work->refs, 1) != 1)
        return;
    if (work->destroy)
        work->destroy(work->arg);
    free(work->staging);
    free(work);
}

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static void *names;

void names_lock_take(void) {
    pthread_mutex_lock(&names_lock);
}

void names_lock_release(void) {
    pthread_mutex_unlock(&names_lock);
}

static int name_compare(const void *a, const void *b) {
    return strcmp(a, b);
}

const char *flagsim_intern(const char *text) {
    pthread_mutex_lock(&names_lock);
    void *found = tfind(text, &names, name_compare);
    char *copy = NULL;
    if (!found && (copy = strdup(text))) {
        found = tsearch(copy, &names, name_compare);
        if (!found)
            free(copy);
    }
    const char *name = found ? *(const char **)found : NULL;
    pthread_mutex_unlock(&names_lock);
    return name;
}
