// join.c - whose work it was: vendor ids to framework ids, launches to device work, device work to ranges.
//
// In:  the records and the correlations of a finished recording, in any order (a correlation may lie in a
//      later buffer than the kernel that it names).
// Out: framework ids in the records, arrows where both ends are in the window, ranges, and in the ledger
//      what has no partner anywhere.
//
// The two ids meet only here: the vendor id is the key, the framework id the value, never the other way
// round.

#include "recording/store.h"

#include <errno.h>
#include <stdlib.h>

struct window {
    int64_t start_ns, end_ns;
};

static bool inside(const struct fp_record *record, struct window window) {
    return fp_window_touches(record, window.start_ns, window.end_ns);
}

static void set_field(struct fp_record *record, enum fp_field_bit field) {
    record->kind_and_fields = (uint16_t)(record->kind_and_fields | (uint32_t)field << 4);
}

static bool index_correlations(const struct fp_correlations *list, struct fp_index *index) {
    for (size_t at = 0; at < list->count; at++)
        if (!fp_index_add(index, list->items[at].vendor_id, (uint32_t)at))
            return false;
    fp_index_sort(index);
    return true;
}

// ---- Operators

static bool link_operators(struct fp_store *store, struct window window) {
    struct fp_index index = { 0 };
    const struct fp_correlations *list = &store->correlations[FP_ID_OPERATOR];
    if (!index_correlations(list, &index)) {
        fp_index_free(&index);
        return false;
    }
    size_t hint = 0;
    for (size_t at = 0; at < store->count; at++) {
        struct fp_record *record = &store->records[at];
        enum fp_kind kind = fp_record_kind(record);
        if ((!fp_kind_is_device(kind) && !fp_kind_is_host_call(kind)) || !inside(record, window))
            continue;
        store->ledger.linkable++;
        if (!fp_record_has(record, FP_HAS_FRAMEWORK_ID) && record->vendor_id) {
            uint32_t place = fp_index_find(&index, record->vendor_id, &hint);
            if (place != FP_INDEX_NONE) {
                record->framework_id = list->items[place].framework_id;
                set_field(record, FP_HAS_FRAMEWORK_ID);
            }
        }
        store->ledger.linked += fp_record_has(record, FP_HAS_FRAMEWORK_ID);
    }
    fp_index_free(&index);
    return true;
}

// ---- Launches and their work

// Host calls by vendor id. Where a driver call is nested in a runtime call under one id, the runtime call is
// the launch: it is the one that the program wrote.
static bool index_host_calls(const struct fp_store *store, struct fp_index *index) {
    static const enum fp_kind order[] = { FP_KIND_RUNTIME, FP_KIND_DRIVER };
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t at = 0; at < store->count; at++) {
            const struct fp_record *record = &store->records[at];
            if (fp_record_kind(record) == order[turn] && record->vendor_id &&
                !fp_index_add(index, record->vendor_id, (uint32_t)at))
                return false;
        }
    fp_index_sort(index);
    return true;
}

// `has_work` marks each host call that started device work, in the window or not: what has none at all is
// missing something, what has some outside is not.
static void pair(struct fp_store *store, const struct fp_index *hosts, uint8_t *has_work,
                 struct window window) {
    size_t hint = 0;
    for (size_t at = 0; at < store->count; at++) {
        struct fp_record *record = &store->records[at];
        if (!fp_kind_is_device(fp_record_kind(record)))
            continue;
        uint32_t place = record->vendor_id ? fp_index_find(hosts, record->vendor_id, &hint) : FP_INDEX_NONE;
        bool here = inside(record, window);
        if (place == FP_INDEX_NONE) {
            store->ledger.rows[fp_record_kind(record)].unpaired += here;
            continue;
        }
        has_work[place / 8] = (uint8_t)(has_work[place / 8] | 1u << place % 8);
        struct fp_record *host = &store->records[place];
        if (here && inside(host, window)) {
            set_field(record, FP_HAS_ARROW);
            set_field(host, FP_HAS_ARROW);
            host->u.call.device_work++;
        }
    }
}

// Calls of one thread between the beginning and the end of a capture start nothing: they build a graph.
struct capture {
    uint32_t thread;
    int64_t start_ns, end_ns;
};

struct captures {
    struct capture *items;
    size_t count, capacity;
};

static void end_capture(struct captures *captures, const struct fp_record *call) {
    struct capture *best = NULL;
    for (size_t at = 0; at < captures->count; at++) {
        struct capture *item = &captures->items[at];
        if (item->thread == call->u.call.thread && item->start_ns <= call->start_ns &&
            item->end_ns >= call->end_ns && (!best || item->start_ns > best->start_ns))
            best = item;
    }
    if (best)
        best->end_ns = call->end_ns;
}

static bool find_captures(const struct fp_store *store, struct captures *captures) {
    for (size_t at = 0; at < store->count; at++) {
        const struct fp_record *call = &store->records[at];
        if (!fp_kind_is_host_call(fp_record_kind(call)) || !fp_record_has(call, FP_BEGINS_CAPTURE))
            continue;
        if (!fp_array_reserve(&captures->items, captures->count, &captures->capacity,
                              sizeof(*captures->items)))
            return false;
        captures->items[captures->count++] =
            (struct capture){ call->u.call.thread, call->start_ns, INT64_MAX };
    }
    for (size_t at = 0; captures->count && at < store->count; at++) {
        const struct fp_record *call = &store->records[at];
        if (fp_kind_is_host_call(fp_record_kind(call)) && fp_record_has(call, FP_ENDS_CAPTURE))
            end_capture(captures, call);
    }
    return true;
}

static bool is_captured(const struct captures *captures, const struct fp_record *call) {
    for (size_t at = 0; at < captures->count; at++) {
        const struct capture *item = &captures->items[at];
        if (item->thread == call->u.call.thread && item->start_ns <= call->start_ns &&
            call->end_ns <= item->end_ns)
            return true;
    }
    return false;
}

static bool count_idle_launches(struct fp_store *store, const struct fp_index *hosts, const uint8_t *has_work,
                                struct window window) {
    struct captures captures = { 0 };
    if (!find_captures(store, &captures))
        return false;
    size_t hint = 0;
    for (size_t at = 0; at < store->count; at++) {
        const struct fp_record *call = &store->records[at];
        enum fp_kind kind = fp_record_kind(call);
        if (!fp_kind_is_host_call(kind) || !fp_record_has(call, FP_IS_LAUNCH) || !inside(call, window))
            continue;
        bool failed = fp_record_has(call, FP_HAS_RESULT) && call->u.call.result != 0;
        // A driver call under a runtime call's id is that same launch, counted there.
        bool nested = call->vendor_id && fp_index_find(hosts, call->vendor_id, &hint) != at;
        if (!failed && !nested && !(has_work[at / 8] >> at % 8 & 1) && !is_captured(&captures, call))
            store->ledger.rows[kind].unpaired++;
    }
    free(captures.items);
    return true;
}

static bool draw_arrows(struct fp_store *store, struct window window) {
    struct fp_index hosts = { 0 };
    uint8_t *has_work = calloc(store->count / 8 + 1, 1);
    bool done = has_work && index_host_calls(store, &hosts);
    if (done) {
        pair(store, &hosts, has_work, window);
        done = count_idle_launches(store, &hosts, has_work, window);
    }
    free(has_work);
    fp_index_free(&hosts);
    return done;
}

// ---- Ranges

static int compare_ranges(const void *left, const void *right) {
    const struct fp_range *a = left, *b = right;
    if (a->framework_id != b->framework_id)
        return a->framework_id < b->framework_id ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool same_lane(const struct fp_range *a, const struct fp_range *b) {
    return a->framework_id == b->framework_id && a->device == b->device && a->stream == b->stream;
}

static void widen(struct fp_range *range, int64_t start_ns, int64_t end_ns) {
    range->start_ns = start_ns < range->start_ns ? start_ns : range->start_ns;
    range->end_ns = end_ns > range->end_ns ? end_ns : range->end_ns;
}

static void merge_ranges(struct fp_store *store) {
    if (store->range_count == 0)
        return;
    qsort(store->ranges, store->range_count, sizeof(*store->ranges), compare_ranges);
    size_t last = 0;
    for (size_t at = 1; at < store->range_count; at++) {
        if (same_lane(&store->ranges[last], &store->ranges[at]))
            widen(&store->ranges[last], store->ranges[at].start_ns, store->ranges[at].end_ns);
        else
            store->ranges[++last] = store->ranges[at];
    }
    store->range_count = last + 1;
}

static bool add_to_range(struct fp_store *store, const struct fp_record *record, uint64_t framework_id) {
    struct fp_range range = { framework_id, record->device, record->stream, record->start_ns,
                              record->end_ns };
    // Work of one range comes in runs: most of it only widens the range before it.
    if (store->range_count && same_lane(&store->ranges[store->range_count - 1], &range)) {
        widen(&store->ranges[store->range_count - 1], range.start_ns, range.end_ns);
        return true;
    }
    if (!fp_array_reserve(&store->ranges, store->range_count, &store->range_capacity, sizeof(*store->ranges)))
        return false;
    store->ranges[store->range_count++] = range;
    return true;
}

static bool find_ranges(struct fp_store *store, struct window window) {
    const struct fp_correlations *list = &store->correlations[FP_ID_RANGE];
    struct fp_index index = { 0 };
    bool done = list->count == 0 || index_correlations(list, &index);
    size_t hint = 0;
    for (size_t at = 0; done && index.count && at < store->count; at++) {
        const struct fp_record *record = &store->records[at];
        if (!fp_kind_is_device(fp_record_kind(record)) || !record->vendor_id || !inside(record, window))
            continue;
        uint32_t place = fp_index_find(&index, record->vendor_id, &hint);
        if (place != FP_INDEX_NONE)
            done = add_to_range(store, record, list->items[place].framework_id);
    }
    fp_index_free(&index);
    merge_ranges(store);
    return done;
}

int fp_store_join(struct fp_store *store, int64_t start_ns, int64_t end_ns, struct fp_error *err) {
    struct window window = { start_ns, end_ns };
    bool done = link_operators(store, window);
    done = draw_arrows(store, window) && done;
    done = find_ranges(store, window) && done;
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++) {
        free(store->correlations[kind].items);
        store->correlations[kind] = (struct fp_correlations){ 0 };
    }
    if (done)
        return 0;
    fp_error_set(err, "out of memory while joining %zu records: some operators or arrows are missing",
                 store->count);
    return -ENOMEM;
}
