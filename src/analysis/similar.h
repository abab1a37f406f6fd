// similar.h - what stays of a name when template arguments, parameters and hashes are taken away.
//
// In:  a readable name.
// Out: its skeleton; two names with one skeleton are versions of one thing.
#ifndef FLAGPROF_ANALYSIS_SIMILAR_H
#define FLAGPROF_ANALYSIS_SIMILAR_H

#include "trace/text.h"

// "void gemm<128, float>(int*)_0d1d2" becomes "void gemm<>()_#". `out` has room for name.size + 1 bytes;
// returns the size.
size_t fp_name_skeleton(struct fp_text name, char *out);

#endif
