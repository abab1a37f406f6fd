// id_stack.h - the calling thread's framework ids, for vendors that have no external-correlation stack of
// their own.
//
// One stack a thread and an id kind, of fixed depth, in thread-local memory: push and pop are an array
// access. The tracer reads the top in its API-enter callback, on the thread that makes the call.
#ifndef FP_TRACERS_ID_STACK_H
#define FP_TRACERS_ID_STACK_H

#include "flagprof/device_tracer.h"

enum { FP_ID_STACK_DEPTH = 512 };

// 0, or -ENOSPC beyond the depth: the push is then not made and must not be popped.
int fp_id_stack_push(enum fp_id_kind kind, uint64_t framework_id);
// 0, or -ENOENT when there is none. `last` may be NULL.
int fp_id_stack_pop(enum fp_id_kind kind, uint64_t *last);
fp_framework_id fp_id_stack_top(enum fp_id_kind kind);

#endif
