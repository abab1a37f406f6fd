// test_replay.c - the recorded buffers themselves: whole, walkable by the sizes of their release, names live
// again. What a decoder makes of them is test_cupti_replay.c's business.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay.h"

static size_t count_of(const struct replay *set, uint32_t wanted) {
    size_t count = 0;
    for (size_t i = 0; i < set->buffer_count; i++) {
        void *record = NULL;
        while (replay_next_record(set->buffers[i].bytes, set->buffers[i].valid_size, &record) == 0) {
            uint32_t kind = 0;
            memcpy(&kind, record, sizeof(kind));
            count += kind == wanted;
        }
    }
    return count;
}

static void every_buffer_is_walked_to_its_last_byte(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name != NULL; name++) {
        struct replay set;
        assert_true(replay_load(&set, *name));
        replay_iterate(&set);
        for (size_t i = 0; i < set.buffer_count; i++) {
            uint8_t *bytes = set.buffers[i].bytes;
            void *record = NULL;
            uint8_t *end = bytes;
            uint32_t result = 0;
            while ((result = replay_next_record(bytes, set.buffers[i].valid_size, &record)) == 0) {
                uint32_t kind = 0;
                memcpy(&kind, record, sizeof(kind));
                end = (uint8_t *)record + replay_record_size(&set, kind);
            }
            assert_int_equal(result, 12);
            assert_ptr_equal(end, bytes + set.buffers[i].valid_size);
        }
        replay_free(&set);
    }
}

static void late_sets_hold_what_their_readme_says(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name != NULL; name++) {
        struct replay set;
        assert_true(replay_load(&set, *name));
        replay_iterate(&set);
        bool late = strstr(*name, "-late") != NULL || strstr(*name, "-tiny") != NULL;
        bool early = strstr(*name, "-early") != NULL;
        if (late || early) {
            assert_int_equal(count_of(&set, 10), late ? 26 : 36);
            assert_int_equal(count_of(&set, 1), 4);
            assert_int_equal(count_of(&set, 2), 2);
        }
        replay_free(&set);
    }
}

static void a_kernels_name_is_a_loaded_text_and_nothing_else_is(void **state) {
    (void)state;
    struct replay set;
    assert_true(replay_load(&set, "12.8.90-late"));
    replay_iterate(&set);
    void *record = NULL;
    size_t kernels = 0;
    while (replay_next_record(set.buffers[0].bytes, set.buffers[0].valid_size, &record) == 0) {
        uint32_t kind = 0;
        memcpy(&kind, record, sizeof(kind));
        uint64_t address = 0;
        if (kind == 10) {
            memcpy(&address, (uint8_t *)record + 104, sizeof(address));
            assert_string_equal(replay_text(&set, address), "_Z9axpy_probeIfEvPT_S0_i");
            kernels++;
        }
    }
    assert_true(kernels > 0);
    assert_null(replay_text(&set, 0));
    assert_null(replay_text(&set, (uintptr_t)set.buffers[0].bytes));
    replay_free(&set);
}

static void a_set_that_is_not_there_is_refused(void **state) {
    (void)state;
    struct replay set;
    assert_false(replay_load(&set, "13.0.85-never"));
    assert_false(replay_load(&set, "9.9.9-late"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_buffer_is_walked_to_its_last_byte),
        cmocka_unit_test(late_sets_hold_what_their_readme_says),
        cmocka_unit_test(a_kernels_name_is_a_loaded_text_and_nothing_else_is),
        cmocka_unit_test(a_set_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
