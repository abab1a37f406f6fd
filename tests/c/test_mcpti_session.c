// test_mcpti_session.c - whole sessions on a simulated MCPTI, sound and with every fault it can have.
#include "twin_cases.h"

#include "tracers/mcpti.h"

#define LIBRARY BUILD_DIR "/sim/mcpti/libmcpti.so"
#define BRIDGE BUILD_DIR "/sim/mcpti-bridge/libmcpti.so"
#define HARMLESS                                                                                             \
    TWIN_FAULTS_THAT_LOSE_NOTHING                                                                            \
    "held_by_device other_subscriber stale_iterator stale_iterator,tiny_buffers resolver_deadlock "          \
    "resolver_deadlock,tiny_buffers version_mismatch "                                                       \
    "tiny_buffers,out_of_order,late_correlation,stale_iterator"

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

static void the_bridges_spellings_serve_as_well(void **state) {
    (void)state;
    library = BRIDGE;
    run("", check_names);
    library = LIBRARY;
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

static void identity(void) {
    record();
    for (size_t at = 0; at < all.event_count; at++)
        CHECK_EQUAL(ops->to_epoch(tracer, all.events[at].event.start_ns), all.events[at].event.start_ns);
}

static void refused_layout(void) {
    struct fp_session_options options = { .size = sizeof(options) };
    struct fp_error err = { "" };
    record();
    CHECK(strstr(all.notes, "other records than are known"), "not refused: %s", all.notes);
    CHECK_EQUAL(ops->start(tracer, &options, &err), -ENOTSUP);
    CHECK(strstr(err.text, "other records"), "%s", err.text);
}

static void another_version(void) {
    record();
    CHECK(strstr(all.notes, "version 26"), "nothing is said: %s", all.notes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TWIN_TESTS,
        SESSIONS(everything_is_recorded_owned_and_named, PASSES(check_names, ""),
                 PASSES(scenario_drained_on_the_way, "")),
        cmocka_unit_test(the_bridges_spellings_serve_as_well),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, PASSES(scenario_sessions_in_a_row, "")),
        SESSIONS(faults_that_lose_nothing_change_nothing, PASSES(scenario_faulty_but_whole, HARMLESS),
                 PASSES(scenario_drained_on_the_way, HARMLESS)),
        SESSIONS(records_of_unknown_kind_are_counted_and_passed_over,
                 PASSES(scenario_unknown_kinds, "unknown_kind unknown_kind,stale_iterator")),
        SESSIONS(what_no_iterator_gets_past_is_passed_over,
                 PASSES(reached, "broken_record broken_record=7,stale_iterator")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm,
                 PASSES(scenario_odd_names, "name_null name_8k graph_names_null")),
        SESSIONS(a_clock_that_is_the_epoch_is_left_as_it_is, PASSES(identity, "epoch_clock")),
        SESSIONS(a_refused_layout_stays_refused, PASSES(refused_layout, "other_layout=4")),
        SESSIONS(a_newer_record_that_only_grew_at_its_end_is_read,
                 PASSES(scenario_faulty_but_whole, "other_layout=3")),
        SESSIONS(another_version_than_the_known_one_is_said, PASSES(another_version, "version_mismatch")),
    };
    ops = &fp_mcpti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
