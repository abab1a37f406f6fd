// mspti_sessions.h - the program of twin_sessions.h as an Ascend program: its copies and sets go through
// AscendCL's functions, found among the process's global symbols.
//
// In:  nothing. Out: that program; and what a recording of it is, with libmspti.so in the process from its
//      start and without.
#ifndef MSPTI_SESSIONS_H
#define MSPTI_SESSIONS_H

#include "twin_sessions.h"

#include <dlfcn.h>

#include "tracers/mspti.h"

#define MSPTI BUILD_DIR "/sim/mspti/libmspti.so"
#define ASCENDCL BUILD_DIR "/sim/mspti/libascendcl.so"
#define HCCL BUILD_DIR "/sim/mspti/libhccl.so"

static bool is_preloaded; // this process was started with libmspti.so

static inline void *global(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    CHECK(found, "the process has no %s", name);
    return found;
}

#define CALL(name, type, ...) (((type)(uintptr_t)global(name))(__VA_ARGS__))

typedef int (*acl_copy)(void *, size_t, const void *, size_t, int);
typedef int (*acl_copy_async)(void *, size_t, const void *, size_t, int, void *);
typedef int (*acl_set)(void *, size_t, int32_t, size_t);
typedef int (*acl_set_async)(void *, size_t, int32_t, size_t, void *);

// Both number them alike [CODE].
static inline int copy_by_acl(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind) {
    return CALL("aclrtMemcpy", acl_copy, dst, bytes, src, bytes, (int)kind);
}

static inline int copy_async_by_acl(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                                    flagsim_stream *stream) {
    return CALL("aclrtMemcpyAsync", acl_copy_async, dst, bytes, src, bytes, (int)kind, stream);
}

static inline int set_async_by_acl(void *dst, int value, size_t bytes, flagsim_stream *stream) {
    return CALL("aclrtMemsetAsync", acl_set_async, dst, bytes, value, bytes, stream);
}

static inline void load_ascendcl(void) {
    CHECK(dlopen(ASCENDCL, RTLD_NOW | RTLD_GLOBAL), "%s", dlerror()); // as torch_npu does
    memory_calls.copy = copy_by_acl;
    memory_calls.copy_async = copy_async_by_acl;
    memory_calls.set_async = set_async_by_acl;
}

static inline bool name_is(const struct fp_event *event, const char *name) {
    return strcmp(collected_name(&all, event->name), name) == 0;
}

static inline void check_kernel(const struct collected_event *kept) {
    const struct fp_event *event = &kept->event;
    CHECK_EQUAL(event->device, 0);
    CHECK_EQUAL(event->fields & (FP_HAS_GEOMETRY | FP_HAS_REGISTERS | FP_HAS_SHARED | FP_HAS_OCCUPANCY |
                                 FP_HAS_QUEUED | FP_HAS_CONTEXT),
                0);
    CHECK(event->fields & FP_HAS_STREAM, "a kernel has no stream");
    CHECK_EQUAL(kept->event.extra_count, 1);
    CHECK(strcmp(collected_name(&all, kept->extras[0].key), "task type") == 0, "another extra");
    CHECK(strcmp(collected_name(&all, kept->extras[0].value.text), "KERNEL_AICORE") == 0, "another type");
}

static inline void check_set(const struct fp_event *event) {
    CHECK(name_is(event, "Memset (Device)"), "%s", collected_name(&all, event->name));
    CHECK_EQUAL(event->u.set.bytes, 32);
    CHECK_EQUAL(event->u.set.value, 3);
    CHECK_EQUAL(event->fields & (FP_HAS_BYTES | FP_HAS_VALUE | FP_IS_ASYNC | FP_HAS_STREAM),
                FP_HAS_BYTES | FP_HAS_VALUE | FP_IS_ASYNC); // on the default stream, which has no number here
}

static inline void check_work(void) {
    uint64_t bytes = 0, directions = 0, waiting = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind == FP_KIND_KERNEL)
            check_kernel(&all.events[at]);
        if (event->kind == FP_KIND_MEMSET)
            check_set(event);
        if (event->kind != FP_KIND_MEMCPY)
            continue;
        bytes += event->u.copy.bytes;
        directions += name_is(event, "Memcpy HtoD (Host -> Device)") ||
                      name_is(event, "Memcpy DtoD (Device -> Device)") ||
                      name_is(event, "Memcpy DtoH (Device -> Host)");
        waiting += (event->fields & FP_IS_ASYNC) == 0;
        CHECK_EQUAL(event->fields & FP_HAS_STREAM, 0);
    }
    CHECK_EQUAL(bytes, is_preloaded ? 512 + 256 + 128 : 0);
    CHECK_EQUAL(directions, is_preloaded ? 3 : 0);
    CHECK_EQUAL(waiting, is_preloaded ? 1 : 0);
}

// One call for each id, and never one that no level of the software is named by.
static inline void check_calls(void) {
    size_t launches = 0, low = 0, graphs = 0, waits = 0, copies = 0, captures = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind <= FP_KIND_MEMSET)
            continue;
        CHECK_EQUAL(event->kind, FP_KIND_RUNTIME);
        CHECK_EQUAL(event->fields & FP_HAS_CBID, 0);
        CHECK(!name_is(event, "launch") && !name_is(event, "rtMemcpy"), "a level is shown as a call");
        launches += name_is(event, "aclrtLaunchKernel") && event->fields & FP_IS_LAUNCH;
        low += name_is(event, "rtKernelLaunch") && event->fields & FP_IS_LAUNCH;
        graphs += name_is(event, "aclmdlRIExecuteAsync") && event->fields & FP_IS_LAUNCH;
        waits += name_is(event, "aclrtSynchronizeDevice") && event->vendor_id.value == 0;
        copies +=
            strncmp(collected_name(&all, event->name), "aclrtMem", 8) == 0 && event->fields & FP_IS_LAUNCH;
        captures += (event->fields & (FP_BEGINS_CAPTURE | FP_ENDS_CAPTURE)) != 0;
    }
    CHECK_EQUAL(launches, LAUNCHES - LAUNCHES / 5 + GRAPH_KERNELS); // those that were captured, too
    CHECK_EQUAL(low, LAUNCHES / 5);
    CHECK_EQUAL(graphs, GRAPH_LAUNCHES);
    CHECK_EQUAL(copies, is_preloaded ? 4 : 0);
    CHECK_EQUAL(captures, 2);
    CHECK(waits > 0, "waits carry another call's id");
}

static inline void check_recording(void) {
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), is_preloaded ? truth.copies : 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMSET), is_preloaded ? truth.sets : 0);
    CHECK_EQUAL(collected_lost(&all), 0);
    check_device_counts();
    check_owners();
    check_work();
    check_calls();
}

static inline void whole(void) {
    load_ascendcl();
    record();
    check_recording();
}

static inline void whole_though_drained_on_the_way(void) {
    drains_on_the_way = true;
    whole();
}

// ---- Scenarios that the ablation test shares

// Every nth kernel has no time: counted, said, and everything else as it was.
static inline void raw_counters(void) {
    load_ascendcl();
    record();
    uint64_t strange = all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED];
    CHECK(strange > 0, "the fault did nothing, or was believed");
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL) + strange, truth.kernels);
    CHECK(strstr(all.notes, "raw counter"), "it is not said: %s", all.notes);
    check_owners();
}

static inline void another_clock(void) {
    load_ascendcl();
    record();
    CHECK_EQUAL(all.event_count, 0);
    CHECK_EQUAL(all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED], truth.kernels);
    CHECK(strstr(all.notes, "raw counter"), "it is not said: %s", all.notes);
}

// More buffers are wanted than there are: what went into spares is counted, and that more is missing is said.
static inline void without_room(void) {
    load_ascendcl();
    record();
    CHECK(truth.buffers_refused > 0, "there was room");
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED] >= truth.buffers_refused, "it is not told");
    uint64_t spared = 0;
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        spared += all.lost[kind][FP_LOSS_DROPPED];
    CHECK(spared > 0, "what went into spares is not counted");
}

// MSPTI counts nothing: what the recording can know is launches without device work.
static inline void dropped(void) {
    load_ascendcl();
    record();
    uint64_t gone = truth.records[FLAGSIM_FATE_DROPPED][FLAGSIM_RECORD_KERNEL] +
                    truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL];
    CHECK(gone > 0, "the fault did nothing");
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL) + gone, truth.kernels);
    check_device_counts();
    check_owners();
}

static inline void unknown_kinds(void) {
    load_ascendcl();
    scenario_unknown_kinds();
}

// Two threads in step, of which each takes off the other's id: every record names the second one's.
enum { STEPS = 40 };
static pthread_barrier_t step;

static inline void launch_under(int number, bool is_first) {
    flagsim_kernel_info info = { .name = kernel_name(number), .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    if (!is_first)
        pthread_barrier_wait(&step);
    push(FP_ID_OPERATOR, (uint64_t)(OPERATOR + number));
    if (is_first)
        pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    pthread_barrier_wait(&step);
    if (!is_first)
        pthread_barrier_wait(&step);
    pop(FP_ID_OPERATOR);
    if (is_first)
        pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
}

static inline void *launch_beside(void *owner) {
    (void)owner;
    for (int i = 0; i < STEPS; i++)
        launch_under(2 * i + 1, false);
    return NULL;
}

static inline void launch_in_step(void) {
    pthread_t other;
    CHECK_EQUAL(pthread_barrier_init(&step, NULL, 2), 0);
    CHECK_EQUAL(pthread_create(&other, NULL, launch_beside, NULL), 0);
    for (int i = 0; i < STEPS; i++)
        launch_under(2 * i, true);
    pthread_join(other, NULL);
    flagsim_device_synchronize();
}

// What is launched under no operator, right behind one that lasted.
static inline void launch_under_none(void) {
    flagsim_kernel_info info = { .name = "alone", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    push(FP_ID_OPERATOR, OPERATOR + STEPS);
    nanosleep(&(struct timespec){ .tv_nsec = 8000000 }, NULL);
    pop(FP_ID_OPERATOR);
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    flagsim_device_synchronize();
}

// A kernel has the operator of its number, one without a number has none.
static inline void check_numbers(size_t kernels) {
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), kernels);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int number;
        if (event->kind != FP_KIND_KERNEL)
            continue;
        bool has_owner = sscanf(collected_name(&all, event->name), "kernel_%d", &number) == 1;
        CHECK_EQUAL(collected_id(&all, FP_ID_OPERATOR, event->vendor_id.value),
                    has_owner ? OPERATOR + number : -1);
    }
}

static inline void in_step(void) {
    load_ascendcl();
    open_tracer();
    collect_begin(&all);
    start();
    launch_under_none();
    CHECK_EQUAL(stop(), 0);
    start();
    launch_in_step();
    CHECK_EQUAL(stop(), 0);
    check_numbers(1 + 2 * STEPS);
}

static inline void rest(void) {
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static inline void *launch_over_anothers(void *owner) {
    flagsim_kernel_info info = { .name = kernel_name(LAUNCHES), .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    (void)owner;
    pthread_barrier_wait(&step);
    push(FP_ID_OPERATOR, OPERATOR + LAUNCHES);
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    rest();
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    rest();
    pop(FP_ID_OPERATOR);
    return NULL;
}

// The record names an id of another thread, which was there before the launching thread's own and after it.
static inline void left_over(void) {
    pthread_t other;
    load_ascendcl();
    open_tracer();
    collect_begin(&all);
    start();
    for (int i = 0; i < LAUNCHES; i++)
        launch(i);
    CHECK_EQUAL(pthread_barrier_init(&step, NULL, 2), 0);
    CHECK_EQUAL(pthread_create(&other, NULL, launch_over_anothers, NULL), 0);
    push(FP_ID_OPERATOR, OPERATOR + 3000);
    rest();
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    pop(FP_ID_OPERATOR); // takes off the other's
    pthread_barrier_wait(&step);
    pthread_join(other, NULL);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    check_numbers(LAUNCHES + 2);
}

static inline void many_threads(void) {
    load_ascendcl();
    scenario_threads();
}

static inline void on_physical_devices(void) {
    setenv("ASCEND_RT_VISIBLE_DEVICES", "5,3", 1);
    load_ascendcl();
    open_tracer();
    collect_begin(&all);
    start();
    CHECK_EQUAL(flagsim_set_device(1), 0);
    launch(1);
    flagsim_device_synchronize();
    CHECK_EQUAL(flagsim_set_device(0), 0);
    launch(2);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 2);
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            CHECK_EQUAL(all.events[at].event.device, name_is(&all.events[at].event, "kernel_1") ? 1 : 0);
    CHECK(!strstr(all.notes, "ASCEND_RT_VISIBLE_DEVICES"), "%s", all.notes);
}

#endif
