// mspti_walk.h - from record to record of an MSPTI buffer, by the records' sizes.
//
// In:  a buffer of packed records, of which none says how long it is.
// Out: one whole record after the other, or what stands in its place. MSPTI's own iterator is not used: it
//      keeps its place in a variable of the thread, whatever buffer it is asked about, and a kind that it
//      does not know leaves it there for good [CODE].
#ifndef FP_TRACERS_MSPTI_WALK_H
#define FP_TRACERS_MSPTI_WALK_H

#include "flagprof/device_tracer.h"

struct fp_mspti_walk {
    uint8_t *bytes;
    size_t valid, at;
    // Between these a record's start must lie for the walk to be taken up again behind an unknown one.
    uint64_t earliest, latest;
};

enum fp_mspti_step {
    FP_MSPTI_STEP_RECORD,
    FP_MSPTI_STEP_UNKNOWN, // one record of a kind that is not known was passed over
    FP_MSPTI_STEP_LOST,    // so much was passed over that nobody knows how many records it was
    FP_MSPTI_STEP_CUT,     // the last record is not wholly inside the buffer
    FP_MSPTI_STEP_END,
};

enum fp_mspti_step fp_mspti_walk_next(struct fp_mspti_walk *walk, uint8_t **record);

// Bytes of a record of this kind; 0: the kind is not known.
size_t fp_mspti_record_bytes(uint32_t kind);
// What a record of this kind becomes; FP_KIND_COUNT: no event of its own.
enum fp_kind fp_mspti_event_kind(uint32_t kind);
void fp_mspti_count_records(uint8_t *bytes, size_t valid, uint64_t counts[FP_KIND_COUNT + 1]);
// Puts what `keep` gives for it in place of each text's address: MSPTI promises its texts inside the
// completion callback alone.
void fp_mspti_keep_texts(struct fp_mspti_walk walk, uint64_t (*keep)(void *owner, uint64_t address),
                         void *owner);

static inline uint32_t fp_mspti_word(const uint8_t *record, size_t offset) {
    uint32_t word;
    __builtin_memcpy(&word, record + offset, sizeof(word));
    return word;
}

static inline uint64_t fp_mspti_wide(const uint8_t *record, size_t offset) {
    uint64_t wide;
    __builtin_memcpy(&wide, record + offset, sizeof(wide));
    return wide;
}

#endif
