// fake_cupti.c - a library with CUPTI's symbols and one thing wrong with it, chosen when it is compiled.
//
// In:  FAKE_* definitions (tests/c/CMakeLists.txt).
// Out: a shared object that says it is simulated, so that no driver is asked for. It records nothing and
//      aborts where a tracer calls what it must not call yet.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 130001
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif
#ifndef FAKE_RUNTIME
#define FAKE_RUNTIME 13000
#endif
#ifndef FAKE_ENABLE_RESULT
#define FAKE_ENABLE_RESULT 0
#endif
#ifndef FAKE_REGISTER_RESULT
#define FAKE_REGISTER_RESULT 0
#endif

#define SHOWN __attribute__((visibility("default")))

#ifndef FAKE_REAL // says nothing of a simulation: the driver is asked for, and a fake one stands for it
SHOWN extern const char flagsim_marker[];
const char flagsim_marker[] = "fake";
#endif

static int initialised;
static uint64_t armed; // one bit a kind

static void only_with_a_device(void) {
#ifdef FAKE_REAL
    initialised = 1;
#endif
    if (!initialised || FAKE_DEVICES == 0)
        abort(); // as CUPTI 13.2 does, only louder
}

#ifndef FAKE_REAL
SHOWN int cuInit(unsigned flags) {
    (void)flags;
    initialised = 1;
    return 0;
}

SHOWN int cuDeviceGetCount(int *count) {
    *count = FAKE_DEVICES;
    return 0;
}

SHOWN int cudaRuntimeGetVersion(int *version) {
    *version = FAKE_RUNTIME;
    return 0;
}
#endif

SHOWN uint32_t cuptiGetVersion(uint32_t *version) {
    only_with_a_device();
    *version = FAKE_VERSION;
    return 0;
}

SHOWN uint32_t cuptiActivityRegisterCallbacks(void *requested, void *completed) {
    (void)requested;
    (void)completed;
    only_with_a_device();
    return FAKE_REGISTER_RESULT;
}

SHOWN uint32_t cuptiActivityEnable(uint32_t kind) {
    only_with_a_device();
    if (kind == 10 && FAKE_ENABLE_RESULT != 0)
        return FAKE_ENABLE_RESULT;
    armed |= UINT64_C(1) << kind;
    return 0;
}

SHOWN uint32_t cuptiActivityDisable(uint32_t kind) {
    only_with_a_device();
    armed &= ~(UINT64_C(1) << kind);
    return 0;
}

#ifndef FAKE_LACKS_FLUSH
SHOWN uint32_t cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    only_with_a_device();
    return 0;
}
#endif

SHOWN uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    (void)buffer;
    (void)valid;
    (void)record;
    only_with_a_device();
    return 12;
}

SHOWN uint64_t fake_armed(void) {
    return armed;
}
