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
    assert_non_null(strstr(text, "total s"));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_wider_than_the_page),
        cmocka_unit_test(control_bytes_never_reach_the_terminal),
        cmocka_unit_test(csv_and_json_hold_every_digit),
        cmocka_unit_test(a_table_without_rows_says_so),
        cmocka_unit_test(times_round_in_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
