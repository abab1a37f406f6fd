// test_sim_core.c - the simulated accelerator does what an accelerator does, and tells observers the truth
// about it.
//
// In:  flagsim.h alone.
// Out: order in a stream, events across streams, right bytes, graphs, faults, fork; and the observer's
//      view: one id per call, on the work it started, never a number that a framework would use.
#include "emulated.h"
#include "flagsim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const flagsim_kernel_info plain = { .name = "_Z5plainv", .grid = { 2, 1, 1 }, .block = { 64, 1, 1 } };

static void nap(unsigned microseconds) {
    nanosleep(&(struct timespec){ .tv_nsec = microseconds * 1000L }, NULL);
}

static int reset(void **state) {
    (void)state;
    flagsim_shutdown();
    flagsim_truth_reset();
    return flagsim_faults_set(NULL);
}

// ---- order

struct append {
    int *list;
    atomic_int *count;
    int value;
    unsigned delay_us;
};

static void append(void *arg) {
    struct append *a = arg;
    if (a->delay_us)
        nap(a->delay_us);
    a->list[atomic_fetch_add(a->count, 1)] = a->value;
}

static void work_of_one_stream_runs_in_the_order_of_launches(void **state) {
    (void)state;
    int list[50];
    atomic_int count = 0;
    for (int i = 0; i < 50; i++) {
        struct append a = { list, &count, i, i % 7 ? 0 : 300 };
        assert_int_equal(flagsim_launch(NULL, append, &a, sizeof a, &plain), 0);
    }
    assert_int_equal(flagsim_stream_synchronize(NULL), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(list[i], i);
}

static void an_event_makes_a_second_stream_wait(void **state) {
    (void)state;
    int list[2];
    atomic_int count = 0;
    flagsim_stream *first, *second;
    flagsim_event *event;
    flagsim_stream_create(&first);
    flagsim_stream_create(&second);
    flagsim_event_create(&event);
    struct append slow = { list, &count, 1, 20000 }, after = { list, &count, 2, 0 };
    flagsim_launch(first, append, &slow, sizeof slow, &plain);
    flagsim_event_record(event, first);
    assert_int_equal(flagsim_stream_wait_event(second, event), 0);
    flagsim_launch(second, append, &after, sizeof after, &plain);
    assert_int_equal(flagsim_stream_query(second), -EBUSY);
    flagsim_device_synchronize();
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], 2);
    flagsim_event_destroy(event);
    flagsim_stream_destroy(first);
    flagsim_stream_destroy(second);
}

static void streams_run_side_by_side(void **state) {
    (void)state;
    int list[2];
    atomic_int count = 0;
    flagsim_stream *other;
    flagsim_stream_create(&other);
    struct append slow = { list, &count, 1, 40000 }, quick = { list, &count, 2, 0 };
    flagsim_launch(NULL, append, &slow, sizeof slow, &plain);
    flagsim_launch(other, append, &quick, sizeof quick, &plain);
    flagsim_device_synchronize();
    assert_int_equal(list[0], 2);
    flagsim_stream_destroy(other);
}

static void an_event_tells_the_time_between_two_points(void **state) {
    (void)state;
    flagsim_event *begin, *end;
    int64_t elapsed = 0;
    flagsim_kernel_info slow = plain;
    slow.min_duration_ns = 5000000;
    flagsim_event_create(&begin);
    flagsim_event_create(&end);
    assert_int_equal(flagsim_event_elapsed_ns(begin, end, &elapsed), -EINVAL);
    flagsim_event_record(begin, NULL);
    flagsim_launch(NULL, NULL, NULL, 0, &slow);
    flagsim_event_record(end, NULL);
    assert_int_equal(flagsim_event_query(end), -EBUSY);
    assert_int_equal(flagsim_event_synchronize(end), 0);
    assert_int_equal(flagsim_event_elapsed_ns(begin, end, &elapsed), 0);
    assert_true(elapsed >= 5000000);
    flagsim_event_destroy(begin);
    flagsim_event_destroy(end);
}

// ---- memory

static void copies_and_sets_move_the_right_bytes_between_host_and_two_devices(void **state) {
    (void)state;
    unsigned char from[1000], back[1000] = { 0 };
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7);
    void *zero, *one;
    assert_int_equal(flagsim_malloc(&zero, 1000), 0);
    flagsim_set_device(1);
    assert_int_equal(flagsim_malloc(&one, 1000), 0);
    flagsim_set_device(0);
    assert_int_equal(flagsim_memcpy(zero, from, 1000, FLAGSIM_COPY_HTOD), 0);
    assert_int_equal(flagsim_memcpy_peer_async(one, 1, zero, 0, 1000, NULL), 0);
    assert_int_equal(flagsim_memset_async((char *)one + 10, 5, 20, NULL), 0);
    assert_int_equal(flagsim_memcpy(back, one, 1000, FLAGSIM_COPY_DTOH), 0);
    for (size_t i = 0; i < sizeof from; i++)
        assert_int_equal(back[i], i >= 10 && i < 30 ? 5 : from[i]);
    assert_int_equal(flagsim_memcpy(zero, from, 10, FLAGSIM_COPY_DTOH), -EINVAL);
    flagsim_free(zero);
    flagsim_free(one);
}

static void a_pageable_source_may_change_after_an_asynchronous_copy(void **state) {
    (void)state;
    char source[] = "first", back[sizeof source];
    void *device;
    flagsim_kernel_info slow = plain;
    slow.min_duration_ns = 10000000;
    flagsim_malloc(&device, sizeof source);
    flagsim_launch(NULL, NULL, NULL, 0, &slow);
    assert_int_equal(flagsim_memcpy_async(device, source, sizeof source, FLAGSIM_COPY_HTOD, NULL), 0);
    memcpy(source, "other", sizeof source);
    flagsim_memcpy(back, device, sizeof back, FLAGSIM_COPY_DTOH);
    assert_string_equal(back, "first");
    flagsim_free(device);
}

static void memory_is_accounted_for_and_its_end_is_an_error(void **state) {
    (void)state;
    size_t before, total, after;
    void *a, *b;
    flagsim_mem_info(&before, &total);
    assert_int_equal(flagsim_malloc(&a, 1 << 20), 0);
    flagsim_mem_info(&after, &total);
    assert_int_equal(before - after, 1 << 20);
    assert_int_equal(flagsim_malloc(&b, total), -ENOMEM);
    assert_int_equal(flagsim_peek_last_error(), ENOMEM);
    assert_int_equal(flagsim_get_last_error(), ENOMEM);
    assert_int_equal(flagsim_get_last_error(), 0);
    int device;
    void *base;
    assert_int_equal(flagsim_pointer_kind((char *)a + 77, &device, &base, NULL), FLAGSIM_MEMORY_DEVICE);
    assert_ptr_equal(base, a);
    assert_int_equal(flagsim_free((char *)a + 256), -EINVAL);
    assert_int_equal(flagsim_free(a), 0);
    flagsim_mem_info(&after, &total);
    assert_int_equal(before, after);
}

// ---- graphs

static void add_one(void *arg) {
    ++*(int *)arg;
}

struct owned {
    atomic_int *freed;
    int *counter;
};

static void owned_run(void *arg) {
    ++*((struct owned *)arg)->counter;
}

static void owned_free(void *arg) {
    atomic_fetch_add(((struct owned *)arg)->freed, 1);
    free(arg);
}

static void an_owned_argument_is_freed_once_after_the_last_run(void **state) {
    (void)state;
    atomic_int freed = 0;
    int runs = 0;
    struct owned *arg = malloc(sizeof *arg);
    *arg = (struct owned){ &freed, &runs };
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
    flagsim_capture_begin(NULL);
    assert_int_equal(flagsim_launch_owned(NULL, owned_run, arg, owned_free, &plain), 0);
    assert_int_equal(flagsim_capture_end(NULL, &graph), 0);
    assert_int_equal(flagsim_graph_instantiate(graph, &exec), 0);
    flagsim_graph_launch(exec, NULL);
    flagsim_graph_launch(exec, NULL);
    flagsim_graph_destroy(graph);
    flagsim_graph_exec_destroy(exec);
    flagsim_stream_synchronize(NULL);
    assert_int_equal(runs, 2);
    assert_int_equal(atomic_load(&freed), 1);
}

static void a_capture_runs_nothing_and_takes_in_streams_that_join(void **state) {
    (void)state;
    int counter = 0;
    flagsim_stream *a, *b;
    flagsim_event *fork;
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
    flagsim_stream_create(&a);
    flagsim_stream_create(&b);
    flagsim_event_create(&fork);
    assert_int_equal(flagsim_capture_begin(a), 0);
    flagsim_launch(a, add_one, &counter, 0, &plain);
    flagsim_event_record(fork, a);
    assert_int_equal(flagsim_stream_wait_event(b, fork), 0);
    flagsim_launch(b, add_one, &counter, 0, &plain);
    assert_int_equal(flagsim_stream_synchronize(a), -EPERM);
    assert_int_equal(flagsim_capture_end(b, &graph), -EINVAL);
    assert_int_equal(flagsim_capture_end(a, &graph), 0);
    assert_false(flagsim_stream_is_capturing(b));
    flagsim_device_synchronize();
    assert_int_equal(counter, 0);
    flagsim_graph_instantiate(graph, &exec);
    flagsim_graph_launch(exec, b);
    flagsim_stream_synchronize(b);
    assert_int_equal(counter, 2);
    flagsim_graph_destroy(graph);
    flagsim_graph_exec_destroy(exec);
    flagsim_event_destroy(fork);
    flagsim_stream_destroy(a);
    flagsim_stream_destroy(b);
}

// ---- observing

struct seen {
    atomic_int enters, exits, activities;
    uint32_t correlation[64];
    flagsim_activity activity[64];
    flagsim_api exit_api[64];
    uint64_t start_ns[64], end_ns[64];
};

static void saw_enter(void *user, const flagsim_api_call *call) {
    struct seen *seen = user;
    *call->scratch = call->correlation + 1u;
    atomic_fetch_add(&seen->enters, 1);
}

static void saw_exit(void *user, const flagsim_api_call *call) {
    struct seen *seen = user;
    assert_int_equal(*call->scratch, call->correlation + 1u);
    int i = atomic_fetch_add(&seen->exits, 1);
    seen->correlation[i] = call->correlation;
    seen->exit_api[i] = call->api;
    seen->start_ns[i] = call->start_ns;
    seen->end_ns[i] = call->end_ns;
}

static void saw_activity(void *user, const flagsim_activity *activity) {
    struct seen *seen = user;
    seen->activity[atomic_fetch_add(&seen->activities, 1)] = *activity;
}

static const flagsim_observer observer = { sizeof observer, saw_enter, saw_exit, saw_activity };

static void work_carries_the_id_of_the_call_that_started_it_and_no_other(void **state) {
    (void)state;
    struct seen *seen = calloc(1, sizeof *seen);
    flagsim_stream *stream;
    flagsim_stream_create(&stream);
    int handle = flagsim_observe(&observer, seen);
    assert_true(handle > 0);
    flagsim_launch(stream, NULL, NULL, 0, &plain);
    flagsim_launch(stream, NULL, NULL, 0, &plain);
    flagsim_stream_synchronize(stream);
    flagsim_unobserve(handle);
    flagsim_launch(stream, NULL, NULL, 0, &plain);
    flagsim_stream_destroy(stream);

    assert_int_equal(atomic_load(&seen->enters), 3);
    assert_int_equal(atomic_load(&seen->exits), 3);
    assert_int_equal(atomic_load(&seen->activities), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen->activity[i].correlation, seen->correlation[i]);
        assert_in_range(seen->correlation[i], 0x50000000, 0x7fffffff);
        assert_true(seen->end_ns[i] > seen->start_ns[i]);
        assert_true(seen->activity[i].end_ns > seen->activity[i].start_ns);
    }
    assert_true(seen->correlation[1] - seen->correlation[0] > 1);
    assert_int_equal(seen->activity[2].kind, FLAGSIM_ACTIVITY_SYNC);
    assert_true(seen->activity[1].start_ns >= seen->activity[0].end_ns);
    free(seen);
}

static void every_kernel_of_a_graph_carries_the_launch_and_a_node_of_its_own(void **state) {
    (void)state;
    struct seen *seen = calloc(1, sizeof *seen);
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
    flagsim_graph_create(&graph);
    for (int i = 0; i < 3; i++)
        flagsim_graph_add_kernel(graph, NULL, NULL, 0, &plain);
    flagsim_graph_instantiate(graph, &exec);
    int handle = flagsim_observe(&observer, seen);
    flagsim_graph_launch(exec, NULL);
    flagsim_stream_synchronize(NULL);
    flagsim_unobserve(handle);
    assert_int_equal(atomic_load(&seen->activities), 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen->activity[i].correlation, seen->correlation[0]);
        assert_true(seen->activity[i].graph_id != 0);
        for (int j = 0; j < i; j++)
            assert_true(seen->activity[i].graph_node_id != seen->activity[j].graph_node_id);
    }
    flagsim_truth truth = { .size = sizeof truth };
    flagsim_truth_read(&truth);
    assert_int_equal(truth.kernels, 3);
    assert_int_equal(truth.graph_kernels, 3);
    flagsim_graph_destroy(graph);
    flagsim_graph_exec_destroy(exec);
    free(seen);
}

static void a_copy_is_reported_as_what_the_addresses_say(void **state) {
    (void)state;
    struct seen *seen = calloc(1, sizeof *seen);
    void *device, *pinned;
    char pageable[64] = { 0 };
    flagsim_malloc(&device, 64);
    flagsim_host_malloc(&pinned, 64);
    int handle = flagsim_observe(&observer, seen);
    flagsim_memcpy_async(device, pinned, 64, FLAGSIM_COPY_DEFAULT, NULL);
    flagsim_memcpy(pageable, device, 32, FLAGSIM_COPY_DTOH);
    flagsim_unobserve(handle);
    const flagsim_memory_work *in = &seen->activity[0].of.memory, *out = &seen->activity[1].of.memory;
    assert_int_equal(in->copy, FLAGSIM_COPY_HTOD);
    assert_int_equal(in->src_memory, FLAGSIM_MEMORY_PINNED);
    assert_true(in->asynchronous);
    assert_int_equal(out->copy, FLAGSIM_COPY_DTOH);
    assert_int_equal(out->dst_memory, FLAGSIM_MEMORY_PAGEABLE);
    assert_int_equal(out->bytes, 32);
    assert_false(out->asynchronous);
    flagsim_free(device);
    flagsim_host_free(pinned);
    free(seen);
}

// ---- what goes wrong

static void faults_are_read_by_name_and_a_mistyped_one_is_refused(void **state) {
    (void)state;
    assert_int_equal(flagsim_faults_set("drop_records=9,timing_zero"), 0);
    assert_true(flagsim_fault_on(FLAGSIM_FAULT_drop_records));
    assert_int_equal(flagsim_fault_value(FLAGSIM_FAULT_drop_records), 9);
    assert_int_equal(flagsim_fault_value(FLAGSIM_FAULT_timing_zero), 3);
    assert_false(flagsim_fault_on(FLAGSIM_FAULT_no_device));
    assert_int_equal(flagsim_faults_set("drop_record"), -EINVAL);
    assert_int_equal(flagsim_init(), -EINVAL);
    assert_int_equal(flagsim_faults_set("no_device"), 0);
    assert_int_equal(flagsim_init(), -ENODEV);
    assert_int_equal(flagsim_device_count(), 0);
}

static void a_forked_child_is_refused_the_accelerator_and_can_exit(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    void *device;
    assert_int_equal(flagsim_malloc(&device, 64), 0);
    flagsim_launch(NULL, NULL, NULL, 0, &plain);
    pid_t child = fork();
    if (!child)
        exit(flagsim_stream_synchronize(NULL) == -EOWNERDEAD && flagsim_device_count() == 0 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    flagsim_free(device);
}

static void the_truth_is_valid_json_of_the_length_it_says(void **state) {
    (void)state;
    flagsim_launch(NULL, NULL, NULL, 0, &plain);
    flagsim_stream_synchronize(NULL);
    int length = flagsim_truth_json(NULL, 0);
    char *text = malloc((size_t)length + 1);
    assert_int_equal(flagsim_truth_json(text, (size_t)length + 1), length);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "\"kernel launch\":1"));
    assert_non_null(strstr(text, "\"kernels\":1"));
    free(text);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, reset, reset)
    const struct CMUnitTest tests[] = {
        CASE(work_of_one_stream_runs_in_the_order_of_launches),
        CASE(an_event_makes_a_second_stream_wait),
        CASE(streams_run_side_by_side),
        CASE(an_event_tells_the_time_between_two_points),
        CASE(copies_and_sets_move_the_right_bytes_between_host_and_two_devices),
        CASE(a_pageable_source_may_change_after_an_asynchronous_copy),
        CASE(memory_is_accounted_for_and_its_end_is_an_error),
        CASE(an_owned_argument_is_freed_once_after_the_last_run),
        CASE(a_capture_runs_nothing_and_takes_in_streams_that_join),
        CASE(work_carries_the_id_of_the_call_that_started_it_and_no_other),
        CASE(every_kernel_of_a_graph_carries_the_launch_and_a_node_of_its_own),
        CASE(a_copy_is_reported_as_what_the_addresses_say),
        CASE(faults_are_read_by_name_and_a_mistyped_one_is_refused),
        CASE(a_forked_child_is_refused_the_accelerator_and_can_exit),
        CASE(the_truth_is_valid_json_of_the_length_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
