// test_env.c - FLAGOS_ switches, and what is printed of them and of nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"

// What `act` writes to standard error.
static size_t captured(void (*act)(void), char *text, size_t capacity) {
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    act();
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    ssize_t got = read(ends[0], text, capacity - 1);
    close(ends[0]);
    text[got > 0 ? got : 0] = '\0';
    return strlen(text);
}

static void switch_words_are_understood_in_any_case(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool on;
    } rows[] = { { "1", true },    { "true", true },   { "On", true },  { "YES", true }, { "0", false },
                 { "off", false }, { "FALSE", false }, { "no", false }, { "", false } };
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        setenv("FLAGOS_TEST_SWITCH", rows[at].value, 1);
        assert_int_equal(fp_env_switch("FLAGOS_TEST_SWITCH"), rows[at].on);
    }
    unsetenv("FLAGOS_TEST_SWITCH");
    assert_false(fp_env_switch("FLAGOS_TEST_SWITCH"));
}

static void read_bad_value_twice(void) {
    setenv("FLAGOS_TEST_BAD", "maybe", 1);
    assert_false(fp_env_switch("FLAGOS_TEST_BAD"));
    assert_false(fp_env_switch("FLAGOS_TEST_BAD"));
}

static void a_bad_switch_value_reads_as_off_and_warns_once(void **state) {
    (void)state;
    char text[1024];
    captured(read_bad_value_twice, text, sizeof(text));
    char *first = strstr(text, "FLAGOS_TEST_BAD=maybe");
    assert_non_null(first);
    assert_null(strstr(first + 1, "FLAGOS_TEST_BAD=maybe"));
}

static void log_a_line(void) {
    fp_log("component", "a line that nobody asked for");
}

static void nothing_is_logged_without_flagos_trace(void **state) {
    (void)state;
    char text[256];
    unsetenv("FLAGOS_TRACE");
    assert_int_equal(captured(log_a_line, text, sizeof(text)), 0);
}

static void warn_long(void) {
    char big[4096];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    fp_warn("%s", big);
}

static void a_line_too_long_is_cut_and_still_ends(void **state) {
    (void)state;
    char text[8192];
    size_t length = captured(warn_long, text, sizeof(text));
    assert_in_range(length, 100, 1024);
    assert_int_equal(text[length - 1], '\n');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switch_words_are_understood_in_any_case),
        cmocka_unit_test(a_bad_switch_value_reads_as_off_and_warns_once),
        cmocka_unit_test(nothing_is_logged_without_flagos_trace),
        cmocka_unit_test(a_line_too_long_is_cut_and_still_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
