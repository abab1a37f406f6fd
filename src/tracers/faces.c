// faces.c - who is behind CUPTI's function names (faces.h).

#include "tracers/faces.h"

#include "base/env.h"
#include "tracers/exports.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *accelerator;
    const char *symbol; // of the vendor's own
    const char *file;   // how its file's name begins
    const char *homes[3];
} faces[] = {
    // The SDK maps HGPTI to CUPTI name by name; its CUDA-compatible half lies in $PPU_SDK/CUDA_SDK [CODE]
    { "ppu", "hgptiActivityEnable", "libhgpti.so", { "PPU_SDK", "PPU_HOME", NULL } },
    { "metax", "mcptiActivityGetApiName", "libmcpti.so", { "MACA_PATH", "METAX_PATH", NULL } },
};

static bool lies_in(const char *path, const char *home) {
    char folder[PATH_MAX], file[PATH_MAX];
    if (!home || !realpath(home, folder) || !realpath(path, file))
        return false;
    size_t length = strlen(folder);
    return length > 1 && strncmp(file, folder, length) == 0 && file[length] == '/';
}

struct library {
    void *handle;
    const struct fp_exports *exports;
};

static bool has(struct library library, const char *symbol, const char *file) {
    if (library.handle)
        return dlsym(library.handle, symbol) != NULL; // finds what it is linked to as well
    return library.exports &&
           (fp_exports_has(library.exports, symbol) || fp_exports_needs(library.exports, file));
}

static const char *find_face(struct library library, const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    for (size_t at = 0; at < sizeof(faces) / sizeof(faces[0]); at++) {
        if (has(library, faces[at].symbol, faces[at].file))
            return faces[at].accelerator;
        if (name && strncmp(name, faces[at].file, strlen(faces[at].file)) == 0)
            return faces[at].accelerator;
        for (size_t home = 0; path && faces[at].homes[home]; home++)
            if (lies_in(path, fp_env_text(faces[at].homes[home])))
                return faces[at].accelerator;
    }
    return NULL;
}

const char *fp_face_of(void *handle, const char *path) {
    return find_face((struct library){ .handle = handle }, path);
}

const char *fp_face_of_file(const struct fp_exports *exports, const char *path) {
    return find_face((struct library){ .exports = exports }, path);
}
