// test_table.c - which tracer serves which accelerator: every row is pinned, so that a new one cannot slip in unseen.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tracers/table.h"

// A line a row, in the order of detection.
// clang-format off
static const struct {
    const char *accelerator, *tracer;
} pinned[] = {
    { "cuda", "cupti" },
    { "ppu", "cupti" },
    { "metax", "mcpti" },
    { "musa", "mupti" },
    { "dcu", "roctracer" },
    { "ascend", "mspti" },
    { "gcu", "topspti" },
    { "tsingmicro", "unavailable" },
    { "bpu", "unavailable" },
};
// clang-format on

enum { PINNED = sizeof(pinned) / sizeof(pinned[0]) };

static void each_accelerator_has_the_tracer_that_is_pinned_here_and_no_other(void **state) {
    (void)state;
    size_t count = 0;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++, count++) {
        assert_in_range(count, 0, PINNED - 1);
        assert_string_equal(row->accelerator, pinned[count].accelerator);
        assert_string_equal(row->ops->name, pinned[count].tracer);
    }
    assert_int_equal(count, PINNED);
}

static void
each_row_that_can_trace_knows_its_library_by_a_symbol_and_has_what_the_contract_asks(void **state) {
    (void)state;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++) {
        assert_int_equal(!row->library_symbol, strcmp(row->ops->name, "unavailable") == 0);
        assert_true(row->ops->size > offsetof(struct fp_tracer_ops, drain));
        assert_true(row->ops->open && row->ops->close && row->ops->describe && row->ops->device_count);
        assert_true(row->ops->device && row->ops->start && row->ops->stop && row->ops->drain);
        assert_true(!row->ops->push == !row->ops->pop);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_accelerator_has_the_tracer_that_is_pinned_here_and_no_other),
        cmocka_unit_test(
            each_row_that_can_trace_knows_its_library_by_a_symbol_and_has_what_the_contract_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
