// test_tracer_parts.c - what tracers share besides buffers and clock: the ring, the id stack, the id map,
// the texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "tracers/forks.h"
#include "tracers/id_map.h"
#include "tracers/id_stack.h"
#include "tracers/libraries.h"
#include "tracers/notes.h"
#include "tracers/opening.h"
#include "tracers/ring.h"
#include "tracers/text_arena.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 4, ENTRIES = 20000 };

struct entry {
    uint32_t writer, number;
    uint64_t check;
};

static void a_full_ring_refuses_and_counts_instead_of_waiting(void **state) {
    (void)state;
    struct fp_ring *ring = fp_ring_new(4, sizeof(int));
    for (int at = 0; at < 6; at++)
        assert_int_equal(fp_ring_put(ring, &at), at < 4);
    assert_int_equal(fp_ring_take_refused(ring), 2);
    assert_int_equal(fp_ring_take_refused(ring), 0);
    int entry, expected = 0;
    while (fp_ring_take(ring, &entry))
        assert_int_equal(entry, expected++);
    assert_int_equal(expected, 4);
    assert_true(fp_ring_put(ring, &expected));
    fp_ring_free(ring);
}

struct writer {
    struct fp_ring *ring;
    uint32_t number;
};

static void *write_entries(void *owner) {
    const struct writer *writer = owner;
    for (uint32_t at = 0; at < ENTRIES; at++) {
        struct entry entry = { writer->number, at, (uint64_t)writer->number << 32 | at };
        while (!fp_ring_put(writer->ring, &entry))
            sched_yield();
    }
    return NULL;
}

static void many_writers_lose_and_tear_nothing_and_each_stays_in_order(void **state) {
    (void)state;
    struct fp_ring *ring = fp_ring_new(256, sizeof(struct entry));
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    for (uint32_t at = 0; at < WRITERS; at++) {
        writers[at] = (struct writer){ ring, at };
        assert_int_equal(pthread_create(&threads[at], NULL, write_entries, &writers[at]), 0);
    }
    uint32_t next[WRITERS] = { 0 };
    for (uint32_t taken = 0; taken < WRITERS * ENTRIES;) {
        struct entry entry;
        if (!fp_ring_take(ring, &entry)) {
            sched_yield();
            continue;
        }
        assert_int_equal(entry.number, next[entry.writer]);
        assert_int_equal(entry.check, (uint64_t)entry.writer << 32 | entry.number);
        next[entry.writer]++;
        taken++;
    }
    for (uint32_t at = 0; at < WRITERS; at++)
        pthread_join(threads[at], NULL);
    fp_ring_free(ring);
}

static void ids_are_a_stack_of_the_thread_and_zero_is_one_of_them(void **state) {
    (void)state;
    assert_false(fp_id_stack_top(FP_ID_OPERATOR).present);
    fp_id_stack_push(FP_ID_OPERATOR, 7);
    fp_id_stack_push(FP_ID_OPERATOR, 0);
    assert_true(fp_id_stack_top(FP_ID_OPERATOR).present);
    assert_int_equal(fp_id_stack_top(FP_ID_OPERATOR).value, 0);
    assert_false(fp_id_stack_top(FP_ID_RANGE).present);
    uint64_t last = 99;
    assert_int_equal(fp_id_stack_pop(FP_ID_OPERATOR, &last), 0);
    assert_int_equal(last, 0);
    assert_int_equal(fp_id_stack_pop(FP_ID_OPERATOR, NULL), 0);
    assert_int_equal(fp_id_stack_pop(FP_ID_OPERATOR, NULL), -ENOENT);
}

static void a_stack_too_deep_says_so_and_keeps_what_it_has(void **state) {
    (void)state;
    for (uint64_t at = 0; at < FP_ID_STACK_DEPTH; at++)
        assert_int_equal(fp_id_stack_push(FP_ID_RANGE, at), 0);
    assert_int_equal(fp_id_stack_push(FP_ID_RANGE, 1), -ENOSPC);
    assert_int_equal(fp_id_stack_top(FP_ID_RANGE).value, FP_ID_STACK_DEPTH - 1);
    while (fp_id_stack_pop(FP_ID_RANGE, NULL) == 0)
        ;
}

static void wide_ids_never_share_a_narrow_one_and_none_becomes_zero(void **state) {
    (void)state;
    struct fp_id_map *map = fp_id_map_new();
    assert_int_equal(fp_id_map_get(map, 0).value, 0);
    assert_int_equal(fp_id_map_get(map, 77).value, 77);
    uint32_t wide = fp_id_map_get(map, UINT64_C(0x100000000) + 77).value;
    assert_true(wide != 77 && wide != 0);
    assert_true(fp_id_map_get(map, UINT64_C(0x100000000)).value != 0);
    assert_int_equal(fp_id_map_get(map, UINT64_C(0x100000000) + 77).value, wide);
    fp_id_map_free(map);
}

static void ids_keep_their_answers_while_the_map_grows(void **state) {
    (void)state;
    struct fp_id_map *map = fp_id_map_new();
    static uint32_t answers[30000];
    for (uint64_t at = 0; at < 30000; at++)
        answers[at] = fp_id_map_get(map, (at << 32) + 1 + at % 3).value;
    for (uint64_t at = 0; at < 30000; at++)
        assert_int_equal(fp_id_map_get(map, (at << 32) + 1 + at % 3).value, answers[at]);
    struct fp_id_map *seen = fp_id_map_new(); // a narrow id given twice would get another number here
    for (uint64_t at = 0; at < 30000; at++)
        assert_int_equal(fp_id_map_get(seen, answers[at] + (at + 1) * UINT64_C(0x100000000)).value,
                         answers[at]);
    fp_id_map_free(seen);
    fp_id_map_free(map);
}

static void a_text_is_kept_once_and_outlives_the_one_it_was_copied_from(void **state) {
    (void)state;
    struct fp_text_arena *arena = fp_text_arena_new(4096, 16);
    char text[] = "a kernel";
    const char *kept = fp_text_arena_keep(arena, text);
    assert_ptr_not_equal(kept, text);
    assert_ptr_equal(fp_text_arena_keep(arena, text), kept);
    memset(text, '!', strlen(text));
    assert_string_equal(kept, "a kernel");
    assert_string_equal(fp_text_arena_keep(arena, text), "!!!!!!!!");
    assert_string_equal(fp_text_arena_keep(arena, ""), "");
    assert_null(fp_text_arena_keep(arena, NULL));
    fp_text_arena_free(arena);
}

static void a_full_text_arena_keeps_what_it_has_and_still_takes_what_fits(void **state) {
    (void)state;
    struct fp_text_arena *arena = fp_text_arena_new(4096, 16);
    static char large[5000];
    memset(large, 'x', sizeof(large) - 1);
    const char *small = fp_text_arena_keep(arena, "small");
    assert_null(fp_text_arena_keep(arena, large));
    assert_string_equal(small, "small");
    assert_string_equal(fp_text_arena_keep(arena, "another"), "another");
    fp_text_arena_free(arena);
}

// ---- Places

static void places_are_spelled_as_the_hosts_of_each_processor_have_them(void **state) {
    (void)state;
    static const struct {
        const char *place, *processor, *spelled[3];
    } rows[] = {
        { "targets/{target}/lib", "x86_64", { "targets/x86_64-linux/lib" } },
        { "targets/{target}/lib", "aarch64", { "targets/sbsa-linux/lib", "targets/aarch64-linux/lib" } },
        { "/opt/cann/{target}/lib64",
          "aarch64",
          { "/opt/cann/sbsa-linux/lib64", "/opt/cann/aarch64-linux/lib64" } },
        { "/usr/lib/{target}-gnu", "x86_64", { "/usr/lib/x86_64-linux-gnu" } },
        { "/usr/lib/{target}-gnu", "aarch64", { "/usr/lib/sbsa-linux-gnu", "/usr/lib/aarch64-linux-gnu" } },
        { "lib64", "aarch64", { "lib64" } },
        { "lib64", "riscv64", { "lib64" } },
        { "targets/{target}/lib", "riscv64", { NULL } },
    };
    char path[64];
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        size_t nth = 0;
        for (; rows[row].spelled[nth]; nth++) {
            assert_true(fp_library_place(rows[row].place, rows[row].processor, nth, path, sizeof(path)));
            assert_string_equal(path, rows[row].spelled[nth]);
        }
        assert_false(fp_library_place(rows[row].place, rows[row].processor, nth, path, sizeof(path)));
    }
    assert_false(fp_library_place("lib64", NULL, 0, path, 5)); // no room
    assert_true(fp_library_place("{target}", NULL, 0, path, sizeof(path)));
}

// ---- Opening

static void a_child_finds_the_marks_of_the_libraries_that_were_watched_and_of_no_other(void **state) {
    (void)state;
    static struct fp_fork_mark first, second, never;
    fp_fork_watch(&first);
    fp_fork_watch(&second);
    fp_fork_watch(&first);
    pid_t child = fork();
    if (child == 0)
        _exit(fp_fork_in_child(&first) | fp_fork_in_child(&second) << 1 | fp_fork_in_child(&never) << 2);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_false(fp_fork_in_child(&first)); // this is the parent
}

static void a_caller_of_an_older_release_gets_what_it_knows_and_not_a_byte_more(void **state) {
    (void)state;
    struct {
        struct fp_device device;
        char behind;
    } old = { .device.size = offsetof(struct fp_device, compute_major), .device.compute_major = 77 };
    struct fp_device found = { .size = sizeof(found), .name = "X", .compute_major = 9 };
    fp_tracer_hand_out(&old.device, &found);
    assert_string_equal(old.device.name, "X");
    assert_int_equal(old.device.compute_major, 77);
    assert_int_equal(old.device.size, offsetof(struct fp_device, compute_major));
    struct fp_device newer = { .size = sizeof(newer) + 8 };
    fp_tracer_hand_out(&newer, &found);
    assert_int_equal(newer.compute_major, 9);
    assert_int_equal(newer.size, sizeof(newer)); // what it may believe
}

static void count_note(void *owner, const char *text) {
    (void)text;
    ++*(int *)owner;
}

static void notes_beyond_the_last_place_are_left_out(void **state) {
    (void)state;
    struct fp_notes notes = { .count = 0 };
    int told = 0;
    struct fp_sink sink = { .owner = &told, .note = count_note };
    for (int at = 0; at < 2 * FP_NOTES; at++)
        fp_notes_add(&notes, "sentence %d", at);
    fp_notes_tell(&notes, &sink);
    assert_int_equal(told, FP_NOTES);
    assert_string_equal(notes.said[0].text, "sentence 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_refuses_and_counts_instead_of_waiting),
        cmocka_unit_test(many_writers_lose_and_tear_nothing_and_each_stays_in_order),
        cmocka_unit_test(ids_are_a_stack_of_the_thread_and_zero_is_one_of_them),
        cmocka_unit_test(a_stack_too_deep_says_so_and_keeps_what_it_has),
        cmocka_unit_test(wide_ids_never_share_a_narrow_one_and_none_becomes_zero),
        cmocka_unit_test(ids_keep_their_answers_while_the_map_grows),
        cmocka_unit_test(a_child_finds_the_marks_of_the_libraries_that_were_watched_and_of_no_other),
        cmocka_unit_test(a_caller_of_an_older_release_gets_what_it_knows_and_not_a_byte_more),
        cmocka_unit_test(notes_beyond_the_last_place_are_left_out),
        cmocka_unit_test(places_are_spelled_as_the_hosts_of_each_processor_have_them),
        cmocka_unit_test(a_text_is_kept_once_and_outlives_the_one_it_was_copied_from),
        cmocka_unit_test(a_full_text_arena_keeps_what_it_has_and_still_takes_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
