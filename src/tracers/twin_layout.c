// twin_layout.c - the judge of layouts (twin_layout.h).

#include "tracers/twin_layout.h"

#include "tracers/keep.h"
#include "tracers/records.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    CBIDS = 4096,     // callback ids are small numbers; CUPTI's end at 879
    BLOCK_MAX = 4096, // threads of a block along one axis
    GRID_YZ_MAX = 1 << 20,
    DEVICES_MAX = 1024,
    EXTERNAL_KINDS = 5,
    EXTERNAL_IDS_ENOUGH = 4,
    IDS_ENOUGH_OF_A_PART = 16,
    STEP = 8, // records lie at multiples of it
};

bool fp_twin_is_readable(uint64_t address) {
    char byte;
    struct iovec here = { &byte, 1 }, there = { (void *)(uintptr_t)address, 1 };
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
        return true;
    if (errno != ENOSYS && errno != EPERM)
        return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return msync((void *)(uintptr_t)(address / page * page), page, MS_ASYNC) == 0;
}

// ---- One record

static uint64_t get(const struct fp_twin_layout *layout, const struct fp_twin_kind *kind,
                    const uint8_t *record, enum fp_twin_field field) {
    return fp_twin_get(layout, kind->shape, record, field);
}

static bool within(uint64_t value, uint64_t low, uint64_t high) {
    return value >= low && value <= high;
}

static bool is_call(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                    const struct fp_twin_kind *kind, const uint8_t *record) {
    uint64_t process = get(layout, kind, record, FP_TWIN_PROCESS);
    return within(get(layout, kind, record, FP_TWIN_CBID), 1, CBIDS) &&
           get(layout, kind, record, FP_TWIN_THREAD) != 0 &&
           (around->process == 0 || process == around->process);
}

static bool is_kernel(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                      const struct fp_twin_kind *kind, const uint8_t *record) {
    if (!within(get(layout, kind, record, FP_TWIN_GRID_X), 1, INT32_MAX))
        return false;
    for (int axis = 0; axis < 3; axis++) {
        if (axis && !within(get(layout, kind, record, FP_TWIN_GRID_X + axis), 1, GRID_YZ_MAX))
            return false;
        if (!within(get(layout, kind, record, FP_TWIN_BLOCK_X + axis), 1, BLOCK_MAX))
            return false;
    }
    uint64_t name = get(layout, kind, record, FP_TWIN_NAME); // NULL for a graph's kernels
    return name == 0 ||
           (around->readable ? around->readable(around->owner, name) : fp_twin_is_readable(name));
}

static bool is_memory_work(const struct fp_twin_layout *layout, const struct fp_twin_kind *kind,
                           const uint8_t *record) {
    if (get(layout, kind, record, FP_TWIN_BYTES) == 0 ||
        get(layout, kind, record, FP_TWIN_TO_KIND) >= FP_MEMORY_KINDS)
        return false;
    return kind->shape == FP_TWIN_SET ||
           (within(get(layout, kind, record, FP_TWIN_COPY_KIND), 1, FP_COPY_KINDS - 1) &&
            get(layout, kind, record, FP_TWIN_FROM_KIND) < FP_MEMORY_KINDS);
}

bool fp_twin_is_plausible(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                          const struct fp_twin_kind *kind, const uint8_t *record) {
    if (get(layout, kind, record, FP_TWIN_CORRELATION) == 0)
        return false;
    if (kind->shape == FP_TWIN_EXTERNAL)
        return within(get(layout, kind, record, FP_TWIN_EXTERNAL_KIND), 1, EXTERNAL_KINDS);
    if (kind->shape == FP_TWIN_API)
        return is_call(layout, around, kind, record);
    uint64_t devices = around->device_count ? around->device_count : DEVICES_MAX;
    if (get(layout, kind, record, FP_TWIN_DEVICE) >= devices)
        return false;
    return kind->shape == FP_TWIN_KERNEL ? is_kernel(layout, around, kind, record)
                                         : is_memory_work(layout, kind, record);
}

bool fp_twin_is_timely(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                       const struct fp_twin_kind *kind, const uint8_t *record) {
    if (kind->shape == FP_TWIN_EXTERNAL)
        return true;
    uint64_t start = get(layout, kind, record, FP_TWIN_START), end = get(layout, kind, record, FP_TWIN_END);
    enum fp_loss flaw = fp_record_judge_times(start, end);
    if (flaw == FP_LOSS_NO_TIMING)
        return true;
    return flaw == FP_LOSS_COUNT &&
           (around->latest == 0 || (start >= around->earliest && end <= around->latest));
}

// ---- The iterator's own steps

static size_t stride_of(fp_twin_next_fn next, uint32_t number, uint32_t filler) {
    // A zeroed buffer with `number` first and a known kind at every later multiple of 8: wherever the
    // iterator lands second, it finds a record there.
    enum { WORDS = 128 };
    uint64_t words[WORDS];
    for (size_t at = 0; at < WORDS; at++)
        words[at] = filler;
    words[0] = number;
    uint8_t *bytes = (uint8_t *)words;
    void *first = NULL;
    if (next(bytes, sizeof(words), &first) != 0 || first != bytes)
        return 0;
    void *second = first;
    if (next(bytes, sizeof(words), &second) != 0 || (uintptr_t)second <= (uintptr_t)bytes ||
        (uintptr_t)second > (uintptr_t)bytes + sizeof(words) - sizeof(uint64_t))
        return 0;
    return (size_t)((uint8_t *)second - bytes);
}

uint16_t fp_twin_bytes_read(const struct fp_twin_layout *layout, enum fp_twin_shape shape) {
    uint16_t end = 0;
    for (int field = 0; field < FP_TWIN_FIELDS; field++) {
        struct fp_twin_place place = layout->place[shape][field];
        if (place.bytes && place.offset + place.bytes > end)
            end = (uint16_t)(place.offset + place.bytes);
    }
    return end;
}

static void forget_tail(struct fp_twin_layout *layout, enum fp_twin_shape shape) {
    for (int field = 0; field < FP_TWIN_FIELDS; field++) {
        struct fp_twin_place *place = &layout->place[shape][field];
        if (place->offset + place->bytes > layout->sure_bytes[shape])
            place->bytes = 0;
    }
}

int fp_twin_probe(struct fp_twin_layout *layout, fp_twin_next_fn next, struct fp_error *err) {
    uint32_t filler = 0;
    int differing = 0;
    for (size_t at = 0; at < layout->kind_count; at++)
        if (layout->kinds[at].shape == FP_TWIN_API)
            filler = layout->kinds[at].number;
    for (size_t at = 0; at < layout->kind_count; at++) {
        const struct fp_twin_kind *kind = &layout->kinds[at];
        size_t stride = stride_of(next, kind->number, filler);
        layout->prefix_only[kind->shape] &= stride == 0;
        if (stride == 0 || stride == layout->bytes[kind->shape])
            continue;
        if (stride < layout->sure_bytes[kind->shape]) {
            fp_error_set(err, "its records of kind %s have %zu bytes, fewer than the %u that are read",
                         kind->word, stride, layout->sure_bytes[kind->shape]);
            return -ENOTSUP;
        }
        layout->bytes[kind->shape] = (uint16_t)stride;
        forget_tail(layout, kind->shape);
        differing++;
    }
    return differing;
}

// ---- Evidence

static bool starts_work(const char *name) {
    return name && (strstr(name, "Launch") || strstr(name, "Memcpy") || strstr(name, "Memset"));
}

static void add_call(struct fp_twin_evidence *evidence, const struct fp_twin_layout *layout,
                     const struct fp_twin_surroundings *around, const struct fp_twin_kind *kind,
                     const uint8_t *record, uint32_t id) {
    uint32_t cbid = (uint32_t)get(layout, kind, record, FP_TWIN_CBID);
    fp_id_set_add(&evidence->calls, id);
    evidence->call_count++;
    if (!around->call_name)
        return;
    const char *name = around->call_name(around->owner, kind->domain, cbid);
    uint32_t other = kind->domain == FP_TWIN_DRIVER ? FP_TWIN_RUNTIME : FP_TWIN_DRIVER;
    if (name && strstr(name, "Memcpy"))
        fp_id_set_add(&evidence->copy_calls, id);
    else if (name && strstr(name, "Memset"))
        fp_id_set_add(&evidence->set_calls, id);
    else if (!starts_work(name) && starts_work(around->call_name(around->owner, other, cbid)))
        fp_id_set_add(&evidence->strange_calls, id);
}

// A kernel without a name that is not one of a graph's.
static bool is_nameless(const struct fp_twin_layout *layout, const struct fp_twin_kind *kind,
                        const uint8_t *record) {
    return kind->shape == FP_TWIN_KERNEL && get(layout, kind, record, FP_TWIN_NAME) == 0 &&
           get(layout, kind, record, FP_TWIN_GRAPH_NODE) == 0;
}

static void add_record(struct fp_twin_evidence *evidence, const struct fp_twin_layout *layout,
                       const struct fp_twin_surroundings *around, const struct fp_twin_kind *kind,
                       const uint8_t *record, bool plausible) {
    struct fp_twin_tally *tally = &evidence->shapes[kind->shape];
    uint32_t id = (uint32_t)get(layout, kind, record, FP_TWIN_CORRELATION);
    bool has_times = kind->shape != FP_TWIN_EXTERNAL && get(layout, kind, record, FP_TWIN_END) != 0;
    // Device work that is not finished yet has no end, and perhaps not much more: it proves nothing.
    if (!plausible && !has_times && kind->shape <= FP_TWIN_SET)
        return;
    tally->seen++;
    tally->bad += !plausible;
    if (!plausible)
        return;
    tally->nameless += is_nameless(layout, kind, record);
    if (has_times)
        (*(fp_twin_is_timely(layout, around, kind, record) ? &tally->timely : &tally->untimely))++;
    if (kind->shape == FP_TWIN_API) {
        add_call(evidence, layout, around, kind, record, id);
    } else if (tally->id_count < sizeof(tally->ids) / sizeof(tally->ids[0])) {
        tally->ids[tally->id_count++] = id;
    }
}

// By the iterator where there is one, else by sizes. Behind what is no known kind a record's place is not
// known: there only what is plausible counts, since small numbers inside of a record look like kinds.
void fp_twin_evidence_add(struct fp_twin_evidence *evidence, const struct fp_twin_layout *layout,
                          const struct fp_twin_surroundings *around, fp_twin_next_fn next, uint8_t *buffer,
                          size_t valid) {
    void *record = NULL;
    bool placed = true;
    size_t read_to = 0;
    for (size_t at = 0; at + sizeof(uint32_t) <= valid;) {
        if (next) {
            if (next(buffer, valid, &record) != 0 || (uintptr_t)record < (uintptr_t)buffer + at ||
                (uintptr_t)record > (uintptr_t)buffer + valid - sizeof(uint32_t))
                break;
            at = (size_t)((uint8_t *)record - buffer);
            fp_keep_record(record); // where the layout is refused, nothing decodes it later
        }
        const struct fp_twin_kind *kind = fp_twin_kind_of(layout, fp_twin_number(buffer + at));
        size_t bytes = kind ? layout->bytes[kind->shape] : STEP;
        read_to =
            kind && layout->prefix_only[kind->shape] && valid - at <= FP_TWIN_ONE_RECORD ? valid : at + bytes;
        bool plausible =
            kind && bytes <= valid - at && fp_twin_is_plausible(layout, around, kind, buffer + at);
        if (kind && bytes <= valid - at && (placed || plausible))
            add_record(evidence, layout, around, kind, buffer + at, plausible);
        placed = next || plausible || (placed && kind);
        at += next ? sizeof(uint32_t) : placed ? bytes : STEP;
    }
    evidence->cut |= next && read_to + STEP <= valid;
}

static const char *const shape_words[FP_TWIN_SHAPES] = {
    [FP_TWIN_KERNEL] = "kernel",
    [FP_TWIN_COPY] = "copy",
    [FP_TWIN_SET] = "set",
    [FP_TWIN_API] = "API call",
    [FP_TWIN_EXTERNAL] = "external id",
};

// Copies that a call for sets started, sets of a call for copies, work of calls that are launches by another
// domain's numbering: the kinds are numbered otherwise.
static uint32_t count_misfits(const struct fp_twin_evidence *evidence, int shape) {
    const struct fp_twin_tally *tally = &evidence->shapes[shape];
    const struct fp_id_set *others = shape == FP_TWIN_COPY  ? &evidence->set_calls
                                     : shape == FP_TWIN_SET ? &evidence->copy_calls
                                                            : NULL;
    uint32_t misfits = 0;
    for (uint32_t at = 0; at < tally->id_count; at++)
        misfits += (others && fp_id_set_has(others, tally->ids[at])) ||
                   (shape <= FP_TWIN_SET && fp_id_set_has(&evidence->strange_calls, tally->ids[at]));
    return misfits;
}

enum fp_twin_verdict fp_twin_evidence_judge(const struct fp_twin_evidence *evidence, bool final, char *why,
                                            size_t capacity) {
    bool undecided = false;
    for (int shape = 0; shape < FP_TWIN_SHAPES; shape++) {
        const struct fp_twin_tally *tally = &evidence->shapes[shape];
        uint32_t known = 0;
        for (uint32_t at = 0; at < tally->id_count; at++)
            known += fp_id_set_has(&evidence->calls, tally->ids[at]);
        // A library's own flaws (a record that is not finished, one that ends before it starts) touch some
        // records; a layout that is another touches all.
        if (tally->bad * 4 > tally->seen) {
            snprintf(why, capacity, "%u of %u %s records are none", tally->bad, tally->seen,
                     shape_words[shape]);
            return FP_TWIN_DIFFERS;
        }
        if (count_misfits(evidence, shape) * 2 > tally->id_count) {
            snprintf(why, capacity, "%s records come from calls for something else", shape_words[shape]);
            return FP_TWIN_DIFFERS;
        }
        if (tally->nameless * 4 > tally->seen * 3) {
            snprintf(why, capacity, "%u of %u kernel records have no name", tally->nameless, tally->seen);
            return FP_TWIN_DIFFERS;
        }
        if (tally->untimely > tally->timely) {
            snprintf(why, capacity, "%u of %u %s records have times outside of the recording",
                     tally->untimely, tally->untimely + tally->timely, shape_words[shape]);
            return FP_TWIN_DIFFERS;
        }
        // Calls may have been dropped, or not have returned yet when the last of few ids was written; where
        // the id lies elsewhere none is known.
        // Where the iterator gave up within a buffer, the calls of a few may just be what it did not reach.
        uint32_t enough = evidence->cut               ? IDS_ENOUGH_OF_A_PART
                          : shape == FP_TWIN_EXTERNAL ? EXTERNAL_IDS_ENOUGH
                                                      : 1;
        if (tally->id_count >= enough && known * 8 < tally->id_count) {
            undecided = true;
            if (final && evidence->call_count) {
                snprintf(why, capacity, "%u of %u %s records carry no id of a call", tally->id_count - known,
                         tally->id_count, shape_words[shape]);
                return FP_TWIN_DIFFERS;
            }
        }
    }
    return undecided && !final ? FP_TWIN_UNDECIDED : FP_TWIN_AGREES;
}

bool fp_twin_evidence_is_complete(const struct fp_twin_evidence *evidence) {
    char why[160];
    for (int shape = 0; shape < FP_TWIN_SHAPES; shape++)
        if (evidence->shapes[shape].seen == 0)
            return false;
    return fp_twin_evidence_judge(evidence, false, why, sizeof(why)) == FP_TWIN_AGREES;
}

void fp_twin_evidence_clear(struct fp_twin_evidence *evidence) {
    fp_id_set_free(&evidence->calls);
    fp_id_set_free(&evidence->copy_calls);
    fp_id_set_free(&evidence->set_calls);
    fp_id_set_free(&evidence->strange_calls);
    memset(evidence, 0, sizeof(*evidence));
}
