// window.c - which records belong to the profiled region.
//
// In:  records in vendor order, times in Unix-epoch nanoseconds; the window that the framework gave, both
//      ends inclusive.
// Out: the records that touch the window, in the same order, each at its true length: a long kernel that
//      began before the window is not cut, since cutting it would make the sums lie. The others are
//      counted, with their distance, so that a clock that is off by an epoch explains itself.
//
// Not here: clock conversion, which each tracer owes; a window on the wrong clock discards everything
// silently.

#include "recording/store.h"

static int64_t distance(const struct fp_record *record, int64_t start_ns, int64_t end_ns) {
    if (record->end_ns < start_ns)
        return record->end_ns - start_ns;
    return record->start_ns > end_ns ? record->start_ns - end_ns : 0;
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

bool fp_window_touches(const struct fp_record *record, int64_t start_ns, int64_t end_ns) {
    return record->end_ns >= start_ns && record->start_ns <= end_ns;
}

void fp_store_window(struct fp_store *store, int64_t start_ns, int64_t end_ns) {
    struct fp_ledger *ledger = &store->ledger;
    ledger->window_start_ns = start_ns;
    ledger->window_end_ns = end_ns;
    int64_t nearest = 0;
    size_t kept = 0, rows_kept = 0, row = 0;
    for (size_t at = 0; at < store->count; at++) {
        struct fp_record *record = &store->records[at];
        bool has_extras = row < store->extra_row_count && store->extra_rows[row].record == at;
        int64_t away = distance(record, start_ns, end_ns);
        if (away == 0) {
            if (has_extras) {
                store->extra_rows[rows_kept] = store->extra_rows[row];
                store->extra_rows[rows_kept++].record = (uint32_t)kept;
            }
            ledger->rows[fp_record_kind(record)].kept++;
            if (kept != at) // where nothing is dropped, nothing is written
                store->records[kept] = *record;
            kept++;
        } else {
            ledger->rows[fp_record_kind(record)].outside_window++;
            if (nearest == 0 || magnitude(away) < magnitude(nearest))
                nearest = away;
        }
        row += has_extras;
    }
    ledger->nearest_outside_ns = kept == 0 ? nearest : 0;
    store->count = kept;
    store->extra_row_count = rows_kept;
}
