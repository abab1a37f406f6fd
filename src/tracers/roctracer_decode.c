// roctracer_decode.c - entries to events (roctracer_decode.h).

#include "tracers/roctracer_decode.h"

#include "base/array.h"
#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/calls.h"
#include "tracers/id_map.h"
#include "tracers/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 4096,
    THREADS_A_BLOCK = 1024, // HIP's limit: what says more is no geometry
    EXTRAS = 2,
};

struct details {             // what a launching call says of its device records
    uint64_t correlation_id; // 0: free
    uint64_t bytes;
    uint32_t grid[3], block[3], shared_bytes, value;
    int32_t to_device, from_device;
    uint8_t copy_kind, sort;
};

struct api { // what is known of a call, once it was seen
    const char *name;
    unsigned sorts; // enum fp_call_sort
    bool known;
};

struct fp_roc_decoder {
    struct fp_roc_decoder_options options;
    struct fp_id_map *ids;
    struct api *apis;
    struct details *details; // open addressing
    size_t details_count, details_mask;
    struct fp_roc_work *held; // device records whose call has not returned yet
    size_t held_count, held_capacity;
    bool strange_device;
};

struct fp_roc_decoder *fp_roc_decoder_new(const struct fp_roc_decoder_options *options) {
    struct fp_roc_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    decoder->options = *options;
    decoder->ids = fp_id_map_new();
    decoder->apis = calloc(options->api_count + 1, sizeof(*decoder->apis));
    decoder->details = calloc(FIRST_SLOTS, sizeof(*decoder->details));
    decoder->details_mask = FIRST_SLOTS - 1;
    if (decoder->ids && decoder->apis && decoder->details)
        return decoder;
    fp_roc_decoder_free(decoder);
    return NULL;
}

void fp_roc_decoder_free(struct fp_roc_decoder *decoder) {
    if (!decoder)
        return;
    fp_id_map_free(decoder->ids);
    free(decoder->apis);
    free(decoder->details);
    free(decoder->held);
    free(decoder);
}

// ---- What calls say of their device records

static size_t home_of(const struct fp_roc_decoder *decoder, uint64_t correlation_id) {
    return (size_t)(correlation_id * 0x9e3779b97f4a7c15u >> 32) & decoder->details_mask;
}

static struct details *find_details(const struct fp_roc_decoder *decoder, uint64_t correlation_id) {
    size_t at = home_of(decoder, correlation_id);
    while (decoder->details[at].correlation_id && decoder->details[at].correlation_id != correlation_id)
        at = (at + 1) & decoder->details_mask;
    return &decoder->details[at];
}

static bool grow_details(struct fp_roc_decoder *decoder) {
    if (decoder->details_count * 2 <= decoder->details_mask)
        return true;
    struct details *before = decoder->details;
    size_t before_slots = decoder->details_mask + 1;
    struct details *bigger = calloc(before_slots * 2, sizeof(*bigger));
    if (!bigger)
        return false;
    decoder->details = bigger;
    decoder->details_mask = before_slots * 2 - 1;
    for (size_t at = 0; at < before_slots; at++)
        if (before[at].correlation_id)
            *find_details(decoder, before[at].correlation_id) = before[at];
    free(before);
    return true;
}

static void remember(struct fp_roc_decoder *decoder, const struct fp_roc_call *call, uint8_t sort) {
    if (!call->correlation_id || fp_ablated("arguments") || !grow_details(decoder))
        return;
    struct details *details = find_details(decoder, call->correlation_id);
    decoder->details_count += details->correlation_id == 0;
    *details = (struct details){
        .correlation_id = call->correlation_id,
        .bytes = call->bytes,
        .shared_bytes = call->shared_bytes,
        .value = call->value,
        .to_device = call->to_device,
        .from_device = call->from_device,
        .copy_kind = call->copy_kind,
        .sort = sort,
    };
    memcpy(details->grid, call->grid, sizeof(details->grid));
    memcpy(details->block, call->block, sizeof(details->block));
}

// A launch starts one kernel, so what it said is not needed again. What stood behind it in the table moves
// up, or it would not be found any more.
static void forget(struct fp_roc_decoder *decoder, struct details *details) {
    size_t hole = (size_t)(details - decoder->details), mask = decoder->details_mask;
    decoder->details_count--;
    for (size_t at = (hole + 1) & mask; decoder->details[at].correlation_id; at = (at + 1) & mask) {
        size_t home = home_of(decoder, decoder->details[at].correlation_id);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; // its home lies behind the hole
        decoder->details[hole] = decoder->details[at];
        hole = at;
    }
    decoder->details[hole].correlation_id = 0;
}

// ---- Calls

static struct api *api_of(struct fp_roc_decoder *decoder, uint32_t cid) {
    uint32_t count = decoder->options.api_count;
    struct api *api = &decoder->apis[cid < count ? cid : count];
    if (api->known && cid < count)
        return api;
    api->name = decoder->options.call_name(decoder->options.owner, cid);
    api->sorts = fp_call_sorts("hip", api->name);
    for (size_t at = 0; api->name && fp_hip_quiet_calls[at]; at++)
        if (strcmp(fp_hip_quiet_calls[at], api->name) == 0)
            api->sorts |= FP_CALL_QUIET;
    api->known = true;
    return api;
}

static fp_vendor_id id_of(struct fp_roc_decoder *decoder, uint64_t correlation_id) {
    return fp_ablated("ids") ? (fp_vendor_id){ (uint32_t)correlation_id }
                             : fp_id_map_get(decoder->ids, correlation_id);
}

void fp_roc_decode_call(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_roc_call *call) {
    const struct api *api = api_of(decoder, call->cid);
    const struct fp_hip_call *row =
        call->cid < decoder->options.api_count ? decoder->options.apis[call->cid] : NULL;
    bool moves = row && (row->sort == FP_HIP_COPY || row->sort == FP_HIP_SET);
    unsigned sorts = api->sorts | (row ? FP_CALL_LAUNCH : 0) | (moves ? FP_CALL_MOVE : 0);
    if (sorts & FP_CALL_LAUNCH)
        remember(decoder, call, row ? row->sort : FP_HIP_OTHER);
    if (sorts & FP_CALL_QUIET && !decoder->options.all_calls)
        return;
    struct fp_event event = {
        .kind = FP_KIND_RUNTIME,
        .fields = FP_HAS_CBID | fp_call_fields(sorts),
        .vendor_id = id_of(decoder, call->correlation_id),
        .u.call = { .thread = call->thread, .cbid = call->cid },
    };
    if (call->has_operator)
        sink->correlate(sink->owner, event.vendor_id, FP_ID_OPERATOR, call->operator_id);
    if (call->has_range)
        sink->correlate(sink->owner, event.vendor_id, FP_ID_RANGE, call->range_id);
    if (!fp_record_take_times(sink, &event, call->start, call->end))
        return;
    char label[32];
    snprintf(label, sizeof(label), "hipCall_%" PRIu32, call->cid);
    event.name = sink->name(sink->owner, api->name && *api->name ? api->name : label, FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

// ---- Device records

static uint8_t copy_kind_of(const struct fp_roc_record *record, const struct details *details) {
    switch (record->kind) {
    case FP_ROC_KIND_COPY_DTOH:
    case FP_ROC_KIND_COPY_2D_DTOH:
        return FP_HIP_COPY_DTOH;
    case FP_ROC_KIND_COPY_HTOD:
    case FP_ROC_KIND_COPY_2D_HTOD:
        return FP_HIP_COPY_HTOD;
    case FP_ROC_KIND_COPY_DTOD:
    case FP_ROC_KIND_COPY_2D_DTOD:
        return FP_HIP_COPY_DTOD;
    default:
        return details && details->sort == FP_HIP_COPY ? details->copy_kind : FP_HIP_COPY_DEFAULT;
    }
}

static bool is_geometry(const struct details *details) {
    uint64_t threads = 1;
    for (size_t axis = 0; axis < 3; axis++) {
        if (details->grid[axis] == 0 || details->block[axis] == 0 || details->block[axis] > THREADS_A_BLOCK)
            return false;
        threads *= details->block[axis];
    }
    return threads <= THREADS_A_BLOCK;
}

static void fill_kernel(struct fp_event *event, const struct details *details) {
    event->kind = FP_KIND_KERNEL;
    if (!details || details->sort != FP_HIP_LAUNCH || !is_geometry(details))
        return; // a graph's kernels: one call, no geometry of their own
    event->fields |= FP_HAS_GEOMETRY | FP_HAS_SHARED;
    memcpy(event->u.kernel.grid, details->grid, sizeof(details->grid));
    memcpy(event->u.kernel.block, details->block, sizeof(details->block));
    event->u.kernel.shared_bytes = details->shared_bytes;
}

static uint64_t bytes_of(const struct fp_roc_record *record, const struct details *details, uint8_t sort) {
    return record->u.bytes ? record->u.bytes : details && details->sort == sort ? details->bytes : 0;
}

static const char *fill_copy(struct fp_event *event, const struct fp_roc_record *record,
                             const struct details *details) {
    static const char *const words[] = {
        // torch's on ROCm, so that tools read both alike
        [FP_HIP_COPY_HTOH] = "Memcpy HtoH (Host -> Host)",
        [FP_HIP_COPY_HTOD] = "Memcpy HtoD (Host -> Device)",
        [FP_HIP_COPY_DTOH] = "Memcpy DtoH (Device -> Host)",
        [FP_HIP_COPY_DTOD] = "Memcpy DtoD (Device -> Device)",
        [FP_HIP_COPY_DEFAULT] = "Memcpy",
    };
    bool is_peer = details && details->sort == FP_HIP_COPY && details->to_device != details->from_device;
    event->kind = FP_KIND_MEMCPY;
    event->u.copy.bytes = bytes_of(record, details, FP_HIP_COPY);
    event->fields |= event->u.copy.bytes ? FP_HAS_BYTES : 0;
    return is_peer ? "Memcpy PtoP (Device -> Device)" : words[copy_kind_of(record, details)];
}

static const char *fill_set(struct fp_event *event, const struct fp_roc_record *record,
                            const struct details *details) {
    event->kind = FP_KIND_MEMSET;
    event->u.set.bytes = bytes_of(record, details, FP_HIP_SET);
    event->fields |= event->u.set.bytes ? FP_HAS_BYTES : 0;
    if (details && details->sort == FP_HIP_SET) {
        event->u.set.value = details->value;
        event->fields |= FP_HAS_VALUE;
    }
    return "Memset (Device)";
}

static size_t add_peer(const struct fp_sink *sink, const struct details *details, struct fp_extra *extras) {
    if (!details || details->sort != FP_HIP_COPY || details->to_device < 0)
        return 0;
    const int32_t values[EXTRAS] = { details->from_device, details->to_device };
    static const char *const keys[EXTRAS] = { "fromDevice", "toDevice" };
    for (size_t at = 0; at < EXTRAS; at++)
        extras[at] = (struct fp_extra){ .key = sink->name(sink->owner, keys[at], FP_NAME_PLAIN),
                                        .type = FP_EXTRA_INTEGER,
                                        .value.integer = values[at] };
    return EXTRAS;
}

// A number that is no ordinal is shown as it is, and that is said.
static uint32_t device_of(struct fp_roc_decoder *decoder, const struct fp_sink *sink, int32_t node) {
    int32_t first = decoder->options.first_node > 0 ? decoder->options.first_node : 0;
    if (fp_ablated("nodes"))
        return (uint32_t)node;
    bool is_ordinal = node >= first && node - first < decoder->options.device_count;
    if (!is_ordinal && !decoder->strange_device)
        sink->note(sink->owner, "device numbers are the driver's (KFD's nodes): its topology is not readable "
                                "here, or does not fit the devices that HIP shows");
    decoder->strange_device |= !is_ordinal;
    return (uint32_t)(is_ordinal ? node - first : node);
}

// By the op, never by the kind, which DTK numbers otherwise [CODE].
static bool is_kernel(const struct fp_roc_record *record) {
    return fp_ablated("op") ? record->kind == FP_ROC_KIND_KERNEL : record->op == FP_ROC_OP_DISPATCH;
}

static void emit_work(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                      const struct fp_roc_work *work, const struct details *details) {
    const struct fp_roc_record *record = &work->record;
    struct fp_extra extras[EXTRAS];
    struct fp_event event = {
        .fields = FP_HAS_STREAM,
        .vendor_id = id_of(decoder, record->correlation_id),
        .stream = (uint32_t)record->queue_id,
        .extras = extras,
    };
    const char *name = work->name;
    if (is_kernel(record))
        fill_kernel(&event, details);
    else if (record->kind == FP_ROC_KIND_FILL || (details && details->sort == FP_HIP_SET))
        name = fill_set(&event, record, details);
    else
        name = fill_copy(&event, record, details);
    if (!fp_record_take_times(sink, &event, record->begin_ns, record->end_ns))
        return;
    if (event.kind == FP_KIND_MEMCPY)
        event.extra_count = add_peer(sink, details, extras);
    event.device = device_of(decoder, sink, record->device_id);
    event.name =
        sink->name(sink->owner, name, event.kind == FP_KIND_KERNEL ? FP_NAME_MANGLED : FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

static bool hold(struct fp_roc_decoder *decoder, const struct fp_roc_work *work) {
    if (!fp_array_reserve(&decoder->held, decoder->held_count, &decoder->held_capacity,
                          sizeof(*decoder->held)))
        return false;
    decoder->held[decoder->held_count++] = *work;
    return true;
}

static void take_work(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                      const struct fp_roc_work *work, bool last) {
    const struct fp_roc_record *record = &work->record;
    if (record->domain != FP_ROC_DOMAIN_HIP_OPS ||
        (record->op != FP_ROC_OP_DISPATCH && record->op != FP_ROC_OP_COPY)) {
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNKNOWN_KIND, 1);
        return;
    }
    struct details *details = record->correlation_id ? find_details(decoder, record->correlation_id) : NULL;
    if (details && !details->correlation_id)
        details = NULL;
    if (!details && record->correlation_id && !last && hold(decoder, work))
        return;
    emit_work(decoder, sink, work, details);
    if (details && details->sort == FP_HIP_LAUNCH)
        forget(decoder, details);
}

void fp_roc_decode_work(struct fp_roc_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_roc_work *work) {
    fp_log("roctracer", "record of domain %u, kind %u, operation %u", work->record.domain, work->record.kind,
           work->record.op);
    take_work(decoder, sink, work, false);
}

void fp_roc_decode_held(struct fp_roc_decoder *decoder, const struct fp_sink *sink, bool last) {
    size_t count = decoder->held_count;
    decoder->held_count = 0;
    for (size_t at = 0; at < count; at++) {
        // What goes on being held is written to a place before this one.
        struct fp_roc_work work = decoder->held[at];
        take_work(decoder, sink, &work, last);
    }
}
