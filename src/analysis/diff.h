// diff.h - what changed between two sides of runs, and what of it is more than noise.
//
// In:  for each file of either side, values by name: a count and a total.
// Out: rows, names of both sides matched, each with both medians, a bound of noise and a verdict. Names
//      that only one side has are matched once more by their skeleton (similar.h), so that a new template
//      argument or hash is a change and not two strangers.
//
// Noise. With one file on each side: three standard errors of the sum of its own durations. With more files
// and fewer than five on some side: Student's t at 1 % on the pooled deviation of the sides, whose ranges
// must not overlap. From five files on both sides on: three standard errors of the difference of medians, by
// the median absolute deviation, so that a stray run does not widen it; and the files' ranks must differ at 1 %
// (Mann and Whitney), since the deviation of five files is often far too small by accident: alone it cried in
// 5 % of rows of mere noise, in 12 % where some runs were strays. Never less than 1 % of the base with several
// files on both sides, 2 % otherwise.
//
// Tables have many rows, and a few of them scatter little by accident. So with several files on both sides a
// row's own noise is never taken for less than the median row's of its table, in proportion to their times:
// tables of 30 rows of mere noise then hold a cry in 2 to 10 % of cases instead of 25 %.
#ifndef FLAGPROF_ANALYSIS_DIFF_H
#define FLAGPROF_ANALYSIS_DIFF_H

#include "trace/intern.h"

enum fp_diff_side { FP_DIFF_BASE, FP_DIFF_TEST };

enum fp_diff_section {
    FP_DIFF_TIMES,  // totals of a run, in ns
    FP_DIFF_COUNTS, // totals of a run, in pieces
    FP_DIFF_KERNEL,
    FP_DIFF_OPERATOR, // own device time
    FP_DIFF_CALL,
    FP_DIFF_OPERATOR_HOST, // own host time
    FP_DIFF_SECTIONS
};

enum fp_diff_verdict {
    FP_DIFF_SAME,   // inside the noise
    FP_DIFF_SLOWER, // more
    FP_DIFF_FASTER, // less
    FP_DIFF_NEW,
    FP_DIFF_GONE,
};

struct fp_diff_value {
    uint64_t count;
    int64_t total;
    double variance; // of the total, from the file's own durations; 0 where it is not known
};

struct fp_diff_row {
    uint32_t base_name, test_name;         // in diff->names; FP_NO_ID on the side that does not have it
    bool similar;                          // matched by skeleton
    uint32_t base_variants, test_variants; // names that were matched by one skeleton
    struct fp_diff_value *values;          // of all files, base first
    uint64_t base_count, test_count;       // medians
    int64_t base, test;
    int64_t noise;
    enum fp_diff_verdict verdict;
};

struct fp_diff_table {
    struct fp_diff_row *rows; // the largest change first, once finished
    size_t count, room;
    uint32_t *by_name; // name id -> row plus one
    size_t by_name_room;
};

struct fp_diff {
    size_t files[2];
    struct fp_intern *names;
    struct fp_diff_table tables[FP_DIFF_SECTIONS];
};

// NULL when memory is out.
struct fp_diff *fp_diff_new(size_t base_files, size_t test_files);
void fp_diff_free(struct fp_diff *diff); // NULL is allowed

// Adds to what `file` of `side` has under the name. 0 or -ENOMEM.
int fp_diff_add(struct fp_diff *diff, enum fp_diff_section section, enum fp_diff_side side, size_t file,
                struct fp_text name, struct fp_diff_value value);

// Matches what is left, judges, sorts. 0 or -ENOMEM.
int fp_diff_finish(struct fp_diff *diff);

static inline bool fp_diff_changed(const struct fp_diff_row *row) {
    return row->verdict != FP_DIFF_SAME;
}

// Change in percent of the base; infinite for what is new.
double fp_diff_percent(const struct fp_diff_row *row);

#endif
