// index.h - from a vendor id to the place of what carries it: pairs sorted by id, found by a hint or by
// halving.
//
// Ids come nearly in order, so the next one wanted is nearly always the next one in the list.
#ifndef FP_RECORDING_INDEX_H
#define FP_RECORDING_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fp_index_entry {
    uint32_t id, place;
};

struct fp_index {
    struct fp_index_entry *entries;
    size_t count, capacity;
};

#define FP_INDEX_NONE UINT32_MAX

bool fp_index_add(struct fp_index *index, uint32_t id, uint32_t place); // false: no memory
void fp_index_sort(struct fp_index *index); // stable: of equal ids the first added stays first
// The place of the first entry with this id, or FP_INDEX_NONE. *hint is the caller's, one for each walk, 0 at
// first.
uint32_t fp_index_find(const struct fp_index *index, uint32_t id, size_t *hint);
void fp_index_free(struct fp_index *index);

#endif
