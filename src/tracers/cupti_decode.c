// cupti_decode.c - CUPTI's records become events (cupti_decode.h says what goes in and out).
//
// A field is read if it ends within the record's stride: the size that the layout gives, or less where the
// library steps by less. Names that repeat (calls, copies, keys) are interned once a recording.
//
// Host calls: the quiet ones that torch does not show are left out. A driver call is an event where it is the
// launch itself; one made inside a runtime call is not. Which it is can be known only after the runtime
// call's record, which comes later and perhaps in another buffer, so launching driver calls wait
// (nested_calls.c).

#include "tracers/cupti_decode.h"

#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_calls.h"
#include "tracers/cupti_names.h"
#include "tracers/keep.h"
#include "tracers/nested_calls.h"
#include "tracers/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NAME UINT32_MAX

_Static_assert(FP_CUPTI_SHAPE_COUNT <= sizeof(((struct fp_cupti_layout *)0)->sizes) / sizeof(uint16_t),
               "a layout has a size for each shape");

enum { COPY_KINDS = FP_COPY_KINDS, MEMORY_KINDS = FP_MEMORY_KINDS, CALL_DOMAINS = 3, ESTIMATES = 256 };

enum extra_key {
    KEY_QUEUED,
    KEY_GRAPH,
    KEY_GRAPH_NODE,
    KEY_FROM_DEVICE,
    KEY_IN_DEVICE,
    KEY_TO_DEVICE,
    KEY_FROM_CONTEXT,
    KEY_IN_CONTEXT,
    KEY_TO_CONTEXT,
    KEY_COUNT
};

static const char *const extra_keys[KEY_COUNT] = {
    // torch-cuda's words
    "queued",   "graph id",    "graph node id", "fromDevice", "inDevice",
    "toDevice", "fromContext", "inContext",     "toContext",
};

struct call_row {  // of one (domain, cbid)
    uint32_t name; // NO_NAME: not asked for yet
    uint8_t sorts; // enum fp_call_sort
};

struct fp_cupti_decoder {
    struct fp_cupti_decoder_options options;
    struct fp_nested_calls *nested;
    bool mismatch_said;
    bool traced;       // FLAGOS_TRACE is on
    int8_t shapes[64]; // by activity kind, -1: not known
    uint32_t keys[KEY_COUNT];
    uint32_t copy_names[COPY_KINDS][MEMORY_KINDS][MEMORY_KINDS];
    uint32_t set_names[MEMORY_KINDS];
    struct call_row calls[CALL_DOMAINS][FP_CUPTI_CBID_LIMIT];
    struct {
        struct fp_kernel kernel; // all but its occupancy
        uint32_t device;
        int percent;
    } estimates[ESTIMATES]; // a program has few geometries: each is estimated once
};

// ---- Layout

static size_t probe_stride(fp_cupti_next_fn next, uint32_t kind) {
    // A zeroed buffer with `kind` first and a 40-byte kind at every later multiple of 8: wherever the
    // iterator lands second, it finds a record there. [MEASURED: agrees with the headers on 11.8 to 13.1]
    enum { WORDS = 128 };
    uint64_t words[WORDS] = { 0 };
    uint8_t *bytes = (uint8_t *)words;
    for (size_t at = 0; at < WORDS; at++)
        words[at] = FP_CUPTI_KIND_RUNTIME;
    words[0] = kind;
    void *first = NULL;
    if (next(bytes, sizeof(words), &first) != 0 || first != bytes)
        return 0;
    void *second = first;
    if (next(bytes, sizeof(words), &second) != 0 || (uint8_t *)second <= bytes ||
        (uint8_t *)second > bytes + sizeof(words) - sizeof(uint64_t))
        return 0;
    return (size_t)((uint8_t *)second - bytes);
}

static const uint32_t probed_kinds[] = {
    FP_CUPTI_KIND_CONCURRENT_KERNEL,
    FP_CUPTI_KIND_MEMCPY,
    FP_CUPTI_KIND_MEMSET,
    FP_CUPTI_KIND_MEMCPY_PEER,
    FP_CUPTI_KIND_RUNTIME,
    FP_CUPTI_KIND_OVERHEAD,
    FP_CUPTI_KIND_SYNCHRONIZATION,
    FP_CUPTI_KIND_EXTERNAL_CORRELATION,
};

bool fp_cupti_layout_find(struct fp_cupti_layout *layout, uint32_t api_version, fp_cupti_next_fn next,
                          bool *mismatch) {
    size_t kernel = next ? probe_stride(next, FP_CUPTI_KIND_CONCURRENT_KERNEL) : 0;
    const struct fp_cupti_release *release = fp_cupti_release_of(api_version, kernel);
    if (mismatch)
        *mismatch = false;
    if (!release)
        return false;
    uint32_t newest = fp_cupti_releases[FP_CUPTI_RELEASE_COUNT - 1].api_version;
    *layout = (struct fp_cupti_layout){
        .release = release->name,
        .api_version = api_version,
        .newer = api_version > newest,
    };
    memcpy(layout->sizes, release->size, sizeof(release->size));
    for (size_t i = 0; next && i < sizeof(probed_kinds) / sizeof(probed_kinds[0]); i++) {
        size_t stride = probe_stride(next, probed_kinds[i]);
        uint16_t *size = &layout->sizes[fp_cupti_shape_of(probed_kinds[i])];
        if (stride == 0 || stride == *size)
            continue;
        // Longer records of a newer library are its business; a version that the headers tell is held to its
        // row.
        if (mismatch && (stride < *size || release->api_version == api_version))
            *mismatch = true;
        if (stride < *size)
            *size = (uint16_t)stride;
    }
    return true;
}

// ---- Names

static uint32_t intern(const struct fp_sink *sink, const char *text, enum fp_name_form form) {
    return sink->name(sink->owner, text, form).value;
}

static const char *text_at(const struct fp_cupti_decoder *decoder, uint64_t address) {
    if (address == 0)
        return NULL;
    if (decoder->options.text)
        return decoder->options.text(decoder->options.owner, address);
    return (const char *)(uintptr_t)address;
}

static fp_name_id copy_name(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, unsigned copy,
                            unsigned from, unsigned to) {
    bool common = copy < COPY_KINDS && from < MEMORY_KINDS && to < MEMORY_KINDS;
    if (common && decoder->copy_names[copy][from][to] != NO_NAME)
        return (fp_name_id){ decoder->copy_names[copy][from][to] };
    char text[80];
    fp_record_name_copy(text, sizeof(text), copy, from, to);
    uint32_t name = intern(sink, text, FP_NAME_PLAIN);
    if (common)
        decoder->copy_names[copy][from][to] = name;
    return (fp_name_id){ name };
}

static fp_name_id set_name(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, unsigned kind) {
    if (kind < MEMORY_KINDS && decoder->set_names[kind] != NO_NAME)
        return (fp_name_id){ decoder->set_names[kind] };
    char text[48];
    fp_record_name_set(text, sizeof(text), kind);
    uint32_t name = intern(sink, text, FP_NAME_PLAIN);
    if (kind < MEMORY_KINDS)
        decoder->set_names[kind] = name;
    return (fp_name_id){ name };
}

// The generated table first, the library's own word for ids newer than the table, else a label with the
// number.
static struct call_row look_up_call(const struct fp_cupti_decoder *decoder, const struct fp_sink *sink,
                                    uint32_t domain, uint32_t cbid) {
    char label[32];
    const char *name = fp_cupti_api_name_known(domain, cbid);
    if (!name && decoder->options.call_name)
        name = decoder->options.call_name(decoder->options.owner, domain, cbid);
    if (!name)
        name = fp_cupti_api_name(domain, cbid, label, sizeof(label));
    return (struct call_row){ intern(sink, name, FP_NAME_PLAIN), (uint8_t)fp_cupti_call_sorts(domain, name) };
}

static struct call_row call_of(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, uint32_t domain,
                               uint32_t cbid) {
    if (cbid >= FP_CUPTI_CBID_LIMIT)
        return look_up_call(decoder, sink, domain, cbid);
    struct call_row *row = &decoder->calls[domain][cbid];
    if (row->name == NO_NAME)
        *row = look_up_call(decoder, sink, domain, cbid);
    return *row;
}

static void add_extra(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, struct fp_extra *extras,
                      struct fp_event *event, enum extra_key key, uint64_t value) {
    if (decoder->keys[key] == NO_NAME)
        decoder->keys[key] = intern(sink, extra_keys[key], FP_NAME_PLAIN);
    extras[event->extra_count++] = (struct fp_extra){
        .key = { decoder->keys[key] },
        .type = FP_EXTRA_INTEGER,
        .value = { .integer = (int64_t)value },
    };
    event->extras = extras;
    event->fields |= FP_HAS_EXTRAS;
}

// ---- One record each

static int64_t epoch_of(const struct fp_clock *clock, int64_t vendor_ns) {
    return clock && !fp_ablated("clock") ? fp_clock_to_epoch(clock, vendor_ns) : vendor_ns;
}

// Sets the event's times, or says why it has none.
static bool take_times(const struct fp_cupti_decoder *decoder, const struct fp_sink *sink,
                       struct fp_event *event, uint64_t start, uint64_t end) {
    if (!fp_record_take_times(sink, event, start, end))
        return false;
    event->start_ns = epoch_of(decoder->options.clock, event->start_ns);
    event->end_ns = epoch_of(decoder->options.clock, event->end_ns);
    return true;
}

static int percent_of(struct fp_cupti_decoder *decoder, uint32_t device, const struct fp_kernel *kernel) {
    if (device >= decoder->options.device_count)
        return -1;
    uint32_t hash = kernel->grid[0] * 31 + kernel->grid[1] * 7 + kernel->block[0] + kernel->shared_bytes +
                    kernel->registers_per_thread * 64 + device;
    hash ^= hash >> 8;
    size_t line = hash % ESTIMATES;
    if (decoder->estimates[line].device != device ||
        memcmp(&decoder->estimates[line].kernel, kernel, sizeof(*kernel)) != 0) {
        decoder->estimates[line].kernel = *kernel;
        decoder->estimates[line].device = device;
        decoder->estimates[line].percent =
            fp_cuda_occupancy_percent(&decoder->options.limits[device], kernel);
    }
    return decoder->estimates[line].percent;
}

static uint32_t unsigned_of(int32_t value) {
    return value > 0 ? (uint32_t)value : 0;
}

static void read_kernel(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                        size_t stride) {
    const struct fp_cupti_kernel *record = at;
    struct fp_event event = {
        .kind = FP_KIND_KERNEL,
        .fields = FP_HAS_STREAM | FP_HAS_CONTEXT | FP_HAS_GEOMETRY | FP_HAS_REGISTERS | FP_HAS_SHARED | FP_HAS_QUEUED,
        .vendor_id = { record->correlationId },
        .device = record->deviceId,
        .stream = record->streamId,
        .context = record->contextId,
        .u.kernel = {
            .grid = { unsigned_of(record->gridX), unsigned_of(record->gridY), unsigned_of(record->gridZ) },
            .block = { unsigned_of(record->blockX), unsigned_of(record->blockY), unsigned_of(record->blockZ) },
            .registers_per_thread = record->registersPerThread,
            .shared_bytes = unsigned_of(record->staticSharedMemory) + unsigned_of(record->dynamicSharedMemory),
        },
    };
    fp_nested_calls_device_work(decoder->nested, record->correlationId);
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    event.name = sink->name(sink->owner, text_at(decoder, record->name), FP_NAME_MANGLED);
    int percent = percent_of(decoder, record->deviceId, &event.u.kernel);
    if (percent >= 0) {
        event.u.kernel.occupancy_percent = (uint32_t)percent;
        event.fields |= FP_HAS_OCCUPANCY;
    }
    struct fp_extra extras[3];
    if (record->queued != 0)
        add_extra(decoder, sink, extras, &event, KEY_QUEUED, record->queued);
    if (FP_CUPTI_HAS(fp_cupti_kernel, graphId, stride) && record->graphNodeId != 0) {
        add_extra(decoder, sink, extras, &event, KEY_GRAPH, record->graphId);
        add_extra(decoder, sink, extras, &event, KEY_GRAPH_NODE, record->graphNodeId);
    }
    sink->event(sink->owner, &event);
}

static void read_copy(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                      size_t stride) {
    const struct fp_cupti_memcpy *record = at;
    struct fp_event event = {
        .kind = FP_KIND_MEMCPY,
        .fields = FP_HAS_STREAM | FP_HAS_CONTEXT | FP_HAS_BYTES |
                  (record->flags & FP_CUPTI_MEMCPY_ASYNC ? FP_IS_ASYNC : 0),
        .vendor_id = { record->correlationId },
        .device = record->deviceId,
        .stream = record->streamId,
        .context = record->contextId,
        .u.copy = { record->bytes },
    };
    fp_nested_calls_device_work(decoder->nested, record->correlationId);
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    event.name = copy_name(decoder, sink, record->copyKind, record->srcKind, record->dstKind);
    struct fp_extra extras[2];
    if (FP_CUPTI_HAS(fp_cupti_memcpy, graphId, stride) && record->graphNodeId != 0) {
        add_extra(decoder, sink, extras, &event, KEY_GRAPH, record->graphId);
        add_extra(decoder, sink, extras, &event, KEY_GRAPH_NODE, record->graphNodeId);
    }
    sink->event(sink->owner, &event);
}

static void read_peer_copy(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                           size_t stride) {
    const struct fp_cupti_memcpy_peer *record = at;
    struct fp_event event = {
        .kind = FP_KIND_MEMCPY,
        .fields = FP_HAS_STREAM | FP_HAS_BYTES | (record->flags & FP_CUPTI_MEMCPY_ASYNC ? FP_IS_ASYNC : 0),
        .vendor_id = { record->correlationId },
        .device = record->deviceId,
        .stream = record->streamId,
        .u.copy = { record->bytes },
    };
    fp_nested_calls_device_work(decoder->nested, record->correlationId);
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    event.name = copy_name(decoder, sink, record->copyKind, record->srcKind, record->dstKind);
    struct fp_extra extras[8]; // torch-cuda shows three devices and three contexts in the place of one
    add_extra(decoder, sink, extras, &event, KEY_FROM_DEVICE, record->srcDeviceId);
    add_extra(decoder, sink, extras, &event, KEY_IN_DEVICE, record->deviceId);
    add_extra(decoder, sink, extras, &event, KEY_TO_DEVICE, record->dstDeviceId);
    add_extra(decoder, sink, extras, &event, KEY_FROM_CONTEXT, record->srcContextId);
    add_extra(decoder, sink, extras, &event, KEY_IN_CONTEXT, record->contextId);
    add_extra(decoder, sink, extras, &event, KEY_TO_CONTEXT, record->dstContextId);
    if (FP_CUPTI_HAS(fp_cupti_memcpy_peer, graphId, stride) && record->graphNodeId != 0) {
        add_extra(decoder, sink, extras, &event, KEY_GRAPH, record->graphId);
        add_extra(decoder, sink, extras, &event, KEY_GRAPH_NODE, record->graphNodeId);
    }
    sink->event(sink->owner, &event);
}

static void read_set(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                     size_t stride) {
    const struct fp_cupti_memset *record = at;
    struct fp_event event = {
        .kind = FP_KIND_MEMSET,
        .fields = FP_HAS_STREAM | FP_HAS_CONTEXT | FP_HAS_BYTES | FP_HAS_VALUE |
                  (record->flags & FP_CUPTI_MEMSET_ASYNC ? FP_IS_ASYNC : 0),
        .vendor_id = { record->correlationId },
        .device = record->deviceId,
        .stream = record->streamId,
        .context = record->contextId,
        .u.set = { record->bytes, record->value },
    };
    fp_nested_calls_device_work(decoder->nested, record->correlationId);
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    event.name = set_name(decoder, sink, record->memoryKind);
    struct fp_extra extras[2];
    if (FP_CUPTI_HAS(fp_cupti_memset, graphId, stride) && record->graphNodeId != 0) {
        add_extra(decoder, sink, extras, &event, KEY_GRAPH, record->graphId);
        add_extra(decoder, sink, extras, &event, KEY_GRAPH_NODE, record->graphNodeId);
    }
    sink->event(sink->owner, &event);
}

static void emit_call(struct fp_cupti_decoder *decoder, const struct fp_sink *sink,
                      const struct fp_call_record *call, bool is_launch) {
    struct call_row row = call_of(decoder, sink, call->domain, call->cbid);
    struct fp_event event = {
        .kind = call->domain == FP_CUPTI_DOMAIN_RUNTIME ? FP_KIND_RUNTIME : FP_KIND_DRIVER,
        .fields =
            FP_HAS_CBID | FP_HAS_RESULT | fp_call_fields(is_launch ? row.sorts : row.sorts & ~FP_CALL_LAUNCH),
        .vendor_id = { call->correlation },
        .name = { row.name },
        .u.call = { .thread = call->thread, .cbid = call->cbid, .result = call->result },
    };
    if (take_times(decoder, sink, &event, call->start, call->end))
        sink->event(sink->owner, &event);
}

struct settling {
    struct fp_cupti_decoder *decoder;
    const struct fp_sink *sink;
};

// A nested driver call is shown only to those who asked for every call, and is then no launch: the runtime
// call is.
static void settle_driver_call(void *owner, const struct fp_call_record *call, bool is_nested) {
    struct settling *settling = owner;
    struct call_row row = call_of(settling->decoder, settling->sink, call->domain, call->cbid);
    if (!is_nested || settling->decoder->options.all_calls)
        emit_call(settling->decoder, settling->sink, call, !is_nested && row.sorts & FP_CALL_LAUNCH);
}

static void read_call(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                      size_t stride) {
    (void)stride; // 40 in all releases
    const struct fp_cupti_api *record = at;
    struct fp_call_record call = {
        .domain = record->kind == FP_CUPTI_KIND_RUNTIME ? FP_CUPTI_DOMAIN_RUNTIME : FP_CUPTI_DOMAIN_DRIVER,
        .cbid = record->cbid,
        .start = record->start,
        .end = record->end,
        .thread = record->threadId,
        .correlation = record->correlationId,
        .result = record->returnValue,
    };
    struct call_row row = call_of(decoder, sink, call.domain, call.cbid);
    bool all = decoder->options.all_calls, launches = row.sorts & FP_CALL_LAUNCH;
    if (call.domain == FP_CUPTI_DOMAIN_RUNTIME) {
        fp_nested_calls_runtime_call(decoder->nested, &call);
        if (all || !(row.sorts & FP_CALL_QUIET))
            emit_call(decoder, sink, &call, launches);
        return;
    }
    if (fp_ablated("nested")) {
        emit_call(decoder, sink, &call, launches);
    } else if (launches || row.sorts & (FP_CALL_CAPTURE_BEGIN | FP_CALL_CAPTURE_END)) {
        struct settling settling = { decoder, sink };
        fp_nested_calls_driver_call(decoder->nested, &call, settle_driver_call, &settling);
    } else if (all) {
        emit_call(decoder, sink, &call, false);
    }
}

static void read_correlation(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                             size_t stride) {
    (void)decoder;
    (void)stride; // 24 in all releases
    const struct fp_cupti_external_correlation *record = at;
    fp_vendor_id id = { record->correlationId };
    uint64_t framework_id = record->externalId;
    if (fp_ablated("ids")) {
        id.value = (uint32_t)framework_id;
        framework_id = record->correlationId;
    }
    if (record->externalKind == FP_CUPTI_EXTERNAL_CUSTOM0)
        sink->correlate(sink->owner, id, FP_ID_OPERATOR, framework_id);
    else if (record->externalKind == FP_CUPTI_EXTERNAL_CUSTOM1)
        sink->correlate(sink->owner, id, FP_ID_RANGE, framework_id);
}

static void read_overhead(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                          size_t stride) {
    (void)stride;
    static const char *const words[] = {
        // by the upper half of the kind, as torch-cuda writes them
        "Unknown",
        "Buffer Flush",
        "Instrumentation",
        "Resource",
        "Runtime Triggered Module Loading",
        "Lazy Function Loading",
        "Command Buffer Full",
        "Activity Buffer Request",
        "UVM Activity Init",
    };
    const struct fp_cupti_overhead *record = at;
    uint32_t word = record->overheadKind >> 16;
    const char *text = record->overheadKind == FP_CUPTI_OVERHEAD_DRIVER_COMPILER ? "Driver Compiler"
                       : word < sizeof(words) / sizeof(words[0])                 ? words[word]
                                                                                 : "Unrecognized";
    struct fp_event event = { .kind = FP_KIND_OVERHEAD };
    if (record->objectKind == FP_CUPTI_OBJECT_THREAD)
        event.u.call.thread = record->objectId[1];
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    event.name.value = intern(sink, text, FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

static void read_wait(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const void *at,
                      size_t stride) {
    (void)stride;
    static const char *const words[] = { "Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                         "Context Sync" };
    const struct fp_cupti_synchronization *record = at;
    struct fp_event event = {
        .kind = FP_KIND_SYNC,
        .fields = FP_HAS_CONTEXT,
        .vendor_id = { record->correlationId },
        .context = record->contextId,
    };
    if (record->streamId != FP_CUPTI_ID_INVALID) {
        event.fields |= FP_HAS_STREAM;
        event.stream = record->streamId;
    }
    if (!take_times(decoder, sink, &event, record->start, record->end))
        return;
    uint32_t type = record->type < sizeof(words) / sizeof(words[0]) ? record->type : 0;
    event.name.value = intern(sink, words[type], FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

// ---- The walk

typedef void (*reader)(struct fp_cupti_decoder *, const struct fp_sink *, const void *, size_t);

static const struct {
    reader read;        // NULL: a record that another tool asked for; no event of ours is missing
    enum fp_kind kind;  // what a lost one is counted as
    uint16_t read_size; // what `read` reads whatever the release
} shapes[FP_CUPTI_SHAPE_COUNT] = {
    [FP_CUPTI_SHAPE_KERNEL] = { read_kernel, FP_KIND_KERNEL, 136 },
    [FP_CUPTI_SHAPE_MEMCPY] = { read_copy, FP_KIND_MEMCPY, 48 },
    [FP_CUPTI_SHAPE_MEMCPY_PEER] = { read_peer_copy, FP_KIND_MEMCPY, 64 },
    [FP_CUPTI_SHAPE_MEMSET] = { read_set, FP_KIND_MEMSET, 52 },
    [FP_CUPTI_SHAPE_API] = { read_call, FP_KIND_COUNT, 40 },
    [FP_CUPTI_SHAPE_EXTERNAL_CORRELATION] = { read_correlation, FP_KIND_COUNT, 24 },
    [FP_CUPTI_SHAPE_OVERHEAD] = { read_overhead, FP_KIND_OVERHEAD, 40 },
    [FP_CUPTI_SHAPE_SYNCHRONIZATION] = { read_wait, FP_KIND_SYNC, 40 },
};

// fp_cupti_shape_of as a table: it is asked twice a record.
enum { TABLED_KINDS = 64 };

static void tabulate_shapes(int8_t table[TABLED_KINDS]) {
    for (uint32_t kind = 0; kind < TABLED_KINDS; kind++)
        table[kind] = (int8_t)fp_cupti_shape_of(kind);
}

static int shape_of(const struct fp_cupti_decoder *decoder, uint32_t kind) {
    return kind < TABLED_KINDS ? decoder->shapes[kind] : -1;
}

static uint32_t kind_at(const uint8_t *at) {
    uint32_t kind;
    memcpy(&kind, at, sizeof(kind));
    return kind;
}

static enum fp_kind event_kind_of(uint32_t kind) {
    if (kind == FP_CUPTI_KIND_RUNTIME)
        return FP_KIND_RUNTIME;
    if (kind == FP_CUPTI_KIND_DRIVER)
        return FP_KIND_DRIVER;
    int shape = fp_cupti_shape_of(kind);
    return shape < 0 || !shapes[shape].read ? FP_KIND_COUNT : shapes[shape].kind;
}

static void say_mismatch(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, uint32_t kind,
                         size_t stride, size_t size) {
    if (decoder->mismatch_said)
        return;
    decoder->mismatch_said = true;
    char text[240];
    snprintf(text, sizeof(text),
             "CUPTI reports API version %u but hands out records of kind %u in %zu bytes, not %zu: only the "
             "fields that "
             "both have are read",
             decoder->options.layout->api_version, kind, stride, size);
    fp_warn_once("cupti-layout", "%s", text);
    sink->note(sink->owner, text);
}

// One record that has `room` bytes to the next one or to the end of the buffer.
static void read_record(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const uint8_t *at,
                        size_t room, bool last) {
    uint32_t kind = kind_at(at);
    int shape = shape_of(decoder, kind);
    if (decoder->traced)
        fp_log("cupti", "record of kind %u, %zu bytes to the next%s", kind, room,
               shape < 0 ? ", not known" : "");
    if (shape < 0) {
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNKNOWN_KIND, 1);
        return;
    }
    size_t stride = decoder->options.layout->sizes[shape];
    if (!shapes[shape].read)
        return;
    if (room < stride && !last)
        say_mismatch(decoder, sink, kind, room, stride);
    size_t usable = room < stride ? room : stride;
    if ((room < stride && last) || usable < shapes[shape].read_size) {
        sink->lose(sink->owner, event_kind_of(kind), FP_LOSS_MALFORMED, 1);
        return;
    }
    shapes[shape].read(decoder, sink, at, usable);
}

// What the iterator could not step over: the record there, and an unknown number behind it.
static void lose_rest(const struct fp_cupti_decoder *decoder, const struct fp_sink *sink, const uint8_t *at,
                      const uint8_t *end, uint32_t status) {
    size_t left = (size_t)(end - at);
    if (left < sizeof(uint32_t))
        return;
    uint32_t kind = kind_at(at);
    bool unknown =
        status == FP_CUPTI_ERROR_INVALID_KIND && kind != FP_CUPTI_KIND_INVALID && fp_cupti_shape_of(kind) < 0;
    sink->lose(sink->owner, FP_KIND_COUNT, unknown ? FP_LOSS_UNKNOWN_KIND : FP_LOSS_MALFORMED, 1);
    fp_log("cupti", "iteration ended with status %u at kind %u, %zu bytes before the end", status, kind,
           left);
    if (left <= decoder->options.layout->sizes[FP_CUPTI_SHAPE_EXTERNAL_CORRELATION])
        return; // hardly room for another
    char text[160];
    sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, 1);
    snprintf(text, sizeof(text),
             "CUPTI's iterator stops at a record of kind %u: up to %zu bytes of records behind it are lost",
             kind, left);
    sink->note(sink->owner, text);
}

// Where the record behind `at` would begin by the layout.
static const uint8_t *behind(const struct fp_cupti_decoder *decoder, const uint8_t *at, const uint8_t *end) {
    int shape = shape_of(decoder, kind_at(at));
    size_t size = shape < 0 ? (size_t)(end - at) : decoder->options.layout->sizes[shape];
    return size < (size_t)(end - at) ? at + size : end;
}

// The library's iterator knows its records' sizes; the layout is what its version would have.
static uint32_t step(const struct fp_cupti_decoder *decoder, uint8_t *buffer, size_t valid, void **next) {
    const uint8_t *at = *next, *end = buffer + valid;
    if (!fp_ablated("iterator"))
        return decoder->options.next(buffer, valid, next);
    *next = (void *)(uintptr_t)behind(decoder, at, end);
    return *next == end ? FP_CUPTI_ERROR_MAX_LIMIT_REACHED : FP_CUPTI_SUCCESS;
}

void fp_cupti_decode(struct fp_cupti_decoder *decoder, const struct fp_sink *sink, uint8_t *buffer,
                     size_t valid) {
    const uint8_t *end = buffer + valid, *read_to = buffer;
    void *next = NULL;
    size_t steps = 0, bound = valid / sizeof(uint32_t);
    uint32_t status = decoder->options.next(buffer, valid, &next);
    while (status == FP_CUPTI_SUCCESS && next) {
        const uint8_t *at = next;
        if (at < read_to || (size_t)(end - at) < sizeof(uint32_t) || at > end || steps++ >= bound) {
            fp_log("cupti", "the iterator left the buffer or went back after %zu records", steps);
            status = FP_CUPTI_ERROR_UNKNOWN;
            break;
        }
        fp_keep_record(at);
        status = step(decoder, buffer, valid, &next);
        bool last =
            status != FP_CUPTI_SUCCESS || !next || (const uint8_t *)next <= at || (const uint8_t *)next > end;
        read_record(decoder, sink, at, (size_t)((last ? end : (const uint8_t *)next) - at), last);
        read_to = last ? behind(decoder, at, end) : next;
    }
    if (read_to < end)
        lose_rest(decoder, sink, read_to, end, status);
}

void fp_cupti_decode_end(struct fp_cupti_decoder *decoder, const struct fp_sink *sink) {
    struct settling settling = { decoder, sink };
    fp_nested_calls_settle(decoder->nested, settle_driver_call, &settling);
}

void fp_cupti_count_records(const struct fp_cupti_layout *layout, const uint8_t *buffer, size_t valid,
                            uint64_t counts[FP_KIND_COUNT + 1]) {
    for (size_t at = 0; at + sizeof(uint32_t) <= valid;) {
        uint32_t kind = kind_at(buffer + at);
        int shape = fp_cupti_shape_of(kind);
        if (shape < 0) { // its size is not known, so neither is what follows
            counts[FP_KIND_COUNT]++;
            return;
        }
        if (kind != FP_CUPTI_KIND_EXTERNAL_CORRELATION && shapes[shape].read)
            counts[event_kind_of(kind)]++;
        at += layout->sizes[shape];
    }
}

struct fp_cupti_decoder *fp_cupti_decoder_new(const struct fp_cupti_decoder_options *options) {
    struct fp_cupti_decoder *decoder = malloc(sizeof(*decoder));
    struct fp_nested_calls *nested = fp_nested_calls_new();
    if (!decoder || !nested) {
        free(decoder);
        fp_nested_calls_free(nested);
        return NULL;
    }
    memset(decoder, 0xFF, sizeof(*decoder)); // all names NO_NAME
    decoder->options = *options;
    decoder->nested = nested;
    decoder->mismatch_said = false;
    decoder->traced = fp_log_enabled();
    tabulate_shapes(decoder->shapes);
    return decoder;
}

void fp_cupti_decoder_free(struct fp_cupti_decoder *decoder) {
    if (!decoder)
        return;
    fp_nested_calls_free(decoder->nested);
    free(decoder);
}
