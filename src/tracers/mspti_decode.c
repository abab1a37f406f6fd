// mspti_decode.c - MSPTI's records to events (mspti_decode.h).

#include "tracers/mspti_decode.h"

#include "base/array.h"
#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/id_map.h"
#include "tracers/mspti_abi.h"
#include "tracers/mspti_offset.h"
#include "tracers/mspti_walk.h"
#include "tracers/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 4096, WAITING_MAX = 1 << 16, EXTRAS = 5, CLEAN_ENOUGH = 16 };
#define SECOND_NS UINT64_C(1000000000)

// What a call may be the call of. A correlation id has one call; which sort is asked for shows by its device
// record.
enum sort { SORT_KERNEL, SORT_MEMORY, SORT_COLLECTIVE, SORTS };

struct call {
    uint64_t start, end, name;
    uint32_t thread;
    uint8_t scores[SORTS];
    bool present;
};

// All that is known of one correlation id.
struct waiting {
    uint64_t id;
    struct call best[SORTS];
    uint64_t span_start, span_end; // of the calls that lie in each other
    struct call apart;             // another call of this id, until it is known that none lies around it
    fp_framework_id framework[FP_ID_KIND_COUNT];
    uint8_t device; // bit per sort: a record of device work came
};

struct fp_mspti_decoder {
    struct fp_mspti_decoder_options options;
    struct fp_id_map *ids;
    struct waiting *waiting; // in the order in which they were first seen
    size_t count, capacity;
    uint32_t *slots; // open addressing: place in `waiting` + 1; 0: free
    size_t mask;
    uint64_t latest;
    struct fp_mspti_seen seen;
    struct fp_mspti_offsets offsets;
    bool is_told
        [FP_ID_KIND_COUNT]; // records name ids of this kind: its documents speak of CUSTOM0 alone [HEADER]
    bool strange_device;
};

uint64_t fp_mspti_earliest(uint64_t session_start) {
    return session_start > 10 * SECOND_NS ? session_start - 10 * SECOND_NS : 1;
}

uint64_t fp_mspti_latest(uint64_t now) {
    return now + SECOND_NS;
}

struct fp_mspti_decoder *fp_mspti_decoder_new(const struct fp_mspti_decoder_options *options) {
    struct fp_mspti_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    decoder->options = *options;
    decoder->ids = fp_id_map_new();
    decoder->slots = calloc(FIRST_SLOTS, sizeof(*decoder->slots));
    decoder->mask = FIRST_SLOTS - 1;
    decoder->is_told[FP_ID_OPERATOR] = true;
    if (decoder->ids && decoder->slots)
        return decoder;
    fp_mspti_decoder_free(decoder);
    return NULL;
}

void fp_mspti_decoder_free(struct fp_mspti_decoder *decoder) {
    if (!decoder)
        return;
    fp_id_map_free(decoder->ids);
    fp_mspti_offsets_free(&decoder->offsets);
    free(decoder->waiting);
    free(decoder->slots);
    free(decoder);
}

const struct fp_mspti_seen *fp_mspti_decoder_seen(const struct fp_mspti_decoder *decoder) {
    return &decoder->seen;
}

size_t fp_mspti_read_visible(const char *list, uint32_t visible[FP_MSPTI_VISIBLE_MAX]) {
    size_t count = 0;
    while (list && *list && count < FP_MSPTI_VISIBLE_MAX) {
        char *end;
        unsigned long number = strtoul(list, &end, 10);
        if (end != list && number < UINT32_MAX)
            visible[count++] = (uint32_t)number;
        list = end + strcspn(end, ",");
        list += *list == ',';
    }
    return count;
}

static const char *text_at(const struct fp_mspti_decoder *decoder, uint64_t address) {
    return decoder->options.text ? decoder->options.text(decoder->options.owner, address)
                                 : (const char *)(uintptr_t)address;
}

static fp_vendor_id narrow(struct fp_mspti_decoder *decoder, uint64_t id) {
    return fp_ablated("ids") ? (fp_vendor_id){ (uint32_t)id } : fp_id_map_get(decoder->ids, id);
}

// Where the library does not know a device's frequency, the raw counter comes out in place of a time [CODE].
static bool take_times(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                       uint64_t start, uint64_t end) {
    enum fp_loss loss = fp_record_judge_times(start, end);
    bool is_strange =
        start != 0 && (start < fp_mspti_earliest(decoder->options.session_start) || start > decoder->latest);
    if (loss == FP_LOSS_COUNT && is_strange && !fp_ablated("clock")) {
        decoder->seen.strange_times++;
        loss = FP_LOSS_MALFORMED;
    }
    if (loss != FP_LOSS_COUNT) {
        sink->lose(sink->owner, event->kind, loss, 1);
        return false;
    }
    event->start_ns = (int64_t)start;
    event->end_ns = (int64_t)end;
    return true;
}

// ---- What waits, by correlation id

static uint32_t *find_slot(const struct fp_mspti_decoder *decoder, uint64_t id) {
    size_t at = (size_t)(id * 0x9e3779b97f4a7c15u >> 32) & decoder->mask;
    while (decoder->slots[at] && decoder->waiting[decoder->slots[at] - 1].id != id)
        at = (at + 1) & decoder->mask;
    return &decoder->slots[at];
}

static bool fill_slots(struct fp_mspti_decoder *decoder, size_t slots) {
    if (slots != decoder->mask + 1) {
        uint32_t *bigger = calloc(slots, sizeof(*bigger));
        if (!bigger)
            return false;
        free(decoder->slots);
        decoder->slots = bigger;
        decoder->mask = slots - 1;
    } else {
        memset(decoder->slots, 0, slots * sizeof(*decoder->slots));
    }
    for (size_t at = 0; at < decoder->count; at++)
        *find_slot(decoder, decoder->waiting[at].id) = (uint32_t)at + 1;
    return true;
}

// When the first call of those that wait began, or a little before.
static uint64_t earliest_waiting(const struct fp_mspti_decoder *decoder) {
    uint64_t earliest = UINT64_MAX;
    for (size_t at = 0; at < decoder->count; at++) {
        const struct call *call = &decoder->waiting[at].best[SORT_KERNEL];
        if (call->present && call->start < earliest)
            earliest = call->start;
    }
    return earliest == UINT64_MAX ? 0 : fp_mspti_earliest(earliest);
}

static void settle_first(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, size_t count);

// The older half is handed over: the records of a call do not lie so far apart.
static void settle_half(struct fp_mspti_decoder *decoder, const struct fp_sink *sink) {
    size_t half = decoder->count / 2;
    settle_first(decoder, sink, half);
    decoder->count -= half;
    memmove(decoder->waiting, decoder->waiting + half, decoder->count * sizeof(*decoder->waiting));
    fill_slots(decoder, decoder->mask + 1);
    if (decoder->options.ids)
        fp_mspti_ids_forget(decoder->options.ids, earliest_waiting(decoder));
}

static struct waiting *waiting_of(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, uint64_t id) {
    uint32_t *slot = find_slot(decoder, id);
    if (*slot)
        return &decoder->waiting[*slot - 1];
    if (decoder->count == WAITING_MAX)
        settle_half(decoder, sink);
    if (!fp_array_reserve(&decoder->waiting, decoder->count, &decoder->capacity, sizeof(*decoder->waiting)))
        return NULL;
    if (decoder->count * 2 > decoder->mask && !fill_slots(decoder, (decoder->mask + 1) * 2))
        return NULL;
    struct waiting *entry = &decoder->waiting[decoder->count++];
    *entry = (struct waiting){ .id = id };
    *find_slot(decoder, id) = (uint32_t)decoder->count;
    return entry;
}

// ---- Host calls

struct word {
    const char *text;
    uint8_t score;
};

// The names that tell a call of each sort; 0: it may be one all the same, but another is preferred. Vendor's
// spellings differ by level [CODE]; of collectives the library's own functions are meant [GUESS].
static uint8_t score_of(const char *name, enum sort sort) {
    static const struct word words[SORTS][9] = {
        [SORT_KERNEL] = { { "LaunchKernel", 3 },
                          { "ExecuteKernel", 3 },
                          { "KernelLaunch", 2 },
                          { "aclmdlRIExecute", 2 },
                          { "aclmdlExecute", 2 } },
        [SORT_MEMORY] = { { "Memcpy", 3 }, { "MemCopy", 3 }, { "Memset", 3 }, { "MemSet", 3 } },
        [SORT_COLLECTIVE] = { { "HcclAll", 3 }, // AllReduce, AllGather, AlltoAll
                              { "HcclBroadcast", 3 },
                              { "HcclReduce", 3 },
                              { "HcclScatter", 3 },
                              { "HcclSend", 3 },
                              { "HcclRecv", 3 },
                              { "HcclBatchSendRecv", 3 },
                              { "HcclBarrier", 3 } },
    };
    if (sort == SORT_COLLECTIVE && name && name[0] != 'H') // as nearly all are
        return 0;
    for (const struct word *word = words[sort]; name && word->text; word++)
        if (strstr(name, word->text))
            return word->score;
    return 0;
}

static bool is_set(const char *name) {
    return strstr(name, "Memset") || strstr(name, "MemSet");
}

// [GUESS] named after torch_npu's graphs; what is captured starts nothing.
static uint32_t capture_field(const char *name) {
    if (!name || strncmp(name, "aclmdlRICapture", 15) != 0)
        return 0;
    return strcmp(name + 15, "Begin") == 0 ? FP_BEGINS_CAPTURE
           : strcmp(name + 15, "End") == 0 ? FP_ENDS_CAPTURE
                                           : 0;
}

static void emit_call(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, const struct call *call,
                      fp_vendor_id id, uint32_t fields) {
    const char *name = text_at(decoder, call->name);
    struct fp_event event = {
        .kind = FP_KIND_RUNTIME,
        .fields = capture_field(name) | fields,
        .start_ns = (int64_t)call->start,
        .end_ns = (int64_t)call->end,
        .vendor_id = id,
        .name = sink->name(sink->owner, name, FP_NAME_PLAIN),
        .u.call = { .thread = call->thread },
    };
    sink->event(sink->owner, &event);
}

// Unless it has turned out to be a level of the launch after all.
static void emit_apart(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct waiting *entry) {
    const struct call *held = &entry->apart, *known = &entry->best[SORT_KERNEL];
    bool is_level = known->present && held->thread == known->thread && held->start <= entry->span_end &&
                    held->end >= entry->span_start;
    if (held->present && !is_level)
        emit_call(decoder, sink, held, (fp_vendor_id){ 0 }, 0);
    entry->apart.present = false;
}

// A call that shares its id with a launch without being a part of it: MSPTI gives every call the id of its
// thread's last launch, or 0 [CODE]. It started nothing, so it carries none. Of its levels the outermost is
// shown, which older releases do not tell by the kind.
static void set_apart(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct waiting *entry,
                      const struct call *call, uint32_t kind) {
    struct call *held = &entry->apart;
    if (decoder->options.all_calls) {
        emit_call(decoder, sink, call, (fp_vendor_id){ 0 }, false);
        return;
    }
    if (kind == FP_MSPTI_NODE_API || kind == FP_MSPTI_RUNTIME_API)
        return;
    bool is_level =
        held->present && held->thread == call->thread && call->start <= held->end && call->end >= held->start;
    if (!is_level)
        emit_apart(decoder, sink, entry);
    if (!held->present || call->end - call->start > held->end - held->start)
        *held = *call;
}

static bool is_better(const struct call *call, const struct call *than, enum sort sort) {
    if (!than->present || call->scores[sort] != than->scores[sort])
        return !than->present || call->scores[sort] > than->scores[sort];
    return call->end - call->start > than->end - than->start; // the outer one
}

static uint8_t highest(const struct call *call) {
    uint8_t highest = 0;
    for (int sort = 0; sort < SORTS; sort++)
        highest = call->scores[sort] > highest ? call->scores[sort] : highest;
    return highest;
}

// Of two calls apart the launch has drawn the id, or the collective; else the one that moves memory, which draws
// ids where it is interposed.
static bool is_stronger(const struct call *call, const struct waiting *entry) {
    static const enum sort order[] = { SORT_KERNEL, SORT_COLLECTIVE, SORT_MEMORY };
    for (size_t at = 0; at < SORTS; at++) {
        uint8_t its = call->scores[order[at]], known = entry->best[order[at]].scores[order[at]];
        if (its || known)
            return its > known;
    }
    return false;
}

static void join_call(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct waiting *entry,
                      const struct call *call, uint32_t kind) {
    const struct call *known = &entry->best[SORT_KERNEL];
    bool apart = entry->id == 0 ||
                 (known->present && (call->thread != known->thread || call->start > entry->span_end ||
                                     call->end < entry->span_start));
    if (apart && (entry->id == 0 || !is_stronger(call, entry))) {
        set_apart(decoder, sink, entry, call, kind);
        return;
    }
    struct call before = *known;
    if (apart) // what was taken for the call so far is another
        memset(entry->best, 0, sizeof(entry->best));
    if (!entry->best[SORT_KERNEL].present) {
        entry->span_start = call->start;
        entry->span_end = call->end;
    }
    entry->span_start = call->start < entry->span_start ? call->start : entry->span_start;
    entry->span_end = call->end > entry->span_end ? call->end : entry->span_end;
    for (int sort = 0; sort < SORTS; sort++)
        if (is_better(call, &entry->best[sort], (enum sort)sort))
            entry->best[sort] = *call;
    if (apart)
        set_apart(decoder, sink, entry, &before, FP_MSPTI_API);
}

static void decode_call(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, const uint8_t *record) {
    struct fp_event event = { .kind = FP_KIND_RUNTIME };
    uint64_t id = fp_mspti_wide(record, FP_MSPTI_API_ID);
    struct call call = {
        .start = fp_mspti_wide(record, FP_MSPTI_API_START),
        .end = fp_mspti_wide(record, FP_MSPTI_API_END),
        .name = fp_mspti_wide(record, FP_MSPTI_API_NAME),
        .thread = fp_mspti_word(record, FP_MSPTI_API_THREAD),
        .present = true,
    };
    const char *name = text_at(decoder, call.name);
    if (!take_times(decoder, sink, &event, call.start, call.end))
        return;
    for (int sort = 0; sort < SORTS; sort++)
        call.scores[sort] = score_of(name, (enum sort)sort);
    if (call.scores[SORT_MEMORY] && fp_mspti_word(record, 0) != FP_MSPTI_RUNTIME_API)
        (*(is_set(name) ? &decoder->seen.set_calls : &decoder->seen.copy_calls))++;
    decoder->seen.collective_calls += call.scores[SORT_COLLECTIVE] > 0;
    struct waiting *entry = waiting_of(decoder, sink, id);
    if (!entry || fp_ablated("levels"))
        emit_call(decoder, sink, &call, narrow(decoder, id), highest(&call) > 0 ? FP_IS_LAUNCH : 0);
    else
        join_call(decoder, sink, entry, &call, fp_mspti_word(record, 0));
}

// ---- Operators

static void decode_external(struct fp_mspti_decoder *decoder, const struct fp_sink *sink,
                            const uint8_t *record) {
    uint32_t kind = fp_mspti_word(record, FP_MSPTI_EXTERNAL_KIND);
    uint64_t id = fp_mspti_wide(record, FP_MSPTI_EXTERNAL_CORRELATION);
    struct waiting *entry =
        id && (kind == FP_MSPTI_CUSTOM0 || kind == FP_MSPTI_CUSTOM1) ? waiting_of(decoder, sink, id) : NULL;
    if (!entry)
        return;
    enum fp_id_kind ours = kind == FP_MSPTI_CUSTOM0 ? FP_ID_OPERATOR : FP_ID_RANGE;
    entry->framework[ours] = (fp_framework_id){ fp_mspti_wide(record, FP_MSPTI_EXTERNAL_ID), true };
    decoder->is_told[ours] = true;
}

// MSPTI's own word, where it is proven. Else what was on top in the call's own thread in the middle of the call,
// which is furthest from whatever came before and after it, but not before MSPTI had on top what it says, nor
// after.
static fp_framework_id owner_of(const struct fp_mspti_decoder *decoder, const struct waiting *entry,
                                enum fp_id_kind kind) {
    const struct call *call = &entry->best[SORT_KERNEL];
    fp_framework_id told = entry->framework[kind];
    struct fp_mspti_ids *ids = decoder->options.ids;
    struct fp_mspti_span span;
    if (!ids || !call->present || fp_ablated("owners") ||
        fp_mspti_ids_judge(ids, kind, call->thread, told, decoder->is_told[kind]) == FP_MSPTI_TRUE)
        return told;
    uint64_t now = call->start + (call->end - call->start) / 2;
    if (fp_ablated("clocks"))
        return fp_mspti_ids_at(ids, kind, call->thread, now);
    now += fp_ablated("offset") ? 0 : (uint64_t)fp_mspti_offset_at(&decoder->offsets, now);
    if (told.present && fp_mspti_ids_span(ids, kind, told.value, &span))
        now = now < span.pushed ? span.pushed : now >= span.popped ? span.popped - 1 : now;
    return fp_mspti_ids_at(ids, kind, call->thread, now);
}

static void compare_clock(struct fp_mspti_decoder *decoder, const struct waiting *entry, enum fp_id_kind kind,
                          bool is_clean) {
    const struct call *call = &entry->best[SORT_KERNEL];
    fp_framework_id told = entry->framework[kind];
    struct fp_mspti_span span;
    if (told.present && call->present && highest(call) > 0 &&
        fp_mspti_ids_span(decoder->options.ids, kind, told.value, &span) && span.thread == call->thread &&
        span.popped != UINT64_MAX && span.is_clean == is_clean)
        fp_mspti_offsets_add(&decoder->offsets, call->start, is_clean ? call->end : call->start, span.pushed,
                             span.popped);
}

// A call that carries an id of its own thread was made after the push of it and before its pop. Where another
// thread took it off, this is less certain, and used only where there is little else.
static void compare_clocks(struct fp_mspti_decoder *decoder, size_t count) {
    bool is_clean = true;
    fp_mspti_offsets_begin(&decoder->offsets);
    do {
        for (size_t at = 0; at < count; at++)
            for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++)
                compare_clock(decoder, &decoder->waiting[at], (enum fp_id_kind)kind, is_clean);
        is_clean = !is_clean;
    } while (!is_clean && decoder->offsets.sample_count < CLEAN_ENOUGH);
    fp_mspti_offsets_settle(&decoder->offsets);
}

// By the device's records, where there are some; else by what the calls are named. That a collective must start
// device work is not known, so one without a record is not missed.
static enum sort sort_of(const struct waiting *entry) {
    const struct call *kernel = &entry->best[SORT_KERNEL], *memory = &entry->best[SORT_MEMORY],
                      *collective = &entry->best[SORT_COLLECTIVE];
    if (entry->device)
        return entry->device == 1 << SORT_MEMORY       ? SORT_MEMORY
               : entry->device == 1 << SORT_COLLECTIVE ? SORT_COLLECTIVE
                                                       : SORT_KERNEL;
    if (collective->scores[SORT_COLLECTIVE])
        return SORT_COLLECTIVE;
    return memory->scores[SORT_MEMORY] > kernel->scores[SORT_KERNEL] ? SORT_MEMORY : SORT_KERNEL;
}

static void settle(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct waiting *entry) {
    emit_apart(decoder, sink, entry);
    fp_vendor_id id = narrow(decoder, entry->id);
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++) {
        fp_framework_id owner = owner_of(decoder, entry, (enum fp_id_kind)kind);
        if (owner.present)
            sink->correlate(sink->owner, id, (enum fp_id_kind)kind, owner.value);
    }
    if (!entry->best[SORT_KERNEL].present || fp_ablated("levels"))
        return;
    enum sort sort = sort_of(entry);
    const struct call *call = &entry->best[sort];
    const char *name = text_at(decoder, call->name);
    bool is_recorded =
        sort == SORT_KERNEL ||
        (sort == SORT_MEMORY && (name && is_set(name) ? decoder->options.sets : decoder->options.copies));
    bool is_launch = entry->device || (call->scores[sort] && is_recorded);
    uint32_t move = sort == SORT_MEMORY ? FP_MAY_MOVE_NOTHING : 0;
    emit_call(decoder, sink, call, id, is_launch ? FP_IS_LAUNCH | move : 0);
}

static void settle_first(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, size_t count) {
    if (decoder->options.ids) {
        fp_mspti_ids_read(decoder->options.ids);
        compare_clocks(decoder, count);
    }
    for (size_t at = 0; at < count; at++)
        settle(decoder, sink, &decoder->waiting[at]);
}

// ---- Device work

static uint32_t device_of(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, uint32_t physical) {
    const struct fp_mspti_decoder_options *options = &decoder->options;
    for (uint32_t at = 0; at < options->visible_count; at++)
        if (options->visible[at] == physical)
            return fp_ablated("devices") ? physical : at;
    if (options->visible_count && !decoder->strange_device)
        sink->note(sink->owner, "a device is not in ASCEND_RT_VISIBLE_DEVICES: its number is the machine's");
    decoder->strange_device |= options->visible_count > 0;
    return physical;
}

static void begin_work(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                       uint64_t id, enum sort sort) {
    struct waiting *entry = id ? waiting_of(decoder, sink, id) : NULL;
    if (entry)
        entry->device |= (uint8_t)(1 << sort);
    event->vendor_id = narrow(decoder, id);
}

static void set_place(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, struct fp_event *event,
                      uint32_t device, uint32_t stream) {
    event->device = device_of(decoder, sink, device);
    event->stream = stream == FP_MSPTI_NO_STREAM ? 0 : stream;
    event->fields |= stream == FP_MSPTI_NO_STREAM ? 0 : FP_HAS_STREAM;
}

static void add_text(const struct fp_mspti_decoder *decoder, const struct fp_sink *sink,
                     struct fp_extra *extras, size_t *count, const char *key, uint64_t address) {
    const char *text = text_at(decoder, address);
    if (text && *text)
        extras[(*count)++] = (struct fp_extra){ .key = sink->name(sink->owner, key, FP_NAME_PLAIN),
                                                .type = FP_EXTRA_TEXT,
                                                .value.text = sink->name(sink->owner, text, FP_NAME_PLAIN) };
}

static void add_number(const struct fp_sink *sink, struct fp_extra *extras, size_t *count, const char *key,
                       uint64_t number) {
    extras[(*count)++] = (struct fp_extra){ .key = sink->name(sink->owner, key, FP_NAME_PLAIN),
                                            .type = FP_EXTRA_INTEGER,
                                            .value.integer = (int64_t)number };
}

static void decode_kernel(struct fp_mspti_decoder *decoder, const struct fp_sink *sink,
                          const uint8_t *record) {
    struct fp_extra extras[EXTRAS];
    struct fp_event event = { .kind = FP_KIND_KERNEL, .extras = extras };
    begin_work(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_KERNEL_ID), SORT_KERNEL);
    if (!take_times(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_KERNEL_START),
                    fp_mspti_wide(record, FP_MSPTI_KERNEL_END)))
        return;
    set_place(decoder, sink, &event, fp_mspti_word(record, FP_MSPTI_KERNEL_DEVICE),
              fp_mspti_word(record, FP_MSPTI_KERNEL_STREAM));
    event.name = sink->name(sink->owner, text_at(decoder, fp_mspti_wide(record, FP_MSPTI_KERNEL_NAME)),
                            FP_NAME_MANGLED);
    add_text(decoder, sink, extras, &event.extra_count, "task type",
             fp_mspti_wide(record, FP_MSPTI_KERNEL_TYPE));
    sink->event(sink->owner, &event);
}

static void decode_copy(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, const uint8_t *record) {
    static const char *const words[FP_MSPTI_COPY_KINDS] = {
        // torch's where the sort of host memory is not told, so that tools read both alike
        "Memcpy",
        [FP_MSPTI_HTOH] = "Memcpy HtoH (Host -> Host)",
        [FP_MSPTI_HTOD] = "Memcpy HtoD (Host -> Device)",
        [FP_MSPTI_DTOH] = "Memcpy DtoH (Device -> Host)",
        [FP_MSPTI_DTOD] = "Memcpy DtoD (Device -> Device)",
    };
    uint32_t kind = fp_mspti_word(record, FP_MSPTI_COPY_KIND);
    const char *word = kind < FP_MSPTI_COPY_KINDS ? words[kind] : NULL;
    struct fp_event event = {
        .kind = FP_KIND_MEMCPY,
        .fields = FP_HAS_BYTES | (record[FP_MSPTI_MEM_ASYNC] ? FP_IS_ASYNC : 0),
        .u.copy.bytes = fp_mspti_wide(record, FP_MSPTI_MEM_BYTES),
    };
    decoder->seen.copies++;
    begin_work(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_MEM_ID), SORT_MEMORY);
    if (!take_times(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_MEM_START),
                    fp_mspti_wide(record, FP_MSPTI_MEM_END)))
        return;
    set_place(decoder, sink, &event, fp_mspti_word(record, FP_MSPTI_MEM_DEVICE),
              fp_mspti_word(record, FP_MSPTI_MEM_STREAM));
    event.name = sink->name(sink->owner, word ? word : words[0], FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

static void decode_set(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, const uint8_t *record) {
    struct fp_event event = {
        .kind = FP_KIND_MEMSET,
        .fields = FP_HAS_BYTES | FP_HAS_VALUE | (record[FP_MSPTI_MEM_ASYNC] ? FP_IS_ASYNC : 0),
        .u.set = { .bytes = fp_mspti_wide(record, FP_MSPTI_MEM_BYTES),
                   .value = fp_mspti_word(record, FP_MSPTI_SET_VALUE) },
    };
    decoder->seen.sets++;
    begin_work(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_MEM_ID), SORT_MEMORY);
    if (!take_times(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_MEM_START),
                    fp_mspti_wide(record, FP_MSPTI_MEM_END)))
        return;
    set_place(decoder, sink, &event, fp_mspti_word(record, FP_MSPTI_MEM_DEVICE),
              fp_mspti_word(record, FP_MSPTI_MEM_STREAM));
    event.name = sink->name(sink->owner, "Memset (Device)", FP_NAME_PLAIN);
    sink->event(sink->owner, &event);
}

// A collective is device work like a kernel, as NCCL's are on CUDA.
static void decode_communication(struct fp_mspti_decoder *decoder, const struct fp_sink *sink,
                                 const uint8_t *record) {
    static const char *const types[] = { "INT8",   "INT16", "INT32",  "FP16",    "FP32",    "INT64",
                                         "UINT64", "UINT8", "UINT16", "UINT32",  "FP64",    "BFP16",
                                         "INT128", NULL,    "HIF8",   "FP8E4M3", "FP8E5M2", "FP8E8M0" };
    struct fp_extra extras[EXTRAS];
    struct fp_event event = { .kind = FP_KIND_KERNEL, .extras = extras };
    uint32_t type = fp_mspti_word(record, FP_MSPTI_COMM_TYPE);
    decoder->seen.collectives++;
    begin_work(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_COMM_ID), SORT_COLLECTIVE);
    if (!take_times(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_COMM_START),
                    fp_mspti_wide(record, FP_MSPTI_COMM_END)))
        return;
    set_place(decoder, sink, &event, fp_mspti_word(record, FP_MSPTI_COMM_DEVICE),
              fp_mspti_word(record, FP_MSPTI_COMM_STREAM));
    event.name =
        sink->name(sink->owner, text_at(decoder, fp_mspti_wide(record, FP_MSPTI_COMM_NAME)), FP_NAME_PLAIN);
    add_number(sink, extras, &event.extra_count, "count", fp_mspti_wide(record, FP_MSPTI_COMM_COUNT));
    add_text(decoder, sink, extras, &event.extra_count, "algorithm",
             fp_mspti_wide(record, FP_MSPTI_COMM_ALGORITHM));
    add_text(decoder, sink, extras, &event.extra_count, "group", fp_mspti_wide(record, FP_MSPTI_COMM_GROUP));
    if (type < sizeof(types) / sizeof(types[0]) && types[type])
        extras[event.extra_count++] =
            (struct fp_extra){ .key = sink->name(sink->owner, "data type", FP_NAME_PLAIN),
                               .type = FP_EXTRA_TEXT,
                               .value.text = sink->name(sink->owner, types[type], FP_NAME_PLAIN) };
    sink->event(sink->owner, &event);
}

static void decode_hccl(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, const uint8_t *record) {
    struct fp_extra extras[EXTRAS];
    struct fp_event event = { .kind = FP_KIND_KERNEL, .extras = extras }; // it carries no correlation id
    decoder->seen.collectives++;
    if (!take_times(decoder, sink, &event, fp_mspti_wide(record, FP_MSPTI_HCCL_START),
                    fp_mspti_wide(record, FP_MSPTI_HCCL_END)))
        return;
    set_place(decoder, sink, &event, fp_mspti_word(record, FP_MSPTI_HCCL_DEVICE),
              fp_mspti_word(record, FP_MSPTI_HCCL_STREAM));
    event.name =
        sink->name(sink->owner, text_at(decoder, fp_mspti_wide(record, FP_MSPTI_HCCL_NAME)), FP_NAME_PLAIN);
    add_text(decoder, sink, extras, &event.extra_count, "group", fp_mspti_wide(record, FP_MSPTI_HCCL_GROUP));
    sink->event(sink->owner, &event);
}

// ---- Buffers

static void (*const decoders[FP_MSPTI_KINDS])(struct fp_mspti_decoder *, const struct fp_sink *,
                                              const uint8_t *) = {
    [FP_MSPTI_KERNEL] = decode_kernel,    [FP_MSPTI_API] = decode_call,
    [FP_MSPTI_HCCL] = decode_hccl,        [FP_MSPTI_MEMSET] = decode_set,
    [FP_MSPTI_MEMCPY] = decode_copy,      [FP_MSPTI_EXTERNAL] = decode_external,
    [FP_MSPTI_ACL_API] = decode_call,     [FP_MSPTI_NODE_API] = decode_call,
    [FP_MSPTI_RUNTIME_API] = decode_call, [FP_MSPTI_COMMUNICATION] = decode_communication,
};

static void decode_record(struct fp_mspti_decoder *decoder, const struct fp_sink *sink,
                          const uint8_t *record) {
    uint32_t kind = fp_mspti_word(record, 0);
    fp_log("mspti", "record of kind %u, %zu bytes", kind, fp_mspti_record_bytes(kind));
    if (kind < FP_MSPTI_KINDS && decoders[kind])
        decoders[kind](decoder, sink, record);
}

void fp_mspti_decode(struct fp_mspti_decoder *decoder, const struct fp_sink *sink, uint8_t *bytes,
                     size_t valid, uint64_t now) {
    struct fp_mspti_walk walk = {
        .bytes = bytes,
        .valid = valid,
        .earliest = fp_mspti_earliest(decoder->options.session_start),
        .latest = fp_mspti_latest(now),
    };
    enum fp_mspti_step step;
    uint8_t *record = NULL;
    void *theirs = NULL;
    decoder->latest = walk.latest;
    if (decoder->options.next) {
        while (decoder->options.next(bytes, valid, &theirs) == FP_MSPTI_SUCCESS)
            decode_record(decoder, sink, theirs);
        return;
    }
    for (size_t from = 0; (step = fp_mspti_walk_next(&walk, &record)) != FP_MSPTI_STEP_END; from = walk.at) {
        if (step == FP_MSPTI_STEP_RECORD) {
            decode_record(decoder, sink, record);
            continue;
        }
        fp_log("mspti", "%zu bytes passed over, kind %u at their head", walk.at - from,
               walk.at - from < sizeof(uint32_t) ? 0 : fp_mspti_word(bytes, from));
        sink->lose(sink->owner, FP_KIND_COUNT,
                   step == FP_MSPTI_STEP_UNKNOWN ? FP_LOSS_UNKNOWN_KIND
                   : step == FP_MSPTI_STEP_CUT   ? FP_LOSS_MALFORMED
                                                 : FP_LOSS_UNCOUNTED,
                   1);
    }
}

void fp_mspti_decode_end(struct fp_mspti_decoder *decoder, const struct fp_sink *sink) {
    char text[200];
    settle_first(decoder, sink, decoder->count);
    decoder->count = 0;
    fill_slots(decoder, decoder->mask + 1);
    if (decoder->seen.strange_times == 0)
        return;
    snprintf(text, sizeof(text),
             "%" PRIu64
             " records carry times that are not of this recording and are left out: MSPTI writes a "
             "device's raw counter where it does not know its rate",
             decoder->seen.strange_times);
    sink->note(sink->owner, text);
}
