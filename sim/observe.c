// observe.c - who is told of host calls and device work.
//
// In:  calls being made and work completed, from any thread.
// Out: the observers' callbacks, outside all locks. A slot's count of callers inside is raised before its
//      observer is read, so that unobserve can wait for the last one.
#include "core.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

// Vendor ids begin far above torch's 1, 2, 3 ... and step by a number that is not 1, so that a profiler which
// mixes the two ids can never be right by accident; below 2^31, so that a signed reader sees them right too.
enum { CORRELATION_FIRST = 0x50000000, CORRELATION_LAST = 0x7fffffff, CORRELATION_STEP = 7 };

struct entry {
    flagsim_observer observer;
    void *user;
    uint32_t generation;
};

static struct slot {
    atomic_bool used;
    atomic_int inside;
    struct entry entry; // written while unused and nobody is inside
} slots[FLAGSIM_OBSERVERS_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int observers;
static _Atomic uint64_t calls;
static __thread int own_depth[FLAGSIM_OBSERVERS_MAX];

static const char *const api_texts[FLAGSIM_API_COUNT] = { "none",
#define X(name, text) text,
                                                          FLAGSIM_APIS(X)
#undef X
};

const char *flagsim_api_text(flagsim_api api) {
    return (unsigned)api < FLAGSIM_API_COUNT ? api_texts[api] : "?";
}

static bool slot_hold(int i) {
    atomic_fetch_add(&slots[i].inside, 1);
    own_depth[i]++;
    if (atomic_load(&slots[i].used))
        return true;
    own_depth[i]--;
    atomic_fetch_sub(&slots[i].inside, 1);
    return false;
}

static void slot_release(int i) {
    own_depth[i]--;
    atomic_fetch_sub(&slots[i].inside, 1);
}

static void slot_empty(int i) {
    while (atomic_load(&slots[i].inside) > own_depth[i])
        sched_yield();
}

// In a forked child the threads that were inside are gone; only the forking one may still be.
static void fork_child(void) {
    pthread_mutex_init(&lock, NULL);
    for (int i = 0; i < FLAGSIM_OBSERVERS_MAX; i++)
        atomic_store(&slots[i].inside, own_depth[i]);
}

static void register_fork(void) {
    pthread_atfork(NULL, NULL, fork_child);
}

int flagsim_observe(const flagsim_observer *observer, void *user) {
    static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
    int handle = -ENOSPC;
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < FLAGSIM_OBSERVERS_MAX && handle < 0; i++) {
        struct slot *slot = &slots[i];
        if (atomic_load(&slot->used) || own_depth[i])
            continue;
        slot_empty(i);
        struct entry entry = { .user = user, .generation = slot->entry.generation + 1 };
        memcpy(&entry.observer, observer,
               observer->size < sizeof entry.observer ? observer->size : sizeof entry.observer);
        slot->entry = entry;
        atomic_store(&slot->used, true);
        atomic_fetch_add(&observers, 1);
        handle = i + 1;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void flagsim_unobserve(int handle) {
    int i = handle - 1;
    if (i < 0 || i >= FLAGSIM_OBSERVERS_MAX)
        return;
    pthread_mutex_lock(&lock);
    if (atomic_exchange(&slots[i].used, false))
        atomic_fetch_sub(&observers, 1);
    pthread_mutex_unlock(&lock);
    slot_empty(i);
}

int flagsim_observer_count(void) {
    return atomic_load(&observers);
}

uint32_t flagsim_next_correlation(void) {
    uint64_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return CORRELATION_FIRST +
           (uint32_t)(n % ((CORRELATION_LAST - CORRELATION_FIRST) / CORRELATION_STEP)) * CORRELATION_STEP;
}

static __thread bool low_level;

void flagsim_set_low_level(bool on) {
    low_level = on;
}

void call_begin(struct call *call, flagsim_api api) {
    memset(call, 0, sizeof *call);
    call->view.size = sizeof call->view;
    call->view.api = api;
    call->view.low_level = low_level;
    call->view.correlation = flagsim_next_correlation();
    truth_api(api);
}

static void call_deliver(struct call *call, bool entering) {
    for (int i = 0; i < FLAGSIM_OBSERVERS_MAX; i++) {
        uint32_t bit = 1u << i;
        if ((!entering && !(call->seen & bit)) || !slot_hold(i))
            continue;
        const struct entry *entry = &slots[i].entry;
        void (*callback)(void *, const flagsim_api_call *) =
            entering ? entry->observer.api_enter : entry->observer.api_exit;
        bool same = entering || call->generation[i] == entry->generation;
        call->generation[i] = entry->generation;
        call->seen |= bit;
        call->view.scratch = &call->scratch[i];
        if (callback && same)
            callback(entry->user, &call->view);
        slot_release(i);
    }
}

void call_enter(struct call *call) {
    if (!atomic_load_explicit(&observers, memory_order_acquire))
        return;
    call->view.start_ns = flagsim_now_ns();
    call->view.process = (uint32_t)getpid();
    call->view.thread = (uint32_t)gettid();
    call->view.pthread = (uint64_t)pthread_self();
    call_deliver(call, true);
    call->view.start_ns = flagsim_now_ns(); // what the observers took is not the call's
}

int call_end(struct call *call, int result) {
    if (result < 0 && result != -EBUSY)
        sim_fail(result);
    if (call->seen) {
        call->view.result = result;
        call->view.end_ns = flagsim_now_ns();
        if (call->view.end_ns <= call->view.start_ns)
            call->view.end_ns = call->view.start_ns + 1;
        call_deliver(call, false);
    }
    return result;
}

struct origin call_origin(const struct call *call) {
    return (struct origin){ .correlation = call->view.correlation, .queued_ns = flagsim_now_ns() };
}

void activity_report(const flagsim_activity *activity) {
    if (!atomic_load_explicit(&observers, memory_order_acquire))
        return;
    for (int i = 0; i < FLAGSIM_OBSERVERS_MAX; i++) {
        if (!slot_hold(i))
            continue;
        if (slots[i].entry.observer.activity)
            slots[i].entry.observer.activity(slots[i].entry.user, activity);
        slot_release(i);
    }
}
