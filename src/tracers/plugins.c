// plugins.c - loads and proves the tracers that vendors ship apart (plugins.h).
//
// A plug-in is proved before its row is made: its version, the operations that a tracer must have, a name
// that can be typed. Its ops are copied into a struct of this build's size, so that what it does not know of
// is NULL and nobody above has to look at sizes.

#include "tracers/plugins.h"

#include "base/env.h"
#include "base/log.h"
#include "flagprof/tracer_plugin.h"
#include "tracers/unavailable.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 31 };

// What a tracer cannot be without, with its name for the refusal.
static const struct {
    const char *name;
    size_t at;
} needed[] = {
#define NEEDED(operation)                                                                                    \
    { #operation, offsetof(struct fp_tracer_ops, operation) }
    NEEDED(name),   NEEDED(open),  NEEDED(close), NEEDED(describe), NEEDED(device_count),
    NEEDED(device), NEEDED(start), NEEDED(stop),  NEEDED(drain),
#undef NEEDED
};

// ---- Proof

static bool is_typable(const char *name) {
    size_t length = name ? strlen(name) : 0;
    return length > 0 && length <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == length;
}

static bool check(const struct fp_tracer_plugin *plugin, struct fp_error *err) {
    size_t least = offsetof(struct fp_tracer_plugin, ops) + sizeof(plugin->ops);
    if (!plugin || plugin->size < offsetof(struct fp_tracer_plugin, version) + sizeof(plugin->version))
        fp_error_set(err, "its factory gives nothing");
    else if (plugin->version != FP_TRACER_PLUGIN_VERSION)
        fp_error_set(err,
                     "it was compiled for version %u of the tracer contract, this FlagProf has version %d: "
                     "compile it with flagprof/tracer_plugin.h of this release",
                     plugin->version, FP_TRACER_PLUGIN_VERSION);
    else if (plugin->size < least || !plugin->ops)
        fp_error_set(err, "its factory gives no operations");
    else if (!is_typable(plugin->accelerator))
        fp_error_set(err, "its accelerator's name is no word of letters, digits and -, of at most %d",
                     NAME_MAX_BYTES);
    else
        return true;
    return false;
}

static bool copy_ops(struct fp_tracer_ops *ops, const struct fp_tracer_ops *theirs, struct fp_error *err) {
    memset(ops, 0, sizeof(*ops));
    memcpy(ops, theirs, theirs->size < sizeof(*ops) ? theirs->size : sizeof(*ops));
    ops->size = sizeof(*ops);
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        const void *operation;
        memcpy(&operation, (const char *)ops + needed[i].at, sizeof(operation));
        if (operation)
            continue;
        fp_error_set(err, "its tracer has no %s", needed[i].name);
        return false;
    }
    if (!ops->push != !ops->pop) {
        fp_error_set(err, "its tracer has one of push and pop and not the other");
        return false;
    }
    return true;
}

// ---- One object

static bool prove(const char *path, struct fp_accelerator_row *row, struct fp_error *err) {
    const struct fp_tracer_plugin *(*get)(void);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fp_error_set(err, "%s", dlerror());
        return false;
    }
    void *symbol = dlsym(handle, FP_TRACER_PLUGIN_SYMBOL);
    if (!symbol) {
        fp_error_set(err, "it exports no " FP_TRACER_PLUGIN_SYMBOL ", so it is no tracer of FlagProf's");
        return false;
    }
    memcpy(&get, &symbol, sizeof(get));
    const struct fp_tracer_plugin *plugin = get();
    if (!check(plugin, err))
        return false;
    struct fp_tracer_ops *ops = malloc(sizeof(*ops)); // as long-lived as the process
    if (!ops || !copy_ops(ops, plugin->ops, err)) {
        free(ops);
        return false;
    }
    bool has_symbol =
        plugin->size >= offsetof(struct fp_tracer_plugin, library_symbol) + sizeof(plugin->library_symbol);
    *row =
        (struct fp_accelerator_row){ plugin->accelerator, ops, has_symbol ? plugin->library_symbol : NULL };
    return true;
}

// A plug-in that is none has a row too: the one who named it learns why.
static void add(struct fp_row *row, const char *path) {
    struct fp_error err = { "" };
    *row = (struct fp_row){ .broken = false };
    fp_log("plugin", "loading %s", path); // the last line, where its code ends the process
    if (prove(path, &row->is, &err)) {
        fp_log("plugin", "%s: the tracer %s of %s", path, row->is.ops->name, row->is.accelerator);
        return;
    }
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    row->is = (struct fp_accelerator_row){ name ? name : "plug-in", &fp_unavailable_ops, NULL };
    row->broken = true;
    row->status = -ENOEXEC;
    row->reason = strdup(err.text);
    fp_warn_once(path, "the tracer plug-in %s is not used: %s", path, err.text);
}

// ---- All of them

size_t fp_plugins_named(struct fp_row *rows, size_t capacity) {
    const char *paths = fp_env_text("FLAGOS_TRACER_PLUGIN");
    size_t count = 0;
    while (paths && *paths && count < capacity) {
        size_t length = strcspn(paths, ":");
        char path[PATH_MAX];
        if (length > 0 && length < sizeof(path)) {
            memcpy(path, paths, length);
            path[length] = '\0';
            add(&rows[count++], path);
        }
        paths += length + (paths[length] == ':');
    }
    return count;
}

// lib/flagprof/tracers of the prefix that this library, or the command that holds the same code, lies in.
static bool find_own_folder(char *folder, size_t capacity) {
    static const char *const places[] = { "flagprof/tracers", "../flagprof/tracers",
                                          "../lib/flagprof/tracers" };
    Dl_info place;
    char real[PATH_MAX];
    void *here;
    size_t (*self)(struct fp_row *, size_t) = fp_plugins_in_folder;
    memcpy(&here, &self, sizeof(here));
    if (!dladdr(here, &place) || !place.dli_fname || !realpath(place.dli_fname, real))
        return false;
    *strrchr(real, '/') = '\0';
    for (size_t at = 0; at < sizeof(places) / sizeof(places[0]); at++) {
        int length = snprintf(folder, capacity, "%s/%s", real, places[at]);
        if (length > 0 && (size_t)length < capacity && access(folder, R_OK) == 0)
            return true;
    }
    return false;
}

static int is_object(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

size_t fp_plugins_in_folder(struct fp_row *rows, size_t capacity) {
    const char *named = fp_env_text("FLAGOS_TRACER_PLUGIN_DIR");
    char own[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent **entries = NULL;
    size_t added = 0;
    if (!named && !find_own_folder(own, sizeof(own)))
        return 0;
    int count = scandir(named ? named : own, &entries, is_object, alphasort);
    if (count < 0)
        fp_warn_once("plugin folder", "no tracer plug-in is looked for in %s: %s", named ? named : own,
                     strerror(errno));
    for (int i = 0; i < count; i++) {
        int length = snprintf(path, sizeof(path), "%s/%s", named ? named : own, entries[i]->d_name);
        if (added < capacity && length > 0 && (size_t)length < sizeof(path))
            add(&rows[added++], path);
        free(entries[i]);
    }
    free(entries);
    return added;
}
