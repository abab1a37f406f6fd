// twin_decode.h - records that are copies of CUPTI's become events, by a vendor's layout (twin.h).
//
// In:  completed buffers, the layout, functions that stand for the library (its iterator, its names), so
//      that recorded and invented bytes can be decoded without any.
// Out: calls on a sink, with times of the vendor's own clock.
// Not here: whether the layout is true (twin_layout.h), binding, arming, the clock.
#ifndef FP_TRACERS_TWIN_DECODE_H
#define FP_TRACERS_TWIN_DECODE_H

#include "tracers/twin.h"
#include "tracers/twin_layout.h"

struct fp_twin_decoder_options {
    const struct fp_twin_layout *layout;
    const char *log_name; // "mcpti"
    // NULL: the library's iterator is not to be trusted. Records are walked by their sizes then, and what is
    // none is passed over until a plausible one comes.
    fp_twin_next_fn next;
    // The text at the address in a record; NULL function: the address is one of this process.
    const char *(*text)(void *owner, uint64_t address);
    // What a call is named, or NULL. Where the library may be asked only once it rests, `names_at_end` keeps
    // the calls that `known_name` does not know until fp_twin_decode_end.
    const char *(*known_name)(uint32_t domain, uint32_t cbid);
    const char *(*library_name)(void *owner, uint32_t domain, uint32_t cbid);
    bool names_at_end;
    bool (*launches)(uint32_t domain, uint32_t cbid); // beside what the name tells; may be NULL
    const char *prefixes[3], *unknown[3];             // by domain: "musa"; "musaRuntimeCall_"
    void *owner;                                      // of text and library_name
    bool all_calls;
};

struct fp_twin_decoder; // one recording's

struct fp_twin_decoder *fp_twin_decoder_new(const struct fp_twin_decoder_options *options); // NULL: no memory
void fp_twin_decoder_free(struct fp_twin_decoder *decoder);
// Hands all that a completed buffer holds to the sink. Any bytes may be in it: every step goes forward, and
// nothing outside [buffer, buffer + valid) is read, names apart.
void fp_twin_decode(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                    const struct fp_twin_surroundings *around, uint8_t *buffer, size_t valid);
// After the last buffer, with the library at rest: calls that waited for their name, or for the call around
// them.
void fp_twin_decode_end(struct fp_twin_decoder *decoder, const struct fp_sink *sink);

// Counts the records of a buffer by event kind with the layout alone: for a vendor's callback.
void fp_twin_count_records(const struct fp_twin_layout *layout, const uint8_t *buffer, size_t valid,
                           uint64_t counts[FP_KIND_COUNT + 1]);

// What the decoder can tell of its session.
struct fp_twin_seen {
    uint64_t calls, launches, external_ids;
};
struct fp_twin_seen fp_twin_decoder_seen(const struct fp_twin_decoder *decoder);
// Each launching call that was decoded: for those who must find its operator in another way. May be NULL.
void fp_twin_decoder_watch(struct fp_twin_decoder *decoder,
                           void (*launch)(void *owner, uint32_t thread, uint64_t start, fp_vendor_id id),
                           void *owner);

#endif
