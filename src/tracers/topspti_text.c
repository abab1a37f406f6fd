// topspti_text.c - memory at an address that may be none (topspti_text.h).

#include "tracers/topspti_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, STEP = 256 };

static atomic_bool through_pipe;

void fp_tops_read_through_pipe(bool on) {
    atomic_store(&through_pipe, on);
}

// The kernel reads on our behalf, and says EFAULT where there is nothing.
static bool read_by_pipe(uint64_t address, char *bytes, size_t count) {
    int ends[2];
    bool read_all = false;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    if (write(ends[1], (const void *)(uintptr_t)address, count) == (ssize_t)count)
        read_all = read(ends[0], bytes, count) == (ssize_t)count;
    close(ends[0]);
    close(ends[1]);
    return read_all;
}

bool fp_tops_read_bytes(uint64_t address, void *bytes, size_t count) {
    struct iovec here = { bytes, count }, there = { (void *)(uintptr_t)address, count };
    if (!atomic_load_explicit(&through_pipe, memory_order_relaxed)) {
        ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (got == (ssize_t)count)
            return true;
        if (got >= 0 || (errno != ENOSYS && errno != EPERM))
            return false;
        atomic_store(&through_pipe, true); // a sandbox forbids it
    }
    return read_by_pipe(address, bytes, count);
}

bool fp_tops_read_text(uint64_t address, char *text, size_t capacity) {
    size_t length = 0;
    if (address < PAGE || address >> 56 || capacity == 0)
        return false;
    while (length + 1 < capacity) {
        uint64_t at = address + length;
        size_t step = PAGE - (size_t)(at % PAGE); // what lies on one page is readable wholly or not at all
        step = step < STEP ? step : STEP;
        step = step < capacity - 1 - length ? step : capacity - 1 - length;
        if (!fp_tops_read_bytes(at, text + length, step))
            return false;
        if (memchr(text + length, '\0', step))
            return true;
        length += step;
    }
    text[length] = '\0';
    return true;
}
