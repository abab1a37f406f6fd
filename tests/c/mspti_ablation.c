// mspti_ablation.c - each countermeasure against what fails silently on Ascend, switched off: the scenario that
// passes with it must fail without it.
//
// In:  the tracer built with FP_ABLATION, the facade. Out: a table's rows, each run twice.
#include "ablation.h"
#include "mspti_sessions.h"

static const struct {
    const char *countermeasure, *faults;
    void (*scenario)(void);
} rows[] = {
    { "ids", "wide_ids", whole },
    { "clock", "raw_counter", raw_counters },
    { "iterator", "unknown_kind", unknown_kinds },
    { "lost", "late_buffers,tiny_buffers=100", without_room },
    { "levels", "", whole },
    { "owners", "", in_step },
    { "clocks", "clock_behind=2000000000", in_step },
    { "offset", "clock_behind=2000000000", left_over },
    { "devices", "", on_physical_devices },
};

enum { CHANCES = 10 }; // two threads have to meet for one of them

static void without_its_countermeasure_each_silent_fault_is_noticed(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        check_noticed(rows[at].countermeasure, rows[at].faults, rows[at].scenario, CHANCES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_its_countermeasure_each_silent_fault_is_noticed),
    };
    ops = &fp_mspti_ops;
    library = MSPTI;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
