// test_topspti_session.c - whole sessions on a simulated TOPSPTI, sound and with every fault.
//
// Built twice: as it is, where the records must tell their layout, and with STANDIN_HEADER and the tracer's
// file of offsets compiled against our stand-in of the SDK's header, where every field must be there.
#include "session_rows.h"
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

// FlagProf waits for the device itself, at the end and, where records must tell the layout, before the beginning.
static void without_our_own_calls(void) {
    size_t shown = 0;
    record();
    for (size_t at = 0; at < all.event_count; at++)
        shown += strcmp(collected_name(&all, all.events[at].event.name), "topsDeviceSynchronize") == 0;
    CHECK_EQUAL(shown + (has_header ? 1 : 2), truth.api_calls[FLAGSIM_API_DEVICE_SYNCHRONIZE]);
    CHECK(shown > 0, "the program waited");
}

static void left_as_it_is(void) {
    record_witnessed();
    CHECK(all.event_count > 0, "nothing was recorded");
    for (size_t at = 0; at < all.event_count; at++)
        CHECK_EQUAL(ops->to_epoch(tracer, all.events[at].event.start_ns), all.events[at].event.start_ns);
}

static void faulty_but_whole(void) {
    record();
    check_complete();
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

static void odd_names(void) {
    record();
    CHECK(collected_count(&all, FP_KIND_KERNEL) == truth.kernels || strstr(all.notes, NOT_KNOWN), "kernels");
}

static void being_replaced_during_a_session_is_noticed_and_said(void **state) {
    (void)state;
    if (has_header)
        run("replaced_callbacks,tiny_buffers", scenario_replaced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SESSIONS(everything_is_recorded_owned_and_named, PASSES(whole, "epoch_clock")),
        SESSIONS(
            faults_that_lose_nothing_change_nothing,
            PASSES(
                faulty_but_whole,
                "tiny_buffers late_buffers out_of_order clock_domain epoch_clock empty_buffers,tiny_buffers "
                "completed_zero thread_ids_stay flush_completion_thread hang_flush=20 completed_zero=1")),
        SESSIONS(kernels_survive_without_any_callback, PASSES(without_operators, "no_callbacks"),
                 PASSES(said_without_operators, "other_subscriber")),
        SESSIONS(records_without_times_or_with_impossible_ones_are_counted,
                 PASSES(scenario_odd_times, "timing_zero"),
                 PASSES(refused_or_counted, "end_before_start end_zero too_long")),
        SESSIONS(what_the_library_says_it_dropped_is_counted, PASSES(scenario_vendor_drops, "drop_records")),
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,
                 PASSES(scenario_unknown_kinds, "unknown_kind")),
        SESSIONS(where_the_iterator_stops_the_rest_is_said_to_be_missing,
                 PASSES(broken, "broken_record broken_record,tiny_buffers")),
        SESSIONS(names_that_are_missing_very_long_or_dirty_do_no_harm,
                 PASSES(odd_names, "name_null name_8k name_dirty")),
        SESSIONS(times_come_out_in_the_epoch_whatever_the_clock, PASSES(scenario_clock, ""),
                 PASSES(scenario_clock, "clock_domain epoch_clock")),
        SESSIONS(a_clock_that_is_the_epoch_is_left_as_it_is, PASSES(left_as_it_is, "epoch_clock")),
        SESSIONS(calls_of_flagprofs_own_are_not_shown, PASSES(without_our_own_calls, "")),
        SESSIONS(without_driver_or_device_it_is_refused_with_the_reason,
                 PASSES(scenario_refused, "no_device")),
        cmocka_unit_test(being_replaced_during_a_session_is_noticed_and_said),
        SESSIONS(nothing_is_armed_before_a_session_nor_after_it, PASSES(scenario_nothing_armed, "")),
        SESSIONS(start_twice_and_stop_without_start_are_refused, PASSES(scenario_order_of_calls, "")),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, PASSES(scenario_sessions_in_a_row, "")),
        SESSIONS(many_threads_push_while_another_drains, PASSES(scenario_threads, "")),
        SESSIONS(a_forked_child_lives_and_the_parents_session_goes_on, PASSES(scenario_forked, "")),
        SESSIONS(a_program_may_exit_while_recording, PASSES(scenario_exits_while_recording, "")),
    };
    ops = &fp_topspti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
