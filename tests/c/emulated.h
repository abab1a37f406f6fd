// emulated.h - what a test cannot do where another processor is emulated (cmake/aarch64-linux-gnu.cmake).
//
// In:  FLAGPROF_EMULATED, which the toolchain file lets the emulator set.
// Out: the test skipped with its reason. For limits of the emulator alone, never for a difference of ours.
#ifndef FP_TESTS_EMULATED_H
#define FP_TESTS_EMULATED_H

#include <stdlib.h>

#define SKIP_IF_EMULATED(reason)                                                                             \
    do {                                                                                                     \
        if (getenv("FLAGPROF_EMULATED")) {                                                                   \
            print_message("skipped: %s\n", reason);                                                          \
            skip();                                                                                          \
        }                                                                                                    \
    } while (0)

// Seen once in some fifty runs of qemu 7.2: the child waits for ever, and no alarm reaches it.
#define FORKS_BESIDE_THREADS                                                                                 \
    "qemu-user may hold locks of its own at a fork beside threads, for ever in the child"
#define STARTS_ITSELF "qemu-user does not start programs for the emulated processor"

#endif
