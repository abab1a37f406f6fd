// error.c - the text beside a negative errno (include/flagprof/error.h).

#include "flagprof/error.h"

#include <stdio.h>

void fp_error_setv(struct fp_error *err, const char *format, va_list arguments) {
    if (!err)
        return;
    if (vsnprintf(err->text, sizeof(err->text), format, arguments) < 0)
        err->text[0] = '\0';
}

void fp_error_set(struct fp_error *err, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fp_error_setv(err, format, arguments);
    va_end(arguments);
}
