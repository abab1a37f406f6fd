// device.c - the devices: how many, what they are like, which is current, and the simulated clock.
//
// In:  FLAGOS_SIM_DEVICES, FLAGOS_SIM_MEMORY_MB.
// Out: a ready simulator, contexts, the thread's device and last error. Also here: what happens at exit
//      (queued work is finished first, as a program expects of a synchronised device) and in a forked
//      child (the accelerator is refused, since the streams' threads exist in the parent alone).
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct simulator sim = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread int current_device;
static __thread int last_error;

enum { EXIT_PATIENCE_NS = 2000000000, CLOCK_LOOKS = 64 };

static uint64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static pthread_once_t clock_once = PTHREAD_ONCE_INIT;
static uint64_t epoch_offset;

// The two clocks are looked at together until once nothing came between: a thread that lost its processor there would set
// the simulator behind the machine's time, and a call would seem older than the push before it. What is left of the
// error sets it ahead, by less than a call lasts.
static void clock_init(void) {
    uint64_t least = UINT64_MAX;
    for (int look = 0; look < CLOCK_LOOKS; look++) {
        uint64_t before = read_clock(CLOCK_MONOTONIC), epoch = read_clock(CLOCK_REALTIME);
        uint64_t gap = read_clock(CLOCK_MONOTONIC) - before;
        if (gap < least) {
            least = gap;
            epoch_offset = epoch - before;
        }
    }
}

// The epoch by a clock that never steps back, so that a correction of the machine's time cannot reorder work.
uint64_t flagsim_now_ns(void) {
    pthread_once(&clock_once, clock_init);
    return read_clock(CLOCK_MONOTONIC) + epoch_offset;
}

static void fork_prepare(void) {
    memory_lock();
    names_lock_take();
}

static void fork_parent(void) {
    names_lock_release();
    memory_unlock();
}

static void fork_child(void) {
    fork_parent();
    if (atomic_load(&sim.ready))
        atomic_store(&sim.forked, true);
}

static void at_exit(void) {
    streams_drain(EXIT_PATIENCE_NS);
}

static void register_hooks(void) {
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    atexit(at_exit);
}

static long number_from(const char *variable, long fallback, long low, long high) {
    const char *text = getenv(variable);
    if (!text || !*text)
        return fallback;
    char *end;
    long value = strtol(text, &end, 10);
    return *end || value < low || value > high ? fallback : value;
}

static int why_not(void) {
    int result = faults_error();
    if (!result && flagsim_fault_on(FLAGSIM_FAULT_no_driver))
        result = -ENXIO;
    if (!result && flagsim_fault_on(FLAGSIM_FAULT_no_device))
        result = -ENODEV;
    return result;
}

static void device_init(struct device *device) {
    pthread_mutex_init(&device->lock, NULL);
    atomic_store(&device->context, 0);
    device->streams = NULL;
    atomic_store(&device->default_stream, NULL);
    atomic_store(&device->bytes, 0);
}

int sim_ready(void) {
    if (atomic_load_explicit(&sim.ready, memory_order_acquire))
        return atomic_load_explicit(&sim.forked, memory_order_relaxed) ? -EOWNERDEAD : 0;
    int result = why_not();
    if (result)
        return result;
    static pthread_once_t hooks = PTHREAD_ONCE_INIT;
    pthread_once(&hooks, register_hooks);
    pthread_mutex_lock(&sim.lock);
    if (!atomic_load(&sim.ready)) {
        sim.devices = (int)number_from("FLAGOS_SIM_DEVICES", 2, 1, MAX_DEVICES);
        sim.memory_bytes = (uint64_t)number_from("FLAGOS_SIM_MEMORY_MB", 16384, 1, 1 << 24) << 20;
        for (int i = 0; i < MAX_DEVICES; i++)
            device_init(&sim.device[i]);
        atomic_store(&sim.next_stream_id, FIRST_STREAM_ID);
        atomic_store(&sim.next_event_id, 1);
        atomic_store(&sim.next_graph_id, 2);
        atomic_store(&sim.next_grid_id, 1);
        atomic_store_explicit(&sim.ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

int sim_fail(int result) {
    if (result < 0)
        last_error = -result;
    return result;
}

int sim_current_device(void) {
    return current_device < sim.devices ? current_device : 0;
}

void sim_make_context(int device) {
    unsigned none = 0;
    atomic_compare_exchange_strong(&sim.device[device].context, &none, (unsigned)device + 1);
}

int sim_enter_context(void) {
    int device = sim_current_device();
    sim_make_context(device);
    return device;
}

uint32_t flagsim_context_id(int device) {
    if (!atomic_load(&sim.ready) || device < 0 || device >= sim.devices)
        return 0;
    return atomic_load(&sim.device[device].context);
}

int flagsim_init(void) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_INIT);
    call_enter(&call);
    return call_end(&call, 0);
}

int flagsim_device_count(void) {
    if (sim_ready())
        return 0;
    struct call call;
    call_begin(&call, FLAGSIM_API_DEVICE_COUNT);
    call_enter(&call);
    call_end(&call, 0);
    return sim.devices;
}

int flagsim_get_device(int *device) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_GET_DEVICE);
    call_enter(&call);
    *device = call.view.device = sim_current_device();
    return call_end(&call, 0);
}

int flagsim_set_device(int device) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    struct call call;
    call_begin(&call, FLAGSIM_API_SET_DEVICE);
    call.view.device = device;
    call_enter(&call);
    if (device < 0 || device >= sim.devices)
        return call_end(&call, -EINVAL);
    current_device = device;
    return call_end(&call, 0);
}

int flagsim_device_properties(int device, flagsim_device_props *props) {
    int result = sim_ready();
    if (result)
        return sim_fail(result);
    if (device < 0 || device >= sim.devices)
        return sim_fail(-EINVAL);
    flagsim_device_props all = {
        .size = props->size,
        .total_memory_bytes = sim.memory_bytes,
        .compute_major = 9,
        .multiprocessors = 132,
        .warp_size = 32,
        .max_threads_per_block = 1024,
        .max_threads_per_multiprocessor = 2048,
        .max_blocks_per_multiprocessor = 32,
        .registers_per_block = 65536,
        .registers_per_multiprocessor = 65536,
        .shared_bytes_per_block = 49152,
        .shared_bytes_per_block_optin = 232448,
        .shared_bytes_per_multiprocessor = 233472,
        .clock_khz = 1980000,
        .memory_clock_khz = 3201000,
        .memory_bus_bits = 6144,
        .l2_bytes = 62914560,
    };
    snprintf(all.name, sizeof all.name, "FlagProf simulated accelerator");
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return 0;
}

int flagsim_get_last_error(void) {
    struct call call;
    call_begin(&call, FLAGSIM_API_GET_LAST_ERROR);
    call_enter(&call);
    int error = last_error;
    last_error = 0;
    call_end(&call, 0);
    return error;
}

int flagsim_peek_last_error(void) {
    struct call call;
    call_begin(&call, FLAGSIM_API_PEEK_LAST_ERROR);
    call_enter(&call);
    call_end(&call, 0);
    return last_error;
}

void flagsim_shutdown(void) {
    pthread_mutex_lock(&sim.lock);
    if (atomic_load(&sim.ready) && !atomic_load(&sim.forked)) {
        for (int i = 0; i < sim.devices; i++)
            streams_end(&sim.device[i]);
        memory_release_all();
        atomic_store(&sim.ready, false);
    }
    pthread_mutex_unlock(&sim.lock);
    current_device = 0;
    last_error = 0;
}
