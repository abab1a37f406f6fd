// topspti_decode.c - TOPSPTI's records to events, by a layout that was found out (topspti_decode.h).

#include "tracers/topspti_decode.h"

#include "base/array.h"
#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/calls.h"
#include "tracers/id_set.h"
#include "tracers/keep.h"
#include "tracers/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 16384, TEXTS = 256, CALLS = 512, WORD_BITS = 64 };

struct thread { // a thread as callbacks told of it
    uint32_t pthread, system;
};

struct call_name {
    const char *name;
    unsigned sorts; // enum fp_call_sort
    bool known;
};

struct fp_tops_decoder {
    struct fp_tops_decoder_options options;
    struct fp_id_set ours; // correlation ids of our own calls
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct call_name calls[CALLS];
    struct { // names of one buffer: read once each, since each reading is a system call
        uint64_t address;
        fp_name_id name;
    } texts[TEXTS];
    char text[NAME_BYTES];
    size_t seen_bytes[FP_TOPS_KINDS]; // of a record that another followed, in this session; 0: none yet
    bool told_device;
};

struct fp_tops_decoder *fp_tops_decoder_new(const struct fp_tops_decoder_options *options) {
    struct fp_tops_decoder *decoder = calloc(1, sizeof(*decoder));
    if (decoder)
        decoder->options = *options;
    return decoder;
}

void fp_tops_decoder_free(struct fp_tops_decoder *decoder) {
    if (!decoder)
        return;
    fp_id_set_free(&decoder->ours);
    free(decoder->threads);
    free(decoder);
}

// ---- What callbacks told

static uint32_t system_thread(const struct fp_tops_decoder *decoder, uint32_t told) {
    for (size_t at = 0; at < decoder->thread_count; at++)
        if (decoder->threads[at].system == told)
            return told;
    for (size_t at = 0; at < decoder->thread_count; at++)
        if (decoder->threads[at].pthread == told)
            return decoder->threads[at].system;
    return told;
}

static void keep_thread(struct fp_tops_decoder *decoder, const struct fp_tops_call *call) {
    for (size_t at = 0; at < decoder->thread_count; at++)
        if (decoder->threads[at].system == call->thread)
            return;
    if (fp_array_reserve(&decoder->threads, decoder->thread_count, &decoder->thread_capacity,
                         sizeof(*decoder->threads)))
        decoder->threads[decoder->thread_count++] = (struct thread){ call->pthread, call->thread };
}

void fp_tops_decode_call(struct fp_tops_decoder *decoder, const struct fp_sink *sink,
                         const struct fp_tops_call *call) {
    const struct fp_tops_callback *place = &decoder->options.layout->callback;
    uint32_t id = call->correlation;
    if (!id && place->known && place->correlation / 4 < FP_TOPS_CALLBACK_WORDS)
        id = call->words[place->correlation / 4];
    keep_thread(decoder, call);
    if (!id || fp_ablated("ids"))
        return;
    if (call->ours)
        fp_id_set_add(&decoder->ours, id);
    if (call->has_operator)
        sink->correlate(sink->owner, (fp_vendor_id){ id }, FP_ID_OPERATOR, call->operator_id);
    if (call->has_range)
        sink->correlate(sink->owner, (fp_vendor_id){ id }, FP_ID_RANGE, call->range_id);
}

// ---- Fields

static uint32_t word_or_0(const uint8_t *record, uint16_t offset) {
    return offset ? fp_tops_word(record, offset) : 0;
}

static uint32_t short_at(const uint8_t *record, uint16_t offset) {
    return (uint32_t)record[offset] | (uint32_t)record[offset + 1] << 8;
}

static bool take_times(struct fp_event *event, const struct fp_sink *sink, const uint8_t *record,
                       const struct fp_tops_record *place) {
    return fp_record_take_times(sink, event, fp_tops_wide(record, place->start),
                                fp_tops_wide(record, place->end)); // to_epoch maps them after stop
}

// False: several words may be the device, and they do not agree.
static bool take_device(struct fp_tops_decoder *decoder, struct fp_event *event, const uint8_t *record,
                        const struct fp_tops_record *place) {
    bool seen = false;
    event->device = word_or_0(record, place->device);
    for (unsigned word = 0; word < WORD_BITS; word++) {
        if (!(place->device_words >> word & 1))
            continue;
        uint32_t told = fp_tops_word(record, 4u * word);
        if (seen && told != event->device)
            return false;
        event->device = told;
        seen = true;
    }
    return event->device < decoder->options.device_count;
}

static fp_name_id kernel_name(struct fp_tops_decoder *decoder, const struct fp_sink *sink, uint64_t address) {
    size_t slot = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TEXTS;
    if (!address)
        return sink->name(sink->owner, NULL, FP_NAME_MANGLED);
    if (decoder->texts[slot].address == address)
        return decoder->texts[slot].name;
    bool readable = decoder->options.text(decoder->options.owner, address, decoder->text, NAME_BYTES);
    decoder->texts[slot].address = address;
    decoder->texts[slot].name = sink->name(sink->owner, readable ? decoder->text : NULL, FP_NAME_MANGLED);
    return decoder->texts[slot].name;
}

// ---- Device work

static void take_kernel(struct fp_tops_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                        const uint8_t *record, const struct fp_tops_record *place) {
    event->name = kernel_name(decoder, sink, place->name ? fp_tops_wide(record, place->name) : 0);
    if (!place->grid || !place->block)
        return;
    event->fields |= FP_HAS_GEOMETRY;
    for (size_t axis = 0; axis < 3; axis++) {
        event->u.kernel.grid[axis] = fp_tops_word(record, place->grid + 4 * axis);
        event->u.kernel.block[axis] = fp_tops_word(record, place->block + 4 * axis);
    }
}

static void take_copy(struct fp_tops_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                      const uint8_t *record, const struct fp_tops_record *place) {
    char name[80] = "Memcpy"; // of what kind is told by a header alone
    (void)decoder;
    if (place->amount) {
        event->fields |= FP_HAS_BYTES;
        event->u.copy.bytes = fp_tops_wide(record, place->amount);
    }
    if (place->copy_kind)
        fp_record_name_copy(name, sizeof(name), record[place->copy_kind], record[place->from],
                            record[place->to]);
    if (place->flags && record[place->flags] & 1)
        event->fields |= FP_IS_ASYNC;
    event->name = sink->name(sink->owner, name, FP_NAME_PLAIN);
}

static void take_set(struct fp_tops_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                     const uint8_t *record, const struct fp_tops_record *place) {
    char name[80] = "Memset";
    (void)decoder;
    if (place->amount) {
        event->fields |= FP_HAS_BYTES;
        event->u.set.bytes = fp_tops_wide(record, place->amount);
    }
    if (place->value) {
        event->fields |= FP_HAS_VALUE;
        event->u.set.value = fp_tops_word(record, place->value);
    }
    if (place->memory_kind)
        fp_record_name_set(name, sizeof(name), short_at(record, place->memory_kind));
    if (place->flags && short_at(record, place->flags) & 1)
        event->fields |= FP_IS_ASYNC;
    event->name = sink->name(sink->owner, name, FP_NAME_PLAIN);
}

static void decode_work(struct fp_tops_decoder *decoder, const struct fp_sink *sink, const uint8_t *record,
                        const struct fp_tops_record *place) {
    static const struct {
        enum fp_kind kind;
        void (*take)(struct fp_tops_decoder *, const struct fp_sink *, struct fp_event *, const uint8_t *,
                     const struct fp_tops_record *);
    } rows[] = {
        [FP_TOPS_KERNEL] = { FP_KIND_KERNEL, take_kernel },
        [FP_TOPS_COPY] = { FP_KIND_MEMCPY, take_copy },
        [FP_TOPS_SET] = { FP_KIND_MEMSET, take_set },
    };
    struct fp_event event = {
        .kind = rows[place->sort].kind,
        .fields = (place->stream ? FP_HAS_STREAM : 0u) | (place->context ? FP_HAS_CONTEXT : 0u),
        .vendor_id = { fp_tops_word(record, place->correlation) },
        .stream = word_or_0(record, place->stream),
        .context = word_or_0(record, place->context),
    };
    if (!take_times(&event, sink, record, place))
        return;
    if (!take_device(decoder, &event, record, place)) {
        sink->lose(sink->owner, event.kind, FP_LOSS_MALFORMED, 1);
        if (!decoder->told_device)
            sink->note(sink->owner, "TOPSPTI's records do not tell their device for certain in this layout: "
                                    "those in doubt are left out");
        decoder->told_device = true;
        return;
    }
    rows[place->sort].take(decoder, sink, &event, record, place);
    sink->event(sink->owner, &event);
}

// ---- Calls

static const struct call_name *name_of(struct fp_tops_decoder *decoder, uint32_t domain, uint32_t cbid,
                                       struct call_name *far) {
    const struct fp_tops_layout *layout = decoder->options.layout;
    bool kept = cbid < CALLS && domain == layout->runtime_domain;
    struct call_name *call = kept ? &decoder->calls[cbid] : far;
    if (kept && call->known)
        return call;
    call->name = decoder->options.call_name(decoder->options.owner, domain, cbid);
    // topsModuleLaunchKernel is a launch as topsLaunchKernel is.
    call->sorts = fp_call_sorts("tops", call->name) | fp_call_sorts("topsModule", call->name);
    call->known = true;
    return call;
}

static uint32_t thread_of(const struct fp_tops_decoder *decoder, const uint8_t *record,
                          const struct fp_tops_record *place) {
    uint32_t told = word_or_0(record, place->thread);
    if (place->other_thread && told == decoder->options.process)
        told = fp_tops_word(record, place->other_thread); // both say the same, or this one is the process
    return place->thread ? system_thread(decoder, told) : decoder->options.process;
}

static void decode_api(struct fp_tops_decoder *decoder, const struct fp_sink *sink, const uint8_t *record,
                       const struct fp_tops_record *place) {
    const struct fp_tops_layout *layout = decoder->options.layout;
    bool runtime = place->sort == FP_TOPS_RUNTIME;
    uint32_t cbid = fp_tops_word(record, place->cbid), id = fp_tops_word(record, place->correlation);
    struct call_name far;
    const struct call_name *call =
        name_of(decoder, runtime ? layout->runtime_domain : layout->driver_domain, cbid, &far);
    bool hidden = call->sorts & FP_CALL_QUIET || !runtime;
    if (fp_id_set_has(&decoder->ours, id) || (hidden && !decoder->options.all_calls))
        return;
    struct fp_event event = {
        .kind = runtime ? FP_KIND_RUNTIME : FP_KIND_DRIVER,
        .fields = FP_HAS_CBID | (place->result ? FP_HAS_RESULT : 0u) | fp_call_fields(call->sorts),
        .vendor_id = { id },
        .u.call = { thread_of(decoder, record, place), cbid, word_or_0(record, place->result) },
    };
    char label[40];
    if (!take_times(&event, sink, record, place))
        return;
    snprintf(label, sizeof(label), runtime ? "topsRuntimeCall_%" PRIu32 : "topsDriverCall_%" PRIu32, cbid);
    event.name = sink->name(sink->owner, call->name ? call->name : label, FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

// ---- The walk

const uint8_t *fp_tops_next(fp_tops_next_fn next, uint8_t *bytes, size_t valid, const uint8_t *before,
                            bool *broken) {
    void *record = (void *)before;
    uintptr_t least = before ? (uintptr_t)before + sizeof(uint32_t) : (uintptr_t)bytes;
    int status = next(bytes, valid, &record);
    if (status != 0 || !record)
        return NULL;
    uintptr_t at = (uintptr_t)record;
    if (at < least || valid < sizeof(uint32_t) || at > (uintptr_t)bytes + valid - sizeof(uint32_t)) {
        *broken = true;
        return NULL;
    }
    return record;
}

static void decode_record(struct fp_tops_decoder *decoder, const struct fp_sink *sink, const uint8_t *record,
                          size_t room) {
    static const enum fp_kind kinds[] = {
        [FP_TOPS_STRANGE] = FP_KIND_COUNT,   [FP_TOPS_KERNEL] = FP_KIND_KERNEL,
        [FP_TOPS_COPY] = FP_KIND_MEMCPY,     [FP_TOPS_SET] = FP_KIND_MEMSET,
        [FP_TOPS_RUNTIME] = FP_KIND_RUNTIME, [FP_TOPS_DRIVER] = FP_KIND_DRIVER,
    };
    uint32_t kind = fp_tops_word(record, 0);
    const struct fp_tops_record *place = kind < FP_TOPS_KINDS ? &decoder->options.layout->kinds[kind] : NULL;
    fp_log("topspti", "record of kind %u, %zu bytes to the next", kind, room);
    if (!place || place->sort == FP_TOPS_STRANGE)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNKNOWN_KIND, 1);
    else if (room < place->bytes)
        sink->lose(sink->owner, kinds[place->sort], FP_LOSS_MALFORMED, 1);
    else if (place->sort == FP_TOPS_RUNTIME || place->sort == FP_TOPS_DRIVER)
        decode_api(decoder, sink, record, place);
    else
        decode_work(decoder, sink, record, place);
}

// How long records of a kind are, as far as that is known: where only the last of a buffer were seen it is not.
static size_t known_bytes(struct fp_tops_decoder *decoder, uint32_t kind, bool is_followed, size_t room) {
    if (kind >= FP_TOPS_KINDS)
        return 0;
    if (is_followed && !decoder->seen_bytes[kind])
        decoder->seen_bytes[kind] = room;
    const struct fp_tops_record *place = &decoder->options.layout->kinds[kind];
    return place->is_sized ? place->bytes : decoder->seen_bytes[kind];
}

void fp_tops_decode_buffer(struct fp_tops_decoder *decoder, const struct fp_sink *sink, uint8_t *bytes,
                           size_t valid) {
    const uint8_t *record = NULL, *after, *end = bytes + valid;
    bool broken = false, empty = true;
    memset(decoder->texts, 0, sizeof(decoder->texts));
    for (record = fp_tops_next(decoder->options.next, bytes, valid, NULL, &broken); record; record = after) {
        fp_keep_record(record);
        after = fp_tops_next(decoder->options.next, bytes, valid, record, &broken);
        uint32_t kind = fp_tops_word(record, 0);
        size_t room = (size_t)((after ? after : end) - record);
        size_t known = known_bytes(decoder, kind, after != NULL, room);
        // The last one reaches to the end of the buffer, or the iterator got no further.
        broken |= !after && known && room > known && room - known >= sizeof(uint32_t);
        empty = false;
        decode_record(decoder, sink, record, room);
    }
    if ((broken || (empty && valid > 0)) && !fp_ablated("iterator")) {
        fp_log("topspti", "the iterator does not reach the end of a buffer of %zu bytes", valid);
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, 1);
        sink->note(sink->owner,
                   "TOPSPTI's iterator did not reach the end of a buffer: what lies behind is lost");
    }
}
