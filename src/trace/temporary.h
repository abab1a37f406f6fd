// temporary.h - the files that must not outlive a killed program.
//
// In:  paths of files that are written under a temporary name.
// Out: their removal, also from a signal's handler.
#ifndef FLAGPROF_TRACE_TEMPORARY_H
#define FLAGPROF_TRACE_TEMPORARY_H

// Remembers `path` until fp_temporary_forget; the text must live as long. When many are open at once (more
// than 64), the last ones are not remembered. Any thread.
void fp_temporary_keep(const char *path);

// `path` is the same pointer. One that was not kept, or NULL, is allowed.
void fp_temporary_forget(const char *path);

// Removes every file that is remembered. Safe in a signal's handler.
void fp_temporary_remove_all(void);

#endif
