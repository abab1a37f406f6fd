// mspti_open.h - finds MSPTI and AscendCL, proves that they can be used, and opens MSPTI when a session begins.
//
// In:  a path, or the documented search.
// Out: the functions of both. Finding opens no MSPTI: the library puts hooks into the runtime that outlive
//      every session [CODE], so a process that never records must not have it. Whether the file is what it
//      should be is read from its bytes.
#ifndef FP_TRACERS_MSPTI_OPEN_H
#define FP_TRACERS_MSPTI_OPEN_H

#include "flagprof/device_tracer.h"
#include "tracers/libraries.h"
#include "tracers/mspti_abi.h"

#include <stdatomic.h>

struct fp_mspti_library {
    struct fp_mspti_functions call; // MSPTI's own are NULL until it is bound
    char path[FP_LIBRARY_PATH_BYTES];
    bool simulated;
    atomic_bool bound; // pushes of other threads ask
    int device_count;
};

// 0, or a negative errno with the reason in `err`. `named` NULL: the search.
int fp_mspti_library_find(struct fp_mspti_library *library, const char *named, struct fp_error *err);
int fp_mspti_library_bind(struct fp_mspti_library *library, struct fp_error *err);

// The file that has to be in a process from its start for copies, sets and the older kind of collectives to be recorded.
int fp_mspti_preload(char *path, size_t capacity, struct fp_error *err);

// Whether libmspti.so was in the link map when the process started, as far as could be seen when FlagProf was
// loaded; and whether LD_PRELOAD names it now, which proves nothing.
bool fp_mspti_was_preloaded(void);
bool fp_mspti_is_named_in_preload(void);

#endif
