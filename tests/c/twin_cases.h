// twin_cases.h - what holds for every copy of CUPTI, whatever the vendor (twin_session.c is one tracer for
// them all).
//
// In:  the vendor under test, as for twin_sessions.h. Out: TWIN_TESTS, to which a vendor's file adds its own
//      rows.
#ifndef TWIN_CASES_H
#define TWIN_CASES_H

#include "session_rows.h"

// Runtime calls begin so, without the versions that CUPTI appends; every fifth launch is the driver's own.
static inline void check_call_names(const char *runtime, const char *driver_launch) {
    size_t drivers = 0;
    scenario_whole();
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        const char *name = collected_name(&all, event->name);
        if (event->kind == FP_KIND_RUNTIME)
            CHECK(strstr(name, runtime) == name && !strstr(name, "_v3020") && !strstr(name, "RuntimeCall_"),
                  "%s", name);
        if (event->kind == FP_KIND_DRIVER)
            CHECK(strcmp(name, driver_launch) == 0, "%s", name);
        drivers += event->kind == FP_KIND_DRIVER;
    }
    CHECK_EQUAL(drivers, LAUNCHES / 5);
}

#define TWIN_FAULTS_THAT_LOSE_NOTHING                                                                        \
    "tiny_buffers late_buffers,tiny_buffers=600 out_of_order late_correlation,tiny_buffers clock_domain "    \
    "epoch_clock flush_completion_thread,tiny_buffers hang_flush=50 "

static inline void another_layout_gives_right_events_or_is_refused(void **state) {
    (void)state;
    char fault[64];
    for (int number = 1; number <= 124; number += number == 11 ? 89 : 1) {
        snprintf(fault, sizeof(fault), "other_layout=%d", number);
        run(fault, scenario_other_layout);
    }
}

#define TWIN_TESTS                                                                                           \
    SESSIONS(nothing_is_armed_before_a_session_nor_after_it, PASSES(scenario_nothing_armed, "")),            \
        SESSIONS(start_twice_and_stop_without_start_are_refused, PASSES(scenario_order_of_calls, "")),       \
        SESSIONS(many_threads_push_while_another_drains, PASSES(scenario_threads, "tiny_buffers=65536")),    \
        SESSIONS(records_without_times_or_with_impossible_ones_are_counted,                                  \
                 PASSES(scenario_odd_times, "timing_zero end_before_start "                                  \
                                            "timing_zero=4,end_before_start=3,tiny_buffers timing_zero=1")), \
        SESSIONS(what_the_library_says_it_dropped_is_counted,                                                \
                 PASSES(scenario_vendor_drops, "drop_records")),                                             \
        SESSIONS(times_come_out_in_the_epoch_whatever_the_clock, PASSES(scenario_clock, ""),                 \
                 PASSES(scenario_clock, "clock_domain epoch_clock")),                                        \
        cmocka_unit_test(another_layout_gives_right_events_or_is_refused),                                   \
        SESSIONS(a_push_that_fails_is_reported, PASSES(scenario_push_failures, "push_fails")),               \
        SESSIONS(without_driver_or_device_it_is_refused_with_the_reason,                                     \
                 PASSES(scenario_refused, "no_driver no_device")),                                           \
        SESSIONS(being_replaced_during_a_session_is_noticed_and_said,                                        \
                 PASSES(scenario_replaced, "replaced_callbacks,tiny_buffers")),                              \
        SESSIONS(a_forked_child_lives_and_the_parents_session_goes_on, PASSES(scenario_forked, "")),         \
        SESSIONS(a_program_may_exit_while_recording, PASSES(scenario_exits_while_recording, ""),             \
                 PASSES(scenario_exits_while_recording, "tiny_buffers"))

#endif
