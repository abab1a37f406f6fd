// writer.c - where results go: a whole file or none, standard output, packed or not.
//
// In:  bytes.
// Out: for a path, a temporary file beside it that is renamed over it at commit; for "-" and for what is
//      no regular file (/dev/null, a FIFO), the thing itself. Three layers: text gathers in a buffer, the
//      packer empties the buffer, `push` hands bytes to the kernel.
//
// Not here: signals. A program that writes to pipes ignores SIGPIPE, and SIGXFSZ where a size limit may be
// set, and removes what temporary.c knows when it is told to end; main.c does.

#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "trace/temporary.h"

#define TEXT_ROOM (256u << 10)
#define PACKED_ROOM (256u << 10)

struct gzip_packer {
    struct isal_zstream stream;
    uint8_t level_buffer[ISAL_DEF_LVL1_DEFAULT];
};

struct fp_output {
    int fd;
    char *name; // for messages
    char *path; // what commit renames to; NULL where nothing is renamed
    char *temporary;
    int packing;
    int level;
    int state; // first error
    uint64_t bytes;
    size_t used; // of text
    char *text;
    unsigned char *packed;
    struct gzip_packer *gzip;
    ZSTD_CCtx *zstd;
};

static void fail(struct fp_output *output, int code) {
    if (!output->state)
        output->state = code;
}

static void push(struct fp_output *output, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size && !output->state) {
        ssize_t step = write(output->fd, at, size < (1u << 30) ? size : 1u << 30);
        if (step < 0 && errno == EINTR)
            continue;
        if (step <= 0) {
            fail(output, step < 0 ? -errno : -EIO);
            return;
        }
        at += step;
        size -= (size_t)step;
    }
}

static void pack_plain(struct fp_output *output, bool last) {
    (void)last;
    push(output, output->text, output->used);
}

static void pack_gzip(struct fp_output *output, bool last) {
    struct isal_zstream *stream = &output->gzip->stream;
    stream->next_in = (uint8_t *)output->text;
    stream->avail_in = (uint32_t)output->used;
    stream->end_of_stream = last;
    do {
        stream->next_out = output->packed;
        stream->avail_out = PACKED_ROOM;
        if (isal_deflate(stream) != COMP_OK) {
            fail(output, -EIO);
            return;
        }
        push(output, output->packed, PACKED_ROOM - stream->avail_out);
    } while (!output->state && stream->avail_out == 0);
}

static void pack_zstd(struct fp_output *output, bool last) {
    ZSTD_inBuffer from = { output->text, output->used, 0 };
    size_t left;
    do {
        ZSTD_outBuffer to = { output->packed, PACKED_ROOM, 0 };
        left = ZSTD_compressStream2(output->zstd, &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            fail(output, ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO);
            return;
        }
        push(output, output->packed, to.pos);
    } while (!output->state && (last ? left != 0 : from.pos < from.size));
}

static int begin_gzip(struct fp_output *output) {
    output->gzip = malloc(sizeof(*output->gzip));
    if (!output->gzip)
        return -ENOMEM;
    struct isal_zstream *stream = &output->gzip->stream;
    isal_deflate_init(stream);
    stream->gzip_flag = IGZIP_GZIP;
    stream->level = 1;
    stream->level_buf = output->gzip->level_buffer;
    stream->level_buf_size = sizeof(output->gzip->level_buffer);
    return 0;
}

static int begin_zstd(struct fp_output *output) {
    output->zstd = ZSTD_createCCtx();
    if (!output->zstd)
        return -ENOMEM;
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, output->level ? output->level : 1);
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1);
    return 0;
}

static const struct {
    const char *suffix;
    int (*begin)(struct fp_output *output);
    void (*pack)(struct fp_output *output, bool last);
} packings[] = {
    [FP_PACKING_PLAIN] = { NULL, NULL, pack_plain },
    [FP_PACKING_GZIP] = { ".gz", begin_gzip, pack_gzip },
    [FP_PACKING_ZSTD] = { ".zst", begin_zstd, pack_zstd },
};

static int packing_by_suffix(const char *path) {
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++) {
        size_t tail = packings[i].suffix ? strlen(packings[i].suffix) : 0;
        if (tail && size >= tail && strcmp(path + size - tail, packings[i].suffix) == 0)
            return (int)i;
    }
    return FP_PACKING_PLAIN;
}

static void flush(struct fp_output *output, bool last) {
    if (!output->state)
        packings[output->packing].pack(output, last);
    output->used = 0;
}

// The temporary file lies in the target's own folder, since a rename does not cross file systems.
static int open_temporary(struct fp_output *output, mode_t mode, bool exists) {
    size_t room = strlen(output->path) + 40;
    output->temporary = malloc(room);
    if (!output->temporary)
        return -ENOMEM;
    for (int i = 0; i < 100; i++) {
        snprintf(output->temporary, room, "%s.%ld-%d.part", output->path, (long)getpid(), i);
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd >= 0) {
            fp_temporary_keep(output->temporary);
            if (exists)
                (void)!fchmod(output->fd, mode & 07777);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    int code = -errno;
    free(output->temporary);
    output->temporary = NULL;
    return code;
}

static int open_path(struct fp_output *output, const char *path) {
    if (strcmp(path, "-") == 0) {
        output->fd = STDOUT_FILENO;
        return 0;
    }
    struct stat found;
    bool exists = stat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(found.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
        return output->fd < 0 ? -errno : 0;
    }
    // Through a symbolic link the file that it names is replaced, not the link.
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (!output->path)
        return errno ? -errno : -ENOMEM;
    return open_temporary(output, exists ? found.st_mode : 0, exists);
}

static void output_free(struct fp_output *output) {
    if (output->fd >= 0 && output->fd != STDOUT_FILENO)
        close(output->fd);
    if (output->temporary)
        unlink(output->temporary);
    fp_temporary_forget(output->temporary);
    ZSTD_freeCCtx(output->zstd);
    free(output->gzip);
    free(output->packed);
    free(output->text);
    free(output->temporary);
    free(output->path);
    free(output->name);
    free(output);
}

int fp_output_open(const char *path, const struct fp_output_options *options, struct fp_output **out,
                   struct fp_error *err) {
    struct fp_output_options known = { sizeof(known), 0, 0 };
    if (options)
        memcpy(&known, options, options->size < sizeof(known) ? options->size : sizeof(known));
    *out = NULL;
    int code = -ENOMEM;
    struct fp_output *output = calloc(1, sizeof(*output));
    if (!output)
        goto failed;
    output->fd = -1;
    output->packing = known.packing ? known.packing - 1 : packing_by_suffix(path);
    output->level = known.level;
    output->name = strdup(strcmp(path, "-") == 0 ? "standard output" : path);
    output->text = malloc(TEXT_ROOM);
    output->packed = malloc(PACKED_ROOM);
    if (!output->name || !output->text || !output->packed)
        goto failed;
    code = packings[output->packing].begin ? packings[output->packing].begin(output) : 0;
    if (!code)
        code = open_path(output, path);
    if (code)
        goto failed;
    *out = output;
    return 0;
failed:
    fp_error_set(err, "cannot write %s: %s", path, strerror(-code));
    if (output)
        output_free(output);
    return code;
}

int fp_output_write(struct fp_output *output, const void *bytes, size_t size) {
    const char *at = bytes;
    output->bytes += size;
    while (size && !output->state) {
        size_t room = TEXT_ROOM - output->used, step = size < room ? size : room;
        memcpy(output->text + output->used, at, step);
        output->used += step;
        at += step;
        size -= step;
        if (output->used == TEXT_ROOM)
            flush(output, false);
    }
    return output->state;
}

int fp_output_text(struct fp_output *output, const char *text) {
    return fp_output_write(output, text, strlen(text));
}

int fp_output_format(struct fp_output *output, const char *format, ...) {
    char small[512], *text = small;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(small, sizeof(small), format, arguments);
    if (size >= (int)sizeof(small)) {
        text = malloc((size_t)size + 1);
        if (text)
            vsnprintf(text, (size_t)size + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    if (size < 0 || !text)
        fail(output, size < 0 ? -EINVAL : -ENOMEM);
    else
        fp_output_write(output, text, (size_t)size);
    if (text != small)
        free(text);
    return output->state;
}

// The two characters behind a backslash, or NULL for a byte that stands for itself.
static const char *short_escape(unsigned char c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    default:
        return NULL;
    }
}

int fp_output_json_text(struct fp_output *output, struct fp_text text) {
    size_t plain = 0, i = 0; // text[plain .. i) stands for itself
    fp_output_write(output, "\"", 1);
    while (i < text.size) {
        unsigned char c = (unsigned char)text.at[i];
        unsigned length = c < 0x80 ? 1 : fp_utf8_length(text.at + i, text.size - i);
        const char *escape = short_escape(c);
        char unicode[8];
        if (!length)
            escape = "\xEF\xBF\xBD";
        else if (c < 0x20 && !escape)
            snprintf(unicode, sizeof(unicode), "\\u%04x", c), escape = unicode;
        if (escape) {
            fp_output_write(output, text.at + plain, i - plain);
            fp_output_text(output, escape);
            plain = i + 1;
        }
        i += length ? length : 1;
    }
    fp_output_write(output, text.at + plain, i - plain);
    return fp_output_write(output, "\"", 1);
}

int fp_output_microseconds(struct fp_output *output, int64_t ns, bool whole) {
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[32];
    int length = snprintf(text, sizeof(text), "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000));
    if (!whole || size % 1000)
        length += snprintf(text + length, sizeof(text) - (size_t)length, ".%03u", (unsigned)(size % 1000));
    return fp_output_write(output, text, (size_t)length);
}

int fp_output_state(const struct fp_output *output) {
    return output->state;
}

uint64_t fp_output_bytes(const struct fp_output *output) {
    return output->bytes;
}

int fp_output_commit(struct fp_output *output, struct fp_error *err) {
    flush(output, true);
    if (output->fd != STDOUT_FILENO) { // some file systems report a full disk only here
        if (close(output->fd) != 0)
            fail(output, -errno);
        output->fd = -1;
    }
    if (!output->state && output->path && rename(output->temporary, output->path) != 0)
        fail(output, -errno);
    int code = output->state;
    if (!code && output->temporary) {
        fp_temporary_forget(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    }
    if (code)
        fp_error_set(err, "cannot write %s: %s. %s", output->name, strerror(-code),
                     output->path ? "Nothing was left behind, and a file that was there is as it was"
                                  : "What was written until then is incomplete");
    output_free(output);
    return code;
}

void fp_output_abort(struct fp_output *output) {
    if (output)
        output_free(output);
}
