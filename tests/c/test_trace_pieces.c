// test_trace_pieces.c - a thread's operators counted in pieces come to what they come to as a whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pieces.h"
#include "analysis/tasks.h"

#define GROUPS 40

struct thread_slices {
    struct fp_slices roles[FP_ROLE_COUNT];
    const struct fp_slices *by_role[FP_ROLE_COUNT];
    struct fp_time_by_id device_ns, by_call;
};

static uint32_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void put(struct thread_slices *thread, int64_t from, int64_t to, unsigned depth) {
    static const uint8_t roles[] = { FP_ROLE_OPERATOR, FP_ROLE_OPERATOR, FP_ROLE_PYTHON,  FP_ROLE_CALL,
                                     FP_ROLE_UNLINKED, FP_ROLE_OVERHEAD, FP_ROLE_PENDING, FP_ROLE_OPERATOR };
    unsigned role = roles[draw(sizeof(roles))];
    struct fp_slice slice = { from, to - from, draw(GROUPS), draw(5) ? draw(5000) : FP_NO_SLICE_ID };
    assert_int_equal(fp_slices_add(&thread->roles[role], slice), 0);
    for (int64_t at = from + draw(3); depth && at < to;) {
        int64_t end = at + 1 + draw((uint32_t)(to - from));
        put(thread, at, end > to ? to + draw(3) : end, depth - 1); // some end a little late
        at = end + draw(20);
    }
}

// `roots` trees, one after the other, touching or with idle time between; a frame around all of them where asked.
static void grow_forest(struct thread_slices *thread, unsigned roots, bool framed) {
    int64_t at = 1000;
    memset(thread, 0, sizeof(*thread));
    for (unsigned i = 0; i < roots; i++) {
        int64_t end = at + 1 + draw(300);
        put(thread, at, end, 3);
        at = end + (draw(3) ? draw(50) : 0) + 2;
    }
    if (framed)
        assert_int_equal(fp_slices_add(&thread->roles[FP_ROLE_PYTHON], (struct fp_slice){ 0, at, 0, 1 }), 0);
    for (uint64_t id = 0; id < 5000; id += 3) {
        assert_int_equal(fp_time_by_id_add(&thread->device_ns, id, (int64_t)draw(1000)), 0);
        assert_int_equal(fp_time_by_id_add(&thread->by_call, id, (int64_t)draw(1000)), 0);
    }
    for (int role = 0; role < FP_ROLE_COUNT; role++) {
        fp_slices_sort(&thread->roles[role]);
        thread->by_role[role] = &thread->roles[role];
    }
}

static void cut_down(struct thread_slices *thread) {
    for (int role = 0; role < FP_ROLE_COUNT; role++)
        fp_slices_free(&thread->roles[role]);
    fp_time_by_id_free(&thread->device_ns);
    fp_time_by_id_free(&thread->by_call);
}

struct sums {
    struct fp_operator_times times[GROUPS];
    int64_t twice_ns;
};

static void count(const struct thread_slices *thread, const struct fp_piece *piece, struct sums *sums) {
    uint32_t names[GROUPS];
    for (uint32_t i = 0; i < GROUPS; i++)
        names[i] = i / 2; // two groups a name: a child may be its parent's call
    struct fp_operator_input input = { .piece = piece,
                                       .device_ns = &thread->device_ns,
                                       .device_ns_by_call = &thread->by_call,
                                       .group_name = names,
                                       .tolerance_ns = 1,
                                       .like_torch = true };
    memcpy(input.by_role, thread->by_role, sizeof(input.by_role));
    assert_int_equal(fp_operators_count(&input, sums->times, &sums->twice_ns), 0);
}

static void pieces_add_up_to_the_whole(void **state) {
    (void)state;
    for (uint32_t turn = 1; turn <= 4; turn++) {
        seed = turn;
        struct thread_slices thread;
        struct fp_pieces pieces;
        grow_forest(&thread, 1000, false);
        assert_int_equal(fp_pieces_cut(thread.by_role, 500, &pieces), 0);
        assert_true(pieces.count > 3);
        struct sums whole = { 0 }, sum = { 0 };
        count(&thread, NULL, &whole);
        for (size_t i = 0; i < pieces.count; i++)
            count(&thread, &pieces.pieces[i], &sum);
        assert_true(whole.twice_ns != 0);
        assert_memory_equal(&sum, &whole, sizeof(sum));
        fp_pieces_free(&pieces);
        cut_down(&thread);
    }
}

static void what_one_frame_holds_stays_in_one_piece(void **state) {
    (void)state;
    struct thread_slices thread;
    struct fp_pieces pieces;
    seed = 7;
    grow_forest(&thread, 1000, true);
    assert_int_equal(fp_pieces_cut(thread.by_role, 500, &pieces), 0);
    assert_true(pieces.count <= 1);
    fp_pieces_free(&pieces);
    cut_down(&thread);
}

static atomic_uint done[1000], busy[FP_WORKERS], clashes;

static int mark_done(void *user, size_t task, unsigned worker) {
    (void)user;
    atomic_fetch_add(&clashes, atomic_fetch_add(&busy[worker], 1) != 0);
    atomic_fetch_add(&done[task], 1);
    atomic_fetch_sub(&busy[worker], 1);
    return 0;
}

static void each_task_is_done_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        memset(done, 0, sizeof(done));
        assert_int_equal(fp_tasks_run(1000, threads, mark_done, NULL), 0);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(atomic_load(&done[i]), 1);
        assert_int_equal(atomic_load(&clashes), 0);
    }
}

static int fail_at_seven(void *user, size_t task, unsigned worker) {
    (void)user, (void)worker;
    return task == 7 ? -12 : 0;
}

static void the_failure_of_a_task_is_told(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        assert_int_equal(fp_tasks_run(1000, threads, fail_at_seven, NULL), -12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_add_up_to_the_whole),
        cmocka_unit_test(what_one_frame_holds_stays_in_one_piece),
        cmocka_unit_test(each_task_is_done_once),
        cmocka_unit_test(the_failure_of_a_task_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
