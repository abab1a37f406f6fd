// failing.c - preloaded: the n-th allocation, or the n-th write, fails.
//
// In:  FAIL_ALLOCATION=n or FAIL_WRITE=n in the environment.
// Out: NULL, or ENOSPC, once; when the process ends without the failure having happened, the file named
//      by FAIL_REPORT is created, so that the test knows where to stop.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static long allocations_left = -1, writes_left = -1;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static int fails(long *left) {
    return *left > 0 && --*left == 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *allocation = getenv("FAIL_ALLOCATION"), *write = getenv("FAIL_WRITE");
    allocations_left = allocation ? atol(allocation) : -1;
    writes_left = write ? atol(write) : -1;
}

__attribute__((destructor)) static void end(void) {
    const char *report = getenv("FAIL_REPORT");
    if (report && (allocations_left > 0 || writes_left > 0))
        close(open(report, O_CREAT | O_WRONLY, 0600));
}

void *malloc(size_t size) {
    if (fails(&allocations_left))
        return errno = ENOMEM, NULL;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (fails(&allocations_left))
        return errno = ENOMEM, NULL;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    if (fails(&allocations_left))
        return errno = ENOMEM, NULL;
    return __libc_realloc(old, size);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (fd != 2 && fails(&writes_left))
        return errno = ENOSPC, -1;
    return real(fd, bytes, size);
}
