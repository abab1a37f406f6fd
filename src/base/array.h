// array.h - arrays that grow.
//
// In:  an array from malloc, or NULL, with its count and capacity. Out: room for one element more.
#ifndef FP_BASE_ARRAY_H
#define FP_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

// Makes room for one more of `size` bytes in an array that grows by half; `array_pointer` is the address of the pointer to it.
// False: no memory, the array as before.
bool fp_array_reserve(void *array_pointer, size_t count, size_t *capacity, size_t size);

#endif
