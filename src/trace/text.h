// text.h - pieces of a trace's text, and what JSON does to them.
//
// In:  spans of the reader's buffer, still escaped as the file has them.
// Out: the bytes they stand for, or the same text made safe for a terminal.
//
// A span owns nothing: it lives as long as the buffer it points into (the reader says how long that is).
#ifndef FLAGPROF_TRACE_TEXT_H
#define FLAGPROF_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fp_text {
    const char *at; // not terminated
    size_t size;    // bytes
};

// A C string as a span.
static inline struct fp_text fp_text_of(const char *text) {
    return (struct fp_text){ text, text ? strlen(text) : 0 };
}

static inline bool fp_text_equals(struct fp_text text, const char *other) {
    return strlen(other) == text.size && (!text.size || memcmp(text.at, other, text.size) == 0);
}

static inline bool fp_text_same(struct fp_text a, struct fp_text b) {
    return a.size == b.size && (!a.size || memcmp(a.at, b.at, a.size) == 0);
}

static inline bool fp_text_has(struct fp_text text, const char *part) {
    return text.size && memmem(text.at, text.size, part, strlen(part)) != NULL;
}

static inline bool fp_text_begins(struct fp_text text, const char *start) {
    size_t size = strlen(start);
    return text.size >= size && (!size || memcmp(text.at, start, size) == 0);
}

// Turns JSON's escapes into the bytes they mean (UTF-8). `out` has room for text.size bytes, which always
// suffices. An escape that JSON does not know stays as it stands; half a surrogate pair becomes U+FFFD.
// Returns the number of bytes written.
size_t fp_text_unescape(struct fp_text text, char *out);

// Writes `text` for a person: control bytes as \x01, bytes that are no UTF-8 as U+FFFD, at most `room` - 1
// bytes and a terminating zero; a text that is too long is cut and ends in "...". Returns `out`.
char *fp_text_show(struct fp_text text, char *out, size_t room);

// How many bytes at the start of `text` form one valid UTF-8 character; 0 where they form none.
unsigned fp_utf8_length(const char *text, size_t size);

// 64 bits that depend on every byte; equal texts have equal values within a process.
uint64_t fp_text_hash(const char *text, size_t size);

#endif
