// test_cupti_session.c - whole sessions on a simulated CUPTI of each release, sound and with every fault it
// can have.
//
// In:  the facades (sim/cupti), compiled against NVIDIA's own headers. What FlagProf says it recorded and
//      lost is compared with what the simulator knows that it did. Each case runs in a process of its
//      own, since faults, libraries and registrations are a process's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect_sink.h"
#include "emulated.h"
#include "flagprof/flagprof.h"
#include "flagsim.h"
#include "tracers/accelerator.h"
#include "tracers/cupti.h"

static const struct {
    const char *release, *library;
} facades[] = {
    { "11.8", BUILD_DIR "/sim/cupti-11.8/libcupti.so.11.8" },
    { "12.8", BUILD_DIR "/sim/cupti-12.8/libcupti.so.12" },
    { "13.0", BUILD_DIR "/sim/cupti-13.0/libcupti.so.13" },
    { "13.5", BUILD_DIR "/sim/cupti-13.5/libcupti.so.13" },
};

enum { FACADES = sizeof(facades) / sizeof(facades[0]), ALL = -1 };

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
        long long l = (long long)(left), r = (long long)(right);                                             \
        CHECK(l == r, "%lld is not %lld", l, r);                                                             \
    } while (0)

static const char *library; // of the facade under test

// What a scenario leaves unfreed and unreachable; the leak sanitizer itself looks only at an ordinary end.
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void); // NOLINT
static bool leaks(void) {
    return __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0;
}

static void run_on(size_t at, const char *faults, void (*scenario)(void)) {
    library = facades[at].library;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("FLAGOS_SIM_FAULTS", faults, 1);
        alarm(60);
        scenario();
        CHECK(!leaks(), "something is leaked");
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        fail_msg("CUPTI %s with faults [%s]: ended by signal %d", facades[at].release, faults,
                 WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("CUPTI %s with faults [%s]: see above", facades[at].release, faults);
}

// On every facade that is built.
static void run(const char *faults, void (*scenario)(void)) {
    int seen = 0;
    for (size_t at = 0; at < FACADES; at++) {
        if (access(facades[at].library, R_OK) != 0)
            continue;
        seen++;
        run_on(at, faults, scenario);
    }
    if (!seen) {
        print_message("skipped: no CUPTI facade is built (scripts/fetch_cupti.py brings the headers)\n");
        skip();
    }
}

// ---- The program that is recorded

enum { LAUNCHES = 40, GRAPH_KERNELS = 3, GRAPH_LAUNCHES = 2, OPERATOR = 4000000, RANGE = 9000000 };

static struct fp_tracer *tracer;
static atomic_int failed_pushes;

static void push(enum fp_id_kind kind, uint64_t id) {
    if (fp_cupti_ops.push(tracer, kind, id) != 0)
        atomic_fetch_add(&failed_pushes, 1);
}

static void pop(enum fp_id_kind kind) {
    fp_cupti_ops.pop(tracer, kind, NULL);
}

static void nothing(void *arg) {
    (void)arg;
}

static const char *kernel_name(int number) {
    char text[64];
    snprintf(text, sizeof(text), "kernel_%d", number);
    return flagsim_intern(text);
}

static void launch(int number) {
    flagsim_kernel_info info = {
        .name = kernel_name(number),
        .grid = { (uint32_t)number + 1, 2, 1 },
        .block = { 64, 1, 1 },
        .registers = 20,
        .shared_static_bytes = 100,
        .shared_dynamic_bytes = 28,
        .flags = number % 5 == 0 ? FLAGSIM_LAUNCH_LOW_LEVEL : 0,
    };
    push(FP_ID_OPERATOR, OPERATOR + (uint64_t)number);
    CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
    pop(FP_ID_OPERATOR);
}

static void launch_graph(void) {
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

static void copy_and_set(void) {
    static char host[512];
    void *device = NULL, *other = NULL, *peer = NULL;
    CHECK_EQUAL(flagsim_malloc(&device, 512), 0);
    CHECK_EQUAL(flagsim_malloc(&other, 512), 0);
    CHECK_EQUAL(flagsim_set_device(1), 0);
    CHECK_EQUAL(flagsim_malloc(&peer, 512), 0);
    CHECK_EQUAL(flagsim_set_device(0), 0);
    push(FP_ID_OPERATOR, OPERATOR + 2000);
    CHECK_EQUAL(flagsim_memcpy_async(device, host, 512, FLAGSIM_COPY_HTOD, NULL), 0);
    CHECK_EQUAL(flagsim_memcpy_async(other, device, 256, FLAGSIM_COPY_DTOD, NULL), 0);
    CHECK_EQUAL(flagsim_memcpy_peer_async(peer, 1, device, 0, 64, NULL), 0);
    CHECK_EQUAL(flagsim_memcpy(host, device, 128, FLAGSIM_COPY_DTOH), 0);
    CHECK_EQUAL(flagsim_memset_async(device, 3, 32, NULL), 0);
    pop(FP_ID_OPERATOR);
    flagsim_device_synchronize();
    flagsim_free(device);
    flagsim_free(other);
}

static void work(void) {
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

static void count_wake(void *owner) {
    (void)owner;
    atomic_fetch_add(&wakes, 1);
}

static void open_tracer(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK(fp_cupti_ops.open(&options, &tracer, &err) == 0, "%s", err.text);
}

static void start(void) {
    struct fp_error err = { "" };
    struct fp_session_options options = { .size = sizeof(options), .wake = count_wake };
    CHECK(fp_cupti_ops.start(tracer, &options, &err) == 0, "%s", err.text);
}

static int stop(void) {
    struct fp_error err = { "" };
    int result = fp_cupti_ops.stop(tracer, 1000000000, &err);
    fp_cupti_ops.drain(tracer, &all.sink);
    return result;
}

static void read_truth(void) {
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
}

static void record(void) {
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
static void check_device_counts(void) {
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

static const struct fp_event *call_of(uint32_t vendor_id) {
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

// Each device event belongs to the operator under which it was issued, and to the call that started it.
static void check_owners(void) {
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
        if (event->kind == FP_KIND_KERNEL && number < LAUNCHES)
            CHECK_EQUAL(call->kind, number % 5 == 0 ? FP_KIND_DRIVER : FP_KIND_RUNTIME);
        CHECK_EQUAL(call->u.call.thread, getpid());
    }
}

// ---- Sound sessions

static void sound(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), LAUNCHES + GRAPH_KERNELS * GRAPH_LAUNCHES);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), truth.copies);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMSET), truth.sets);
    CHECK_EQUAL(collected_lost(&all), 0);
    CHECK(all.notes[0] == '\0', "%s", all.notes);
    check_device_counts();
    check_owners();
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int number;
        if (event->kind != FP_KIND_KERNEL ||
            sscanf(collected_name(&all, event->name), "kernel_%d", &number) != 1 || number >= LAUNCHES)
            continue;
        CHECK_EQUAL(event->u.kernel.grid[0], number + 1);
        CHECK_EQUAL(event->u.kernel.block[0], 64);
        CHECK_EQUAL(event->u.kernel.registers_per_thread, 20);
        CHECK_EQUAL(event->u.kernel.shared_bytes, 128);
        CHECK(event->fields & FP_HAS_OCCUPANCY, "no estimate");
    }
}

static void everything_is_recorded_and_owned_by_its_operator(void **state) {
    (void)state;
    run("", sound);
}

static void nothing_armed(void) {
    open_tracer();
    flagsim_truth_reset();
    launch(1);
    flagsim_device_synchronize();
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
    CHECK_EQUAL(truth.registrations, 0);
    CHECK_EQUAL(flagsim_observer_count(), 0);
    collect_begin(&all);
    start();
    read_truth();
    CHECK(truth.kinds_armed > 0, "nothing is armed");
    CHECK_EQUAL(truth.registrations, 1);
    CHECK_EQUAL(stop(), 0);
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
    CHECK_EQUAL(flagsim_observer_count(), 0);
    launch(2);
    flagsim_device_synchronize();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 0);
    start(); // what ran between two sessions is in neither
    launch(3);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 1);
    read_truth();
    CHECK_EQUAL(truth.registrations, 2);
}

static void nothing_is_armed_before_a_session_nor_after_it(void **state) {
    (void)state;
    run("", nothing_armed);
}

static void order_of_calls(void) {
    struct fp_error err = { "" };
    struct fp_session_options options = { .size = sizeof(options) };
    open_tracer();
    collect_begin(&all);
    CHECK_EQUAL(fp_cupti_ops.stop(tracer, 0, &err), -EINVAL);
    CHECK_EQUAL(fp_cupti_ops.drain(tracer, &all.sink), 0);
    start();
    CHECK_EQUAL(fp_cupti_ops.start(tracer, &options, &err), -EBUSY);
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(fp_cupti_ops.stop(tracer, 0, &err), -EINVAL);
    start();
    CHECK_EQUAL(stop(), 0);
}

static void start_twice_and_stop_without_start_are_refused_and_harm_nothing(void **state) {
    (void)state;
    run("", order_of_calls);
}

static void sessions_in_a_row(void) {
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

static size_t threads_now(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder, "no /proc");
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static size_t resident_bytes(void) {
    size_t total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%zu %zu", &total, &resident) == 2, "no /proc");
    fclose(file);
    return resident * 4096;
}

// Where each access is watched, a tenth has to do: what is left behind is asked only of the real allocator anyway.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SESSIONS = 100 };
#else
enum { SESSIONS = 1000 };
#endif

static void a_thousand_sessions(void) {
    struct fp_accelerator *accelerator = NULL;
    size_t threads = 0, allocated = 0, resident = 0;
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK_EQUAL(fp_accelerator_choose(&accelerator, NULL), 0);
    tracer = accelerator->tracer;
    for (int session = 0; session < SESSIONS; session++) {
        struct fp_recording *recording = NULL;
        CHECK_EQUAL(fp_recording_start(accelerator, NULL, &recording, NULL), 0);
        for (int i = 0; i < 10; i++)
            launch(i);
        flagsim_device_synchronize();
        CHECK_EQUAL(fp_recording_stop(recording, 0, NULL), 0);
        CHECK_EQUAL(fp_recording_finish(recording, INT64_MIN, INT64_MAX, NULL), 0);
        fp_recording_free(recording);
        if (session == 10) {
            threads = threads_now();
            allocated = mallinfo2().uordblks + mallinfo2().hblkhd;
            resident = resident_bytes();
        }
    }
    // A thread that was joined may still be on its way out.
    for (int at = 0; at < 5000 && threads_now() != threads; at++)
        usleep(1000);
    CHECK_EQUAL(threads_now(), threads);
    if (allocated == 0)
        return; // a sanitizer's allocator, which keeps freed memory on purpose
    size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
    CHECK(now < allocated + 100000, "%zu bytes are allocated, %zu after ten sessions", now, allocated);
    CHECK(resident_bytes() < resident + (1 << 20), "%zu bytes are resident, %zu after ten sessions",
          resident_bytes(), resident);
}

static void a_thousand_sessions_leave_nothing_behind(void **state) {
    (void)state;
    SKIP_IF_EMULATED("an emulator keeps something for each thread that ever was");
    run("", a_thousand_sessions);
}

static void many_sessions_in_one_process_each_hold_their_own(void **state) {
    (void)state;
    run("", sessions_in_a_row);
}

static atomic_int threads_done;

static void *launch_many(void *owner) {
    uint64_t thread = (uint64_t)(uintptr_t)owner;
    for (uint64_t i = 0; i < 200; i++) {
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

static void threads_at_once(void) {
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    open_tracer();
    collect_begin(&all);
    start();
    for (uint64_t i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, launch_many, (void *)(uintptr_t)i), 0);
    while (atomic_load(&threads_done) < THREADS)
        if (atomic_exchange(&wakes, 0))
            fp_cupti_ops.drain(tracer, &all.sink);
        else
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), THREADS * 200);
    CHECK_EQUAL(collected_lost(&all), 0);
    for (size_t at = 0; at < all.event_count; at++) {
        int number;
        if (all.events[at].event.kind == FP_KIND_KERNEL) {
            CHECK_EQUAL(sscanf(collected_name(&all, all.events[at].event.name), "kernel_%d", &number), 1);
            CHECK_EQUAL(collected_id(&all, FP_ID_OPERATOR, all.events[at].event.vendor_id.value),
                        OPERATOR + number);
        }
    }
}

static void many_threads_push_while_another_drains(void **state) {
    (void)state;
    if (access(facades[2].library, R_OK) != 0)
        skip();
    run_on(2, "tiny_buffers=65536", threads_at_once);
}

// ---- Faults

static void faulty_but_whole(void) {
    record();
    check_device_counts();
    check_owners();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_lost(&all), 0);
}

static void faults_that_lose_nothing_change_nothing(void **state) {
    (void)state;
    static const char *const faults[] = { "tiny_buffers",
                                          "tiny_buffers=600,late_buffers",
                                          "out_of_order",
                                          "tiny_buffers,late_correlation",
                                          "clock_domain",
                                          "flush_completion_thread,tiny_buffers",
                                          "nested_own_id",
                                          "nested_driver_call",
                                          "hang_flush=50",
                                          "other_subscriber",
                                          "tiny_buffers,out_of_order,late_correlation" };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        run(faults[i], faulty_but_whole);
}

static void faulty_device_records(void) {
    record();
    check_device_counts();
    CHECK(collected_lost(&all) > 0, "the fault did nothing");
}

static void records_without_times_or_with_impossible_ones_are_counted(void **state) {
    (void)state;
    run("timing_zero", faulty_device_records);
    run("end_before_start", faulty_device_records);
    run("timing_zero=4,end_before_start=3,tiny_buffers", faulty_device_records);
}

static void vendor_drops(void) {
    record();
    uint64_t dropped = 0;
    for (int family = 0; family < FLAGSIM_RECORD_COUNT; family++)
        dropped += truth.records[FLAGSIM_FATE_DROPPED][family];
    CHECK(dropped > 0, "the fault did nothing");
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_DROPPED], dropped);
    check_device_counts();
}

static void what_the_vendor_says_it_dropped_is_counted(void **state) {
    (void)state;
    run("drop_records", vendor_drops);
}

static void unknown_kinds(void) {
    record();
    uint64_t foreign = truth.records[FLAGSIM_FATE_FOREIGN][FLAGSIM_RECORD_OTHER];
    CHECK(foreign > 0, "the fault did nothing");
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], foreign);
    check_device_counts();
    check_owners();
}

static void records_of_unknown_kind_are_counted_and_stepped_over(void **state) {
    (void)state;
    run("unknown_kind", unknown_kinds);
}

static void broken_records(void) {
    record();
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND] + all.lost[FP_KIND_COUNT][FP_LOSS_MALFORMED] > 0,
          "none");
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED] > 0, "it is not said that more is missing");
    check_device_counts();
}

static void a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing(void **state) {
    (void)state;
    run("broken_record,tiny_buffers=8000", broken_records);
}

static void odd_names(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
}

static void names_that_are_missing_or_very_long_do_no_harm(void **state) {
    (void)state;
    run("name_null", odd_names);
    run("name_8k", odd_names);
}

static void clock_mapped(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t begin = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    record();
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t end = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        CHECK(event->start_ns >= begin - 100000 && event->end_ns <= end + 100000, "an event lies %lld ns off",
              (long long)(event->start_ns - begin));
    }
    CHECK(strstr(all.notes, "clock"), "nothing is said of it");
}

static void times_of_another_clock_come_out_in_the_epoch(void **state) {
    (void)state;
    run("clock_domain", clock_mapped);
}

static void mismatch(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    if (fp_cupti_ops.open(&options, &tracer, &err) != 0) { // the version it claims is of another CUDA major
        CHECK(strstr(err.text, "the process has loaded the runtime of CUDA"), "%s", err.text);
        return;
    }
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
    check_owners();
}

static void a_version_that_lies_about_record_sizes_is_not_believed(void **state) {
    (void)state;
    run("version_mismatch", mismatch);
}

static void push_failures(void) {
    record();
    CHECK(failed_pushes > 0, "the fault did nothing");
    CHECK_EQUAL(failed_pushes, truth.failed_pushes);
}

static void a_push_that_fails_is_reported(void **state) {
    (void)state;
    run("push_fails", push_failures);
}

static void refused(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(fp_cupti_ops.open(&options, &tracer, &err), -ENODEV);
    CHECK(strlen(err.text) > strlen(library) + 10, "no reason: %s", err.text);
}

static void without_driver_or_device_or_with_another_runtime_it_is_refused_with_the_reason(void **state) {
    (void)state;
    run("no_driver", refused);
    run("no_device", refused);
    run("runtime_mismatch", refused);
}

static void silent(void) {
    open_tracer();
    collect_begin(&all);
    launch(0); // makes the first context
    flagsim_device_synchronize();
    start();
    work();
    stop();
    CHECK_EQUAL(all.event_count, 0);
    CHECK(strstr(all.notes, "flagprof.prepare()"), "the cure is not named: %s", all.notes);
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
}

// The same, as the person reads it; and cured.
static void silent_ledger(bool cured) {
    struct fp_accelerator *accelerator = NULL;
    char sentence[2048];
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK_EQUAL(fp_accelerator_choose(&accelerator, NULL), 0);
    tracer = accelerator->tracer;
    if (cured)
        CHECK_EQUAL(fp_accelerator_prepare(accelerator, NULL), 0);
    launch(0); // makes the first context
    flagsim_device_synchronize();
    flagsim_truth_reset();
    struct fp_recording *recording = NULL;
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    CHECK_EQUAL(fp_recording_start(accelerator, NULL, &recording, NULL), 0);
    for (int i = 0; i < LAUNCHES; i++)
        launch(i);
    flagsim_device_synchronize();
    CHECK_EQUAL(fp_recording_stop(recording, 0, NULL), 0);
    CHECK_EQUAL(fp_recording_finish(recording, INT64_MIN, INT64_MAX, NULL), 0);
    fp_recording_ledger(recording, &ledger);
    fp_ledger_sentence(&ledger, sentence, sizeof(sentence));
    read_truth();
    CHECK_EQUAL(truth.kernels, LAUNCHES);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].kept, cured ? LAUNCHES : 0);
    CHECK_EQUAL(truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL], cured ? 0 : LAUNCHES);
    CHECK_EQUAL(ledger.complete, cured);
    CHECK_EQUAL(ledger.rows[FP_KIND_COUNT].lost[FP_LOSS_UNCOUNTED], cured ? 0 : 1);
    CHECK((strstr(sentence, "MISSING") == NULL) == cured, "%s", sentence);
    CHECK((strstr(fp_recording_notes(recording), "prepare()") == NULL) == cured, "%s",
          fp_recording_notes(recording));
    fp_recording_free(recording);
}

static void ledger_unprepared(void) {
    silent_ledger(false);
}

static void ledger_prepared(void) {
    silent_ledger(true);
}

static void the_ledger_of_such_a_driver_is_incomplete_until_it_is_prepared(void **state) {
    (void)state;
    run("late_registration", ledger_unprepared);
    run("late_registration", ledger_prepared);
}

static void
a_driver_that_wants_callbacks_before_the_first_context_is_found_out_and_the_cure_named(void **state) {
    (void)state;
    run("late_registration", silent);
}

static void prepared(void) {
    open_tracer();
    collect_begin(&all);
    CHECK_EQUAL(fp_cupti_ops.prepare(tracer, NULL), 0);
    read_truth();
    CHECK_EQUAL(truth.kinds_armed, 0);
    launch(0);
    flagsim_device_synchronize();
    flagsim_truth_reset();
    start();
    work();
    CHECK_EQUAL(stop(), 0);
    read_truth();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK(all.notes[0] == '\0', "%s", all.notes);
}

static void prepare_cures_it_and_arms_nothing(void **state) {
    (void)state;
    run("late_registration", prepared);
}

static void replaced(void) {
    record();
    uint64_t taken = truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL];
    CHECK(taken > 0, "the fault did nothing");
    CHECK(strstr(all.notes, "another library"), "nobody is named: %s", all.notes);
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
    check_device_counts();
}

static void being_replaced_during_a_session_is_noticed_and_said(void **state) {
    (void)state;
    run("replaced_callbacks,tiny_buffers", replaced);
}

static void replaced_later(void) {
    record();
    CHECK_EQUAL(collected_lost(&all), 0);
    collect_end(&all);
    collect_begin(&all);
    flagsim_truth_reset();
    start();
    launch(1);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    read_truth();
    CHECK_EQUAL(truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL], 1);
    CHECK_EQUAL(all.event_count, 0);
    CHECK(strstr(all.notes, "another library"), "nobody is named: %s", all.notes);
    CHECK(!strstr(all.notes, "prepare"), "that cures nothing here: %s", all.notes);
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
}

static void being_replaced_before_the_first_buffer_of_a_later_session_is_noticed_and_said(void **state) {
    (void)state;
    run("replaced_callbacks=0,replaced_session=2", replaced_later);
}

static void silent_but_heard(void) {
    record();
    collect_end(&all);
    for (int session = 0; session < 2; session++) {
        collect_begin(&all);
        start();
        push(FP_ID_OPERATOR, 1); // on the host alone
        pop(FP_ID_OPERATOR);
        CHECK_EQUAL(stop(), 0);
        CHECK_EQUAL(all.event_count, collected_count(&all, FP_KIND_OVERHEAD)); // of the call that tries it
        CHECK_EQUAL(collected_lost(&all), 0);
        CHECK(all.notes[0] == '\0', "%s", all.notes);
        collect_end(&all);
    }
}

static void a_session_without_device_work_accuses_nobody(void **state) {
    (void)state;
    run("", silent_but_heard);
}

// ---- Buffers that come after the flush

static void a_buffer_that_comes_after_the_flush_returned_is_waited_for(void **state) {
    (void)state;
    run("buffers_after_flush=5", faulty_but_whole);
    run("buffers_after_flush=5,tiny_buffers=2000", faulty_but_whole);
}

// Longer than anybody waits: not before the next session asks for a buffer.
static void too_late(void) {
    uint64_t kernels = LAUNCHES + GRAPH_KERNELS * GRAPH_LAUNCHES;
    open_tracer();
    collect_begin(&all);
    flagsim_truth_reset();
    start();
    work();
    CHECK_EQUAL(stop(), -ETIMEDOUT);
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED] > 0, "it is not said that records are missing");
    CHECK(strstr(all.notes, "did not come back"), "nothing is said of it: %s", all.notes);
    read_truth();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL),
                truth.records[FLAGSIM_FATE_DELIVERED][FLAGSIM_RECORD_KERNEL]);
    CHECK(collected_count(&all, FP_KIND_KERNEL) < kernels, "nothing came late");
    collect_end(&all);
    collect_begin(&all);
    start();
    launch(1);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    read_truth();
    CHECK_EQUAL(truth.records[FLAGSIM_FATE_DELIVERED][FLAGSIM_RECORD_KERNEL], kernels + 1);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 1); // of those of before, none
    CHECK_EQUAL(collected_lost(&all), 0);
}

static void a_buffer_that_comes_in_the_next_session_is_counted_in_its_own_and_shown_in_none(void **state) {
    (void)state;
    if (access(facades[0].library, R_OK) != 0 || access(facades[2].library, R_OK) != 0)
        skip();
    run_on(0, "buffers_after_flush=0", too_late);
    run_on(2, "buffers_after_flush=0,tiny_buffers=4000", too_late);
}

// ---- Processes

// The simulator forgets in a forked child what its threads held there; the leak sanitizer asks before it
// looks.
static bool is_forked_child;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void); // NOLINT
int __lsan_is_turned_off(void) {                                       // NOLINT
    return is_forked_child;
}

static void forked(void) {
    open_tracer();
    collect_begin(&all);
    start();
    launch(1);
    pid_t child = fork();
    if (child == 0) {
        struct fp_session_options options = { .size = sizeof(options) };
        is_forked_child = true;
        alarm(10);
        CHECK_EQUAL(fp_cupti_ops.push(tracer, FP_ID_OPERATOR, 1), 0);
        CHECK_EQUAL(fp_cupti_ops.pop(tracer, FP_ID_OPERATOR, NULL), 0);
        CHECK_EQUAL(fp_cupti_ops.stop(tracer, 0, NULL), -ECHILD);
        CHECK_EQUAL(fp_cupti_ops.start(tracer, &options, NULL), -ECHILD);
        exit(7); // with its handlers
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child ended with %x", (unsigned)status);
    launch(2);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), 2);
}

static void a_forked_child_lives_and_the_parents_session_goes_on(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    run("", forked);
}

static void exits_while_recording(void) {
    open_tracer();
    start();
    work();
    exit(0);
}

static void a_program_may_exit_while_recording(void **state) {
    (void)state;
    run("", exits_while_recording);
    run("tiny_buffers", exits_while_recording);
}

// ---- With the recording and its thread

static void through_recordings(void) {
    struct fp_accelerator *accelerator = NULL;
    struct fp_error err = { "" };
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK(fp_accelerator_choose(&accelerator, &err) == 0, "%s", err.text);
    tracer = accelerator->tracer;
    for (int session = 0; session < 20; session++) {
        struct fp_recording *recording = NULL;
        struct fp_ledger ledger = { .size = sizeof(ledger) };
        flagsim_truth_reset();
        CHECK(fp_recording_start(accelerator, NULL, &recording, &err) == 0, "%s", err.text);
        for (int i = 0; i < 100; i++) {
            fp_push(FP_ID_OPERATOR, (uint64_t)i);
            launch(i % LAUNCHES);
            fp_pop(FP_ID_OPERATOR);
        }
        CHECK_EQUAL(fp_accelerator_synchronize(accelerator, NULL), 0);
        CHECK(fp_recording_stop(recording, 0, &err) == 0, "%s", err.text);
        CHECK(fp_recording_finish(recording, INT64_MIN, INT64_MAX, &err) == 0, "%s", err.text);
        read_truth();
        fp_recording_ledger(recording, &ledger);
        CHECK_EQUAL(truth.kernels, 100);
        CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].kept, 100);
        CHECK_EQUAL(ledger.launches_seen, 100);
        CHECK(ledger.complete, "session %d is said to be incomplete", session);
        fp_recording_free(recording);
    }
}

static void recordings_lose_nothing_whichever_thread_drains_last(void **state) {
    (void)state;
    run("", through_recordings);
    run("tiny_buffers=2000", through_recordings);
    run("tiny_buffers=2000,flush_completion_thread", through_recordings);
    run("tiny_buffers=2000,late_buffers", through_recordings);
}

static void ledger_of_launches(struct fp_ledger *ledger) {
    struct fp_accelerator *accelerator = NULL;
    struct fp_recording *recording = NULL;
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK_EQUAL(fp_accelerator_choose(&accelerator, NULL), 0);
    tracer = accelerator->tracer;
    flagsim_truth_reset();
    CHECK_EQUAL(fp_recording_start(accelerator, NULL, &recording, NULL), 0);
    for (int i = 0; i < 100; i++)
        launch(i % LAUNCHES);
    flagsim_device_synchronize();
    CHECK_EQUAL(fp_recording_stop(recording, 0, NULL), 0);
    CHECK_EQUAL(fp_recording_finish(recording, INT64_MIN, INT64_MAX, NULL), 0);
    fp_recording_ledger(recording, ledger);
    read_truth();
    fp_recording_free(recording);
}

// Nobody tells that these are gone: the launches that have no work do.
static void lost_unseen(void) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    ledger_of_launches(&ledger);
    uint64_t lost = truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL];
    CHECK(lost > 0, "the fault did nothing");
    CHECK_EQUAL(ledger.rows[FP_KIND_RUNTIME].unpaired + ledger.rows[FP_KIND_DRIVER].unpaired, lost);
    CHECK(!ledger.complete, "the ledger says that nothing is missing");
}

static void work_that_is_lost_unseen_shows_as_launches_without_work(void **state) {
    (void)state;
    run("lose_records", lost_unseen);
    run("lose_records=7,tiny_buffers", lost_unseen);
}

static void dropped_and_told(void) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    ledger_of_launches(&ledger);
    uint64_t dropped = truth.records[FLAGSIM_FATE_DROPPED][FLAGSIM_RECORD_KERNEL];
    CHECK(dropped > 0, "the fault did nothing");
    CHECK_EQUAL(ledger.rows[FP_KIND_COUNT].lost[FP_LOSS_DROPPED], dropped);
    CHECK_EQUAL(ledger.rows[FP_KIND_RUNTIME].unpaired + ledger.rows[FP_KIND_DRIVER].unpaired, dropped);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].kept, 100 - dropped);
    CHECK(!ledger.complete, "the ledger says that nothing is missing");
}

static void the_ledger_holds_what_the_vendor_dropped_and_what_that_left_alone(void **state) {
    (void)state;
    run("drop_records", dropped_and_told);
}

static void timeless(void) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    ledger_of_launches(&ledger);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].lost[FP_LOSS_NO_TIMING],
                truth.records[FLAGSIM_FATE_NO_TIMING][FLAGSIM_RECORD_KERNEL]);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].lost[FP_LOSS_MALFORMED],
                truth.records[FLAGSIM_FATE_END_BEFORE_START][FLAGSIM_RECORD_KERNEL]);
    CHECK(!ledger.complete, "the ledger says that nothing is missing");
}

static void the_ledger_holds_records_without_usable_times(void **state) {
    (void)state;
    run("timing_zero", timeless);
    run("end_before_start", timeless);
}

// ---- Captures, of which the recording may see one end alone

static struct fp_accelerator *chosen(void) {
    struct fp_accelerator *accelerator = NULL;
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK_EQUAL(fp_accelerator_choose(&accelerator, NULL), 0);
    tracer = accelerator->tracer;
    return accelerator;
}

static struct fp_recording *begin_recording(struct fp_accelerator *accelerator) {
    struct fp_recording *recording = NULL;
    flagsim_truth_reset();
    CHECK_EQUAL(fp_recording_start(accelerator, NULL, &recording, NULL), 0);
    return recording;
}

// Every launch that the ledger misses is one whose record the simulator lost, and the other way round.
static void end_recording(struct fp_recording *recording, struct fp_ledger *ledger) {
    CHECK_EQUAL(fp_recording_stop(recording, 0, NULL), 0);
    CHECK_EQUAL(fp_recording_finish(recording, INT64_MIN, INT64_MAX, NULL), 0);
    ledger->size = sizeof(*ledger);
    fp_recording_ledger(recording, ledger);
    fp_recording_free(recording);
    read_truth();
    uint64_t lost = truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL];
    CHECK_EQUAL(ledger->rows[FP_KIND_KERNEL].kept,
                truth.records[FLAGSIM_FATE_DELIVERED][FLAGSIM_RECORD_KERNEL]);
    CHECK_EQUAL(ledger->rows[FP_KIND_RUNTIME].unpaired + ledger->rows[FP_KIND_DRIVER].unpaired, lost);
    CHECK_EQUAL(ledger->complete, lost == 0);
}

static void launch_on(flagsim_stream *stream) {
    flagsim_kernel_info info = { .name = kernel_name(1000), .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
    CHECK_EQUAL(flagsim_launch(stream, nothing, NULL, 0, &info), 0);
}

static void cut_capture(void) {
    struct fp_accelerator *accelerator = chosen();
    struct fp_ledger ledger;
    flagsim_graph *graph = NULL;
    flagsim_graph_exec *exec = NULL;
    flagsim_stream *stream = NULL;
    CHECK_EQUAL(flagsim_stream_create(&stream), 0);
    struct fp_recording *recording = begin_recording(accelerator);
    launch(1);
    flagsim_device_synchronize();
    CHECK_EQUAL(flagsim_capture_begin(stream), 0);
    launch_on(stream);
    end_recording(recording, &ledger); // inside the capture
    CHECK_EQUAL(ledger.launches_seen, 2);
    recording = begin_recording(accelerator);
    launch_on(stream);
    CHECK_EQUAL(flagsim_capture_end(stream, &graph), 0);
    CHECK_EQUAL(flagsim_graph_instantiate(graph, &exec), 0);
    CHECK_EQUAL(flagsim_graph_launch(exec, stream), 0);
    flagsim_device_synchronize();
    end_recording(recording, &ledger);
    CHECK_EQUAL(ledger.launches_seen, 2);
    flagsim_graph_exec_destroy(exec);
    flagsim_graph_destroy(graph);
}

static void a_recording_may_begin_and_end_inside_a_capture(void **state) {
    (void)state;
    run("", cut_capture);
}

static void *launch_into(void *stream) {
    launch_on(stream);
    return NULL;
}

static void capture_without_end(void) {
    struct fp_ledger ledger;
    flagsim_graph *graph = NULL;
    flagsim_graph_exec *exec = NULL;
    flagsim_stream *stream = NULL;
    pthread_t other;
    CHECK_EQUAL(flagsim_stream_create(&stream), 0);
    struct fp_recording *recording = begin_recording(chosen());
    CHECK_EQUAL(flagsim_capture_begin(stream), 0);
    launch_on(stream);
    CHECK_EQUAL(pthread_create(&other, NULL, launch_into, stream), 0); // as torch's backward pass does
    pthread_join(other, NULL);
    CHECK_EQUAL(flagsim_capture_end(stream, &graph), 0);
    CHECK_EQUAL(flagsim_graph_instantiate(graph, &exec), 0);
    CHECK_EQUAL(flagsim_graph_launch(exec, stream), 0);
    flagsim_device_synchronize();
    for (int i = 0; i < LAUNCHES; i++)
        launch(i);
    flagsim_device_synchronize();
    end_recording(recording, &ledger);
    flagsim_graph_exec_destroy(exec);
    flagsim_graph_destroy(graph);
}

static void a_capture_whose_end_is_lost_excuses_no_launch_that_came_after_it(void **state) {
    (void)state;
    run("", capture_without_end);
    run("lose_capture_ends", capture_without_end);
    run("lose_capture_ends,lose_records=4", capture_without_end);
}

// ---- Memory

static void undrained(void) {
    open_tracer();
    collect_begin(&all);
    flagsim_truth_reset();
    start();
    // More than all buffers of the tracer hold, and nobody drains: spares are given, and what is in them is
    // counted.
    for (int i = 0; i < 20000; i++)
        launch(1);
    flagsim_device_synchronize();
    stop();
    read_truth();
    uint64_t dropped = all.lost[FP_KIND_KERNEL][FP_LOSS_DROPPED];
    CHECK(dropped > 0, "all of it found room");
    // Where even the spares were out, nobody can count what went into the last resort.
    uint64_t told = collected_count(&all, FP_KIND_KERNEL) + dropped;
    CHECK(told == 20000 || (told < 20000 && all.lost[FP_KIND_COUNT][FP_LOSS_DROPPED] > 0),
          "%llu of 20000 launches are told of", (unsigned long long)told);
}

static void what_finds_no_buffer_is_counted_as_dropped(void **state) {
    (void)state;
    if (access(facades[0].library, R_OK) != 0)
        skip();
    run_on(0, "tiny_buffers=1024", undrained);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_recorded_and_owned_by_its_operator),
        cmocka_unit_test(nothing_is_armed_before_a_session_nor_after_it),
        cmocka_unit_test(start_twice_and_stop_without_start_are_refused_and_harm_nothing),
        cmocka_unit_test(many_sessions_in_one_process_each_hold_their_own),
        cmocka_unit_test(a_thousand_sessions_leave_nothing_behind),
        cmocka_unit_test(many_threads_push_while_another_drains),
        cmocka_unit_test(faults_that_lose_nothing_change_nothing),
        cmocka_unit_test(records_without_times_or_with_impossible_ones_are_counted),
        cmocka_unit_test(what_the_vendor_says_it_dropped_is_counted),
        cmocka_unit_test(records_of_unknown_kind_are_counted_and_stepped_over),
        cmocka_unit_test(a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing),
        cmocka_unit_test(names_that_are_missing_or_very_long_do_no_harm),
        cmocka_unit_test(times_of_another_clock_come_out_in_the_epoch),
        cmocka_unit_test(a_version_that_lies_about_record_sizes_is_not_believed),
        cmocka_unit_test(a_push_that_fails_is_reported),
        cmocka_unit_test(without_driver_or_device_or_with_another_runtime_it_is_refused_with_the_reason),
        cmocka_unit_test(
            a_driver_that_wants_callbacks_before_the_first_context_is_found_out_and_the_cure_named),
        cmocka_unit_test(the_ledger_of_such_a_driver_is_incomplete_until_it_is_prepared),
        cmocka_unit_test(prepare_cures_it_and_arms_nothing),
        cmocka_unit_test(being_replaced_during_a_session_is_noticed_and_said),
        cmocka_unit_test(being_replaced_before_the_first_buffer_of_a_later_session_is_noticed_and_said),
        cmocka_unit_test(a_session_without_device_work_accuses_nobody),
        cmocka_unit_test(a_buffer_that_comes_after_the_flush_returned_is_waited_for),
        cmocka_unit_test(a_buffer_that_comes_in_the_next_session_is_counted_in_its_own_and_shown_in_none),
        cmocka_unit_test(a_forked_child_lives_and_the_parents_session_goes_on),
        cmocka_unit_test(a_program_may_exit_while_recording),
        cmocka_unit_test(recordings_lose_nothing_whichever_thread_drains_last),
        cmocka_unit_test(work_that_is_lost_unseen_shows_as_launches_without_work),
        cmocka_unit_test(the_ledger_holds_what_the_vendor_dropped_and_what_that_left_alone),
        cmocka_unit_test(the_ledger_holds_records_without_usable_times),
        cmocka_unit_test(a_recording_may_begin_and_end_inside_a_capture),
        cmocka_unit_test(a_capture_whose_end_is_lost_excuses_no_launch_that_came_after_it),
        cmocka_unit_test(what_finds_no_buffer_is_counted_as_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
