// topspti_text.h - memory at an address that may be none: read by a system call, never by dereference.
//
// In:  a word of a record that may be a pointer.
// Out: its bytes, or that there are none. A wrong guess costs an error number and not the program.
#ifndef FP_TRACERS_TOPSPTI_TEXT_H
#define FP_TRACERS_TOPSPTI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Copies the text at `address`, at most capacity - 1 bytes of it, and ends it. False: there is no readable
// memory up to its end (or up to the capacity's).
bool fp_tops_read_text(uint64_t address, char *text, size_t capacity);

// Copies `count` bytes, which may lie on two pages. False: not all of them are readable.
bool fp_tops_read_bytes(uint64_t address, void *bytes, size_t count);

// For tests: go through a pipe, as where the system does not allow process_vm_readv.
void fp_tops_read_through_pipe(bool on);

#endif
