// demangle.c - C++ symbol names as a person writes them (demangle.h).
//
// The C++ runtime's __cxa_demangle gives up beyond 1,024 characters (measured: libstdc++ of gcc 12; kernel
// names of eight times that are ordinary), since it keeps its work on the stack. libiberty holds the same
// code and lets the caller lift that limit; what it then needs of the stack is given to it in a thread made
// for the one name.

#include "recording/demangle.h"

#include <libiberty/demangle.h>

#include <pthread.h>
#include <string.h>

enum {
    SAFE_LENGTH = 1000,       // below the library's own limit: the caller's stack does
    STACK_BASE = 1024 * 1024, // bytes
    STACK_PER_CHARACTER = 2048,
};

struct job {
    const char *mangled;
    char *demangled;
};

static void *demangle_long(void *owner) {
    struct job *job = owner;
    job->demangled = cplus_demangle_v3(job->mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT);
    return NULL;
}

char *fp_demangle(const char *mangled) {
    size_t length = strlen(mangled);
    if (length <= SAFE_LENGTH)
        return cplus_demangle_v3(mangled, DMGL_PARAMS | DMGL_ANSI);
    struct job job = { mangled, NULL };
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return NULL;
    pthread_t thread;
    if (pthread_attr_setstacksize(&attributes, STACK_BASE + length * STACK_PER_CHARACTER) == 0 &&
        pthread_create(&thread, &attributes, demangle_long, &job) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return job.demangled;
}
