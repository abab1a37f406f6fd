// source.c - the bytes of a trace, whatever they are packed in.
//
// In:  a file descriptor or memory.
// Out: UTF-8 text. Three layers, each a function that fills a buffer: stored bytes (stored_read),
//      unpacked bytes (unpack, one row per packing), text (fp_source_read).

#include "trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#define STORED_ROOM (128 * 1024)
#define PEEK_ROOM 64
#define UTF16_PIECE 2048 // bytes converted at once; they never become twice as many

enum encoding { UTF8, UTF16_LITTLE, UTF16_BIG };

struct fp_source {
    char *name;
    int fd; // -1 for memory
    bool borrowed_fd;
    const unsigned char *memory;
    size_t memory_left;
    uint64_t size;
    _Atomic uint64_t position;
    atomic_uint flags;
    enum fp_packing packing;

    unsigned char *stored; // packed bytes not unpacked yet
    size_t stored_at, stored_end;
    bool stored_over; // the descriptor has no more
    bool over;        // the unpacked stream ended, for whatever reason
    bool within;      // inside a gzip member or zstd frame
    struct inflate_state *inflate;
    ZSTD_DStream *zstd;

    enum encoding encoding;
    char peek[PEEK_ROOM]; // unpacked bytes read to learn the encoding
    size_t peek_at, peek_end;
    uint32_t high_surrogate;      // waits for its other half
    unsigned unit_count;          // 1 while it does
    char staged[UTF16_PIECE * 2]; // converted, not handed out yet
    size_t staged_at, staged_end;
};

static void raise_flag(struct fp_source *source, unsigned flag) {
    atomic_fetch_or(&source->flags, flag);
}

// Fills `out` as far as the descriptor or the memory goes.
static int64_t stored_read(struct fp_source *source, void *out, size_t room, struct fp_error *err) {
    if (source->fd < 0) {
        size_t size = room < source->memory_left ? room : source->memory_left;
        if (size)
            memcpy(out, source->memory, size);
        source->memory += size;
        source->memory_left -= size;
        source->stored_over = source->memory_left == 0;
        atomic_fetch_add(&source->position, size);
        return (int64_t)size;
    }
    size_t got = 0;
    while (got < room && !source->stored_over) {
        ssize_t step = read(source->fd, (char *)out + got, room - got);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0) {
            int code = errno;
            fp_error_set(err, "cannot read %s: %s", source->name, strerror(code));
            return -code;
        }
        source->stored_over = step == 0;
        got += (size_t)step;
        atomic_fetch_add(&source->position, (uint64_t)step);
    }
    return (int64_t)got;
}

// More packed bytes behind those still waiting. Returns how many wait now.
static int64_t stored_refill(struct fp_source *source, struct fp_error *err) {
    size_t waiting = source->stored_end - source->stored_at;
    if (waiting)
        memmove(source->stored, source->stored + source->stored_at, waiting);
    source->stored_at = 0;
    source->stored_end = waiting;
    int64_t got = stored_read(source, source->stored + waiting, STORED_ROOM - waiting, err);
    if (got < 0)
        return got;
    source->stored_end += (size_t)got;
    return (int64_t)source->stored_end;
}

static int64_t unpack_plain(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    size_t waiting = source->stored_end - source->stored_at;
    size_t first = waiting < room ? waiting : room;
    memcpy(out, source->stored + source->stored_at, first);
    source->stored_at += first;
    if (first == room)
        return (int64_t)room;
    int64_t got = stored_read(source, out + first, room - first, err);
    return got < 0 ? got : (int64_t)first + got;
}

static bool gzip_begins(const unsigned char *at, size_t size) {
    return size >= 2 && at[0] == 0x1F && at[1] == 0x8B;
}

static bool zstd_begins(const unsigned char *at, size_t size) {
    if (size < 4)
        return false;
    uint32_t magic = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static void gzip_begin_member(struct fp_source *source) {
    isal_inflate_init(source->inflate);
    source->inflate->crc_flag = ISAL_GZIP;
    source->within = true;
}

static int64_t unpack_gzip(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    struct inflate_state *state = source->inflate;
    size_t done = 0;
    while (done < room && !source->over) {
        size_t waiting = source->stored_end - source->stored_at;
        if (waiting < 2 && !source->stored_over) {
            int64_t got = stored_refill(source, err);
            if (got < 0)
                return got;
            waiting = (size_t)got;
        }
        const unsigned char *at = source->stored + source->stored_at;
        if (!source->within) {
            if (!gzip_begins(at, waiting)) {
                source->over = true;
                // Zero padding is common (tapes, block devices) and says nothing.
                if (waiting && at[0] != 0)
                    raise_flag(source, FP_SOURCE_TRAILING_BYTES);
                break;
            }
            gzip_begin_member(source);
        }
        size_t span = room - done < (1u << 30) ? room - done : 1u << 30;
        state->next_in = (uint8_t *)at;
        state->avail_in = (uint32_t)waiting;
        state->next_out = (uint8_t *)out + done;
        state->avail_out = (uint32_t)span;
        int code = isal_inflate(state);
        size_t used = waiting - state->avail_in, made = span - state->avail_out;
        source->stored_at += used;
        done += made;
        if (code != ISAL_DECOMP_OK) {
            raise_flag(source, FP_SOURCE_DAMAGED);
            source->over = true;
        } else if (state->block_state == ISAL_BLOCK_FINISH) {
            source->within = false;
        } else if (!used && !made) {
            if (source->stored_over) {
                raise_flag(source, FP_SOURCE_CUT);
                source->over = true;
            } else {
                int64_t got = stored_refill(source, err);
                if (got < 0)
                    return got;
            }
        }
    }
    return (int64_t)done;
}

static int64_t unpack_zstd(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    ZSTD_outBuffer to = { out, room, 0 };
    while (to.pos < to.size && !source->over) {
        size_t waiting = source->stored_end - source->stored_at;
        if (waiting < 4 && !source->stored_over) {
            int64_t got = stored_refill(source, err);
            if (got < 0)
                return got;
            waiting = (size_t)got;
        }
        const unsigned char *at = source->stored + source->stored_at;
        if (!source->within && !zstd_begins(at, waiting)) {
            source->over = true;
            if (waiting)
                raise_flag(source, FP_SOURCE_TRAILING_BYTES);
            break;
        }
        source->within = true;
        ZSTD_inBuffer from = { at, waiting, 0 };
        size_t made = to.pos;
        size_t code = ZSTD_decompressStream(source->zstd, &to, &from);
        source->stored_at += from.pos;
        if (ZSTD_isError(code)) {
            if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
                fp_error_set(err,
                             "%s: its zstd window is larger than 128 MB (packed with --long=28 or more). "
                             "Pipe it: zstd -dc --long=31 FILE | flagprof VERB -",
                             source->name);
                return -EFBIG;
            }
            if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
                fp_error_set(err, "%s: not enough memory to unpack it", source->name);
                return -ENOMEM;
            }
            raise_flag(source, FP_SOURCE_DAMAGED);
            source->over = true;
        } else if (code == 0) {
            source->within = false;
        } else if (!from.pos && made == to.pos) {
            if (source->stored_over) {
                raise_flag(source, FP_SOURCE_CUT);
                source->over = true;
            } else {
                int64_t got = stored_refill(source, err);
                if (got < 0)
                    return got;
            }
        }
    }
    return (int64_t)to.pos;
}

static const struct {
    const char *suffix;
    int64_t (*unpack)(struct fp_source *source, char *out, size_t room, struct fp_error *err);
} packings[] = {
    [FP_PACKING_PLAIN] = { ".json", unpack_plain },
    [FP_PACKING_GZIP] = { ".gz", unpack_gzip },
    [FP_PACKING_ZSTD] = { ".zst", unpack_zstd },
};

// Unpacked bytes, those that were peeked at first.
static int64_t unpacked_read(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    size_t peeked = source->peek_end - source->peek_at;
    if (peeked) {
        size_t size = peeked < room ? peeked : room;
        memcpy(out, source->peek + source->peek_at, size);
        source->peek_at += size;
        if (size == room)
            return (int64_t)size;
        int64_t got = packings[source->packing].unpack(source, out + size, room - size, err);
        return got < 0 ? got : (int64_t)size + got;
    }
    return packings[source->packing].unpack(source, out, room, err);
}

static size_t utf8_put(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    size_t size = code < 0x10000 ? 3 : 4;
    out[0] = (char)(size == 3 ? 0xE0 | code >> 12 : 0xF0 | code >> 18);
    for (size_t i = 1; i < size; i++)
        out[i] = (char)(0x80 | (code >> (6 * (size - 1 - i)) & 0x3F));
    return size;
}

// One UTF-16 unit more; writes what became complete.
static size_t utf16_put(struct fp_source *source, uint32_t unit, char *out) {
    size_t done = 0;
    if (source->unit_count) {
        source->unit_count = 0;
        if (unit >= 0xDC00 && unit < 0xE000)
            return utf8_put(0x10000 + ((source->high_surrogate - 0xD800) << 10) + (unit - 0xDC00), out);
        done = utf8_put(0xFFFD, out);
    }
    if (unit >= 0xD800 && unit < 0xDC00) {
        source->high_surrogate = unit;
        source->unit_count = 1;
        return done;
    }
    return done + utf8_put(unit >= 0xDC00 && unit < 0xE000 ? 0xFFFD : unit, out + done);
}

// Converts the next piece into the staging buffer. Returns its size, 0 at the end.
static int64_t utf16_stage(struct fp_source *source, struct fp_error *err) {
    char raw[UTF16_PIECE];
    int64_t got = unpacked_read(source, raw, sizeof(raw), err);
    if (got <= 0 && !source->unit_count)
        return got;
    size_t done = 0;
    for (int64_t i = 0; i + 1 < got; i += 2) {
        uint32_t low = (unsigned char)raw[i], high = (unsigned char)raw[i + 1];
        done += utf16_put(source, source->encoding == UTF16_LITTLE ? high << 8 | low : low << 8 | high,
                          source->staged + done);
    }
    if (got < (int64_t)sizeof(raw)) { // the end, perhaps in the middle of a character
        if (source->unit_count || got & 1)
            done += utf8_put(0xFFFD, source->staged + done);
        source->unit_count = 0;
    }
    source->staged_at = 0;
    source->staged_end = done;
    return (int64_t)done;
}

static int64_t utf16_read(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    size_t done = 0;
    while (done < room) {
        size_t waiting = source->staged_end - source->staged_at;
        if (!waiting) {
            int64_t got = utf16_stage(source, err);
            if (got < 0)
                return got;
            if (got == 0)
                break;
            continue;
        }
        size_t size = waiting < room - done ? waiting : room - done;
        memcpy(out + done, source->staged + source->staged_at, size);
        source->staged_at += size;
        done += size;
    }
    return (int64_t)done;
}

int64_t fp_source_read(struct fp_source *source, char *out, size_t room, struct fp_error *err) {
    return source->encoding == UTF8 ? unpacked_read(source, out, room, err)
                                    : utf16_read(source, out, room, err);
}

// A byte-order mark of four bytes, or '{' or '[' with three zero bytes beside it.
static bool is_utf32(const unsigned char *s) {
    static const unsigned char starts[][4] = { { 0xFF, 0xFE, 0, 0 }, { 0, 0, 0xFE, 0xFF } };
    for (size_t i = 0; i < 2; i++)
        if (memcmp(s, starts[i], 4) == 0)
            return true;
    return !s[1] && !s[2] && (s[0] ? !s[3] : s[3] != 0);
}

// Looks at the first unpacked bytes for a byte-order mark, or for the zero bytes that UTF-16 leaves beside
// '{' or '['.
static int learn_encoding(struct fp_source *source, struct fp_error *err) {
    int64_t got = packings[source->packing].unpack(source, source->peek, PEEK_ROOM, err);
    if (got < 0)
        return (int)got;
    source->peek_end = (size_t)got;
    const unsigned char *s = (const unsigned char *)source->peek;
    if (got >= 4 && is_utf32(s)) {
        fp_error_set(err, "%s is UTF-32. Write it as UTF-8 (iconv -f UTF-32 -t UTF-8)", source->name);
        return -EILSEQ;
    }
    if (got >= 3 && s[0] == 0xEF && s[1] == 0xBB && s[2] == 0xBF) {
        source->peek_at = 3;
        raise_flag(source, FP_SOURCE_UTF8_MARK);
    } else if (got >= 2 && ((s[0] == 0xFF && s[1] == 0xFE) || (s[0] == 0xFE && s[1] == 0xFF))) {
        source->encoding = s[0] == 0xFF ? UTF16_LITTLE : UTF16_BIG;
        source->peek_at = 2;
    } else if (got >= 4 && (s[0] ? s[1] == 0 && s[2] && !s[3] : s[1] && !s[2] && s[3])) {
        source->encoding = s[0] ? UTF16_LITTLE : UTF16_BIG;
    }
    if (source->encoding != UTF8)
        raise_flag(source, FP_SOURCE_UTF16);
    return 0;
}

static bool ends_with(const char *name, const char *suffix) {
    size_t size = strlen(name), tail = strlen(suffix);
    return size >= tail && strcmp(name + size - tail, suffix) == 0;
}

static int learn_packing(struct fp_source *source, struct fp_error *err) {
    source->stored = malloc(STORED_ROOM);
    if (!source->stored)
        goto no_memory;
    int64_t got = stored_refill(source, err);
    if (got < 0)
        return (int)got;
    if (got == 0) {
        fp_error_set(err, "%s is empty (0 bytes): the program that should have written it wrote nothing",
                     source->name);
        return -ENODATA;
    }
    if (gzip_begins(source->stored, (size_t)got)) {
        source->packing = FP_PACKING_GZIP;
        // Zeroed: a damaged stream may refer to what was never unpacked, and must not be handed old memory
        // for it.
        source->inflate = calloc(1, sizeof(*source->inflate));
        if (!source->inflate)
            goto no_memory;
    } else if (zstd_begins(source->stored, (size_t)got)) {
        source->packing = FP_PACKING_ZSTD;
        source->zstd = ZSTD_createDStream();
        if (!source->zstd)
            goto no_memory;
    }
    for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++)
        if (i != source->packing && ends_with(source->name, packings[i].suffix))
            raise_flag(source, FP_SOURCE_WRONG_SUFFIX);
    return learn_encoding(source, err);
no_memory:
    fp_error_set(err, "%s: not enough memory to open it", source->name);
    return -ENOMEM;
}

static int open_descriptor(struct fp_source *source, const char *path, struct fp_error *err) {
    struct stat stat;
    if (strcmp(path, "-") == 0) {
        source->fd = STDIN_FILENO;
        source->borrowed_fd = true;
    } else {
        source->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (source->fd < 0 || fstat(source->fd, &stat) != 0) {
        int code = errno;
        fp_error_set(err, "cannot open %s: %s", source->name, strerror(code));
        return -code;
    }
    if (S_ISDIR(stat.st_mode)) {
        fp_error_set(err, "%s is a directory. Name the trace files in it", source->name);
        return -EISDIR;
    }
    if (S_ISREG(stat.st_mode)) {
        source->size = (uint64_t)stat.st_size;
        (void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return 0;
}

static struct fp_source *source_new(const char *name) {
    struct fp_source *source = calloc(1, sizeof(*source));
    if (!source)
        return NULL;
    source->fd = -1;
    source->name = strdup(name);
    if (!source->name) {
        free(source);
        return NULL;
    }
    return source;
}

int fp_source_open(const char *path, struct fp_source **out, struct fp_error *err) {
    return fp_source_open_as(path, NULL, out, err);
}

int fp_source_open_as(const char *path, const char *name, struct fp_source **out, struct fp_error *err) {
    *out = NULL;
    name = name ? name : strcmp(path, "-") == 0 ? "standard input" : path;
    struct fp_source *source = source_new(name);
    if (!source) {
        fp_error_set(err, "%s: not enough memory to open it", name);
        return -ENOMEM;
    }
    int code = open_descriptor(source, path, err);
    if (!code)
        code = learn_packing(source, err);
    if (code) {
        fp_source_close(source);
        return code;
    }
    *out = source;
    return 0;
}

int fp_source_open_memory(const char *name, const void *text, size_t size, struct fp_source **out,
                          struct fp_error *err) {
    *out = NULL;
    struct fp_source *source = source_new(name);
    if (!source) {
        fp_error_set(err, "%s: not enough memory to open it", name);
        return -ENOMEM;
    }
    source->memory = text;
    source->memory_left = size;
    source->size = size;
    int code = learn_packing(source, err);
    if (code) {
        fp_source_close(source);
        return code;
    }
    *out = source;
    return 0;
}

void fp_source_close(struct fp_source *source) {
    if (!source)
        return;
    if (source->fd >= 0 && !source->borrowed_fd)
        close(source->fd);
    ZSTD_freeDStream(source->zstd);
    free(source->inflate);
    free(source->stored);
    free(source->name);
    free(source);
}

const char *fp_source_name(const struct fp_source *source) {
    return source->name;
}

enum fp_packing fp_source_packing(const struct fp_source *source) {
    return source->packing;
}

unsigned fp_source_flags(const struct fp_source *source) {
    return atomic_load(&source->flags);
}

uint64_t fp_source_size(const struct fp_source *source) {
    return source->size;
}

uint64_t fp_source_position(const struct fp_source *source) {
    return atomic_load(&source->position);
}
