// mspti_ids.h - which framework id was on top in which thread when, beside what MSPTI says of it.
//
// In:  each push and pop, on the thread that makes it.
// Out: who pushed an id, and what was on top of a thread's stack at a time.
//
// MSPTI keeps one stack for the whole process, though its header speaks of the calling thread [CODE]: where
// two threads push at once, its records name the operator of whichever pushed last. An id that was pushed by
// another thread than the call's own is therefore replaced by what this log knows.
#ifndef FP_TRACERS_MSPTI_IDS_H
#define FP_TRACERS_MSPTI_IDS_H

#include "flagprof/device_tracer.h"

struct fp_mspti_ids;

struct fp_mspti_ids *fp_mspti_ids_new(void); // NULL: no memory
void fp_mspti_ids_free(struct fp_mspti_ids *ids);
void fp_mspti_ids_clear(struct fp_mspti_ids *ids); // nobody may push meanwhile

// Hot, from any thread: no lock, no allocation. `popped`: what MSPTI says that it took off.
void fp_mspti_ids_push(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t framework_id);
void fp_mspti_ids_pop(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t popped);
// Whether a pop has taken off another thread's id: from then on what lies on MSPTI's stack is anybody's.
bool fp_mspti_ids_are_mixed(const struct fp_mspti_ids *ids);

// For the one thread that drains. The thread that pushed this id last; 0: nobody, as far as is known.
uint32_t fp_mspti_ids_owner(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t framework_id);
fp_framework_id fp_mspti_ids_at(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread,
                                uint64_t epoch_ns);

#endif
