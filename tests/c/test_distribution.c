// test_distribution.c - percentiles are exact up to a million values, and then as near as is said.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/distribution.h"

#define STRIDE 7919u // a prime that divides none of the counts: every value once, in no order

// The k-th smallest value: from 0 to beyond 32 bits.
static int64_t value_at(uint64_t k) {
    return (int64_t)(k * k / 7 + k);
}

static void fill(struct fp_distribution *distribution, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(fp_distribution_add(distribution, value_at(i * STRIDE % count)), 0);
}

// The smallest value that `percent` of them do not exceed.
static int64_t exact(uint64_t count, unsigned percent) {
    uint64_t rank = (count * percent + 99) / 100;
    return value_at(rank ? rank - 1 : 0);
}

static void a_million_values_have_exact_percentiles(void **state) {
    (void)state;
    struct fp_distribution distribution = { 0 };
    fill(&distribution, 1000000);
    assert_false(fp_distribution_sketched(&distribution));
    for (unsigned percent = 0; percent <= 100; percent += 5)
        assert_int_equal(fp_distribution_percentile(&distribution, percent), exact(1000000, percent));
    fp_distribution_free(&distribution);
}

static void more_values_have_percentiles_within_the_error_that_is_said(void **state) {
    (void)state;
    const uint64_t count = 1300000;
    struct fp_distribution distribution = { 0 };
    fill(&distribution, count);
    assert_true(fp_distribution_sketched(&distribution));
    assert_int_equal(distribution.count, count);
    assert_int_equal(distribution.most, value_at(count - 1));
    for (unsigned percent = 1; percent <= 100; percent++) {
        int64_t true_value = exact(count, percent), said = fp_distribution_percentile(&distribution, percent);
        if (llabs(said - true_value) > (double)true_value * FP_DISTRIBUTION_ERROR)
            fail_msg("p%u is %lld and not %lld", percent, (long long)said, (long long)true_value);
    }
    fp_distribution_free(&distribution);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_values_have_exact_percentiles),
        cmocka_unit_test(more_values_have_percentiles_within_the_error_that_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
