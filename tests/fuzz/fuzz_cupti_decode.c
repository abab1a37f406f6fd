// fuzz_cupti_decode.c - any bytes as CUPTI activity buffers: the decoder never reads outside them, always
// ends, and never emits an event with impossible times.
//
// In:  byte 0: how the iterator behaves (enum below) and whether every call is shown; byte 1: which
//      release's layout; then buffers, each a u16 length and that many bytes (cut where the input ends).
// Out: nothing, or abort. Seeds: real records of an H200 (corpus/fuzz_cupti_decode, made by
//      seeds_cupti.py).

#include "fuzz_sink.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"

#include <stdlib.h>
#include <string.h>

enum iterator {
    BY_TABLE,
    BY_INPUT,
    ITERATORS
}; // real strides; or wherever the input says, outside the buffer too

struct run {
    struct fp_cupti_layout layout;
    const uint8_t *hops; // what BY_INPUT steps by
    size_t hop_count, hop;
    struct fuzz_judge judge;
};

static struct run *current;

static uint32_t next_by_table(uint8_t *buffer, size_t valid, void **record) {
    uint8_t *next = buffer;
    uint32_t kind = 0;
    if (*record != NULL) {
        memcpy(&kind, *record, sizeof(kind));
        int shape = fp_cupti_shape_of(kind);
        next = (uint8_t *)*record + (shape < 0 ? sizeof(kind) : current->layout.sizes[shape]);
    }
    size_t left = next - buffer <= (ptrdiff_t)valid ? valid - (size_t)(next - buffer) : 0;
    if (left < sizeof(kind)) {
        return FP_CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    memcpy(&kind, next, sizeof(kind));
    int shape = fp_cupti_shape_of(kind);
    if (shape < 0) {
        return FP_CUPTI_ERROR_INVALID_KIND;
    }
    if (current->layout.sizes[shape] > left) {
        return FP_CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = next;
    return FP_CUPTI_SUCCESS;
}

// Forward, backward, nowhere, outside: an iterator of a library that is broken, or is another than it says.
static uint32_t next_by_input(uint8_t *buffer, size_t valid, void **record) {
    (void)valid;
    if (current->hop_count == 0) {
        return FP_CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    int hop = (int8_t)current->hops[current->hop++ % current->hop_count];
    uintptr_t from = *record == NULL ? (uintptr_t)buffer : (uintptr_t)*record;
    *record = hop == -128 ? NULL : (void *)(from + (uintptr_t)(intptr_t)hop);
    return hop == 127 ? FP_CUPTI_ERROR_UNKNOWN : FP_CUPTI_SUCCESS;
}

// Each buffer in an allocation of its own size: the sanitizer then sees a single byte too far.
static void decode_buffers(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const uint8_t *input,
                           size_t size) {
    while (size > 2) {
        size_t length = (size_t)input[0] | (size_t)input[1] << 8;
        input += 2;
        size -= 2;
        length = length < size ? length : size;
        uint8_t *buffer = malloc(length > 0 ? length : 1);
        require(buffer != NULL);
        memcpy(buffer, input, length);
        uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
        fp_cupti_count_records(&current->layout, buffer, length, counts);
        fp_cupti_decode(decoder, sink, buffer, length);
        free(buffer);
        input += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2) {
        return 0;
    }
    static struct run run;
    run = (struct run){ .hops = input + 2, .hop_count = size - 2 };
    current = &run;
    const struct fp_cupti_release *release = &fp_cupti_releases[input[1] % FP_CUPTI_RELEASE_COUNT];
    if (!fp_cupti_layout_find(&run.layout, release->api_version, NULL, NULL)) {
        return 0;
    }
    struct fp_sink sink = fuzz_sink(&run.judge);
    struct fp_cupti_decoder_options options = {
        .layout = &run.layout,
        .next = input[0] % ITERATORS == BY_TABLE ? next_by_table : next_by_input,
        .text = fuzz_text,
        .owner = &run.judge,
        .all_calls = (input[0] & 0x80) != 0,
    };
    struct fp_cupti_decoder *decoder = fp_cupti_decoder_new(&options);
    require(decoder != NULL);
    decode_buffers(decoder, &sink, input + 2, size - 2);
    fp_cupti_decode_end(decoder, &sink);
    fp_cupti_decoder_free(decoder);
    return 0;
}
