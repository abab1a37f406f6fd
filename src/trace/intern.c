// intern.c - one small number for each distinct text.
//
// In:  texts.
// Out: ids and the stored texts. Texts lie in blocks that never move; an open-addressed table of hashes
//      finds them.

#include "trace/intern.h"

#include <stdlib.h>

#define BLOCK_BYTES (64 * 1024)

struct block {
    struct block *next;
    char text[];
};

struct entry {
    struct fp_text text;
    uint64_t hash;
};

struct slot {
    uint32_t tag; // upper half of the hash: most mismatches are seen without touching the entry
    uint32_t id;  // plus one; 0 is empty
};

struct fp_intern {
    struct entry *entries;
    struct slot *slots;
    struct block *blocks;
    size_t block_left;
    size_t bytes;
    uint32_t count, room;
    uint32_t mask;
};

struct fp_intern *fp_intern_new(void) {
    struct fp_intern *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->mask = 255;
    table->slots = calloc(table->mask + 1, sizeof(*table->slots));
    if (!table->slots) {
        free(table);
        return NULL;
    }
    return table;
}

void fp_intern_free(struct fp_intern *table) {
    if (!table)
        return;
    for (struct block *block = table->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(table->entries);
    free(table->slots);
    free(table);
}

static struct slot *slot_of(const struct fp_intern *table, struct fp_text text, uint64_t hash) {
    uint32_t tag = (uint32_t)(hash >> 32);
    for (uint32_t i = (uint32_t)hash;; i++) {
        struct slot *slot = &table->slots[i & table->mask];
        if (!slot->id)
            return slot;
        if (slot->tag == tag && fp_text_same(table->entries[slot->id - 1].text, text))
            return slot;
    }
}

static bool grow_slots(struct fp_intern *table) {
    uint32_t mask = table->mask * 2 + 1;
    struct slot *slots = calloc((size_t)mask + 1, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t id = 0; id < table->count; id++) {
        uint32_t i = (uint32_t)table->entries[id].hash;
        while (slots[i & mask].id)
            i++;
        slots[i & mask] = (struct slot){ (uint32_t)(table->entries[id].hash >> 32), id + 1 };
    }
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return true;
}

static bool grow_entries(struct fp_intern *table) {
    uint32_t room = table->room ? table->room * 2 : 64;
    struct entry *entries = realloc(table->entries, (size_t)room * sizeof(*entries));
    if (!entries)
        return false;
    table->entries = entries;
    table->room = room;
    return true;
}

static char *store(struct fp_intern *table, struct fp_text text) {
    if (text.size > table->block_left) {
        size_t size = text.size > BLOCK_BYTES / 8 ? text.size : BLOCK_BYTES;
        struct block *block = malloc(sizeof(*block) + size);
        if (!block)
            return NULL;
        table->bytes += size;
        if (size != BLOCK_BYTES &&
            table->blocks) { // a large text: behind the block that is still being filled
            block->next = table->blocks->next;
            table->blocks->next = block;
            return memcpy(block->text, text.at, text.size);
        }
        block->next = table->blocks;
        table->blocks = block;
        table->block_left = size;
    }
    // Filled from the end, so that one number tells the place.
    table->block_left -= text.size;
    char *at = table->blocks->text + table->block_left;
    if (text.size)
        memcpy(at, text.at, text.size);
    return at;
}

uint32_t fp_intern_add(struct fp_intern *table, struct fp_text text) {
    return fp_intern_add_hashed(table, text, fp_text_hash(text.at, text.size));
}

uint32_t fp_intern_add_hashed(struct fp_intern *table, struct fp_text text, uint64_t hash) {
    struct slot *slot = slot_of(table, text, hash);
    if (slot->id)
        return slot->id - 1;
    if (table->count == FP_NO_ID - 1 || (table->count == table->room && !grow_entries(table)))
        return FP_NO_ID;
    if (table->count >= table->mask / 2) {
        if (!grow_slots(table))
            return FP_NO_ID;
        slot = slot_of(table, text, hash);
    }
    const char *at = text.size || table->blocks ? store(table, text) : "";
    if (!at)
        return FP_NO_ID;
    table->entries[table->count] = (struct entry){ { at, text.size }, hash };
    *slot = (struct slot){ (uint32_t)(hash >> 32), ++table->count };
    return table->count - 1;
}

uint32_t fp_intern_find(const struct fp_intern *table, struct fp_text text) {
    struct slot *slot = slot_of(table, text, fp_text_hash(text.at, text.size));
    return slot->id ? slot->id - 1 : FP_NO_ID;
}

struct fp_text fp_intern_text(const struct fp_intern *table, uint32_t id) {
    return table->entries[id].text;
}

uint32_t fp_intern_count(const struct fp_intern *table) {
    return table->count;
}

size_t fp_intern_bytes(const struct fp_intern *table) {
    return table->bytes + ((size_t)table->mask + 1) * sizeof(struct slot) +
           table->room * sizeof(struct entry);
}
