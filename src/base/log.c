// log.c - FLAGOS_TRACE and the ungated warnings (log.h). One line, one write, so that threads do not mix
// their lines.

#include "base/log.h"

#include "base/env.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WARNED_MAX = 64 };

static atomic_int enabled = -1; // -1: not read yet

bool fp_log_enabled(void) {
    int now = atomic_load_explicit(&enabled, memory_order_relaxed);
    if (now < 0) {
        // Off meanwhile: reading a bad value warns, and the warning must not come back here.
        atomic_store_explicit(&enabled, 0, memory_order_relaxed);
        now = fp_env_switch("FLAGOS_TRACE") ? 1 : 0;
        atomic_store_explicit(&enabled, now, memory_order_relaxed);
    }
    return now == 1;
}

static void write_line(const char *prefix, const char *component, const char *format, va_list arguments) {
    char line[1024];
    int used = snprintf(line, sizeof(line), "%s%s%s", prefix, component, *component ? ": " : "");
    if (used < 0 || used >= (int)sizeof(line) - 1)
        return;
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    if (more < 0)
        return;
    size_t length = strlen(line);
    line[length] = '\n';
    // A closed standard error is the program's choice; there is nobody to tell.
    if (write(STDERR_FILENO, line, length + 1) < 0)
        return;
}

void fp_log_write(const char *component, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line("flagprof trace: ", component, format, arguments);
    va_end(arguments);
}

void fp_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line("flagprof: ", "", format, arguments);
    va_end(arguments);
}

static bool first_time(const char *key) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char warned[WARNED_MAX][48];
    static size_t count;
    bool first = true;
    pthread_mutex_lock(&lock);
    for (size_t at = 0; at < count; at++)
        if (strncmp(warned[at], key, sizeof(warned[at]) - 1) == 0)
            first = false;
    if (count == WARNED_MAX)
        first = false;
    if (first) {
        size_t length = strnlen(key, sizeof(warned[count]) - 1);
        memcpy(warned[count], key, length);
        warned[count][length] = '\0';
        count++;
    }
    pthread_mutex_unlock(&lock);
    return first;
}

void fp_warn_once(const char *key, const char *format, ...) {
    if (!first_time(key))
        return;
    va_list arguments;
    va_start(arguments, format);
    write_line("flagprof: ", "", format, arguments);
    va_end(arguments);
}
