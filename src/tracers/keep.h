// keep.h - a vendor's raw buffers in a file, for the engineer who must find out why they were not understood.
//
// In:  completed buffers, as the vendor filled them.
// Out: nothing, unless FLAGOS_KEEP_BUFFERS names a folder: then PID.bin (for each buffer a u64 of its size,
//      little-endian, and its bytes) and PID.strings (buffer, offset, text for each word that is the address
//      of printable text), the form of tests/fixtures/buffers.
#ifndef FP_TRACERS_KEEP_H
#define FP_TRACERS_KEEP_H

#include <stddef.h>
#include <stdint.h>

// Called before a buffer is decoded, from any thread. One load and a branch where nothing is kept.
void fp_keep_buffer(const uint8_t *bytes, size_t valid);

#endif
