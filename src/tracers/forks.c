// forks.c - children of a fork in which a vendor's library cannot be used (forks.h).

#include "tracers/forks.h"

#include <pthread.h>
#include <stddef.h>

static _Atomic(struct fp_fork_mark *) first;

static void mark_all(void) {
    for (struct fp_fork_mark *mark = atomic_load(&first); mark; mark = mark->next)
        atomic_store(&mark->in_child, true);
}

static void ask_the_system(void) {
    pthread_atfork(NULL, NULL, mark_all);
}

void fp_fork_watch(struct fp_fork_mark *mark) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_the_system);
    if (atomic_exchange(&mark->watched, true))
        return;
    mark->next = atomic_load(&first);
    while (!atomic_compare_exchange_weak(&first, &mark->next, mark))
        ;
}
