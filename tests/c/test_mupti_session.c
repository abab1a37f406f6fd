// test_mupti_session.c - whole sessions on a simulated MUPTI, sound and with every fault it can have.
#include "twin_cases.h"

#include "tracers/mupti.h"

#define LIBRARY BUILD_DIR "/sim/mupti/libmupti.so.1"
#define LIMITED BUILD_DIR "/sim/mupti-limited/libmupti.so.1"
#define HARMLESS                                                                                             \
    TWIN_FAULTS_THAT_LOSE_NOTHING                                                                            \
    "second_flush_hangs tiny_buffers,out_of_order,late_correlation,second_flush_hangs"

static void check_names(void) {
    check_call_names("musa", "muLaunchKernel");
}

static void found_by_time(void) {
    record();
    check_whole();
    CHECK(strstr(all.notes, "thread and the time"), "nothing is said of it: %s", all.notes);
}

static void few_exports_are_enough(void **state) {
    (void)state;
    library = LIMITED;
    run("", found_by_time);
    run("timing_zero", scenario_odd_times);
    library = LIBRARY;
}

static void numbers(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENODEV);
    CHECK(strstr(err.text, "its numbers are not known"), "%s", err.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TWIN_TESTS,
        SESSIONS(everything_is_recorded_owned_and_named, PASSES(check_names, ""),
                 PASSES(scenario_drained_on_the_way, "")),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, PASSES(scenario_sessions_in_a_row, ""),
                 PASSES(scenario_sessions_in_a_row, "no_external_records")),
        SESSIONS(faults_that_lose_nothing_change_nothing, PASSES(scenario_faulty_but_whole, HARMLESS),
                 PASSES(scenario_drained_on_the_way, HARMLESS)),
        SESSIONS(without_id_records_operators_are_found_by_thread_and_time_and_that_is_said,
                 PASSES(found_by_time, "no_external_records no_external_records,tiny_buffers,out_of_order "
                                       "no_external_records,clock_domain"),
                 PASSES(found_by_time, "no_external_records=2"), // push and pop are not implemented either
                 PASSES(scenario_threads, "no_external_records=2")),
        cmocka_unit_test(few_exports_are_enough),
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,
                 PASSES(scenario_unknown_kinds, "unknown_kind")),
        SESSIONS(a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing,
                 PASSES(scenario_broken_records, "broken_record,tiny_buffers=8000")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm,
                 PASSES(scenario_odd_names, "name_null name_8k")),
        SESSIONS(a_library_that_does_not_confirm_the_guessed_numbers_is_refused,
                 PASSES(numbers, "other_numbers=1 other_numbers=2 other_numbers=7 other_numbers=12 "
                                 "other_numbers=15 other_numbers=41 other_numbers=60")),
        SESSIONS(another_subscriber_is_named, PASSES(scenario_busy, "other_subscriber")),
    };
    ops = &fp_mupti_ops;
    library = LIBRARY;
    launches_by_the_driver = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
