// check_captures.c - when a stream's work was recorded into a graph instead of being started.
//
// In:  calls that begin and end a capture.
// Out: whether a time of a process lies within one. A launch there has a call and no device work, and nothing is
//      missing: the graph's launch starts it. A capture that the recording began or ended in reaches to that end.

#include "analysis/check_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

// Two processes may be taken for one by chance: then a capture covers the other's launches too.
static uint64_t process_of(const struct fp_trace_id *pid) {
    return pid->kind == FP_ID_TEXT ? fp_text_hash(pid->text.at, pid->text.size) : pid->number;
}

int fp_check_captures_add(struct fp_check_captures *captures, const struct fp_trace_event *event,
                          bool begins) {
    if (!fp_array_reserve(&captures->list, captures->count, &captures->room, sizeof(*captures->list)))
        return -ENOMEM;
    captures->list[captures->count++] =
        (struct fp_check_capture){ process_of(&event->pid), event->ts_ns, event->ts_ns, begins };
    return 0;
}

static int by_process_and_time(const void *a, const void *b) {
    const struct fp_check_capture *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    return (int)y->begins - (int)x->begins;
}

// The calls become spans, in place: each process's captures, those that overlap as one.
void fp_check_captures_settle(struct fp_check_captures *captures) {
    size_t spans = 0, open = 0;
    if (captures->count)
        qsort(captures->list, captures->count, sizeof(*captures->list), by_process_and_time);
    for (size_t i = 0; i < captures->count; i++) {
        struct fp_check_capture call = captures->list[i];
        bool first = i == 0 || captures->list[i - 1].process != call.process;
        bool last = i + 1 == captures->count || captures->list[i + 1].process != call.process;
        if (first)
            open = 0;
        if (call.begins && !open++)
            captures->list[spans++] = call;
        else if (!call.begins && open && !--open)
            captures->list[spans - 1].to_ns = call.from_ns;
        else if (!call.begins && first)
            captures->list[spans++] =
                (struct fp_check_capture){ call.process, INT64_MIN, call.from_ns, true };
        if (last && open)
            captures->list[spans - 1].to_ns = INT64_MAX;
    }
    captures->count = spans;
}

bool fp_check_captures_hold(const struct fp_check_captures *captures, const struct fp_trace_id *pid,
                            int64_t ts_ns) {
    uint64_t process = process_of(pid);
    size_t low = 0, high = captures->count; // the last span that begins at or before
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct fp_check_capture *span = &captures->list[middle];
        if (span->process < process || (span->process == process && span->from_ns <= ts_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low && captures->list[low - 1].process == process && ts_ns <= captures->list[low - 1].to_ns;
}
