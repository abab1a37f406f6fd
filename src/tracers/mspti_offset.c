// mspti_offset.c - the offset on which most calls agree (mspti_offset.h).
//
// In:  for each call the least and the greatest offset that puts it between its push and its pop.
// Out: for each window of some calls in a row an offset within the range in which most of theirs meet, as NTP
//      chooses among its servers: a few that are wrong outvote nobody. The nearest to none, but not at an edge,
//      where a call that took less time than all of these would fall out of its operator.

#include "tracers/mspti_offset.h"

#include "base/array.h"

#include <stdlib.h>

enum { WINDOW_CALLS = 128, FROM_EDGE_NS = 100000 };

struct fp_mspti_offset_sample {
    uint64_t start;
    int64_t least, greatest;
};

struct edge {
    int64_t at;
    int step; // 1: a range begins, -1: one has ended
};

void fp_mspti_offsets_begin(struct fp_mspti_offsets *offsets) {
    offsets->sample_count = offsets->window_count = 0;
}

void fp_mspti_offsets_free(struct fp_mspti_offsets *offsets) {
    free(offsets->samples);
    free(offsets->windows);
    *offsets = (struct fp_mspti_offsets){ 0 };
}

void fp_mspti_offsets_add(struct fp_mspti_offsets *offsets, uint64_t start, uint64_t end, uint64_t pushed,
                          uint64_t popped) {
    struct fp_mspti_offset_sample sample = { start, (int64_t)(pushed - start), (int64_t)(popped - end) };
    if (sample.least <= sample.greatest &&
        fp_array_reserve(&offsets->samples, offsets->sample_count, &offsets->sample_capacity,
                         sizeof(*offsets->samples)))
        offsets->samples[offsets->sample_count++] = sample;
}

static int by_start(const void *left, const void *right) {
    const struct fp_mspti_offset_sample *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_place(const void *left, const void *right) {
    const struct edge *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return b->step - a->step; // ranges that touch meet
}

static int64_t agreed(const struct fp_mspti_offset_sample *samples, size_t count) {
    struct edge edges[2 * WINDOW_CALLS];
    int64_t least = 0, greatest = 0;
    int meeting = 0, most = 0;
    for (size_t at = 0; at < count; at++) {
        edges[2 * at] = (struct edge){ samples[at].least, 1 };
        edges[2 * at + 1] = (struct edge){ samples[at].greatest, -1 };
    }
    qsort(edges, 2 * count, sizeof(edges[0]), by_place);
    for (size_t at = 0; at < 2 * count; at++) {
        meeting += edges[at].step;
        if (meeting > most) { // the last edge ends a range, so there is one behind this
            most = meeting;
            least = edges[at].at;
            greatest = edges[at + 1].at;
        }
    }
    uint64_t half = ((uint64_t)greatest - (uint64_t)least) / 2;
    int64_t inset = half < FROM_EDGE_NS ? (int64_t)half : FROM_EDGE_NS;
    if (least + inset > 0)
        return least + inset;
    return greatest - inset < 0 ? greatest - inset : 0;
}

void fp_mspti_offsets_settle(struct fp_mspti_offsets *offsets) {
    if (offsets->sample_count)
        qsort(offsets->samples, offsets->sample_count, sizeof(*offsets->samples), by_start);
    for (size_t at = 0; at < offsets->sample_count; at += WINDOW_CALLS) {
        size_t left = offsets->sample_count - at, count = left < WINDOW_CALLS ? left : WINDOW_CALLS;
        if (!fp_array_reserve(&offsets->windows, offsets->window_count, &offsets->window_capacity,
                              sizeof(*offsets->windows)))
            return;
        offsets->windows[offsets->window_count++] = (struct fp_mspti_offset_window){
            .since = offsets->samples[at].start,
            .offset = agreed(offsets->samples + at, count),
        };
    }
}

int64_t fp_mspti_offset_at(const struct fp_mspti_offsets *offsets, uint64_t mspti_ns) {
    size_t low = 0, high = offsets->window_count;
    while (low < high) { // the first window that begins after it
        size_t middle = low + (high - low) / 2;
        if (offsets->windows[middle].since <= mspti_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (offsets->window_count == 0)
        return 0;
    return offsets->windows[low ? low - 1 : 0].offset;
}
