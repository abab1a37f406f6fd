// fuzz_file.h - bytes as files, for code that opens paths; and the judge of what was written.
//
// In:  bytes.
// Out: a path that can be opened any number of times; a strict reading of a result, which aborts where
//      the result is no valid trace.
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/reader.h"

struct fuzz_file {
    int fd;
    char path[48];
};

static inline void fuzz_file_make(struct fuzz_file *file, const uint8_t *bytes, size_t size) {
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (file->fd < 0 || (size && write(file->fd, bytes, size) != (ssize_t)size))
        abort();
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static inline void fuzz_file_close(struct fuzz_file *file) {
    close(file->fd);
}

// Where results go: memory, one file for each process.
static inline const char *fuzz_result_path(void) {
    static char path[64];
    snprintf(path, sizeof(path), "/dev/shm/flagprof-fuzz-%ld.json", (long)getpid());
    return path;
}

// The result must be read to its end without a fault, and closed.
static inline void fuzz_judge_result(void) {
    struct fp_reader_options options = { .size = sizeof(options), .threads = 1 };
    struct fp_reader *reader;
    struct fp_error err = { "" };
    const struct fp_trace_event *event;
    int code = fp_reader_open(fuzz_result_path(), &options, &reader, &err);
    while (!code && (code = fp_reader_next(reader, &event, &err)) == 1)
        code = 0;
    struct fp_reader_summary summary = { 0 };
    if (reader)
        fp_reader_summarise(reader, &summary);
    if (code || !summary.closed || fp_reader_note(reader, FP_NOTE_BAD_UTF8)->count) {
        fprintf(stderr, "the result is no valid trace: %s\n", err.text);
        abort();
    }
    fp_reader_close(reader);
    unlink(fuzz_result_path());
}

#endif
