// cupti_decode.h - CUPTI's records become events. Private to the CUPTI tracer and to the tests that feed it
// bytes.
//
// In:  completed buffers, the layout of the bound library, two functions that stand for the library (its
//      iterator, the reading of a name), so that recorded and invented bytes can be decoded without any.
// Out: calls on a sink.
// Not here: binding, arming, threads, the join of ids with operators.
#ifndef FP_TRACERS_CUPTI_DECODE_H
#define FP_TRACERS_CUPTI_DECODE_H

#include "flagprof/device_tracer.h"
#include "tracers/clock.h"
#include "tracers/cuda_occupancy.h"

// Sizes of the records that the bound library hands out, by shape (enum fp_cupti_shape in cupti_abi.h).
struct fp_cupti_layout {
    const char *release; // the CUDA releases whose layout it is: "12.0, 12.1"
    uint32_t api_version;
    bool newer; // the library is newer than the layout: read as its prefix
    uint16_t sizes[16];
};

// The library's iterator: 0 and the next record, or another status at the end. *record NULL asks for the
// first.
typedef uint32_t (*fp_cupti_next_fn)(uint8_t *buffer, size_t valid, void **record);

// The layout of a library that reports `api_version`. Where `next` is given, the sizes that it really steps
// by are probed and win over the version: three releases report the same one, and a version may be wrong.
// *mismatch (may be NULL) tells that the probe contradicted every row of that version. False: older
// than 11.8, its records not known.
bool fp_cupti_layout_find(struct fp_cupti_layout *layout, uint32_t api_version, fp_cupti_next_fn next,
                          bool *mismatch);

struct fp_cupti_decoder_options {
    const struct fp_cupti_layout *layout;
    fp_cupti_next_fn next;
    // The text at the address in a record; NULL function: the address is one of this process.
    const char *(*text)(void *owner, uint64_t address);
    // A name for a call that the generated tables do not know, or NULL. May be NULL.
    const char *(*call_name)(void *owner, uint32_t domain, uint32_t cbid);
    void *owner;                         // of both
    const struct fp_clock *clock;        // NULL: record times are Unix-epoch nanoseconds
    const struct fp_cuda_limits *limits; // of the devices, for the occupancy estimate
    uint32_t device_count;
    bool all_calls;
};

struct fp_cupti_decoder; // one recording's: what must be remembered from buffer to buffer

struct fp_cupti_decoder *
fp_cupti_decoder_new(const struct fp_cupti_decoder_options *options); // NULL: no memory
void fp_cupti_decoder_free(struct fp_cupti_decoder *decoder);
// Hands all that a completed buffer holds to the sink. Any bytes may be in it: at most valid / 4 steps are
// made and nothing outside [buffer, buffer + valid) is read, names apart.
void fp_cupti_decode(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, uint8_t *buffer,
                     size_t valid);
// After the last buffer: driver calls that had to wait for the runtime call around them are decided.
void fp_cupti_decode_end(struct fp_cupti_decoder *decoder, const struct fp_sink *sink);

// Counts the records of a buffer by event kind with the layout alone, no library: for a vendor's callback.
void fp_cupti_count_records(const struct fp_cupti_layout *layout, const uint8_t *buffer, size_t valid,
                            uint64_t counts[FP_KIND_COUNT + 1]);

#endif
