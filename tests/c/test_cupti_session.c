// test_cupti_session.c - whole sessions on a simulated CUPTI of each release, sound and with every fault it
// can have.
//
// In:  the facades (sim/cupti), compiled against NVIDIA's own headers. What FlagProf says it recorded and
//      lost is compared with what the simulator knows that it did. Each case runs in a process of its
//      own, since faults, libraries and registrations are a process's.
#include "session_rows.h"

#include <dirent.h>
#include <malloc.h>

#include "flagprof/flagprof.h"
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

enum { FACADES = sizeof(facades) / sizeof(facades[0]) };

// What a scenario leaves unfreed and unreachable; the leak sanitizer itself looks only at an ordinary end.
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void); // NOLINT
static bool leaks(void) {
    return __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0;
}

static void (*wanted)(void);

static void and_leaks_nothing(void) {
    wanted();
    CHECK(!leaks(), "something is leaked");
}

static void run_on(size_t at, const char *faults, void (*scenario)(void)) {
    library = facades[at].library;
    wanted = scenario;
    int status = run_case(faults, and_leaks_nothing);
    if (WIFSIGNALED(status))
        fail_msg("CUPTI %s with faults [%s]: ended by signal %d", facades[at].release, faults,
                 WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("CUPTI %s with faults [%s]: see above", facades[at].release, faults);
}

// On every facade that is built.
static void run_on_all(const char *faults, void (*scenario)(void)) {
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

#define ON_ALL(scenario, faults)                                                                             \
    { scenario, faults, run_on_all }

// ---- Sound sessions

static void sound(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), LAUNCHES + GRAPH_KERNELS * GRAPH_LAUNCHES);
    check_counts();
    CHECK_EQUAL(collected_lost(&all), 0);
    CHECK(all.notes[0] == '\0', "%s", all.notes);
    check_device_counts();
    check_owners();
    check_kernels();
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            CHECK(all.events[at].event.fields & FP_HAS_OCCUPANCY, "no estimate");
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
enum { MANY_SESSIONS = 100 };
#else
enum { MANY_SESSIONS = 1000 };
#endif

static void a_thousand_sessions(void) {
    struct fp_accelerator *accelerator = NULL;
    size_t threads = 0, allocated = 0, resident = 0;
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    CHECK_EQUAL(fp_accelerator_choose(&accelerator, NULL), 0);
    tracer = accelerator->tracer;
    for (int session = 0; session < MANY_SESSIONS; session++) {
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
    run_on_all("", a_thousand_sessions);
}

static void many_threads_push_while_another_drains(void **state) {
    (void)state;
    if (access(facades[2].library, R_OK) != 0)
        skip();
    run_on(2, "tiny_buffers=65536", scenario_threads);
}

// ---- Faults

static void faulty_but_whole(void) {
    record();
    check_device_counts();
    check_owners();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_lost(&all), 0);
}

static void clock_mapped(void) {
    int64_t begin = epoch_now();
    record();
    int64_t end = epoch_now();
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        CHECK(event->start_ns >= begin - 100000 && event->end_ns <= end + 100000, "an event lies %lld ns off",
              (long long)(event->start_ns - begin));
    }
    CHECK(strstr(all.notes, "clock"), "nothing is said of it");
}

static void mismatch(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    if (ops->open(&options, &tracer, &err) != 0) { // the version it claims is of another CUDA major
        CHECK(strstr(err.text, "the process has loaded the runtime of CUDA"), "%s", err.text);
        return;
    }
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
    check_owners();
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

static void prepared(void) {
    open_tracer();
    collect_begin(&all);
    CHECK_EQUAL(ops->prepare(tracer, NULL), 0);
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

static void replaced(void) {
    scenario_replaced();
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
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

// ---- Buffers that come after the flush

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

static void exits_while_recording(void) {
    open_tracer();
    start();
    work();
    exit(0);
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

static void timeless(void) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    ledger_of_launches(&ledger);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].lost[FP_LOSS_NO_TIMING],
                truth.records[FLAGSIM_FATE_NO_TIMING][FLAGSIM_RECORD_KERNEL]);
    CHECK_EQUAL(ledger.rows[FP_KIND_KERNEL].lost[FP_LOSS_MALFORMED],
                truth.records[FLAGSIM_FATE_END_BEFORE_START][FLAGSIM_RECORD_KERNEL]);
    CHECK(!ledger.complete, "the ledger says that nothing is missing");
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
        SESSIONS(everything_is_recorded_and_owned_by_its_operator, ON_ALL(sound, "")),
        SESSIONS(nothing_is_armed_before_a_session_nor_after_it, ON_ALL(nothing_armed, "")),
        SESSIONS(start_twice_and_stop_without_start_are_refused_and_harm_nothing,
                 ON_ALL(scenario_order_of_calls, "")),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, ON_ALL(scenario_sessions_in_a_row, "")),
        cmocka_unit_test(a_thousand_sessions_leave_nothing_behind),
        cmocka_unit_test(many_threads_push_while_another_drains),
        SESSIONS(
            faults_that_lose_nothing_change_nothing,
            ON_ALL(faulty_but_whole,
                   "tiny_buffers tiny_buffers=600,late_buffers out_of_order tiny_buffers,late_correlation "
                   "clock_domain flush_completion_thread,tiny_buffers nested_own_id nested_driver_call "
                   "hang_flush=50 other_subscriber tiny_buffers,out_of_order,late_correlation")),
        SESSIONS(records_without_times_or_with_impossible_ones_are_counted,
                 ON_ALL(scenario_odd_times,
                        "timing_zero end_before_start timing_zero=4,end_before_start=3,tiny_buffers")),
        SESSIONS(what_the_vendor_says_it_dropped_is_counted, ON_ALL(scenario_vendor_drops, "drop_records")),
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,
                 ON_ALL(scenario_unknown_kinds, "unknown_kind")),
        SESSIONS(a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing,
                 ON_ALL(scenario_broken_records, "broken_record,tiny_buffers=8000")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm,
                 ON_ALL(scenario_odd_names, "name_null name_8k")),
        SESSIONS(times_of_another_clock_come_out_in_the_epoch, ON_ALL(clock_mapped, "clock_domain")),
        SESSIONS(a_version_that_lies_about_record_sizes_is_not_believed,
                 ON_ALL(mismatch, "version_mismatch")),
        SESSIONS(a_push_that_fails_is_reported, ON_ALL(scenario_push_failures, "push_fails")),
        SESSIONS(without_driver_or_device_or_with_another_runtime_it_is_refused_with_the_reason,
                 ON_ALL(scenario_refused, "no_driver no_device runtime_mismatch")),
        SESSIONS(a_driver_that_wants_callbacks_before_the_first_context_is_found_out_and_the_cure_named,
                 ON_ALL(silent, "late_registration")),
        SESSIONS(the_ledger_of_such_a_driver_is_incomplete_until_it_is_prepared,
                 ON_ALL(ledger_unprepared, "late_registration"),
                 ON_ALL(ledger_prepared, "late_registration")),
        SESSIONS(prepare_cures_it_and_arms_nothing, ON_ALL(prepared, "late_registration")),
        SESSIONS(being_replaced_during_a_session_is_noticed_and_said,
                 ON_ALL(replaced, "replaced_callbacks,tiny_buffers")),
        SESSIONS(being_replaced_before_the_first_buffer_of_a_later_session_is_noticed_and_said,
                 ON_ALL(replaced_later, "replaced_callbacks=0,replaced_session=2")),
        SESSIONS(a_session_without_device_work_accuses_nobody, ON_ALL(silent_but_heard, "")),
        SESSIONS(a_buffer_that_comes_after_the_flush_returned_is_waited_for,
                 ON_ALL(faulty_but_whole, "buffers_after_flush=5 buffers_after_flush=5,tiny_buffers=2000")),
        cmocka_unit_test(a_buffer_that_comes_in_the_next_session_is_counted_in_its_own_and_shown_in_none),
        SESSIONS(a_forked_child_lives_and_the_parents_session_goes_on, ON_ALL(scenario_forked, "")),
        SESSIONS(a_program_may_exit_while_recording, ON_ALL(exits_while_recording, ""),
                 ON_ALL(exits_while_recording, "tiny_buffers")),
        SESSIONS(recordings_lose_nothing_whichever_thread_drains_last, ON_ALL(through_recordings, ""),
                 ON_ALL(through_recordings, "tiny_buffers=2000 tiny_buffers=2000,flush_completion_thread "
                                            "tiny_buffers=2000,late_buffers")),
        SESSIONS(work_that_is_lost_unseen_shows_as_launches_without_work,
                 ON_ALL(lost_unseen, "lose_records lose_records=7,tiny_buffers")),
        SESSIONS(the_ledger_holds_what_the_vendor_dropped_and_what_that_left_alone,
                 ON_ALL(dropped_and_told, "drop_records")),
        SESSIONS(the_ledger_holds_records_without_usable_times,
                 ON_ALL(timeless, "timing_zero end_before_start")),
        SESSIONS(a_recording_may_begin_and_end_inside_a_capture, ON_ALL(cut_capture, "")),
        SESSIONS(a_capture_whose_end_is_lost_excuses_no_launch_that_came_after_it,
                 ON_ALL(capture_without_end, ""),
                 ON_ALL(capture_without_end, "lose_capture_ends lose_capture_ends,lose_records=4")),
        cmocka_unit_test(what_finds_no_buffer_is_counted_as_dropped),
    };
    ops = &fp_cupti_ops;
    memory_calls.peer_copy_async = flagsim_memcpy_peer_async;
    launches_by_the_driver = true;
    leave_child = exit; // with its handlers
    thread_launches = 200;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
