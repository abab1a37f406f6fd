// cupti_open.c - finds, binds and proves a libcupti (cupti_open.h).

#include "tracers/cupti_open.h"

#include "base/env.h"
#include "base/log.h"
#include "tracers/ablation.h"
#include "tracers/binding.h"
#include "tracers/faces.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 11.x libraries carry the minor in their name, later ones the major alone [MEASURED].
static const char *const file_names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                          "libcupti.so", NULL };

// Seen from the folder of libcudart or libtorch: where pip lays CUPTI beside them, and where a toolkit has
// it.
static const char *const near_places[] = { "",
                                           "../../cuda_cupti/lib",
                                           "../../nvidia/cuda_cupti/lib",
                                           "../../nvidia/cu13/lib",
                                           "../extras/CUPTI/lib64",
                                           NULL };

static const char *const toolkit_places[] = { "lib64", "extras/CUPTI/lib64", "targets/{target}/lib", NULL };

const char *fp_cupti_result_text(const struct fp_cupti_library *library, uint32_t result) {
    const char *text = NULL;
    if (library->call.get_result_string && library->call.get_result_string(result, &text) == 0 && text)
        return text;
    return "unknown error";
}

// ---- One library

static int read_version(struct fp_cupti_library *library, struct fp_error *err) {
    uint32_t result = library->call.get_version(&library->api_version);
    if (result != FP_CUPTI_SUCCESS) {
        fp_error_set(err, "cuptiGetVersion answered %u (%s)", result, fp_cupti_result_text(library, result));
        return -ENODEV;
    }
    if (!fp_cupti_layout_find(&library->layout, library->api_version, library->call.get_next_record,
                              &library->layout_mismatch)) {
        fp_error_set(err,
                     "its API version %u is older than CUDA 11.8's, the oldest that can be read: set "
                     "FLAGOS_TRACER_LIBRARY to a newer one",
                     library->api_version);
        return -ENOTSUP;
    }
    library->major =
        library->api_version >= 100000 ? (int)(library->api_version / 10000) : atoi(library->layout.release);
    return 0;
}

int fp_cupti_library_check_runtime(struct fp_cupti_library *library, struct fp_error *err) {
    library->runtime_version =
        fp_cuda_runtime_version(library->simulated ? library->handle : NULL, library->major);
    int major = library->runtime_version / 1000;
    if (major == 0 || major == library->major || fp_ablated("runtime"))
        return 0;
    fp_error_set(
        err,
        "it is of CUDA %d, but the process has loaded the runtime of CUDA %d: it would record nothing. Set "
        "FLAGOS_TRACER_LIBRARY to a libcupti of CUDA %d",
        library->major, major, major);
    return -ENOEXEC;
}

// The real driver is asked once in a search, whatever the number of libraries.
struct search {
    struct fp_cupti_library *library;
    bool driver_asked;
    int driver_result;
    struct fp_error driver_reason;
    struct fp_cuda_driver driver;
    struct fp_refusals refusals;
};

static int ask_driver(struct search *search) {
    if (!search->driver_asked) {
        search->driver_asked = true;
        search->driver_result = fp_cuda_driver_open(&search->driver, NULL, &search->driver_reason);
    }
    return search->driver_result;
}

static int prove(struct search *search, void *handle, const char *path, struct fp_error *err) {
    struct fp_cupti_library *library = search->library;
    const char *face = fp_face_of(handle, path);
    int result;
    memset(library, 0, sizeof(*library));
    if (face) {
        fp_error_set(err, "it has CUPTI's functions but is a library of %s, whose own tracer reads it", face);
        return -ENODEV;
    }
    library->handle = handle;
    library->simulated = fp_library_is_simulated(handle);
    if (library->simulated) {
        result = fp_cuda_driver_open(&library->driver, handle, err);
    } else {
        result = ask_driver(search);
        library->driver = search->driver;
        if (result != 0)
            fp_error_set(err, "%s", search->driver_reason.text);
    }
    const char *missing = result == 0 ? FP_BIND(&library->call, fp_cupti_symbols, handle) : NULL;
    if (missing) {
        fp_error_set(err, "it lacks %s", missing);
        result = -ENOSYS;
    }
    if (result == 0)
        result = read_version(library, err);
    if (result == 0)
        result = fp_cupti_library_check_runtime(library, err);
    if (result == 0)
        fp_library_origin(&library->call.enable, path, library->path);
    return result;
}

static bool try(struct search *search, const char *path) {
    struct fp_error err = { "" };
    void *handle = fp_library_load(path, RTLD_LAZY | RTLD_LOCAL, &search->refusals);
    if (!handle)
        return false;
    if (prove(search, handle, path, &err) == 0)
        return true;
    fp_refusals_add(&search->refusals, path, err.text);
    return false;
}

// ---- The search

static void list_near(struct fp_library_list *list, const char *loaded_prefix) {
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t nth = 0; fp_library_loaded(loaded_prefix, nth, path, sizeof(path)); nth++) {
        char *name = strrchr(path, '/');
        *name = '\0';
        for (size_t place = 0; near_places[place]; place++)
            fp_library_list_add_folder(list, path, near_places[place], file_names);
    }
}

static void list_disk(struct fp_library_list *list) {
    list_near(list, "libcudart.so");
    list_near(list, "libtorch_cuda.so");
    list_near(list, "libtorch_cpu.so");
    fp_library_list_add_folders(list, fp_env_text("FLAGOS_LIBRARY_PATH"), file_names);
    const char *roots[] = { fp_env_text("CUDA_HOME"), fp_env_text("CUDA_PATH"), "/usr/local/cuda" };
    for (size_t root = 0; root < sizeof(roots) / sizeof(roots[0]); root++)
        for (size_t place = 0; toolkit_places[place]; place++)
            fp_library_list_add_folder(list, roots[root], toolkit_places[place], file_names);
    for (size_t name = 0; file_names[name]; name++)
        fp_library_list_add(list, file_names[name]);
}

static bool try_all(struct search *search, const struct fp_library_list *list) {
    for (size_t at = 0; at < list->count; at++)
        if (try(search, list->paths[at]))
            return true;
    return false;
}

static bool find(struct search *search, struct fp_error *err) {
    struct fp_library_list real = { 0 }, simulated = { 0 };
    fp_library_list_add_loaded(&real, &simulated, "libcupti.so");
    // Without a driver no real library can be used: none is loaded for the sake of saying so.
    bool driver = ask_driver(search) == 0;
    if (driver)
        list_disk(&real);
    bool found = (driver && try_all(search, &real)) || try_all(search, &simulated);
    if (!found && !driver && simulated.count == 0)
        fp_error_set(err, "%s", search->driver_reason.text);
    else if (!found && search->refusals.count)
        fp_error_set(err, "no usable libcupti: %s", search->refusals.reasons);
    else if (!found)
        fp_error_set(err, "no libcupti.so found: set FLAGOS_TRACER_LIBRARY to its path, or CUDA_HOME; pip's "
                          "nvidia-cuda-cupti brings one");
    fp_library_list_free(&real);
    fp_library_list_free(&simulated);
    return found;
}

int fp_cupti_library_open(struct fp_cupti_library *library, const char *named, struct fp_error *err) {
    struct search search = { .library = library, .refusals.log_name = "cupti" };
    bool found = named ? try(&search, named) : find(&search, err);
    if (!found) {
        if (named)
            fp_error_set(err, "%s", search.refusals.reasons);
        return -ENODEV;
    }
    fp_log("cupti", "bound %s, API version %u, layout of %s%s, driver %d, runtime %d, %d device(s)%s",
           library->path, library->api_version, library->layout.release,
           library->layout.newer ? " as a prefix" : "", library->driver.version, library->runtime_version,
           library->driver.device_count, library->simulated ? ", simulated" : "");
    if (library->layout_mismatch)
        fp_warn_once("cupti-layout",
                     "CUPTI reports API version %u but steps by other record sizes than CUDA %s has: only "
                     "what both have "
                     "is read",
                     library->api_version, library->layout.release);
    return 0;
}
