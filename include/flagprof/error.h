// error.h - how FlagProf says what went wrong.
//
// Every function that can fail returns 0 or a negative errno. Where a person will read the reason, it also
// takes a `struct fp_error *` that the caller owns and that may be NULL: one sentence, saying what, where and
// what to do. Nothing is allocated and nothing is printed. Safe from any thread as long as each thread brings
// its own struct.
#ifndef FLAGPROF_ERROR_H
#define FLAGPROF_ERROR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FP_API __attribute__((visibility("default")))
#define FP_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define FP_API
#define FP_PRINTF(text, first)
#endif

struct fp_error {
    char text[512]; // always terminated; empty when nothing was said
};

// Sets the text, cutting it to what fits. `err` may be NULL, then nothing happens.
FP_API void fp_error_set(struct fp_error *err, const char *format, ...) FP_PRINTF(2, 3);
FP_API void fp_error_setv(struct fp_error *err, const char *format, va_list arguments);

#ifdef __cplusplus
}
#endif

#endif
