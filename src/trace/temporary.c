// temporary.c - the files that must not outlive a killed program.
//
// In:  paths.
// Out: a fixed table of them. No lock and no allocation: a signal may come between any two instructions.

#include "trace/temporary.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define ROOM 64

static _Atomic(const char *) kept[ROOM];

void fp_temporary_keep(const char *path) {
    for (int i = 0; i < ROOM; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, path))
            return;
    }
}

void fp_temporary_forget(const char *path) {
    for (int i = 0; path && i < ROOM; i++) {
        const char *known = path;
        if (atomic_compare_exchange_strong(&kept[i], &known, NULL))
            return;
    }
}

void fp_temporary_remove_all(void) {
    for (int i = 0; i < ROOM; i++) {
        const char *path = atomic_load(&kept[i]);
        if (path)
            unlink(path);
    }
}
