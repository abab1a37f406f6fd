// version.h - which FlagProf a program runs with.
#ifndef FLAGPROF_VERSION_H
#define FLAGPROF_VERSION_H

#include "flagprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

// "0.1.0": the version of the library that is loaded, as in the file VERSION. Lives as long as the process.
FP_API const char *fp_version(void);

#ifdef __cplusplus
}
#endif

#endif
