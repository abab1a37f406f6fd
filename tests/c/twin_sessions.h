// twin_sessions.h - whole sessions on a simulated copy of CUPTI, for the tests of each vendor that has one.
//
// In:  the vendor under test (twin_vendor).
// Out: a program that is recorded, and what FlagProf says it recorded and lost, to be compared with what
//      the simulator knows that it did. Each case runs in a process of its own, since faults, libraries
//      and registrations are a process's.
#ifndef TWIN_SESSIONS_H
#define TWIN_SESSIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect_sink.h"
#include "flagsim.h"

static const struct fp_tracer_ops *ops; // set by the test's main
static const char *library;

// ---- A process for each case

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                  \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, "\n");                                                                           \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

#define CHECK_EQUAL(left, right)                                                                             \
    do {                                                                                                     \
        long long l_ = (long long)(left), r_ = (long long)(right);                                           \
        CHECK(l_ == r_, "%lld is not %lld", l_, r_);                                                         \
    } while (0)

static unsigned case_seconds = 60;

static inline int run_case(const char *faults, void (*scenario)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("FLAGOS_SIM_FAULTS", faults, 1);
        CHECK_EQUAL(flagsim_faults_set(faults), 0); // where a library has read the environment already
        alarm(case_seconds);
        scenario();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static inline void run(const char *faults, void (*scenario)(void)) {
    int status = run_case(faults, scenario);
    if (WIFSIGNALED(status))
        fail_msg("with faults [%s]: ended by signal %d", faults, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("with faults [%s]: see above", faults);
}

// ---- The program that is recorded

enum { LAUNCHES = 40, GRAPH_KERNELS = 3, GRAPH_LAUNCHES = 2, OPERATOR = 4000000, RANGE = 9000000 };

static struct fp_tracer *tracer;
static atomic_int failed_pushes;

static inline void push(enum fp_id_kind kind, uint64_t id) {
    atomic_fetch_add(&failed_pushes, ops->push(tracer, kind, id) != 0);
}

static inline void pop(enum fp_id_kind kind) {
    ops->pop(tracer, kind, NULL);
}

static inline void nothing(void *arg) {
    (void)arg;
}

static inline const char *kernel_name(int number) {
    char text[64];
    snprintf(text, sizeof(text), "kernel_%d", number);
    return flagsim_intern(text);
}

static inline void launch(int number) {
    flagsim_kernel_info info = {
        .name = kernel_name(number),
        .grid = { (uint32_t)number + 1, 2, 1 },
        .block = { 64, 4, 1 },
        .registers = 20,
        .shared_static_bytes = 100,
        .shared_dynamic_bytes = 28,
        .flags = number % 5 == 0 ? FLAGSIM_LAUNCH_LOW_LEVEL : 0,
    };
    push(FP_ID_OPERATOR, (uint64_t)(OPERATOR + number));
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    pop(FP_ID_OPERATOR);
}

static inline void launch_graph(void) {
    flagsim_graph *graph = NULL;
    flagsim_graph_exec *exec = NULL;
    flagsim_kernel_info info = { .name = kernel_name(1000), .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
    flagsim_stream *stream = NULL;
    CHECK_EQUAL(flagsim_stream_create(&stream), 0);
    CHECK_EQUAL(flagsim_capture_begin(stream), 0);
    for (int i = 0; i < GRAPH_KERNELS; i++)
        CHECK_EQUAL(flagsim_launch(stream, nothing, NULL, 0, &info), 0);
    CHECK_EQUAL(flagsim_capture_end(stream, &graph), 0);
    CHECK_EQUAL(flagsim_graph_instantiate(graph, &exec), 0);
    push(FP_ID_OPERATOR, OPERATOR + 1000);
    for (int i = 0; i < GRAPH_LAUNCHES; i++)
        CHECK_EQUAL(flagsim_graph_launch(exec, stream), 0);
    pop(FP_ID_OPERATOR);
    CHECK_EQUAL(flagsim_stream_synchronize(stream), 0);
    flagsim_graph_exec_destroy(exec);
    flagsim_graph_destroy(graph);
}

// How this vendor's program copies and sets, where that is not the simulator's own call.
static struct {
    int (*copy_async)(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                      flagsim_stream *stream);
    int (*copy)(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind);
    int (*set_async)(void *dst, int value, size_t bytes, flagsim_stream *stream);
    int (*peer_copy_async)(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                           flagsim_stream *stream); // NULL: none is made
} memory_calls = { flagsim_memcpy_async, flagsim_memcpy, flagsim_memset_async, NULL };

static inline void copy_to_peer(const void *device) {
    void *peer = NULL;
    CHECK_EQUAL(flagsim_set_device(1), 0);
    CHECK_EQUAL(flagsim_malloc(&peer, 64), 0);
    CHECK_EQUAL(flagsim_set_device(0), 0);
    CHECK_EQUAL(memory_calls.peer_copy_async(peer, 1, device, 0, 64, NULL), 0);
}

static inline void copy_and_set(void) {
    static char host[512];
    void *device = NULL, *other = NULL;
    CHECK_EQUAL(flagsim_malloc(&device, 512), 0);
    CHECK_EQUAL(flagsim_malloc(&other, 512), 0);
    push(FP_ID_OPERATOR, OPERATOR + 2000);
    CHECK_EQUAL(memory_calls.copy_async(device, host, 512, FLAGSIM_COPY_HTOD, NULL), 0);
    CHECK_EQUAL(memory_calls.copy_async(other, device, 256, FLAGSIM_COPY_DTOD, NULL), 0);
    if (memory_calls.peer_copy_async)
        copy_to_peer(device);
    CHECK_EQUAL(memory_calls.copy(host, device, 128, FLAGSIM_COPY_DTOH), 0);
    CHECK_EQUAL(memory_calls.set_async(device, 3, 32, NULL), 0);
    pop(FP_ID_OPERATOR);
    flagsim_device_synchronize();
    flagsim_free(device);
    flagsim_free(other);
}

static inline void work(void) {
    flagsim_stream_query(NULL); // a call whose name no table of ours has
    push(FP_ID_RANGE, RANGE);
    for (int i = 0; i < LAUNCHES; i++)
        launch(i);
    pop(FP_ID_RANGE);
    copy_and_set();
    launch_graph();
    flagsim_device_synchronize();
}

// ---- A session around it

static struct collected all;
static atomic_int wakes;
static flagsim_truth truth;
static bool drains_on_the_way; // as the recording's thread does

static inline void count_wake(void *owner) {
    (void)owner;
    atomic_fetch_add(&wakes, 1);
}

static inline void open_tracer(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK(ops->open(&options, &tracer, &err) == 0, "%s", err.text);
}

static inline void start(void) {
    struct fp_error err = { "" };
    struct fp_session_options options = { .size = sizeof(options), .wake = count_wake };
    CHECK(ops->start(tracer, &options, &err) == 0, "%s", err.text);
}

static inline int stop(void) {
    struct fp_error err = { "" };
    if (drains_on_the_way)
        ops->drain(tracer, &all.sink);
    int result = ops->stop(tracer, 1000000000, &err);
    ops->drain(tracer, &all.sink);
    return result;
}

static inline void read_truth(void) {
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
}

static inline void record(void) {
    open_tracer();
    collect_begin(&all);
    flagsim_truth_reset();
    start();
    work();
    CHECK_EQUAL(stop(), 0);
    read_truth();
}

static const struct {
    enum fp_kind kind;
    flagsim_record record;
} device_kinds[] = {
    { FP_KIND_KERNEL, FLAGSIM_RECORD_KERNEL },
    { FP_KIND_MEMCPY, FLAGSIM_RECORD_COPY },
    { FP_KIND_MEMSET, FLAGSIM_RECORD_SET },
};

// The ledger's figures against the simulator's.
static inline void check_device_counts(void) {
    for (size_t i = 0; i < 3; i++) {
        const uint64_t *lost = all.lost[device_kinds[i].kind];
        flagsim_record family = device_kinds[i].record;
        CHECK_EQUAL(collected_count(&all, device_kinds[i].kind) + lost[FP_LOSS_NO_TIMING] +
                        lost[FP_LOSS_MALFORMED],
                    truth.records[FLAGSIM_FATE_DELIVERED][family]);
        CHECK_EQUAL(lost[FP_LOSS_NO_TIMING], truth.records[FLAGSIM_FATE_NO_TIMING][family]);
        CHECK_EQUAL(lost[FP_LOSS_MALFORMED], truth.records[FLAGSIM_FATE_END_BEFORE_START][family]);
    }
}

static inline const struct fp_event *call_of(uint32_t vendor_id) {
    const struct fp_event *found = NULL;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if ((event->kind == FP_KIND_RUNTIME || event->kind == FP_KIND_DRIVER) &&
            event->vendor_id.value == vendor_id && event->fields & FP_IS_LAUNCH) {
            CHECK(!found, "two launches carry id %u", vendor_id);
            found = event;
        }
    }
    return found;
}

static bool launches_by_the_driver; // the vendor records the lower interface's calls as its driver's

// Each device event belongs to the operator under which it was issued, and to the call that started it.
static inline void check_owners(void) {
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind > FP_KIND_MEMSET)
            continue;
        int number = 2000;
        if (event->kind == FP_KIND_KERNEL)
            CHECK_EQUAL(sscanf(collected_name(&all, event->name), "kernel_%d", &number), 1);
        CHECK_EQUAL(collected_id(&all, FP_ID_OPERATOR, event->vendor_id.value), OPERATOR + number);
        CHECK_EQUAL(collected_id(&all, FP_ID_RANGE, event->vendor_id.value), number < LAUNCHES ? RANGE : -1);
        const struct fp_event *call = call_of(event->vendor_id.value);
        CHECK(call, "%s has no launch", collected_name(&all, event->name));
        CHECK_EQUAL(call->u.call.thread, getpid());
        if (launches_by_the_driver && event->kind == FP_KIND_KERNEL && number < LAUNCHES)
            CHECK_EQUAL(call->kind, number % 5 == 0 ? FP_KIND_DRIVER : FP_KIND_RUNTIME);
    }
}

// Every field of every kernel that this program launched outside of the graph.
static inline void check_kernels(void) {
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int number;
        if (event->kind != FP_KIND_KERNEL ||
            sscanf(collected_name(&all, event->name), "kernel_%d", &number) != 1 || number >= LAUNCHES)
            continue;
        CHECK_EQUAL(event->u.kernel.grid[0], number + 1);
        CHECK_EQUAL(event->u.kernel.grid[1], 2);
        CHECK_EQUAL(event->u.kernel.block[0], 64);
        CHECK_EQUAL(event->u.kernel.block[1], 4);
        CHECK_EQUAL(event->u.kernel.registers_per_thread, 20);
        CHECK_EQUAL(event->u.kernel.shared_bytes, 128);
        CHECK_EQUAL(event->device, 0);
        CHECK_EQUAL(event->stream, 7);
        CHECK_EQUAL(all.events[at].event.extra_count, 0);
    }
}

static inline void check_copies(void) {
    uint64_t bytes = 0, directions = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        const char *name = collected_name(&all, event->name);
        if (event->kind == FP_KIND_MEMSET) {
            CHECK(strncmp(name, "Memset (", 8) == 0, "%s", name);
            CHECK_EQUAL(event->u.set.bytes, 32);
            CHECK_EQUAL(event->u.set.value, 3);
        }
        if (event->kind != FP_KIND_MEMCPY)
            continue;
        bytes += event->u.copy.bytes;
        directions += strcmp(name, "Memcpy HtoD (Pageable -> Device)") == 0 ||
                      strcmp(name, "Memcpy DtoD (Device -> Device)") == 0 ||
                      strcmp(name, "Memcpy DtoH (Device -> Pageable)") == 0;
    }
    CHECK_EQUAL(bytes, 512 + 256 + 128);
    CHECK_EQUAL(directions, 3);
}

// Each piece of work that the simulator did is there, once.
static inline void check_counts(void) {
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), truth.copies);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMSET), truth.sets);
}

static inline void check_whole(void) {
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), LAUNCHES + GRAPH_KERNELS * GRAPH_LAUNCHES);
    check_counts();
    CHECK_EQUAL(collected_lost(&all), 0);
    check_device_counts();
    check_owners();
    check_kernels();
    check_copies();
}

static inline int64_t epoch_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- Scenarios that every vendor of the family shares

static inline void scenario_whole(void) {
    record();
    check_whole();
    CHECK(all.notes[0] == '\0', "%s", all.notes);
}

static inline void scenario_faulty_but_whole(void) {
    record();
    check_whole();
}

static inline void scenario_drained_on_the_way(void) {
    drains_on_the_way = true;
    record();
    check_whole();
}

static inline void scenario_odd_times(void) {
    record();
    check_device_counts();
    CHECK(collected_lost(&all) > 0, "the fault did nothing");
}

static inline void scenario_vendor_drops(void) {
    uint64_t dropped = 0;
    record();
    for (int family = 0; family < FLAGSIM_RECORD_COUNT; family++)
        dropped += truth.records[FLAGSIM_FATE_DROPPED][family];
    CHECK(dropped > 0, "the fault did nothing");
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_DROPPED], dropped);
    check_device_counts();
}

static inline void scenario_unknown_kinds(void) {
    record();
    uint64_t foreign = truth.records[FLAGSIM_FATE_FOREIGN][FLAGSIM_RECORD_OTHER];
    CHECK(foreign > 0, "the fault did nothing");
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], foreign);
    check_device_counts();
    check_owners();
}

static inline void scenario_odd_names(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
}

static inline void scenario_clock(void) {
    int64_t begin = epoch_now();
    record();
    int64_t end = epoch_now(), last = begin;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int64_t from = ops->to_epoch(tracer, event->start_ns), to = ops->to_epoch(tracer, event->end_ns);
        CHECK(from >= begin - 100000 && to <= end + 100000, "an event lies %lld ns off",
              (long long)(from - begin));
        last = to > last ? to : last;
    }
    CHECK(last > begin, "nothing was mapped");
}

// A call brings three small records or more, so one buffer of 2 MB holds thousands.
static inline void scenario_many_small_records(void) {
    enum { MANY = 3000 };
    open_tracer();
    collect_begin(&all);
    start();
    for (int i = 0; i < MANY; i++)
        launch(i % LAUNCHES);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), MANY);
    CHECK_EQUAL(collected_count(&all, FP_KIND_DRIVER), MANY / 5); // every fifth is the driver's own
    CHECK_EQUAL(all.correlation_count, MANY);
    CHECK_EQUAL(collected_lost(&all), 0);
}

static inline void scenario_sessions_in_a_row(void) {
    open_tracer();
    for (int i = 0; i < 300; i++) {
        collect_begin(&all);
        start();
        launch(i % LAUNCHES);
        flagsim_device_synchronize();
        CHECK_EQUAL(stop(), 0);
        CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 1);
        CHECK_EQUAL(collected_lost(&all), 0);
        collect_end(&all);
    }
}

static inline void scenario_nothing_armed(void) {
    open_tracer();
    flagsim_truth_reset();
    launch(1);
    flagsim_device_synchronize();
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
    CHECK_EQUAL(truth.registrations, 0);
    CHECK_EQUAL(truth.calls_before_init, 0);
    collect_begin(&all);
    start();
    read_truth();
    CHECK(truth.kinds_armed > 0, "nothing is armed");
    CHECK_EQUAL(stop(), 0);
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
    CHECK_EQUAL(flagsim_observer_count(), 0);
    launch(2);
    flagsim_device_synchronize();
    start(); // what ran between two sessions is in neither
    launch(3);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 1);
    read_truth();
    CHECK_EQUAL(truth.registrations, 2);
}

static inline void scenario_order_of_calls(void) {
    struct fp_error err = { "" };
    struct fp_session_options options = { .size = sizeof(options) };
    open_tracer();
    collect_begin(&all);
    CHECK_EQUAL(ops->stop(tracer, 0, &err), -EINVAL);
    CHECK_EQUAL(ops->drain(tracer, &all.sink), 0);
    start();
    CHECK_EQUAL(ops->start(tracer, &options, &err), -EBUSY);
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(ops->stop(tracer, 0, &err), -EINVAL);
    start();
    CHECK_EQUAL(stop(), 0);
}

static inline void scenario_push_failures(void) {
    record();
    CHECK(failed_pushes > 0, "the fault did nothing");
    CHECK_EQUAL(failed_pushes, truth.failed_pushes);
}

static inline void scenario_refused(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENODEV);
    CHECK(strlen(err.text) > strlen(library) + 10, "no reason: %s", err.text);
}

static inline void scenario_replaced(void) {
    record();
    CHECK(truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL] > 0, "the fault did nothing");
    CHECK(strstr(all.notes, "another library"), "nobody is named: %s", all.notes);
    check_device_counts();
}

static inline bool is_absent(enum fp_kind kind) {
    uint64_t lost = 0;
    for (int reason = 0; reason < FP_LOSS_COUNT; reason++)
        lost += all.lost[kind][reason];
    return collected_count(&all, kind) == 0 && lost > 0;
}

// Right events, or none and each counted as lost, or the refusal aloud; never wrong ones.
static inline void scenario_other_layout(void) {
    record();
    if (strstr(all.notes, "other records than are known")) {
        CHECK_EQUAL(all.event_count, 0);
        CHECK_EQUAL(all.correlation_count, 0);
        CHECK(collected_lost(&all) > 0, "what was refused is not counted");
        return;
    }
    CHECK(is_absent(FP_KIND_KERNEL) || collected_count(&all, FP_KIND_KERNEL) == truth.kernels, "kernels");
    CHECK(is_absent(FP_KIND_MEMCPY) || collected_count(&all, FP_KIND_MEMCPY) == truth.copies, "copies");
    CHECK(is_absent(FP_KIND_MEMSET) || collected_count(&all, FP_KIND_MEMSET) == truth.sets, "sets");
    check_owners();
    check_kernels();
    if (!is_absent(FP_KIND_MEMCPY))
        check_copies();
}

// A program that exits in the middle of things leaves memory in use by threads that still run: no leak.
static bool exits_in_the_middle;
// NOLINTNEXTLINE: the leak sanitizer asks by this name
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
// NOLINTNEXTLINE
int __lsan_is_turned_off(void) {
    return exits_in_the_middle;
}

static void (*leave_child)(int status) = _exit;

static inline void scenario_forked(void) {
    open_tracer();
    collect_begin(&all);
    start();
    launch(1);
    pid_t child = fork();
    if (child == 0) {
        struct fp_session_options options = { .size = sizeof(options) };
        exits_in_the_middle = true; // the simulator forgets here what its threads held
        alarm(10);
        CHECK_EQUAL(ops->push(tracer, FP_ID_OPERATOR, 1), 0);
        CHECK_EQUAL(ops->pop(tracer, FP_ID_OPERATOR, NULL), 0);
        CHECK_EQUAL(ops->stop(tracer, 0, NULL), -ECHILD);
        CHECK_EQUAL(ops->start(tracer, &options, NULL), -ECHILD);
        leave_child(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child ended with %x", (unsigned)status);
    launch(2);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 2);
}

static inline void scenario_busy(void) {
    struct fp_session_options options = { .size = sizeof(options) };
    struct fp_error err = { "" };
    open_tracer();
    CHECK_EQUAL(ops->start(tracer, &options, &err), -EBUSY);
    CHECK(strstr(err.text, "nother profiler"), "%s", err.text);
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
}

static inline void scenario_broken_records(void) {
    record();
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND] + all.lost[FP_KIND_COUNT][FP_LOSS_MALFORMED] > 0,
          "none");
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED] > 0, "it is not said that more is missing");
    check_device_counts();
}

static inline void scenario_exits_while_recording(void) {
    exits_in_the_middle = true;
    open_tracer();
    start();
    work();
    exit(0);
}

enum { THREADS = 16 };
static unsigned thread_launches = 100;
static atomic_int threads_done;

static inline void *launch_many(void *owner) {
    uint64_t thread = (uint64_t)(uintptr_t)owner;
    for (uint64_t i = 0; i < thread_launches; i++) {
        flagsim_kernel_info info = { .name = kernel_name((int)(thread * 1000 + i)),
                                     .grid = { 1, 1, 1 },
                                     .block = { 1, 1, 1 } };
        push(FP_ID_OPERATOR, OPERATOR + thread * 1000 + i);
        CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
        pop(FP_ID_OPERATOR);
    }
    atomic_fetch_add(&threads_done, 1);
    return NULL;
}

static inline void scenario_threads(void) {
    pthread_t threads[THREADS];
    open_tracer();
    collect_begin(&all);
    start();
    for (uint64_t i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, launch_many, (void *)(uintptr_t)i), 0);
    while (atomic_load(&threads_done) < THREADS)
        if (atomic_exchange(&wakes, 0))
            ops->drain(tracer, &all.sink);
        else
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), THREADS * thread_launches);
    CHECK_EQUAL(collected_lost(&all), 0);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int number;
        if (event->kind != FP_KIND_KERNEL)
            continue;
        CHECK_EQUAL(sscanf(collected_name(&all, event->name), "kernel_%d", &number), 1);
        CHECK_EQUAL(collected_id(&all, FP_ID_OPERATOR, event->vendor_id.value), OPERATOR + number);
    }
}

#endif
