// tasks.c - see tasks.h. A second thread costs some 50 us, so that one task is run without.

#include "analysis/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tasks {
    size_t count;
    int (*run)(void *user, size_t task, unsigned worker);
    void *user;
    atomic_size_t next;
    atomic_int code;
};

static void work(struct tasks *tasks, unsigned worker) {
    size_t task;
    while (atomic_load(&tasks->code) == 0 && (task = atomic_fetch_add(&tasks->next, 1)) < tasks->count) {
        int code = tasks->run(tasks->user, task, worker);
        if (code)
            atomic_store(&tasks->code, code);
    }
}

static void *work_beside(void *argument) {
    work(argument, 1);
    return NULL;
}

int fp_tasks_run(size_t count, int threads, int (*run)(void *user, size_t task, unsigned worker),
                 void *user) {
    struct tasks tasks = { .count = count, .run = run, .user = user };
    pthread_t thread;
    bool beside = threads > 1 && count > 1 && pthread_create(&thread, NULL, work_beside, &tasks) == 0;
    work(&tasks, 0);
    if (beside)
        pthread_join(thread, NULL);
    return atomic_load(&tasks.code);
}
