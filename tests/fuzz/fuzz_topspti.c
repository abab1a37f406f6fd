// fuzz_topspti.c - any bytes as TOPSPTI's activity buffers and callbacks: the search for their layout and the
// decoder never read outside them, always end, and never let an event with impossible times through.
//
// In:  byte 0: bits 0, 1: the iterator (by sizes; wherever the input says); bit 2: the layout is known; bit 3:
//      two devices; bit 4: every call is shown; bit 5: each buffer is judged by itself. Byte 1: the number of
//      callbacks. Then these, each 16 bytes: a word's number, function, domain, the word; then buffers, each a
//      u16 length and that many bytes.
// Out: nothing, or abort. Seeds: seeds_topspti.py.
#include "fuzz_sink.h"
#include "tracers/topspti_calibrate.h"

enum { BUFFERS_MAX = 16, CALL_BYTES = 16, PROCESS = 4242 };

static struct {
    const uint8_t *hops;
    size_t hop_count, hop;
    struct fuzz_judge judge;
} run;

static size_t bytes_of(const uint8_t *record) {
    static const uint8_t sizes[] = { 0, 48, 56, 96, 40, 40 };
    uint32_t kind = fp_tops_word(record, 0);
    return kind < sizeof(sizes) ? sizes[kind] : 0;
}

static int next_by_size(uint8_t *buffer, size_t valid, void **record) {
    const uint8_t *before = *record;
    size_t at = before ? (size_t)(before - buffer) + bytes_of(before) : 0;
    if (at > valid || valid - at < sizeof(uint32_t) || bytes_of(buffer + at) == 0) {
        return 12;
    }
    *record = buffer + at;
    return 0;
}

// Forward, backward, nowhere, outside: an iterator of a library that is broken, or is another than it says.
static int next_by_input(uint8_t *buffer, size_t valid, void **record) {
    (void)valid;
    if (run.hop_count == 0) {
        return 12;
    }
    int hop = (int8_t)run.hops[run.hop++ % run.hop_count];
    uintptr_t from = *record == NULL ? (uintptr_t)buffer : (uintptr_t)*record;
    *record = hop == -128 ? NULL : (void *)(from + (uintptr_t)(intptr_t)hop);
    return hop == 127 ? 999 : 0;
}

static const char *call_name(void *owner, uint32_t domain, uint32_t cbid) {
    static const char *const names[] = { NULL,           "topsLaunchKernel", "topsMemcpyAsync",
                                         "topsMemset",   "topsGraphLaunch",  "topsMalloc",
                                         "topsGetDevice" };
    (void)owner;
    (void)domain;
    return names[cbid % (sizeof(names) / sizeof(names[0]))];
}

static bool text_at(void *owner, uint64_t address, char *text, size_t capacity) {
    const char *found = address >> 24 == 0x7f ? fuzz_text(owner, address) : NULL;
    if (!found) {
        return false;
    }
    size_t length = strlen(found) < capacity - 1 ? strlen(found) : capacity - 1;
    memcpy(text, found, length);
    text[length] = '\0';
    return true;
}

static bool is_thread(void *owner, uint32_t thread) {
    (void)owner;
    return thread % 4 == 1;
}

// As the stand-in header has it.
static const struct fp_tops_layout known = {
    .kinds = { [1] = { .sort = FP_TOPS_COPY,
                       .bytes = 48,
                       .start = 16,
                       .end = 24,
                       .correlation = 44,
                       .device = 32,
                       .context = 36,
                       .stream = 40,
                       .amount = 8,
                       .copy_kind = 4,
                       .from = 5,
                       .to = 6,
                       .flags = 7 },
               [2] = { .sort = FP_TOPS_SET,
                       .bytes = 56,
                       .start = 16,
                       .end = 24,
                       .correlation = 44,
                       .device = 32,
                       .context = 36,
                       .stream = 40,
                       .amount = 8,
                       .value = 4,
                       .flags = 48,
                       .memory_kind = 50 },
               [3] = { .sort = FP_TOPS_KERNEL,
                       .bytes = 96,
                       .start = 8,
                       .end = 16,
                       .correlation = 68,
                       .device = 32,
                       .context = 36,
                       .stream = 40,
                       .grid = 44,
                       .block = 56,
                       .name = 80 },
               [4] = { .sort = FP_TOPS_DRIVER,
                       .bytes = 40,
                       .start = 8,
                       .end = 16,
                       .correlation = 32,
                       .cbid = 4,
                       .process = 24,
                       .thread = 28,
                       .result = 36 },
               [5] = { .sort = FP_TOPS_RUNTIME,
                       .bytes = 40,
                       .start = 8,
                       .end = 16,
                       .correlation = 32,
                       .cbid = 4,
                       .process = 24,
                       .thread = 28,
                       .result = 36 } },
    .callback = { .known = true, .has_site = true, .bytes = 72, .site = 0, .correlation = 64 },
    .runtime_domain = 2,
    .driver_domain = 1,
};

struct fuzzing {
    struct fp_tops_layout layout;
    struct fp_tops_session session;
    struct fp_tops_decoder *decoder;
    struct fp_tops_evidence *evidence;
    struct fp_sink sink;
    uint8_t *held[BUFFERS_MAX];
    size_t sizes[BUFFERS_MAX], count;
    bool judges_each;
};

static size_t take_calls(struct fuzzing *fuzzing, const uint8_t *input, size_t size) {
    size_t used = 1;
    for (size_t left = input[0]; left > 0 && used + CALL_BYTES <= size; left--, used += CALL_BYTES) {
        struct fp_tops_call call = { .cbid = fp_tops_word(input, used + 4),
                                     .domain = fp_tops_word(input, used + 8),
                                     .operator_id = left,
                                     .has_operator = true,
                                     .thread = left % 2 ? PROCESS : 77,
                                     .pthread = (uint32_t)left,
                                     .device = (int32_t)(input[used + 1] % 3) - 1,
                                     .ours = input[used + 2] == 255 };
        for (size_t at = 0; at < FP_TOPS_CALLBACK_WORDS; at++) {
            call.words[at] = (uint32_t)(at + left % 3);
        }
        call.words[input[used] % FP_TOPS_CALLBACK_WORDS] = fp_tops_word(input, used + 12);
        if (fuzzing->layout.callback.known) {
            fp_tops_decode_call(fuzzing->decoder, &fuzzing->sink, &call);
        }
        fp_tops_evidence_add_call(fuzzing->evidence, &fuzzing->layout, &call);
    }
    return used;
}

static void settle(struct fuzzing *fuzzing) {
    const struct fp_tops_call *calls;
    char why[200] = "";
    for (size_t at = 0; at < fuzzing->count; at++) {
        fp_tops_evidence_add_buffer(fuzzing->evidence, &fuzzing->session, fuzzing->held[at],
                                    fuzzing->sizes[at]);
    }
    enum fp_tops_verdict verdict =
        fp_tops_evidence_judge(fuzzing->evidence, &fuzzing->session, &fuzzing->layout, why, sizeof(why));
    require(verdict == FP_TOPS_AGREED || why[0] != '\0');
    size_t count = fp_tops_evidence_calls(fuzzing->evidence, &calls);
    for (size_t at = 0; verdict == FP_TOPS_AGREED && at < count; at++) {
        fp_tops_decode_call(fuzzing->decoder, &fuzzing->sink, &calls[at]);
    }
    for (size_t at = 0; at < fuzzing->count; at++) {
        if (verdict == FP_TOPS_AGREED) {
            fp_tops_decode_buffer(fuzzing->decoder, &fuzzing->sink, fuzzing->held[at], fuzzing->sizes[at]);
        }
    }
    fp_tops_evidence_clear(fuzzing->evidence, &fuzzing->layout);
    for (size_t at = 0; at < fuzzing->count; at++) {
        free(fuzzing->held[at]);
    }
    fuzzing->count = 0;
}

// Each buffer in an allocation of its own size: the sanitizer then sees a single byte too far.
static void take_buffer(struct fuzzing *fuzzing, const uint8_t *bytes, size_t size) {
    uint8_t *buffer = malloc(size > 0 ? size : 1);
    require(buffer != NULL);
    memcpy(buffer, bytes, size);
    if (!fp_tops_evidence_wants(&fuzzing->session, &fuzzing->layout, buffer, size)) {
        fp_tops_decode_buffer(fuzzing->decoder, &fuzzing->sink, buffer, size);
        free(buffer);
        return;
    }
    fuzzing->held[fuzzing->count] = buffer;
    fuzzing->sizes[fuzzing->count++] = size;
    if (fuzzing->count == BUFFERS_MAX || fuzzing->judges_each) {
        settle(fuzzing);
    }
}

static void take_buffers(struct fuzzing *fuzzing, const uint8_t *input, size_t size) {
    while (size > 2) {
        size_t length = (size_t)input[0] | (size_t)input[1] << 8;
        input += 2;
        size -= 2;
        length = length < size ? length : size;
        take_buffer(fuzzing, input, length);
        input += length;
        size -= length;
    }
    settle(fuzzing);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static struct fuzzing fuzzing;
    if (size < 3) {
        return 0;
    }
    run.hops = input + 1;
    run.hop_count = size - 1;
    run.hop = 0;
    fp_tops_next_fn next = (input[0] & 3) == 0 ? next_by_size : next_by_input;
    fuzzing = (struct fuzzing){ .judges_each = (input[0] & 32) != 0 };
    if (input[0] & 4) {
        fuzzing.layout = known;
    }
    fuzzing.layout.runtime_domain = 2;
    fuzzing.session = (struct fp_tops_session){
        .next = next,
        .call_name = call_name,
        .text = text_at,
        .is_thread = is_thread,
        .owner = &run.judge,
        .earliest = 1000000,
        .begun = 1000000,
        .latest = 0x7e000000,
        .armed = 62,
        .device_count = input[0] & 8 ? 2 : 1,
        .process = PROCESS,
    };
    struct fp_tops_decoder_options options = {
        .layout = &fuzzing.layout,
        .next = next,
        .call_name = call_name,
        .text = text_at,
        .owner = &run.judge,
        .device_count = fuzzing.session.device_count,
        .process = PROCESS,
        .all_calls = (input[0] & 16) != 0,
    };
    fuzzing.sink = fuzz_sink(&run.judge);
    fuzzing.decoder = fp_tops_decoder_new(&options);
    fuzzing.evidence = fp_tops_evidence_new();
    require(fuzzing.decoder && fuzzing.evidence);
    size_t used = 1 + take_calls(&fuzzing, input + 1, size - 1);
    take_buffers(&fuzzing, input + used, size - used);
    fp_tops_evidence_free(fuzzing.evidence);
    fp_tops_decoder_free(fuzzing.decoder);
    return 0;
}
