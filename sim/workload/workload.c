// workload.c - device work for the contract's C form, given through the calls of a vendor's own runtime.
//
// In:  the name of an accelerator and the folder of its facade, whose libraries are opened here.
// Out: kernels, copies and fills, each by the call that a program on that vendor's device would make.
//
// What is exported is all that `flagprof conformance --workload` asks of a library (docs/conformance.md):
// results are 0, or anything else with the reason in flagprof_workload_error. Where a facade's library was
// put into the process at its start (LD_PRELOAD), calls are found as the linker would find them, so that an
// interposer that stands before the runtime sees them.
#include "function.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int flagprof_workload_open(const char *accelerator, const char *folder);
PUBLIC int flagprof_workload_launch(unsigned number);
PUBLIC int flagprof_workload_copy(int to_device, size_t bytes);
PUBLIC int flagprof_workload_set(int value, size_t bytes);
PUBLIC int flagprof_workload_synchronize(void);
PUBLIC const char *flagprof_workload_error(void);

enum { KERNELS = 256, LIBRARIES = 8, BYTES = 1 << 16 };

struct extent {
    unsigned x, y, z;
};

// Every vendor's runtime but Ascend's has the calls of CUDA's under a prefix of its own [CODE, facts 1 to 7].
static const struct vendor {
    const char *accelerator, *prefix;
} vendors[] = {
    { "cuda", "cuda" }, { "ppu", "hggc" }, { "metax", "mc" },     { "musa", "musa" },
    { "dcu", "hip" },   { "gcu", "tops" }, { "ascend", "aclrt" },
};

static struct {
    const struct vendor *vendor;
    void *libraries[LIBRARIES];
    size_t library_count;
    void *device, *host;
    char error[1400];
    struct {
        int (*synchronize)(void);
        int (*malloc)(void **, size_t);
        int (*copy)(void *, const void *, size_t, int, void *);
        int (*set)(void *, int, size_t, void *);
        int (*launch)(const void *, struct extent, struct extent, void **, size_t, void *);
    } call;
    struct { // the same of Ascend's runtime: sizes of what is written to come with each address
        int (*malloc)(void **, size_t, int);
        int (*copy)(void *, size_t, const void *, size_t, int, void *);
        int (*set)(void *, size_t, int, size_t, void *);
        int (*launch)(const void *, unsigned, const void *, size_t, void *);
    } acl;
} all;

static int fail(const char *what, const char *why) {
    snprintf(all.error, sizeof all.error, "%.1000s: %.300s", what, why ? why : "unknown");
    return -1;
}

const char *flagprof_workload_error(void) {
    return all.error;
}

// ---- The vendor's libraries and calls

static int by_length(const struct dirent **left, const struct dirent **right) {
    size_t a = strlen((*left)->d_name), b = strlen((*right)->d_name);
    return a == b ? strcmp((*left)->d_name, (*right)->d_name) : a < b ? -1 : 1;
}

static int is_library(const struct dirent *entry) {
    return strncmp(entry->d_name, "lib", 3) == 0 && strstr(entry->d_name, ".so") != NULL;
}

// The runtime's name is the shorter one where there are two, and it must come first, as on the real machine.
static int open_libraries(const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_library, by_length);
    int result = count > 0 ? 0 : fail(folder, "no library is there");
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (result == 0 && all.library_count < LIBRARIES) {
            // AscendCL's calls must be found in the process's scope, behind what was put before them.
            int scope = strstr(path, "libascendcl.so") ? RTLD_GLOBAL : RTLD_LOCAL;
            void *handle = dlopen(path, RTLD_NOW | scope);
            all.libraries[all.library_count++] = handle;
            result = handle ? 0 : fail(path, dlerror());
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int find(void *place, const char *call) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", all.vendor->prefix, call);
    void *found = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; !found && i < all.library_count; i++)
        found = dlsym(all.libraries[i], name);
    memcpy(place, &found, sizeof found);
    return found ? 0 : fail(name, "the facade has no such call");
}

static int find_calls(void) {
    return find(&all.call.synchronize, "DeviceSynchronize") || find(&all.call.malloc, "Malloc") ||
           find(&all.call.copy, "MemcpyAsync") || find(&all.call.set, "MemsetAsync") ||
           find(&all.call.launch, "LaunchKernel");
}

static int find_acl_calls(void) {
    return find(&all.call.synchronize, "SynchronizeDevice") || find(&all.acl.malloc, "Malloc") ||
           find(&all.acl.copy, "MemcpyAsync") || find(&all.acl.set, "MemsetAsync") ||
           find(&all.acl.launch, "LaunchKernel");
}

static bool is_acl(void) {
    return strcmp(all.vendor->prefix, "aclrt") == 0;
}

int flagprof_workload_open(const char *accelerator, const char *folder) {
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (strcmp(vendors[i].accelerator, accelerator) == 0)
            all.vendor = &vendors[i];
    if (!all.vendor)
        return fail(accelerator, "the simulator has no facade of this name");
    if (open_libraries(folder) || (is_acl() ? find_acl_calls() : find_calls()))
        return -1;
    all.host = calloc(1, BYTES);
    int result = is_acl() ? all.acl.malloc(&all.device, BYTES, 0) : all.call.malloc(&all.device, BYTES);
    return result || !all.host ? fail("device memory", "none could be had") : 0;
}

// ---- Work

static void compute(void **arguments) {
    (void)arguments;
}

// _Z18contract_kernel_12Pfi is contract_kernel_12(float*, int).
static const struct flagsim_function *kernel(unsigned number) {
    static struct flagsim_function functions[KERNELS];
    static char names[KERNELS][48];
    char plain[32];
    int length = snprintf(plain, sizeof plain, "contract_kernel_%u", number);
    snprintf(names[number], sizeof names[number], "_Z%d%sPfi", length, plain);
    functions[number] = (struct flagsim_function){
        .name = names[number], .run = compute, .registers = 24, .shared_bytes = 96, .min_duration_ns = 20000
    };
    return &functions[number];
}

int flagprof_workload_launch(unsigned number) {
    if (number >= KERNELS)
        return fail("launch", "no kernel of that number");
    const struct flagsim_function *function = kernel(number);
    if (is_acl())
        return all.acl.launch(function, number + 1, NULL, 0, NULL) ? fail("aclrtLaunchKernel", "failed") : 0;
    struct extent grid = { number + 1, 2, 1 }, block = { 64, 4, 1 };
    return all.call.launch(function, grid, block, NULL, 32, NULL) ? fail("a launch", "failed") : 0;
}

int flagprof_workload_copy(int to_device, size_t bytes) {
    void *to = to_device ? all.device : all.host, *from = to_device ? all.host : all.device;
    int kind = to_device ? 1 : 2; // alike in all runtimes [CODE]
    if (bytes > BYTES)
        return fail("copy", "too large");
    int result = is_acl() ? all.acl.copy(to, BYTES, from, bytes, kind, NULL)
                          : all.call.copy(to, from, bytes, kind, NULL);
    return result ? fail("a copy", "failed") : 0;
}

int flagprof_workload_set(int value, size_t bytes) {
    if (bytes > BYTES)
        return fail("set", "too large");
    int result = is_acl() ? all.acl.set(all.device, BYTES, value, bytes, NULL)
                          : all.call.set(all.device, value, bytes, NULL);
    return result ? fail("a set", "failed") : 0;
}

int flagprof_workload_synchronize(void) {
    return all.call.synchronize() ? fail("synchronize", "failed") : 0;
}
