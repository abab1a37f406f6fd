// exports.h - what a library's file offers, read from the file: nothing of it runs, no other library is loaded.
//
// In:  a path. The file may be anything.
// Out: whether it exports a function, and what it is linked to. A library that is stripped of its section headers
//      tells neither.
#ifndef FP_TRACERS_EXPORTS_H
#define FP_TRACERS_EXPORTS_H

#include "flagprof/error.h"

#include <stdbool.h>
#include <stddef.h>

struct fp_exports;

// 0; -ELIBACC: it cannot be read; -ELIBBAD: it is no library for this processor; -ENOMEM.
int fp_exports_read(struct fp_exports **exports, const char *path, struct fp_error *err);
void fp_exports_free(struct fp_exports *exports); // NULL is allowed

bool fp_exports_has(const struct fp_exports *exports, const char *symbol);
// Whether it is linked to a library whose file name begins so.
bool fp_exports_needs(const struct fp_exports *exports, const char *prefix);

// The file that the loader would take for a name, as far as the link map and LD_LIBRARY_PATH tell. False: it is
// none of these, and only the loader knows.
bool fp_exports_file(const char *name, char *path, size_t capacity);

#endif
