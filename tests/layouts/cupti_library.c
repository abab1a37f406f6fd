// cupti_library.c - opens one real libcupti and says which of the functions that the CUPTI tracer binds it
// lacks.
//
// In:  the library's path.
// Out: a line "required NAME" or "optional NAME" for each absent symbol; status 0 if the library opened.
//      Without an argument: the mirror's table of releases, a line each, for the layout test. No CUPTI
//      function is called: 13.2's dies on any call where there is no driver.

#include "tracers/cupti_abi.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void print_releases(void) {
    for (size_t i = 0; i < FP_CUPTI_RELEASE_COUNT; i++) {
        printf("%u", fp_cupti_releases[i].api_version);
        for (int shape = 0; shape < FP_CUPTI_SHAPE_COUNT; shape++) {
            printf(" %u", fp_cupti_releases[i].size[shape]);
        }
        printf("\n");
    }
}

// How far the library's own iterator goes from a record of `kind` to the next, 0: it does not know the kind.
// A record of kind RUNTIME stands at every place where the next one might be.
static size_t step_of(uint32_t (*next)(uint8_t *, size_t, void **), uint32_t kind) {
    _Alignas(8) uint8_t buffer[1024] = { 0 };
    for (size_t at = 0; at < sizeof(buffer); at += 8) {
        uint32_t here = at == 0 ? kind : FP_CUPTI_KIND_RUNTIME;
        memcpy(buffer + at, &here, sizeof(here));
    }
    void *record = NULL;
    if (next(buffer, sizeof(buffer), &record) != 0 || record != buffer) {
        return 0;
    }
    return next(buffer, sizeof(buffer), &record) == 0 ? (size_t)((uint8_t *)record - buffer) : 0;
}

static int print_steps(void *library) {
    uint32_t (*get_version)(uint32_t *) = NULL;
    uint32_t (*next)(uint8_t *, size_t, void **) = NULL;
    *(void **)&get_version = dlsym(library, "cuptiGetVersion");
    *(void **)&next = dlsym(library, "cuptiActivityGetNextRecord");
    uint32_t version = 0;
    if (get_version == NULL || next == NULL || get_version(&version) != 0) {
        return 1;
    }
    printf("%u", version);
    for (int shape = 0; shape < FP_CUPTI_SHAPE_COUNT; shape++) {
        uint32_t kind = 1;
        while (fp_cupti_shape_of(kind) != shape) {
            kind++;
        }
        printf(" %zu", step_of(next, kind));
    }
    printf("\n");
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_releases();
        return 0;
    }
    bool probe = argc == 3 && strcmp(argv[1], "probe") == 0;
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (probe) {
        return print_steps(library);
    }
    for (size_t i = 0; i < FP_CUPTI_SYMBOL_COUNT; i++) {
        if (dlsym(library, fp_cupti_symbols[i].name) == NULL) {
            printf("%s %s\n", fp_cupti_symbols[i].required ? "required" : "optional",
                   fp_cupti_symbols[i].name);
        }
    }
    return 0;
}
