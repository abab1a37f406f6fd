// notes.c - sentences kept until the last drain (notes.h).

#include "tracers/notes.h"

#include <stdarg.h>

void fp_notes_add(struct fp_notes *notes, const char *format, ...) {
    if (notes->count == FP_NOTES)
        return;
    va_list arguments;
    va_start(arguments, format);
    fp_error_setv(&notes->said[notes->count++], format, arguments);
    va_end(arguments);
}

void fp_notes_tell(const struct fp_notes *notes, const struct fp_sink *sink) {
    for (size_t at = 0; at < notes->count; at++)
        sink->note(sink->owner, notes->said[at].text);
}
