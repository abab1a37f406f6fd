// diff.c - what changed between two sides of runs, and what of it is more than noise.
//
// In:  values by file and name.
// Out: matched rows with verdicts.

#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/similar.h"

#define ENOUGH_FILES 5  // on both sides: from here on medians say more than means
#define RANKS_APART 2.5 // standard errors of the rank sum: 1 %, or less with as few files

struct fp_diff *fp_diff_new(size_t base_files, size_t test_files) {
    struct fp_diff *diff = calloc(1, sizeof(*diff));
    if (!diff)
        return NULL;
    diff->files[FP_DIFF_BASE] = base_files;
    diff->files[FP_DIFF_TEST] = test_files;
    diff->names = fp_intern_new();
    if (!diff->names) {
        free(diff);
        return NULL;
    }
    return diff;
}

void fp_diff_free(struct fp_diff *diff) {
    if (!diff)
        return;
    for (int section = 0; section < FP_DIFF_SECTIONS; section++) {
        struct fp_diff_table *table = &diff->tables[section];
        for (size_t i = 0; i < table->count; i++)
            free(table->rows[i].values);
        free(table->rows);
        free(table->by_name);
    }
    fp_intern_free(diff->names);
    free(diff);
}

static size_t all_files(const struct fp_diff *diff) {
    return diff->files[0] + diff->files[1];
}

static struct fp_diff_row *row_of(struct fp_diff *diff, struct fp_diff_table *table, uint32_t name) {
    if (name >= table->by_name_room) {
        size_t room = (size_t)name * 2 + 64;
        uint32_t *grown = realloc(table->by_name, room * sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + table->by_name_room, 0, (room - table->by_name_room) * sizeof(*grown));
        table->by_name = grown;
        table->by_name_room = room;
    }
    if (table->by_name[name])
        return &table->rows[table->by_name[name] - 1];
    if (table->count == table->room) {
        size_t room = table->room * 2 + 64;
        struct fp_diff_row *grown = realloc(table->rows, room * sizeof(*grown));
        if (!grown)
            return NULL;
        table->rows = grown;
        table->room = room;
    }
    struct fp_diff_row *row = &table->rows[table->count];
    *row = (struct fp_diff_row){
        .base_name = FP_NO_ID, .test_name = FP_NO_ID, .base_variants = 1, .test_variants = 1
    };
    row->values = calloc(all_files(diff), sizeof(*row->values));
    if (!row->values)
        return NULL;
    table->by_name[name] = (uint32_t)++table->count;
    return row;
}

static void add_value(struct fp_diff_value *to, const struct fp_diff_value *value) {
    to->count += value->count;
    to->total += value->total;
    to->variance += value->variance;
}

int fp_diff_add(struct fp_diff *diff, enum fp_diff_section section, enum fp_diff_side side, size_t file,
                struct fp_text name, struct fp_diff_value value) {
    uint32_t id = fp_intern_add(diff->names, name);
    struct fp_diff_row *row = id == FP_NO_ID ? NULL : row_of(diff, &diff->tables[section], id);
    if (!row)
        return -ENOMEM;
    *(side == FP_DIFF_BASE ? &row->base_name : &row->test_name) = id;
    add_value(&row->values[side == FP_DIFF_BASE ? file : diff->files[0] + file], &value);
    return 0;
}

// Matching by skeleton.

struct lone {
    size_t row;
    char *skeleton;
    bool test;
};

static int compare_lone(const void *left, const void *right) {
    const struct lone *a = left, *b = right;
    int order = strcmp(a->skeleton, b->skeleton);
    if (order)
        return order;
    if (a->test != b->test)
        return a->test - b->test;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int skeleton_of(const struct fp_diff *diff, uint32_t name, char **skeleton) {
    struct fp_text text = fp_intern_text(diff->names, name);
    *skeleton = malloc(text.size * 2 + 1);
    if (!*skeleton)
        return -ENOMEM;
    (*skeleton)[fp_name_skeleton(text, *skeleton)] = 0;
    return 0;
}

// Rows of one skeleton: all that only the base has, and all that only the test has, become the first base
// row.
static void join(struct fp_diff *diff, struct fp_diff_table *table, const struct lone *lones, size_t count) {
    size_t base = 0;
    while (base < count && !lones[base].test)
        base++;
    if (!base || base == count)
        return;
    struct fp_diff_row *to = &table->rows[lones[0].row];
    to->test_name = table->rows[lones[base].row].test_name;
    to->similar = true;
    to->base_variants = (uint32_t)base;
    to->test_variants = (uint32_t)(count - base);
    for (size_t i = 1; i < count; i++) {
        struct fp_diff_row *from = &table->rows[lones[i].row];
        for (size_t file = 0; file < all_files(diff); file++)
            add_value(&to->values[file], &from->values[file]);
        free(from->values);
        from->values = NULL; // taken out below
    }
}

static int match_similar(struct fp_diff *diff, struct fp_diff_table *table) {
    struct lone *lones = malloc((table->count + 1) * sizeof(*lones));
    size_t count = 0, kept = 0;
    int code = lones ? 0 : -ENOMEM;
    for (size_t i = 0; i < table->count && !code; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        if (row->base_name != FP_NO_ID && row->test_name != FP_NO_ID)
            continue;
        bool test = row->base_name == FP_NO_ID;
        code = skeleton_of(diff, test ? row->test_name : row->base_name, &lones[count].skeleton);
        if (!code) {
            lones[count].row = i;
            lones[count++].test = test;
        }
    }
    if (!code)
        qsort(lones, count, sizeof(*lones), compare_lone);
    for (size_t i = 0, j; i < count && !code; i = j) {
        for (j = i; j < count && strcmp(lones[j].skeleton, lones[i].skeleton) == 0;)
            j++;
        join(diff, table, lones + i, j - i);
    }
    for (size_t i = 0; i < count; i++)
        free(lones[i].skeleton);
    free(lones);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].values)
            table->rows[kept++] = table->rows[i];
    table->count = kept;
    return code;
}

// Judging.

static int compare_totals(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static int64_t median(int64_t *sorted, size_t count) {
    int64_t low = sorted[(count - 1) / 2], high = sorted[count / 2];
    return low + (high - low) / 2;
}

// One side of a row.
struct side {
    size_t files;
    int64_t middle, least, most;
    double squares; // of the distances from the mean
    double error;   // of the median, robust; of the one total where there is one file
    uint64_t calls;
};

static double squares_around_mean(const int64_t *values, size_t count) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += (double)values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    return squares;
}

static struct side measure(const struct fp_diff_value *values, size_t count, int64_t *scratch) {
    struct side side = { .files = count };
    for (size_t i = 0; i < count; i++)
        scratch[i] = (int64_t)values[i].count;
    qsort(scratch, count, sizeof(*scratch), compare_totals);
    side.calls = (uint64_t)median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = values[i].total;
    qsort(scratch, count, sizeof(*scratch), compare_totals);
    side.middle = median(scratch, count);
    side.least = scratch[0];
    side.most = scratch[count - 1];
    side.squares = squares_around_mean(scratch, count);
    if (count == 1) {
        side.error = sqrt(values[0].variance);
        return side;
    }
    for (size_t i = 0; i < count; i++)
        scratch[i] = llabs(scratch[i] - side.middle);
    qsort(scratch, count, sizeof(*scratch), compare_totals);
    side.error = 1.2533 * 1.4826 * (double)median(scratch, count) / sqrt((double)count);
    return side;
}

// Student's t, two sides, 1 %.
static double students_t(size_t freedom) {
    static const double table[] = { 0, 63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355 };
    size_t last = sizeof(table) / sizeof(*table) - 1;
    return table[freedom < last ? freedom : last];
}

static bool by_medians(const struct fp_diff *diff) {
    size_t bases = diff->files[FP_DIFF_BASE], tests = diff->files[FP_DIFF_TEST];
    return (bases >= ENOUGH_FILES && tests >= ENOUGH_FILES) || (bases == 1 && tests == 1);
}

// One standard error of the change, and how many of them are the noise.
static double error_of(const struct fp_diff *diff, const struct side *base, const struct side *test) {
    if (by_medians(diff))
        return sqrt(base->error * base->error + test->error * test->error);
    double freedom = (double)(base->files + test->files - 2);
    return sqrt((base->squares + test->squares) / freedom) *
           sqrt(1.0 / (double)base->files + 1.0 / (double)test->files);
}

static double errors_allowed(const struct fp_diff *diff) {
    return by_medians(diff) ? 3 : students_t(diff->files[FP_DIFF_BASE] + diff->files[FP_DIFF_TEST] - 2);
}

// Whether the files of the two sides mix as files of one kind do. Of few files, none may lie among the others';
// of many, the rank sum tells. A side of one file each has no ranks.
static bool mix(const struct fp_diff *diff, const struct fp_diff_row *row) {
    size_t bases = diff->files[FP_DIFF_BASE], tests = diff->files[FP_DIFF_TEST];
    double pairs = (double)bases * (double)tests, below = 0;
    if (bases == 1 && tests == 1)
        return false;
    for (size_t i = 0; i < bases; i++)
        for (size_t j = 0; j < tests; j++) {
            int64_t base = row->values[i].total, test = row->values[bases + j].total;
            below += base < test ? 1 : base == test ? 0.5 : 0;
        }
    if (bases < ENOUGH_FILES || tests < ENOUGH_FILES)
        return below > 0 && below < pairs;
    double error = sqrt(pairs * (double)(bases + tests + 1) / 12);
    return fabs(below - pairs / 2) - 0.5 < RANKS_APART * error;
}

static int compare_errors(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The error of the median row in proportion to its time; 0 with one file on a side, where no error between files
// is known. -ENOMEM.
static int usual_error(const struct fp_diff *diff, const struct fp_diff_table *table, int64_t *scratch,
                       double *usual) {
    size_t bases = diff->files[FP_DIFF_BASE], tests = diff->files[FP_DIFF_TEST], count = 0;
    *usual = 0;
    if (bases < 2 || tests < 2)
        return 0;
    double *errors = malloc((table->count + 1) * sizeof(*errors));
    if (!errors)
        return -ENOMEM;
    for (size_t i = 0; i < table->count; i++) {
        const struct fp_diff_row *row = &table->rows[i];
        struct side base = measure(row->values, bases, scratch),
                    test = measure(row->values + bases, tests, scratch);
        if (base.middle > 0 && test.middle > 0)
            errors[count++] = error_of(diff, &base, &test) / (double)base.middle;
    }
    qsort(errors, count, sizeof(*errors), compare_errors);
    if (count)
        *usual = errors[(count - 1) / 2];
    free(errors);
    return 0;
}

static void judge(const struct fp_diff *diff, struct fp_diff_row *row, bool exact, double usual,
                  int64_t *scratch) {
    size_t bases = diff->files[FP_DIFF_BASE], tests = diff->files[FP_DIFF_TEST];
    struct side base = measure(row->values, bases, scratch),
                test = measure(row->values + bases, tests, scratch);
    row->base = base.middle;
    row->test = test.middle;
    row->base_count = base.calls;
    row->test_count = test.calls;
    double error = error_of(diff, &base, &test), least = usual * fabs((double)row->base);
    double bound = errors_allowed(diff) * (error > least ? error : least),
           floor = exact ? 0 : fabs((double)row->base) * (bases > 1 && tests > 1 ? 0.01 : 0.02);
    row->noise = (int64_t)(bound > floor ? bound : floor);
    int64_t change = row->test - row->base;
    if (row->base == 0 && row->test == 0) // an operator without device time, say
        row->verdict = FP_DIFF_SAME;
    else if (row->base_name == FP_NO_ID || row->test_name == FP_NO_ID)
        row->verdict = row->base_name == FP_NO_ID ? FP_DIFF_NEW : FP_DIFF_GONE;
    else if (llabs(change) <= row->noise || mix(diff, row))
        row->verdict = FP_DIFF_SAME;
    else
        row->verdict = change > 0 ? FP_DIFF_SLOWER : FP_DIFF_FASTER;
}

static int compare_changes(const void *left, const void *right) {
    const struct fp_diff_row *a = left, *b = right;
    int64_t x = llabs(a->test - a->base), y = llabs(b->test - b->base);
    if (x != y)
        return x < y ? 1 : -1;
    uint32_t p = a->base_name != FP_NO_ID ? a->base_name : a->test_name;
    uint32_t q = b->base_name != FP_NO_ID ? b->base_name : b->test_name;
    return p < q ? -1 : p > q;
}

int fp_diff_finish(struct fp_diff *diff) {
    int64_t *scratch = malloc((all_files(diff) + 1) * sizeof(*scratch));
    int code = scratch ? 0 : -ENOMEM;
    for (int section = 0; section < FP_DIFF_SECTIONS && !code; section++) {
        struct fp_diff_table *table = &diff->tables[section];
        double usual = 0; // the totals hang together and are few: each stands for itself
        if (section >= FP_DIFF_KERNEL)
            code = match_similar(diff, table);
        if (section >= FP_DIFF_KERNEL && !code)
            code = usual_error(diff, table, scratch, &usual);
        for (size_t i = 0; i < table->count && !code; i++)
            judge(diff, &table->rows[i], section == FP_DIFF_COUNTS, usual, scratch);
        if (section >= FP_DIFF_KERNEL && table->count)
            qsort(table->rows, table->count, sizeof(*table->rows), compare_changes);
    }
    free(scratch);
    return code;
}

double fp_diff_percent(const struct fp_diff_row *row) {
    if (row->base == 0)
        return row->test == 0 ? 0 : row->test > 0 ? INFINITY : -INFINITY;
    return 100.0 * (double)(row->test - row->base) / fabs((double)row->base);
}
