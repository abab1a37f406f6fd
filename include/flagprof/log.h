// log.h - the only two ways in which FlagProf writes to standard error.
//
// fp_log: the story of a session, component by component, shown with FLAGOS_TRACE=1. Costs one load when off.
// fp_warn, fp_warn_once: the few sentences that a person must see without asking. Each of them is demanded by
// the design: nothing else is ever printed.
#ifndef FLAGPROF_LOG_H
#define FLAGPROF_LOG_H

#include "flagprof/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

FP_API bool fp_log_enabled(void); // FLAGOS_TRACE, read once in a process

#define fp_log(component, ...)                                                                               \
    do {                                                                                                     \
        if (fp_log_enabled())                                                                                \
            fp_log_write(component, __VA_ARGS__);                                                            \
    } while (0)

FP_API void fp_log_write(const char *component, const char *format, ...) FP_PRINTF(2, 3);

FP_API void fp_warn(const char *format, ...) FP_PRINTF(1, 2);
// Once in a process for each key (compared as text, at most 64 different ones; beyond that it stays silent).
FP_API void fp_warn_once(const char *key, const char *format, ...) FP_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
