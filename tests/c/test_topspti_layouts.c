// test_topspti_layouts.c - many layouts of TOPSPTI's records, none of them known: right events, or a refusal.
//
// In:  seeds (fault other_layout), from each of which the facade draws a layout; and with each of them the
//      simulator's own knowledge of what happened.
// Out: never an event that did not happen so. That most layouts are found out is required too: a tracer that
//      refuses everything would be right and of no use.
#include "topspti_truth.h"

#include "tracers/topspti_text.h"

enum { SEEDS = 60, FOUND_AT_LEAST = 40 };

static int session(int seed, const char *beside) {
    char faults[96];
    snprintf(faults, sizeof(faults), "epoch_clock,other_layout=%d%s", seed, beside);
    has_callbacks = !strstr(beside, "no_callbacks");
    int status = run_case(faults, scenario_any_layout);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2)
        fail_msg("seed %d%s: see above", seed, beside);
    return WEXITSTATUS(status) == 0;
}

static void whatever_the_layout_events_are_right_or_refused(void **state) {
    int found = 0;
    (void)state;
    for (int seed = 1; seed <= SEEDS; seed++)
        found += session(seed, "");
    printf("%d of %d drawn layouts were found out, the others refused\n", found, SEEDS);
    assert_in_range(found, FOUND_AT_LEAST, SEEDS);
}

static void faults_on_top_of_a_drawn_layout_make_nothing_wrong(void **state) {
    static const char *const beside[] = { ",tiny_buffers", ",thread_ids_stay,completed_zero",
                                          ",no_callbacks" };
    (void)state;
    for (int seed = 1; seed <= SEEDS / 5; seed++)
        session(seed, beside[seed % 3]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_the_layout_events_are_right_or_refused),
        cmocka_unit_test(faults_on_top_of_a_drawn_layout_make_nothing_wrong),
    };
    ops = &fp_topspti_ops;
    library = LIBRARY;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
