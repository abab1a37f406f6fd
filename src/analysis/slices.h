// slices.h - many slices of time in 20 bytes each, sorted when asked.
//
// In:  start, duration, a group number and an id of 64 bits.
// Out: the same, in order of start, the longer first, then by id. Files are mostly written in that order,
//      so the sort usually has nothing to do. Memory grows in chunks and is never copied: what half a
//      billion slices need is what they take.
#ifndef FLAGPROF_ANALYSIS_SLICES_H
#define FLAGPROF_ANALYSIS_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FP_NO_SLICE_ID UINT64_MAX // the slice has none

struct fp_slice {
    int64_t start_ns, dur_ns;
    uint32_t group;
    uint64_t id;
};

struct fp_packed_slice {
    uint32_t start_low, start_high;
    uint32_t dur; // below 2^31 ns; else bit 31 and the place in `wide`
    uint32_t group;
    uint32_t id; // below 2^31; else bit 31 and the place in `wide`; all ones for none
};

#define FP_SLICE_WIDE (1u << 31)
#define FP_SLICE_CHUNK 4096 // the first chunk grows up to this, so that a lane of one slice costs little
#define FP_SLICE_FIRST 8

struct fp_slices {
    struct fp_packed_slice **chunks;
    size_t chunk_room;
    size_t count, room;
    uint64_t *wide; // durations and ids that do not fit
    uint32_t wide_count, wide_room;
    int64_t last_start, last_dur;
    uint64_t last_id;
    bool unsorted;  // some slice came out of order
    bool ids_mixed; // ids did not come in ascending order
};

int fp_slices_add(struct fp_slices *slices, struct fp_slice slice); // 0 or -ENOMEM
void fp_slices_sort(struct fp_slices *slices);
// How many of sorted slices begin before the moment; NULL holds none.
size_t fp_slices_begun_before(const struct fp_slices *slices, int64_t moment_ns);
void fp_slices_free(struct fp_slices *slices);

static inline struct fp_slice fp_slices_unpack(const struct fp_slices *slices,
                                               const struct fp_packed_slice *packed) {
    struct fp_slice slice = {
        .start_ns = (int64_t)((uint64_t)packed->start_high << 32 | packed->start_low),
        .dur_ns = packed->dur & FP_SLICE_WIDE ? (int64_t)slices->wide[packed->dur & ~FP_SLICE_WIDE]
                                              : (int64_t)packed->dur,
        .group = packed->group,
        .id = packed->id == UINT32_MAX     ? FP_NO_SLICE_ID
              : packed->id & FP_SLICE_WIDE ? slices->wide[packed->id & ~FP_SLICE_WIDE]
                                           : packed->id,
    };
    return slice;
}

static inline struct fp_slice fp_slices_get(const struct fp_slices *slices, size_t place) {
    return fp_slices_unpack(slices, &slices->chunks[place / FP_SLICE_CHUNK][place % FP_SLICE_CHUNK]);
}

// True when a comes before b: earlier, or as early and longer, or with the smaller id.
static inline bool fp_slice_before(const struct fp_slice *a, const struct fp_slice *b) {
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->dur_ns != b->dur_ns ? a->dur_ns > b->dur_ns : a->id < b->id;
}

#endif
