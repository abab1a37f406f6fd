// since.h - a sink that lets through only what ended in this session.
//
// In:  what is decoded from a buffer that an earlier session left with the vendor and that came back late.
// Out: the same without the earlier session's records: that session's ledger has told of them.
#ifndef FP_TRACERS_SINCE_H
#define FP_TRACERS_SINCE_H

#include "flagprof/device_tracer.h"

struct fp_since {
    const struct fp_sink *sink;
    int64_t began_ns; // the session's start
    bool left;        // the buffer is such a one: what it lacks cannot be placed in time and is not counted
};

// Lives as long as `since`. Correlations pass: an id of before finds nothing to belong to.
struct fp_sink fp_since_sink(struct fp_since *since);

#endif
