// mspti_offset.h - how far MSPTI's clock is from the one that pushes and pops are told by.
//
// In:  calls that were surely made between a push and its pop.
// Out: what to add to a time of MSPTI's to have it in the clock of mspti_ids.h.
//
// MSPTI derives its times from counters and sets itself right against the epoch now and then [CODE], so it is
// some microseconds away, or some milliseconds, and not the same all the time. An operator lasts no longer: by
// unequal clocks its work would be taken for its neighbour's.
#ifndef FP_TRACERS_MSPTI_OFFSET_H
#define FP_TRACERS_MSPTI_OFFSET_H

#include <stddef.h>
#include <stdint.h>

struct fp_mspti_offset_window {
    uint64_t since; // MSPTI's time of its first call
    int64_t offset;
};

struct fp_mspti_offsets { // zeroed: nothing is known, the clocks are taken to agree
    struct fp_mspti_offset_sample *samples;
    size_t sample_count, sample_capacity;
    struct fp_mspti_offset_window *windows;
    size_t window_count, window_capacity;
};

void fp_mspti_offsets_begin(struct fp_mspti_offsets *offsets); // forgets what was added
// A call from `start` to `end` by MSPTI's clock lay between `pushed` and `popped` by the other.
void fp_mspti_offsets_add(struct fp_mspti_offsets *offsets, uint64_t start, uint64_t end, uint64_t pushed,
                          uint64_t popped);
void fp_mspti_offsets_settle(struct fp_mspti_offsets *offsets);
int64_t fp_mspti_offset_at(const struct fp_mspti_offsets *offsets, uint64_t mspti_ns);
void fp_mspti_offsets_free(struct fp_mspti_offsets *offsets);

#endif
