// test_mcpti_session.c - whole sessions on a simulated MCPTI, sound and with every fault it can have.
#include "emulated.h"
#include "twin_sessions.h"

#include "tracers/mcpti.h"

#define LIBRARY BUILD_DIR "/sim/mcpti/libmcpti.so"
#define BRIDGE BUILD_DIR "/sim/mcpti-bridge/libmcpti.so"

static void check_names(void) {
    scenario_whole();
    int metaxs = 0, numbers = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind != FP_KIND_RUNTIME)
            continue;
        const char *name = collected_name(&all, event->name);
        metaxs += name[0] == 'm' && name[1] == 'c';
        numbers += strstr(name, "RuntimeCall_") != NULL;
    }
    CHECK(metaxs > LAUNCHES, "only %d calls have names of MetaX's", metaxs);
    CHECK_EQUAL(numbers, 0);
    CHECK_EQUAL(metaxs, collected_count(&all, FP_KIND_RUNTIME));
}

static void everything_is_recorded_owned_and_named(void **state) {
    (void)state;
    run("", check_names);
    run("", scenario_drained_on_the_way);
}

static void the_bridges_spellings_serve_as_well(void **state) {
    (void)state;
    library = BRIDGE;
    run("", check_names);
    library = LIBRARY;
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
        "other_subscriber",
        "stale_iterator",
        "stale_iterator,tiny_buffers",
        "resolver_deadlock",
        "resolver_deadlock,tiny_buffers",
        "version_mismatch",
        "tiny_buffers,out_of_order,late_correlation,stale_iterator",
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        run(faults[i], scenario_faulty_but_whole);
        run(faults[i], scenario_drained_on_the_way);
    }
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

static void records_of_unknown_kind_are_counted_and_passed_over(void **state) {
    (void)state;
    run("unknown_kind", scenario_unknown_kinds);
    run("unknown_kind,stale_iterator", scenario_unknown_kinds);
}

// The simulator counts as unreachable what lies behind a broken record. By their sizes records are found
// again.
static void reached(void) {
    record();
    CHECK(truth.records[FLAGSIM_FATE_UNREACHABLE][FLAGSIM_RECORD_KERNEL] > 0, "the fault did nothing");
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), truth.copies);
    CHECK(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND] > 0, "the broken record itself is not counted");
    check_owners();
}

static void what_no_iterator_gets_past_is_passed_over(void **state) {
    (void)state;
    run("broken_record", reached);
    run("broken_record=7,stale_iterator", reached);
}

static void names_that_are_missing_or_very_long_do_no_harm(void **state) {
    (void)state;
    run("name_null", scenario_odd_names);
    run("name_8k", scenario_odd_names);
    run("graph_names_null", scenario_odd_names);
}

static void times_come_out_in_the_epoch_whatever_the_clock(void **state) {
    (void)state;
    run("", scenario_clock); // small numbers of its own
    run("clock_domain", scenario_clock);
    run("epoch_clock", scenario_clock);
}

static void identity(void) {
    record();
    for (size_t at = 0; at < all.event_count; at++)
        CHECK_EQUAL(ops->to_epoch(tracer, all.events[at].event.start_ns), all.events[at].event.start_ns);
}

static void a_clock_that_is_the_epoch_is_left_as_it_is(void **state) {
    (void)state;
    run("epoch_clock", identity);
}

static void another_layout_gives_right_events_or_is_refused(void **state) {
    (void)state;
    char fault[64];
    for (int number = 1; number <= 124; number += number == 11 ? 89 : 1) {
        snprintf(fault, sizeof(fault), "other_layout=%d", number);
        run(fault, scenario_other_layout);
    }
}

static void refused_layout(void) {
    struct fp_session_options options = { .size = sizeof(options) };
    struct fp_error err = { "" };
    record();
    CHECK(strstr(all.notes, "other records than are known"), "not refused: %s", all.notes);
    CHECK_EQUAL(ops->start(tracer, &options, &err), -ENOTSUP);
    CHECK(strstr(err.text, "other records"), "%s", err.text);
}

static void a_refused_layout_stays_refused(void **state) {
    (void)state;
    run("other_layout=4", refused_layout);
}

static void newer_record(void) {
    record();
    check_whole();
}

static void a_newer_record_that_only_grew_at_its_end_is_read(void **state) {
    (void)state;
    run("other_layout=3", newer_record);
}

static void another_version(void) {
    record();
    CHECK(strstr(all.notes, "version 26"), "nothing is said: %s", all.notes);
}

static void another_version_than_the_known_one_is_said(void **state) {
    (void)state;
    run("version_mismatch", another_version);
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
        cmocka_unit_test(the_bridges_spellings_serve_as_well),
        cmocka_unit_test(nothing_is_armed_before_a_session_nor_after_it),
        cmocka_unit_test(start_twice_and_stop_without_start_are_refused),
        cmocka_unit_test(many_sessions_in_one_process_each_hold_their_own),
        cmocka_unit_test(many_threads_push_while_another_drains),
        cmocka_unit_test(faults_that_lose_nothing_change_nothing),
        cmocka_unit_test(records_without_times_or_with_impossible_ones_are_counted),
        cmocka_unit_test(what_the_library_says_it_dropped_is_counted),
        cmocka_unit_test(records_of_unknown_kind_are_counted_and_passed_over),
        cmocka_unit_test(what_no_iterator_gets_past_is_passed_over),
        cmocka_unit_test(names_that_are_missing_or_very_long_do_no_harm),
        cmocka_unit_test(times_come_out_in_the_epoch_whatever_the_clock),
        cmocka_unit_test(a_clock_that_is_the_epoch_is_left_as_it_is),
        cmocka_unit_test(another_layout_gives_right_events_or_is_refused),
        cmocka_unit_test(a_refused_layout_stays_refused),
        cmocka_unit_test(a_newer_record_that_only_grew_at_its_end_is_read),
        cmocka_unit_test(another_version_than_the_known_one_is_said),
        cmocka_unit_test(a_push_that_fails_is_reported),
        cmocka_unit_test(without_driver_or_device_it_is_refused_with_the_reason),
        cmocka_unit_test(being_replaced_during_a_session_is_noticed_and_said),
        cmocka_unit_test(a_forked_child_lives_and_the_parents_session_goes_on),
        cmocka_unit_test(a_program_may_exit_while_recording),
    };
    ops = &fp_mcpti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
