// ring.h - entries of one size from any thread to the one that drains, without a lock and without an
// allocation.
//
// For vendors that call back for each host call instead of filling buffers. All memory is taken at the
// opening. A full ring refuses: the writer counts what it could not hand over, since a profiler may lose a
// record but never make a call wait.
#ifndef FP_TRACERS_RING_H
#define FP_TRACERS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fp_ring;

// `count` is rounded up to a power of two. NULL: no memory.
struct fp_ring *fp_ring_new(uint32_t count, size_t entry_bytes);
void fp_ring_free(struct fp_ring *ring); // nobody may be writing
// Hot, from any thread. False: full; counted in fp_ring_take_refused.
bool fp_ring_put(struct fp_ring *ring, const void *entry);
// For the one thread that drains. False: empty (or the next writer is not done yet).
bool fp_ring_take(struct fp_ring *ring, void *entry);
// How many puts were refused since the last call.
uint64_t fp_ring_take_refused(struct fp_ring *ring);

#endif
