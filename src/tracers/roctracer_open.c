// roctracer_open.c - the search for ROCtracer and HIP, and what is asked of them once (roctracer_open.h).

#include "tracers/roctracer_open.h"

#include "tracers/ablation.h"
#include "tracers/binding.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// AMD's, or DTK's under its own name.
static void *loaded_hip(void) {
    static const char *const names[] = { "libamdhip64.so", "libgalaxyhip.so" };
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++)
        if (fp_library_loaded(names[at], 0, path, sizeof(path)))
            return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return NULL;
}

// ---- Where it may lie

static void list_folders(struct fp_library_list *list, const char *const *names) {
    static const char *const folders[] = { "/opt/rocm/lib", "/opt/dtk/lib", "/opt/dtk/roctracer/lib",
                                           "/opt/dtk/hip/lib", "/usr/lib/{target}-gnu" }; // Debian's own ROCm
    char path[FP_LIBRARY_PATH_BYTES];
    if (fp_library_loaded("libtorch_hip.so", 0, path, sizeof(path))) {
        *strrchr(path, '/') = '\0';
        fp_library_list_add_folder(list, path, NULL, names);
    }
    fp_library_list_add_folders(list, getenv("FLAGOS_LIBRARY_PATH"), names);
    fp_library_list_add_folder(list, getenv("ROCM_PATH"), "lib", names);
    fp_library_list_add_folder(list, getenv("DTK_ROOT"), "lib", names);
    fp_library_list_add_folder(list, getenv("DTK_ROOT"), "roctracer/lib", names);
    for (size_t at = 0; at < sizeof(folders) / sizeof(folders[0]); at++)
        fp_library_list_add_folder(list, folders[at], NULL, names);
}

static void list_places(struct fp_library_list *list) {
    static const char *const names[] = { "libroctracer64.so.4", "libroctracer64.so", NULL };
    // DTK's HIP exports ROCtracer's functions itself [CODE].
    static const char *const loaded[] = { "libroctracer64.so", "libgalaxyhip.so" };
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t at = 0; at < sizeof(loaded) / sizeof(loaded[0]); at++)
        for (size_t nth = 0; fp_library_loaded(loaded[at], nth, path, sizeof(path)); nth++)
            fp_library_list_add(list, path);
    list_folders(list, names);
}

static void say_nothing_found(struct fp_error *err) {
    static const char *const successors[] = { "librocprofiler-sdk.so", "librocprofiler-sdk.so.1",
                                              "librocprofiler-sdk.so.0", NULL };
    char path[FP_LIBRARY_PATH_BYTES];
    struct fp_library_list list = { 0 };
    if (fp_library_loaded(successors[0], 0, path, sizeof(path)))
        fp_library_list_add(&list, path);
    list_folders(&list, successors);
    if (list.count > 0)
        fp_error_set(err,
                     "only rocprofiler-sdk is installed (%s): FlagProf records through ROCtracer, "
                     "libroctracer64.so.4, which ROCm's package roctracer brings",
                     list.paths[0]);
    else
        fp_error_set(
            err,
            "no libroctracer64.so.4 found: set FLAGOS_TRACER_LIBRARY to its path, or ROCM_PATH or DTK_ROOT");
    fp_library_list_free(&list);
}

// ---- Opening

static int try_library(struct fp_roc_library *library, const char *path, struct fp_error *err) {
    if (strchr(path, '/') && access(path, R_OK) != 0) {
        fp_error_set(err, "%s: %s", path, strerror(errno));
        return -ELIBACC;
    }
    void *hip = loaded_hip();
    if (!hip) {
        fp_error_set(
            err,
            "%s: HIP (libamdhip64.so) is not loaded in this process yet, and ROCtracer asked before it "
            "records nothing: import torch first. To ask a command that has no HIP: "
            "LD_PRELOAD=libamdhip64.so flagprof info",
            path);
        return -EAGAIN;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); // never closed: it keeps hooks in HIP
    if (!handle) {
        fp_error_set(err, "%s", dlerror());
        return -ELIBACC;
    }
    const char *missing = FP_BIND(&library->call, fp_roc_symbols, handle);
    if (!missing)
        missing = FP_BIND(&library->call, fp_hip_symbols, hip);
    if (missing) {
        fp_error_set(err, "%s lacks %s", path, missing);
        return -ENOSYS;
    }
    library->simulated = fp_library_is_simulated(handle);
    snprintf(library->path, sizeof(library->path), "%s", path);
    return 0;
}

static int find_library(struct fp_roc_library *library, const char *named, struct fp_error *err) {
    if (named)
        return try_library(library, named, err);
    struct fp_library_list list = { 0 };
    list_places(&list);
    int result = -ENOENT;
    say_nothing_found(err);
    for (size_t at = 0; at < list.count && result != 0; at++)
        result = try_library(library, list.paths[at], err);
    fp_library_list_free(&list);
    return result;
}

// ---- What is asked once

static bool is_gpu(const char *root, const char *node) {
    char path[PATH_MAX];
    unsigned long gpu = 0;
    int length = snprintf(path, sizeof(path), "%s/%s/gpu_id", root, node);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
    bool found = file && fscanf(file, "%lu", &gpu) == 1 && gpu != 0;
    if (file)
        fclose(file);
    return found;
}

// The driver counts devices as nodes of KFD's topology, in which the processors come first: the ordinal is
// the distance from the first node that is a GPU [CODE]. FLAGOS_KFD_TOPOLOGY names another folder than the
// kernel's, for tests.
static int first_gpu_node(void) {
    const char *named = getenv("FLAGOS_KFD_TOPOLOGY");
    const char *root = named && *named ? named : "/sys/class/kfd/kfd/topology/nodes";
    DIR *folder = opendir(root);
    int first = -1;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *end;
        long node = strtol(entry->d_name, &end, 10);
        if (*end || end == entry->d_name || node < 0 || node > INT_MAX)
            continue;
        if ((first < 0 || node < first) && is_gpu(root, entry->d_name))
            first = (int)node;
    }
    if (folder)
        closedir(folder);
    return first;
}

// ROCm 5.6 to 7.1 agree on the numbers of HIP's functions; older ones and DTK differ, so the name is asked
// first. A number of the table that the library calls something else would read another call's arguments.
static uint32_t id_of(const struct fp_roc_functions *call, const struct fp_hip_call *row) {
    uint32_t op = 0;
    if (fp_ablated("numbers"))
        return row->id;
    if (call->op_code && call->op_code(FP_ROC_DOMAIN_HIP_API, row->name, &op, NULL) == 0 && op > 0)
        return op;
    const char *name = call->op_string(FP_ROC_DOMAIN_HIP_API, row->id, 0);
    return name && strcmp(name, row->name) == 0 ? row->id : 0;
}

static void resolve_apis(struct fp_roc_library *library) {
    for (size_t at = 0; at < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); at++) {
        uint32_t id = id_of(&library->call, &fp_hip_calls[at]);
        if (id > 0 && id < FP_ROC_API_IDS)
            library->apis[id] = &fp_hip_calls[at];
    }
}

int fp_roc_library_open(struct fp_roc_library *library, const char *named, struct fp_error *err) {
    int status = find_library(library, named, err);
    if (status != 0)
        return status;
    if (library->call.get_device_count(&library->device_count) != 0 || library->device_count <= 0) {
        fp_error_set(err, "%s: HIP reports no device: HIP_VISIBLE_DEVICES may hide it", library->path);
        return -ENODEV;
    }
    library->first_node = first_gpu_node();
    resolve_apis(library);
    if (library->call.version_major && library->call.version_minor)
        snprintf(library->version, sizeof(library->version), "%u.%u", library->call.version_major(),
                 library->call.version_minor());
    return 0;
}
