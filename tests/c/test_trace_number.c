// test_trace_number.c - decimal text becomes exact integers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/number.h"

static const struct {
    const char *text;
    enum fp_number_state state;
    int64_t ns;
    bool rounded;
} rows[] = {
    { "0", FP_NUMBER_OK, 0, false },
    { "1778655624745710.730", FP_NUMBER_OK, 1778655624745710730,
      false }, // a double would lose the last digits
    { "1743521598000100.0", FP_NUMBER_OK, 1743521598000100000, false },
    { "-11558990", FP_NUMBER_OK, -11558990000, false },
    { "-40.001", FP_NUMBER_OK, -40001, false },
    { "1e3", FP_NUMBER_OK, 1000000, false },
    { "1.5E-3", FP_NUMBER_OK, 2, true }, // 1.5 ns
    { "2.5e2", FP_NUMBER_OK, 250000, false },
    { "0.0004", FP_NUMBER_OK, 0, true },
    { "0.0005", FP_NUMBER_OK, 1, true },
    { "-0.0005", FP_NUMBER_OK, -1, true },
    { "1e-99999999999", FP_NUMBER_OK, 0, true },
    { "0e99999999999", FP_NUMBER_OK, 0, false },
    { "1e99999999999", FP_NUMBER_BAD, 0, false },
    { "9223372036854775.807", FP_NUMBER_OK, INT64_MAX, false },
    { "9223372036854775.808", FP_NUMBER_BAD, 0, false },
    { "000000000000000000000000000001", FP_NUMBER_OK, 1000, false },
    { "", FP_NUMBER_BAD, 0, false },
    { "nan", FP_NUMBER_BAD, 0, false },
    { "-", FP_NUMBER_BAD, 0, false },
    { "1e", FP_NUMBER_BAD, 0, false },
    { "1 ", FP_NUMBER_BAD, 0, false },
    { "0x10", FP_NUMBER_BAD, 0, false },
};

static void microseconds_become_exact_nanoseconds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t ns = -7;
        bool rounded = false;
        enum fp_number_state got = fp_number_scaled(fp_text_of(rows[i].text), 3, &ns, &rounded);
        if (got != rows[i].state || ns != rows[i].ns || (got == FP_NUMBER_OK && rounded != rows[i].rounded))
            fail_msg("'%s' became state %d, %lld ns, rounded %d", rows[i].text, got, (long long)ns, rounded);
    }
}

static void ids_keep_all_64_bits(void **state) {
    (void)state;
    uint64_t value;
    int64_t small;
    assert_true(fp_number_u64(fp_text_of("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(fp_number_u64(fp_text_of("18446744073709551616"), &value));
    assert_false(fp_number_u64(fp_text_of("-1"), &value));
    assert_true(fp_number_i64(fp_text_of("-9223372036854775808"), &small));
    assert_true(small == INT64_MIN);
    assert_false(fp_number_i64(fp_text_of("9223372036854775808"), &small));
}

static void only_json_numbers_are_json_numbers(void **state) {
    (void)state;
    static const char *const good[] = { "0", "-0", "10", "1.5", "1e5", "1E+5", "-1.25e-7" };
    static const char *const bad[] = {
        "", "-", "01", "+1", ".5", "1.", "1e", "1e+", "nan", "0x1", "1,", "--1"
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        if (!fp_number_is_json(fp_text_of(good[i])))
            fail_msg("'%s' was refused", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (fp_number_is_json(fp_text_of(bad[i])))
            fail_msg("'%s' was taken", bad[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(microseconds_become_exact_nanoseconds),
        cmocka_unit_test(ids_keep_all_64_bits),
        cmocka_unit_test(only_json_numbers_are_json_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
