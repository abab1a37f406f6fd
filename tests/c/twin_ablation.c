// twin_ablation.c - each countermeasure against what fails silently, switched off: the scenario that passes
// with it must fail without it.
//
// In:  the tracers built with FP_ABLATION, the facades.
// Out: a table's rows, each run twice.
#include "ablation.h"

#include "tracers/cupti.h"
#include "tracers/mcpti.h"
#include "tracers/mupti.h"

static void scenario_refused_layout(void) {
    record();
    CHECK(strstr(all.notes, "other records than are known"), "believed: %s", all.notes);
}

static void scenario_refused_numbers(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENODEV);
}

static const struct vendor {
    const char *name;
    const struct fp_tracer_ops *ops;
    const char *library;
} vendors[] = {
    { "mcpti", &fp_mcpti_ops, BUILD_DIR "/sim/mcpti/libmcpti.so" },
    { "mupti", &fp_mupti_ops, BUILD_DIR "/sim/mupti/libmupti.so.1" },
    { "ppu", &fp_cupti_ppu_ops, BUILD_DIR "/sim/ppu/libhgpti.so" },
};

static const struct {
    const char *vendor, *countermeasure, *faults;
    void (*scenario)(void);
} rows[] = {
    { "mcpti", "ids", "", scenario_faulty_but_whole },
    { "mcpti", "clock", "", scenario_clock },
    { "mcpti", "iterator", "stale_iterator", scenario_faulty_but_whole },
    { "mcpti", "names", "resolver_deadlock,tiny_buffers", scenario_drained_on_the_way },
    { "mcpti", "lost", "drop_records", scenario_vendor_drops },
    { "mcpti", "layout", "other_layout=4", scenario_refused_layout },
    { "mupti", "ids", "", scenario_faulty_but_whole },
    { "mupti", "clock", "", scenario_clock },
    { "mupti", "lost", "drop_records", scenario_vendor_drops },
    { "mupti", "layout", "other_layout=10", scenario_refused_layout },
    { "mupti", "numbers", "other_numbers=2", scenario_refused_numbers },
    { "ppu", "ids", "", scenario_faulty_but_whole },
    { "ppu", "clock", "", scenario_clock },
    { "ppu", "lost", "drop_records", scenario_vendor_drops },
    { "ppu", "layout", "other_layout=4", scenario_refused_layout },
    { "ppu", "stride", "own_buffers_only", scenario_faulty_but_whole },
    { "ppu", "bound", "", scenario_many_small_records },
    { "ppu", "registration", "replaced_callbacks", scenario_sessions_in_a_row },
    { "ppu", "teardown", "", scenario_faulty_but_whole },
    { "mupti", "window", "no_external_records", scenario_faulty_but_whole },
};

enum { CHANCES = 10 }; // a deadlock needs two threads to meet

static void without_its_countermeasure_each_silent_fault_is_noticed(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        const struct vendor *vendor = vendors;
        while (strcmp(vendor->name, rows[at].vendor) != 0)
            vendor++;
        ops = vendor->ops;
        library = vendor->library;
        check_noticed(rows[at].countermeasure, rows[at].faults, rows[at].scenario, CHANCES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_its_countermeasure_each_silent_fault_is_noticed),
    };
    case_seconds = 3; // a deadlock is one of the things to be noticed
    return cmocka_run_group_tests(tests, NULL, NULL);
}
