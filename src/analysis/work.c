// work.c - what a device did when.
//
// In:  sorted slices of each of the device's lanes.
// Out: times. One sweep over the lanes merged by start; what is open at a moment is known from the latest
//      end of each kind, which is all that unions need.

#include "analysis/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The lanes merged by start: a heap of their next slices.
struct merge {
    struct {
        struct fp_slice slice;
        const struct fp_slices *slices;
        size_t at;
    } * heap;
    size_t count;
};

static void sift_down(struct merge *merge, size_t root) {
    for (;;) {
        size_t least = root, child = root * 2 + 1;
        for (size_t i = child; i < child + 2 && i < merge->count; i++)
            if (merge->heap[i].slice.start_ns < merge->heap[least].slice.start_ns)
                least = i;
        if (least == root)
            return;
        __typeof__(*merge->heap) moved = merge->heap[root];
        merge->heap[root] = merge->heap[least];
        merge->heap[least] = moved;
        root = least;
    }
}

static int merge_begin(struct merge *merge, const struct fp_work_lane *lanes, size_t lane_count) {
    merge->count = 0;
    merge->heap = calloc(lane_count ? lane_count : 1, sizeof(*merge->heap));
    if (!merge->heap)
        return -ENOMEM;
    for (size_t i = 0; i < lane_count; i++) {
        if (!lanes[i].slices->count)
            continue;
        merge->heap[merge->count].slices = lanes[i].slices;
        merge->heap[merge->count].at = 0;
        merge->heap[merge->count++].slice = fp_slices_get(lanes[i].slices, 0);
    }
    for (size_t i = merge->count; i-- > 0;)
        sift_down(merge, i);
    return 0;
}

static bool merge_next(struct merge *merge, struct fp_slice *slice) {
    if (!merge->count)
        return false;
    *slice = merge->heap[0].slice;
    if (++merge->heap[0].at < merge->heap[0].slices->count)
        merge->heap[0].slice = fp_slices_get(merge->heap[0].slices, merge->heap[0].at);
    else
        merge->heap[0] = merge->heap[--merge->count];
    sift_down(merge, 0);
    return true;
}

// Between two moments, the set of open kinds only shrinks as their ends pass: the time from `from` to `to` is
// cut at each end and given to what is open then.
static void account(struct fp_work_times *times, const int64_t *end, int64_t from, int64_t to) {
    while (from < to) {
        int64_t until = to;
        bool open[FP_WORK_KINDS], any = false;
        for (int kind = 0; kind < FP_WORK_KINDS; kind++) {
            open[kind] = end[kind] > from;
            any |= open[kind];
            if (open[kind] && end[kind] < until)
                until = end[kind];
        }
        int64_t span = until - from;
        for (int kind = 0; kind < FP_WORK_KINDS; kind++)
            times->kind_ns[kind] += open[kind] ? span : 0;
        times->busy_ns += any ? span : 0;
        if (open[FP_WORK_COLLECTIVE]) {
            times->compute_and_collective_ns += open[FP_WORK_COMPUTE] ? span : 0;
            times->collective_alone_ns += !open[FP_WORK_COMPUTE] && !open[FP_WORK_COPY] ? span : 0;
        }
        from = until;
    }
}

int fp_work_measure(const struct fp_work_lane *lanes, size_t lane_count, const uint8_t *kind_of,
                    bool (*launch_end)(void *user, const struct fp_slice *work, int64_t *ns), void *user,
                    struct fp_work_times *times) {
    struct merge merge;
    struct fp_slice slice;
    int64_t end[FP_WORK_KINDS], now = 0, last = 0;
    bool first = true;
    memset(times, 0, sizeof(*times));
    if (merge_begin(&merge, lanes, lane_count) != 0)
        return -ENOMEM;
    while (merge_next(&merge, &slice)) {
        int64_t stop = slice.start_ns + slice.dur_ns, launched;
        if (first) {
            times->first_ns = last = now = slice.start_ns;
            for (int kind = 0; kind < FP_WORK_KINDS; kind++)
                end[kind] = slice.start_ns;
            first = false;
        }
        account(times, end, now, slice.start_ns);
        if (slice.start_ns > last) {
            int64_t gap = slice.start_ns - last;
            if (slice.id == FP_NO_SLICE_ID || !launch_end(user, &slice, &launched)) {
                times->idle_unknown_ns += gap;
            } else {
                int64_t host = launched <= last ? 0 : launched >= slice.start_ns ? gap : launched - last;
                times->idle_host_ns += host;
                times->idle_stream_ns += gap - host;
            }
        }
        now = slice.start_ns;
        unsigned kind = kind_of[slice.group];
        if (stop > end[kind])
            end[kind] = stop;
        if (stop > last)
            last = stop;
    }
    if (!first) {
        account(times, end, now, last);
        times->last_ns = last;
    }
    free(merge.heap);
    return 0;
}

int fp_work_windows(const struct fp_work_lane *lanes, size_t lane_count, struct fp_window_work *windows,
                    size_t count) {
    struct merge merge;
    struct fp_slice slice;
    if (merge_begin(&merge, lanes, lane_count) != 0)
        return -ENOMEM;
    // Windows are sorted by start and do not overlap (a step ends before the next begins), so both run along.
    size_t window = 0;
    int64_t covered = INT64_MIN; // everything before is accounted for
    while (merge_next(&merge, &slice)) {
        int64_t from = slice.start_ns > covered ? slice.start_ns : covered,
                to = slice.start_ns + slice.dur_ns;
        while (window < count && windows[window].to_ns <= slice.start_ns)
            window++;
        if (window < count && slice.start_ns >= windows[window].from_ns)
            windows[window].begun++;
        for (size_t i = window; i < count && windows[i].from_ns < to; i++) {
            int64_t low = from > windows[i].from_ns ? from : windows[i].from_ns;
            int64_t high = to < windows[i].to_ns ? to : windows[i].to_ns;
            windows[i].busy_ns += high > low ? high - low : 0;
        }
        if (to > covered)
            covered = to;
    }
    free(merge.heap);
    return 0;
}
