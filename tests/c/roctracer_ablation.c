// roctracer_ablation.c - each countermeasure of ROCtracer's tracer against what fails silently, switched off:
// the scenario that passes with it must fail without it.
//
// In:  the tracer built with FP_ABLATION, the facades of AMD's libraries and of DTK's.
// Out: a table's rows, each run twice.
#include "ablation.h"
#include "roctracer_sessions.h"

// A first sample that was 0 presses all that ran into the session's last moment, where no single time is absurd.
static void durations_stay(void) {
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), truth.kernels);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        int64_t lasted = event->end_ns - event->start_ns;
        int64_t shown = ops->to_epoch(tracer, event->end_ns) - ops->to_epoch(tracer, event->start_ns);
        CHECK(shown >= lasted - lasted / 100 - 2 && shown <= lasted + lasted / 100 + 2, "%lld ns became %lld",
              (long long)lasted, (long long)shown);
    }
}

static const struct {
    const char *countermeasure, *faults;
    void (*libraries)(void); // AMD's or DTK's
    void (*scenario)(void);
} rows[] = {
    { "ids", "wide_ids", with_hip, whole },
    { "clock", "", with_hip, scenario_clock },
    { "asleep", "clock_asleep=5", with_hip, durations_stay },
    { "names", "", with_hip, whole },
    { "flush", "late_records=1", with_hip, whole },
    { "barriers", "barriers", with_hip, whole },
    { "arguments", "no_bytes", with_hip, whole },
    { "owners", "", with_hip, whole },
    { "nodes", "kfd_nodes=3", with_hip, behind_processors },
    { "deaf", "", bound_too_early, bound_too_early },
    { "op", "", with_dtk, whole },
    { "numbers", "", with_dtk, whole },
};

static void without_its_countermeasure_each_silent_fault_is_noticed(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        wanted = rows[at].scenario;
        check_noticed(rows[at].countermeasure, rows[at].faults, rows[at].libraries, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_its_countermeasure_each_silent_fault_is_noticed),
    };
    ops = &fp_roctracer_ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
