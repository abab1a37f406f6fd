// keep.c - a vendor's raw buffers in a file (keep.h).
//
// Whether a word is an address is asked of the kernel, by a copy of the memory that it would name, never by
// following it: nearly all words of a record are no addresses.

#include "tracers/keep.h"

#include "base/env.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TEXT_BYTES = 255, STEP = 4, LEAST_LETTERS = 2 }; // MSPTI's words lie on 4 bytes

static struct {
    pthread_mutex_t lock; // some vendors' buffers are read in their callbacks, several at once
    FILE *bytes, *strings;
    unsigned count;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static FILE *open_file(const char *folder, const char *suffix) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%ld.%s", folder, (long)getpid(), suffix);
    FILE *file = fopen(path, "wbe");
    if (!file)
        fp_log("keep", "cannot write %s: %s", path, strerror(errno));
    return file;
}

static void open_files(void) {
    const char *folder = fp_env_text("FLAGOS_KEEP_BUFFERS");
    if (!folder)
        return;
    kept.bytes = open_file(folder, "bin");
    kept.strings = open_file(folder, "strings");
}

// Copies at most TEXT_BYTES from an address that may be none; a page's end ends the copy.
static size_t read_text(uint64_t address, char text[TEXT_BYTES + 1]) {
    if (address < 4096 || address >> 48) // x86-64 hands out 47 bits, 64-bit Arm 48
        return 0;
    size_t in_page = 4096 - (address & 4095);
    size_t wanted = in_page < TEXT_BYTES ? in_page : TEXT_BYTES;
    struct iovec to = { text, wanted }, from = { (void *)(uintptr_t)address, wanted };
    ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    size_t length = 0;
    while (copied > 0 && length < (size_t)copied && isprint((unsigned char)text[length]))
        length++;
    text[length] = '\0';
    return length;
}

static void keep_strings(const uint8_t *bytes, size_t valid) {
    char text[TEXT_BYTES + 1];
    for (size_t at = 0; at + sizeof(uint64_t) <= valid; at += STEP) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (read_text(word, text) >= LEAST_LETTERS)
            fprintf(kept.strings, "%u %zu %s\n", kept.count, at, text);
    }
    fflush(kept.strings);
}

void fp_keep_buffer(const uint8_t *bytes, size_t valid) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_files);
    if (!kept.bytes || !kept.strings)
        return;
    uint64_t size = valid;
    pthread_mutex_lock(&kept.lock);
    if (fwrite(&size, sizeof(size), 1, kept.bytes) != 1 || fwrite(bytes, 1, valid, kept.bytes) != valid)
        fp_log("keep", "buffer %u could not be written: %s", kept.count, strerror(errno));
    fflush(kept.bytes);
    keep_strings(bytes, valid);
    kept.count++;
    pthread_mutex_unlock(&kept.lock);
}
