// notes.h - sentences for the person that are found where no sink is at hand, kept until the last drain.
//
// In:  sentences, from the thread that starts and stops. Out: the sink's notes, in order.
#ifndef FP_TRACERS_NOTES_H
#define FP_TRACERS_NOTES_H

#include "flagprof/device_tracer.h"

enum { FP_NOTES = 8 }; // one more is not kept: what comes first is the cause of what follows

struct fp_notes {
    struct fp_error said[FP_NOTES];
    size_t count;
};

void fp_notes_add(struct fp_notes *notes, const char *format, ...) FP_PRINTF(2, 3);
void fp_notes_tell(const struct fp_notes *notes, const struct fp_sink *sink);

#endif
