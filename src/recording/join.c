// join.c - whose work it was: vendor ids to framework ids, launches to device work, device work to ranges.
//
// In:  the records and the correlations of a finished recording, in any order (a correlation may lie in a
//      later buffer than the kernel that it names).
// Out: framework ids in the records, arrows where both ends are in the window, ranges, and in the ledger
//      what has no partner anywhere.
//
// The two ids meet only here: the vendor id is the key, the framework id the value, never the other way
// round.

#include "base/array.h"
#include "recording/captures.h"
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

// ---- One walk over all records: operators, and where the host calls are
//
// A long recording is larger than any cache, so each walk over it costs what reading memory costs: what can be
// seen in one walk is.

struct host_calls {
    struct fp_index index; // by vendor id
    struct fp_index driver_calls;
    uint32_t *marks; // calls that begin or end a capture
    size_t mark_count, mark_capacity;
};

static void free_host_calls(struct host_calls *hosts) {
    fp_index_free(&hosts->index);
    fp_index_free(&hosts->driver_calls);
    free(hosts->marks);
}

static void link_operator(struct fp_record *record, const struct fp_correlations *list,
                          const struct fp_index *index, size_t *hint) {
    if (fp_record_has(record, FP_HAS_FRAMEWORK_ID) || !record->vendor_id)
        return;
    uint32_t place = fp_index_find(index, record->vendor_id, hint);
    if (place == FP_INDEX_NONE)
        return;
    record->framework_id = list->items[place].framework_id;
    set_field(record, FP_HAS_FRAMEWORK_ID);
}

static bool note_host_call(struct host_calls *hosts, const struct fp_record *record, size_t at) {
    bool runtime = fp_record_kind(record) == FP_KIND_RUNTIME, done = true;
    if (fp_record_fields(record) & (FP_BEGINS_CAPTURE | FP_ENDS_CAPTURE)) {
        done =
            fp_array_reserve(&hosts->marks, hosts->mark_count, &hosts->mark_capacity, sizeof(*hosts->marks));
        if (done)
            hosts->marks[hosts->mark_count++] = (uint32_t)at;
    }
    return (!record->vendor_id ||
            fp_index_add(runtime ? &hosts->index : &hosts->driver_calls, record->vendor_id, (uint32_t)at)) &&
           done;
}

static bool walk(struct fp_store *store, const struct fp_index *operators, struct host_calls *hosts,
                 struct window window) {
    const struct fp_correlations *list = &store->correlations[FP_ID_OPERATOR];
    bool done = true;
    size_t hint = 0;
    for (size_t at = 0; at < store->count; at++) {
        struct fp_record *record = &store->records[at];
        enum fp_kind kind = fp_record_kind(record);
        bool host_call = fp_kind_is_host_call(kind);
        if (!host_call && !fp_kind_is_device(kind))
            continue;
        if (host_call)
            done = note_host_call(hosts, record, at) && done;
        if (!inside(record, window))
            continue;
        link_operator(record, list, operators, &hint);
        store->ledger.linkable++;
        store->ledger.linked += fp_record_has(record, FP_HAS_FRAMEWORK_ID);
    }
    return done;
}

static bool link_operators(struct fp_store *store, struct host_calls *hosts, struct window window) {
    struct fp_index operators = { 0 };
    bool done = index_correlations(&store->correlations[FP_ID_OPERATOR], &operators);
    done = walk(store, &operators, hosts, window) && done;
    fp_index_free(&operators);
    return done;
}

// ---- Launches and their work

// Where a driver call is nested in a runtime call under one id, the runtime call is the launch: it is the one
// that the program wrote, and of equal ids the first added is found.
static bool sort_host_calls(struct host_calls *hosts) {
    for (size_t at = 0; at < hosts->driver_calls.count; at++) {
        struct fp_index_entry entry = hosts->driver_calls.entries[at];
        if (!fp_index_add(&hosts->index, entry.id, entry.place))
            return false;
    }
    fp_index_sort(&hosts->index);
    return true;
}

// A bit a record: whether nothing is missing that it should have started.
struct settled {
    uint64_t *words;
};

static void settle(struct settled settled, size_t place) {
    settled.words[place / 64] |= UINT64_C(1) << place % 64;
}

// A host call that started device work is settled, whether that work lies in the window or not: what has none
// at all is missing something, what has some outside is not.
static void pair(struct fp_store *store, const struct fp_index *hosts, struct settled settled,
                 struct window window) {
    size_t hint = 0;
    for (size_t at = 0; at < store->count; at++) {
        struct fp_record *record = &store->records[at];
        enum fp_kind kind = fp_record_kind(record);
        if (!fp_kind_is_host_call(kind) || !fp_record_has(record, FP_IS_LAUNCH))
            settle(settled, at);
        if (!fp_kind_is_device(kind))
            continue;
        uint32_t place = record->vendor_id ? fp_index_find(hosts, record->vendor_id, &hint) : FP_INDEX_NONE;
        bool here = inside(record, window);
        if (place == FP_INDEX_NONE) {
            store->ledger.rows[kind].unpaired += here;
            continue;
        }
        settle(settled, place);
        struct fp_record *host = &store->records[place];
        if (here && inside(host, window)) {
            set_field(record, FP_HAS_ARROW);
            set_field(host, FP_HAS_ARROW);
            host->u.call.device_work++;
        }
    }
}

static bool is_idle(const struct fp_store *store, const struct fp_index *hosts,
                    const struct fp_captures *captures, size_t at, size_t *hint) {
    const struct fp_record *call = &store->records[at];
    bool failed = fp_record_has(call, FP_HAS_RESULT) && call->u.call.result != 0;
    // A driver call under a runtime call's id is that same launch, counted there.
    bool nested = call->vendor_id && fp_index_find(hosts, call->vendor_id, hint) != at;
    return !failed && !nested && !fp_captures_hold(captures, call);
}

static bool count_idle_launches(struct fp_store *store, const struct host_calls *hosts,
                                struct settled settled, struct window window) {
    struct fp_captures captures;
    if (!fp_captures_find(store, hosts->marks, hosts->mark_count, settled.words, &captures))
        return false;
    size_t hint = 0;
    for (size_t word = 0; word * 64 < store->count; word++)
        for (uint64_t open = ~settled.words[word]; open; open &= open - 1) {
            size_t at = word * 64 + (size_t)__builtin_ctzll(open);
            if (at >= store->count)
                break;
            const struct fp_record *call = &store->records[at];
            if (!inside(call, window) || !is_idle(store, &hosts->index, &captures, at, &hint))
                continue;
            struct fp_ledger_row *row = &store->ledger.rows[fp_record_kind(call)];
            if (fp_record_has(call, FP_MAY_MOVE_NOTHING))
                row->unpaired_moves++;
            else
                row->unpaired++;
        }
    fp_captures_free(&captures);
    return true;
}

static bool draw_arrows(struct fp_store *store, struct host_calls *hosts, struct window window) {
    struct settled settled = { calloc(store->count / 64 + 1, sizeof(*settled.words)) };
    bool done = settled.words && sort_host_calls(hosts);
    if (done) {
        pair(store, &hosts->index, settled, window);
        done = count_idle_launches(store, hosts, settled, window);
    }
    free(settled.words);
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
    struct host_calls hosts = { 0 };
    bool done = link_operators(store, &hosts, window);
    done = draw_arrows(store, &hosts, window) && done;
    free_host_calls(&hosts);
    done = find_ranges(store, window) && done;
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++) {
        free(store->correlations[kind].items);
        store->correlations[kind] = (struct fp_correlations){ 0 };
    }
    if (done)
        return 0;
    store->join_failed = true;
    fp_error_set(err, "out of memory while joining %zu records: some operators or arrows are missing",
                 store->count);
    return -ENOMEM;
}
