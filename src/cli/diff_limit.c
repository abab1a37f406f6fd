// diff_limit.c - the limits of `diff --fail-on`.
//
// In:  NAME[:REGEX]>VALUE or <, VALUE a percentage, a time or a number.
// Out: exceeded or not. A change inside the noise never exceeds a limit.

#include "cli/diff_limit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pattern.h"
#include "analysis/select.h"

enum measure { MEASURE_PERCENT, MEASURE_TIME, MEASURE_NUMBER };

struct limit {
    char name[32];
    char regex[256];
    bool below; // '<': fails when it falls
    enum measure measure;
    double value; // percent, ns or pieces
};

static const char *const groups[] = { "kernel", "operator", "call",
                                      "operator_host" }; // as the sections stand
static const char *const totals[] = {
    "wall_time",   "step_time", "device_time",          "device_busy",        "device_idle",
    "kernel_time", "copy_time", "operator_device_time", "operator_host_time", "call_time"
};
static const char *const counts[] = { "kernels", "copies", "calls", "operators", "steps" };
static const char *const sets[] = { "new", "gone", "changed" };

static int place(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return (int)i;
    return -1;
}

#define PLACE(word, words) place(word, words, sizeof(words) / sizeof(*(words)))

static bool parse_value(const char *text, size_t size, struct limit *limit) {
    char value[64], *end;
    if (!size || size >= sizeof(value))
        return false;
    memcpy(value, text, size);
    value[size] = 0;
    double number = strtod(value, &end);
    if (end == value || !isfinite(number))
        return false;
    if (strcmp(end, "%") == 0) {
        limit->measure = MEASURE_PERCENT;
        limit->value = number;
        return true;
    }
    limit->measure = *end ? MEASURE_TIME : MEASURE_NUMBER;
    limit->value = number;
    if (!*end)
        return true;
    int64_t ns;
    bool absolute;
    if (!fp_select_time(value, &ns, &absolute) || absolute)
        return false;
    limit->value = (double)ns;
    return true;
}

// Blanks around the text off.
static void trim(const char **text, size_t *size) {
    while (*size && strchr(" \t", (*text)[*size - 1]))
        --*size;
    while (*size && strchr(" \t", **text))
        ++*text, --*size;
}

static bool parse_one(const char *text, size_t size, struct limit *limit) {
    *limit = (struct limit){ 0 };
    trim(&text, &size);
    size_t sign = size; // the last < or >, since an expression may hold others
    while (sign && text[sign - 1] != '>' && text[sign - 1] != '<')
        sign--;
    if (!sign)
        return false;
    limit->below = text[sign - 1] == '<';
    const char *value = text + sign, *name = text;
    size_t value_size = size - sign, name_size = sign - 1;
    trim(&value, &value_size);
    trim(&name, &name_size);
    const char *colon = memchr(name, ':', name_size);
    size_t word = colon ? (size_t)(colon - name) : name_size, regex = colon ? name_size - word - 1 : 0;
    if (!word || word >= sizeof(limit->name) || regex >= sizeof(limit->regex) ||
        !parse_value(value, value_size, limit))
        return false;
    memcpy(limit->name, name, word);
    if (colon)
        memcpy(limit->regex, colon + 1, regex);
    bool group = PLACE(limit->name, groups) >= 0, set = PLACE(limit->name, sets) >= 0;
    bool count = PLACE(limit->name, counts) >= 0,
         known = group || set || count || PLACE(limit->name, totals) >= 0;
    bool fits = set     ? limit->measure == MEASURE_NUMBER
                : count ? limit->measure != MEASURE_TIME
                        : limit->measure != MEASURE_NUMBER;
    return known && fits && (!colon || group || set);
}

// Walks the limits of the text. Stops at the first that is not understood and returns its place; NULL at the
// end.
static const char *next_limit(const char **cursor, struct limit *limit, bool *good) {
    const char *at = *cursor;
    if (!at || !*at)
        return NULL;
    size_t size = strcspn(at, ",");
    *cursor = at[size] ? at + size + 1 : at + size;
    *good = parse_one(at, size, limit);
    return at;
}

int fp_diff_limits_parse(const char *text, struct fp_error *err) {
    struct limit limit;
    bool good, any = false;
    for (const char *cursor = text, *at; (at = next_limit(&cursor, &limit, &good)); any = true) {
        regex_t compiled;
        if (!good) {
            fp_error_set(
                err,
                "--fail-on does not understand '%.*s'. Write NAME>5%%, NAME>2ms, kernel:REGEX>10%% or new>0; "
                "names are those of the tables",
                (int)strcspn(at, ","), at);
            return -EINVAL;
        }
        if (regcomp(&compiled, limit.regex, REG_EXTENDED | REG_NOSUB) != 0) {
            fp_error_set(err, "--fail-on: '%s' is no regular expression", limit.regex);
            return -EINVAL;
        }
        regfree(&compiled);
    }
    if (!any)
        fp_error_set(err, "--fail-on needs a limit, for example 'device_time>5%%'");
    return any ? 0 : -EINVAL;
}

static bool row_exceeds(const struct limit *limit, const struct fp_diff_row *row) {
    if (!fp_diff_changed(row))
        return false;
    double change =
        limit->measure == MEASURE_PERCENT ? fp_diff_percent(row) : (double)(row->test - row->base);
    return limit->below ? change < limit->value : change > limit->value;
}

static struct fp_text name_of(const struct fp_diff *diff, const struct fp_diff_row *row) {
    return fp_intern_text(diff->names, row->test_name != FP_NO_ID ? row->test_name : row->base_name);
}

static bool matches(const regex_t *compiled, struct fp_text name) {
    return fp_pattern_match(compiled, name) == 1;
}

static void tell(struct fp_report *report, const struct limit *limit, const struct fp_diff *diff,
                 const struct fp_diff_row *row) {
    char shown[120];
    fp_text_show(name_of(diff, row), shown, sizeof(shown));
    double percent = fp_diff_percent(row);
    if (isfinite(percent))
        fp_report_note(report, "FAILED %s: %s changed by %+.1f %%, beyond the noise.", limit->name, shown,
                       percent);
    else
        fp_report_note(report, "FAILED %s: %s was not there before.", limit->name, shown);
}

// Rows of a table that exceed the limit.
static size_t check_rows(const struct limit *limit, const struct fp_diff *diff,
                         const struct fp_diff_table *table, const regex_t *compiled, const char *only,
                         struct fp_report *report) {
    size_t failed = 0, seen = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        if ((only && !fp_text_equals(name_of(diff, row), only)) || !matches(compiled, name_of(diff, row)))
            continue;
        seen++;
        if (!row_exceeds(limit, row))
            continue;
        if (!failed++)
            tell(report, limit, diff, row);
    }
    if (!seen) { // a name misspelt would otherwise be kept for ever
        fp_report_note(report, "FAILED %s: nothing in these files matches it.", limit->name);
        return 1;
    }
    if (failed > 1)
        fp_report_note(report, "FAILED %s: and %zu others.", limit->name, failed - 1);
    return failed;
}

// How many kernels are new, gone or changed.
static size_t check_set(const struct limit *limit, const struct fp_diff *diff, const regex_t *compiled,
                        struct fp_report *report) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_KERNEL];
    int set = PLACE(limit->name, sets);
    double count = 0;
    for (size_t i = 0; i < table->count; i++) {
        enum fp_diff_verdict verdict = table->rows[i].verdict;
        bool in = set == 0   ? verdict == FP_DIFF_NEW
                  : set == 1 ? verdict == FP_DIFF_GONE
                             : verdict != FP_DIFF_SAME;
        count += in && matches(compiled, name_of(diff, &table->rows[i]));
    }
    bool failed = limit->below ? count < limit->value : count > limit->value;
    if (failed)
        fp_report_note(report, "FAILED %s: %.0f names of device work.", limit->name, count);
    return failed;
}

static bool has_times(const struct fp_diff_table *table) {
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].base || table->rows[i].test)
            return true;
    return false;
}

static size_t check_one(const struct limit *limit, const struct fp_diff *diff, struct fp_report *report) {
    regex_t compiled;
    size_t failed;
    if (regcomp(&compiled, limit->regex, REG_EXTENDED | REG_NOSUB) != 0)
        return 1; // only when memory is out: the text was understood before
    int group = PLACE(limit->name, groups);
    if (group == FP_DIFF_OPERATOR - FP_DIFF_KERNEL && !has_times(&diff->tables[FP_DIFF_OPERATOR]))
        group = FP_DIFF_OPERATOR_HOST - FP_DIFF_KERNEL; // no operator owns device time
    if (group >= 0)
        failed = check_rows(limit, diff, &diff->tables[FP_DIFF_KERNEL + group], &compiled, NULL, report);
    else if (PLACE(limit->name, sets) >= 0)
        failed = check_set(limit, diff, &compiled, report);
    else if (PLACE(limit->name, counts) >= 0)
        failed = check_rows(limit, diff, &diff->tables[FP_DIFF_COUNTS], &compiled, limit->name, report);
    else
        failed = check_rows(limit, diff, &diff->tables[FP_DIFF_TIMES], &compiled, limit->name, report);
    regfree(&compiled);
    if (!failed)
        fp_report_note(report, "kept %s: not exceeded.", limit->name);
    return failed;
}

size_t fp_diff_limits_check(const char *text, const struct fp_diff *diff, struct fp_report *report) {
    struct limit limit;
    bool good;
    size_t failed = 0;
    for (const char *cursor = text; next_limit(&cursor, &limit, &good);)
        failed += good && check_one(&limit, diff, report) > 0;
    return failed;
}
