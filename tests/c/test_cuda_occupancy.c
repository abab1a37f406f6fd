// test_cuda_occupancy.c - the estimate equals what torch's own profiler wrote for every kernel on an H200.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tracers/cuda_occupancy.h"

static const struct fp_cuda_limits h200 = {
    // the traces' deviceProperties
    .compute_major = 9,
    .multiprocessors = 132,
    .warp_size = 32,
    .max_threads_per_block = 1024,
    .max_threads_per_multiprocessor = 2048,
    .registers_per_block = 65536,
    .registers_per_multiprocessor = 65536,
    .shared_per_block_bytes = 49152,
    .shared_per_multiprocessor_bytes = 233472,
    .reserved_shared_per_block_bytes = 1024,
};

static void every_kernel_that_torch_recorded_gets_torchs_estimate(void **state) {
    (void)state;
    FILE *file = fopen(FIXTURES "/occupancy/h200.txt", "r");
    assert_non_null(file);
    char line[200];
    int rows = 0, wrong = 0;
    while (fgets(line, sizeof(line), file)) {
        struct fp_kernel k = { 0 };
        int expected, seen;
        if (sscanf(line, "%u %u %u %u %u %u %u %u %d %d", &k.grid[0], &k.grid[1], &k.grid[2], &k.block[0],
                   &k.block[1], &k.block[2], &k.registers_per_thread, &k.shared_bytes, &expected,
                   &seen) != 10)
            continue;
        rows++;
        int percent = fp_cuda_occupancy_percent(&h200, &k);
        if (percent != expected) {
            wrong++;
            print_message("got %d %% for %s", percent, line);
        }
    }
    fclose(file);
    assert_true(rows > 50);
    assert_int_equal(wrong, 0);
}

static void a_device_whose_rules_are_unknown_gets_no_estimate(void **state) {
    (void)state;
    struct fp_kernel kernel = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
    struct fp_cuda_limits limits = h200;
    limits.compute_major = 99;
    assert_int_equal(fp_cuda_occupancy_percent(&limits, &kernel), -1);
    limits = (struct fp_cuda_limits){ .compute_major = 9 };
    assert_int_equal(fp_cuda_occupancy_percent(&limits, &kernel), -1);
    kernel.block[0] = 0;
    assert_int_equal(fp_cuda_occupancy_percent(&h200, &kernel), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_that_torch_recorded_gets_torchs_estimate),
        cmocka_unit_test(a_device_whose_rules_are_unknown_gets_no_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
