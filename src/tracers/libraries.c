// libraries.c - the link map and the disk, asked for a vendor's library (libraries.h).

#include "tracers/libraries.h"

#include "base/array.h"

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
    if (fp_array_reserve(&list->paths, list->count, &list->capacity, sizeof(*list->paths)))
        strcpy(list->paths[list->count++], path);
}

#if defined(__aarch64__)
#define OUR_PROCESSOR "aarch64"
#else
#define OUR_PROCESSOR "x86_64"
#endif

bool fp_library_place(const char *place, const char *processor, size_t nth, char *path, size_t capacity) {
    static const char mark[] = "{target}";
    // CUDA calls Arm servers sbsa-linux and Jetson aarch64-linux; CANN and Debian say aarch64 for both.
    static const struct {
        const char *processor, *targets[3];
    } rows[] = {
        { "x86_64", { "x86_64-linux", NULL } },
        { "aarch64", { "sbsa-linux", "aarch64-linux", NULL } },
    };
    const char *at = strstr(place, mark);
    if (!at)
        return nth == 0 && snprintf(path, capacity, "%s", place) < (int)capacity;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (strcmp(rows[row].processor, processor ? processor : OUR_PROCESSOR) != 0)
            continue;
        for (size_t target = 0; rows[row].targets[target]; target++)
            if (target == nth)
                return snprintf(path, capacity, "%.*s%s%s", (int)(at - place), place,
                                rows[row].targets[target], at + strlen(mark)) < (int)capacity;
    }
    return false;
}

static void add_names(struct fp_library_list *list, const char *folder, const char *const *names) {
    for (; *names; names++) {
        char path[FP_LIBRARY_PATH_BYTES], real[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%s", folder, *names);
        if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK) != 0)
            continue;
        // Symbolic links lead many names to one file: it is tried once, and shown as what it is.
        fp_library_list_add(list, realpath(path, real) ? real : path);
    }
}

void fp_library_list_add_folder(struct fp_library_list *list, const char *folder, const char *below,
                                const char *const *names) {
    char place[FP_LIBRARY_PATH_BYTES], spelled[FP_LIBRARY_PATH_BYTES];
    if (!folder || !*folder)
        return;
    const char *between = below && *below ? "/" : "";
    int length = snprintf(place, sizeof(place), "%s%s%s", folder, between, below ? below : "");
    if (length < 0 || (size_t)length >= sizeof(place))
        return;
    for (size_t nth = 0; fp_library_place(place, NULL, nth, spelled, sizeof(spelled)); nth++)
        add_names(list, spelled, names);
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
