// array.c - see array.h.

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool fp_array_reserve(void *array_pointer, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity + *capacity / 2 : 256;
    void *array;
    memcpy(&array, array_pointer, sizeof(array));
    array = realloc(array, wanted * size);
    if (!array)
        return false;
    memcpy(array_pointer, &array, sizeof(array));
    *capacity = wanted;
    return true;
}
