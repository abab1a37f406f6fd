// id_map.c - vendor ids of 64 bits as unique nonzero ids of 32 bits (id_map.h).
//
// Two tables of open addressing over the same entries: by the wide id, to give the same answer again; by the
// narrow one, to know what is taken. Ids are multiplied before they are cut to a place, since vendors count
// upwards.

#include "tracers/id_map.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 4096 };

struct pair {
    uint64_t wide;   // 0: free
    uint32_t narrow; // never 0 in use
};

struct fp_id_map {
    struct pair *by_wide;
    uint32_t *taken; // narrow ids, 0: free
    uint64_t mask;
    uint64_t count;
};

static uint64_t spread(uint64_t id) {
    id *= 0x9e3779b97f4a7c15u;
    return id ^ id >> 32;
}

struct fp_id_map *fp_id_map_new(void) {
    struct fp_id_map *map = calloc(1, sizeof(*map));
    if (!map)
        return NULL;
    map->by_wide = calloc(FIRST_SLOTS, sizeof(*map->by_wide));
    map->taken = calloc(FIRST_SLOTS, sizeof(*map->taken));
    map->mask = FIRST_SLOTS - 1;
    if (!map->by_wide || !map->taken) {
        fp_id_map_free(map);
        return NULL;
    }
    return map;
}

void fp_id_map_free(struct fp_id_map *map) {
    if (!map)
        return;
    free(map->by_wide);
    free(map->taken);
    free(map);
}

static struct pair *find_wide(const struct fp_id_map *map, uint64_t wide) {
    uint64_t at = spread(wide) & map->mask;
    while (map->by_wide[at].wide && map->by_wide[at].wide != wide)
        at = (at + 1) & map->mask;
    return &map->by_wide[at];
}

static uint32_t *find_narrow(const struct fp_id_map *map, uint32_t narrow) {
    uint64_t at = spread(narrow) & map->mask;
    while (map->taken[at] && map->taken[at] != narrow)
        at = (at + 1) & map->mask;
    return &map->taken[at];
}

static bool grow(struct fp_id_map *map) {
    uint64_t slots = (map->mask + 1) * 2;
    struct fp_id_map bigger = { calloc(slots, sizeof(*bigger.by_wide)), calloc(slots, sizeof(*bigger.taken)),
                                slots - 1, map->count };
    if (!bigger.by_wide || !bigger.taken) {
        free(bigger.by_wide);
        free(bigger.taken);
        return false;
    }
    for (uint64_t at = 0; at <= map->mask; at++)
        if (map->by_wide[at].wide) {
            *find_wide(&bigger, map->by_wide[at].wide) = map->by_wide[at];
            *find_narrow(&bigger, map->by_wide[at].narrow) = map->by_wide[at].narrow;
        }
    struct fp_id_map smaller = *map;
    *map = bigger;
    free(smaller.by_wide);
    free(smaller.taken);
    return true;
}

fp_vendor_id fp_id_map_get(struct fp_id_map *map, uint64_t vendor_id) {
    if (vendor_id == 0)
        return (fp_vendor_id){ 0 };
    struct pair *pair = find_wide(map, vendor_id);
    if (pair->wide)
        return (fp_vendor_id){ pair->narrow };
    if (map->count * 2 > map->mask) {
        if (!grow(map))
            return (fp_vendor_id){ 0 };
        pair = find_wide(map, vendor_id);
    }
    uint32_t narrow = (uint32_t)vendor_id;
    // Ids that differ in their high half alone would queue behind each other: the second of them starts elsewhere.
    if (narrow && *find_narrow(map, narrow))
        narrow = (uint32_t)(spread(vendor_id) >> 16);
    while (narrow == 0 || *find_narrow(map, narrow))
        narrow++;
    *find_narrow(map, narrow) = narrow;
    *pair = (struct pair){ vendor_id, narrow };
    map->count++;
    return (fp_vendor_id){ narrow };
}
