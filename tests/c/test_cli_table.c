// test_cli_table.c - a report fits the page, names its units, and loses no digit in CSV and JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/cli/page.c"
#include "../../src/cli/shorten.c"
#include "../../src/cli/table.c"

static const struct fp_column columns[] = {
    { "kernel", "name", FP_CELL_TEXT },    { "calls", "calls", FP_CELL_COUNT },
    { "total", "total_ns", FP_CELL_TIME }, { "moved", "bytes", FP_CELL_BYTES },
    { "share", "share", FP_CELL_PERCENT }, { "group", "group", FP_CELL_TEXT },
};

static char *written(const struct fp_report *report, enum fp_format format, enum fp_unit unit) {
    static char text[65536];
    char path[] = "/tmp/flagprof-table-XXXXXX";
    struct fp_output *output;
    close(mkstemp(path));
    assert_int_equal(fp_output_open(path, NULL, &output, NULL), 0);
    assert_int_equal(fp_report_write(report, output, format, unit), 0);
    assert_int_equal(fp_output_commit(output, NULL), 0);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    unlink(path);
    return text;
}

static struct fp_report *sample(const char *name) {
    struct fp_report *report = fp_report_new("flagprof-test-1");
    fp_report_fact_count(report, "events", "events", 1234567);
    fp_report_note(report, "a \"sentence\" of its own");
    fp_report_table(report, "kernels", "kernels by time", columns, 6, "no kernels");
    fp_report_text(report, fp_text_of(name));
    fp_report_count(report, UINT64_MAX);
    fp_report_time(report, 1743521598000110501);
    fp_report_count(report, 2500000);
    fp_report_number(report, 12.345);
    fp_report_text(report, fp_text_of("g"));
    fp_report_text(report, fp_text_of("b,\"c\""));
    for (int i = 0; i < 4; i++)
        fp_report_none(report);
    fp_report_text(report, fp_text_of(""));
    return report;
}

static void no_line_is_wider_than_the_page(void **state) {
    (void)state;
    char name[3000];
    memset(name, 'k', sizeof(name) - 1);
    name[0] = 'A', name[sizeof(name) - 2] = 'Z', name[sizeof(name) - 1] = 0;
    struct fp_report *report = sample(name);
    char *text = written(report, FP_FORMAT_TABLE, FP_UNIT_AUTO);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 100)
            fail_msg("%zu columns: %s", strlen(line), line);
    text = written(report, FP_FORMAT_TABLE, FP_UNIT_AUTO);
    assert_non_null(strstr(text, "total "));
    assert_non_null(strstr(text, "Ak"));
    assert_non_null(strstr(text, "kZ "));
    assert_non_null(strstr(text, "1,234,567"));
    assert_non_null(strstr(text, "2.50 MB"));
    fp_report_free(report);
}

static void control_bytes_never_reach_the_terminal(void **state) {
    (void)state;
    struct fp_report *report = sample("\x1b[31mred\x07");
    char *text = written(report, FP_FORMAT_TABLE, FP_UNIT_MS);
    assert_null(strchr(text, 0x1b));
    assert_non_null(strstr(text, "\\x1b[31mred\\x07"));
    assert_non_null(strstr(text, "total ms"));
    fp_report_free(report);
}

static void csv_and_json_hold_every_digit(void **state) {
    (void)state;
    struct fp_report *report = sample("a");
    char *text = written(report, FP_FORMAT_CSV, FP_UNIT_S);
    assert_string_equal(text, "name,calls,total_ns,bytes,share,group\n"
                              "a,18446744073709551615,1743521598000110501,2500000,12.345,g\n"
                              "\"b,\"\"c\"\"\",,,,,\n");
    text = written(report, FP_FORMAT_JSON, FP_UNIT_S);
    assert_non_null(strstr(text, "\"total_ns\": 1743521598000110501"));
    assert_non_null(strstr(text, "\"name\": \"b,\\\"c\\\"\", \"calls\": null"));
    assert_non_null(strstr(text, "\"notes\": [\n    \"a \\\"sentence\\\" of its own\"\n  ]"));
    assert_non_null(strstr(text, "\"events\": 1234567"));
    fp_report_free(report);
}

static void a_table_without_rows_says_so(void **state) {
    (void)state;
    struct fp_report *report = fp_report_new("flagprof-test-1");
    fp_report_table(report, "kernels", "kernels by time", columns, 6, "no kernels");
    assert_string_equal(written(report, FP_FORMAT_TABLE, FP_UNIT_AUTO), "\nno kernels\n");
    assert_non_null(strstr(written(report, FP_FORMAT_JSON, FP_UNIT_AUTO), "\"kernels\": []"));
    fp_report_free(report);
}

static void times_round_in_whole_numbers(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        enum fp_unit unit;
        bool sign;
        const char *text;
    } rows[] = {
        { 1743521598000110501, FP_UNIT_S, false, "1,743,521,598.000" },
        { 1499, FP_UNIT_US, false, "1.499" },
        { 1999999500, FP_UNIT_S, false, "2.000" },
        { -40001, FP_UNIT_US, false, "-40.001" },
        { 11560000000000, FP_UNIT_MS, true, "+11,560,000.000" },
        { INT64_MIN, FP_UNIT_NS, false, "-9,223,372,036,854,775,808" },
        { 499, FP_UNIT_MS, false, "0.000" },
        { 500, FP_UNIT_MS, false, "0.001" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char shown[64];
        show_time(shown, sizeof(shown), rows[i].ns, rows[i].unit, rows[i].sign);
        assert_string_equal(shown, rows[i].text);
    }
}

static void a_time_has_three_digits_and_its_unit(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        bool sign;
        const char *text;
    } rows[] = {
        { 0, true, "0" },
        { 7, false, "7 ns" },
        { 999, true, "+999 ns" },
        { 1000, false, "1.00 us" },
        { 9994, false, "9.99 us" },
        { 9995, false, "10.0 us" },
        { -99951, false, "-100 us" },
        { 999499, false, "999 us" },
        { 999500, false, "1.00 ms" },
        { 560416000, false, "560 ms" },
        { 1234567890123, false, "1,234 s" },
        { INT64_MIN, false, "-9,223,372,036 s" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char shown[64];
        show_short(shown, sizeof(shown), rows[i].ns, rows[i].sign);
        assert_string_equal(shown, rows[i].text);
    }
}

static void times_of_a_row_that_is_compared_share_a_unit(void **state) {
    (void)state;
    static const struct fp_column sides[] = { { "base", "base_ns", FP_CELL_TIME },
                                              { "test", "test_ns", FP_CELL_TIME },
                                              { "change", "change_ns", FP_CELL_SIGNED_TIME } };
    struct fp_report *report = fp_report_new("flagprof-test-1");
    fp_report_table(report, "times", "times", sides, 3, NULL);
    fp_report_row_units(report);
    for (int64_t base = 1000; base <= 1000000; base *= 1000) {
        fp_report_time(report, base * 5);
        fp_report_time(report, base * 6 - 1);
        fp_report_time(report, base - 1);
    }
    const char *text = written(report, FP_FORMAT_TABLE, FP_UNIT_AUTO);
    assert_non_null(strstr(text, "5.000 us  5.999 us  +0.999 us\n"));
    assert_non_null(strstr(text, "5.000 ms  6.000 ms  +1.000 ms\n"));
    fp_report_free(report);
}

static size_t longest_line(const char *text) {
    size_t longest = 0;
    for (size_t size; *text; text += size + (text[size] != 0)) {
        size = strcspn(text, "\n");
        longest = size > longest ? size : longest;
    }
    return longest;
}

static void tables_are_as_wide_as_the_environment_says(void **state) {
    (void)state;
    char name[300];
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    struct fp_report *report = sample(name);
    static const struct {
        const char *columns;
        size_t width;
    } rows[] = { { "160", 160 }, { "100", 100 }, { "90", 90 }, { "wide", 100 }, { "9", 100 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        setenv("COLUMNS", rows[i].columns, 1);
        assert_int_equal(longest_line(written(report, FP_FORMAT_TABLE, FP_UNIT_AUTO)), rows[i].width);
    }
    unsetenv("COLUMNS");
    fp_report_free(report);
}

static void a_long_signature_keeps_what_tells_most(void **state) {
    (void)state;
    static const struct {
        const char *whole, *shown;
    } rows[] = {
        { "void at::native::fill_kernel<4, at::native::FillFunctor<float> >(int, "
          "at::native::FillFunctor<float>)",
          "fill_kernel<4, FillFunctor<float> >" },
        { "void (anonymous namespace)::softmax_warp_forward<float, 10>(float*, (anonymous namespace)::Mode)",
          "softmax_warp_forward<float, 10>" },
        { "Memcpy HtoD (Pageable memory of the host -> Device)", "Memcpy HtoD (Pageable mem..t -> Device)" },
        { "aten::_scaled_dot_product_attention_backward", "aten::_scaled_dot_product..tion_backward" },
        { "short(int)", "short(int)" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = strdup(rows[i].whole);
        fp_shorten(&text, 1, 40);
        assert_true(strlen(text) <= 40);
        if (i < 2)
            assert_string_equal(text, rows[i].shown);
        else
            assert_memory_equal(text, rows[i].shown, 10);
        free(text);
    }
}

static void signatures_that_differ_in_what_is_left_out_stay_apart(void **state) {
    (void)state;
    const char *wholes[] = { "void at::native::scale_every_element_of_a_tensor(float*, int)",
                             "void at::native::scale_every_element_of_a_tensor(double*, int)",
                             "void other::scale_every_element_of_a_tensor(double*, int)" };
    char *texts[3];
    for (size_t i = 0; i < 3; i++)
        texts[i] = strdup(wholes[i]);
    fp_shorten(texts, 3, 40);
    for (size_t i = 0; i < 3; i++) {
        assert_true(strlen(texts[i]) <= 40);
        assert_string_not_equal(texts[i], texts[(i + 1) % 3]);
    }
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
}

int main(void) {
    unsetenv("COLUMNS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_wider_than_the_page),
        cmocka_unit_test(control_bytes_never_reach_the_terminal),
        cmocka_unit_test(csv_and_json_hold_every_digit),
        cmocka_unit_test(a_table_without_rows_says_so),
        cmocka_unit_test(times_round_in_whole_numbers),
        cmocka_unit_test(a_time_has_three_digits_and_its_unit),
        cmocka_unit_test(times_of_a_row_that_is_compared_share_a_unit),
        cmocka_unit_test(tables_are_as_wide_as_the_environment_says),
        cmocka_unit_test(a_long_signature_keeps_what_tells_most),
        cmocka_unit_test(signatures_that_differ_in_what_is_left_out_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
