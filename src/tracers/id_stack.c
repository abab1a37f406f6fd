// id_stack.c - the calling thread's framework ids (id_stack.h).

#include "tracers/id_stack.h"

#include <errno.h>

static _Thread_local struct {
    uint64_t ids[FP_ID_STACK_DEPTH];
    uint32_t depth;
} stacks[FP_ID_KIND_COUNT];

int fp_id_stack_push(enum fp_id_kind kind, uint64_t framework_id) {
    if (stacks[kind].depth == FP_ID_STACK_DEPTH)
        return -ENOSPC;
    stacks[kind].ids[stacks[kind].depth++] = framework_id;
    return 0;
}

int fp_id_stack_pop(enum fp_id_kind kind, uint64_t *last) {
    if (stacks[kind].depth == 0)
        return -ENOENT;
    stacks[kind].depth--;
    if (last)
        *last = stacks[kind].ids[stacks[kind].depth];
    return 0;
}

fp_framework_id fp_id_stack_top(enum fp_id_kind kind) {
    if (stacks[kind].depth == 0)
        return (fp_framework_id){ 0, false };
    return (fp_framework_id){ stacks[kind].ids[stacks[kind].depth - 1], true };
}
