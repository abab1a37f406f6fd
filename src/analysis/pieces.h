// pieces.h - where the slices of one thread can be taken apart.
//
// In:  its slices, sorted, by role.
// Out: pieces that follow each other. At the moment between two of them no slice is open, so that each piece's tree
//      can be worked out without the others and their sums are those of the whole.
#ifndef FLAGPROF_ANALYSIS_PIECES_H
#define FLAGPROF_ANALYSIS_PIECES_H

#include "analysis/operators.h"

struct fp_pieces {
    struct fp_piece *pieces; // NULL: one, and that is everything
    size_t count, room;
};

// Pieces of about `size` slices where there are such moments, larger ones elsewhere. Costs one look at each slice.
// 0 or -ENOMEM; to be freed in either case.
int fp_pieces_cut(const struct fp_slices *const by_role[FP_ROLE_COUNT], size_t size,
                  struct fp_pieces *pieces);
void fp_pieces_free(struct fp_pieces *pieces);

#endif
