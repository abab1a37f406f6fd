// fuzz_mspti.c - any bytes as MSPTI's activity buffers: the walk and the decoder never read outside them, always
// end, and never let an event with impossible times through.
//
// In:  byte 0: bit 7: every call is shown; bit 6: copies are recorded; bit 5: two devices are visible; bit 4: a
//      log of pushes is there; bit 3: texts are kept first, as in the callback. Then buffers, each a u16 length
//      and that many bytes.
// Out: nothing, or abort. Seeds: seeds_mspti.py.

#include "fuzz_sink.h"
#include "tracers/mspti_decode.h"
#include "tracers/mspti_walk.h"

#define SESSION UINT64_C(1790000000000000000) // what the seeds' times are about

static uint64_t keep_as_it_is(void *owner, uint64_t address) {
    (*(uint64_t *)owner)++;
    return address;
}

// Each buffer in an allocation of its own size: the sanitizer then sees a single byte too far.
static void fuzz_buffer(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, uint8_t flags,
                        const uint8_t *bytes, size_t size) {
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 }, kept = 0;
    uint8_t *buffer = malloc(size > 0 ? size : 1);
    require(buffer != NULL);
    memcpy(buffer, bytes, size);
    fp_mspti_count_records(buffer, size, counts);
    if (flags & 0x08) {
        struct fp_mspti_walk walk = {
            .bytes = buffer, .valid = size, .earliest = fp_mspti_earliest(SESSION), .latest = UINT64_MAX
        };
        fp_mspti_keep_texts(walk, keep_as_it_is, &kept);
        require(memcmp(buffer, bytes, size) == 0);
    }
    fp_mspti_decode(decoder, sink, buffer, size, SESSION + 1000000000);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static struct fuzz_judge judge;
    static struct fp_mspti_ids *ids;
    if (size < 1) {
        return 0;
    }
    if (!ids) {
        ids = fp_mspti_ids_new(4096);
        require(ids != NULL);
        for (uint64_t id = 0; id < 4; id++) {
            fp_mspti_ids_push(ids, FP_ID_OPERATOR, (uint32_t)id % 2, id, SESSION + id);
        }
    }
    uint8_t flags = input[0];
    struct fp_sink sink = fuzz_sink(&judge);
    struct fp_mspti_decoder_options options = {
        .text = fuzz_text,
        .owner = &judge,
        .ids = flags & 0x10 ? ids : NULL,
        .session_start = SESSION,
        .visible = { 4, 6 },
        .visible_count = flags & 0x20 ? 2 : 0,
        .copies = (flags & 0x40) != 0,
        .sets = (flags & 0x40) != 0,
        .all_calls = (flags & 0x80) != 0,
    };
    struct fp_mspti_decoder *decoder = fp_mspti_decoder_new(&options);
    require(decoder != NULL);
    input++;
    size--;
    while (size > 2) {
        size_t length = (size_t)input[0] | (size_t)input[1] << 8;
        input += 2;
        size -= 2;
        length = length < size ? length : size;
        fuzz_buffer(decoder, &sink, flags, input, length);
        input += length;
        size -= length;
    }
    fp_mspti_decode_end(decoder, &sink);
    fp_mspti_decoder_free(decoder);
    return 0;
}
