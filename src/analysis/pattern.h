// pattern.h - a name against a regular expression.
//
// In:  a span, which ends where it ends and not at a zero byte.
// Out: yes or no.
#ifndef FLAGPROF_ANALYSIS_PATTERN_H
#define FLAGPROF_ANALYSIS_PATTERN_H

#include <regex.h>

#include "trace/text.h"

// 1, 0, or -ENOMEM.
int fp_pattern_match(const regex_t *compiled, struct fp_text name);

#endif
