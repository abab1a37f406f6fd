// test_ppu_session.c - whole sessions on a simulated HGPTI, sound and with every fault it can have.
#include "twin_cases.h"

#include "tracers/cupti.h"

#define LIBRARY BUILD_DIR "/sim/ppu/libhgpti.so"
#define NATIVE BUILD_DIR "/sim/ppu-native/libhgpti.so"
#define FACE BUILD_DIR "/sim/ppu-face/libcupti.so.13"
#define HARMLESS                                                                                             \
    TWIN_FAULTS_THAT_LOSE_NOTHING                                                                            \
    "end_is_null own_buffers_only own_buffers_only,tiny_buffers=500 "                                        \
    "end_is_null,own_buffers_only,tiny_buffers,out_of_order,late_correlation"

static void check_names(void) {
    check_call_names("cuda", "cuLaunchKernel");
}

static void either_spelling_is_found(void **state) {
    (void)state;
    library = NATIVE;
    run("", check_names);
    library = FACE;
    setenv("PPU_SDK", BUILD_DIR "/sim/ppu-face", 1);
    run("", check_names);
    unsetenv("PPU_SDK");
    library = LIBRARY;
}

static void refused_as_a_strangers(void) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), -ENODEV);
    CHECK(strstr(err.text, "not known to be a ppu's"), "%s", err.text);
}

static void a_library_with_the_same_names_that_is_no_ppus_is_refused(void **state) {
    (void)state;
    library = FACE; // nothing says that it is a PPU's: it lies in no SDK
    run("", refused_as_a_strangers);
    library = BUILD_DIR "/sim/mcpti-bridge/libmcpti.so";
    run("", refused_as_a_strangers);
    library = LIBRARY;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TWIN_TESTS,
        SESSIONS(everything_is_recorded_owned_and_named, PASSES(check_names, ""),
                 PASSES(scenario_drained_on_the_way, "")),
        SESSIONS(many_sessions_in_one_process_each_hold_their_own, PASSES(scenario_sessions_in_a_row, ""),
                 PASSES(scenario_sessions_in_a_row, "own_buffers_only")),
        SESSIONS(faults_that_lose_nothing_change_nothing, PASSES(scenario_faulty_but_whole, HARMLESS),
                 PASSES(scenario_drained_on_the_way, HARMLESS)),
        cmocka_unit_test(either_spelling_is_found),
        cmocka_unit_test(a_library_with_the_same_names_that_is_no_ppus_is_refused),
        SESSIONS(either_kind_of_kernel_is_taken, PASSES(scenario_whole, "kernel_kind_taken"),
                 PASSES(scenario_nothing_armed, "kernel_kind_taken")),
        SESSIONS(many_small_records_in_one_buffer_are_all_read, PASSES(scenario_many_small_records, "")),
        SESSIONS(callbacks_that_another_took_are_taken_back_at_the_next_start,
                 PASSES(scenario_sessions_in_a_row, "replaced_callbacks")),
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,
                 PASSES(scenario_unknown_kinds, "unknown_kind")),
        SESSIONS(a_record_that_ends_the_iteration_is_counted_and_the_rest_is_said_to_be_missing,
                 PASSES(scenario_broken_records, "broken_record,tiny_buffers=8000")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm,
                 PASSES(scenario_odd_names, "name_null name_8k")),
        SESSIONS(another_subscriber_is_named, PASSES(scenario_busy, "other_subscriber")),
    };
    ops = &fp_cupti_ppu_ops;
    library = LIBRARY;
    launches_by_the_driver = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
