// mspti.h - what the two halves of the simulated libmspti.so share: the activity interface (facade.c) and the
// interposer (interpose.c).
#ifndef FLAGSIM_MSPTI_H
#define FLAGSIM_MSPTI_H

#include "../facade_common.h"

enum { // kinds [HEADER]
    MSPTI_MARKER = 1,
    MSPTI_KERNEL,
    MSPTI_API,
    MSPTI_HCCL,
    MSPTI_MEMORY,
    MSPTI_MEMSET,
    MSPTI_MEMCPY,
    MSPTI_EXTERNAL,
    MSPTI_COMMUNICATION,
    MSPTI_ACL_API,
    MSPTI_NODE_API,
    MSPTI_RUNTIME_API,
    MSPTI_KINDS,
};

struct mspti_memory {    // a copy or a set, as the host's call saw it
    uint32_t kind, word; // MSPTI_MEMCPY or MSPTI_MEMSET; the copy's kind or the set's value
    uint64_t bytes, start_ns, end_ns;
    flagsim_stream *stream; // NULL: the call waits, or uses the default stream
    bool is_async;
};

// From on to off the calling thread is inside an interposed call, which draws an id of its own.
void mspti_interpose(bool on);
void mspti_write_memory(const struct mspti_memory *memory);
bool mspti_is_armed(uint32_t kind);
uint32_t mspti_physical_device(int device);

#endif
