// scan.h - where JSON's structure lies in a block of text, found 64 bytes at a time.
//
// In:  text in consecutive pieces.
// Out: the positions of every structural character ({}[]:,), of every string's opening quote and of every
//      scalar's first character outside strings; the positions inside strings that must be looked at
//      (backslashes that begin an escape, bare control bytes); bytes that are no UTF-8; the count of
//      newlines.
//
// Whether the positions make sense is the walk's business (walk.c). The idea of building masks of quotes and
// structure with carry-less multiplication is Langdale and Lemire's (2019, "Parsing gigabytes of JSON per
// second").
#ifndef FLAGPROF_TRACE_SCAN_H
#define FLAGPROF_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FP_SCAN_STEP 64 // bytes looked at in one go
#define FP_SCAN_BAD_PLACES 5

// What is carried from one piece to the next; all zero outside a string.
struct fp_scan {
    uint64_t in_string;                           // all ones inside one
    uint64_t escaped;                             // 1: the next byte is escaped
    uint64_t in_scalar;                           // 1: the last byte belonged to a scalar
    unsigned char utf8_left, utf8_low, utf8_high; // continuation bytes awaited, and the bounds of the next
    uint32_t utf8_start;                          // position of the character that awaits them
};

struct fp_scan_result {
    uint32_t *index; // room for one per byte and 8 more
    size_t index_count;
    uint32_t *special; // room for one per byte
    size_t special_count;
    uint64_t newlines;
    uint64_t bad_utf8;
    uint32_t bad_place[FP_SCAN_BAD_PLACES];
};

// Scans text[from .. to); to - from is a multiple of FP_SCAN_STEP. Positions count from `text`. Adds to
// *result.
void fp_scan_run(struct fp_scan *scan, const char *text, size_t from, size_t to,
                 struct fp_scan_result *result);

// The same, without the processor's wide registers; for tests that compare the two.
void fp_scan_run_portable(struct fp_scan *scan, const char *text, size_t from, size_t to,
                          struct fp_scan_result *result);

// A first look at text[from .. to): counts newlines and bad UTF-8. True when no byte is a backslash or a
// control byte other than JSON's blanks.
bool fp_scan_look(struct fp_scan *scan, const char *text, size_t from, size_t to,
                  struct fp_scan_result *result);

// Ends the text: a character that still awaits bytes is bad.
void fp_scan_end(struct fp_scan *scan, struct fp_scan_result *result);

#endif
