// store.c - what the sink of one recording has received (store.h).

#include "recording/store.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct fp_record) == 64, "a record is 64 bytes: ten million of them are ordinary");
_Static_assert(FP_KIND_COUNT <= 16, "the kind has four bits in a record");
_Static_assert(FP_IS_ASYNC < 1 << 12, "the fields have twelve bits in a record");

enum { NOTES_MAX = 8192 };

// A large recording's records lie in address space taken once, so that none is ever moved, and in large
// pages: growing by realloc, page faults took a third of the time of decoding (docs/performance.md). Memory
// is used only as far as records go.
enum { REGION_FROM = 65536 }; // records: 4 MB

static bool move_to_region(struct fp_store *store) {
    const size_t most = (size_t)64 << 30, least = (size_t)256 << 20;
    for (size_t bytes = most; bytes >= least; bytes /= 4) { // less where address space is limited
        void *region =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED)
            continue;
        madvise(region, bytes, MADV_HUGEPAGE);
        memcpy(region, store->records, store->count * sizeof(*store->records));
        free(store->records);
        store->records = region;
        store->capacity = bytes / sizeof(*store->records);
        store->region_bytes = bytes;
        return true;
    }
    return false;
}

static bool grow_region(struct fp_store *store) {
    size_t bytes = store->region_bytes * 2;
    void *region = mremap(store->records, store->region_bytes, bytes, MREMAP_MAYMOVE);
    if (region == MAP_FAILED)
        return false;
    store->records = region;
    store->capacity = bytes / sizeof(*store->records);
    store->region_bytes = bytes;
    return true;
}

static bool reserve_record(struct fp_store *store) {
    if (store->count < store->capacity)
        return true;
    if (store->region_bytes)
        return grow_region(store);
    return (store->count >= REGION_FROM && move_to_region(store)) ||
           fp_array_reserve(&store->records, store->count, &store->capacity, sizeof(*store->records));
}

int fp_store_open(struct fp_store *store) {
    memset(store, 0, sizeof(*store));
    store->ledger.size = sizeof(store->ledger);
    store->names = fp_names_new();
    return store->names ? 0 : -ENOMEM;
}

void fp_store_close(struct fp_store *store) {
    if (store->region_bytes)
        munmap(store->records, store->region_bytes);
    else
        free(store->records);
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++)
        free(store->correlations[kind].items);
    free(store->extras);
    free(store->extra_rows);
    free(store->ranges);
    free(store->notes);
    fp_names_free(store->names);
    memset(store, 0, sizeof(*store));
}

size_t fp_store_bytes(const struct fp_store *store) {
    size_t bytes = store->count * sizeof(*store->records) + store->extra_count * sizeof(*store->extras) +
                   store->extra_row_count * sizeof(*store->extra_rows) +
                   store->range_count * sizeof(*store->ranges);
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++)
        bytes += store->correlations[kind].count * sizeof(*store->correlations[kind].items);
    return bytes;
}

static fp_name_id sink_name(void *owner, const char *text, enum fp_name_form form) {
    struct fp_store *store = owner;
    return fp_names_add(store->names, text, form, &store->names_lost);
}

static void sink_correlate(void *owner, fp_vendor_id vendor_id, enum fp_id_kind kind, uint64_t framework_id) {
    struct fp_store *store = owner;
    if (vendor_id.value == 0) // "none" is never joined
        return;
    struct fp_correlations *list = &store->correlations[kind];
    if (!fp_array_reserve(&list->items, list->count, &list->capacity, sizeof(*list->items))) {
        store->correlations_lost++;
        return;
    }
    list->items[list->count++] = (struct fp_correlation){ framework_id, vendor_id.value };
    if (kind == FP_ID_OPERATOR)
        store->ledger.correlations++;
}

static void sink_lose(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    struct fp_store *store = owner;
    unsigned row = (unsigned)kind < FP_KIND_COUNT ? (unsigned)kind : FP_KIND_COUNT;
    store->ledger.rows[row].lost[reason] += count;
}

static void sink_note(void *owner, const char *sentence) {
    struct fp_store *store = owner;
    if (store->notes && strstr(store->notes, sentence))
        return;
    size_t used = store->notes ? strlen(store->notes) : 0, more = strlen(sentence);
    if (used + more + 2 > NOTES_MAX)
        return;
    char *notes = realloc(store->notes, used + more + 2);
    if (!notes) {
        store->notes_lost++;
        return;
    }
    store->notes = notes;
    if (used)
        notes[used++] = '\n';
    memcpy(notes + used, sentence, more + 1);
}

static bool geometry_fits(const struct fp_kernel *kernel) {
    return kernel->grid[1] <= UINT16_MAX && kernel->grid[2] <= UINT16_MAX && kernel->block[0] <= UINT16_MAX &&
           kernel->block[1] <= UINT16_MAX && kernel->block[2] <= UINT8_MAX;
}

static void fill_kernel(struct fp_record *record, const struct fp_event *event, uint32_t *fields) {
    const struct fp_kernel *kernel = &event->u.kernel;
    if (*fields & FP_HAS_GEOMETRY && !geometry_fits(kernel))
        *fields &= ~(uint32_t)FP_HAS_GEOMETRY; // it goes into the side table
    record->u.kernel.grid_x = kernel->grid[0];
    record->u.kernel.grid_y = (uint16_t)kernel->grid[1];
    record->u.kernel.grid_z = (uint16_t)kernel->grid[2];
    record->u.kernel.block_x = (uint16_t)kernel->block[0];
    record->u.kernel.block_y = (uint16_t)kernel->block[1];
    record->u.kernel.block_z = (uint8_t)kernel->block[2];
    record->u.kernel.occupancy_percent = (uint8_t)kernel->occupancy_percent;
    record->u.kernel.registers_per_thread = (uint16_t)kernel->registers_per_thread;
    record->u.kernel.shared_bytes = kernel->shared_bytes;
    record->u.kernel.context = event->context;
}

static void fill_details(struct fp_record *record, const struct fp_event *event, uint32_t *fields) {
    switch (event->kind) {
    case FP_KIND_KERNEL:
        fill_kernel(record, event, fields);
        break;
    case FP_KIND_MEMCPY:
        record->u.transfer.bytes = event->u.copy.bytes;
        record->u.transfer.context = event->context;
        break;
    case FP_KIND_MEMSET:
        record->u.transfer.bytes = event->u.set.bytes;
        record->u.transfer.value = event->u.set.value;
        record->u.transfer.context = event->context;
        break;
    default:
        record->u.call.thread = event->u.call.thread;
        record->u.call.cbid = event->u.call.cbid;
        record->u.call.result = event->u.call.result;
        record->u.call.context = event->context;
        break;
    }
}

static bool add_extra(struct fp_store *store, const struct fp_extra *extra, struct fp_extras_row *row) {
    if (!fp_array_reserve(&store->extras, store->extra_count, &store->extra_capacity, sizeof(*store->extras)))
        return false;
    store->extras[store->extra_count++] = *extra;
    row->count++;
    return true;
}

// A geometry beyond the record's fields (a vendor whose grid is counted in threads, say) is kept as JSON
// text.
static bool add_wide_geometry(struct fp_store *store, const struct fp_kernel *kernel,
                              struct fp_extras_row *row) {
    const uint32_t *triples[] = { kernel->grid, kernel->block };
    static const char *const keys[] = { "grid", "block" };
    for (int at = 0; at < 2; at++) {
        char text[48];
        snprintf(text, sizeof(text), "[%u, %u, %u]", triples[at][0], triples[at][1], triples[at][2]);
        struct fp_extra extra = { .key =
                                      fp_names_add(store->names, keys[at], FP_NAME_PLAIN, &store->names_lost),
                                  .type = FP_EXTRA_JSON };
        extra.value.text = fp_names_add(store->names, text, FP_NAME_PLAIN, &store->names_lost);
        if (!add_extra(store, &extra, row))
            return false;
    }
    return true;
}

static bool add_extras(struct fp_store *store, const struct fp_event *event, bool wide) {
    if (!fp_array_reserve(&store->extra_rows, store->extra_row_count, &store->extra_row_capacity,
                          sizeof(*store->extra_rows)))
        return false;
    struct fp_extras_row row = { (uint32_t)store->count, (uint32_t)store->extra_count, 0 };
    for (size_t at = 0; at < event->extra_count; at++)
        if (!add_extra(store, &event->extras[at], &row))
            return false;
    if (wide && !add_wide_geometry(store, &event->u.kernel, &row))
        return false;
    store->extra_rows[store->extra_row_count++] = row;
    return true;
}

static void sink_event(void *owner, const struct fp_event *event) {
    struct fp_store *store = owner;
    struct fp_ledger_row *ledger = &store->ledger.rows[event->kind];
    ledger->seen++;
    if (store->count >= UINT32_MAX - 1 || !reserve_record(store)) {
        ledger->no_memory++;
        return;
    }
    struct fp_record *record = &store->records[store->count];
    memset(record, 0, sizeof(*record));
    uint32_t fields = event->fields & ~(uint32_t)(FP_HAS_ARROW | FP_HAS_EXTRAS | FP_HAS_FRAMEWORK_ID);
    uint32_t told = fields;
    fill_details(record, event, &fields);
    bool wide = fields != told;
    if (event->extra_count || wide) {
        if (add_extras(store, event, wide))
            fields |= FP_HAS_EXTRAS;
        else
            store->extras_lost++;
    }
    if (event->framework_id.present) {
        record->framework_id = event->framework_id.value;
        fields |= FP_HAS_FRAMEWORK_ID;
    }
    record->start_ns = event->start_ns;
    record->end_ns = event->end_ns;
    record->vendor_id = event->vendor_id.value;
    record->name = event->name.value;
    record->stream = event->stream;
    record->device = (uint16_t)event->device;
    record->kind_and_fields = (uint16_t)(fields << 4 | (uint32_t)event->kind);
    if (fp_kind_is_host_call(event->kind) && fields & FP_IS_LAUNCH)
        store->ledger.launches_seen++;
    store->count++;
}

struct fp_sink fp_store_sink(struct fp_store *store) {
    return (struct fp_sink){
        .size = sizeof(struct fp_sink),
        .owner = store,
        .name = sink_name,
        .event = sink_event,
        .correlate = sink_correlate,
        .lose = sink_lose,
        .note = sink_note,
    };
}
