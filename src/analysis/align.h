// align.h - how far apart the clocks of ranks stand, from the collectives that they share; and who came last
// to them.
//
// In:  each rank's collectives in absolute time.
// Out: for each rank its offset against the first one, its drift, how closely the ends agree, and whether
//      that proves anything.
//
// No rank leaves an all-reduce before the last one has come, and all leave it together: the ends of one
// collective are one moment seen on several clocks. The offset is the median of the differences. It is
// claimed only where it is proven: the ranks have such collectives in common (by sequence number, or by order
// with equally many on both sides), and with the offset applied no rank leaves a collective before another
// has come to it. The root of a broadcast may leave early, so that broadcasts, sends and the like prove nothing.
#ifndef FLAGPROF_ANALYSIS_ALIGN_H
#define FLAGPROF_ANALYSIS_ALIGN_H

#include "analysis/collectives.h"

enum fp_align_state {
    FP_ALIGN_REFERENCE, // the rank that the others are measured against
    FP_ALIGN_PROVEN,    // several collectives agree
    FP_ALIGN_SINGLE,    // one collective with a sequence number: an offset, but nothing to check it by
    FP_ALIGN_LOOSE,     // only broadcasts, sends and the like, which a rank may leave before another has come
    FP_ALIGN_NO_MATCH,  // no collective in common
    FP_ALIGN_UNEVEN,  // by order, and the numbers of collectives differ: which belong together cannot be told
    FP_ALIGN_TOO_FEW, // by order, and fewer than three
    FP_ALIGN_SCATTERED,    // the differences do not agree
    FP_ALIGN_CONTRADICTED, // some rank would leave a collective before another has come
};

// Whether the offset may be used.
static inline bool fp_align_holds(enum fp_align_state state) {
    return state <= FP_ALIGN_SINGLE;
}

const char *fp_align_word(enum fp_align_state state); // "proven"
const char *fp_align_sentence(enum fp_align_state state);

struct fp_align_rank {
    const struct fp_collectives *collectives; // in
    enum fp_align_state state;
    size_t against;    // place of the rank that it was measured against
    size_t matched;    // collectives
    bool by_order;     // there was no sequence number
    int64_t offset_ns; // this clock minus the first rank's
    bool drift_known;
    double drift;                // ns per ns, around middle_ns
    int64_t middle_ns;           // on this rank's clock
    int64_t spread_ns, worst_ns; // median and largest distance of the differences from offset and drift
};

// 0 or -ENOMEM. `count` of 1 or more.
int fp_align_ranks(struct fp_align_rank *ranks, size_t count);

// A time of the rank's clock on the first rank's clock.
int64_t fp_align_time(const struct fp_align_rank *rank, int64_t ns);

// One collective that several ranks share, on the first rank's clock.
struct fp_meeting {
    uint32_t name;
    uint64_t number;
    bool by_seq;
    size_t ranks;
    size_t last_rank;                   // places in the array of ranks
    int64_t last_ns, next_ns, first_ns; // when the last, the last but one and the first came
    int64_t ends_ns;                    // distance between the first and the last end
};

// All meetings of ranks whose offset holds, in order of time. The caller frees *meetings. 0 or -ENOMEM.
int fp_align_meetings(const struct fp_align_rank *ranks, size_t count, struct fp_meeting **meetings,
                      size_t *meeting_count);

#endif
