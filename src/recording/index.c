// index.c - from a vendor id to the place of what carries it (index.h).

#include "recording/index.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

bool fp_index_add(struct fp_index *index, uint32_t id, uint32_t place) {
    if (index->count == index->capacity) {
        size_t capacity = index->capacity ? index->capacity * 2 : 1024;
        struct fp_index_entry *entries = realloc(index->entries, capacity * sizeof(*entries));
        if (!entries)
            return false;
        index->entries = entries;
        index->capacity = capacity;
    }
    index->entries[index->count++] = (struct fp_index_entry){ id, place };
    return true;
}

static bool is_sorted(const struct fp_index *index) {
    for (size_t at = 1; at < index->count; at++)
        if (index->entries[at].id < index->entries[at - 1].id)
            return false;
    return true;
}

static void radix_pass(const struct fp_index_entry *from, struct fp_index_entry *to, size_t count,
                       int shift) {
    size_t starts[DIGITS] = { 0 };
    for (size_t at = 0; at < count; at++)
        starts[from[at].id >> shift & (DIGITS - 1)]++;
    size_t sum = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t here = starts[digit];
        starts[digit] = sum;
        sum += here;
    }
    for (size_t at = 0; at < count; at++)
        to[starts[from[at].id >> shift & (DIGITS - 1)]++] = from[at];
}

static int compare(const void *left, const void *right) {
    const struct fp_index_entry *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

void fp_index_sort(struct fp_index *index) {
    if (is_sorted(index))
        return;
    struct fp_index_entry *other = malloc(index->count * sizeof(*other));
    if (!other) { // slower, but it needs no memory of its own worth naming
        qsort(index->entries, index->count, sizeof(*index->entries), compare);
        return;
    }
    radix_pass(index->entries, other, index->count, 0);
    radix_pass(other, index->entries, index->count, DIGIT_BITS);
    radix_pass(index->entries, other, index->count, 2 * DIGIT_BITS);
    free(index->entries);
    index->entries = other;
    index->capacity = index->count;
}

uint32_t fp_index_find(const struct fp_index *index, uint32_t id, size_t *hint) {
    const struct fp_index_entry *entries = index->entries;
    size_t count = index->count;
    for (size_t at = *hint; at < count && at <= *hint + 1; at++)
        if (entries[at].id == id && (at == 0 || entries[at - 1].id != id)) {
            *hint = at;
            return entries[at].place;
        }
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || entries[low].id != id)
        return FP_INDEX_NONE;
    *hint = low;
    return entries[low].place;
}

void fp_index_free(struct fp_index *index) {
    free(index->entries);
    memset(index, 0, sizeof(*index));
}
