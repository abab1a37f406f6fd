// twin_open.c - the search for a vendor's library, and the proof that it can be used (twin_open.h).
//
// No function of the activity library is called before the vendor's runtime is loaded, initialised and
// reports a device.

#include "tracers/twin_open.h"

#include "base/env.h"
#include "base/log.h"
#include "tracers/binding.h"
#include "tracers/faces.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fp_twin_result_text(const struct fp_twin_library *library, int result) {
    const char *text = NULL;
    if (library->call.result_text && library->call.result_text(result, &text) == 0 && text)
        return text;
    return "unknown error";
}

// ---- Places

static void add_root(struct fp_library_list *list, const char *root, const char *const *places,
                     const char *const *files) {
    for (size_t place = 0; root && places[place]; place++)
        fp_library_list_add_folder(list, root, places[place], files);
}

static void add_roots(struct fp_library_list *list, const struct fp_twin_search *search,
                      const char *const *files) {
    fp_library_list_add_folders(list, fp_env_text("FLAGOS_LIBRARY_PATH"), files);
    for (size_t at = 0; search->variables[at]; at++)
        add_root(list, fp_env_text(search->variables[at]), search->places, files);
    for (size_t at = 0; search->roots[at]; at++) {
        glob_t found;
        if (glob(search->roots[at], 0, NULL, &found) != 0)
            continue;
        for (size_t path = found.gl_pathc; path-- > 0;) // the newest release comes last by name
            add_root(list, found.gl_pathv[path], search->places, files);
        globfree(&found);
    }
    for (size_t name = 0; files[name]; name++)
        fp_library_list_add(list, files[name]);
}

// ---- Devices

enum { DEVICE_LIBRARIES = 4 };

static void *find_symbol(void *const *handles, size_t count, const struct fp_twin_symbol *symbol) {
    for (size_t name = 0; name < 2; name++)
        for (size_t at = 0; symbol->names[name] && at < count; at++) {
            void *address = handles[at] ? dlsym(handles[at], symbol->names[name]) : NULL;
            if (address)
                return address;
        }
    return NULL;
}

static int bind(void *functions, const struct fp_twin_symbol *symbols, void *const *handles, size_t count,
                struct fp_error *err) {
    for (const struct fp_twin_symbol *symbol = symbols; symbol->names[0]; symbol++) {
        void *address = find_symbol(handles, count, symbol);
        if (!address && symbol->required) {
            fp_error_set(err, "it lacks %s", symbol->names[0]);
            return -ENOSYS;
        }
        memcpy((char *)functions + symbol->offset, &address, sizeof(address));
    }
    return 0;
}

static void *open_device_library(const struct fp_twin_search *search, const char *file) {
    char path[FP_LIBRARY_PATH_BYTES];
    const char *const files[] = { file, NULL };
    struct fp_library_list list = { 0 };
    if (fp_library_loaded(file, 0, path, sizeof(path)))
        fp_library_list_add(&list, path);
    add_roots(&list, search, files);
    void *handle = fp_library_list_load(&list);
    fp_library_list_free(&list);
    return handle;
}

// Binds the runtime and asks it for devices. `simulated`: the library that stands for it, or NULL.
static int ask_devices(const struct fp_twin_search *search, void *simulated, struct fp_twin_devices *devices,
                       int *count, struct fp_error *err) {
    void *handles[DEVICE_LIBRARIES] = { simulated };
    size_t opened = simulated != NULL;
    for (size_t at = 0; !simulated && search->device_files[at] && opened < DEVICE_LIBRARIES; at++)
        if ((handles[opened] = open_device_library(search, search->device_files[at])))
            opened++;
    *count = 0;
    if (opened == 0) {
        fp_error_set(err,
                     "no %s is found, so no device can be asked for: where it is, set %s to its kit's folder "
                     "or FLAGOS_LIBRARY_PATH to its own",
                     search->device_files[0], search->variables[0]);
        return -ENODEV;
    }
    int result = bind(devices, search->device_symbols, handles, opened, err);
    if (result == 0 && devices->init && (result = devices->init(0)) != 0)
        fp_error_set(err,
                     "the runtime does not initialise (result %d): the driver is missing, too old for it, or "
                     "closed to this user",
                     result);
    else if (result == 0 && (!devices->count || (result = devices->count(count)) != 0 || *count <= 0))
        fp_error_set(err,
                     "the runtime reports no device (result %d): a variable that hides devices may be set",
                     result);
    return *count > 0 ? 0 : -ENODEV;
}

// ---- One library

// The runtime is asked once in a search, whatever the number of libraries.
struct finding {
    const struct fp_twin_search *search;
    struct fp_twin_library *library;
    bool asked;
    int devices_result, device_count;
    struct fp_error devices_reason;
    struct fp_twin_devices devices;
    struct fp_refusals refusals;
};

static int ask_once(struct finding *finding) {
    if (!finding->asked)
        finding->devices_result = ask_devices(finding->search, NULL, &finding->devices,
                                              &finding->device_count, &finding->devices_reason);
    finding->asked = true;
    return finding->devices_result;
}

static int judge(struct fp_twin_library *library, const struct fp_twin_search *search, struct fp_error *err) {
    void *handles[] = { library->handle };
    int result = bind(&library->call, search->symbols, handles, 1, err);
    if (result == 0 && library->call.get_version &&
        (result = library->call.get_version(&library->version)) != 0) {
        fp_error_set(err, "it does not tell its version: %s (%d)", fp_twin_result_text(library, result),
                     result);
        result = -ENODEV;
    }
    if (result == 0 && search->confirm)
        result = search->confirm(library, err);
    library->layout = *search->layout;
    if (result == 0)
        library->probed_differences = fp_twin_probe(&library->layout, library->call.next_record, err);
    return library->probed_differences < 0 ? library->probed_differences : result;
}

static int check_face(const struct fp_twin_search *search, void *handle, const char *path,
                      struct fp_error *err) {
    const char *face = search->face ? fp_face_of(handle, path) : NULL;
    if (!search->face || (face && strcmp(face, search->face) == 0))
        return 0;
    fp_error_set(err, "it has the functions but is not known to be a %s's library%s%s", search->face,
                 face ? ", but for one of " : "", face ? face : "");
    return -ENODEV;
}

static int prove(struct finding *finding, void *handle, const char *path, struct fp_error *err) {
    struct fp_twin_library *library = finding->library;
    int result;
    memset(library, 0, sizeof(*library));
    library->handle = handle;
    library->simulated = fp_library_is_simulated(handle);
    snprintf(library->path, sizeof(library->path), "%s", path);
    result = check_face(finding->search, handle, path, err);
    if (result != 0)
        return result;
    if (library->simulated) {
        result = ask_devices(finding->search, handle, &library->device, &library->device_count, err);
    } else {
        result = ask_once(finding);
        library->device = finding->devices;
        library->device_count = finding->device_count;
        if (result != 0)
            fp_error_set(err, "%s", finding->devices_reason.text);
    }
    if (result == 0)
        result = judge(library, finding->search, err);
    if (result == 0)
        fp_library_origin(&library->call.enable, path, library->path);
    return result;
}

static bool try(struct finding *finding, const char *path) {
    struct fp_error err = { "" };
    void *handle = fp_library_load(path, RTLD_NOW | RTLD_LOCAL, &finding->refusals);
    if (!handle)
        return false;
    if (prove(finding, handle, path, &err) == 0)
        return true;
    fp_refusals_add(&finding->refusals, path, err.text);
    return false;
}

// ---- The search

static bool try_all(struct finding *finding, const struct fp_library_list *list) {
    for (size_t at = 0; at < list->count; at++)
        if (try(finding, list->paths[at]))
            return true;
    return false;
}

static bool find(struct finding *finding, struct fp_error *err) {
    struct fp_library_list real = { 0 }, simulated = { 0 };
    for (const char *const *prefix = finding->search->loaded; *prefix; prefix++)
        fp_library_list_add_loaded(&real, &simulated, *prefix);
    // Without a device no real library can be used: none is loaded for the sake of saying so.
    bool devices = ask_once(finding) == 0;
    if (devices)
        add_roots(&real, finding->search, finding->search->files);
    bool found = (devices && try_all(finding, &real)) || try_all(finding, &simulated);
    if (!found && !devices && simulated.count == 0)
        fp_error_set(err, "%s", finding->devices_reason.text);
    else if (!found && finding->refusals.count)
        fp_error_set(err, "no usable %s: %s", finding->search->files[0], finding->refusals.reasons);
    else if (!found)
        fp_error_set(err, "no %s found: set FLAGOS_TRACER_LIBRARY to its path, or %s",
                     finding->search->files[0], finding->search->variables[0]);
    fp_library_list_free(&real);
    fp_library_list_free(&simulated);
    return found;
}

int fp_twin_library_open(struct fp_twin_library *library, const struct fp_twin_search *search,
                         const char *named, struct fp_error *err) {
    struct finding finding = { .search = search, .library = library, .refusals.log_name = search->name };
    bool found = named ? try(&finding, named) : find(&finding, err);
    if (!found) {
        if (named)
            fp_error_set(err, "%s", finding.refusals.reasons);
        return -ENODEV;
    }
    fp_log(search->name, "bound %s, version %u, %d device(s)%s", library->path, library->version,
           library->device_count, library->simulated ? ", simulated" : "");
    return 0;
}
