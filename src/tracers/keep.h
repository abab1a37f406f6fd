// keep.h - a vendor's raw buffers in a file, for the engineer who must find out why they were not understood.
//
// In:  completed buffers, as the vendor filled them.
// Out: nothing, unless FLAGOS_KEEP_BUFFERS names a folder: then PID.bin (for each buffer a u64 of its size,
//      little-endian, and its bytes), PID.strings (buffer, offset, text for each word that is the address
//      of printable text), the form of tests/fixtures/buffers, and PID.about: a line for what else it takes to
//      read them. "record BUFFER OFFSET" is where the library's iterator said that one begins; a tracer adds
//      lines of its own. tests/c/replay_kept.c reads all three.
#ifndef FP_TRACERS_KEEP_H
#define FP_TRACERS_KEEP_H

#include "flagprof/error.h"

#include <stddef.h>
#include <stdint.h>

// Called before a buffer is decoded, from any thread. One load and a branch where nothing is kept, as for the
// others.
void fp_keep_buffer(const uint8_t *bytes, size_t valid);

// An address in a buffer that was kept.
void fp_keep_record(const void *record);

// "WORD HEX": a struct of the tracer's own, as it is, for what comes by callbacks and lies in no buffer.
void fp_keep_bytes(const char *word, const void *bytes, size_t size);

void fp_keep_line(const char *format, ...) FP_PRINTF(1, 2);

#endif
