// idset.c - sets of ids in pages of 512 bits, and a table with removal.
//
// In:  ids.
// Out: membership. Both are open-addressed; the table closes the hole behind a removed entry, so that no
//      tombstones pile up.

#include "analysis/idset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t home_of(uint64_t key, size_t mask) {
    // Keys come nearly in order: neighbours lie side by side, and far ones are thrown apart.
    return (size_t)(key + (key >> 16) * 0x9E3779B97F4A7C15ULL) & mask;
}

static size_t page_slot(const struct fp_idset *set, uint64_t page) {
    size_t at = home_of(page, set->mask);
    while (set->pages[at].page && set->pages[at].page != page)
        at = (at + 1) & set->mask;
    return at;
}

static int grow_pages(struct fp_idset *set) {
    struct fp_idset grown = { .mask = set->mask ? set->mask * 2 + 1 : 15 };
    grown.pages = calloc(grown.mask + 1, sizeof(*grown.pages));
    if (!grown.pages)
        return -ENOMEM;
    for (size_t i = 0; set->pages && i <= set->mask; i++)
        if (set->pages[i].page)
            grown.pages[page_slot(&grown, set->pages[i].page)] = set->pages[i];
    grown.count = set->count;
    free(set->pages);
    *set = grown;
    return 0;
}

int fp_idset_add(struct fp_idset *set, uint64_t id) {
    uint64_t page = id / 512 + 1, bit = 1ULL << (id % 64);
    size_t word = id % 512 / 64;
    size_t at = set->last;
    if (!set->pages || set->pages[at].page != page) {
        if ((!set->pages || set->count * 4 >= set->mask * 3) && grow_pages(set) != 0)
            return -ENOMEM;
        at = set->last = page_slot(set, page);
        set->count += !set->pages[at].page;
        set->pages[at].page = page;
    }
    uint64_t *bits = &set->pages[at].bits[word];
    bool fresh = !(*bits & bit);
    *bits |= bit;
    return fresh;
}

bool fp_idset_has(const struct fp_idset *set, uint64_t id) {
    if (!set->pages)
        return false;
    const struct fp_idset_page *page = &set->pages[page_slot(set, id / 512 + 1)];
    return page->page && (page->bits[id % 512 / 64] >> (id % 64) & 1);
}

void fp_idset_free(struct fp_idset *set) {
    free(set->pages);
    memset(set, 0, sizeof(*set));
}

static size_t half_slot(const struct fp_halves *halves, uint64_t id) {
    size_t at = home_of(id, halves->mask);
    while (halves->halves[at].used && halves->halves[at].id != id)
        at = (at + 1) & halves->mask;
    return at;
}

static int grow_halves(struct fp_halves *halves) {
    struct fp_halves grown = { .mask = halves->mask ? halves->mask * 2 + 1 : 63 };
    grown.halves = calloc(grown.mask + 1, sizeof(*grown.halves));
    if (!grown.halves)
        return -ENOMEM;
    for (size_t i = 0; halves->halves && i <= halves->mask; i++)
        if (halves->halves[i].used)
            grown.halves[half_slot(&grown, halves->halves[i].id)] = halves->halves[i];
    grown.count = halves->count;
    free(halves->halves);
    *halves = grown;
    return 0;
}

struct fp_half *fp_halves_at(struct fp_halves *halves, uint64_t id) {
    if ((!halves->halves || halves->count * 3 >= halves->mask * 2) && grow_halves(halves) != 0)
        return NULL;
    struct fp_half *half = &halves->halves[half_slot(halves, id)];
    if (!half->used)
        *half = (struct fp_half){ .id = id };
    return half;
}

struct fp_half *fp_halves_find(const struct fp_halves *halves, uint64_t id) {
    if (!halves->count)
        return NULL;
    struct fp_half *half = &halves->halves[half_slot(halves, id)];
    return half->used ? half : NULL;
}

void fp_halves_keep(struct fp_halves *halves, struct fp_half *half) {
    halves->count += !half->used;
    half->used = true;
}

void fp_halves_remove(struct fp_halves *halves, struct fp_half *half) {
    size_t hole = (size_t)(half - halves->halves), at = hole;
    halves->count--;
    for (;;) {
        at = (at + 1) & halves->mask;
        if (!halves->halves[at].used)
            break;
        // An entry may fill the hole unless its home lies behind the hole on its way to where it is.
        size_t home = home_of(halves->halves[at].id, halves->mask);
        if (((at - home) & halves->mask) >= ((at - hole) & halves->mask)) {
            halves->halves[hole] = halves->halves[at];
            hole = at;
        }
    }
    halves->halves[hole].used = false;
}

void fp_halves_free(struct fp_halves *halves) {
    free(halves->halves);
    memset(halves, 0, sizeof(*halves));
}
