// facade_common.c - arming, clocks and faults that all facades share; the external-id stacks.
//
// In:  the facade's slots going on and off, activities to be shaped.
// Out: the observer subscribed exactly while a slot is on; times, names and fates with the faults
//      applied. The buffers are in facade_buffers.c.
#include "facade_common.h"
#include "facade_state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_NAME_BYTES = 8192, ANOTHER_EPOCH_S = 1000000, ANOTHER_RATE_PPM = 100 };

struct fc_facade fc_self;

static struct {
    pthread_mutex_t lock;
    unsigned armed_count;
    int observing;
    _Atomic uint64_t armed_since[FC_SLOTS]; // 0: off
    atomic_bool driver_ready;
    _Atomic uint64_t device_records, kernels, pushes;
    _Atomic uint64_t clock_offset;
    atomic_int clock_ppm;
    uint64_t clock_origin;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

void fc_setup(const fc_facade *facade) {
    fc_self = *facade;
    state.clock_origin = flagsim_now_ns();
    if (flagsim_fault_on(FLAGSIM_FAULT_clock_domain))
        fc_clock_set((uint64_t)ANOTHER_EPOCH_S * 1000000000u - state.clock_origin, ANOTHER_RATE_PPM);
}

// As a real library dies by a wild pointer, so that a handler which returns does not save it.
void fc_die(void) {
    for (;;) {
        raise(SIGSEGV);
        signal(SIGSEGV, SIG_DFL);
    }
}

int fc_enter(void) {
    flagsim_truth_add(FLAGSIM_COUNT_facade_calls, 1);
    if (flagsim_fault_on(FLAGSIM_FAULT_no_driver))
        fc_die();
    if (!atomic_load_explicit(&state.driver_ready, memory_order_relaxed))
        flagsim_truth_add(FLAGSIM_COUNT_calls_before_init, 1);
    return flagsim_fault_on(FLAGSIM_FAULT_no_device) ? -ENODEV : 0;
}

void fc_driver_ready(void) {
    atomic_store(&state.driver_ready, true);
}

// ---- arming

void fc_arm(unsigned slot, bool on) {
    int unobserve = 0;
    pthread_mutex_lock(&state.lock);
    bool was = slot < FC_SLOTS && atomic_load(&state.armed_since[slot]) != 0;
    if (slot < FC_SLOTS && was != on) {
        atomic_store(&state.armed_since[slot], on ? flagsim_now_ns() : 0);
        state.armed_count += on ? 1u : -1u;
        flagsim_truth_arm(on ? 1 : -1);
        if (on && state.armed_count == 1)
            state.observing = flagsim_observe(&fc_self.observer, NULL);
        if (!on && state.armed_count == 0) {
            unobserve = state.observing;
            state.observing = 0;
        }
    }
    pthread_mutex_unlock(&state.lock);
    if (unobserve > 0)
        flagsim_unobserve(unobserve);
}

bool fc_armed(unsigned slot) {
    return slot < FC_SLOTS && atomic_load_explicit(&state.armed_since[slot], memory_order_relaxed) != 0;
}

bool fc_armed_for(unsigned slot, const flagsim_activity *activity) {
    uint64_t since =
        slot < FC_SLOTS ? atomic_load_explicit(&state.armed_since[slot], memory_order_relaxed) : 0;
    return since && activity->queued_ns >= since;
}

// ---- the vendor's clock

void fc_clock_set(uint64_t epoch_offset_ns, int parts_per_million) {
    atomic_store(&state.clock_offset, epoch_offset_ns);
    atomic_store(&state.clock_ppm, parts_per_million);
}

uint64_t fc_time(uint64_t epoch_ns) {
    int64_t since = (int64_t)(epoch_ns - state.clock_origin);
    return epoch_ns + atomic_load(&state.clock_offset) +
           (uint64_t)(since * atomic_load(&state.clock_ppm) / 1000000);
}

uint64_t fc_now(void) {
    return fc_time(flagsim_now_ns());
}

// ---- shaping

static bool every(flagsim_fault fault, uint64_t number) {
    uint64_t step = flagsim_fault_value(fault);
    return step && number % step == 0;
}

// A mangled name of LONG_NAME_BYTES that still tells which kernel it was, and that a demangler accepts.
static const char *long_name(const char *name) {
    char text[LONG_NAME_BYTES + 1];
    enum { DIGITS = 4 };
    size_t length = LONG_NAME_BYTES - 2 - DIGITS - 1;
    int start = snprintf(text, sizeof text, "_Z%zu", length);
    size_t used = (size_t)start + (size_t)snprintf(text + start, 512, "long_name_of_%s_", name);
    if (used > (size_t)start + 511)
        used = (size_t)start + 511;
    memset(text + used, 'x', LONG_NAME_BYTES - 1 - used);
    memcpy(text + LONG_NAME_BYTES - 1, "v", 2);
    return flagsim_intern(text);
}

static const char *dirty_name(const char *name) {
    char text[600];
    snprintf(text, sizeof text, "%.500s \"quoted\" \\ \x01\t \xff\xc3( \xe2\x82", name);
    return flagsim_intern(text);
}

static const char *no_name(const char *name) {
    (void)name;
    return NULL;
}

// The first fault that is due wins, so that each record has one flaw of its sort and the truth stays simple.
static void shape_name(const flagsim_activity *activity, fc_work *work) {
    static const struct {
        flagsim_fault fault;
        flagsim_fate fate;
        const char *(*name)(const char *);
    } flaws[] = {
        { FLAGSIM_FAULT_name_null, FLAGSIM_FATE_NAME_NULL, no_name },
        { FLAGSIM_FAULT_name_8k, FLAGSIM_FATE_NAME_LONG, long_name },
        { FLAGSIM_FAULT_name_dirty, FLAGSIM_FATE_NAME_DIRTY, dirty_name },
    };
    work->name = activity->of.kernel.info->name;
    uint64_t number = atomic_fetch_add(&state.kernels, 1) + 1;
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        if (every(flaws[i].fault, number)) {
            work->name = flaws[i].name(work->name ? work->name : "kernel");
            work->flaws |= 1u << flaws[i].fate;
            return;
        }
    }
}

static void zero(fc_work *work) {
    work->start = work->end = 0;
}

static void reverse(fc_work *work) {
    uint64_t start = work->start;
    work->start = work->end;
    work->end = start;
}

static void cut_end(fc_work *work) {
    work->end = 0;
}

static void stretch(fc_work *work) {
    work->end = work->start + 7200000000000u;
}

static void shape_times(const flagsim_activity *activity, uint64_t number, fc_work *work) {
    static const struct {
        flagsim_fault fault;
        flagsim_fate fate;
        void (*spoil)(fc_work *);
    } flaws[] = {
        { FLAGSIM_FAULT_timing_zero, FLAGSIM_FATE_NO_TIMING, zero },
        { FLAGSIM_FAULT_end_before_start, FLAGSIM_FATE_END_BEFORE_START, reverse },
        { FLAGSIM_FAULT_end_zero, FLAGSIM_FATE_NO_END, cut_end },
        { FLAGSIM_FAULT_too_long, FLAGSIM_FATE_TOO_LONG, stretch },
    };
    work->start = fc_time(activity->start_ns);
    work->end = fc_time(activity->end_ns);
    work->queued = fc_time(activity->queued_ns);
    if (work->end <= work->start)
        work->end = work->start + 1;
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        if (every(flaws[i].fault, number)) {
            flaws[i].spoil(work);
            work->flaws |= 1u << flaws[i].fate;
            return;
        }
    }
}

bool fc_shape(const flagsim_activity *activity, flagsim_record family, fc_work *work) {
    *work = (fc_work){ 0 };
    uint64_t number = atomic_fetch_add(&state.device_records, 1) + 1;
    if (every(FLAGSIM_FAULT_drop_records, number)) {
        fc_count_dropped(family);
        return false;
    }
    if (every(FLAGSIM_FAULT_lose_records, number)) {
        flagsim_truth_record(FLAGSIM_FATE_LOST, family, 1);
        return false;
    }
    shape_times(activity, number, work);
    if (activity->kind == FLAGSIM_ACTIVITY_KERNEL)
        shape_name(activity, work);
    return true;
}

// ---- records that the device's side still has

enum { HELD_MAX = 64 };

static struct {
    pthread_mutex_t lock;
    struct held {
        uint8_t bytes[FC_RECORD_BYTES_MAX];
        size_t size;
        uint32_t flaws;
    } of[HELD_MAX];
    size_t first, count;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void release_but(size_t keep) {
    pthread_mutex_lock(&held.lock);
    while (held.count > keep) {
        const struct held oldest = held.of[held.first];
        held.first = (held.first + 1) % HELD_MAX;
        held.count--;
        pthread_mutex_unlock(&held.lock);
        fc_write(FLAGSIM_RECORD_KERNEL, oldest.bytes, oldest.size, oldest.flaws);
        pthread_mutex_lock(&held.lock);
    }
    pthread_mutex_unlock(&held.lock);
}

bool fc_hold_kernel(const void *bytes, size_t size, uint32_t flaws) {
    size_t keep = flagsim_fault_value(FLAGSIM_FAULT_held_by_device);
    if (keep == 0 || keep >= HELD_MAX / 2)
        return false;
    release_but(keep - 1);
    pthread_mutex_lock(&held.lock);
    struct held *place = &held.of[(held.first + held.count++) % HELD_MAX];
    memcpy(place->bytes, bytes, size);
    place->size = size;
    place->flaws = flaws;
    pthread_mutex_unlock(&held.lock);
    return true;
}

void fc_release_held(void) {
    release_but(0);
}

// ---- external ids

struct stack {
    uint64_t *ids;
    size_t count, room;
};

struct stacks {
    struct stack of[FC_STACKS];
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread struct stacks *own;

static void stacks_free(void *arg) {
    struct stacks *stacks = arg;
    for (int i = 0; i < FC_STACKS; i++)
        free(stacks->of[i].ids);
    free(stacks);
    own = NULL;
}

static void key_make(void) {
    pthread_key_create(&key, stacks_free);
}

static struct stack *stack_make(unsigned slot) {
    if (!own) {
        pthread_once(&key_once, key_make);
        struct stacks *made = calloc(1, sizeof *made);
        if (!made || pthread_setspecific(key, made)) {
            free(made);
            return NULL;
        }
        own = made;
    }
    return &own->of[slot];
}

static int stack_push(unsigned slot, uint64_t id) {
    struct stack *stack = slot < FC_STACKS ? stack_make(slot) : NULL;
    if (!stack)
        return -ENOMEM;
    if (stack->count == stack->room) {
        size_t room = stack->room ? stack->room * 2 : 32;
        uint64_t *ids = realloc(stack->ids, room * sizeof *ids);
        if (!ids)
            return -ENOMEM;
        stack->ids = ids;
        stack->room = room;
    }
    stack->ids[stack->count++] = id;
    return 0;
}

int fc_push(unsigned slot, uint64_t id) {
    uint64_t number = atomic_fetch_add(&state.pushes, 1) + 1;
    int result = every(FLAGSIM_FAULT_push_fails, number) ? -EIO : stack_push(slot, id);
    flagsim_truth_add(result ? FLAGSIM_COUNT_failed_pushes : FLAGSIM_COUNT_pushes, 1);
    return result;
}

int fc_pop(unsigned slot, uint64_t *id) {
    struct stack *stack = own && slot < FC_STACKS ? &own->of[slot] : NULL;
    if (!stack || !stack->count) {
        flagsim_truth_add(FLAGSIM_COUNT_failed_pops, 1);
        return -ENODATA;
    }
    stack->count--;
    if (id)
        *id = stack->ids[stack->count];
    flagsim_truth_add(FLAGSIM_COUNT_pops, 1);
    return 0;
}

bool fc_top(unsigned slot, uint64_t *id) {
    const struct stack *stack = own && slot < FC_STACKS ? &own->of[slot] : NULL;
    if (!stack || !stack->count)
        return false;
    *id = stack->ids[stack->count - 1];
    return true;
}
