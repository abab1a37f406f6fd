// marks.h - begins and ends of one thread, in any order, to slices.
//
// In:  marks: twice a group, plus one for an end, in fp_slices with the event's number as id, so that
//      ties keep the file's order.
// Out: whole slices; how many begins stayed open and how many ends had none.
#ifndef FLAGPROF_ANALYSIS_MARKS_H
#define FLAGPROF_ANALYSIS_MARKS_H

#include "analysis/slices.h"

struct fp_marks_result {
    uint64_t open, lone;
    uint64_t first_open, first_lone; // event numbers, where there are any
};

// Sorts the marks and hands each pair to `each`, which returns 0 or a negative errno. 0, -ENOMEM, or what
// `each` said.
int fp_marks_pair(struct fp_slices *marks, int (*each)(void *user, struct fp_slice slice), void *user,
                  struct fp_marks_result *result);

#endif
