// topspti_ablation.c - each countermeasure of TOPSPTI's tracer against what fails silently, switched off: the
// scenario that passes with it must fail without it.
//
// In:  the tracer built with FP_ABLATION, the facade.
// Out: a table's rows, each run twice.
#include "ablation.h"
#include "topspti_truth.h"

static void all_of_it(void) {
    record();
    check_counts();
    CHECK_EQUAL(collected_lost(&all), 0);
    check_owners();
    for (size_t at = 0; at < all.event_count; at++)
        CHECK_EQUAL(all.events[at].event.device, 0);
}

static void right_or_refused(void) {
    record_witnessed();
    if (!strstr(all.notes, NOT_KNOWN))
        check_complete();
}

static const struct {
    const struct fp_tracer_ops *ops;
    const char *library, *countermeasure, *faults;
    void (*scenario)(void);
} rows[] = {
    { &fp_topspti_ops, LIBRARY, "ids", "", all_of_it },
    { &fp_topspti_ops, LIBRARY, "clock", "", scenario_clock },
    { &fp_topspti_ops, LIBRARY, "iterator", "broken_record", broken },
    { &fp_topspti_ops, LIBRARY, "lost", "drop_records", scenario_vendor_drops },
    { &fp_topspti_ops, LIBRARY, "agreement", "epoch_clock,other_layout=58", right_or_refused },
};

static void without_its_countermeasure_each_silent_fault_is_noticed(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        ops = rows[at].ops;
        library = rows[at].library;
        check_noticed(rows[at].countermeasure, rows[at].faults, rows[at].scenario, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_its_countermeasure_each_silent_fault_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
