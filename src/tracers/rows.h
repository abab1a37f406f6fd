// rows.h - the rows that this process tries, in the order in which it tries them. Private to the choice
// (accelerator.c).
//
// In:  the table, the plug-ins that were named or lie in a folder.
// Out: one list, made once and kept: named plug-ins, the table's rows, plug-ins of the folder, and last the
//      rows that name the unavailable tracer, so that a plug-in for such a platform is found before them.
#ifndef FP_TRACERS_ROWS_H
#define FP_TRACERS_ROWS_H

#include "tracers/accelerator.h"
#include "tracers/table.h"

#include <stdbool.h>

enum { FP_ROWS_MAX = 64 };

struct fp_row {
    struct fp_accelerator_row is;
    struct fp_accelerator accelerator; // tracer NULL: not usable so far
    bool simulated;
    bool broken; // a plug-in that is no tracer: `reason` says why, and it is not tried
    int status;
    char *reason; // texts live to the end of the process: replaced ones are not freed
};

// The rows and their number. Not thread safe the first time.
struct fp_row *fp_rows(size_t *count);

#endif
