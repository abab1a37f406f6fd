// collectives.h - the collective kernels of one rank, named so that other ranks' can be matched to them.
//
// In:  a rank's events.
// Out: for each collective a key (group, operation and, without a sequence number, size), a number within
//      the key, and when its kernel began and ended. 40 bytes each.
//
// A sequence number (args "Seq") counts within its process group on every rank alike. Without one, the number
// is the order of start among those of one key, which holds only where both ranks have equally many.
#ifndef FLAGPROF_ANALYSIS_COLLECTIVES_H
#define FLAGPROF_ANALYSIS_COLLECTIVES_H

#include "trace/reader.h"

struct fp_collective {
    uint64_t key;
    uint64_t number;
    int64_t start_ns, end_ns;
    uint32_t name;      // text id of what to call it
    bool by_seq;        // number is the file's own
    bool ends_together; // an operation that no rank leaves before the last has come
};

struct fp_collectives {
    struct fp_collective *at;
    size_t count, room;
    struct fp_intern *texts; // not owned; shared by all ranks
};

// Adds the event where it is a collective's kernel. 0 or -ENOMEM.
int fp_collectives_add(struct fp_collectives *collectives, const struct fp_trace_event *event);

// Adds `shift_ns` to every time, sorts by key and number, numbers those without a sequence, and joins the
// kernels of one collective.
void fp_collectives_finish(struct fp_collectives *collectives, int64_t shift_ns);

// How many of the key there are, from place `from` on.
size_t fp_collectives_run(const struct fp_collectives *collectives, size_t from);

void fp_collectives_free(struct fp_collectives *collectives);

#endif
