// binding.c - a vendor's library once it is found (binding.h).

#include "tracers/binding.h"

#include "base/log.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *fp_bind(void *functions, const struct fp_symbol *symbols, size_t count, void *handle) {
    for (const struct fp_symbol *symbol = symbols; symbol < symbols + count; symbol++) {
        void *address = dlsym(handle, symbol->name);
        if (!address && symbol->required)
            return symbol->name;
        memcpy((char *)functions + symbol->offset, &address, sizeof(address));
    }
    return NULL;
}

bool fp_library_is_simulated(void *handle) {
    return dlsym(handle, FP_SIMULATION_MARK) != NULL;
}

void fp_library_origin(const void *function, const char *otherwise, char path[FP_LIBRARY_PATH_BYTES]) {
    Dl_info place;
    void *address;
    memcpy(&address, function, sizeof(address));
    snprintf(path, FP_LIBRARY_PATH_BYTES, "%s",
             dladdr(address, &place) && place.dli_fname ? place.dli_fname : otherwise);
}

void *fp_library_list_load(const struct fp_library_list *list) {
    void *handle = NULL;
    for (size_t at = 0; at < list->count && !handle; at++)
        handle = dlopen(list->paths[at], RTLD_LAZY | RTLD_LOCAL);
    return handle;
}

void fp_library_list_add_loaded(struct fp_library_list *real, struct fp_library_list *simulated,
                                const char *prefix) {
    char path[FP_LIBRARY_PATH_BYTES];
    for (size_t nth = 0; fp_library_loaded(prefix, nth, path, sizeof(path)); nth++) {
        void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        fp_library_list_add(handle && fp_library_is_simulated(handle) ? simulated : real, path);
        if (handle)
            dlclose(handle);
    }
}

void fp_refusals_add(struct fp_refusals *refusals, const char *path, const char *reason) {
    size_t used = strlen(refusals->reasons);
    fp_log(refusals->log_name, "%s refused: %s", path, reason);
    refusals->count++;
    snprintf(refusals->reasons + used, sizeof(refusals->reasons) - used, "%s%s: %s", used ? "; " : "", path,
             reason);
}

void *fp_library_load(const char *path, int flags, struct fp_refusals *refusals) {
    void *handle = dlopen(path, flags);
    if (handle)
        return handle;
    const char *reason = dlerror(), *behind = reason ? strstr(reason, ": ") : NULL;
    bool repeats = behind && strncmp(reason, path, (size_t)(behind - reason)) == 0;
    fp_refusals_add(refusals, path, repeats ? behind + 2 : reason ? reason : "it cannot be loaded");
    return NULL;
}
