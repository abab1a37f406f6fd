// forks.h - children of a fork in which a vendor's library cannot be used.
//
// In:  one mark a library, static, since it outlives every tracer. Out: whether this process is such a child.
//
// A child has none of the library's threads, and a lock that one of them held stays locked in it for ever.
// What a child is told costs its parent nothing.
#ifndef FP_TRACERS_FORKS_H
#define FP_TRACERS_FORKS_H

#include <stdatomic.h>
#include <stdbool.h>

struct fp_fork_mark {
    atomic_bool in_child, watched;
    struct fp_fork_mark *next;
};

// From now on every child of this process finds its mark set. Again and again: as good as once.
void fp_fork_watch(struct fp_fork_mark *mark);

// Hot.
static inline bool fp_fork_in_child(const struct fp_fork_mark *mark) {
    return atomic_load_explicit(&mark->in_child, memory_order_relaxed);
}

#endif
