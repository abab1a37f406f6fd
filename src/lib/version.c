// version.c - which FlagProf this library is, so that a binding can refuse one that it does not know.

#include "flagprof/version.h"

const char *fp_version(void) {
    return FLAGPROF_VERSION;
}
