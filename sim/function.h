// function.h - a function that vendors' launch calls can start: what stands in for compiled device code.
//
// A native test program makes one of these and passes its address where a vendor's launch call wants a
// function.
#ifndef FLAGSIM_FUNCTION_H
#define FLAGSIM_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

struct flagsim_function {
    const char *name; // mangled; lives as long as the process
    void (*run)(void **arguments);
    const size_t *argument_bytes; // ends with 0; NULL: no arguments
    uint32_t registers, shared_bytes, min_duration_ns;
};

// A launch on its way: the copied arguments.
struct flagsim_launch {
    const struct flagsim_function *function;
    void *arguments[];
};

#endif
