// test_roctracer.c - whole sessions on a simulated ROCtracer, AMD's and DTK's, sound and with every fault.
#include "roctracer_sessions.h"
#include "session_rows.h"

#define HARMLESS                                                                                             \
    "tiny_buffers late_buffers,tiny_buffers=600 out_of_order clock_domain epoch_clock hang_flush=50 "        \
    "barriers "                                                                                              \
    "no_bytes wide_ids late_records late_records=1,out_of_order,wide_ids,barriers=1 "                        \
    "tiny_buffers,out_of_order,no_bytes,wide_ids,late_records=3"

static void run_amd(const char *faults, void (*scenario)(void)) {
    wanted = scenario;
    run(faults, with_hip);
}

static void run_dtk(const char *faults, void (*scenario)(void)) {
    wanted = scenario;
    run(faults, with_dtk);
}

static void run_both(const char *faults, void (*scenario)(void)) {
    run_amd(faults, scenario);
    run_dtk(faults, scenario);
}

#define ON_AMD(scenario, faults)                                                                             \
    { scenario, faults, run_amd }
#define ON_DTK(scenario, faults)                                                                             \
    { scenario, faults, run_dtk }
#define ON_BOTH(scenario, faults)                                                                            \
    { scenario, faults, run_both }

// ---- Numbers of devices

static void without_topology(void) {
    setenv("FLAGOS_KFD_TOPOLOGY", "/nowhere", 1);
    record();
    CHECK(strstr(all.notes, "device numbers"), "it is not said: %s", all.notes);
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            CHECK_EQUAL(all.events[at].event.device, 3);
}

static void peer_copy(void) {
    void *here = NULL, *there = NULL;
    open_tracer();
    CHECK_EQUAL(flagsim_malloc(&here, 64), 0);
    CHECK_EQUAL(flagsim_set_device(1), 0);
    CHECK_EQUAL(flagsim_malloc(&there, 64), 0);
    collect_begin(&all);
    start();
    CHECK_EQUAL(flagsim_memcpy_peer_async(there, 1, here, 0, 64, NULL), 0);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), 1);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct collected_event *kept = &all.events[at];
        if (kept->event.kind != FP_KIND_MEMCPY)
            continue;
        CHECK(name_is(&kept->event, "Memcpy PtoP (Device -> Device)"), "%s",
              collected_name(&all, kept->event.name));
        CHECK_EQUAL(kept->event.extra_count, 2);
        CHECK_EQUAL(kept->extras[0].value.integer, 0);
        CHECK_EQUAL(kept->extras[1].value.integer, 1);
    }
}

// ---- What goes wrong

static void hip_not_loaded(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = ROCTRACER };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -EAGAIN);
    CHECK(strstr(err.text, "HIP") && strstr(err.text, "import torch"), "%s", err.text);
    load(HIP); // and once it is there, nothing was spoiled
    library = ROCTRACER;
    record();
    check_all();
}

static void idle(void) {
    open_tracer();
    collect_begin(&all);
    start();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(all.event_count, 0);
    CHECK(all.notes[0] == '\0', "%s", all.notes);
}

static void other_package(void) {
    char root[] = "/tmp/flagprof-rocm-XXXXXX", path[96];
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options) };
    CHECK(mkdtemp(root), "no folder");
    setenv("ROCM_PATH", root, 1);
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENOENT);
    CHECK(strstr(err.text, "no libroctracer64.so.4 found") && strstr(err.text, "ROCM_PATH"), "%s", err.text);
    snprintf(path, sizeof(path), "%s/lib", root);
    CHECK_EQUAL(mkdir(path, 0700), 0);
    strcat(path, "/librocprofiler-sdk.so");
    fclose(fopen(path, "w"));
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENOENT);
    CHECK(strstr(err.text, "only rocprofiler-sdk is installed"), "%s", err.text);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(root);
}

static void named_wrongly(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = "/nowhere/libroctracer64.so.4" };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ELIBACC);
    CHECK(strstr(err.text, options.library) && strstr(err.text, "No such file"), "%s", err.text);
    options.library = HIP; // a library, but not ROCtracer
    load(HIP);
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENOSYS);
    CHECK(strstr(err.text, "lacks roctracer_"), "%s", err.text);
}

static void found_by_rocm_path(void) {
    char root[] = "/tmp/flagprof-rocm-XXXXXX", path[96];
    load(HIP);
    CHECK(mkdtemp(root), "no folder");
    snprintf(path, sizeof(path), "%s/lib", root);
    CHECK_EQUAL(symlink(BUILD_DIR "/sim/roctracer", path), 0);
    setenv("ROCM_PATH", root, 1);
    library = NULL;
    record();
    unlink(path);
    rmdir(root);
    check_all();
}

static void found_as_dtk(void) {
    load(DTK); // as torch does
    library = NULL;
    record();
    check_all();
}

static void missing_records(void) {
    record();
    CHECK(truth.records[FLAGSIM_FATE_DROPPED][FLAGSIM_RECORD_KERNEL] +
                  truth.records[FLAGSIM_FATE_LOST][FLAGSIM_RECORD_KERNEL] >
              0,
          "the fault did nothing");
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL) + truth.records[FLAGSIM_FATE_DROPPED][0] +
                    truth.records[FLAGSIM_FATE_LOST][0],
                truth.kernels);
    check_device_counts();
    check_owners();
}

// ROCtracer has no count of what it dropped: what the recording can know is launches without device work.
// The first sample of the clock fails, as before the first HIP call.
static void asleep(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
    check_owners();
}

// ---- Sessions

static atomic_bool enough;

static void *launch_always(void *owner) {
    (void)owner;
    while (!atomic_load(&enough)) {
        launch(1);
        // A stream that never runs dry would hold up the session's synchronisation for good.
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return NULL;
}

static void stopped_in_the_midst(void) {
    pthread_t threads[2];
    open_tracer();
    collect_begin(&all);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, launch_always, NULL), 0);
    for (int session = 0; session < 3; session++) {
        start();
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
        ops->drain(tracer, &all.sink);
        stop();
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            CHECK(name_is(&all.events[at].event, "kernel_1"), "%s",
                  collected_name(&all, all.events[at].event.name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SESSIONS(everything_is_recorded_owned_and_named, ON_BOTH(whole, ""),
                 ON_BOTH(whole_though_drained_on_the_way, "")),
        SESSIONS(faults_that_lose_nothing_change_nothing, ON_AMD(whole, HARMLESS),
                 ON_DTK(whole_though_drained_on_the_way, HARMLESS)),
        SESSIONS(devices_are_ordinals_though_the_driver_counts_its_nodes,
                 ON_BOTH(behind_processors, "kfd_nodes=3"), ON_BOTH(without_topology, "kfd_nodes=3")),
        SESSIONS(a_copy_between_devices_names_both, ON_BOTH(peer_copy, "")),
        SESSIONS(binding_too_early_is_avoided_or_said_and_nothing_is_said_of_an_idle_program,
                 PASSES(bound_too_early, ""), PASSES(hip_not_loaded, ""), ON_BOTH(idle, "")),
        SESSIONS(a_library_that_is_missing_or_another_is_refused_with_the_reason, PASSES(other_package, ""),
                 PASSES(named_wrongly, ""), PASSES(found_by_rocm_path, ""), PASSES(found_as_dtk, "")),
        SESSIONS(without_driver_or_device_it_is_refused_with_the_reason,
                 ON_BOTH(scenario_refused, "no_driver no_device")),
        SESSIONS(another_subscriber_is_named, ON_BOTH(scenario_busy, "other_subscriber")),
        SESSIONS(records_without_times_or_with_impossible_ones_are_counted,
                 ON_BOTH(scenario_odd_times, "timing_zero end_before_start"),
                 ON_DTK(scenario_odd_times, "timing_zero=4,end_before_start=3,tiny_buffers"),
                 ON_AMD(scenario_odd_times, "timing_zero=1")),
        SESSIONS(what_the_library_dropped_is_not_waited_for_and_the_rest_is_right,
                 ON_AMD(missing_records, "drop_records lose_records,late_records=5,wide_ids"),
                 ON_DTK(missing_records, "lose_records")),
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,
                 ON_BOTH(scenario_unknown_kinds, "unknown_kind")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm, ON_BOTH(scenario_odd_names, "name_null"),
                 ON_AMD(scenario_odd_names, "name_8k"), ON_DTK(scenario_odd_names, "name_dirty")),
        SESSIONS(times_come_out_in_the_epoch_whatever_the_clock, ON_BOTH(scenario_clock, ""),
                 ON_BOTH(scenario_clock, "clock_domain"),
                 ON_AMD(scenario_clock, "epoch_clock clock_asleep=1"), ON_DTK(asleep, "clock_asleep=1")),
        SESSIONS(nothing_is_armed_before_a_session_nor_after_it, ON_BOTH(scenario_nothing_armed, "")),
        SESSIONS(start_twice_and_stop_without_start_are_refused, ON_BOTH(scenario_order_of_calls, "")),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, ON_AMD(scenario_sessions_in_a_row, "")),
        SESSIONS(many_threads_push_while_another_drains, ON_BOTH(scenario_threads, "tiny_buffers=65536"),
                 ON_AMD(scenario_threads, "tiny_buffers,wide_ids")),
        SESSIONS(a_session_may_begin_and_end_while_others_launch, ON_AMD(stopped_in_the_midst, "")),
        SESSIONS(a_forked_child_lives_and_the_parents_session_goes_on, ON_BOTH(scenario_forked, "")),
        SESSIONS(a_program_may_exit_while_recording, ON_BOTH(scenario_exits_while_recording, ""),
                 ON_AMD(scenario_exits_while_recording, "tiny_buffers")),
    };
    ops = &fp_roctracer_ops;
    library = ROCTRACER;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
