// demangle.h - C++ symbol names as a person writes them.
#ifndef FP_RECORDING_DEMANGLE_H
#define FP_RECORDING_DEMANGLE_H

#include <stdbool.h>

// The demangled form of an Itanium-mangled name of any length, to be freed; NULL when it is none, or when memory
// runs out: then *no_memory is true (it may be NULL).
char *fp_demangle(const char *mangled, bool *no_memory);

#endif
