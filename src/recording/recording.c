// recording.c - one recording from start to free: arms the tracer, drains it while the program runs, settles
// at the end.
//
// In:  an accelerator, the program's pushes and pops, the window.
// Out: records, names, ranges, ledger (flagprof.h).
//
// A thread exists only while a recording runs: it sleeps until the tracer has full buffers and decodes them
// away from the program's threads. Hot are fp_push and fp_pop alone; they read two atomics and the thread's
// own counters.

#include "flagprof/flagprof.h"

#include "base/env.h"
#include "base/log.h"
#include "recording/store.h"
#include "tracers/accelerator.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t default_stop_timeout_ns = 10000000000u;

enum state { RECORDING, STOPPED, FINISHED };

struct fp_recording {
    struct fp_accelerator *accelerator;
    struct fp_store store;
    enum state state;
    pid_t process; // a forked child must not touch the vendor's library nor wait for a thread that it does
                   // not have
    pthread_t thread;
    bool has_thread;
    sem_t wake;
    atomic_bool awake; // a wake is under way: one post is enough for any number of full buffers
    atomic_bool ending;
};

// What fp_push and fp_pop see. Accelerators live as long as the process, so a pointer read here never
// dangles.
static struct {
    _Atomic(struct fp_accelerator *) accelerator; // NULL: no recording runs
    _Atomic(struct fp_accelerator *) latest;      // the one that pops of earlier pushes still go to
    atomic_uint generation;
    atomic_ullong failed_pushes, failed_pops;
    atomic_flag taken; // one recording at a time
} active = { .taken = ATOMIC_FLAG_INIT };

static _Thread_local struct {
    unsigned generation;
    unsigned depth[FP_ID_KIND_COUNT]; // pushes of this thread that the vendor accepted and that were not
                                      // popped yet
} own;

// ---- Push and pop

static void pop_one(struct fp_accelerator *accelerator, enum fp_id_kind kind) {
    own.depth[kind]--;
    if (accelerator->ops->pop && accelerator->ops->pop(accelerator->tracer, kind, NULL) != 0)
        atomic_fetch_add_explicit(&active.failed_pops, 1, memory_order_relaxed);
}

// A thread may still have ids on the vendor's stack from a recording that ended in the middle of an operator:
// they would be taken for the owners of what comes now.
static void forget_earlier(struct fp_accelerator *accelerator, unsigned generation) {
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++)
        while (own.depth[kind])
            pop_one(accelerator, (enum fp_id_kind)kind);
    own.generation = generation;
}

void fp_push(enum fp_id_kind kind, uint64_t framework_id) {
    struct fp_accelerator *accelerator = atomic_load_explicit(&active.accelerator, memory_order_acquire);
    if (!accelerator || !accelerator->ops->push)
        return;
    unsigned generation = atomic_load_explicit(&active.generation, memory_order_relaxed);
    if (own.generation != generation)
        forget_earlier(accelerator, generation);
    if (accelerator->ops->push(accelerator->tracer, kind, framework_id) == 0)
        own.depth[kind]++;
    else
        atomic_fetch_add_explicit(&active.failed_pushes, 1, memory_order_relaxed);
}

void fp_pop(enum fp_id_kind kind) {
    if (own.depth[kind] == 0)
        return;
    pop_one(atomic_load_explicit(&active.latest, memory_order_acquire), kind);
}

// ---- The drain thread

static void wake_drain(void *owner) {
    struct fp_recording *recording = owner;
    if (!atomic_exchange_explicit(&recording->awake, true, memory_order_acq_rel))
        sem_post(&recording->wake);
}

static void drain(struct fp_recording *recording) {
    struct fp_sink sink = fp_store_sink(&recording->store);
    int result = recording->accelerator->ops->drain(recording->accelerator->tracer, &sink);
    if (result != 0)
        fp_log("recording", "drain: %s", strerror(-result));
}

static void *drain_until_ending(void *owner) {
    struct fp_recording *recording = owner;
    while (!atomic_load_explicit(&recording->ending, memory_order_acquire)) {
        if (sem_wait(&recording->wake) != 0)
            continue;
        // An exchange, since a store could be seen later than the look at the buffers behind it: a waker that found
        // `awake` set would then post nothing for a buffer that this drain did not see.
        atomic_exchange_explicit(&recording->awake, false, memory_order_acq_rel);
        drain(recording);
    }
    return NULL;
}

static void start_thread(struct fp_recording *recording) {
    sigset_t all, before;
    sigfillset(&all); // the program's signals go to the program's threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    recording->has_thread = pthread_create(&recording->thread, NULL, drain_until_ending, recording) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (recording->has_thread)
        pthread_setname_np(recording->thread, "flagprof-drain");
    else
        fp_log("recording", "no thread could be started: records are decoded at stop");
}

static void end_thread(struct fp_recording *recording) {
    if (!recording->has_thread)
        return;
    atomic_store_explicit(&recording->ending, true, memory_order_release);
    sem_post(&recording->wake);
    pthread_join(recording->thread, NULL);
    recording->has_thread = false;
}

// Times of a vendor with a clock of its own, mapped where they lie.
static void map_times(struct fp_recording *recording) {
    struct fp_accelerator *accelerator = recording->accelerator;
    if (accelerator->ops->size <
            offsetof(struct fp_tracer_ops, to_epoch) + sizeof(accelerator->ops->to_epoch) ||
        !accelerator->ops->to_epoch)
        return;
    for (size_t at = 0; at < recording->store.count; at++) {
        struct fp_record *record = &recording->store.records[at];
        record->start_ns = accelerator->ops->to_epoch(accelerator->tracer, record->start_ns);
        record->end_ns = accelerator->ops->to_epoch(accelerator->tracer, record->end_ns);
    }
}

// ---- Start, stop, finish

static void forget_in_child(void) {
    atomic_store(&active.accelerator, NULL);
    atomic_flag_clear(&active.taken);
    memset(&own, 0, sizeof(own));
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, forget_in_child);
}

static struct fp_recording *new_recording(struct fp_accelerator *accelerator) {
    struct fp_recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return NULL;
    if (fp_store_open(&recording->store) != 0) {
        free(recording);
        return NULL;
    }
    recording->accelerator = accelerator;
    recording->process = getpid();
    if (sem_init(&recording->wake, 0, 0) != 0) {
        fp_store_close(&recording->store);
        free(recording);
        return NULL;
    }
    return recording;
}

static void delete_recording(struct fp_recording *recording) {
    sem_destroy(&recording->wake);
    fp_store_close(&recording->store);
    free(recording);
}

static int arm(struct fp_recording *recording, const struct fp_recording_options *options,
               struct fp_error *err) {
    bool all_calls = options &&
                     options->size >= offsetof(struct fp_recording_options, all_calls) + sizeof(bool) &&
                     options->all_calls;
    struct fp_session_options session = {
        .size = sizeof(session),
        .all_calls = all_calls || fp_env_switch("FLAGOS_TRACE_ALL_CALLS"),
        .wake = wake_drain,
        .wake_owner = recording,
    };
    struct fp_accelerator *accelerator = recording->accelerator;
    start_thread(recording);
    int result = accelerator->ops->start(accelerator->tracer, &session, err);
    fp_log("recording", "start on %s: %s", accelerator->name, result == 0 ? "armed" : strerror(-result));
    if (result != 0)
        end_thread(recording);
    return result;
}

int fp_recording_start(struct fp_accelerator *accelerator, const struct fp_recording_options *options,
                       struct fp_recording **recording, struct fp_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    *recording = NULL;
    if (atomic_flag_test_and_set(&active.taken)) {
        fp_error_set(err, "a recording runs already in this process: end it first");
        return -EBUSY;
    }
    int result = -ENOMEM;
    struct fp_recording *made = new_recording(accelerator);
    if (made)
        result = arm(made, options, err);
    else
        fp_error_set(err, "no memory for a recording");
    if (result != 0) {
        if (made)
            delete_recording(made);
        atomic_flag_clear(&active.taken);
        return result;
    }
    atomic_store(&active.failed_pushes, 0);
    atomic_store(&active.failed_pops, 0);
    atomic_fetch_add(&active.generation, 1);
    atomic_store(&active.latest, accelerator);
    atomic_store_explicit(&active.accelerator, accelerator, memory_order_release);
    *recording = made;
    return 0;
}

int fp_recording_stop(struct fp_recording *recording, uint64_t timeout_ns, struct fp_error *err) {
    if (recording->state != RECORDING)
        return 0;
    recording->state = STOPPED;
    if (recording->process != getpid()) {
        recording->has_thread = false;
        fp_error_set(err, "this recording belongs to the parent process: a forked child cannot end it");
        return -ECHILD;
    }
    atomic_store_explicit(&active.accelerator, NULL, memory_order_release);
    struct fp_accelerator *accelerator = recording->accelerator;
    int result =
        accelerator->ops->stop(accelerator->tracer, timeout_ns ? timeout_ns : default_stop_timeout_ns, err);
    end_thread(recording);
    drain(recording);
    map_times(recording);
    struct fp_ledger *ledger = &recording->store.ledger;
    ledger->failed_pushes = atomic_load(&active.failed_pushes);
    ledger->failed_pops = atomic_load(&active.failed_pops);
    fp_log("recording", "stop: %zu records drained, %s", recording->store.count,
           result == 0 ? "ok" : strerror(-result));
    atomic_flag_clear(&active.taken);
    return result;
}

int fp_recording_finish(struct fp_recording *recording, int64_t window_start_ns, int64_t window_end_ns,
                        struct fp_error *err) {
    if (recording->state != STOPPED) {
        fp_error_set(err, "a recording is finished once, after it was stopped");
        return -EINVAL;
    }
    recording->state = FINISHED;
    struct fp_store *store = &recording->store;
    size_t drained = store->count;
    int result = fp_store_join(store, window_start_ns, window_end_ns, err);
    fp_store_window(store, window_start_ns, window_end_ns);
    fp_ledger_settle(store);
    fp_log("recording", "window [%lld, %lld]: %zu kept, %zu discarded, %llu linked of %llu candidates",
           (long long)window_start_ns, (long long)window_end_ns, store->count, drained - store->count,
           (unsigned long long)store->ledger.linked, (unsigned long long)store->ledger.linkable);
    return result;
}

void fp_recording_free(struct fp_recording *recording) {
    if (!recording)
        return;
    fp_recording_stop(recording, 0, NULL);
    delete_recording(recording);
}

// ---- Reading

size_t fp_recording_count(const struct fp_recording *recording) {
    return recording->state == FINISHED ? recording->store.count : 0;
}

const struct fp_record *fp_recording_at(const struct fp_recording *recording, size_t index) {
    return index < fp_recording_count(recording) ? &recording->store.records[index] : NULL;
}

const char *fp_recording_name(const struct fp_recording *recording, uint32_t name) {
    return fp_names_shown(recording->store.names, name);
}

size_t fp_recording_extras(const struct fp_recording *recording, size_t index,
                           const struct fp_extra **extras) {
    const struct fp_store *store = &recording->store;
    *extras = NULL;
    size_t low = 0, high = store->extra_row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store->extra_rows[middle].record < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == store->extra_row_count || store->extra_rows[low].record != index)
        return 0;
    *extras = &store->extras[store->extra_rows[low].first];
    return store->extra_rows[low].count;
}

size_t fp_recording_ranges(const struct fp_recording *recording, const struct fp_range **ranges) {
    *ranges = recording->store.ranges;
    return recording->store.range_count;
}

struct fp_accelerator *fp_recording_accelerator(const struct fp_recording *recording) {
    return recording->accelerator;
}

size_t fp_recording_bytes(const struct fp_recording *recording) {
    return fp_store_bytes(&recording->store);
}

void fp_recording_ledger(const struct fp_recording *recording, struct fp_ledger *ledger) {
    struct fp_ledger found = recording->store.ledger;
    found.size = ledger->size < sizeof(found) ? ledger->size : sizeof(found);
    memcpy(ledger, &found, found.size);
}

const char *fp_recording_notes(const struct fp_recording *recording) {
    return recording->store.notes ? recording->store.notes : "";
}
