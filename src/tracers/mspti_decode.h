// mspti_decode.h - MSPTI's records to events.
//
// In:  completed buffers, in any order; the log of pushes (mspti_ids.h).
// Out: events, correlations and losses in the sink. Device work is handed over at once. A host call waits
//      until the other records of its correlation id are known, since MSPTI writes one for each level of its
//      software that a call passes (ACL, node, runtime) and one of them alone is the call: a launch for a
//      kernel, a copy or a set for memory, HCCL's function for a collective.
#ifndef FP_TRACERS_MSPTI_DECODE_H
#define FP_TRACERS_MSPTI_DECODE_H

#include "flagprof/device_tracer.h"
#include "tracers/mspti_ids.h"

enum { FP_MSPTI_VISIBLE_MAX = 64 };

struct fp_mspti_decoder_options {
    // The text at an address of a record; NULL: the address is that of a text, or 0.
    const char *(*text)(void *owner, uint64_t address);
    void *owner;
    struct fp_mspti_ids *ids; // may be NULL
    uint64_t session_start;   // ns since the epoch
    // Physical numbers of the devices that the program may see, in its order (ASCEND_RT_VISIBLE_DEVICES).
    uint32_t visible[FP_MSPTI_VISIBLE_MAX];
    size_t visible_count; // 0: all, by their own numbers
    bool copies, sets;    // whether records of these are written at all
    bool all_calls;
    // Only where a test has switched our own walk off: the library's iterator.
    int (*next)(uint8_t *buffer, size_t valid, void **record);
};

struct fp_mspti_decoder;

struct fp_mspti_seen { // in this session
    uint64_t copies, sets, collectives, copy_calls, set_calls, collective_calls, strange_times;
};

struct fp_mspti_decoder *
fp_mspti_decoder_new(const struct fp_mspti_decoder_options *options); // NULL: no memory
void fp_mspti_decoder_free(struct fp_mspti_decoder *decoder);

void fp_mspti_decode(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, uint8_t *bytes,
                     size_t valid, uint64_t now);
void fp_mspti_decode_end(struct fp_mspti_decoder *decoder,
                         const struct fp_sink *sink); // hands over what waits
const struct fp_mspti_seen *fp_mspti_decoder_seen(const struct fp_mspti_decoder *decoder);

// "4,6" to its numbers; how many. Words that are no number are passed over.
size_t fp_mspti_read_visible(const char *list, uint32_t visible[FP_MSPTI_VISIBLE_MAX]);

// The times that a record of a session may have: from a little before it, since work was under way, to a
// little after `now`.
uint64_t fp_mspti_earliest(uint64_t session_start);
uint64_t fp_mspti_latest(uint64_t now);

#endif
