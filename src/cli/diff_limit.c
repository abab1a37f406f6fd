// diff_limit.c - the limits of `diff --fail-on`.
//
// In:  NAME[:REGEX]>VALUE or <, VALUE a percentage, a time or a number.
// Out: exceeded or not. A change inside the noise never exceeds a limit. A limit that cannot be judged, because a
//      file has nothing of what it is about, is no better than an exceeded one: a gate that never closes is none.

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

// What a limit is about must be in every file of both sides, else it cannot be judged: the total that then is not
// 0, by the limit's name. Copies and idle time may be none at all, where there is device work.
static const struct {
    const char *limit, *total, *what;
} needs[] = {
    { "device_time", "device_time", "device work" },
    { "device_busy", "device_time", "device work" },
    { "device_idle", "device_time", "device work" },
    { "kernel_time", "kernel_time", "kernels" },
    { "copy_time", "device_time", "device work" },
    { "operator_device_time", "operator_device_time", "operators with device time" },
    { "operator_host_time", "operator_host_time", "operators" },
    { "call_time", "call_time", "API calls" },
    { "step_time", "step_time", "steps (ProfilerStep#N)" },
    { "kernels", "kernel_time", "kernels" },
    { "copies", "device_time", "device work" },
    { "calls", "call_time", "API calls" },
    { "operators", "operator_host_time", "operators" },
    { "steps", "step_time", "steps (ProfilerStep#N)" },
    { "kernel", "device_time", "device work" },
    { "operator", "operator_device_time", "operators with device time" },
    { "operator_host", "operator_host_time", "operators" },
    { "call", "call_time", "API calls" },
    { "new", "device_time", "device work" },
    { "gone", "device_time", "device work" },
    { "changed", "device_time", "device work" },
};

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
// end. A comma within an expression ("kernel:gemm<float, 4>>5%") parts nothing: what stands before it is no limit.
static const char *next_limit(const char **cursor, struct limit *limit, bool *good) {
    const char *at = *cursor;
    if (!at || !*at)
        return NULL;
    size_t first = strcspn(at, ","), size = first;
    while (!(*good = parse_one(at, size, limit)) && at[size])
        size += 1 + strcspn(at + size + 1, ",");
    if (!*good)
        size = first;
    *cursor = at[size] ? at + size + 1 : at + size;
    return at;
}

static bool is_known(const char *text, size_t size) {
    struct limit limit = { 0 };
    trim(&text, &size);
    size = strcspn(text, ":<> \t") < size ? strcspn(text, ":<> \t") : size;
    if (size >= sizeof(limit.name))
        return false;
    memcpy(limit.name, text, size);
    return PLACE(limit.name, groups) >= 0 || PLACE(limit.name, sets) >= 0 || PLACE(limit.name, counts) >= 0 ||
           PLACE(limit.name, totals) >= 0;
}

static void append(char *list, size_t room, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, room - used, "%s%s", used ? ", " : "", words[i]);
    }
}

#define APPEND(list, words) append(list, sizeof(list), words, sizeof(words) / sizeof(*(words)))

static void explain(const char *text, size_t size, struct fp_error *err) {
    char names[320] = "";
    int shown = size < 60 ? (int)size : 60;
    if (is_known(text, size)) {
        fp_error_set(err,
                     "--fail-on does not understand '%.*s'. Write NAME>5%%, NAME>2ms, kernel:REGEX>10%%, "
                     "calls>5, new>0; < for what must not fall",
                     shown, text);
        return;
    }
    APPEND(names, totals);
    APPEND(names, groups);
    APPEND(names, counts);
    APPEND(names, sets);
    fp_error_set(err, "--fail-on does not understand '%.*s': it knows no such name. There are %s", shown,
                 text, names);
}

int fp_diff_limits_parse(const char *text, struct fp_error *err) {
    struct limit limit;
    bool good, any = false;
    for (const char *cursor = text, *at; (at = next_limit(&cursor, &limit, &good)); any = true) {
        regex_t compiled;
        if (!good) {
            explain(at, strcspn(at, ","), err);
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
    size_t failed = 0, seen = 0, tested = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        if ((only && !fp_text_equals(name_of(diff, row), only)) || !matches(compiled, name_of(diff, row)))
            continue;
        seen++;
        tested += row->test_name != FP_NO_ID;
        if (!row_exceeds(limit, row))
            continue;
        if (!failed++)
            tell(report, limit, diff, row);
    }
    if (!seen) { // a name misspelt would otherwise be kept for ever
        fp_report_note(report, "FAILED %s: nothing in these files matches it.", limit->name);
        return 1;
    }
    if (!tested && !failed) { // renamed, perhaps: nobody knows what it takes now
        fp_report_note(report, "FAILED %s: nothing in the test matches it.", limit->name);
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

// How many files of the side have nothing of the total.
static size_t files_without(const struct fp_diff *diff, const char *total, enum fp_diff_side side) {
    const struct fp_diff_table *table = &diff->tables[FP_DIFF_TIMES];
    size_t without = 0, first = side == FP_DIFF_BASE ? 0 : diff->files[FP_DIFF_BASE];
    for (size_t i = 0; i < table->count; i++) {
        if (!fp_text_equals(name_of(diff, &table->rows[i]), total))
            continue;
        for (size_t file = 0; file < diff->files[side]; file++)
            without += table->rows[i].values[first + file].total == 0;
        return without;
    }
    return diff->files[side];
}

static bool can_judge(const char *name, const struct fp_diff *diff, struct fp_report *report) {
    static const char *const sides[] = { [FP_DIFF_BASE] = "base", [FP_DIFF_TEST] = "test" };
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
        for (int side = 0; strcmp(needs[i].limit, name) == 0 && side < 2; side++) {
            size_t without = files_without(diff, needs[i].total, (enum fp_diff_side)side);
            if (!without)
                continue;
            fp_report_note(report, "FAILED %s: it cannot be judged, %zu of %zu files of the %s have no %s.",
                           name, without, diff->files[side], sides[side], needs[i].what);
            return false;
        }
    return true;
}

static size_t check_one(const struct limit *limit, const struct fp_diff *diff, struct fp_report *report) {
    regex_t compiled;
    size_t failed;
    int group = PLACE(limit->name, groups);
    if (group == FP_DIFF_OPERATOR - FP_DIFF_KERNEL && !has_times(&diff->tables[FP_DIFF_OPERATOR]))
        group = FP_DIFF_OPERATOR_HOST - FP_DIFF_KERNEL; // no operator owns device time
    if (!can_judge(group >= 0 ? groups[group] : limit->name, diff, report))
        return 1;
    if (regcomp(&compiled, limit->regex, REG_EXTENDED | REG_NOSUB) != 0)
        return 1; // only when memory is out: the text was understood before
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
