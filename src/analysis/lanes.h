// lanes.h - the slices of one lane laid so that none crosses another.
//
// In:  slices in order of start, the longer first.
// Out: for each the track it goes to (0: the lane itself) and its length where that had to change. A
//      crossing of no more than `tolerance_ns` is rounding and is clipped; a larger one sends the later
//      slice to the first track that takes it, and what it holds goes with it.
#ifndef FLAGPROF_ANALYSIS_LANES_H
#define FLAGPROF_ANALYSIS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FP_TRACKS_LIMIT 256 // beyond it a slice stays where it crosses, and is counted

struct fp_open_slice {
    int64_t start_ns, end_ns;
    uint64_t number;
};

struct fp_track {
    struct fp_open_slice *open; // a stack: each holds the next
    size_t count, room;
};

struct fp_tracks {
    int64_t tolerance_ns;
    struct fp_track *tracks;
    size_t count;
    // Told when a slice that was placed before is shortened.
    void (*clipped)(void *user, uint64_t number, int64_t start_ns, int64_t end_ns);
    void *user;
};

struct fp_placed {
    uint32_t track;
    int64_t end_ns;
    bool crosses; // no track took it: it crosses where it stands
};

// Places the next slice. `open_end` says that its end is not known: it then ends with what holds it, and at
// end_ns otherwise. 0 or -ENOMEM.
int fp_tracks_place(struct fp_tracks *tracks, struct fp_open_slice slice, bool open_end,
                    struct fp_placed *placed);

// Makes ready for another lane; keeps tolerance and callback.
void fp_tracks_reset(struct fp_tracks *tracks);
void fp_tracks_free(struct fp_tracks *tracks);

#endif
