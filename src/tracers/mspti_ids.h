// mspti_ids.h - which framework id was on top in which thread when, beside what MSPTI says of it.
//
// In:  each push and pop, on the thread that makes it.
// Out: whether what a record says of a call's operator is true, and what was on top of a thread's stack at a
//      time where it is not.
//
// MSPTI keeps one stack for the whole process, though its header speaks of the calling thread [CODE]: where
// two threads push at once, its records name the operator of whichever pushed last, and a pop takes off
// anybody's. What the order of a thread's own pushes and pops proves is believed; the rest is looked up by
// time, in a clock that is not MSPTI's (mspti_offset.h).
#ifndef FP_TRACERS_MSPTI_IDS_H
#define FP_TRACERS_MSPTI_IDS_H

#include "flagprof/device_tracer.h"

struct fp_mspti_ids;

// With a log of so many pushes and pops, a power of two. Its pages are taken as it fills. NULL: no memory.
struct fp_mspti_ids *fp_mspti_ids_new(size_t entries);
void fp_mspti_ids_free(struct fp_mspti_ids *ids);
void fp_mspti_ids_clear(struct fp_mspti_ids *ids); // pushes from now on belong to another session

// ---- Hot, from any thread: no lock, no allocation

// Nanoseconds since the epoch of a clock that never steps.
uint64_t fp_mspti_ids_now(const struct fp_mspti_ids *ids);
// `now` was read before MSPTI's push, and after its pop: so each call that the thread made under an id lies
// within, however long MSPTI took. `thread`: the caller's number. `popped`: what MSPTI took off, NULL: nothing. True: the log fills, and is to be read soon.
bool fp_mspti_ids_push(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread, uint64_t framework_id,
                       uint64_t now);
bool fp_mspti_ids_pop(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread, const uint64_t *popped,
                      uint64_t now);

// ---- For the one thread that drains

void fp_mspti_ids_read(struct fp_mspti_ids *ids); // takes in what was pushed and popped so far
// What ended before this is asked for no more.
void fp_mspti_ids_forget(struct fp_mspti_ids *ids, uint64_t before);
// How many pushes and pops did not fit into the log; what is on top since the first of them is unknown.
uint64_t fp_mspti_ids_lost(const struct fp_mspti_ids *ids);

enum fp_mspti_verdict {
    FP_MSPTI_TRUE,  // what the record says, be it an id or that there is none
    FP_MSPTI_DOUBT, // it may be another thread's, or one that was popped: ask by time
};

// What a call's record says of its operator, `told`. `always`: that records name this kind's ids at all.
enum fp_mspti_verdict fp_mspti_ids_judge(const struct fp_mspti_ids *ids, enum fp_id_kind kind,
                                         uint32_t thread, fp_framework_id told, bool always);
// When an id was on MSPTI's stack: a call whose record names it drew its number meanwhile, in whichever thread.
struct fp_mspti_span {
    uint64_t pushed, popped; // UINT64_MAX: it is still there
    uint32_t thread;
    bool is_clean; // the calls of `thread` that name it lie wholly within
};

// False: nothing is known of the id, or it was there twice.
bool fp_mspti_ids_span(const struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t id,
                       struct fp_mspti_span *span);
fp_framework_id fp_mspti_ids_at(const struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread,
                                uint64_t now);

#endif
