// topspti_open.c - the search for TOPSPTI and Enflame's runtime (topspti_open.h).

#include "tracers/topspti_open.h"

#include "base/env.h"
#include "tracers/binding.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- Where they may lie

static void list_folders(struct fp_library_list *list, const char *const *names) {
    // libtopspti_rt.so is the library's inner half and no substitute [CODE], so it is not among the names.
    static const char *const folders[] = { "/opt/tops/extras/TOPSPTI/lib64", "/opt/tops/lib" };
    const char *home = fp_env_text("TOPS_HOME");
    fp_library_list_add_folders(list, fp_env_text("FLAGOS_LIBRARY_PATH"), names);
    fp_library_list_add_folder(list, home, "extras/TOPSPTI/lib64", names);
    fp_library_list_add_folder(list, home, "lib", names);
    for (size_t at = 0; at < sizeof(folders) / sizeof(folders[0]); at++)
        fp_library_list_add_folder(list, folders[at], NULL, names);
    for (size_t at = 0; names[at]; at++)
        fp_library_list_add(list, names[at]); // the loader's own search
}

static void list_places(struct fp_library_list *list, const char *const *names) {
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t nth = 0; fp_library_loaded(names[0], nth, path, sizeof(path)); nth++)
        fp_library_list_add(list, path);
    list_folders(list, names);
}

static void *open_runtime(void) {
    static const char *const names[] = { "libtopsrt.so", NULL }; // [GUESS] as Enflame's packages name it
    struct fp_library_list list = { 0 };
    list_places(&list, names);
    void *handle = fp_library_list_load(&list);
    fp_library_list_free(&list);
    return handle;
}

// ---- Opening

static int try_library(struct fp_tops_library *library, const char *path, struct fp_error *err) {
    if (strchr(path, '/') && access(path, R_OK) != 0) {
        fp_error_set(err, "%s: %s", path, strerror(errno));
        return -ELIBACC;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); // never closed: it keeps hooks in the runtime
    if (!handle) {
        fp_error_set(err, "%s", dlerror());
        return -ELIBACC;
    }
    library->simulated = fp_library_is_simulated(handle);
    void *runtime = library->simulated ? handle : open_runtime();
    if (!runtime) {
        fp_error_set(
            err,
            "%s: no libtopsrt.so is found, so no device can be asked for: set TOPS_HOME to its kit's "
            "folder",
            path);
        return -ENODEV;
    }
    const char *missing = FP_BIND(&library->call, fp_tops_symbols, handle);
    if (!missing)
        missing = FP_BIND(&library->call, fp_tops_runtime_symbols, runtime);
    if (missing) {
        fp_error_set(err, "%s lacks %s", path, missing);
        return -ENOSYS;
    }
    fp_library_origin(&library->call.enable, path, library->path);
    return 0;
}

static int find_library(struct fp_tops_library *library, const char *named, struct fp_error *err) {
    static const char *const names[] = { "libtopspti.so", "libtopspti_prof.so", NULL };
    if (named)
        return try_library(library, named, err);
    struct fp_library_list list = { 0 };
    int result = -ENOENT;
    list_places(&list, names);
    for (size_t at = 0; at < list.count && result != 0; at++) {
        struct fp_error reason = { "" };
        int status = try_library(library, list.paths[at], &reason);
        // That a plain name is not found says nothing; a library that is there and refused does.
        if (status == 0 || strchr(list.paths[at], '/')) {
            result = status;
            fp_error_set(err, "%s", reason.text);
        }
    }
    if (result == -ENOENT)
        fp_error_set(err, "no libtopspti.so found: set FLAGOS_TRACER_LIBRARY to its path, or TOPS_HOME");
    fp_library_list_free(&list);
    return result;
}

int fp_tops_library_open(struct fp_tops_library *library, const char *named, struct fp_error *err) {
    int status = find_library(library, named, err);
    if (status != 0)
        return status;
    int result = library->call.get_device_count(&library->device_count);
    if (result != 0 || library->device_count <= 0) {
        fp_error_set(
            err,
            "%s: Enflame's runtime reports no device (result %d): the driver is missing or closed to "
            "this user, or a variable that hides devices is set",
            library->path, result);
        return -ENODEV;
    }
    if (library->call.get_version && library->call.get_version(&library->version_number) == 0)
        snprintf(library->version, sizeof(library->version), "%u", library->version_number);
    return 0;
}
