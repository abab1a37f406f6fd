// writer.h - where results go: a file that is whole or absent, standard output, packed or not; and JSON's
// text.
//
// In:  bytes.
// Out: for a path, a temporary file beside it, renamed over it by fp_output_commit only when every byte
//      was written; for "-", standard output. A full disk or a closed pipe is an error with a sentence,
//      and the old file stays as it was.
//
// Errors stick: after the first failure every further call is a no-op that returns the same errno, so callers
// may write on and ask once, at commit.
#ifndef FLAGPROF_TRACE_WRITER_H
#define FLAGPROF_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flagprof/error.h"
#include "trace/source.h"
#include "trace/text.h"

struct fp_output;

struct fp_output_options {
    size_t size; // sizeof(struct fp_output_options) as the caller knows it
    int packing; // enum fp_packing plus 1; 0: by the path's suffix (.gz, .zst, anything else plain)
    int level;   // of the packing; 0: the fast default
};

// Opens `path` for writing ("-": standard output, never packed unless asked). `options` may be NULL.
int fp_output_open(const char *path, const struct fp_output_options *options, struct fp_output **output,
                   struct fp_error *err);

int fp_output_write(struct fp_output *output, const void *bytes, size_t size);
int fp_output_text(struct fp_output *output, const char *text); // a C string
int fp_output_format(struct fp_output *output, const char *format, ...) FP_PRINTF(2, 3);

// `text` (bytes, not escaped) as a JSON string with its quotes: control bytes, quotes and backslashes
// escaped, bytes that are no UTF-8 replaced by U+FFFD.
int fp_output_json_text(struct fp_output *output, struct fp_text text);

// Nanoseconds as microseconds with exactly three decimals, or as a whole number where `whole` says so and it
// is one.
int fp_output_microseconds(struct fp_output *output, int64_t ns, bool whole);

int fp_output_state(const struct fp_output *output);      // 0 or the first negative errno
uint64_t fp_output_bytes(const struct fp_output *output); // before packing

// Flushes, closes and renames, and frees the output whatever happens. Returns 0 or the first error.
int fp_output_commit(struct fp_output *output, struct fp_error *err);

// Throws away what was written and frees the output. NULL is allowed.
void fp_output_abort(struct fp_output *output);

#endif
