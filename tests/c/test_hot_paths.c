// test_hot_paths.c - no tracer takes a lock or memory on the way of a push, a pop or a vendor's callback.
//
// In:  every facade there is. FlagProf's code is linked in here, and its calls to what gives memory and what locks
//      are led through this file (--wrap in CMakeLists.txt); those of the facades and the simulator, which are
//      libraries of their own, are not. Out: how often FlagProf made such a call on a thread that is the program's
//      or the vendor's, from start to stop.
#include "emulated.h"
#include "mspti_sessions.h"

#include <pthread.h>
#include <sys/mman.h>

#include "tracers/cupti.h"
#include "tracers/mcpti.h"
#include "tracers/mupti.h"
#include "tracers/roctracer.h"
#include "tracers/topspti.h"

// ---- Counting

enum what { MALLOC, CALLOC, REALLOC, FREE, STRDUP, MMAP, MUTEX, READ_LOCK, WRITE_LOCK, WAIT, WHATS };

static const char *const words[WHATS] = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "strdup",
    "mmap",
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_cond_wait",
};

static atomic_uint counts[WHATS];
static _Thread_local bool
    is_cold; // this thread is in FlagProf's start, stop or drain; no other thread ever is

static void count(enum what what) {
    if (!is_cold)
        atomic_fetch_add(&counts[what], 1);
}

// Visible, since under a sanitizer the linker takes the libraries' own calls for calls of these.
#define WRAPPER __attribute__((visibility("default")))

#define WRAP(what, type, name, parameters, arguments)                                                        \
    type __real_##name parameters;                                                                           \
    WRAPPER type __wrap_##name parameters;                                                                   \
    type __wrap_##name parameters {                                                                          \
        count(what);                                                                                         \
        return __real_##name arguments;                                                                      \
    }

WRAP(MALLOC, void *, malloc, (size_t bytes), (bytes))
WRAP(CALLOC, void *, calloc, (size_t number, size_t bytes), (number, bytes))
WRAP(REALLOC, void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAP(STRDUP, char *, strdup, (const char *text), (text))
WRAP(MUTEX, int, pthread_mutex_lock, (pthread_mutex_t * lock), (lock))
WRAP(READ_LOCK, int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
WRAP(WRITE_LOCK, int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
WRAP(WAIT, int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock))
WRAP(MMAP, void *, mmap, (void *at, size_t bytes, int access, int flags, int file, off_t offset),
     (at, bytes, access, flags, file, offset))

void __real_free(void *memory);
WRAPPER void __wrap_free(void *memory);
void __wrap_free(void *memory) {
    count(FREE);
    __real_free(memory);
}

// ---- The vendors

static const struct vendor {
    const char *name;
    const struct fp_tracer_ops *ops;
    const char *library, *first; // first: what has to be loaded before
} vendors[] = {
    { "cuda", &fp_cupti_ops, BUILD_DIR "/sim/cupti-13.0/libcupti.so.13", NULL },
    { "ppu", &fp_cupti_ppu_ops, BUILD_DIR "/sim/ppu/libhgpti.so", NULL },
    { "metax", &fp_mcpti_ops, BUILD_DIR "/sim/mcpti/libmcpti.so", NULL },
    { "musa", &fp_mupti_ops, BUILD_DIR "/sim/mupti/libmupti.so.1", NULL },
    { "dcu", &fp_roctracer_ops, BUILD_DIR "/sim/roctracer/libroctracer64.so.4",
      BUILD_DIR "/sim/roctracer/libamdhip64.so.6" },
    { "ascend", &fp_mspti_ops, MSPTI, ASCENDCL },
    { "gcu", &fp_topspti_ops, BUILD_DIR "/sim/topspti/libtopspti.so", NULL },
};

static const struct vendor *vendor;

// No two pushes of a session have one id, as no two operators have.
static void *launch_some(void *owner) {
    flagsim_kernel_info info = { .name = "beside", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    for (int i = 0; i < LAUNCHES; i++) {
        push(FP_ID_OPERATOR, *(const uint64_t *)owner + (uint64_t)i);
        CHECK_EQUAL(flagsim_launch(NULL, nothing, NULL, 0, &info), 0);
        pop(FP_ID_OPERATOR);
    }
    return NULL;
}

static void one_session(void) {
    static uint64_t first_ids[2] = { OPERATOR + 10000, OPERATOR + 20000 };
    pthread_t threads[2];
    collect_begin(&all);
    start();
    is_cold = false;
    work();
    is_cold = true;
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, launch_some, &first_ids[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    flagsim_device_synchronize();
    ops->drain(tracer, &all.sink);
    stop();
}

static void record_and_count(void) {
    is_cold = true;
    if (vendor->ops == &fp_mspti_ops)
        load_ascendcl();
    else if (vendor->first)
        CHECK(dlopen(vendor->first, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    open_tracer();
    for (int session = 0; session < 2; session++) { // in the second nothing is new any more
        one_session();
        CHECK(collected_count(&all, FP_KIND_KERNEL) >= 3 * LAUNCHES, "%s: %zu kernels, %s", vendor->name,
              collected_count(&all, FP_KIND_KERNEL), all.notes);
        CHECK(all.correlation_count >= LAUNCHES, "%s: %zu ids, %s", vendor->name, all.correlation_count,
              all.notes);
    }
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
    CHECK(truth.buffers_completed > 2, "no buffer came back on the way");
    for (int what = 0; what < WHATS; what++)
        CHECK(atomic_load(&counts[what]) == 0, "%s: %u calls of %s on a hot path", vendor->name,
              atomic_load(&counts[what]), words[what]);
}

static void push_pop_and_the_vendors_callbacks_take_no_lock_and_no_memory(void **state) {
    (void)state;
    for (vendor = vendors; vendor < vendors + sizeof(vendors) / sizeof(vendors[0]); vendor++) {
        if (access(vendor->library, R_OK) != 0)
            continue; // CUPTI's facade is built where its headers are
        ops = vendor->ops;
        library = vendor->library;
        run("tiny_buffers=4096", record_and_count);
        run("tiny_buffers=4096,flush_completion_thread", record_and_count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_pop_and_the_vendors_callbacks_take_no_lock_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
