// cupti_symbols.c - opens one real libcupti and says which of the functions that the CUPTI tracer binds it
// lacks.
//
// In:  the library's path. Out: a line "required NAME" or "optional NAME" for each absent symbol; status 0 if
// the
//      library opened. Without an argument: the mirror's table of releases, a line each, for the layout test.
// No CUPTI function is called: 13.2's dies on any call where there is no driver.

#include "tracers/cupti_abi.h"
#include <dlfcn.h>
#include <stdio.h>

static void print_releases(void) {
    for (size_t i = 0; i < FP_CUPTI_RELEASE_COUNT; i++) {
        printf("%u", fp_cupti_releases[i].api_version);
        for (int shape = 0; shape < FP_CUPTI_SHAPE_COUNT; shape++) {
            printf(" %u", fp_cupti_releases[i].size[shape]);
        }
        printf("\n");
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_releases();
        return 0;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    for (size_t i = 0; i < FP_CUPTI_SYMBOL_COUNT; i++) {
        if (dlsym(library, fp_cupti_symbols[i].name) == NULL) {
            printf("%s %s\n", fp_cupti_symbols[i].required ? "required" : "optional",
                   fp_cupti_symbols[i].name);
        }
    }
    return 0;
}
