// facade_buffers.c - the buffer protocol of the vendors' profiling libraries.
//
// In:  records, from any thread.
// Out: the tool's buffers, filled and handed back: a full one by a thread of this library, all of them by
//      a flush on the caller's thread. The tool is asked for a buffer when a record must be written and
//      none is there; the callbacks run with no lock held, since a tool takes its own in them.
//
// Each buffer keeps a tally of what is in it, and the truth is told when it is handed over, not before: what
// stays behind in a buffer was not delivered.
#include "facade_state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

struct buffer {
    struct buffer *next;
    fc_tool tool; // that gave it
    bool of_thief;
    uint8_t *bytes;
    size_t size, usable, valid, records, max_records;
    bool broken; // an iterator gets no further
    uint32_t tally[FLAGSIM_FATE_COUNT][FLAGSIM_RECORD_COUNT];
};

struct record {
    struct record *next;
    flagsim_record family;
    uint32_t flaws;
    size_t size;
    uint8_t bytes[FC_RECORD_BYTES_MAX];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    fc_tool tool;
    bool registered, registered_before, deaf;
    uint64_t asked_since_registration;
    bool requesting;
    unsigned delivering;
    struct buffer *current;
    struct buffer *full, **full_tail;
    struct record *swapped;              // out_of_order: waits for the next one
    struct record *held, **held_tail;    // late_correlation: waits for the next buffer
    uint64_t written, retired, returned; // records; buffers
    bool worker_runs, worker_asked;
    uint32_t period_ms;
    struct timespec hold_until;                       // buffers_after_flush, where it is a time
    enum { HOLD_NEVER_YET, HOLD_ON, HOLD_OVER } hold; // and where it is the next request
    uint64_t registrations;
    _Atomic uint64_t dropped;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .full_tail = &state.full, .held_tail = &state.held };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fork_prepare(void) {
    pthread_mutex_lock(&state.lock);
}

static void fork_parent(void) {
    pthread_mutex_unlock(&state.lock);
}

// The child has no worker, and nobody is in a callback; buffers in hand are the parent's to deliver.
static void fork_child(void) {
    state.worker_runs = state.requesting = false;
    state.delivering = 0;
    state.retired = state.returned;
    state.current = state.full = NULL;
    state.full_tail = &state.full;
    pthread_mutex_unlock(&state.lock);
}

static void init_once(void) {
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&state.changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void lock_state(void) {
    pthread_once(&once, init_once);
    pthread_mutex_lock(&state.lock);
}

void fc_count_dropped(flagsim_record family) {
    atomic_fetch_add(&state.dropped, 1);
    flagsim_truth_record(FLAGSIM_FATE_DROPPED, family, 1);
}

uint64_t fc_take_dropped(void) {
    return atomic_exchange(&state.dropped, 0);
}

// ---- a stranger who takes the callbacks over

static void thief_request(uint8_t **buffer, size_t *size, size_t *max_records) {
    *size = 65536;
    *buffer = aligned_alloc(64, *size);
    *max_records = 0;
}

// By then the tool has its full buffers back: what it can notice must not depend on how busy the machine is.
static void let_the_thief_in(void) {
    if (!flagsim_fault_on(FLAGSIM_FAULT_replaced_callbacks) ||
        state.asked_since_registration < flagsim_fault_value(FLAGSIM_FAULT_replaced_callbacks) ||
        state.registrations < flagsim_fault_value(FLAGSIM_FAULT_replaced_session))
        return;
    while (state.worker_runs && state.hold != HOLD_ON && state.returned < state.retired)
        pthread_cond_wait(&state.changed, &state.lock);
    state.tool = (fc_tool){ .request = thief_request };
}

// ---- handing over

static void tell_truth(const struct buffer *buffer) {
    for (int fate = 0; fate < FLAGSIM_FATE_COUNT; fate++)
        for (int family = 0; family < FLAGSIM_RECORD_COUNT; family++)
            if (buffer->tally[fate][family] && (!buffer->of_thief || fate == FLAGSIM_FATE_DELIVERED))
                flagsim_truth_record(buffer->of_thief ? FLAGSIM_FATE_LOST : (flagsim_fate)fate,
                                     (flagsim_record)family, buffer->tally[fate][family]);
}

// Called and returns with the lock held; the callback runs without it.
static void hand_over(struct buffer *buffer) {
    state.delivering++;
    pthread_mutex_unlock(&state.lock);
    tell_truth(buffer);
    if (buffer->of_thief) {
        free(buffer->bytes);
    } else {
        flagsim_truth_add(FLAGSIM_COUNT_buffers_completed, 1);
        fc_self.deliver(&buffer->tool, buffer->bytes, buffer->size, buffer->valid);
    }
    free(buffer);
    pthread_mutex_lock(&state.lock);
    state.delivering--;
    state.returned++;
    pthread_cond_broadcast(&state.changed);
}

static struct buffer *take_full(bool last_first) {
    struct buffer **link = &state.full;
    while (last_first && *link && (*link)->next)
        link = &(*link)->next;
    struct buffer *buffer = *link;
    if (buffer && !(*link = buffer->next))
        state.full_tail = link;
    return buffer;
}

static void retire_current(void) {
    struct buffer *buffer = state.current;
    if (!buffer)
        return;
    state.current = NULL;
    state.retired++;
    *state.full_tail = buffer;
    state.full_tail = &buffer->next;
}

static void worker_start(void);

static struct timespec in_ms(uint64_t milliseconds) {
    struct timespec then;
    clock_gettime(CLOCK_MONOTONIC, &then);
    then.tv_sec += (time_t)(milliseconds / 1000);
    then.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    then.tv_sec += then.tv_nsec / 1000000000;
    then.tv_nsec %= 1000000000;
    return then;
}

// buffers_after_flush: a flush returns, and what it completed comes later.
static void begin_hold(void) {
    uint64_t milliseconds = flagsim_fault_value(FLAGSIM_FAULT_buffers_after_flush);
    worker_start();
    if (milliseconds)
        state.hold_until = in_ms(milliseconds);
    else if (state.full && state.hold == HOLD_NEVER_YET)
        state.hold = HOLD_ON;
    pthread_cond_broadcast(&state.changed);
}

// Waits as long as buffers are to be held, or until something changes; false: they are not.
static bool wait_for_hold(void) {
    struct timespec now;
    if (state.hold == HOLD_ON) {
        pthread_cond_wait(&state.changed, &state.lock);
        return true;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > state.hold_until.tv_sec ||
        (now.tv_sec == state.hold_until.tv_sec && now.tv_nsec >= state.hold_until.tv_nsec))
        return false;
    pthread_cond_timedwait(&state.changed, &state.lock, &state.hold_until);
    return true;
}

static void *worker(void *arg) {
    (void)arg;
    prctl(PR_SET_NAME, "facade-buffers");
    pthread_mutex_lock(&state.lock);
    for (;;) {
        bool keep_back = flagsim_fault_on(FLAGSIM_FAULT_late_buffers) && !state.worker_asked;
        if (state.full && !keep_back && wait_for_hold())
            continue;
        if (state.full && !keep_back) {
            hand_over(take_full(state.worker_asked && flagsim_fault_on(FLAGSIM_FAULT_late_buffers)));
            continue;
        }
        if (!state.period_ms) {
            pthread_cond_wait(&state.changed, &state.lock);
            continue;
        }
        struct timespec until = in_ms(state.period_ms);
        if (pthread_cond_timedwait(&state.changed, &state.lock, &until) == ETIMEDOUT && !state.requesting)
            retire_current();
    }
    return NULL;
}

static void worker_start(void) {
    if (state.worker_runs)
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    state.worker_runs = !pthread_create(&thread, NULL, worker, NULL);
    if (state.worker_runs)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// ---- putting records into the current buffer

static void put(struct buffer *buffer, flagsim_record family, const void *bytes, size_t size,
                uint32_t flaws) {
    memcpy(buffer->bytes + buffer->valid, bytes, size);
    buffer->valid += size;
    buffer->records++;
    if (buffer->broken) {
        buffer->tally[FLAGSIM_FATE_UNREACHABLE][family]++;
        return;
    }
    if (!(flaws & 1u << FLAGSIM_FATE_FOREIGN))
        buffer->tally[FLAGSIM_FATE_DELIVERED][family]++;
    for (int fate = 0; fate < FLAGSIM_FATE_COUNT; fate++)
        if (flaws & 1u << fate)
            buffer->tally[fate][family]++;
}

static bool has_room(const struct buffer *buffer, size_t size) {
    return buffer->valid + size <= buffer->usable &&
           (!buffer->max_records || buffer->records < buffer->max_records);
}

// Overhead never asks for a buffer by itself, or asking would never end.
static void put_overhead(bool flush, uint64_t start_ns, uint64_t end_ns) {
    uint8_t bytes[FC_RECORD_BYTES_MAX] = { 0 };
    size_t size = fc_self.overhead ? fc_self.overhead(bytes, flush, start_ns, end_ns) : 0;
    if (size && state.current && has_room(state.current, size))
        put(state.current, FLAGSIM_RECORD_OVERHEAD, bytes, size, 0);
}

// ---- asking for a buffer

// Asks the tool, without the lock. True where a buffer is current afterwards.
static bool request_buffer(void) {
    state.requesting = true;
    let_the_thief_in();
    if (state.hold == HOLD_ON)
        state.hold = HOLD_OVER;
    fc_tool tool = state.tool;
    bool of_thief = tool.request == thief_request;
    state.asked_since_registration++;
    pthread_mutex_unlock(&state.lock);
    struct buffer *buffer = calloc(1, sizeof *buffer);
    uint8_t *bytes = NULL;
    size_t size = 0, max_records = 0;
    uint64_t start_ns = flagsim_now_ns();
    tool.request(&bytes, &size, &max_records);
    uint64_t end_ns = flagsim_now_ns();
    if (!of_thief)
        flagsim_truth_add(FLAGSIM_COUNT_buffers_requested, 1);
    bool refused = !bytes || !size;
    if (refused) {
        flagsim_truth_add(FLAGSIM_COUNT_buffers_refused, 1);
        if (fc_self.crash_on_refused_buffer || flagsim_fault_on(FLAGSIM_FAULT_refused_crash_before_12_9))
            fc_die();
    }
    pthread_mutex_lock(&state.lock);
    state.requesting = false;
    pthread_cond_broadcast(&state.changed);
    if (!buffer || refused) {
        free(buffer);
        return false;
    }
    size_t tiny = flagsim_fault_value(FLAGSIM_FAULT_tiny_buffers);
    *buffer = (struct buffer){
        .tool = tool, .of_thief = of_thief, .bytes = bytes, .size = size, .max_records = max_records
    };
    buffer->usable = tiny && tiny < size ? tiny : size;
    state.current = buffer;
    put_overhead(false, start_ns, end_ns);
    return true;
}

// ---- writing

static void append(flagsim_record family, const void *bytes, size_t size, uint32_t flaws) {
    for (;;) {
        while (state.requesting)
            pthread_cond_wait(&state.changed, &state.lock);
        if (state.current && has_room(state.current, size)) {
            put(state.current, family, bytes, size, flaws);
            return;
        }
        if (state.current && !state.current->valid)
            break; // the record does not fit into an empty buffer
        if (state.current) {
            retire_current();
            worker_start();
            pthread_cond_broadcast(&state.changed);
        }
        if (!request_buffer())
            break;
    }
    if (!(flaws & 1u << FLAGSIM_FATE_FOREIGN))
        fc_count_dropped(family);
}

static struct record *record_keep(flagsim_record family, const void *bytes, size_t size, uint32_t flaws) {
    struct record *record = malloc(sizeof *record);
    if (!record)
        return NULL;
    *record = (struct record){ .family = family, .flaws = flaws, .size = size };
    memcpy(record->bytes, bytes, size);
    return record;
}

static void append_kept(struct record *record, flagsim_fate fate) {
    append(record->family, record->bytes, record->size, record->flaws | 1u << fate);
    free(record);
}

// True where the record was kept for later, as a fault demands.
static bool delayed(flagsim_record family, const void *bytes, size_t size, uint32_t flaws) {
    if (family == FLAGSIM_RECORD_EXTERNAL && flagsim_fault_on(FLAGSIM_FAULT_late_correlation)) {
        struct record *record = record_keep(family, bytes, size, flaws);
        if (record) {
            *state.held_tail = record;
            state.held_tail = &record->next;
        }
        return record != NULL;
    }
    if (flagsim_fault_on(FLAGSIM_FAULT_out_of_order) && !state.swapped)
        return (state.swapped = record_keep(family, bytes, size, flaws)) != NULL;
    return false;
}

static void write_extras(void) {
    uint8_t bytes[FC_RECORD_BYTES_MAX] = { 0 };
    uint64_t number = ++state.written;
    uint64_t foreign = flagsim_fault_value(FLAGSIM_FAULT_unknown_kind);
    uint64_t broken = flagsim_fault_value(FLAGSIM_FAULT_broken_record);
    size_t size;
    if (foreign && number % foreign == 0 && fc_self.foreign && (size = fc_self.foreign(bytes)))
        append(FLAGSIM_RECORD_OTHER, bytes, size, 1u << FLAGSIM_FATE_FOREIGN);
    if (broken && number % broken == 0 && fc_self.broken && (size = fc_self.broken(bytes))) {
        append(FLAGSIM_RECORD_OTHER, bytes, size, 1u << FLAGSIM_FATE_FOREIGN);
        if (state.current)
            state.current->broken = true;
    }
}

void fc_write(flagsim_record family, const void *bytes, size_t size, uint32_t flaws) {
    lock_state();
    if (!state.registered || state.deaf) {
        flagsim_truth_record(FLAGSIM_FATE_LOST, family, 1);
    } else if (!delayed(family, bytes, size, flaws)) {
        append(family, bytes, size, flaws);
        struct record *swapped = state.swapped;
        state.swapped = NULL;
        if (swapped)
            append_kept(swapped, FLAGSIM_FATE_REORDERED);
        write_extras();
    }
    pthread_mutex_unlock(&state.lock);
}

// ---- registering and flushing

static bool context_exists(void) {
    for (int i = 0; i < 64; i++)
        if (flagsim_context_id(i))
            return true;
    return false;
}

int fc_register(fc_request request, fc_complete complete) {
    if (!request || !complete)
        return -EINVAL;
    lock_state();
    // What counts is whether the library was there before the first context, so a later registration changes
    // nothing.
    if (!state.registered_before && flagsim_fault_on(FLAGSIM_FAULT_late_registration))
        state.deaf = context_exists();
    state.registered_before = state.registered = true;
    state.tool = (fc_tool){ request, complete };
    state.asked_since_registration = 0;
    state.registrations++;
    pthread_mutex_unlock(&state.lock);
    flagsim_truth_add(FLAGSIM_COUNT_registrations, 1);
    return 0;
}

static void release_kept(uint64_t start_ns) {
    struct record *swapped = state.swapped;
    state.swapped = NULL;
    if (swapped)
        append(swapped->family, swapped->bytes, swapped->size, swapped->flaws);
    free(swapped);
    while (state.requesting)
        pthread_cond_wait(&state.changed, &state.lock);
    put_overhead(true, start_ns, flagsim_now_ns());
    retire_current();
    while (state.held) {
        struct record *record = state.held;
        state.held = record->next;
        if (!state.held)
            state.held_tail = &state.held;
        append_kept(record, FLAGSIM_FATE_LATE);
    }
    while (state.requesting)
        pthread_cond_wait(&state.changed, &state.lock);
    retire_current();
}

void fc_discard(void) {
    lock_state();
    while (state.requesting)
        pthread_cond_wait(&state.changed, &state.lock);
    struct buffer *buffer = state.current;
    for (int family = 0; buffer && family < FLAGSIM_RECORD_COUNT; family++)
        if (buffer->tally[FLAGSIM_FATE_DELIVERED][family])
            flagsim_truth_record(FLAGSIM_FATE_LOST, (flagsim_record)family,
                                 buffer->tally[FLAGSIM_FATE_DELIVERED][family]);
    if (buffer) {
        memset(buffer->tally, 0, sizeof buffer->tally);
        memset(buffer->bytes, 0, buffer->valid);
        buffer->valid = buffer->records = 0;
    }
    pthread_mutex_unlock(&state.lock);
}

static void hang(void) {
    uint64_t ms = flagsim_fault_value(FLAGSIM_FAULT_hang_flush);
    struct timespec rest = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };
    while (ms && nanosleep(&rest, &rest) && errno == EINTR)
        continue;
}

int fc_flush(void) {
    uint64_t start_ns = flagsim_now_ns();
    hang();
    flagsim_truth_add(FLAGSIM_COUNT_flushes, 1);
    lock_state();
    if (!state.registered) {
        pthread_mutex_unlock(&state.lock);
        return -EINVAL;
    }
    bool elsewhere = fc_self.consumer_thread || flagsim_fault_on(FLAGSIM_FAULT_flush_completion_thread);
    bool late = flagsim_fault_on(FLAGSIM_FAULT_late_buffers);
    bool after = flagsim_fault_on(FLAGSIM_FAULT_buffers_after_flush) && state.hold != HOLD_OVER;
    // What filled up before is the worker's to hand back, so that a tool can tell the two ways apart.
    uint64_t before = state.retired;
    while (state.worker_runs && !late && !after && state.returned < before)
        pthread_cond_wait(&state.changed, &state.lock);
    release_kept(start_ns);
    if (after) {
        begin_hold();
        pthread_mutex_unlock(&state.lock);
        return 0;
    }
    if (elsewhere) {
        worker_start();
        state.worker_asked = true;
        pthread_cond_broadcast(&state.changed);
    }
    while (!elsewhere && state.full)
        hand_over(take_full(late));
    while (state.delivering || (elsewhere && state.full))
        pthread_cond_wait(&state.changed, &state.lock);
    state.worker_asked = false;
    pthread_mutex_unlock(&state.lock);
    return 0;
}

void fc_flush_period(uint32_t milliseconds) {
    lock_state();
    state.period_ms = milliseconds;
    if (milliseconds)
        worker_start();
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}
