// test_cupti_names.c - callback ids become the names that torch-cuda shows, and unknown ids keep their
// number.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tracers/cupti_names.c" // static tables: no library needed

enum { DRIVER = 1, RUNTIME = 2 };

static const char *name_of(uint32_t domain, uint32_t cbid) {
    static char label[32];
    return fp_cupti_api_name(domain, cbid, label, sizeof(label));
}

static void calls_that_torch_shows_have_its_names(void **state) {
    (void)state;
    assert_string_equal(name_of(RUNTIME, 211), "cudaLaunchKernel");
    assert_string_equal(name_of(RUNTIME, 430), "cudaLaunchKernelExC");
    assert_string_equal(name_of(RUNTIME, 41), "cudaMemcpyAsync");
    assert_string_equal(name_of(RUNTIME, 311), "cudaGraphLaunch");
    assert_string_equal(name_of(RUNTIME, 409),
                        "cudaStreamGetCaptureInfo_v2"); // the runtime's _v2 is part of the name
    assert_string_equal(name_of(DRIVER, 307), "cuLaunchKernel");
    assert_string_equal(name_of(DRIVER, 652), "cuLaunchKernelEx");
}

static void version_and_thread_suffixes_are_cut(void **state) {
    (void)state;
    assert_string_equal(name_of(RUNTIME, 214), "cudaLaunchKernel"); // cudaLaunchKernel_ptsz_v7000
    assert_string_equal(name_of(DRIVER, 421), "cuMemcpyHtoDAsync"); // cuMemcpyHtoDAsync_v2_ptsz
}

static void a_real_name_wins_over_a_newer_placeholder(void **state) {
    (void)state;
    assert_string_equal(name_of(DRIVER, 28), "cu64MemGetInfo");     // cuda28 in 13.5
    assert_string_equal(name_of(DRIVER, 786), "cuSemaphoreCreate"); // reserved786 in 13.3, cuda786 in 13.5
    assert_string_equal(name_of(RUNTIME, 439), "cudaGetKernel");    // cuda439 in 12.0
    assert_string_equal(name_of(RUNTIME, 486),
                        "cudaEventElapsedTime"); // renamed in 13.0: the newest real name
}

static void an_unknown_id_keeps_a_label_and_its_number(void **state) {
    (void)state;
    assert_string_equal(name_of(RUNTIME, 99999), FP_CUPTI_UNKNOWN_RUNTIME_CALL "99999");
    assert_string_equal(name_of(DRIVER, UINT32_MAX), FP_CUPTI_UNKNOWN_DRIVER_CALL "4294967295");
    assert_string_equal(name_of(RUNTIME, 0), FP_CUPTI_UNKNOWN_RUNTIME_CALL "0");
    assert_string_equal(name_of(RUNTIME, 559),
                        FP_CUPTI_UNKNOWN_RUNTIME_CALL "559"); // cuda559 and nothing better
    assert_null(fp_cupti_api_name_known(RUNTIME, 559));
    assert_null(fp_cupti_api_name_known(77, 211));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_torch_shows_have_its_names),
        cmocka_unit_test(version_and_thread_suffixes_are_cut),
        cmocka_unit_test(a_real_name_wins_over_a_newer_placeholder),
        cmocka_unit_test(an_unknown_id_keeps_a_label_and_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
