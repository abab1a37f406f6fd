// mspti_walk.c - the walk over an MSPTI buffer (mspti_walk.h).
//
// Behind a record of unknown kind the walk is taken up at the next place where records are known, whole and of
// this session's time: small kinds and times of today do not come together by chance.

#include "tracers/mspti_walk.h"

#include "tracers/mspti_abi.h"

#include <string.h>

enum {
    CHAIN = 3,              // records in a row that make a place believable
    UNKNOWN_BYTES_MAX = 96, // what is passed over and longer than this may be more than one record
    TEXTS = 3,
};

struct shape {
    uint8_t bytes, start, end; // start 0: no time of its own
    uint8_t texts[TEXTS];      // where addresses of texts lie; 0: none
    enum fp_kind kind;
};

static const struct shape shapes[FP_MSPTI_KINDS] = {
    [FP_MSPTI_MARKER] = { FP_MSPTI_MARKER_BYTES,
                          FP_MSPTI_MARKER_TIME,
                          FP_MSPTI_MARKER_TIME,
                          { 0 },
                          FP_KIND_COUNT },
    [FP_MSPTI_KERNEL] = { FP_MSPTI_KERNEL_BYTES,
                          FP_MSPTI_KERNEL_START,
                          FP_MSPTI_KERNEL_END,
                          { FP_MSPTI_KERNEL_TYPE, FP_MSPTI_KERNEL_NAME },
                          FP_KIND_KERNEL },
    [FP_MSPTI_API] = { FP_MSPTI_API_BYTES,
                       FP_MSPTI_API_START,
                       FP_MSPTI_API_END,
                       { FP_MSPTI_API_NAME },
                       FP_KIND_RUNTIME },
    [FP_MSPTI_HCCL] = { FP_MSPTI_HCCL_BYTES,
                        FP_MSPTI_HCCL_START,
                        FP_MSPTI_HCCL_END,
                        { FP_MSPTI_HCCL_NAME, FP_MSPTI_HCCL_GROUP },
                        FP_KIND_KERNEL },
    [FP_MSPTI_MEMORY] = { FP_MSPTI_MEMORY_BYTES,
                          FP_MSPTI_MEMORY_START,
                          FP_MSPTI_MEMORY_END,
                          { 0 },
                          FP_KIND_COUNT },
    [FP_MSPTI_MEMSET] = { FP_MSPTI_MEMSET_BYTES,
                          FP_MSPTI_MEM_START,
                          FP_MSPTI_MEM_END,
                          { 0 },
                          FP_KIND_MEMSET },
    [FP_MSPTI_MEMCPY] = { FP_MSPTI_MEMCPY_BYTES,
                          FP_MSPTI_MEM_START,
                          FP_MSPTI_MEM_END,
                          { 0 },
                          FP_KIND_MEMCPY },
    [FP_MSPTI_EXTERNAL] = { FP_MSPTI_EXTERNAL_BYTES, 0, 0, { 0 }, FP_KIND_COUNT },
    [FP_MSPTI_COMMUNICATION] = { FP_MSPTI_COMMUNICATION_BYTES,
                                 FP_MSPTI_COMM_START,
                                 FP_MSPTI_COMM_END,
                                 { FP_MSPTI_COMM_ALGORITHM, FP_MSPTI_COMM_NAME, FP_MSPTI_COMM_GROUP },
                                 FP_KIND_KERNEL },
    [FP_MSPTI_ACL_API] = { FP_MSPTI_API_BYTES,
                           FP_MSPTI_API_START,
                           FP_MSPTI_API_END,
                           { FP_MSPTI_API_NAME },
                           FP_KIND_RUNTIME },
    [FP_MSPTI_NODE_API] = { FP_MSPTI_API_BYTES,
                            FP_MSPTI_API_START,
                            FP_MSPTI_API_END,
                            { FP_MSPTI_API_NAME },
                            FP_KIND_RUNTIME },
    [FP_MSPTI_RUNTIME_API] = { FP_MSPTI_API_BYTES,
                               FP_MSPTI_API_START,
                               FP_MSPTI_API_END,
                               { FP_MSPTI_API_NAME },
                               FP_KIND_RUNTIME },
};

static const struct shape *shape_of(uint32_t kind) {
    return kind < FP_MSPTI_KINDS && shapes[kind].bytes ? &shapes[kind] : NULL;
}

size_t fp_mspti_record_bytes(uint32_t kind) {
    const struct shape *shape = shape_of(kind);
    return shape ? shape->bytes : 0;
}

enum fp_kind fp_mspti_event_kind(uint32_t kind) {
    const struct shape *shape = shape_of(kind);
    return shape ? shape->kind : FP_KIND_COUNT;
}

enum belief { NO, MAYBE, SURELY };

// A time of the session stands at its place by no chance; no times at all may.
static enum belief believe(const struct fp_mspti_walk *walk, const struct shape *shape,
                           const uint8_t *record) {
    if (shape->start == 0) { // an external id
        uint32_t kind = fp_mspti_word(record, FP_MSPTI_EXTERNAL_KIND);
        bool is_ours = kind == FP_MSPTI_CUSTOM0 || kind == FP_MSPTI_CUSTOM1;
        return is_ours && fp_mspti_wide(record, FP_MSPTI_EXTERNAL_CORRELATION) ? SURELY : NO;
    }
    uint64_t start = fp_mspti_wide(record, shape->start), end = fp_mspti_wide(record, shape->end);
    if (start == 0 && end == 0)
        return MAYBE;
    return start >= walk->earliest && start <= walk->latest ? SURELY : NO;
}

// Whether a record that is surely one stands here, or behind such as may be; what follows them is known and may
// be one too, or is unknown itself.
static bool begins_a_chain(const struct fp_mspti_walk *walk, size_t at) {
    bool is_sure = false;
    for (int link = 0; link < CHAIN && at != walk->valid; link++) {
        if (walk->valid - at < sizeof(uint32_t))
            return is_sure;
        const struct shape *shape = shape_of(fp_mspti_word(walk->bytes, at));
        if (!shape)
            return is_sure;
        enum belief belief = shape->bytes > walk->valid - at ? NO : believe(walk, shape, walk->bytes + at);
        if (belief == NO)
            return false;
        is_sure |= belief == SURELY;
        at += shape->bytes;
    }
    return true;
}

static enum fp_mspti_step pass_over(struct fp_mspti_walk *walk) {
    size_t from = walk->at;
    for (walk->at += FP_MSPTI_ALIGNMENT; walk->at < walk->valid; walk->at += FP_MSPTI_ALIGNMENT)
        if (begins_a_chain(walk, walk->at))
            break;
    if (walk->at > walk->valid)
        walk->at = walk->valid;
    return walk->at - from <= UNKNOWN_BYTES_MAX ? FP_MSPTI_STEP_UNKNOWN : FP_MSPTI_STEP_LOST;
}

enum fp_mspti_step fp_mspti_walk_next(struct fp_mspti_walk *walk, uint8_t **record) {
    if (!walk->bytes || walk->at >= walk->valid)
        return FP_MSPTI_STEP_END;
    size_t left = walk->valid - walk->at;
    const struct shape *shape =
        left >= sizeof(uint32_t) ? shape_of(fp_mspti_word(walk->bytes, walk->at)) : NULL;
    if (left < sizeof(uint32_t) || (shape && shape->bytes > left)) {
        walk->at = walk->valid;
        return FP_MSPTI_STEP_CUT;
    }
    if (!shape)
        return pass_over(walk);
    *record = walk->bytes + walk->at;
    walk->at += shape->bytes;
    return FP_MSPTI_STEP_RECORD;
}

void fp_mspti_count_records(uint8_t *bytes, size_t valid, uint64_t counts[FP_KIND_COUNT + 1]) {
    struct fp_mspti_walk walk = { .bytes = bytes, .valid = valid, .earliest = 1, .latest = UINT64_MAX };
    enum fp_mspti_step step;
    uint8_t *record = NULL;
    while ((step = fp_mspti_walk_next(&walk, &record)) != FP_MSPTI_STEP_END) {
        bool is_record = step == FP_MSPTI_STEP_RECORD && record;
        counts[is_record ? fp_mspti_event_kind(fp_mspti_word(record, 0)) : FP_KIND_COUNT]++;
    }
}

void fp_mspti_keep_texts(struct fp_mspti_walk walk, uint64_t (*keep)(void *owner, uint64_t address),
                         void *owner) {
    enum fp_mspti_step step;
    uint8_t *record = NULL;
    while ((step = fp_mspti_walk_next(&walk, &record)) != FP_MSPTI_STEP_END) {
        const struct shape *shape =
            step == FP_MSPTI_STEP_RECORD && record ? shape_of(fp_mspti_word(record, 0)) : NULL;
        if (!shape)
            continue;
        for (size_t at = 0; at < TEXTS && shape->texts[at]; at++) {
            uint64_t kept = keep(owner, fp_mspti_wide(record, shape->texts[at]));
            memcpy(record + shape->texts[at], &kept, sizeof(kept));
        }
    }
}
