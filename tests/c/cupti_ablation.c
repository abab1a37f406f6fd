// cupti_ablation.c - each countermeasure of CUPTI's tracer against what fails silently, switched off: the
// scenario that passes with it must fail without it.
//
// In:  the tracer built with FP_ABLATION, the facade of CUPTI 13.0.
// Out: a table's rows, each run twice.
#include "ablation.h"

#include "tracers/cupti.h"

static void complete_and_in_the_epoch(void) {
    int64_t begin = epoch_now();
    record();
    int64_t end = epoch_now();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    CHECK_EQUAL(collected_lost(&all), 0);
    check_device_counts();
    check_owners();
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        CHECK(event->start_ns >= begin - 100000 && event->end_ns <= end + 100000, "an event lies %lld ns off",
              (long long)(event->start_ns - begin));
    }
}

// The driver's call in the runtime's is no launch of its own.
static void launches_once(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_DRIVER), LAUNCHES / 5);
    check_owners();
}

static void silent_from_the_start(void) {
    open_tracer();
    collect_begin(&all);
    launch(0); // makes the first context
    flagsim_device_synchronize();
    start();
    work();
    stop();
    CHECK(strstr(all.notes, "flagprof.prepare()"), "the cure is not named: %s", all.notes);
}

static const struct {
    const char *countermeasure, *faults;
    void (*scenario)(void);
} rows[] = {
    { "ids", "", complete_and_in_the_epoch },
    { "clock", "clock_domain", complete_and_in_the_epoch },
    { "iterator", "unknown_kind", scenario_unknown_kinds },
    { "runtime", "runtime_mismatch", scenario_refused },
    { "lost", "drop_records", scenario_vendor_drops },
    { "nested", "nested_driver_call", launches_once },
    { "nested", "nested_own_id", launches_once },
    { "silence", "replaced_callbacks,tiny_buffers", scenario_replaced },
    { "silence", "late_registration", silent_from_the_start },
    { "registration", "replaced_callbacks", scenario_sessions_in_a_row },
};

static void without_its_countermeasure_each_silent_fault_is_noticed(void **state) {
    (void)state;
    if (access(library, R_OK) != 0) {
        print_message("skipped: no CUPTI facade is built (scripts/fetch_cupti.py brings the headers)\n");
        skip();
    }
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        check_noticed(rows[at].countermeasure, rows[at].faults, rows[at].scenario, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_its_countermeasure_each_silent_fault_is_noticed),
    };
    ops = &fp_cupti_ops;
    library = BUILD_DIR "/sim/cupti-13.0/libcupti.so.13";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
