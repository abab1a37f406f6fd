// log.h - the library's own rooms find it here; flagprof/log.h is where the two ways to write are declared.
#ifndef FP_BASE_LOG_H
#define FP_BASE_LOG_H

#include "flagprof/log.h"

#endif
