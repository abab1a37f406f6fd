// roctracer_decode.h - ROCtracer's calls and device records to events.
//
// In:  entries in the order in which they came, calls and device records apart (roctracer_entries.h).
// Out: events, correlations and losses in the sink. A device record is held until its call has told what
//      the record lacks: geometry, often bytes. For one thread.
#ifndef FP_TRACERS_ROCTRACER_DECODE_H
#define FP_TRACERS_ROCTRACER_DECODE_H

#include "tracers/roctracer_entries.h"

struct fp_roc_decoder_options {
    const struct fp_hip_call *const *apis; // by number; NULL: a call that starts nothing
    uint32_t api_count;
    const char *(*call_name)(void *owner, uint32_t cid); // lives as long as the process; NULL: it has none
    void *owner;
    int device_count, first_node;
    bool all_calls;
};

struct fp_roc_decoder;

struct fp_roc_decoder *fp_roc_decoder_new(const struct fp_roc_decoder_options *options); // NULL: no memory
void fp_roc_decoder_free(struct fp_roc_decoder *decoder);
void fp_roc_decode_call(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_roc_call *call);
void fp_roc_decode_work(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_roc_work *work);
// What was held and has its call now; all of it where no call will come any more.
void fp_roc_decode_held(struct fp_roc_decoder *decoder, const struct fp_sink *sink, bool last);

#endif
