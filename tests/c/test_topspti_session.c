// test_topspti_session.c - whole sessions on a simulated TOPSPTI, sound and with every fault.
//
// Built twice: as it is, where the records must tell their layout, and with STANDIN_HEADER and the tracer's
// file of offsets compiled against our stand-in of the SDK's header, where every field must be there.
#include "emulated.h"
#include "topspti_truth.h"

#include "tracers/topspti_text.h"

#ifdef STANDIN_HEADER
static const bool has_header = true;
#else
static const bool has_header = false;
#endif

static void whole(void) {
    record_witnessed();
    check_complete();
    CHECK(all.notes[0] == '\0', "%s", all.notes);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        const char *name = collected_name(&all, event->name);
        if (event->kind == FP_KIND_RUNTIME) {
            CHECK(strncmp(name, "tops", 4) == 0 && !strstr(name, "Call_"), "%s", name);
            CHECK(strcmp(name, "topsDeviceSynchronize") != 0 || event->u.call.thread, "no thread");
        }
        unsigned wanted = has_header ? FP_HAS_STREAM | FP_HAS_CONTEXT : 0;
        if (event->kind == FP_KIND_KERNEL)
            CHECK_EQUAL(event->fields, wanted | (has_header ? FP_HAS_GEOMETRY : 0));
        if (event->kind == FP_KIND_MEMCPY && has_header)
            CHECK(strstr(name, " -> "), "%s", name);
        if (event->kind == FP_KIND_MEMCPY)
            CHECK(event->fields & FP_HAS_BYTES, "no bytes");
    }
}

static void everything_is_recorded_owned_and_named(void **state) {
    (void)state;
    run("epoch_clock", whole);
}

static void faulty_but_whole(void) {
    record();
    check_complete();
}

static void faults_that_lose_nothing_change_nothing(void **state) {
    static const char *const faults[] = { "tiny_buffers",   "late_buffers",    "out_of_order",
                                          "clock_domain",   "epoch_clock",     "empty_buffers,tiny_buffers",
                                          "completed_zero", "thread_ids_stay", "flush_completion_thread",
                                          "hang_flush=20",  "completed_zero=1" };
    (void)state;
    for (size_t at = 0; at < sizeof(faults) / sizeof(faults[0]); at++)
        run(faults[at], faulty_but_whole);
}

static void without_operators(void) {
    record();
    check_counts();
    CHECK_EQUAL(all.correlation_count, 0);
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind <= FP_KIND_MEMSET)
            CHECK(call_of(all.events[at].event.vendor_id.value), "a kernel without its call");
}

static void said_without_operators(void) {
    without_operators();
    CHECK(strstr(all.notes, "another profiler"), "%s", all.notes);
}

static void kernels_survive_without_any_callback(void **state) {
    (void)state;
    run("no_callbacks", without_operators);
    run("other_subscriber", said_without_operators);
}

static void refused_or_counted(void) {
    record();
    if (strstr(all.notes, NOT_KNOWN)) {
        CHECK(!has_header, "a header knows the layout");
        CHECK_EQUAL(all.event_count, 0);
        return;
    }
    static const flagsim_fate fates[] = { FLAGSIM_FATE_END_BEFORE_START, FLAGSIM_FATE_NO_END,
                                          FLAGSIM_FATE_TOO_LONG };
    uint64_t flawed = 0, lost = 0;
    for (size_t kind = 0; kind < 3; kind++)
        for (size_t at = 0; at < 3; at++)
            flawed += truth.records[fates[at]][device_kinds[kind].record];
    for (int kind = 0; kind <= FP_KIND_MEMSET; kind++)
        lost += all.lost[kind][FP_LOSS_MALFORMED];
    CHECK(flawed > 0, "the fault did nothing");
    CHECK_EQUAL(lost, flawed);
}

static void records_without_times_or_with_impossible_ones_are_counted(void **state) {
    (void)state;
    run("timing_zero", scenario_odd_times);
    run("end_before_start", refused_or_counted);
    run("end_zero", refused_or_counted);
    run("too_long", refused_or_counted);
}

static void what_the_library_says_it_dropped_is_counted(void **state) {
    (void)state;
    run("drop_records", scenario_vendor_drops);
}

static void unknown_kinds(void) {
    record();
    CHECK_EQUAL(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND],
                truth.records[FLAGSIM_FATE_FOREIGN][FLAGSIM_RECORD_OTHER]);
    CHECK(truth.records[FLAGSIM_FATE_FOREIGN][FLAGSIM_RECORD_OTHER] > 0, "the fault did nothing");
    check_device_counts();
    check_owners();
}

static void records_of_unknown_kind_are_counted_and_stepped_over(void **state) {
    (void)state;
    run("unknown_kind", unknown_kinds);
}

static void where_the_iterator_stops_the_rest_is_said_to_be_missing(void **state) {
    (void)state;
    run("broken_record", broken);
    run("broken_record,tiny_buffers", broken);
}

static void odd_names(void) {
    record();
    CHECK(collected_count(&all, FP_KIND_KERNEL) == truth.kernels || strstr(all.notes, NOT_KNOWN), "kernels");
}

static void names_that_are_missing_very_long_or_dirty_do_no_harm(void **state) {
    (void)state;
    run("name_null", odd_names);
    run("name_8k", odd_names);
    run("name_dirty", odd_names);
}

static void times_come_out_in_the_epoch_whatever_the_clock(void **state) {
    (void)state;
    run("", scenario_clock);
    run("clock_domain", scenario_clock);
    run("epoch_clock", scenario_clock);
}

static void without_driver_or_device_it_is_refused_with_the_reason(void **state) {
    (void)state;
    run("no_device", scenario_refused);
}

static void being_replaced_during_a_session_is_noticed_and_said(void **state) {
    (void)state;
    if (has_header)
        run("replaced_callbacks,tiny_buffers", scenario_replaced);
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
    run("", scenario_threads);
}

static void a_forked_child_lives_and_the_parents_session_goes_on(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    run("", scenario_forked);
}

static void a_program_may_exit_while_recording(void **state) {
    (void)state;
    run("", scenario_exits_while_recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_recorded_owned_and_named),
        cmocka_unit_test(faults_that_lose_nothing_change_nothing),
        cmocka_unit_test(kernels_survive_without_any_callback),
        cmocka_unit_test(records_without_times_or_with_impossible_ones_are_counted),
        cmocka_unit_test(what_the_library_says_it_dropped_is_counted),
        cmocka_unit_test(records_of_unknown_kind_are_counted_and_stepped_over),
        cmocka_unit_test(where_the_iterator_stops_the_rest_is_said_to_be_missing),
        cmocka_unit_test(names_that_are_missing_very_long_or_dirty_do_no_harm),
        cmocka_unit_test(times_come_out_in_the_epoch_whatever_the_clock),
        cmocka_unit_test(without_driver_or_device_it_is_refused_with_the_reason),
        cmocka_unit_test(being_replaced_during_a_session_is_noticed_and_said),
        cmocka_unit_test(nothing_is_armed_before_a_session_nor_after_it),
        cmocka_unit_test(start_twice_and_stop_without_start_are_refused),
        cmocka_unit_test(many_sessions_in_one_process_each_hold_their_own),
        cmocka_unit_test(many_threads_push_while_another_drains),
        cmocka_unit_test(a_forked_child_lives_and_the_parents_session_goes_on),
        cmocka_unit_test(a_program_may_exit_while_recording),
    };
    ops = &fp_topspti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
