// libraries.c - the link map and the disk, asked for a vendor's library (libraries.h).

#include "tracers/libraries.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wanted {
    const char *prefix;
    size_t left;
    char *path;
    size_t capacity;
    bool found;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *owner) {
    (void)size;
    struct wanted *wanted = owner;
    const char *name = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    if (!name || strncmp(name + 1, wanted->prefix, strlen(wanted->prefix)) != 0)
        return 0;
    if (wanted->left-- > 0)
        return 0;
    wanted->found = strlen(object->dlpi_name) < wanted->capacity;
    if (wanted->found)
        strcpy(wanted->path, object->dlpi_name);
    return 1;
}

bool fp_library_loaded(const char *prefix, size_t nth, char *path, size_t capacity) {
    struct wanted wanted = { prefix, nth, path, capacity, false };
    dl_iterate_phdr(look_at, &wanted);
    return wanted.found;
}

void fp_library_list_free(struct fp_library_list *list) {
    free(list->paths);
    *list = (struct fp_library_list){ 0 };
}

void fp_library_list_add(struct fp_library_list *list, const char *path) {
    if (strlen(path) >= FP_LIBRARY_PATH_BYTES)
        return;
    for (size_t at = 0; at < list->count; at++)
        if (strcmp(list->paths[at], path) == 0)
            return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *grown = realloc(list->paths, capacity * sizeof(*list->paths));
        if (!grown)
            return;
        list->paths = grown;
        list->capacity = capacity;
    }
    strcpy(list->paths[list->count++], path);
}

void fp_library_list_add_folder(struct fp_library_list *list, const char *folder, const char *below,
                                const char *const *names) {
    if (!folder || !*folder)
        return;
    for (; *names; names++) {
        char path[FP_LIBRARY_PATH_BYTES], real[PATH_MAX];
        const char *between = below && *below ? "/" : "";
        int length = snprintf(path, sizeof(path), "%s%s%s/%s", folder, between, below ? below : "", *names);
        if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK) != 0)
            continue;
        // Symbolic links lead many names to one file: it is tried once, and shown as what it is.
        fp_library_list_add(list, realpath(path, real) ? real : path);
    }
}

void fp_library_list_add_folders(struct fp_library_list *list, const char *folders,
                                 const char *const *names) {
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        char folder[FP_LIBRARY_PATH_BYTES];
        if (length > 0 && length < sizeof(folder)) {
            memcpy(folder, folders, length);
            folder[length] = '\0';
            fp_library_list_add_folder(list, folder, NULL, names);
        }
        folders += length + (folders[length] == ':');
    }
}
