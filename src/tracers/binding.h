// binding.h - a vendor's library once it is found: loaded, bound, told from a simulated one.
//
// In:  paths (libraries.h), a vendor's table of the functions that it has.
// Out: the functions; or why this library is not used, in words that can stand beside those for the others.
//
// Nothing that was loaded is ever unloaded: vendors' libraries leave hooks behind.
#ifndef FP_TRACERS_BINDING_H
#define FP_TRACERS_BINDING_H

#include "flagprof/error.h"
#include "tracers/libraries.h"
#include "tracers/symbol.h"

// The simulator's libraries export it, so that nothing simulated is ever taken for hardware.
#define FP_SIMULATION_MARK "flagsim_marker"

// NULL, or the name of a required function that the library lacks.
const char *fp_bind(void *functions, const struct fp_symbol *symbols, size_t count, void *handle);
#define FP_BIND(functions, symbols, handle)                                                                  \
    fp_bind(functions, symbols, sizeof(symbols) / sizeof((symbols)[0]), handle)

bool fp_library_is_simulated(void *handle);
// The path of the file that a bound function lies in, of which `function` points at the pointer; `otherwise`
// where the loader does not tell.
void fp_library_origin(const void *function, const char *otherwise, char path[FP_LIBRARY_PATH_BYTES]);
// The first of the list that can be loaded, or NULL.
void *fp_library_list_load(const struct fp_library_list *list);
// Adds the copies that the process has loaded under names that begin so.
void fp_library_list_add_loaded(struct fp_library_list *real, struct fp_library_list *simulated,
                                const char *prefix);

// Why libraries were not used, one after another.
struct fp_refusals {
    const char *log_name; // "cupti"
    size_t count;
    char reasons[sizeof(((struct fp_error *)0)->text)];
};

void fp_refusals_add(struct fp_refusals *refusals, const char *path, const char *reason);
// Loads a library with dlopen's `flags`. NULL: it cannot be, and is among those refused.
void *fp_library_load(const char *path, int flags, struct fp_refusals *refusals);

#endif
