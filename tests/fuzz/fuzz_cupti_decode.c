// fuzz_cupti_decode.c - any bytes as CUPTI activity buffers: the decoder never reads outside them, always
// ends, and never emits an event with impossible times.
//
// In:  byte 0: how the iterator behaves (enum below) and whether every call is shown; byte 1: which release's
// layout;
//      then buffers, each a u16 length and that many bytes (cut where the input ends).
// Out: nothing, or abort. Seeds: real records of an H200 (corpus/fuzz_cupti_decode, made by seeds_cupti.py).

#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"

#include <stdlib.h>
#include <string.h>

enum iterator {
    BY_TABLE,
    BY_INPUT,
    ITERATORS
}; // real strides; or wherever the input says, outside the buffer too

enum { NAME_COUNT_LIMIT = 1 << 20 };
static const int64_t hour_ns = INT64_C(3600) * 1000000000;

struct run {
    struct fp_cupti_layout layout;
    const uint8_t *hops; // what BY_INPUT steps by
    size_t hop_count, hop;
    uint32_t names;
    char long_text[8193];
};

static struct run *current;

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

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

static const char *text_at(void *owner, uint64_t address) {
    struct run *run = owner;
    static const char *const texts[] = {
        NULL, "", "_Z9axpy_probeIfEvPT_S0_i", "\xff\xfe\"\\\n", "_ZN", "_Z999999999999x"
    };
    size_t choice = address % (sizeof(texts) / sizeof(texts[0]) + 1);
    return choice < sizeof(texts) / sizeof(texts[0]) ? texts[choice] : run->long_text;
}

static fp_name_id keep_name(void *owner, const char *text, enum fp_name_form form) {
    struct run *run = owner;
    require(text == NULL || strlen(text) <= 2 * sizeof(run->long_text)); // reads it wholly
    require(form == FP_NAME_PLAIN || form == FP_NAME_MANGLED);
    require(run->names < NAME_COUNT_LIMIT);
    return (fp_name_id){ run->names++ };
}

static void judge_event(void *owner, const struct fp_event *event) {
    struct run *run = owner;
    require((unsigned)event->kind < FP_KIND_COUNT);
    require(event->start_ns > 0 && event->end_ns >= event->start_ns &&
            event->end_ns - event->start_ns <= hour_ns);
    require(event->name.value < run->names);
    require(event->extra_count == 0 || event->extras != NULL);
    for (size_t i = 0; i < event->extra_count; i++) {
        require(event->extras[i].key.value < run->names);
    }
}

static void judge_link(void *owner, fp_vendor_id vendor, enum fp_id_kind kind, uint64_t framework) {
    (void)owner;
    (void)vendor;
    (void)framework;
    require((unsigned)kind < FP_ID_KIND_COUNT);
}

static void judge_loss(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    (void)owner;
    (void)count;
    require((unsigned)kind <= FP_KIND_COUNT && (unsigned)reason < FP_LOSS_COUNT);
}

static void judge_note(void *owner, const char *sentence) {
    (void)owner;
    require(sentence != NULL && sentence[0] != '\0');
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
    memset(run.long_text, 'x', sizeof(run.long_text) - 1);
    memcpy(run.long_text, "_Z4096", 6);
    current = &run;
    const struct fp_cupti_release *release = &fp_cupti_releases[input[1] % FP_CUPTI_RELEASE_COUNT];
    if (!fp_cupti_layout_find(&run.layout, release->api_version, NULL, NULL)) {
        return 0;
    }
    struct fp_sink sink = {
        .size = sizeof(sink),
        .owner = &run,
        .name = keep_name,
        .event = judge_event,
        .correlate = judge_link,
        .lose = judge_loss,
        .note = judge_note,
    };
    struct fp_cupti_decoder_options options = {
        .layout = &run.layout,
        .next = input[0] % ITERATORS == BY_TABLE ? next_by_table : next_by_input,
        .text = text_at,
        .owner = &run,
        .all_calls = (input[0] & 0x80) != 0,
    };
    struct fp_cupti_decoder *decoder = fp_cupti_decoder_new(&options);
    require(decoder != NULL);
    decode_buffers(decoder, &sink, input + 2, size - 2);
    fp_cupti_decode_end(decoder, &sink);
    fp_cupti_decoder_free(decoder);
    return 0;
}
