// readable.h - names of kernels as a person reads them.
//
// In:  a name as the file has it.
// Out: the same with its mangled part demangled, whatever producers put around that.
#ifndef FP_CLI_READABLE_H
#define FP_CLI_READABLE_H

#include "trace/text.h"

// To be freed; NULL where nothing in the name is mangled, where it cannot be read, and when memory is out:
// the name then stands for itself.
char *fp_readable_name(struct fp_text name);

#endif
