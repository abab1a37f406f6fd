// fuzz_twin.h - any bytes as activity buffers of a library that copied CUPTI: the decoder and the judge of
// layouts never read outside them, always end, and never let an event with impossible times through.
//
// In:  byte 0: bit 7: every call is shown; bit 6: names come at the end alone; bit 5: there is a session
//      with its times, its process and its devices around the records; bits 0, 1: the iterator (none; by
//      sizes; wherever the input says). Then buffers, each a u16 length and that many bytes.
// Out: nothing, or abort. A vendor's target includes this and names its layout. Seeds: seeds_twin.py.
#ifndef FUZZ_TWIN_H
#define FUZZ_TWIN_H

#include "fuzz_sink.h"
#include "tracers/twin_decode.h"

static struct {
    const struct fp_twin_layout *layout;
    const uint8_t *hops; // what the iterator that follows the input steps by
    size_t hop_count, hop;
    struct fuzz_judge judge;
} run;

static inline int next_by_size(uint8_t *buffer, size_t valid, void **record) {
    uint8_t *next = *record ? *record : buffer;
    const struct fp_twin_kind *kind = *record ? fp_twin_kind_of(run.layout, fp_twin_number(next)) : NULL;
    if (*record) {
        next += kind ? run.layout->bytes[kind->shape] : sizeof(uint32_t);
    }
    if (next > buffer + valid || (size_t)(buffer + valid - next) < sizeof(uint32_t)) {
        return 12;
    }
    kind = fp_twin_kind_of(run.layout, fp_twin_number(next));
    if (!kind) {
        return 21;
    }
    *record = next;
    return 0;
}

// Forward, backward, nowhere, outside: an iterator of a library that is broken, or is another than it says.
static inline int next_by_input(uint8_t *buffer, size_t valid, void **record) {
    (void)valid;
    if (run.hop_count == 0 || run.hop > 4 * run.hop_count) {
        return 12;
    }
    int hop = (int8_t)run.hops[run.hop++ % run.hop_count];
    uintptr_t from = *record == NULL ? (uintptr_t)buffer : (uintptr_t)*record;
    *record = hop == -128 ? NULL : (void *)(from + (uintptr_t)(intptr_t)hop);
    return hop == 127 ? 999 : 0;
}

static inline bool fuzz_readable(void *owner, uint64_t address) {
    (void)owner;
    return address % 3 != 0;
}

static inline const char *fuzz_call_name(void *owner, uint32_t domain, uint32_t cbid) {
    static const char *const names[] = { NULL, "musaLaunchKernel_v7000", "mcMemcpyAsync", "_ptsz", "_v", "" };
    (void)owner;
    return names[(domain + cbid) % (sizeof(names) / sizeof(names[0]))];
}

// Each buffer in an allocation of its own size: the sanitizer then sees a single byte too far.
static inline void fuzz_buffer(struct fp_twin_decoder *decoder, struct fp_twin_evidence *evidence,
                               const struct fp_sink *sink, const struct fp_twin_surroundings *around,
                               fp_twin_next_fn next, const uint8_t *bytes, size_t size) {
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
    uint8_t *buffer = malloc(size > 0 ? size : 1);
    require(buffer != NULL);
    memcpy(buffer, bytes, size);
    fp_twin_count_records(run.layout, buffer, size, counts);
    fp_twin_evidence_add(evidence, run.layout, around, next, buffer, size);
    fp_twin_decode(decoder, sink, around, buffer, size);
    free(buffer);
}

static inline void fuzz_buffers(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                                const struct fp_twin_surroundings *around, fp_twin_next_fn next,
                                const uint8_t *input, size_t size) {
    static struct fp_twin_evidence evidence;
    char why[160];
    while (size > 2) {
        size_t length = (size_t)input[0] | (size_t)input[1] << 8;
        input += 2;
        size -= 2;
        length = length < size ? length : size;
        fuzz_buffer(decoder, &evidence, sink, around, next, input, length);
        input += length;
        size -= length;
    }
    fp_twin_decode_end(decoder, sink);
    (void)fp_twin_evidence_judge(&evidence, true, why, sizeof(why));
    (void)fp_twin_evidence_is_complete(&evidence);
    fp_twin_evidence_clear(&evidence);
}

static inline int fuzz_twin(const struct fp_twin_layout *layout, const uint8_t *input, size_t size) {
    static const fp_twin_next_fn iterators[] = { NULL, next_by_size, next_by_input, next_by_input };
    if (size < 2) {
        return 0;
    }
    run.layout = layout;
    run.hops = input + 1;
    run.hop_count = size - 1;
    run.hop = 0;
    fp_twin_next_fn next = iterators[input[0] & 3];
    struct fp_sink sink = fuzz_sink(&run.judge);
    struct fp_twin_surroundings around = { .readable = fuzz_readable, .call_name = fuzz_call_name };
    if (input[0] & 0x20) {
        around.device_count = 2;
        around.process = 4242;
        around.earliest = 1;
        around.latest = UINT64_C(1) << 40;
    }
    struct fp_twin_decoder_options options = {
        .layout = layout,
        .log_name = "fuzz",
        .next = next,
        .text = fuzz_text,
        .library_name = fuzz_call_name,
        .names_at_end = (input[0] & 0x40) != 0,
        .prefixes = { NULL, "mu", "musa" },
        .unknown = { NULL, "muDriverCall_", "musaRuntimeCall_" },
        .owner = &run.judge,
        .all_calls = (input[0] & 0x80) != 0,
    };
    struct fp_twin_decoder *decoder = fp_twin_decoder_new(&options);
    require(decoder != NULL);
    fuzz_buffers(decoder, &sink, &around, next, input + 1, size - 1);
    fp_twin_decoder_free(decoder);
    return 0;
}

#endif
