// test_mspti_ids.c - what the order of pushes and pops proves about MSPTI's one stack for all threads, and how
// far its clock is judged to be from ours.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tracers/mspti_offset.h"

// With its insides: no call can lose its processor at a wanted place.
#include "tracers/mspti_ids.c" // NOLINT(bugprone-suspicious-include)

enum { A = 11, B = 12, LOG = 1 << 12 };

static struct fp_mspti_ids *ids;
static struct fp_mspti_offsets offsets;
static uint64_t now;
static bool wants_reading;

static int begin(void **state) {
    (void)state;
    ids = fp_mspti_ids_new(LOG);
    now = 1000;
    wants_reading = false;
    return ids ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    fp_mspti_ids_free(ids);
    fp_mspti_offsets_free(&offsets);
    return 0;
}

static void push(uint32_t thread, uint64_t id) {
    wants_reading |= fp_mspti_ids_push(ids, FP_ID_OPERATOR, thread, id, now += 10);
}

static void pop(uint32_t thread, uint64_t popped) {
    wants_reading |= fp_mspti_ids_pop(ids, FP_ID_OPERATOR, thread, &popped, now += 10);
}

static bool is_true(uint32_t thread, uint64_t told) {
    fp_mspti_ids_read(ids);
    return fp_mspti_ids_judge(ids, FP_ID_OPERATOR, thread, (fp_framework_id){ told, true }, true) ==
           FP_MSPTI_TRUE;
}

static bool none_is_true(uint32_t thread) {
    fp_mspti_ids_read(ids);
    return fp_mspti_ids_judge(ids, FP_ID_OPERATOR, thread, (fp_framework_id){ 0, false }, true) ==
           FP_MSPTI_TRUE;
}

static int64_t on_top(uint32_t thread, uint64_t at) {
    fp_mspti_ids_read(ids);
    fp_framework_id found = fp_mspti_ids_at(ids, FP_ID_OPERATOR, thread, at);
    return found.present ? (int64_t)found.value : -1;
}

// ---- Whose an id is

static void a_threads_own_id_is_true_and_anothers_is_not(void **state) {
    (void)state;
    push(A, 0);
    push(B, 2);
    assert_true(is_true(A, 0));
    assert_true(is_true(B, 2));
    assert_false(is_true(A, 2));
    assert_false(is_true(A, 7)); // of a session before this
    pop(B, 2);
    pop(A, 0);
    assert_true(none_is_true(A));
}

static void an_id_that_another_thread_took_off_is_in_doubt_and_those_before_and_after_are_not(void **state) {
    (void)state;
    push(A, 1);
    pop(A, 1);
    push(A, 2);
    push(B, 3);
    pop(A, 3);
    pop(B, 2);
    push(A, 4);
    pop(A, 4);
    assert_true(is_true(A, 1));
    assert_false(is_true(A, 2));
    assert_false(is_true(B, 3));
    assert_true(is_true(A, 4));
    assert_false(none_is_true(A));
}

// While 2 was A's and gone from the stack, A's calls named 1.
static void an_id_under_one_that_went_early_is_in_doubt(void **state) {
    (void)state;
    push(A, 1);
    push(A, 2);
    push(B, 3);
    pop(A, 3);
    pop(B, 2);
    pop(A, 1);
    assert_false(is_true(A, 1));
    assert_int_equal(on_top(A, 1025), 2);
    assert_int_equal(on_top(A, 1045), 1);
}

static void a_pop_may_be_known_before_the_push_that_it_took(void **state) {
    struct fp_mspti_span span;
    (void)state;
    push(B, 1);
    pop(B, 5);
    assert_false(is_true(A, 5));
    assert_false(fp_mspti_ids_span(ids, FP_ID_OPERATOR, 5, &span));
    push(A, 5);
    assert_false(is_true(A, 5));
    assert_true(fp_mspti_ids_span(ids, FP_ID_OPERATOR, 5, &span));
    assert_int_equal(span.thread, A);
    assert_false(span.is_clean);
    assert_false(is_true(B, 1));
}

static void what_a_session_before_left_on_the_stack_is_none_of_this_ones(void **state) {
    (void)state;
    push(A, 1);
    fp_mspti_ids_clear(ids);
    pop(A, 1);
    push(A, 1);
    assert_true(is_true(A, 1));
    assert_int_equal(on_top(A, now), 1);
}

// ---- The log

static void a_thread_that_is_still_at_its_entry_holds_up_nobody_elses(void **state) {
    (void)state;
    uint64_t place = atomic_fetch_add(&ids->used, 1); // A has taken it, and lost its processor
    struct entry *late = &ids->log[place];
    push(B, 2);
    assert_true(is_true(B, 2));
    assert_false(is_true(A, 1));
    late->now = now;
    late->id = 1;
    late->thread = A;
    late->kind = FP_ID_OPERATOR;
    atomic_store(&late->turn, place + 1);
    assert_true(is_true(A, 1));
    assert_true(is_true(B, 2));
}

static void a_log_that_is_read_when_it_asks_goes_round(void **state) {
    (void)state;
    for (uint64_t id = 0; id < LOG * 3; id++) {
        push(A, id);
        pop(A, id);
        if (wants_reading) {
            fp_mspti_ids_read(ids);
            fp_mspti_ids_forget(ids, now - 100);
            wants_reading = false;
        }
    }
    assert_int_equal(fp_mspti_ids_lost(ids), 0);
    push(A, LOG);
    assert_int_equal(on_top(A, now), LOG);
    assert_true(is_true(A, LOG));
    assert_true(is_true(A, LOG * 3 - 1));
}

static void what_did_not_fit_into_the_log_is_unknown_and_not_the_last_that_did(void **state) {
    (void)state;
    for (uint64_t id = 0; id < LOG / 2; id++) {
        push(A, id);
        pop(A, id);
    }
    uint64_t lost = fp_mspti_ids_lost(ids);
    assert_true(lost > 0 && lost < LOG / 8);
    push(A, LOG);
    assert_int_equal(on_top(A, 1015), 0);
    assert_int_equal(on_top(A, now), -1);
    assert_true(is_true(A, 5));
    assert_false(is_true(A, LOG));
    assert_false(none_is_true(A));
}

// ---- The clocks

static void add(uint64_t call, int64_t offset, uint64_t before, uint64_t after) {
    fp_mspti_offsets_add(&offsets, call, call + 10, call + (uint64_t)offset - before,
                         call + 10 + (uint64_t)offset + after);
}

static void clocks_of_which_nothing_is_known_agree(void **state) {
    (void)state;
    fp_mspti_offsets_begin(&offsets);
    fp_mspti_offsets_settle(&offsets);
    assert_int_equal(fp_mspti_offset_at(&offsets, 500), 0);
    add(1000, 50, 1000000000, 1000000000); // and one long operator says little
    fp_mspti_offsets_settle(&offsets);
    assert_int_equal(fp_mspti_offset_at(&offsets, 500), 0);
}

static void the_offset_is_what_most_calls_agree_on(void **state) {
    (void)state;
    fp_mspti_offsets_begin(&offsets);
    for (uint64_t call = 0; call < 40; call++)
        add(1000000 + call * 1000, call % 10 == 3 ? 90000 : -7000, 20 + call, 60 - call);
    fp_mspti_offsets_settle(&offsets);
    int64_t found = fp_mspti_offset_at(&offsets, 1000000);
    assert_true(found >= -7020 && found <= -6979);
}

static void a_clock_that_is_set_right_in_between_is_followed(void **state) {
    (void)state;
    fp_mspti_offsets_begin(&offsets);
    for (uint64_t call = 512; call-- > 0;) // in any order
        add(1000000 + call * 1000, call < 256 ? 250000 : 0, 20, 20);
    fp_mspti_offsets_settle(&offsets);
    assert_int_equal(fp_mspti_offset_at(&offsets, 1000000), 250000);
    assert_int_equal(fp_mspti_offset_at(&offsets, 1255000), 250000);
    assert_int_equal(fp_mspti_offset_at(&offsets, 1256000), 0);
    assert_int_equal(fp_mspti_offset_at(&offsets, 9000000), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_threads_own_id_is_true_and_anothers_is_not),
        TEST(an_id_that_another_thread_took_off_is_in_doubt_and_those_before_and_after_are_not),
        TEST(an_id_under_one_that_went_early_is_in_doubt),
        TEST(a_pop_may_be_known_before_the_push_that_it_took),
        TEST(what_a_session_before_left_on_the_stack_is_none_of_this_ones),
        TEST(a_thread_that_is_still_at_its_entry_holds_up_nobody_elses),
        TEST(a_log_that_is_read_when_it_asks_goes_round),
        TEST(what_did_not_fit_into_the_log_is_unknown_and_not_the_last_that_did),
        TEST(clocks_of_which_nothing_is_known_agree),
        TEST(the_offset_is_what_most_calls_agree_on),
        TEST(a_clock_that_is_set_right_in_between_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
