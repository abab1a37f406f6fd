// test_twin_window.c - operators found by thread and time: what the log had no room for has none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "collect_sink.h"
#include "tracers/twin_window.h"

enum { LOG = 1 << 21 };

static struct collected all;

static uint32_t thread(void) {
    return (uint32_t)gettid();
}

static void a_call_has_what_was_on_top_in_its_thread(void **state) {
    (void)state;
    struct fp_twin_window *window = fp_twin_window_new();
    uint64_t missed = 7;
    assert_non_null(window);
    collect_begin(&all);
    fp_twin_window_push(window, 10, FP_ID_OPERATOR, 0);
    fp_twin_window_push(window, 20, FP_ID_OPERATOR, 5);
    fp_twin_window_pop(window, 30, FP_ID_OPERATOR);
    fp_twin_window_pop(window, 40, FP_ID_OPERATOR);
    for (uint32_t at = 5; at < 50; at += 10)
        fp_twin_window_call(window, thread(), at, (fp_vendor_id){ at });
    fp_twin_window_call(window, thread() + 1, 25, (fp_vendor_id){ 99 });
    fp_twin_window_resolve(window, &all.sink, &missed);
    static const int64_t wanted[] = { -1, 0, 5, 0, -1 };
    for (uint32_t at = 0; at < 5; at++)
        assert_int_equal(collected_id(&all, FP_ID_OPERATOR, 5 + at * 10), wanted[at]);
    assert_int_equal(collected_id(&all, FP_ID_OPERATOR, 99), -1);
    assert_int_equal(missed, 0);
    collect_end(&all);
    fp_twin_window_free(window);
}

static void behind_a_full_log_nobody_is_taken_for_the_operator(void **state) {
    (void)state;
    struct fp_twin_window *window = fp_twin_window_new();
    uint64_t missed = 0;
    assert_non_null(window);
    collect_begin(&all);
    for (uint64_t at = 1; at < LOG; at++)
        at % 2 ? fp_twin_window_push(window, at, FP_ID_OPERATOR, at)
               : fp_twin_window_pop(window, at, FP_ID_OPERATOR);
    fp_twin_window_push(window, LOG, FP_ID_OPERATOR, 4); // the last that fits
    fp_twin_window_pop(window, LOG + 10, FP_ID_OPERATOR);
    fp_twin_window_call(window, thread(), 1, (fp_vendor_id){ 1 });
    fp_twin_window_call(window, thread(), LOG + 20, (fp_vendor_id){ 2 });
    fp_twin_window_resolve(window, &all.sink, &missed);
    assert_int_equal(missed, 1);
    assert_int_equal(collected_id(&all, FP_ID_OPERATOR, 1), 1);
    assert_int_equal(collected_id(&all, FP_ID_OPERATOR, 2), -1);
    collect_end(&all);
    fp_twin_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_what_was_on_top_in_its_thread),
        cmocka_unit_test(behind_a_full_log_nobody_is_taken_for_the_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
