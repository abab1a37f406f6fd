// id_set.c - which 32-bit ids were seen (id_set.h).

#include "tracers/id_set.h"

#include <stddef.h>
#include <stdlib.h>

enum { PAGE_BYTES = 4096, PAGE_IDS = PAGE_BYTES * 8, MIDDLE = 512 }; // TOP * MIDDLE * PAGE_IDS = 2^32

void fp_id_set_free(struct fp_id_set *set) {
    for (size_t top = 0; top < FP_ID_SET_TOP; top++) {
        for (size_t middle = 0; set->middle[top] && middle < MIDDLE; middle++)
            free(set->middle[top][middle]);
        free(set->middle[top]);
        set->middle[top] = NULL;
    }
}

void fp_id_set_add(struct fp_id_set *set, uint32_t id) {
    uint32_t page = id / PAGE_IDS;
    uint8_t ***middle = &set->middle[page / MIDDLE];
    if (!*middle && !(*middle = calloc(MIDDLE, sizeof(**middle))))
        return;
    uint8_t **bits = &(*middle)[page % MIDDLE];
    if (!*bits && !(*bits = calloc(1, PAGE_BYTES)))
        return;
    (*bits)[id % PAGE_IDS / 8] |= (uint8_t)(1u << id % 8);
}

bool fp_id_set_has(const struct fp_id_set *set, uint32_t id) {
    uint32_t page = id / PAGE_IDS;
    uint8_t **middle = set->middle[page / MIDDLE];
    return middle && middle[page % MIDDLE] && middle[page % MIDDLE][id % PAGE_IDS / 8] >> id % 8 & 1;
}
