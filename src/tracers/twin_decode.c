// twin_decode.c - records that are copies of CUPTI's become events (twin_decode.h).
//
// Host calls: the quiet ones that torch does not show are left out. A driver call is an event where it is the
// launch itself, not where it was made inside a runtime call (nested_calls.c). A call without a name may have
// to wait for the end of the session, and then it waits as it is: what sort of call it is, its name tells.

#include "tracers/twin_decode.h"

#include "base/array.h"
#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/calls.h"
#include "tracers/keep.h"
#include "tracers/nested_calls.h"
#include "tracers/records.h"

#include <stdio.h>
#include <stdlib.h>

#define NO_NAME UINT32_MAX

enum { STEP = 8, CBIDS = 2048, DOMAINS = 3, ABLATED_BOUND = 1000 };

enum extra_key { KEY_QUEUED, KEY_GRAPH, KEY_GRAPH_NODE, KEY_COUNT };

static const char *const extra_keys[KEY_COUNT] = { "queued", "graph id",
                                                   "graph node id" }; // torch-cuda's words

struct call_row {  // of one (domain, cbid)
    uint32_t name; // NO_NAME: not known yet
    uint8_t sorts; // enum fp_call_sort
};

struct fp_twin_decoder {
    struct fp_twin_decoder_options options;
    struct fp_nested_calls *nested;
    struct fp_call_record *unnamed;
    size_t unnamed_count, unnamed_capacity;
    uint16_t read_bytes[FP_TWIN_SHAPES]; // what is read of a record of each shape
    size_t seen_strides[FP_TWIN_SHAPES]; // the least step over one; 0: none yet
    struct fp_twin_seen seen;
    void (*launch)(void *owner, uint32_t thread, uint64_t start, fp_vendor_id id);
    void *launch_owner;
    bool ending;
    uint32_t keys[KEY_COUNT];
    uint32_t copy_names[FP_COPY_KINDS][FP_MEMORY_KINDS][FP_MEMORY_KINDS];
    uint32_t set_names[FP_MEMORY_KINDS];
    struct call_row calls[DOMAINS][CBIDS];
};

// One record on its way.
struct reading {
    struct fp_twin_decoder *decoder;
    const struct fp_sink *sink;
    const struct fp_twin_kind *kind;
    const uint8_t *record;
};

static uint64_t get(const struct reading *reading, enum fp_twin_field field) {
    return fp_twin_get(reading->decoder->options.layout, reading->kind->shape, reading->record, field);
}

static bool has(const struct reading *reading, enum fp_twin_field field) {
    return fp_twin_has(reading->decoder->options.layout, reading->kind->shape, field);
}

// ---- Names

static uint32_t intern(const struct fp_sink *sink, const char *text, enum fp_name_form form) {
    return sink->name(sink->owner, text, form).value;
}

static const char *text_at(const struct fp_twin_decoder *decoder, uint64_t address) {
    if (address == 0)
        return NULL;
    return decoder->options.text ? decoder->options.text(decoder->options.owner, address)
                                 : (const char *)(uintptr_t)address;
}

static fp_name_id copy_name(const struct reading *reading) {
    uint64_t copy = get(reading, FP_TWIN_COPY_KIND), from = get(reading, FP_TWIN_FROM_KIND),
             to = get(reading, FP_TWIN_TO_KIND);
    uint32_t *name = &reading->decoder->copy_names[copy][from][to]; // plausible, so all are small
    char text[80];
    if (*name == NO_NAME) {
        fp_record_name_copy(text, sizeof(text), (unsigned)copy, (unsigned)from, (unsigned)to);
        *name = intern(reading->sink, text, FP_NAME_PLAIN);
    }
    return (fp_name_id){ *name };
}

static fp_name_id set_name(const struct reading *reading) {
    uint64_t memory = get(reading, FP_TWIN_TO_KIND);
    uint32_t *name = &reading->decoder->set_names[memory];
    char text[80];
    if (*name == NO_NAME) {
        fp_record_name_set(text, sizeof(text), (unsigned)memory);
        *name = intern(reading->sink, text, FP_NAME_PLAIN);
    }
    return (fp_name_id){ *name };
}

// As torch on CUDA shows it: without _v3020, _v2, _ptsz and _ptds behind.
static const char *shown_name(const char *name, char *label, size_t capacity) {
    static const char *const streams[] = { "_ptsz", "_ptds" };
    snprintf(label, capacity, "%s", name);
    size_t length = strlen(label);
    for (size_t at = 0; at < sizeof(streams) / sizeof(streams[0]); at++)
        if (length > 5 && strcmp(label + length - 5, streams[at]) == 0)
            label[length -= 5] = '\0';
    char *version = strrchr(label, '_');
    if (version && version > label && version[1] == 'v' && version[2] != '\0' &&
        strspn(version + 2, "0123456789") == strlen(version + 2))
        *version = '\0';
    return label;
}

// NO_NAME: the library must be asked, and may not be yet.
static struct call_row look_up_call(const struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                                    uint32_t domain, uint32_t cbid) {
    const struct fp_twin_decoder_options *options = &decoder->options;
    char label[128];
    unsigned sorts = options->launches && options->launches(domain, cbid) ? FP_CALL_LAUNCH : 0;
    const char *name = options->known_name ? options->known_name(domain, cbid) : NULL;
    bool is_known = name != NULL;
    if (!name && options->library_name && options->names_at_end && !decoder->ending)
        return (struct call_row){ NO_NAME, 0 };
    if (!name && options->library_name)
        name = options->library_name(options->owner, domain, cbid);
    if (name && !is_known)
        name = shown_name(name, label, sizeof(label));
    sorts |= fp_call_sorts(options->prefixes[domain], name);
    if (!name) {
        snprintf(label, sizeof(label), "%s%u", options->unknown[domain], cbid);
        name = label;
    }
    return (struct call_row){ intern(sink, name, FP_NAME_PLAIN), (uint8_t)sorts };
}

static struct call_row call_of(struct fp_twin_decoder *decoder, const struct fp_sink *sink, uint32_t domain,
                               uint32_t cbid) {
    if (cbid >= CBIDS)
        return look_up_call(decoder, sink, domain, cbid);
    struct call_row *row = &decoder->calls[domain][cbid];
    if (row->name == NO_NAME)
        *row = look_up_call(decoder, sink, domain, cbid);
    return *row;
}

// ---- One record each

static void add_extra(const struct reading *reading, struct fp_extra *extras, struct fp_event *event,
                      enum extra_key key, enum fp_twin_field field) {
    uint32_t *name = &reading->decoder->keys[key];
    if (*name == NO_NAME)
        *name = intern(reading->sink, extra_keys[key], FP_NAME_PLAIN);
    extras[event->extra_count++] = (struct fp_extra){
        .key = { *name },
        .type = FP_EXTRA_INTEGER,
        .value = { .integer = (int64_t)get(reading, field) },
    };
    event->extras = extras;
    event->fields |= FP_HAS_EXTRAS;
}

static void add_graph(const struct reading *reading, struct fp_extra *extras, struct fp_event *event) {
    if (!has(reading, FP_TWIN_GRAPH_NODE) || get(reading, FP_TWIN_GRAPH_NODE) == 0)
        return;
    if (has(reading, FP_TWIN_GRAPH))
        add_extra(reading, extras, event, KEY_GRAPH, FP_TWIN_GRAPH);
    add_extra(reading, extras, event, KEY_GRAPH_NODE, FP_TWIN_GRAPH_NODE);
}

// What all device work has. False: it has no times, and that is counted.
static bool begin_work(const struct reading *reading, struct fp_event *event) {
    *event = (struct fp_event){
        .kind = reading->kind->kind,
        .fields = FP_HAS_STREAM | FP_HAS_CONTEXT,
        .vendor_id = { (uint32_t)get(reading, FP_TWIN_CORRELATION) },
        .device = (uint32_t)get(reading, FP_TWIN_DEVICE),
        .stream = (uint32_t)get(reading, FP_TWIN_STREAM),
        .context = (uint32_t)get(reading, FP_TWIN_CONTEXT),
    };
    fp_nested_calls_device_work(reading->decoder->nested, event->vendor_id.value);
    if (has(reading, FP_TWIN_FLAGS) &&
        get(reading, FP_TWIN_FLAGS) & reading->decoder->options.layout->async_flag)
        event->fields |= FP_IS_ASYNC;
    return fp_record_take_times(reading->sink, event, get(reading, FP_TWIN_START), get(reading, FP_TWIN_END));
}

static uint32_t shared_of(uint64_t bytes) { // a signed field
    return bytes <= INT32_MAX ? (uint32_t)bytes : 0;
}

static void read_kernel(const struct reading *reading) {
    struct fp_event event;
    struct fp_extra extras[3];
    if (!begin_work(reading, &event))
        return;
    event.fields |= FP_HAS_GEOMETRY | FP_HAS_REGISTERS | FP_HAS_SHARED | FP_HAS_QUEUED;
    for (int axis = 0; axis < 3; axis++) {
        event.u.kernel.grid[axis] = (uint32_t)get(reading, FP_TWIN_GRID_X + axis);
        event.u.kernel.block[axis] = (uint32_t)get(reading, FP_TWIN_BLOCK_X + axis);
    }
    event.u.kernel.registers_per_thread = (uint32_t)get(reading, FP_TWIN_REGISTERS);
    event.u.kernel.shared_bytes =
        shared_of(get(reading, FP_TWIN_STATIC_SHARED)) + shared_of(get(reading, FP_TWIN_DYNAMIC_SHARED));
    event.name.value =
        intern(reading->sink, text_at(reading->decoder, get(reading, FP_TWIN_NAME)), FP_NAME_MANGLED);
    if (has(reading, FP_TWIN_QUEUED) && get(reading, FP_TWIN_QUEUED) != 0)
        add_extra(reading, extras, &event, KEY_QUEUED, FP_TWIN_QUEUED);
    add_graph(reading, extras, &event);
    reading->sink->event(reading->sink->owner, &event);
}

static void read_memory_work(const struct reading *reading) {
    struct fp_event event;
    struct fp_extra extras[2];
    if (!begin_work(reading, &event))
        return;
    event.fields |= FP_HAS_BYTES;
    if (reading->kind->shape == FP_TWIN_SET) {
        event.fields |= FP_HAS_VALUE;
        event.name = set_name(reading);
        event.u.set = (struct fp_set){ get(reading, FP_TWIN_BYTES), (uint32_t)get(reading, FP_TWIN_VALUE) };
    } else {
        event.name = copy_name(reading);
        event.u.copy = (struct fp_copy){ get(reading, FP_TWIN_BYTES) };
    }
    add_graph(reading, extras, &event);
    reading->sink->event(reading->sink->owner, &event);
}

static void read_external(const struct reading *reading) {
    const uint32_t *stacks = reading->decoder->options.layout->external_kinds;
    uint64_t kind = get(reading, FP_TWIN_EXTERNAL_KIND);
    uint64_t framework_id = get(reading, FP_TWIN_EXTERNAL_ID);
    fp_vendor_id id = { (uint32_t)get(reading, FP_TWIN_CORRELATION) };
    if (fp_ablated("ids")) {
        uint64_t held = framework_id;
        framework_id = id.value;
        id.value = (uint32_t)held;
    }
    for (int stack = 0; stack < FP_ID_KIND_COUNT; stack++)
        if (stacks[stack] == kind) {
            reading->decoder->seen.external_ids++;
            reading->sink->correlate(reading->sink->owner, id, (enum fp_id_kind)stack, framework_id);
        }
}

// ---- Host calls

static void emit_call(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                      const struct fp_call_record *call, bool is_launch) {
    struct call_row row = call_of(decoder, sink, call->domain, call->cbid);
    struct fp_event event = {
        .kind = call->domain == FP_TWIN_RUNTIME ? FP_KIND_RUNTIME : FP_KIND_DRIVER,
        .fields =
            FP_HAS_CBID | FP_HAS_RESULT | fp_call_fields(is_launch ? row.sorts : row.sorts & ~FP_CALL_LAUNCH),
        .vendor_id = { call->correlation },
        .name = { row.name },
        .u.call = { .thread = call->thread, .cbid = call->cbid, .result = call->result },
    };
    if (!fp_record_take_times(sink, &event, call->start, call->end))
        return;
    decoder->seen.launches += is_launch;
    if (is_launch && decoder->launch)
        decoder->launch(decoder->launch_owner, call->thread, call->start, event.vendor_id);
    sink->event(sink->owner, &event);
}

struct settling {
    struct fp_twin_decoder *decoder;
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

// `call` may be one of those kept already, which move when room is made.
static bool keep_unnamed(struct fp_twin_decoder *decoder, const struct fp_call_record *call) {
    struct fp_call_record kept = *call;
    if (!fp_array_reserve(&decoder->unnamed, decoder->unnamed_count, &decoder->unnamed_capacity,
                          sizeof(*decoder->unnamed)))
        return false;
    decoder->unnamed[decoder->unnamed_count++] = kept;
    return true;
}

static void take_call(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                      const struct fp_call_record *call) {
    struct call_row row = call_of(decoder, sink, call->domain, call->cbid);
    bool all = decoder->options.all_calls, launches = row.sorts & FP_CALL_LAUNCH;
    if (row.name == NO_NAME) {
        if (!keep_unnamed(decoder, call))
            sink->lose(sink->owner, call->domain == FP_TWIN_RUNTIME ? FP_KIND_RUNTIME : FP_KIND_DRIVER,
                       FP_LOSS_DROPPED, 1);
        return;
    }
    if (call->domain == FP_TWIN_RUNTIME) {
        fp_nested_calls_runtime_call(decoder->nested, call);
        if (all || !(row.sorts & FP_CALL_QUIET))
            emit_call(decoder, sink, call, launches);
        return;
    }
    if (launches || row.sorts & (FP_CALL_CAPTURE_BEGIN | FP_CALL_CAPTURE_END)) {
        struct settling settling = { decoder, sink };
        fp_nested_calls_driver_call(decoder->nested, call, settle_driver_call, &settling);
    } else if (all) {
        emit_call(decoder, sink, call, false);
    }
}

static void read_call(const struct reading *reading) {
    struct fp_call_record call = {
        .domain = reading->kind->domain,
        .cbid = (uint32_t)get(reading, FP_TWIN_CBID),
        .start = get(reading, FP_TWIN_START),
        .end = get(reading, FP_TWIN_END),
        .thread = (uint32_t)get(reading, FP_TWIN_THREAD),
        .correlation = (uint32_t)get(reading, FP_TWIN_CORRELATION),
        .result = (uint32_t)get(reading, FP_TWIN_RESULT),
    };
    reading->decoder->seen.calls++;
    take_call(reading->decoder, reading->sink, &call);
}

// ---- The walk

static void (*const readers[FP_TWIN_SHAPES])(const struct reading *reading) = {
    [FP_TWIN_KERNEL] = read_kernel, [FP_TWIN_COPY] = read_memory_work,  [FP_TWIN_SET] = read_memory_work,
    [FP_TWIN_API] = read_call,      [FP_TWIN_EXTERNAL] = read_external,
};

static void lose(const struct fp_sink *sink, const struct fp_twin_kind *kind, enum fp_loss reason) {
    sink->lose(sink->owner, kind ? kind->kind : FP_KIND_COUNT, reason, 1);
}

// A record that has `room` bytes to the next one or to the end of the buffer.
static void read_record(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_twin_surroundings *around, const uint8_t *at, size_t room) {
    const struct fp_twin_layout *layout = decoder->options.layout;
    const struct fp_twin_kind *kind = fp_twin_kind_of(layout, fp_twin_number(at));
    struct reading reading = { decoder, sink, kind, at };
    fp_log(decoder->options.log_name, "record of kind %u, %zu bytes to the next%s", fp_twin_number(at), room,
           kind ? "" : ", not known");
    if (!kind)
        lose(sink, NULL, FP_LOSS_UNKNOWN_KIND);
    else if (room < decoder->read_bytes[kind->shape] || !fp_twin_is_plausible(layout, around, kind, at))
        lose(sink, kind, FP_LOSS_MALFORMED);
    else
        readers[kind->shape](&reading);
}

// What the iterator does not step over: the record there, and all behind it, of which nobody knows the
// number.
static void lose_rest(struct fp_twin_decoder *decoder, const struct fp_sink *sink, const uint8_t *at,
                      size_t left, int status) {
    const struct fp_twin_layout *layout = decoder->options.layout;
    char text[160];
    lose(sink, NULL, fp_twin_kind_of(layout, fp_twin_number(at)) ? FP_LOSS_MALFORMED : FP_LOSS_UNKNOWN_KIND);
    fp_log(decoder->options.log_name, "iteration ended with status %d, %zu bytes before the end", status,
           left);
    if (left <= layout->bytes[FP_TWIN_EXTERNAL])
        return; // hardly room for another
    sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, 1);
    snprintf(text, sizeof(text),
             "the iterator stops at a record of kind %u: up to %zu bytes behind it are lost",
             fp_twin_number(at), left);
    sink->note(sink->owner, text);
}

// A library whose records are known by their beginning alone shows how long they are by its steps.
static void learn_stride(struct fp_twin_decoder *decoder, const uint8_t *at, size_t stride) {
    const struct fp_twin_kind *kind = fp_twin_kind_of(decoder->options.layout, fp_twin_number(at));
    if (kind && (decoder->seen_strides[kind->shape] == 0 || stride < decoder->seen_strides[kind->shape]))
        decoder->seen_strides[kind->shape] = stride;
}

// How long the last record of a buffer is, behind which no step was made.
static size_t last_bytes(const struct fp_twin_decoder *decoder, const struct fp_twin_kind *kind,
                         size_t room) {
    const struct fp_twin_layout *layout = decoder->options.layout;
    if (!kind)
        return room;
    if (!layout->prefix_only[kind->shape])
        return layout->bytes[kind->shape];
    size_t seen = decoder->seen_strides[kind->shape];
    return seen ? seen : room <= FP_TWIN_ONE_RECORD ? room : layout->bytes[kind->shape];
}

// The last record that the iterator gave, and what lies behind it.
static void decode_tail(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                        const struct fp_twin_surroundings *around, const uint8_t *last, const uint8_t *end,
                        int status) {
    const struct fp_twin_layout *layout = decoder->options.layout;
    const struct fp_twin_kind *kind = fp_twin_kind_of(layout, fp_twin_number(last));
    size_t room = (size_t)(end - last), bytes = last_bytes(decoder, kind, room);
    if (room < bytes) {
        lose(sink, kind, FP_LOSS_MALFORMED); // cut off by the end of the buffer
        return;
    }
    read_record(decoder, sink, around, last, bytes);
    if (room - bytes < sizeof(uint32_t))
        return;
    lose_rest(decoder, sink, last + bytes, room - bytes, status);
}

static void decode_by_iterator(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                               const struct fp_twin_surroundings *around, uint8_t *buffer, size_t valid) {
    const uint8_t *end = buffer + valid, *at = NULL;
    void *next = NULL;
    int status;
    // No bound on the number of records: a call may bring three small ones, of 24 bytes and more.
    for (size_t count = 0; (status = decoder->options.next(buffer, valid, &next)) == 0 && next; count++) {
        if (fp_ablated("bound") && count == ABLATED_BOUND)
            break;
        uintptr_t least = at ? (uintptr_t)at + sizeof(uint32_t) : (uintptr_t)buffer;
        if ((uintptr_t)next < least || (uintptr_t)next > (uintptr_t)end - sizeof(uint32_t))
            break; // it went back, or left the buffer
        fp_keep_record(next);
        if (at) {
            learn_stride(decoder, at, (size_t)((uint8_t *)next - at));
            read_record(decoder, sink, around, at, (size_t)((uint8_t *)next - at));
        }
        at = next;
    }
    if (at)
        decode_tail(decoder, sink, around, at, end, status);
    else
        lose_rest(decoder, sink, buffer, valid, status);
}

// Does a record follow here, or the end? Tells a record with impossible times from bytes that look like one.
static bool is_followed(const struct fp_twin_layout *layout, const uint8_t *buffer, size_t valid, size_t at) {
    return valid - at < sizeof(uint32_t) || fp_twin_kind_of(layout, fp_twin_number(buffer + at));
}

// `placed`: a record must begin here, the one before it being known.
static bool is_record(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                      const uint8_t *buffer, size_t valid, size_t at, bool placed) {
    const struct fp_twin_kind *kind = fp_twin_kind_of(layout, fp_twin_number(buffer + at));
    if (!kind || layout->bytes[kind->shape] > valid - at ||
        !fp_twin_is_plausible(layout, around, kind, buffer + at))
        return false;
    return fp_twin_is_timely(layout, around, kind, buffer + at) ||
           (placed && is_followed(layout, buffer, valid, at + layout->bytes[kind->shape]));
}

// `bytes` bytes in which no record was found. One foreign record is one loss; of more nobody knows the
// number.
static void lose_gap(const struct fp_twin_decoder *decoder, const struct fp_sink *sink, const uint8_t *at,
                     size_t bytes) {
    const struct fp_twin_kind *kind = fp_twin_kind_of(decoder->options.layout, fp_twin_number(at));
    lose(sink, kind, kind ? FP_LOSS_MALFORMED : FP_LOSS_UNKNOWN_KIND);
    if (bytes > FP_TWIN_ONE_RECORD)
        sink->lose(sink->owner, FP_KIND_COUNT, FP_LOSS_UNCOUNTED, 1);
    fp_log(decoder->options.log_name, "%zu bytes passed over, kind %u at their head", bytes,
           fp_twin_number(at));
}

static void decode_by_size(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                           const struct fp_twin_surroundings *around, const uint8_t *buffer, size_t valid) {
    const struct fp_twin_layout *layout = decoder->options.layout;
    size_t at = 0, gap = 0; // where what is no record began; gap == at: nowhere
    while (at + sizeof(uint32_t) <= valid) {
        if (!is_record(layout, around, buffer, valid, at, gap == at)) {
            at += STEP;
            continue;
        }
        if (gap != at)
            lose_gap(decoder, sink, buffer + gap, at - gap);
        size_t bytes = layout->bytes[fp_twin_kind_of(layout, fp_twin_number(buffer + at))->shape];
        read_record(decoder, sink, around, buffer + at, bytes);
        gap = at += bytes;
    }
    if (gap + sizeof(uint32_t) <= valid)
        lose_gap(decoder, sink, buffer + gap, valid - gap);
}

void fp_twin_decode(struct fp_twin_decoder *decoder, const struct fp_sink *sink,
                    const struct fp_twin_surroundings *around, uint8_t *buffer, size_t valid) {
    if (valid < sizeof(uint32_t)) {
        if (valid)
            lose(sink, NULL, FP_LOSS_MALFORMED);
    } else if (decoder->options.next) {
        decode_by_iterator(decoder, sink, around, buffer, valid);
    } else {
        decode_by_size(decoder, sink, around, buffer, valid);
    }
}

void fp_twin_decode_end(struct fp_twin_decoder *decoder, const struct fp_sink *sink) {
    struct settling settling = { decoder, sink };
    decoder->ending = true;
    for (size_t at = 0; at < decoder->unnamed_count; at++) {
        struct fp_call_record call = decoder->unnamed[at];
        take_call(decoder, sink, &call);
    }
    decoder->unnamed_count = 0;
    fp_nested_calls_settle(decoder->nested, settle_driver_call, &settling);
}

void fp_twin_count_records(const struct fp_twin_layout *layout, const uint8_t *buffer, size_t valid,
                           uint64_t counts[FP_KIND_COUNT + 1]) {
    for (size_t at = 0; at + sizeof(uint32_t) <= valid;) {
        const struct fp_twin_kind *kind = fp_twin_kind_of(layout, fp_twin_number(buffer + at));
        if (!kind)
            return; // its size is not known, so neither is what follows
        if (kind->kind != FP_KIND_COUNT)
            counts[kind->kind]++;
        if (layout->prefix_only[kind->shape])
            return;
        at += layout->bytes[kind->shape];
    }
}

struct fp_twin_seen fp_twin_decoder_seen(const struct fp_twin_decoder *decoder) {
    return decoder->seen;
}

void fp_twin_decoder_watch(struct fp_twin_decoder *decoder,
                           void (*launch)(void *owner, uint32_t thread, uint64_t start, fp_vendor_id id),
                           void *owner) {
    decoder->launch = launch;
    decoder->launch_owner = owner;
}

struct fp_twin_decoder *fp_twin_decoder_new(const struct fp_twin_decoder_options *options) {
    struct fp_twin_decoder *decoder = calloc(1, sizeof(*decoder));
    struct fp_nested_calls *nested = fp_nested_calls_new();
    if (!decoder || !nested) {
        free(decoder);
        fp_nested_calls_free(nested);
        return NULL;
    }
    size_t names = sizeof(*decoder) - offsetof(struct fp_twin_decoder, keys);
    memset((char *)decoder + offsetof(struct fp_twin_decoder, keys), 0xFF, names); // all NO_NAME
    decoder->options = *options;
    decoder->nested = nested;
    for (int shape = 0; shape < FP_TWIN_SHAPES; shape++)
        decoder->read_bytes[shape] = fp_twin_bytes_read(options->layout, (enum fp_twin_shape)shape);
    return decoder;
}

void fp_twin_decoder_free(struct fp_twin_decoder *decoder) {
    if (!decoder)
        return;
    fp_nested_calls_free(decoder->nested);
    free(decoder->unnamed);
    free(decoder);
}
