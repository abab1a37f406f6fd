// test_roctracer.c - whole sessions on a simulated ROCtracer, AMD's and DTK's, sound and with every fault.
#include "emulated.h"
#include "roctracer_sessions.h"

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

static void everything_is_recorded_owned_and_named(void **state) {
    (void)state;
    run_both("", whole);
    run_both("", whole_though_drained_on_the_way);
}

static void faults_that_lose_nothing_change_nothing(void **state) {
    (void)state;
    static const char *const faults[] = {
        "tiny_buffers",
        "late_buffers,tiny_buffers=600",
        "out_of_order",
        "clock_domain",
        "epoch_clock",
        "hang_flush=50",
        "barriers",
        "no_bytes",
        "wide_ids",
        "late_records",
        "late_records=1,out_of_order,wide_ids,barriers=1",
        "tiny_buffers,out_of_order,no_bytes,wide_ids,late_records=3",
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        run_amd(faults[i], whole);
        run_dtk(faults[i], whole_though_drained_on_the_way);
    }
}

// ---- Numbers of devices

static void without_topology(void) {
    setenv("FLAGOS_KFD_TOPOLOGY", "/nowhere", 1);
    record();
    CHECK(strstr(all.notes, "device numbers"), "it is not said: %s", all.notes);
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            CHECK_EQUAL(all.events[at].event.device, 3);
}

static void devices_are_ordinals_though_the_driver_counts_its_nodes(void **state) {
    (void)state;
    run_both("kfd_nodes=3", behind_processors);
    run_both("kfd_nodes=3", without_topology);
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

static void a_copy_between_devices_names_both(void **state) {
    (void)state;
    run_both("", peer_copy);
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

static void binding_too_early_is_avoided_or_said_and_nothing_is_said_of_an_idle_program(void **state) {
    (void)state;
    run("", bound_too_early);
    run("", hip_not_loaded);
    run_both("", idle);
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

static void a_library_that_is_missing_or_another_is_refused_with_the_reason(void **state) {
    (void)state;
    run("", other_package);
    run("", named_wrongly);
    run("", found_by_rocm_path);
    run("", found_as_dtk);
}

static void without_driver_or_device_it_is_refused_with_the_reason(void **state) {
    (void)state;
    run_both("no_driver", scenario_refused);
    run_both("no_device", scenario_refused);
}

static void busy(void) {
    struct fp_session_options options = { .size = sizeof(options) };
    struct fp_error err = { "" };
    open_tracer();
    CHECK_EQUAL(ops->start(tracer, &options, &err), -EBUSY);
    CHECK(strstr(err.text, "another profiler"), "%s", err.text);
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
    CHECK_EQUAL(truth.kinds_armed, 0);
}

static void another_subscriber_is_named(void **state) {
    (void)state;
    run_both("other_subscriber", busy);
}

static void records_without_times_or_with_impossible_ones_are_counted(void **state) {
    (void)state;
    run_both("timing_zero", scenario_odd_times);
    run_both("end_before_start", scenario_odd_times);
    run_dtk("timing_zero=4,end_before_start=3,tiny_buffers", scenario_odd_times);
    run_amd("timing_zero=1", scenario_odd_times);
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
static void what_the_library_dropped_is_not_waited_for_and_the_rest_is_right(void **state) {
    (void)state;
    run_amd("drop_records", missing_records);
    run_dtk("lose_records", missing_records);
    run_amd("lose_records,late_records=5,wide_ids", missing_records);
}

static void records_of_unknown_kind_are_counted_and_stepped_over(void **state) {
    (void)state;
    run_both("unknown_kind", scenario_unknown_kinds);
}

static void names_that_are_missing_or_very_long_do_no_harm(void **state) {
    (void)state;
    run_both("name_null", scenario_odd_names);
    run_amd("name_8k", scenario_odd_names);
    run_dtk("name_dirty", scenario_odd_names);
}

static void asleep(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    check_device_counts();
    check_owners();
}

static void times_come_out_in_the_epoch_whatever_the_clock(void **state) {
    (void)state;
    run_both("", scenario_clock);
    run_both("clock_domain", scenario_clock);
    run_amd("epoch_clock", scenario_clock);
    run_amd("clock_asleep=1", scenario_clock); // the first sample fails, as before the first HIP call
    run_dtk("clock_asleep=1", asleep);
}

// ---- Sessions

static void nothing_is_armed_before_a_session_nor_after_it(void **state) {
    (void)state;
    run_both("", scenario_nothing_armed);
}

static void start_twice_and_stop_without_start_are_refused(void **state) {
    (void)state;
    run_both("", scenario_order_of_calls);
}

static void many_sessions_in_one_process_each_hold_their_own(void **state) {
    (void)state;
    run_amd("", scenario_sessions_in_a_row);
}

static void many_threads_push_while_another_drains(void **state) {
    (void)state;
    run_both("tiny_buffers=65536", scenario_threads);
    run_amd("tiny_buffers,wide_ids", scenario_threads);
}

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

static void a_session_may_begin_and_end_while_others_launch(void **state) {
    (void)state;
    run_amd("", stopped_in_the_midst);
}

static void a_forked_child_lives_and_the_parents_session_goes_on(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    run_both("", scenario_forked);
}

static void a_program_may_exit_while_recording(void **state) {
    (void)state;
    run_both("", scenario_exits_while_recording);
    run_amd("tiny_buffers", scenario_exits_while_recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_recorded_owned_and_named),
        cmocka_unit_test(faults_that_lose_nothing_change_nothing),
        cmocka_unit_test(devices_are_ordinals_though_the_driver_counts_its_nodes),
        cmocka_unit_test(a_copy_between_devices_names_both),
        cmocka_unit_test(binding_too_early_is_avoided_or_said_and_nothing_is_said_of_an_idle_program),
        cmocka_unit_test(a_library_that_is_missing_or_another_is_refused_with_the_reason),
        cmocka_unit_test(without_driver_or_device_it_is_refused_with_the_reason),
        cmocka_unit_test(another_subscriber_is_named),
        cmocka_unit_test(records_without_times_or_with_impossible_ones_are_counted),
        cmocka_unit_test(what_the_library_dropped_is_not_waited_for_and_the_rest_is_right),
        cmocka_unit_test(records_of_unknown_kind_are_counted_and_stepped_over),
        cmocka_unit_test(names_that_are_missing_or_very_long_do_no_harm),
        cmocka_unit_test(times_come_out_in_the_epoch_whatever_the_clock),
        cmocka_unit_test(nothing_is_armed_before_a_session_nor_after_it),
        cmocka_unit_test(start_twice_and_stop_without_start_are_refused),
        cmocka_unit_test(many_sessions_in_one_process_each_hold_their_own),
        cmocka_unit_test(many_threads_push_while_another_drains),
        cmocka_unit_test(a_session_may_begin_and_end_while_others_launch),
        cmocka_unit_test(a_forked_child_lives_and_the_parents_session_goes_on),
        cmocka_unit_test(a_program_may_exit_while_recording),
    };
    ops = &fp_roctracer_ops;
    library = ROCTRACER;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
