// roctracer_sessions.h - whole sessions on a simulated ROCtracer, for the tests of its tracer.
//
// In:  the program of twin_sessions.h; the facades of AMD's libraries and of DTK's one.
// Out: scenarios, and what a recording of that program is, told from the calls' arguments and the records.
#ifndef ROCTRACER_SESSIONS_H
#define ROCTRACER_SESSIONS_H

#include "twin_sessions.h"

#include "tracers/roctracer.h"

#include <dlfcn.h>
#include <sys/stat.h>

#define HIP BUILD_DIR "/sim/roctracer/libamdhip64.so.6"
#define ROCTRACER BUILD_DIR "/sim/roctracer/libroctracer64.so.4"
#define DTK BUILD_DIR "/sim/roctracer-dtk/libgalaxyhip.so.5"

static inline void *load(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle, "%s", dlerror());
    return handle;
}

static void (*wanted)(void);

static inline void with_hip(void) {
    load(HIP);
    library = ROCTRACER;
    wanted();
}

static inline void with_dtk(void) {
    load(DTK);
    library = DTK;
    wanted();
}

// ---- What a whole recording is

static inline bool name_is(const struct fp_event *event, const char *name) {
    return strcmp(collected_name(&all, event->name), name) == 0;
}

static inline void check_geometry(const struct fp_event *event) {
    int number = -1;
    CHECK_EQUAL(sscanf(collected_name(&all, event->name), "kernel_%d", &number), 1);
    CHECK_EQUAL(event->device, 0);
    CHECK_EQUAL(event->fields & (FP_HAS_REGISTERS | FP_HAS_OCCUPANCY | FP_HAS_QUEUED), 0);
    if (number >= LAUNCHES) { // of a graph: it has none of its own
        CHECK_EQUAL(event->fields & (FP_HAS_GEOMETRY | FP_HAS_SHARED), 0);
        return;
    }
    CHECK(event->fields & FP_HAS_GEOMETRY, "kernel %d has no geometry", number);
    CHECK_EQUAL(event->u.kernel.grid[0], number + 1);
    CHECK_EQUAL(event->u.kernel.grid[1], 2);
    CHECK_EQUAL(event->u.kernel.grid[2], 1);
    CHECK_EQUAL(event->u.kernel.block[0], 64);
    CHECK_EQUAL(event->u.kernel.block[1], 4);
    CHECK_EQUAL(event->u.kernel.shared_bytes, 28); // of the call: the dynamic part alone
    CHECK_EQUAL(event->stream, 7);
}

static inline void check_memory(void) {
    uint64_t bytes = 0, directions = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind == FP_KIND_KERNEL)
            check_geometry(event);
        if (event->kind == FP_KIND_MEMSET) {
            CHECK(name_is(event, "Memset (Device)"), "%s", collected_name(&all, event->name));
            CHECK_EQUAL(event->u.set.bytes, 32);
            CHECK_EQUAL(event->u.set.value, 3);
        }
        if (event->kind != FP_KIND_MEMCPY)
            continue;
        bytes += event->u.copy.bytes;
        directions += name_is(event, "Memcpy HtoD (Host -> Device)") ||
                      name_is(event, "Memcpy DtoD (Device -> Device)") ||
                      name_is(event, "Memcpy DtoH (Device -> Host)");
    }
    CHECK_EQUAL(bytes, 512 + 256 + 128);
    CHECK_EQUAL(directions, 3);
}

static inline void check_calls(void) {
    size_t modules = 0, graphs = 0, begins = 0, ends = 0;
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind > FP_KIND_MEMSET) {
            CHECK_EQUAL(event->kind, FP_KIND_RUNTIME);
            CHECK(strncmp(collected_name(&all, event->name), "hip", 3) == 0, "%s",
                  collected_name(&all, event->name));
            CHECK(!strstr(collected_name(&all, event->name), "hipCall_"), "a call has no name");
            modules += name_is(event, "hipModuleLaunchKernel") && event->fields & FP_IS_LAUNCH;
            graphs += name_is(event, "hipGraphLaunch") && event->fields & FP_IS_LAUNCH;
            begins += (event->fields & FP_BEGINS_CAPTURE) != 0;
            ends += (event->fields & FP_ENDS_CAPTURE) != 0;
        }
    }
    CHECK_EQUAL(modules, LAUNCHES / 5);
    CHECK_EQUAL(graphs, GRAPH_LAUNCHES);
    CHECK_EQUAL(begins, 1);
    CHECK_EQUAL(ends, 1);
}

static inline void check_all(void) {
    check_counts();
    CHECK_EQUAL(collected_lost(&all), 0);
    CHECK(all.notes[0] == '\0', "%s", all.notes);
    check_device_counts();
    check_owners();
    check_memory();
    check_calls();
}

static inline void whole(void) {
    record();
    check_all();
}

static inline void whole_though_drained_on_the_way(void) {
    drains_on_the_way = true;
    record();
    check_all();
}

// ---- Numbers of devices

static inline void make_topology(char *root, int first_gpu, int nodes) {
    strcpy(root, "/tmp/flagprof-kfd-XXXXXX");
    CHECK(mkdtemp(root), "no folder");
    for (int node = 0; node < nodes; node++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", root, node);
        CHECK_EQUAL(mkdir(path, 0700), 0);
        strcat(path, "/gpu_id");
        FILE *file = fopen(path, "w");
        CHECK(file, "%s", path);
        fprintf(file, "%d\n", node < first_gpu ? 0 : 4000 + node);
        fclose(file);
    }
    setenv("FLAGOS_KFD_TOPOLOGY", root, 1);
}

static inline void remove_topology(const char *root, int nodes) {
    char path[128];
    for (int node = 0; node < nodes; node++) {
        snprintf(path, sizeof(path), "%s/%d/gpu_id", root, node);
        unlink(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
    }
    rmdir(root);
}

static inline void behind_processors(void) {
    char root[64];
    make_topology(root, 3, 5);
    open_tracer();
    remove_topology(root, 5);
    collect_begin(&all);
    flagsim_truth_reset();
    start();
    work();
    CHECK_EQUAL(stop(), 0);
    truth.size = sizeof(truth);
    flagsim_truth_read(&truth);
    check_all(); // every kernel is on device 0
}

static inline void bound_too_early(void) {
    void *roctracer = load(ROCTRACER);
    const char *(*ask)(uint32_t, uint32_t, uint32_t);
    void *symbol = dlsym(roctracer, "roctracer_op_string");
    memcpy(&ask, &symbol, sizeof(ask));
    ask(3, 107, 0);
    load(HIP);
    library = ROCTRACER;
    record();
    CHECK_EQUAL(all.event_count, 0);
    CHECK(strstr(all.notes, "before HIP was loaded"), "it is not said: %s", all.notes);
}

#endif
