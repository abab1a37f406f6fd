// cut.h - a part of a trace that is a true trace itself.
//
// In:  a file and a selection.
// Out: for each event, kept or not: what was selected, with both halves of begin/end pairs, with arrows
//      only where both ends are kept, with the metadata of kept lanes, each once. Memory: one bit an
//      event, 16 bytes for each kept slice, 32 for each arrow that touches one.
#ifndef FLAGPROF_ANALYSIS_CUT_H
#define FLAGPROF_ANALYSIS_CUT_H

#include "analysis/select.h"

struct fp_cut {
    uint8_t *kept; // a bit for each event, by its number
    uint64_t room; // bits
    uint64_t events, kept_events;
    uint64_t kept_slices;
    uint64_t arrow_halves_dropped; // of arrows that lost an end
    uint64_t metadata_collapsed;   // repetitions of the same metadata
};

// Reads the file (fp_select_read_ahead included) and decides on every event. 0 or as the reader says; what is
// not read because the file is cut short is not kept.
int fp_cut_plan(const char *path, struct fp_select *select, const struct fp_reader_options *options,
                struct fp_cut *cut, struct fp_error *err);

static inline bool fp_cut_keeps(const struct fp_cut *cut, uint64_t number) {
    return number < cut->room && (cut->kept[number / 8] >> (number % 8) & 1);
}

// The counts stay.
void fp_cut_free(struct fp_cut *cut);

#endif
