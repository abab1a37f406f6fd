// topspti_decode.h - TOPSPTI's records to events, by a layout that was found out.
//
// In:  a layout, records, and what the callbacks told of the calls.
// Out: events, correlations and losses in the sink. What a record does not tell for certain is left out.
#ifndef FP_TRACERS_TOPSPTI_DECODE_H
#define FP_TRACERS_TOPSPTI_DECODE_H

#include "flagprof/device_tracer.h"
#include "tracers/topspti_abi.h"
#include "tracers/topspti_layout.h"

enum { FP_TOPS_CALLBACK_WORDS = 24 };

// What a callback hands over. Its words are those of the vendor's struct as far as it may be read; once the
// layout is known the correlation id alone is taken.
struct fp_tops_call {
    uint32_t words[FP_TOPS_CALLBACK_WORDS];
    uint64_t operator_id, range_id;
    uint32_t correlation; // 0: in the words, not known where
    uint32_t cbid, domain;
    uint32_t thread, pthread;
    int32_t device; // of the calling thread, -1: not known
    bool has_operator, has_range;
    bool ours; // a call that FlagProf itself made
};

struct fp_tops_decoder;

struct fp_tops_decoder_options {
    const struct fp_tops_layout *layout; // may change between two buffers
    fp_tops_next_fn next;
    const char *(*call_name)(void *owner, uint32_t domain, uint32_t cbid); // NULL: not known
    bool (*text)(void *owner, uint64_t address, char *text, size_t capacity);
    void *owner;
    uint32_t device_count, process;
    bool all_calls;
};

struct fp_tops_decoder *fp_tops_decoder_new(const struct fp_tops_decoder_options *options); // NULL: no memory
void fp_tops_decoder_free(struct fp_tops_decoder *decoder);

// In any order with buffers, but for our own calls, which are to come before their records.
void fp_tops_decode_call(struct fp_tops_decoder *decoder, const struct fp_sink *sink,
                         const struct fp_tops_call *call);
void fp_tops_decode_buffer(struct fp_tops_decoder *decoder, const struct fp_sink *sink, uint8_t *bytes,
                           size_t valid);

// The next record of a buffer, as the library's iterator gives it: NULL at the end. `*broken` is set where the
// iterator leaves the buffer, goes back, or ends before the buffer does.
const uint8_t *fp_tops_next(fp_tops_next_fn next, uint8_t *bytes, size_t valid, const uint8_t *before,
                            bool *broken);

static inline uint32_t fp_tops_word(const uint8_t *record, size_t offset) {
    return (uint32_t)record[offset] | (uint32_t)record[offset + 1] << 8 | (uint32_t)record[offset + 2] << 16 |
           (uint32_t)record[offset + 3] << 24;
}

static inline uint64_t fp_tops_wide(const uint8_t *record, size_t offset) {
    return fp_tops_word(record, offset) | (uint64_t)fp_tops_word(record, offset + 4) << 32;
}

#endif
