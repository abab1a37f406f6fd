// demangle.c - C++ symbol names as a person writes them (demangle.h).
//
// The C++ runtime's __cxa_demangle gives up beyond 1,024 characters (measured: libstdc++ of gcc 12; kernel
// names of eight times that are ordinary), since it keeps its work on the stack. libiberty holds the same
// code and lets the caller lift that limit; what it then needs of the stack is given to it in a thread made
// for the one name.

#include "recording/demangle.h"

#include <libiberty/demangle.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAFE_LENGTH = 1000,       // below the library's own limit: the caller's stack does
    STACK_BASE = 1024 * 1024, // bytes
    STACK_PER_CHARACTER = 2048,
};

struct job {
    const char *mangled;
    int options;
    char *text;
    size_t length, capacity;
    bool no_memory, done;
};

static void take_piece(const char *piece, size_t length, void *owner) {
    struct job *job = owner;
    if (job->no_memory)
        return;
    if (job->length + length + 1 > job->capacity) {
        size_t capacity = 2 * (job->length + length + 1);
        char *text = realloc(job->text, capacity);
        if (!text) {
            job->no_memory = true;
            return;
        }
        job->text = text;
        job->capacity = capacity;
    }
    memcpy(job->text + job->length, piece, length);
    job->length += length;
    job->text[job->length] = '\0';
}

static void *demangle(void *owner) {
    struct job *job = owner;
    job->done = cplus_demangle_v3_callback(job->mangled, job->options, take_piece, job) != 0;
    return NULL;
}

static void demangle_long(struct job *job, size_t length) {
    pthread_attr_t attributes;
    pthread_t thread;
    job->options |= DMGL_NO_RECURSE_LIMIT;
    if (pthread_attr_init(&attributes) != 0) {
        job->no_memory = true;
        return;
    }
    if (pthread_attr_setstacksize(&attributes, STACK_BASE + length * STACK_PER_CHARACTER) == 0 &&
        pthread_create(&thread, &attributes, demangle, job) == 0)
        pthread_join(thread, NULL);
    else
        job->no_memory = true;
    pthread_attr_destroy(&attributes);
}

char *fp_demangle(const char *mangled, bool *no_memory) {
    size_t length = strlen(mangled);
    struct job job = { .mangled = mangled, .options = DMGL_PARAMS | DMGL_ANSI };
    if (length <= SAFE_LENGTH)
        demangle(&job);
    else
        demangle_long(&job, length);
    if (no_memory)
        *no_memory = job.no_memory;
    if (job.done && !job.no_memory)
        return job.text;
    free(job.text);
    return NULL;
}
