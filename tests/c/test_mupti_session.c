// test_mupti_session.c - whole sessions on a simulated MUPTI, sound and with every fault it can have.
#include "emulated.h"
#include "twin_sessions.h"

#include "tracers/mupti.h"

#define LIBRARY BUILD_DIR "/sim/mupti/libmupti.so.1"
#define LIMITED BUILD_DIR "/sim/mupti-limited/libmupti.so.1"

static void check_names(void) {
    scenario_whole();
    size_t named = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        const char *name = collected_name(&all, event->name);
        if (event->kind == FP_KIND_RUNTIME)
            CHECK(strstr(name, "musa") == name && !strstr(name, "_v3020") && !strstr(name, "RuntimeCall_"),
                  "%s", name);
        if (event->kind == FP_KIND_DRIVER)
            CHECK(strcmp(name, "muLaunchKernel") == 0, "%s", name);
        named += event->kind == FP_KIND_DRIVER;
    }
    CHECK_EQUAL(named, LAUNCHES / 5); // every fifth launch is the driver's own
}

static void everything_is_recorded_owned_and_named(void **state) {
    (void)state;
    run("", check_names);
    run("", scenario_drained_on_the_way);
}

static void nothing_is_armed_before_a_session_nor_after_it(void **state) {
    (void)state;
    run("", scenario_nothing_armed);
}

static void start_twice_and_stop_without_start_are_refused(void **state) {
    (void)state;
    run("", scenario_order_of_calls);
}

static void many_sessions_in_one_process_each_hold_their_own(void **state) {
    (void)state;
    run("", scenario_sessions_in_a_row);
    run("no_external_records", scenario_sessions_in_a_row);
}

static void many_threads_push_while_another_drains(void **state) {
    (void)state;
    run("tiny_buffers=65536", scenario_threads);
}

static void faults_that_lose_nothing_change_nothing(void **state) {
    (void)state;
    static const char *const faults[] = {
        "tiny_buffers",
        "late_buffers,tiny_buffers=600",
        "out_of_order",
        "late_correlation,tiny_buffers",
        "clock_domain",
        "epoch_clock",
        "flush_completion_thread,tiny_buffers",
        "hang_flush=50",
        "second_flush_hangs",
        "tiny_buffers,out_of_order,late_correlation,second_flush_hangs",
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        run(faults[i], scenario_faulty_but_whole);
        run(faults[i], scenario_drained_on_the_way);
    }
}

static void found_by_time(void) {
    record();
    check_whole();
    CHECK(strstr(all.notes, "thread and the time"), "nothing is said of it: %s", all.notes);
}

static void without_id_records_operators_are_found_by_thread_and_time_and_that_is_said(void **state) {
    (void)state;
    run("no_external_records", found_by_time);
    run("no_external_records=2", found_by_time); // push and pop are not implemented either
    run("no_external_records,tiny_buffers,out_of_order", found_by_time);
    run("no_external_records,clock_domain", found_by_time);
    run("no_external_records=2", scenario_threads);
}

static void few_exports_are_enough(void **state) {
    (void)state;
    library = LIMITED;
    run("", found_by_time);
    run("timing_zero", scenario_odd_times);
    library = LIBRARY;
}

static void records_without_times_or_with_impossible_ones_are_counted(void **state) {
    (void)state;
    run("timing_zero", scenario_odd_times);
    run("end_before_start", scenario_odd_times);
    run("timing_zero=4,end_before_start=3,tiny_buffers", scenario_odd_times);
    run("timing_zero=1", scenario_odd_times);
}

static void what_the_library_says_it_dropped_is_counted(void **state) {
    (void)state;
    run("drop_records", scenario_vendor_drops);
}

static void records_of_unknown_kind_are_counted_and_stepped_over(void **state) {
    (void)state;
    run("unknown_kind", scenario_unknown_kinds);
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

static void names_that_are_missing_or_very_long_do_no_harm(void **state) {
    (void)state;
    run("name_null", scenario_odd_names);
    run("name_8k", scenario_odd_names);
}

static void times_come_out_in_the_epoch_whatever_the_clock(void **state) {
    (void)state;
    run("", scenario_clock);
    run("clock_domain", scenario_clock);
    run("epoch_clock", scenario_clock);
}

static void another_layout_gives_right_events_or_is_refused(void **state) {
    (void)state;
    char fault[64];
    for (int number = 1; number <= 124; number += number == 11 ? 89 : 1) {
        snprintf(fault, sizeof(fault), "other_layout=%d", number);
        run(fault, scenario_other_layout);
    }
}

static void numbers(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENODEV);
    CHECK(strstr(err.text, "its numbers are not known"), "%s", err.text);
}

static void a_library_that_does_not_confirm_the_guessed_numbers_is_refused(void **state) {
    (void)state;
    run("other_numbers=1", numbers);
    run("other_numbers=2", numbers);
}

static void busy(void) {
    struct fp_session_options options = { .size = sizeof(options) };
    struct fp_error err = { "" };
    open_tracer();
    CHECK_EQUAL(ops->start(tracer, &options, &err), -EBUSY);
    CHECK(strstr(err.text, "Another profiler"), "%s", err.text);
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
    CHECK_EQUAL(truth.kinds_armed, 0);
}

static void another_subscriber_is_named(void **state) {
    (void)state;
    run("other_subscriber", busy);
}

static void a_push_that_fails_is_reported(void **state) {
    (void)state;
    run("push_fails", scenario_push_failures);
}

static void without_driver_or_device_it_is_refused_with_the_reason(void **state) {
    (void)state;
    run("no_driver", scenario_refused);
    run("no_device", scenario_refused);
}

static void being_replaced_during_a_session_is_noticed_and_said(void **state) {
    (void)state;
    run("replaced_callbacks,tiny_buffers", scenario_replaced);
}

static void a_forked_child_lives_and_the_parents_session_goes_on(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    run("", scenario_forked);
}

static void a_program_may_exit_while_recording(void **state) {
    (void)state;
    run("", scenario_exits_while_recording);
    run("tiny_buffers", scenario_exits_while_recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_recorded_owned_and_named),
        cmocka_unit_test(nothing_is_armed_before_a_session_nor_after_it),
        cmocka_unit_test(start_twice_and_stop_without_start_are_refused),
        cmocka_unit_test(many_sessions_in_one_process_each_hold_their_own),
        cmocka_unit_test(many_threads_push_while_another_drains),
        cmocka_unit_test(faults_that_lose_nothing_change_nothing),
        cmocka_unit_test(without_id_records_operators_are_found_by_thread_and_time_and_that_is_said),
        cmocka_unit_test(few_exports_are_enough),
        cmocka_unit_test(records_without_times_or_with_impossible_ones_are_counted),
        cmocka_unit_test(what_the_library_says_it_dropped_is_counted),
        cmocka_unit_test(records_of_unknown_kind_are_counted_and_stepped_over),
        cmocka_unit_test(a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing),
        cmocka_unit_test(names_that_are_missing_or_very_long_do_no_harm),
        cmocka_unit_test(times_come_out_in_the_epoch_whatever_the_clock),
        cmocka_unit_test(another_layout_gives_right_events_or_is_refused),
        cmocka_unit_test(a_library_that_does_not_confirm_the_guessed_numbers_is_refused),
        cmocka_unit_test(another_subscriber_is_named),
        cmocka_unit_test(a_push_that_fails_is_reported),
        cmocka_unit_test(without_driver_or_device_it_is_refused_with_the_reason),
        cmocka_unit_test(being_replaced_during_a_session_is_noticed_and_said),
        cmocka_unit_test(a_forked_child_lives_and_the_parents_session_goes_on),
        cmocka_unit_test(a_program_may_exit_while_recording),
    };
    ops = &fp_mupti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
