// demangle.h - C++ symbol names as a person writes them.
#ifndef FP_RECORDING_DEMANGLE_H
#define FP_RECORDING_DEMANGLE_H

// The demangled form of an Itanium-mangled name of any length, to be freed; NULL when it is none or memory
// runs out.
char *fp_demangle(const char *mangled);

#endif
