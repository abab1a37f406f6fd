// marks.c - begins and ends to slices.
//
// In:  marks of a thread.
// Out: pairs. An end closes the innermost open begin, whatever its name: writers that get the order wrong
//      get the names wrong too.

#include "analysis/marks.h"

#include <errno.h>
#include <stdlib.h>

int fp_marks_pair(struct fp_slices *marks, int (*each)(void *user, struct fp_slice slice), void *user,
                  struct fp_marks_result *result) {
    struct fp_slice *open = NULL;
    size_t depth = 0, room = 0;
    int code = 0;
    fp_slices_sort(marks);
    for (size_t i = 0; !code && i < marks->count; i++) {
        struct fp_slice mark = fp_slices_get(marks, i);
        bool is_end = mark.group & 1;
        mark.group /= 2;
        if (!is_end) {
            if (depth == room) {
                room = room ? room * 2 : 16;
                struct fp_slice *grown = realloc(open, room * sizeof(*grown));
                if (!grown) {
                    code = -ENOMEM;
                    break;
                }
                open = grown;
            }
            open[depth++] = mark;
        } else if (!depth) {
            if (!result->lone++)
                result->first_lone = mark.id;
        } else {
            struct fp_slice slice = open[--depth];
            slice.dur_ns = mark.start_ns - slice.start_ns;
            code = each(user, slice);
        }
    }
    if (depth && !result->open)
        result->first_open = open[0].id;
    result->open += depth;
    free(open);
    return code;
}
