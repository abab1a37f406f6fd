// twin_window.h - which operator a call was of, for a library that takes external ids and gives none back.
//
// In:  each push and pop with its thread and the vendor's time; later, the calls with theirs.
// Out: the ids that were on top when a call began. A call and the push before it are of one thread and
//      one clock, so the answer is as sure as the library's own would be, as long as the log had room.
//
// The log is kept only until the library has once shown that it writes the records itself.
#ifndef FP_TRACERS_TWIN_WINDOW_H
#define FP_TRACERS_TWIN_WINDOW_H

#include "flagprof/device_tracer.h"

struct fp_twin_window;

struct fp_twin_window *fp_twin_window_new(void); // NULL: no memory
void fp_twin_window_free(struct fp_twin_window *window);

// Hot, from any thread: no lock, no allocation.
void fp_twin_window_push(struct fp_twin_window *window, uint64_t now, enum fp_id_kind kind, uint64_t id);
void fp_twin_window_pop(struct fp_twin_window *window, uint64_t now, enum fp_id_kind kind);

// For the one thread that drains: a call that may have started work.
void fp_twin_window_call(struct fp_twin_window *window, uint32_t thread, uint64_t start, fp_vendor_id id);
// Hands the ids of all calls so far to the sink. Returns how many calls got one; *missed (may be NULL):
// pushes and pops that found no room.
size_t fp_twin_window_resolve(struct fp_twin_window *window, const struct fp_sink *sink, uint64_t *missed);
// Forgets pushes, pops and calls; nobody may push meanwhile.
void fp_twin_window_clear(struct fp_twin_window *window);
bool fp_twin_window_was_used(const struct fp_twin_window *window); // since it was cleared

#endif
