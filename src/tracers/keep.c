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
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// MSPTI's words lie on 4 bytes. torch's mangled names have thousands of letters.
enum { TEXT_BYTES = 8191, PAGE_BYTES = 4096, STEP = 4, LEAST_LETTERS = 2, PLACES = 64 };

static struct {
    pthread_mutex_t lock; // some vendors' buffers are read in their callbacks, several at once
    FILE *bytes, *strings, *about;
    unsigned count;
    struct { // of the last buffers: some tracers decode one later than the next is kept
        const uint8_t *bytes;
        size_t valid;
        unsigned number;
    } places[PLACES];
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
    kept.about = open_file(folder, "about");
}

static bool keeps(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_files);
    return kept.bytes && kept.strings && kept.about;
}

// Copies at most TEXT_BYTES from an address that may be none, page by page: the next one may not be there.
static size_t read_text(uint64_t address, char text[TEXT_BYTES + 1]) {
    if (address < 4096 || address >> 48) // x86-64 hands out 47 bits, 64-bit Arm 48
        return 0;
    size_t length = 0;
    for (size_t wanted = 1; wanted > 0 && length < TEXT_BYTES;) {
        size_t in_page = PAGE_BYTES - ((address + length) & (PAGE_BYTES - 1)), left = TEXT_BYTES - length;
        wanted = in_page < left ? in_page : left;
        struct iovec to = { text + length, wanted }, from = { (void *)(uintptr_t)(address + length), wanted };
        ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        while (copied > 0 && wanted > 0 && isprint((unsigned char)text[length])) {
            length++;
            wanted--;
        }
        wanted = copied > 0 && wanted == 0; // all of it was text: more may follow
    }
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
    if (!keeps())
        return;
    uint64_t size = valid;
    pthread_mutex_lock(&kept.lock);
    if (fwrite(&size, sizeof(size), 1, kept.bytes) != 1 || fwrite(bytes, 1, valid, kept.bytes) != valid)
        fp_log("keep", "buffer %u could not be written: %s", kept.count, strerror(errno));
    fflush(kept.bytes);
    keep_strings(bytes, valid);
    kept.places[kept.count % PLACES].bytes = bytes;
    kept.places[kept.count % PLACES].valid = valid;
    kept.places[kept.count % PLACES].number = kept.count;
    kept.count++;
    pthread_mutex_unlock(&kept.lock);
}

void fp_keep_record(const void *record) {
    if (!keeps())
        return;
    pthread_mutex_lock(&kept.lock);
    // From the newest on: memory is used again.
    for (unsigned back = 1; back <= PLACES && back <= kept.count; back++) {
        unsigned at = (kept.count - back) % PLACES;
        size_t offset = (uintptr_t)record - (uintptr_t)kept.places[at].bytes;
        if ((uintptr_t)record < (uintptr_t)kept.places[at].bytes || offset >= kept.places[at].valid)
            continue;
        fprintf(kept.about, "record %u %zu\n", kept.places[at].number, offset);
        break;
    }
    fflush(kept.about);
    pthread_mutex_unlock(&kept.lock);
}

void fp_keep_bytes(const char *word, const void *bytes, size_t size) {
    if (!keeps())
        return;
    pthread_mutex_lock(&kept.lock);
    fprintf(kept.about, "%s ", word);
    for (size_t at = 0; at < size; at++)
        fprintf(kept.about, "%02x", ((const uint8_t *)bytes)[at]);
    fputc('\n', kept.about);
    fflush(kept.about);
    pthread_mutex_unlock(&kept.lock);
}

void fp_keep_line(const char *format, ...) {
    va_list arguments;
    if (!keeps())
        return;
    pthread_mutex_lock(&kept.lock);
    va_start(arguments, format);
    vfprintf(kept.about, format, arguments);
    va_end(arguments);
    fputc('\n', kept.about);
    fflush(kept.about);
    pthread_mutex_unlock(&kept.lock);
}
