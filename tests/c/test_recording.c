// test_recording.c - what a recording makes of what a tracer hands to it: ids, window, arrows, ranges,
// ledger.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulated.h"
#include "flagprof/flagprof.h"
#include "scripted_tracer.h"

static struct fp_tracer tracer;
static struct fp_accelerator accelerator = { "scripted", &scripted_ops, &tracer };

static int fresh_tracer(void **state) {
    (void)state;
    memset(&tracer, 0, sizeof(tracer));
    return 0;
}

#define TEST(function) cmocka_unit_test_setup(function, fresh_tracer)

static void script(struct step step) {
    tracer.steps[tracer.count++] = step;
}

static struct fp_recording *record(int64_t start_ns, int64_t end_ns) {
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    assert_int_equal(fp_recording_stop(recording, 0, NULL), 0);
    assert_int_equal(fp_recording_finish(recording, start_ns, end_ns, NULL), 0);
    return recording;
}

static struct fp_ledger ledger_of(const struct fp_recording *recording) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    fp_recording_ledger(recording, &ledger);
    return ledger;
}

// ---- The two ids

static void late_correlation_record_still_finds_its_kernel(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_IS_LAUNCH));
    script(device_step(FP_KIND_KERNEL, 900001, 120, 130));
    script(correlate_step(900001, FP_ID_OPERATOR, 42));
    struct fp_recording *recording = record(0, 1000);
    for (size_t at = 0; at < 2; at++) {
        assert_true(fp_record_has(fp_recording_at(recording, at), FP_HAS_FRAMEWORK_ID));
        assert_int_equal(fp_recording_at(recording, at)->framework_id, 42);
        assert_int_equal(fp_recording_at(recording, at)->vendor_id, 900001);
    }
    fp_recording_free(recording);
}

static void framework_id_zero_is_an_operator_and_absence_is_a_flag(void **state) {
    (void)state;
    script(device_step(FP_KIND_KERNEL, 900001, 120, 130));
    script(device_step(FP_KIND_KERNEL, 900002, 140, 150));
    script(correlate_step(900001, FP_ID_OPERATOR, 0));
    struct fp_recording *recording = record(0, 1000);
    assert_true(fp_record_has(fp_recording_at(recording, 0), FP_HAS_FRAMEWORK_ID));
    assert_int_equal(fp_recording_at(recording, 0)->framework_id, 0);
    assert_false(fp_record_has(fp_recording_at(recording, 1), FP_HAS_FRAMEWORK_ID));
    assert_int_equal(ledger_of(recording).linked, 1);
    assert_int_equal(ledger_of(recording).linkable, 2);
    fp_recording_free(recording);
}

static void vendor_id_zero_is_never_joined(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 0, 100, 110, FP_IS_LAUNCH));
    script(device_step(FP_KIND_KERNEL, 0, 120, 130));
    script(correlate_step(0, FP_ID_OPERATOR, 42));
    struct fp_recording *recording = record(0, 1000);
    for (size_t at = 0; at < 2; at++) {
        assert_false(fp_record_has(fp_recording_at(recording, at), FP_HAS_FRAMEWORK_ID));
        assert_false(fp_record_has(fp_recording_at(recording, at), FP_HAS_ARROW));
    }
    fp_recording_free(recording);
}

static void one_operator_owns_many_launches_and_ids_come_in_any_order(void **state) {
    (void)state;
    static const uint32_t ids[] = { 905000, 901000, 4000000000u, 900500 };
    for (size_t at = 0; at < 4; at++)
        script(device_step(FP_KIND_KERNEL, ids[at], 100 + (int64_t)at, 200));
    for (size_t at = 4; at-- > 0;)
        script(correlate_step(ids[at], FP_ID_OPERATOR, at < 3 ? 5 : 6));
    struct fp_recording *recording = record(0, 1000);
    for (size_t at = 0; at < 4; at++)
        assert_int_equal(fp_recording_at(recording, at)->framework_id, at < 3 ? 5 : 6);
    fp_recording_free(recording);
}

// ---- Arrows

static void graph_launch_has_one_start_and_many_finishes(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_IS_LAUNCH));
    for (int at = 0; at < 3; at++)
        script(device_step(FP_KIND_KERNEL, 900001, 120 + at, 130));
    struct fp_recording *recording = record(0, 1000);
    assert_int_equal(fp_recording_at(recording, 0)->u.call.device_work, 3);
    for (size_t at = 0; at < 4; at++)
        assert_true(fp_record_has(fp_recording_at(recording, at), FP_HAS_ARROW));
    assert_true(ledger_of(recording).complete);
    fp_recording_free(recording);
}

static void half_a_pair_draws_no_arrow_and_is_counted(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_IS_LAUNCH));
    script(device_step(FP_KIND_KERNEL, 900002, 120, 130));
    struct fp_recording *recording = record(0, 1000);
    for (size_t at = 0; at < 2; at++)
        assert_false(fp_record_has(fp_recording_at(recording, at), FP_HAS_ARROW));
    struct fp_ledger ledger = ledger_of(recording);
    assert_int_equal(ledger.rows[FP_KIND_RUNTIME].unpaired, 1);
    assert_int_equal(ledger.rows[FP_KIND_KERNEL].unpaired, 1);
    assert_false(ledger.complete);
    fp_recording_free(recording);
}

static void runtime_call_is_the_launch_where_a_driver_call_is_nested_under_its_id(void **state) {
    (void)state;
    script(call_step(FP_KIND_DRIVER, 900001, 102, 108, FP_IS_LAUNCH));
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_IS_LAUNCH));
    script(device_step(FP_KIND_KERNEL, 900001, 120, 130));
    struct fp_recording *recording = record(0, 1000);
    assert_false(fp_record_has(fp_recording_at(recording, 0), FP_HAS_ARROW));
    assert_true(fp_record_has(fp_recording_at(recording, 1), FP_HAS_ARROW));
    assert_true(ledger_of(recording).complete);
    fp_recording_free(recording);
}

static void captured_and_failed_launches_are_not_missing_anything(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_BEGINS_CAPTURE));
    script(call_step(FP_KIND_RUNTIME, 900002, 120, 130, FP_IS_LAUNCH));
    script(call_step(FP_KIND_RUNTIME, 900003, 140, 150, FP_ENDS_CAPTURE));
    struct step failed = call_step(FP_KIND_RUNTIME, 900004, 160, 170, FP_IS_LAUNCH | FP_HAS_RESULT);
    failed.event.u.call.result = 98;
    script(failed);
    struct fp_recording *recording = record(0, 1000);
    assert_int_equal(ledger_of(recording).rows[FP_KIND_RUNTIME].unpaired, 0);
    assert_int_equal(ledger_of(recording).launches_seen, 2);
    assert_true(ledger_of(recording).complete);
    fp_recording_free(recording);
}

// A vendor says nothing of a set of 0 bytes, which a product in half precision makes in every step.
static void copies_and_sets_without_a_record_are_counted_and_accuse_nobody(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 100, 110, FP_IS_LAUNCH | FP_MAY_MOVE_NOTHING));
    script(call_step(FP_KIND_RUNTIME, 900002, 120, 130, FP_IS_LAUNCH | FP_MAY_MOVE_NOTHING));
    script(device_step(FP_KIND_MEMSET, 900002, 140, 150));
    struct fp_recording *recording = record(0, 1000);
    struct fp_ledger ledger = ledger_of(recording);
    assert_int_equal(ledger.rows[FP_KIND_RUNTIME].unpaired, 0);
    assert_int_equal(ledger.rows[FP_KIND_RUNTIME].unpaired_moves, 1);
    assert_true(ledger.complete);
    char text[4096];
    fp_ledger_sentence(&ledger, text, sizeof(text));
    assert_non_null(strstr(text, "; 1 copy or set without device work, as of 0 bytes; nothing is missing"));
    fp_ledger_json(&ledger, text, sizeof(text));
    assert_non_null(strstr(text, "\"launches_without_device_work\": 0, \"moves_without_device_work\": 1}"));
    fp_recording_free(recording);
}

// ---- Captures

// Of the launches that the steps tell, so many are missing their work.
static void check_missing(uint64_t missing) {
    struct fp_recording *recording = record(0, 1000);
    struct fp_ledger ledger = ledger_of(recording);
    assert_int_equal(ledger.rows[FP_KIND_RUNTIME].unpaired, missing);
    assert_int_equal(ledger.complete, missing == 0);
    fp_recording_free(recording);
}

static struct step by_thread(uint32_t thread, struct step step) {
    step.event.u.call.thread = thread;
    return step;
}

static struct step failing(struct step step) {
    step.event.fields |= FP_HAS_RESULT;
    step.event.u.call.result = 901;
    return step;
}

static struct step begin_step(int64_t at_ns) {
    return call_step(FP_KIND_RUNTIME, 910000 + (uint32_t)at_ns, at_ns, at_ns + 5, FP_BEGINS_CAPTURE);
}

static struct step end_step(int64_t at_ns) {
    return call_step(FP_KIND_RUNTIME, 910000 + (uint32_t)at_ns, at_ns, at_ns + 5, FP_ENDS_CAPTURE);
}

static struct step idle_step(int64_t at_ns) {
    return call_step(FP_KIND_RUNTIME, 910000 + (uint32_t)at_ns, at_ns, at_ns + 5, FP_IS_LAUNCH);
}

static void working(uint32_t thread, int64_t at_ns) {
    script(by_thread(thread, idle_step(at_ns)));
    script(device_step(FP_KIND_KERNEL, 910000 + (uint32_t)at_ns, at_ns + 6, at_ns + 7));
}

static void a_capture_without_its_end_excuses_nothing_beyond_the_next_launch_that_worked(void **state) {
    (void)state;
    script(begin_step(100));
    script(idle_step(110)); // captured
    working(11, 200);       // the capture is over, whatever became of its end
    script(idle_step(300));
    script(idle_step(310));
    check_missing(2);
}

static void a_recording_that_ends_inside_a_capture_misses_nothing(void **state) {
    (void)state;
    working(11, 50);
    script(begin_step(100));
    script(idle_step(110));
    script(idle_step(120));
    check_missing(0);
}

static void a_recording_that_begins_inside_a_capture_misses_nothing(void **state) {
    (void)state;
    script(idle_step(110));
    script(idle_step(120));
    script(end_step(130));
    working(11, 200);
    check_missing(0);
}

static void a_capture_without_its_beginning_excuses_nothing_before_the_last_launch_that_worked(void **state) {
    (void)state;
    script(idle_step(40)); // missing
    working(11, 50);
    script(idle_step(110));
    script(end_step(130));
    script(idle_step(140)); // missing
    check_missing(2);
}

static void a_capture_that_failed_to_begin_excuses_nothing(void **state) {
    (void)state;
    script(failing(begin_step(100)));
    script(idle_step(110));
    check_missing(1);
}

static void an_end_that_failed_proves_no_capture(void **state) {
    (void)state;
    script(idle_step(110));
    script(failing(end_step(130)));
    check_missing(1);
}

static void a_capture_may_be_ended_by_another_thread(void **state) {
    (void)state;
    script(begin_step(100));
    script(idle_step(110));
    script(by_thread(12, end_step(130)));
    script(idle_step(150));
    check_missing(1);
}

static void threads_without_work_of_their_own_launch_into_anothers_capture(void **state) {
    (void)state;
    script(begin_step(100));
    script(by_thread(12, idle_step(110))); // as torch's backward pass
    working(13, 112);
    script(by_thread(13, idle_step(120))); // on a stream that is not captured
    script(end_step(130));
    script(by_thread(12, idle_step(140)));
    check_missing(2);
}

static void captures_of_several_streams_by_one_thread_are_told_apart(void **state) {
    (void)state;
    script(begin_step(100));
    script(begin_step(110));
    script(idle_step(120));
    script(end_step(130));
    script(idle_step(140));
    script(end_step(150));
    script(idle_step(160)); // missing
    check_missing(1);
}

// ---- The window

static void window_keeps_what_touches_it_at_its_true_length(void **state) {
    (void)state;
    script(device_step(FP_KIND_KERNEL, 900001, 10, 99));   // before
    script(device_step(FP_KIND_KERNEL, 900002, 20, 100));  // ends on its first nanosecond
    script(device_step(FP_KIND_KERNEL, 900003, 50, 500));  // covers it
    script(device_step(FP_KIND_KERNEL, 900004, 200, 230)); // begins on its last
    script(device_step(FP_KIND_KERNEL, 900005, 201, 230)); // after
    struct fp_recording *recording = record(100, 200);
    assert_int_equal(fp_recording_count(recording), 3);
    assert_int_equal(fp_recording_at(recording, 0)->vendor_id, 900002);
    assert_int_equal(fp_recording_at(recording, 1)->start_ns, 50);
    assert_int_equal(fp_recording_at(recording, 1)->end_ns, 500);
    assert_int_equal(fp_recording_at(recording, 2)->vendor_id, 900004);
    assert_int_equal(ledger_of(recording).rows[FP_KIND_KERNEL].outside_window, 2);
    assert_int_equal(ledger_of(recording).rows[FP_KIND_KERNEL].kept, 3);
    fp_recording_free(recording);
}

static void launch_outside_the_window_is_not_missing_but_draws_no_arrow(void **state) {
    (void)state;
    script(call_step(FP_KIND_RUNTIME, 900001, 10, 20, FP_IS_LAUNCH));
    script(device_step(FP_KIND_KERNEL, 900001, 90, 130));
    struct fp_recording *recording = record(100, 200);
    assert_int_equal(fp_recording_count(recording), 1);
    assert_false(fp_record_has(fp_recording_at(recording, 0), FP_HAS_ARROW));
    assert_int_equal(ledger_of(recording).rows[FP_KIND_KERNEL].unpaired, 0);
    fp_recording_free(recording);
}

static void all_outside_says_how_far_the_vendors_clock_is_off(void **state) {
    (void)state;
    script(device_step(FP_KIND_KERNEL, 900001, 5, 10));
    script(device_step(FP_KIND_KERNEL, 900002, 5000000010, 5000000020));
    struct fp_recording *recording = record(7000000020, 8000000000);
    struct fp_ledger ledger = ledger_of(recording);
    assert_int_equal(ledger.nearest_outside_ns, -2000000000);
    assert_false(ledger.complete);
    char sentence[1024];
    fp_ledger_sentence(&ledger, sentence, sizeof(sentence));
    assert_non_null(strstr(sentence, "2.000000 s before"));
    fp_recording_free(recording);
}

static int64_t hour_later(struct fp_tracer *from, int64_t vendor_ns) {
    (void)from;
    return vendor_ns + 3600000000000;
}

static void a_vendors_own_clock_is_mapped_before_the_window_is_held_against_it(void **state) {
    (void)state;
    struct fp_tracer_ops ops = scripted_ops;
    ops.to_epoch = hour_later;
    struct fp_accelerator other_clock = { "scripted", &ops, &tracer };
    script(device_step(FP_KIND_KERNEL, 900001, 10, 20));
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&other_clock, NULL, &recording, NULL), 0);
    fp_recording_stop(recording, 0, NULL);
    fp_recording_finish(recording, 3600000000000, 3600000000100, NULL);
    assert_int_equal(fp_recording_count(recording), 1);
    assert_int_equal(fp_recording_at(recording, 0)->start_ns, 3600000000010);
    assert_int_equal(fp_recording_at(recording, 0)->end_ns, 3600000000020);
    fp_recording_free(recording);
}

// ---- Side table, names, ranges

static void side_table_follows_its_record_through_the_window(void **state) {
    (void)state;
    static const struct fp_extra extras[] = { { .type = FP_EXTRA_INTEGER, .value.integer = 77 },
                                              { .type = FP_EXTRA_INTEGER, .value.integer = 78 } };
    script(device_step(FP_KIND_KERNEL, 900001, 10, 20));
    tracer.steps[0].event.extras = extras;
    tracer.steps[0].event.extra_count = 1;
    script(device_step(FP_KIND_KERNEL, 900002, 110, 120));
    script(device_step(FP_KIND_KERNEL, 900003, 130, 140));
    tracer.steps[2].event.extras = extras + 1;
    tracer.steps[2].event.extra_count = 1;
    struct fp_recording *recording = record(100, 200);
    const struct fp_extra *found;
    assert_int_equal(fp_recording_extras(recording, 0, &found), 0);
    assert_int_equal(fp_recording_extras(recording, 1, &found), 1);
    assert_int_equal(found->value.integer, 78);
    assert_true(fp_record_has(fp_recording_at(recording, 1), FP_HAS_EXTRAS));
    assert_false(fp_record_has(fp_recording_at(recording, 0), FP_HAS_EXTRAS));
    fp_recording_free(recording);
}

static void geometry_too_wide_for_a_record_is_kept_exactly_in_the_side_table(void **state) {
    (void)state;
    struct step step = device_step(FP_KIND_KERNEL, 900001, 10, 20);
    step.event.fields |= FP_HAS_GEOMETRY;
    step.event.u.kernel = (struct fp_kernel){ .grid = { 1, 70000, 3 }, .block = { 32, 1, 1 } };
    script(step);
    struct fp_recording *recording = record(0, 100);
    const struct fp_extra *found;
    assert_false(fp_record_has(fp_recording_at(recording, 0), FP_HAS_GEOMETRY));
    assert_int_equal(fp_recording_extras(recording, 0, &found), 2);
    assert_string_equal(fp_recording_name(recording, found[0].key.value), "grid");
    assert_string_equal(fp_recording_name(recording, found[0].value.text.value), "[1, 70000, 3]");
    fp_recording_free(recording);
}

static void names_are_kept_once_and_demangled_whatever_their_length(void **state) {
    (void)state;
    char mangled[9000];
    int used = snprintf(mangled, sizeof(mangled), "_Z8192");
    memset(mangled + used, 'k', 8192);
    snprintf(mangled + used + 8192, sizeof(mangled) - (size_t)used - 8192, "v");
    for (int at = 0; at < 2; at++) {
        script(device_step(FP_KIND_KERNEL, 900001, 10, 20));
        tracer.steps[at].name = mangled;
        tracer.steps[at].form = FP_NAME_MANGLED;
    }
    struct fp_recording *recording = record(0, 100);
    assert_int_equal(fp_recording_at(recording, 0)->name, fp_recording_at(recording, 1)->name);
    const char *shown = fp_recording_name(recording, fp_recording_at(recording, 0)->name);
    assert_int_equal(strlen(shown), 8192 + 2);
    assert_string_equal(shown + 8192, "()");
    fp_recording_free(recording);
}

static void a_pointer_reused_for_another_text_is_another_name(void **state) {
    (void)state;
    char text[] = "first";
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    fp_recording_stop(recording, 0, NULL);
    fp_recording_free(recording);
    script(device_step(FP_KIND_KERNEL, 900001, 10, 20));
    tracer.steps[0].name = text;
    recording = record(0, 100);
    assert_string_equal(fp_recording_name(recording, fp_recording_at(recording, 0)->name), "first");
    fp_recording_free(recording);
    memcpy(text, "other", 5);
    recording = record(0, 100);
    assert_string_equal(fp_recording_name(recording, fp_recording_at(recording, 0)->name), "other");
    fp_recording_free(recording);
}

static void range_spans_the_first_to_the_last_work_of_a_stream(void **state) {
    (void)state;
    static const struct {
        uint32_t id, stream;
        int64_t start_ns, end_ns;
    } work[] = {
        { 900001, 7, 300, 340 }, { 900002, 13, 100, 120 }, { 900003, 7, 200, 220 }, { 900004, 7, 990, 995 }
    };
    for (size_t at = 0; at < 4; at++) {
        script(device_step(FP_KIND_KERNEL, work[at].id, work[at].start_ns, work[at].end_ns));
        tracer.steps[at].event.stream = work[at].stream;
    }
    for (uint32_t id = 900001; id <= 900003; id++)
        script(correlate_step(id, FP_ID_RANGE, 31));
    struct fp_recording *recording = record(0, 1000);
    const struct fp_range *ranges;
    assert_int_equal(fp_recording_ranges(recording, &ranges), 2);
    assert_int_equal(ranges[0].framework_id, 31);
    assert_int_equal(ranges[0].stream, 7);
    assert_int_equal(ranges[0].start_ns, 200);
    assert_int_equal(ranges[0].end_ns, 340);
    assert_int_equal(ranges[1].stream, 13);
    // A range id is not an operator's: it links nothing.
    assert_int_equal(ledger_of(recording).linked, 0);
    fp_recording_free(recording);
}

// ---- Push, pop, sessions

static void push_and_pop_reach_the_vendor_only_while_recording_and_in_balance(void **state) {
    (void)state;
    struct fp_recording *recording;
    fp_push(FP_ID_OPERATOR, 1);
    assert_int_equal(tracer.pushed, 0);
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    fp_pop(FP_ID_OPERATOR); // of the push that came before the recording
    assert_int_equal(tracer.popped, 0);
    fp_push(FP_ID_OPERATOR, 2);
    fp_pop(FP_ID_OPERATOR);
    assert_int_equal(tracer.pushed, 1);
    assert_int_equal(tracer.popped, 1);
    fp_recording_free(recording);
}

static void an_id_left_by_an_earlier_recording_is_popped_before_the_next_push(void **state) {
    (void)state;
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    fp_push(FP_ID_RANGE, 2);
    fp_recording_free(recording);
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    assert_int_equal(tracer.popped, 0);
    fp_push(FP_ID_OPERATOR, 3);
    assert_int_equal(tracer.popped, 1);
    fp_pop(FP_ID_OPERATOR);
    fp_recording_free(recording);
}

static void a_failed_push_and_pop_are_counted_and_told(void **state) {
    (void)state;
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    fp_push(FP_ID_OPERATOR, 1);
    tracer.push_result = -5;
    fp_push(FP_ID_OPERATOR, 2);
    tracer.pop_result = -5;
    fp_pop(FP_ID_OPERATOR);
    fp_recording_stop(recording, 0, NULL);
    fp_recording_finish(recording, 0, 1, NULL);
    assert_int_equal(ledger_of(recording).failed_pushes, 1);
    assert_int_equal(ledger_of(recording).failed_pops, 1);
    assert_false(ledger_of(recording).complete);
    fp_recording_free(recording);
}

static void a_second_recording_is_refused_while_one_runs(void **state) {
    (void)state;
    struct fp_recording *first, *second;
    struct fp_error err;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &first, NULL), 0);
    assert_int_equal(fp_recording_start(&accelerator, NULL, &second, &err), -16);
    assert_null(second);
    fp_recording_free(first);
    assert_int_equal(fp_recording_start(&accelerator, NULL, &second, &err), 0);
    fp_recording_free(second);
}

static void a_tracer_that_refuses_leaves_nothing_running(void **state) {
    (void)state;
    struct fp_recording *recording;
    struct fp_error err;
    tracer.start_result = -19;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, &err), -19);
    assert_string_equal(err.text, "scripted refusal");
    tracer.start_result = 0;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, &err), 0);
    fp_recording_free(recording);
}

static void a_tracer_without_push_and_pop_needs_nothing(void **state) {
    (void)state;
    struct fp_tracer_ops ops = scripted_ops;
    ops.push = NULL;
    ops.pop = NULL;
    struct fp_accelerator without = { "scripted", &ops, &tracer };
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&without, NULL, &recording, NULL), 0);
    fp_push(FP_ID_OPERATOR, 1);
    fp_pop(FP_ID_OPERATOR);
    fp_recording_stop(recording, 0, NULL);
    fp_recording_finish(recording, 0, 1, NULL);
    assert_int_equal(ledger_of(recording).failed_pushes + ledger_of(recording).failed_pops, 0);
    fp_recording_free(recording);
}

static void *push_much(void *owner) {
    (void)owner;
    for (int at = 0; at < 2000; at++) {
        fp_push(FP_ID_OPERATOR, (uint64_t)at);
        fp_pop(FP_ID_OPERATOR);
    }
    return NULL;
}

static void threads_push_while_recordings_start_and_stop(void **state) {
    (void)state;
    pthread_t threads[8];
    for (int at = 0; at < 8; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, push_much, NULL), 0);
    for (int at = 0; at < 20; at++) {
        struct fp_recording *recording;
        assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
        fp_recording_free(recording);
    }
    for (int at = 0; at < 8; at++)
        pthread_join(threads[at], NULL);
    assert_int_equal(tracer.pushed, tracer.popped);
}

static void woken_while_recording_the_drain_runs_in_its_own_thread(void **state) {
    (void)state;
    script(device_step(FP_KIND_KERNEL, 900001, 10, 20));
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    tracer.wake(tracer.wake_owner);
    for (int at = 0; at < 5000 && tracer.drained == 0; at++)
        usleep(1000);
    assert_int_equal(tracer.drained, 1);
    assert_false(pthread_equal(tracer.drained_by, pthread_self()));
    fp_recording_free(recording);
}

static void a_forked_child_neither_hangs_nor_touches_the_vendor(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&accelerator, NULL, &recording, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        fp_push(FP_ID_OPERATOR, 1);
        int result = fp_recording_stop(recording, 0, NULL);
        _exit(result == -10 && tracer.pushed == 0 && tracer.stopped == 0 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    fp_recording_free(recording);
}

// ---- Ledger, sizes

static void ledger_says_what_is_missing_in_words_and_in_json(void **state) {
    (void)state;
    script((struct step){
        .what = STEP_LOSE, .lost_kind = FP_KIND_KERNEL, .reason = FP_LOSS_DROPPED, .count = 12 });
    script((struct step){
        .what = STEP_LOSE, .lost_kind = FP_KIND_COUNT, .reason = FP_LOSS_UNKNOWN_KIND, .count = 1 });
    script((struct step){ .what = STEP_NOTE, .note = "somebody took the buffers over" });
    script((struct step){ .what = STEP_NOTE, .note = "somebody took the buffers over" });
    struct fp_recording *recording = record(0, 100);
    struct fp_ledger ledger = ledger_of(recording);
    char text[4096];
    int length = fp_ledger_sentence(&ledger, text, sizeof(text));
    assert_int_equal(length, (int)strlen(text));
    assert_non_null(
        strstr(text, "MISSING: 12 kernels dropped by the vendor, 1 record of unknown kind not understood"));
    char small[8];
    assert_int_equal(fp_ledger_sentence(&ledger, small, sizeof(small)), length);
    assert_int_equal(strlen(small), 7);
    fp_ledger_json(&ledger, text, sizeof(text));
    assert_non_null(strstr(text, "\"dropped\": 12"));
    assert_non_null(strstr(text, "\"complete\": false"));
    assert_string_equal(fp_recording_notes(recording), "somebody took the buffers over");
    fp_recording_free(recording);
}

static void a_caller_with_an_older_and_shorter_ledger_is_given_no_more_than_it_holds(void **state) {
    (void)state;
    struct fp_recording *recording = record(0, 100);
    struct {
        struct fp_ledger ledger;
    } caller;
    memset(&caller, 0x5a, sizeof(caller));
    caller.ledger.size = offsetof(struct fp_ledger, launches_seen);
    fp_recording_ledger(recording, &caller.ledger);
    assert_int_equal(caller.ledger.rows[FP_KIND_KERNEL].seen, 0);
    assert_int_equal(caller.ledger.launches_seen, 0x5a5a5a5a5a5a5a5a);
    fp_recording_free(recording);
}

static void a_record_costs_64_bytes_beyond_interned_text(void **state) {
    (void)state;
    for (int at = 0; at < 50; at++)
        script(device_step(FP_KIND_KERNEL, 900001 + (uint32_t)at, 10, 20));
    struct fp_recording *recording = record(0, 100);
    assert_int_equal(fp_recording_bytes(recording), 50 * 64);
    fp_recording_free(recording);
}

// Sanitizers make each access dear; what they look for shows in fewer records too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MANY = 200000 };
#else
enum { MANY = 10000000 };
#endif

static int drain_many(struct fp_tracer *from, const struct fp_sink *sink) {
    if (from->done)
        return 0;
    from->done = true;
    struct fp_event event = { .kind = FP_KIND_KERNEL,
                              .name = sink->name(sink->owner, "work", FP_NAME_PLAIN) };
    for (uint32_t at = 0; at < MANY; at++) {
        event.start_ns = at;
        event.end_ns = at + 1;
        event.vendor_id.value = 1000000000 + at;
        sink->event(sink->owner, &event);
        if (at % 2)
            sink->correlate(sink->owner, event.vendor_id, FP_ID_OPERATOR, at / 2);
    }
    return 0;
}

static void ten_million_records_are_ordinary(void **state) {
    (void)state;
    struct fp_tracer_ops ops = scripted_ops;
    ops.drain = drain_many;
    struct fp_accelerator many = { "scripted", &ops, &tracer };
    struct fp_recording *recording;
    assert_int_equal(fp_recording_start(&many, NULL, &recording, NULL), 0);
    assert_int_equal(fp_recording_stop(recording, 0, NULL), 0);
    assert_int_equal(fp_recording_finish(recording, 0, MANY, NULL), 0);
    assert_int_equal(fp_recording_count(recording), MANY);
    assert_int_equal(fp_recording_bytes(recording), (size_t)MANY * 64);
    assert_int_equal(ledger_of(recording).linked, MANY / 2);
    const struct fp_record *last = fp_recording_at(recording, MANY - 1);
    assert_int_equal(last->vendor_id, 1000000000 + MANY - 1);
    assert_int_equal(last->framework_id, (MANY - 1) / 2);
    fp_recording_free(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(late_correlation_record_still_finds_its_kernel),
        TEST(framework_id_zero_is_an_operator_and_absence_is_a_flag),
        TEST(vendor_id_zero_is_never_joined),
        TEST(one_operator_owns_many_launches_and_ids_come_in_any_order),
        TEST(graph_launch_has_one_start_and_many_finishes),
        TEST(half_a_pair_draws_no_arrow_and_is_counted),
        TEST(runtime_call_is_the_launch_where_a_driver_call_is_nested_under_its_id),
        TEST(captured_and_failed_launches_are_not_missing_anything),
        TEST(copies_and_sets_without_a_record_are_counted_and_accuse_nobody),
        TEST(a_capture_without_its_end_excuses_nothing_beyond_the_next_launch_that_worked),
        TEST(a_recording_that_ends_inside_a_capture_misses_nothing),
        TEST(a_recording_that_begins_inside_a_capture_misses_nothing),
        TEST(a_capture_without_its_beginning_excuses_nothing_before_the_last_launch_that_worked),
        TEST(a_capture_that_failed_to_begin_excuses_nothing),
        TEST(an_end_that_failed_proves_no_capture),
        TEST(a_capture_may_be_ended_by_another_thread),
        TEST(threads_without_work_of_their_own_launch_into_anothers_capture),
        TEST(captures_of_several_streams_by_one_thread_are_told_apart),
        TEST(window_keeps_what_touches_it_at_its_true_length),
        TEST(launch_outside_the_window_is_not_missing_but_draws_no_arrow),
        TEST(all_outside_says_how_far_the_vendors_clock_is_off),
        TEST(a_vendors_own_clock_is_mapped_before_the_window_is_held_against_it),
        TEST(side_table_follows_its_record_through_the_window),
        TEST(geometry_too_wide_for_a_record_is_kept_exactly_in_the_side_table),
        TEST(names_are_kept_once_and_demangled_whatever_their_length),
        TEST(a_pointer_reused_for_another_text_is_another_name),
        TEST(range_spans_the_first_to_the_last_work_of_a_stream),
        TEST(push_and_pop_reach_the_vendor_only_while_recording_and_in_balance),
        TEST(an_id_left_by_an_earlier_recording_is_popped_before_the_next_push),
        TEST(a_failed_push_and_pop_are_counted_and_told),
        TEST(a_second_recording_is_refused_while_one_runs),
        TEST(a_tracer_that_refuses_leaves_nothing_running),
        TEST(a_tracer_without_push_and_pop_needs_nothing),
        TEST(threads_push_while_recordings_start_and_stop),
        TEST(woken_while_recording_the_drain_runs_in_its_own_thread),
        TEST(a_forked_child_neither_hangs_nor_touches_the_vendor),
        TEST(ledger_says_what_is_missing_in_words_and_in_json),
        TEST(ten_million_records_are_ordinary),
        TEST(a_caller_with_an_older_and_shorter_ledger_is_given_no_more_than_it_holds),
        TEST(a_record_costs_64_bytes_beyond_interned_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
