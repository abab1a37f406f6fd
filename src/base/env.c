// env.c - the FLAGOS_ environment variables (env.h).

#include "base/env.h"

#include "base/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

const char *fp_env_text(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool is_one_of(const char *value, const char *const *words) {
    for (; *words; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

bool fp_env_switch(const char *name) {
    static const char *const on[] = { "1", "true", "on", "yes", NULL };
    static const char *const off[] = { "0", "false", "off", "no", NULL };
    const char *value = fp_env_text(name);
    if (!value || is_one_of(value, off))
        return false;
    if (is_one_of(value, on))
        return true;
    fp_warn_once(name, "%s=%s is not one of 1, true, on, yes, 0, false, off, no: taken as off", name, value);
    return false;
}
