// operators.h - time per operator, self and total, host and device, as torch's key_averages counts it.
//
// In:  the host slices of one thread in order, and the device time that each framework id caused.
// Out: rows added up per group. The rules are torch's (torch/autograd/profiler_util.py, 2.13): a slice's
//      parent is the innermost one that holds it wholly; device time belongs to the operator whose
//      External id it carries and to all that hold it; an only child of its parent's name is the same
//      call and counts once; what is asynchronous (a collective until it is done) has a total and nothing else.
//
// `like_torch` adds what torch counts twice: it takes the correlation of a call without an External id, and
// the operator around an overhead record, for an operator's id, and gives them that operator's device time
// once more. It shows in the totals of what holds them (seen on an H200 with torch 2.11: 7.776 us of a copy
// counted as 15.552).
//
// Python frames are in the tree, as in torch 2.13's; torch 2.11 leaves them out [MEASURED, H200].
//
// Where this departs: a child that outlives its parent by no more than the file's resolution is clipped to it
// instead of being made its sibling, so that rounding never counts time twice.
#ifndef FLAGPROF_ANALYSIS_OPERATORS_H
#define FLAGPROF_ANALYSIS_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/slices.h"

struct fp_operator_times {
    uint64_t count;
    int64_t host_total_ns, host_self_ns, device_total_ns, device_self_ns;
};

static inline void fp_operator_times_add(struct fp_operator_times *sum,
                                         const struct fp_operator_times *more) {
    sum->count += more->count;
    sum->host_total_ns += more->host_total_ns;
    sum->host_self_ns += more->host_self_ns;
    sum->device_total_ns += more->device_total_ns;
    sum->device_self_ns += more->device_self_ns;
}

// Device time by id. A byte for each place tells whether it is used, so that the many ids without device time
// are mostly told by a byte that lies in the cache.
struct fp_time_by_id {
    struct fp_time_entry *entries;
    uint8_t *marks; // 0: the place is empty
    size_t count, mask;
};

int fp_time_by_id_add(struct fp_time_by_id *times, uint64_t id, int64_t ns); // 0 or -ENOMEM
bool fp_time_by_id_find(const struct fp_time_by_id *times, uint64_t id, int64_t *ns);

// As above, and remembers that an operator with this id was seen. Any number of threads may do either at once.
bool fp_time_by_id_take(const struct fp_time_by_id *times, uint64_t id, int64_t *ns);

// The sum of what was taken.
int64_t fp_time_by_id_taken(const struct fp_time_by_id *times);
void fp_time_by_id_free(struct fp_time_by_id *times);

// What a slice is to the tree.
enum fp_slice_role {
    FP_ROLE_OPERATOR, // owns device time by its id
    FP_ROLE_PYTHON,   // a frame: holds operators and is held by them
    FP_ROLE_CALL,     // a call of an API: takes time from what holds it, owns none; its id is a correlation
    FP_ROLE_UNLINKED, // a call without an External id
    FP_ROLE_OVERHEAD, // the profiler's own
    FP_ROLE_PENDING,  // begun here, ended by whoever ended it: in no tree, holds nothing and takes nothing
    FP_ROLE_COUNT
};

// A part of a thread's slices: of each role those from `from` up to `to`.
struct fp_piece {
    size_t from[FP_ROLE_COUNT], to[FP_ROLE_COUNT];
};

struct fp_operator_input {
    const struct fp_slices *by_role[FP_ROLE_COUNT]; // sorted; NULL where there are none
    const struct fp_piece *piece;                   // of them; NULL: all
    const struct fp_time_by_id *device_ns;          // by External id
    const struct fp_time_by_id
        *device_ns_by_call;     // by correlation, for files without External ids; may be NULL
    const uint32_t *group_name; // group -> name, so that equal names of two kinds are seen
    int64_t tolerance_ns;
    bool like_torch;
};

// Adds the thread's slices to times[group], and what torch counted twice to *twice_ns. 0 or -ENOMEM. May go on for
// several threads or pieces (pieces.h) at once, each with sums of its own.
int fp_operators_count(const struct fp_operator_input *input, struct fp_operator_times *times,
                       int64_t *twice_ns);

#endif
