// test_trace_text.c - escapes, terminals and the table of texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "trace/intern.h"
#include "trace/text.h"

static void escapes_become_the_bytes_they_mean(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        { "a\\\"b\\\\c\\/d", "a\"b\\c/d" },
        { "\\u0041\\n", "A\n" },
        { "\\u00e9\\u20ac", "\xC3\xA9\xE2\x82\xAC" },
        { "\\ud83d\\ude00", "\xF0\x9F\x98\x80" },
        { "\\ud83d!", "\xEF\xBF\xBD!" },
        { "C:\\cuda\\_x", "C:\\cuda\\_x" },
        { "end\\", "end\\" },
        { "\\u12", "\\u12" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char out[64];
        size_t size = fp_text_unescape(fp_text_of(rows[i][0]), out);
        out[size] = '\0';
        assert_string_equal(out, rows[i][1]);
    }
}

static void what_is_shown_holds_no_control_byte(void **state) {
    (void)state;
    char out[64];
    fp_text_show((struct fp_text){ "a\x01\x1b[31m\x00\xff\xc2\x9b z\x7f", 14 }, out, sizeof(out));
    assert_string_equal(out, "a\\x01\\x1b[31m\\x00\xEF\xBF\xBD\\x9b z\\x7f");
    fp_text_show(fp_text_of("0123456789"), out, 8);
    assert_string_equal(out, "0123...");
    fp_text_show(fp_text_of("0123456"), out, 8);
    assert_string_equal(out, "0123456");
}

static void utf8_takes_the_shortest_form_only(void **state) {
    (void)state;
    assert_int_equal(fp_utf8_length("\xC3\xA9", 2), 2);
    assert_int_equal(fp_utf8_length("\xF0\x9F\x98\x80", 4), 4);
    assert_int_equal(fp_utf8_length("\xC0\x80", 2), 0);         // overlong
    assert_int_equal(fp_utf8_length("\xE0\x80\x80", 3), 0);     // overlong
    assert_int_equal(fp_utf8_length("\xED\xA0\x80", 3), 0);     // surrogate
    assert_int_equal(fp_utf8_length("\xF4\x90\x80\x80", 4), 0); // beyond U+10FFFF
    assert_int_equal(fp_utf8_length("\xE2\x82", 2), 0);         // cut
}

static void a_text_keeps_its_number_as_the_table_grows(void **state) {
    (void)state;
    struct fp_intern *table = fp_intern_new();
    char text[32];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            snprintf(text, sizeof(text), "kernel number %u", i);
            assert_int_equal(fp_intern_add(table, fp_text_of(text)), i);
        }
    assert_true(fp_text_equals(fp_intern_text(table, 4321), "kernel number 4321"));
    assert_int_equal(fp_intern_find(table, fp_text_of("never")), FP_NO_ID);
    assert_int_equal(fp_intern_add(table, fp_text_of("")), 5000);
    assert_int_equal(fp_intern_count(table), 5001);
    fp_intern_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_become_the_bytes_they_mean),
        cmocka_unit_test(what_is_shown_holds_no_control_byte),
        cmocka_unit_test(utf8_takes_the_shortest_form_only),
        cmocka_unit_test(a_text_keeps_its_number_as_the_table_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
