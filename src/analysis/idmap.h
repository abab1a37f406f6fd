// idmap.h - a 64-bit value for each 64-bit id.
//
// In:  ids in any order, 0 among them like any other.
// Out: whether an id was seen, and its value. 16 bytes for each place, at most half of them empty after
//      growth. One thread at a time.
#ifndef FLAGPROF_ANALYSIS_IDMAP_H
#define FLAGPROF_ANALYSIS_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fp_idmap {
    uint64_t *keys, *values; // key 0: an empty place
    size_t mask, used;
    bool has_zero;
    uint64_t zero_value;
};

// All zero is an empty map.
void fp_idmap_free(struct fp_idmap *map);

// The id's value, made 0 when the id is new (*added, when not NULL, says so). NULL when memory is out. The
// pointer lives until the next call.
uint64_t *fp_idmap_at(struct fp_idmap *map, uint64_t id, bool *added);

// NULL when the id was never added.
uint64_t *fp_idmap_find(const struct fp_idmap *map, uint64_t id);

size_t fp_idmap_count(const struct fp_idmap *map);

#endif
