// idmap.c - open addressing with linear steps; ids are often consecutive, so they are mixed first.

#include "analysis/idmap.h"

#include <stdlib.h>
#include <string.h>

static size_t place_of(uint64_t id) {
    id ^= id >> 32;
    id *= 0xD6E8FEB86659FD93ULL;
    return (size_t)(id ^ id >> 32);
}

void fp_idmap_free(struct fp_idmap *map) {
    free(map->keys);
    free(map->values);
    memset(map, 0, sizeof(*map));
}

static bool grow(struct fp_idmap *map) {
    size_t room = map->keys ? (map->mask + 1) * 2 : 64;
    uint64_t *keys = calloc(room, sizeof(*keys)), *values = malloc(room * sizeof(*values));
    if (!keys || !values) {
        free(keys);
        free(values);
        return false;
    }
    for (size_t i = 0; map->keys && i <= map->mask; i++) {
        if (!map->keys[i])
            continue;
        size_t at = place_of(map->keys[i]) & (room - 1);
        while (keys[at])
            at = (at + 1) & (room - 1);
        keys[at] = map->keys[i];
        values[at] = map->values[i];
    }
    free(map->keys);
    free(map->values);
    map->keys = keys;
    map->values = values;
    map->mask = room - 1;
    return true;
}

uint64_t *fp_idmap_find(const struct fp_idmap *map, uint64_t id) {
    if (id == 0)
        return map->has_zero ? (uint64_t *)&map->zero_value : NULL;
    if (!map->keys)
        return NULL;
    for (size_t at = place_of(id) & map->mask; map->keys[at]; at = (at + 1) & map->mask)
        if (map->keys[at] == id)
            return &map->values[at];
    return NULL;
}

uint64_t *fp_idmap_at(struct fp_idmap *map, uint64_t id, bool *added) {
    uint64_t *value = fp_idmap_find(map, id);
    if (added)
        *added = !value;
    if (value)
        return value;
    if (id == 0) {
        map->has_zero = true;
        map->zero_value = 0;
        return &map->zero_value;
    }
    if ((!map->keys || map->used + 1 > map->mask / 4 * 3) && !grow(map))
        return NULL;
    size_t at = place_of(id) & map->mask;
    while (map->keys[at])
        at = (at + 1) & map->mask;
    map->keys[at] = id;
    map->values[at] = 0;
    map->used++;
    return &map->values[at];
}

size_t fp_idmap_count(const struct fp_idmap *map) {
    return map->used + map->has_zero;
}
