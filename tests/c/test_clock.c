// test_clock.c - a vendor's clock on the epoch's line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "tracers/clock.h"

static const int64_t epoch = 1796003707337051229;

static void another_epoch_and_rate_are_mapped_to_the_nanosecond(void **state) {
    (void)state;
    struct fp_clock clock;
    // The vendor's clock begins elsewhere and runs a hundredth too fast.
    fp_clock_begin(&clock, (struct fp_clock_sample){ 350000000000, epoch }, 1000000000);
    fp_clock_finish(&clock, (struct fp_clock_sample){ 350000000000 + 1010000000, epoch + 1000000000 });
    assert_int_equal(fp_clock_to_epoch(&clock, 350000000000), epoch);
    assert_int_equal(fp_clock_to_epoch(&clock, 350000000000 + 505000000), epoch + 500000000);
    assert_int_equal(fp_clock_to_epoch(&clock, 350000000000 + 1010000000), epoch + 1000000000);
    assert_int_equal(fp_clock_to_epoch(&clock, 350000000000 - 101), epoch - 100);
}

static void a_clock_that_is_the_epochs_is_left_exactly_as_it_is(void **state) {
    (void)state;
    struct fp_clock clock;
    fp_clock_begin(&clock, (struct fp_clock_sample){ epoch + 700, epoch }, 1000000000);
    fp_clock_finish(&clock, (struct fp_clock_sample){ epoch + 1000000900, epoch + 1000000000 });
    assert_int_equal(fp_clock_to_epoch(&clock, epoch + 12345), epoch + 12345);
}

static void one_sample_gives_an_offset_and_no_rate(void **state) {
    (void)state;
    struct fp_clock clock;
    fp_clock_begin(&clock, (struct fp_clock_sample){ 1000, epoch }, 10);
    assert_int_equal(fp_clock_to_epoch(&clock, 3000), epoch + 2000);
    fp_clock_finish(&clock, (struct fp_clock_sample){ 900, epoch + 50 });
    assert_int_equal(fp_clock_to_epoch(&clock, 3000), epoch + 2000);
}

static int read_realtime(void *owner, uint64_t *vendor_ns) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *vendor_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    (*(int *)owner)++;
    return 0;
}

static int refuse(void *owner, uint64_t *vendor_ns) {
    (void)owner;
    *vendor_ns = 0;
    return 15;
}

static void the_tightest_of_several_readings_is_taken_and_an_error_is_passed_on(void **state) {
    (void)state;
    struct fp_clock_sample sample;
    int readings = 0;
    assert_int_equal(fp_clock_sample(read_realtime, &readings, &sample), 0);
    assert_true(readings > 1);
    int64_t apart = sample.vendor_ns - sample.epoch_ns;
    assert_true(apart < 1000000 && apart > -1000000);
    assert_int_equal(fp_clock_sample(refuse, NULL, &sample), 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_epoch_and_rate_are_mapped_to_the_nanosecond),
        cmocka_unit_test(a_clock_that_is_the_epochs_is_left_exactly_as_it_is),
        cmocka_unit_test(one_sample_gives_an_offset_and_no_rate),
        cmocka_unit_test(the_tightest_of_several_readings_is_taken_and_an_error_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
