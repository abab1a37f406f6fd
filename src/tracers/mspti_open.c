// mspti_open.c - the search for MSPTI and AscendCL, and what is known of the process's start (mspti_open.h).

#include "tracers/mspti_open.h"

#include "base/log.h"
#include "tracers/binding.h"
#include "tracers/exports.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libmspti.so"
#define ASCENDCL "libascendcl.so"

// ---- The process's start

static bool was_preloaded;

struct order {
    size_t place, library, loader;
};

static int note_place(struct dl_phdr_info *object, size_t size, void *owner) {
    struct order *order = owner;
    const char *name = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    (void)size;
    order->place++;
    if (name && strcmp(name + 1, LIBRARY) == 0)
        order->library = order->place;
    if (name && strncmp(name + 1, "ld-", 3) == 0 && !order->loader)
        order->loader = order->place;
    return 0;
}

// The link map holds objects in the order in which they were loaded, and the loader itself behind those with
// which the process started: what stands behind it was opened later.
static bool stands_before_the_loader(void) {
    struct order order = { 0 };
    dl_iterate_phdr(note_place, &order);
    return order.library && (!order.loader || order.library < order.loader);
}

// Once, when FlagProf is loaded and before any session: later our own opening of the library would be seen.
__attribute__((constructor)) static void look_at_the_start(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4200];
    bool is_mapped = false;
    while (maps && !is_mapped && fgets(line, sizeof(line), maps))
        is_mapped = strstr(line, "/" LIBRARY) != NULL;
    if (maps)
        fclose(maps);
    was_preloaded = is_mapped && stands_before_the_loader();
}

bool fp_mspti_was_preloaded(void) {
    return was_preloaded;
}

bool fp_mspti_is_named_in_preload(void) {
    const char *list = getenv("LD_PRELOAD");
    return list && strstr(list, LIBRARY) != NULL;
}

// ---- Where it may lie

static void list_folders(struct fp_library_list *list, const char *const *names) {
    static const char *const folders[] = {
        "/usr/local/Ascend/cann/lib64",
        "/usr/local/Ascend/cann/{target}/lib64",
        "/usr/local/Ascend/ascend-toolkit/latest/lib64",
        "/usr/local/Ascend/ascend-toolkit/latest/{target}/lib64",
        "/usr/local/Ascend/ascend-toolkit/latest/tools/mspti/lib64",
        "/usr/local/Ascend/cann-9.0.0/lib64",
        "/usr/local/Ascend/cann-9.0.0/tools/mspti/lib64",
    };
    fp_library_list_add_folders(list, getenv("FLAGOS_LIBRARY_PATH"), names);
    fp_library_list_add_folder(list, getenv("ASCEND_HOME_PATH"), "lib64", names);
    fp_library_list_add_folder(list, getenv("ASCEND_HOME_PATH"), "tools/mspti/lib64", names);
    fp_library_list_add_folder(list, getenv("ASCEND_HOME_PATH"), "{target}/lib64",
                               names); // toolkits name it so [GUESS]
    fp_library_list_add_folder(list, getenv("HOME"), "Ascend/cann/lib64", names);
    for (size_t at = 0; at < sizeof(folders) / sizeof(folders[0]); at++)
        fp_library_list_add_folder(list, folders[at], NULL, names);
    fp_library_list_add_folders(list, getenv("LD_LIBRARY_PATH"), names);
}

static void list_beside(struct fp_library_list *list, const char *path, const char *const *names) {
    char folder[FP_LIBRARY_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    fp_library_list_add_folder(list, folder, NULL, names);
}

static void list_places(struct fp_library_list *list) {
    static const char *const names[] = { LIBRARY, NULL };
    char path[FP_LIBRARY_PATH_BYTES];
    if (fp_library_loaded(LIBRARY, 0, path, sizeof(path)))
        fp_library_list_add(list, path);
    if (fp_library_loaded(ASCENDCL, 0, path, sizeof(path)))
        list_beside(list, path, names);
    list_folders(list, names);
}

// ---- Is it what it should be?

static int check_file(struct fp_mspti_library *library, const char *path, struct fp_error *err) {
    struct fp_exports *exports = NULL;
    int result = fp_exports_read(&exports, path, err);
    for (size_t at = 0; result == 0 && at < sizeof(fp_mspti_symbols) / sizeof(fp_mspti_symbols[0]); at++)
        if (fp_mspti_symbols[at].required && !fp_exports_has(exports, fp_mspti_symbols[at].name)) {
            fp_error_set(err, "%s lacks %s", path, fp_mspti_symbols[at].name);
            result = -ENOSYS;
        }
    if (result == 0)
        library->simulated = fp_exports_has(exports, FP_SIMULATION_MARK);
    fp_exports_free(exports);
    return result;
}

static int find_library(struct fp_mspti_library *library, const char *named, struct fp_error *err) {
    struct fp_library_list list = { 0 };
    int result = -ENOENT;
    fp_error_set(err,
                 "no libmspti.so found: set FLAGOS_TRACER_LIBRARY to its path, or ASCEND_HOME_PATH to CANN's "
                 "folder (its set_env.sh does)");
    if (named)
        fp_library_list_add(&list, named);
    else
        list_places(&list);
    for (size_t at = 0; at < list.count && result != 0; at++) {
        result = check_file(library, list.paths[at], err);
        snprintf(library->path, sizeof(library->path), "%s", list.paths[at]);
    }
    fp_library_list_free(&list);
    return result;
}

int fp_mspti_preload(char *path, size_t capacity, struct fp_error *err) {
    struct fp_mspti_library library = { .path = "" };
    const char *named = getenv("FLAGOS_TRACER_LIBRARY");
    int result = find_library(&library, named && *named ? named : NULL, err);
    if (result != 0)
        return result;
    if (strlen(library.path) >= capacity)
        return -ENAMETOOLONG;
    strcpy(path, library.path);
    return 0;
}

// ---- Binding

// The one in the process, else the one that belongs to this MSPTI.
static void *open_ascendcl(const char *mspti_path) {
    static const char *const names[] = { ASCENDCL, NULL };
    char path[FP_LIBRARY_PATH_BYTES];
    if (fp_library_loaded(ASCENDCL, 0, path, sizeof(path)))
        return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    struct fp_library_list list = { 0 };
    list_beside(&list, mspti_path, names);
    list_folders(&list, names);
    void *handle = fp_library_list_load(&list);
    fp_library_list_free(&list);
    return handle;
}

int fp_mspti_library_find(struct fp_mspti_library *library, const char *named, struct fp_error *err) {
    uint32_t devices = 0;
    int status = find_library(library, named, err);
    if (status != 0)
        return status;
    void *ascendcl = open_ascendcl(library->path);
    if (!ascendcl) {
        fp_error_set(err,
                     "%s is there, but no libascendcl.so that can be loaded: the driver or CANN's runtime is "
                     "missing here",
                     library->path);
        return -ENODEV;
    }
    const char *missing = FP_BIND(&library->call, fp_ascendcl_symbols, ascendcl);
    if (missing) {
        fp_error_set(err, "libascendcl.so lacks %s", missing);
        return -ENOSYS;
    }
    status = library->call.get_device_count(&devices);
    if (status != 0 || devices == 0) {
        fp_error_set(err,
                     "%s: AscendCL reports no device (aclrtGetDeviceCount answers %d): "
                     "ASCEND_RT_VISIBLE_DEVICES may hide it, or the driver is missing or too old",
                     library->path, status);
        return -ENODEV;
    }
    library->device_count = (int)devices;
    return 0;
}

int fp_mspti_library_bind(struct fp_mspti_library *library, struct fp_error *err) {
    if (atomic_load(&library->bound))
        return 0;
    // To the end of the process: its hooks stay in the runtime.
    void *handle = dlopen(library->path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
        fp_error_set(err, "%s", dlerror());
        return -ELIBACC;
    }
    const char *missing = FP_BIND(&library->call, fp_mspti_symbols, handle);
    if (missing) {
        fp_error_set(err, "%s lacks %s", library->path, missing);
        return -ENOSYS;
    }
    fp_log("mspti", "%s opened%s", library->path,
           fp_mspti_was_preloaded() ? "; it was there when the process started" : "");
    atomic_store(&library->bound, true);
    return 0;
}
