// captures.h - which launches were captured into a graph, and so start nothing themselves.
//
// In:  a finished recording's records, the places of the calls that begin or end a capture, and which
//      launches have their work in the recording.
// Out: one question: may this launch without work have been captured?
//
// A recording may begin or end inside a capture, and a record may be lost, so one end of a capture can be
// missing. Then the capture is taken to reach as far as nothing speaks against it: to the nearest launch of
// its thread that did start work. What a launch beyond that lacks is missing.
#ifndef FP_RECORDING_CAPTURES_H
#define FP_RECORDING_CAPTURES_H

#include "recording/store.h"

struct fp_capture {
    int64_t start_ns, end_ns;
    uint32_t thread;
};

struct fp_capture_list {
    struct fp_capture *items;
    size_t count, capacity;
};

struct fp_captures {
    struct fp_capture_list own; // by thread and start, without overlaps
    struct fp_capture_list any; // of all threads together, by start, without overlaps
    uint64_t *busy; // sorted: a place in `any` and, in the low half, a thread that started work during it
    size_t busy_count, busy_capacity;
};

// `marks` are the places of the `mark_count` records that begin or end a capture. `settled` has a bit a record: set where
// it is no launch, or where work that it launched is in the recording. False: out of memory, nothing is held.
bool fp_captures_find(const struct fp_store *store, const uint32_t *marks, size_t mark_count,
                      const uint64_t *settled, struct fp_captures *captures);
// A launch of a thread that captures; or, during another thread's capture, of a thread that started no work
// meanwhile: a stream that is captured is so for all threads (torch's backward pass launches from its own).
bool fp_captures_hold(const struct fp_captures *captures, const struct fp_record *launch);
void fp_captures_free(struct fp_captures *captures);

#endif
