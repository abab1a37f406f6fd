// lanes.c - the slices of one lane laid so that none crosses another.
//
// In:  slices by start.
// Out: tracks. Each track is a stack of slices that hold one another; what ended before the new slice
//      begins is dropped from it first.

#include "analysis/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void drop_ended(struct fp_track *track, int64_t start_ns) {
    while (track->count && track->open[track->count - 1].end_ns <= start_ns)
        track->count--;
}

// How the slice meets the innermost open slices of a track.
struct fit {
    bool fits;
    size_t
        clip_tops;  // so many innermost ones end by rounding inside the slice: they are clipped to its start
    int64_t end_ns; // the slice's own end, perhaps clipped
    const struct fp_open_slice *parent;
};

static struct fit try_track(const struct fp_track *track, const struct fp_open_slice *slice, bool open_end,
                            int64_t tolerance) {
    struct fit fit = { .fits = true, .end_ns = slice->end_ns };
    for (size_t i = track->count; i-- > 0;) {
        const struct fp_open_slice *top = &track->open[i];
        if (fit.end_ns <= top->end_ns) {
            fit.parent = top;
            return fit;
        }
        int64_t inside = top->end_ns - slice->start_ns, beyond = fit.end_ns - top->end_ns;
        if (open_end || (beyond <= tolerance && beyond < inside)) {
            fit.end_ns = top->end_ns;
            fit.parent = top;
            return fit;
        }
        if (inside > tolerance || top->start_ns >= slice->start_ns) {
            fit.fits = beyond <= tolerance;
            fit.end_ns = fit.fits ? top->end_ns : fit.end_ns;
            fit.parent = top;
            return fit;
        }
        fit.clip_tops++;
    }
    return fit;
}

static int push(struct fp_track *track, struct fp_open_slice slice) {
    if (track->count == track->room) {
        size_t room = track->room * 2 + 16;
        struct fp_open_slice *grown = realloc(track->open, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        track->open = grown;
        track->room = room;
    }
    track->open[track->count++] = slice;
    return 0;
}

static int add_track(struct fp_tracks *tracks) {
    struct fp_track *grown = realloc(tracks->tracks, (tracks->count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    tracks->tracks = grown;
    tracks->tracks[tracks->count++] = (struct fp_track){ 0 };
    return 0;
}

static int take(struct fp_tracks *tracks, size_t place, const struct fp_open_slice *slice,
                const struct fit *fit, struct fp_placed *placed) {
    struct fp_track *track = &tracks->tracks[place];
    for (size_t i = 0; i < fit->clip_tops; i++) {
        struct fp_open_slice *top = &track->open[--track->count];
        tracks->clipped(tracks->user, top->number, top->start_ns, slice->start_ns);
    }
    *placed = (struct fp_placed){ (uint32_t)place, fit->end_ns, false };
    return push(track, (struct fp_open_slice){ slice->start_ns, fit->end_ns, slice->number });
}

int fp_tracks_place(struct fp_tracks *tracks, struct fp_open_slice slice, bool open_end,
                    struct fp_placed *placed) {
    struct fit best = { 0 };
    size_t place = SIZE_MAX;
    for (size_t i = 0; i < tracks->count; i++) {
        drop_ended(&tracks->tracks[i], slice.start_ns);
        struct fit fit = try_track(&tracks->tracks[i], &slice, open_end, tracks->tolerance_ns);
        // The nearest slice around it is its parent, on whichever track that lies.
        bool nearer = fit.parent && (!best.parent || fit.parent->start_ns > best.parent->start_ns);
        if (fit.fits && (place == SIZE_MAX || nearer)) {
            best = fit;
            place = i;
        }
    }
    if (place == SIZE_MAX) {
        if (tracks->count == FP_TRACKS_LIMIT) {
            *placed = (struct fp_placed){ 0, slice.end_ns, true };
            return 0;
        }
        if (add_track(tracks) != 0)
            return -ENOMEM;
        place = tracks->count - 1;
        best = (struct fit){ .fits = true, .end_ns = slice.end_ns };
    }
    return take(tracks, place, &slice, &best, placed);
}

void fp_tracks_reset(struct fp_tracks *tracks) {
    for (size_t i = 0; i < tracks->count; i++)
        free(tracks->tracks[i].open);
    free(tracks->tracks);
    tracks->tracks = NULL;
    tracks->count = 0;
}

void fp_tracks_free(struct fp_tracks *tracks) {
    fp_tracks_reset(tracks);
}
