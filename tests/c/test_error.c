// test_error.c - the text beside a negative errno.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "flagprof/error.h"

static void text_longer_than_the_struct_is_cut_and_terminated(void **state) {
    (void)state;
    struct fp_error err;
    char text[2048];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fp_error_set(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void a_caller_that_wants_no_text_may_pass_null(void **state) {
    (void)state;
    fp_error_set(NULL, "nobody reads this %d", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_longer_than_the_struct_is_cut_and_terminated),
        cmocka_unit_test(a_caller_that_wants_no_text_may_pass_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
