// env.h - the FLAGOS_ environment variables, read in one way everywhere.
#ifndef FP_BASE_ENV_H
#define FP_BASE_ENV_H

#include "flagprof/error.h"

#include <stdbool.h>

// The value, or NULL when it is unset or empty.
const char *fp_env_text(const char *name);

// On: 1, true, on, yes. Off: 0, false, off, no, unset, empty. In any case. Anything else reads as off and is
// warned about once for each name.
FP_API bool fp_env_switch(const char *name);

#endif
