// store.h - what the sink of one recording has received: records of 64 bytes, correlations, side table,
// counts.
//
// In:  a tracer's calls on the sink, all from one thread at a time.
// Out: plain arrays that join.c and window.c work on. Memory runs out now and then in a long recording:
//      then what came before is kept and what could not be is counted.
#ifndef FP_RECORDING_STORE_H
#define FP_RECORDING_STORE_H

#include "flagprof/flagprof.h"
#include "recording/index.h"
#include "recording/names.h"

struct fp_correlation {
    uint64_t framework_id;
    uint32_t vendor_id;
};

struct fp_correlations {
    struct fp_correlation *items;
    size_t count, capacity;
};

struct fp_extras_row { // the extras [first, first + count) belong to one record
    uint32_t record, first, count;
};

struct fp_store {
    struct fp_record *records;
    size_t count, capacity;
    size_t region_bytes; // of the address space that a large recording's records lie in; 0: allocated
    struct fp_correlations correlations[FP_ID_KIND_COUNT];
    struct fp_extra *extras;
    size_t extra_count, extra_capacity;
    struct fp_extras_row *extra_rows;
    size_t extra_row_count, extra_row_capacity;
    struct fp_range *ranges;
    size_t range_count, range_capacity;
    struct fp_names *names;
    struct fp_ledger ledger;
    uint64_t names_lost, correlations_lost, extras_lost, notes_lost;
    bool join_failed; // for want of memory
    char *notes;      // newline-separated
};

int fp_store_open(struct fp_store *store); // 0 or -ENOMEM
void fp_store_close(struct fp_store *store);
struct fp_sink fp_store_sink(struct fp_store *store);
size_t fp_store_bytes(const struct fp_store *store); // interned text apart

// window.c: whether a record touches [start_ns, end_ns], both ends inclusive; and dropping those that do not.
bool fp_window_touches(const struct fp_record *record, int64_t start_ns, int64_t end_ns);
void fp_store_window(struct fp_store *store, int64_t start_ns, int64_t end_ns);
// join.c: framework ids to records, ranges, arrows. Runs before the window drops anything, so that work whose
// launch lies outside is told from work whose launch is missing; an arrow needs both of its ends inside.
int fp_store_join(struct fp_store *store, int64_t start_ns, int64_t end_ns, struct fp_error *err);
// ledger.c
// Decides whether anything is known to be missing; last.
void fp_ledger_settle(struct fp_store *store);

#endif
