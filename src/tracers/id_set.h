// id_set.h - which 32-bit ids were seen. Kept as bits in pages, since vendors count their ids up: a million
// launches take 128 KB.
#ifndef FP_TRACERS_ID_SET_H
#define FP_TRACERS_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { FP_ID_SET_TOP = 256 };

struct fp_id_set { // all 0: empty
    uint8_t **middle[FP_ID_SET_TOP];
};

// Out of memory the id is not remembered.
void fp_id_set_add(struct fp_id_set *set, uint32_t id);
bool fp_id_set_has(const struct fp_id_set *set, uint32_t id);
void fp_id_set_free(struct fp_id_set *set); // and empties it

#endif
