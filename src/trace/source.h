// source.h - the bytes of a trace, whatever they are packed in.
//
// In:  a path, or "-" for standard input: plain, gzip (one member or many), zstd (one frame or many),
//      told apart by their first bytes and never by the name.
// Out: UTF-8 text in pieces; a byte-order mark is dropped, UTF-16 is converted. What was odd about the
//      packing is kept as flags for the reader to say.
//
// Not here: JSON.
#ifndef FLAGPROF_TRACE_SOURCE_H
#define FLAGPROF_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flagprof/error.h"

enum fp_packing {
    FP_PACKING_PLAIN,
    FP_PACKING_GZIP,
    FP_PACKING_ZSTD,
};

enum fp_source_flag {
    FP_SOURCE_CUT = 1 << 0,            // the compressed stream ends early; what was unpacked was handed out
    FP_SOURCE_DAMAGED = 1 << 1,        // the compressed stream is damaged in the middle; likewise
    FP_SOURCE_WRONG_SUFFIX = 1 << 2,   // named .gz, .zst or .json, and it is another of the three
    FP_SOURCE_UTF8_MARK = 1 << 3,      // began with a UTF-8 byte-order mark
    FP_SOURCE_UTF16 = 1 << 4,          // was UTF-16; offsets are those of the converted text
    FP_SOURCE_TRAILING_BYTES = 1 << 5, // bytes after the last gzip member or zstd frame, not read
};

struct fp_source;

// Opens a trace for reading from its beginning. A directory, a missing or an empty file is an error here.
// Returns 0 or a negative errno with one sentence in `err` that names the path.
int fp_source_open(const char *path, struct fp_source **source, struct fp_error *err);

// As above; messages call it `name`, where that is not NULL. So a copy of what could be read only once goes by the
// name of what it is a copy of.
int fp_source_open_as(const char *path, const char *name, struct fp_source **source, struct fp_error *err);

// As above over `size` bytes in memory (tests, fuzzing). `text` must outlive the source; `name` is for
// messages.
int fp_source_open_memory(const char *name, const void *text, size_t size, struct fp_source **source,
                          struct fp_error *err);

// Fills `out` with the next `room` bytes of text; fewer only at the end. Returns the count, 0 at the end, or
// a negative errno (a read error; -ENOMEM). A cut or damaged stream is no error: it ends, and the flag is
// set. One thread at a time, which need not be the one that opened.
int64_t fp_source_read(struct fp_source *source, char *out, size_t room, struct fp_error *err);

void fp_source_close(struct fp_source *source); // NULL is allowed

const char *fp_source_name(const struct fp_source *source); // the path; "standard input" for "-"
enum fp_packing fp_source_packing(const struct fp_source *source);
unsigned
fp_source_flags(const struct fp_source *source); // enum fp_source_flag, complete once the end was read
uint64_t
fp_source_size(const struct fp_source *source); // bytes as stored; 0 when it cannot be known (a pipe)
uint64_t
fp_source_position(const struct fp_source *source); // stored bytes read so far; safe from another thread

#endif
