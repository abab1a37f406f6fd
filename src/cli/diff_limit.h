// diff_limit.h - the limits of `diff --fail-on`.
//
// In:  text such as 'device_time>5%, kernel:gemm>2ms, new>0'.
// Out: which of them a comparison exceeds.
#ifndef FP_CLI_DIFF_LIMIT_H
#define FP_CLI_DIFF_LIMIT_H

#include "analysis/diff.h"
#include "cli/table.h"

// Whether the text is understood. -EINVAL with a sentence.
int fp_diff_limits_parse(const char *text, struct fp_error *err);

// How many limits of the (understood) text are exceeded or cannot be judged; each is told as a sentence, the kept
// ones too.
size_t fp_diff_limits_check(const char *text, const struct fp_diff *diff, struct fp_report *report);

#endif
