// kinds.h - which side of the wire an event stands on.
//
// In:  an event.
// Out: device side or host, work or not. By category (the reader's, which knows the names of lanes too), and
//      where a producer has none (torch_npu's device lanes, home-made exporters) by the arguments that only
//      device work has.
#ifndef FLAGPROF_ANALYSIS_KINDS_H
#define FLAGPROF_ANALYSIS_KINDS_H

#include "trace/reader.h"

// A lane's work: what keeps the device busy. Synchronisation records and annotations are none.
static inline bool fp_event_is_work(const struct fp_trace_event *event) {
    switch (event->category) {
    case FP_CAT_KERNEL:
    case FP_CAT_MEMCPY:
    case FP_CAT_MEMSET:
        return true;
    case FP_CAT_OTHER:
        return fp_event_arg(event, FP_ARG_TASK_TYPE) != NULL ||
               (fp_event_arg(event, FP_ARG_DEVICE) && fp_event_arg(event, FP_ARG_STREAM));
    default:
        return false;
    }
}

// The number of the device that did it: as the event says, or as its lane is named.
static inline bool fp_event_device(const struct fp_trace_event *event, uint64_t *device) {
    if (fp_field_u64(fp_event_arg(event, FP_ARG_DEVICE), device))
        return true;
    if (event->lane_device < 0)
        return false;
    *device = (uint64_t)event->lane_device;
    return true;
}

static inline bool fp_event_on_device(const struct fp_trace_event *event) {
    return event->category == FP_CAT_GPU_ANNOTATION || event->category == FP_CAT_SYNC ||
           fp_event_is_work(event);
}

static inline bool fp_event_is_host_call(const struct fp_trace_event *event) {
    return event->category == FP_CAT_RUNTIME || event->category == FP_CAT_DRIVER;
}

// Begins or is a slice: a bar in a viewer.
static inline bool fp_event_is_slice(const struct fp_trace_event *event) {
    return event->phase == 'X' || event->phase == 'B';
}

static inline bool fp_event_is_flow(const struct fp_trace_event *event) {
    return event->phase == 's' || event->phase == 't' || event->phase == 'f';
}

#endif
