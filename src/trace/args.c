// args.c - the argument keys that have a number.
//
// In:  a key's bytes. Out: its number. A small table by the key's first eight bytes and its length, filled
// once; the
//      bytes behind a key may be read (blocks are padded), so that eight are always there.

#include "trace/reader_internal.h"

#include <pthread.h>

#define SLOTS 512

static const struct fp_text keys[] = {
#define ROW(id, key) { key, sizeof(key) - 1 },
    FP_ARG_TABLE(ROW)
#undef ROW
};

static uint8_t table[SLOTS]; // number plus one
static uint64_t heads[FP_ARG_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *fp_arg_key(enum fp_arg_id id) {
    return keys[id].at;
}

static inline uint64_t head_of(const char *key, size_t size) {
    uint64_t head;
    memcpy(&head, key, 8);
    return size >= 8 ? head : head & ((1ULL << (8 * size)) - 1);
}

static inline unsigned slot_of(uint64_t head, size_t size) {
    return (unsigned)((head ^ size * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL >> 55) % SLOTS;
}

static void fill(void) {
    for (unsigned id = 0; id < FP_ARG_COUNT; id++) {
        char padded[64] = { 0 };
        memcpy(padded, keys[id].at, keys[id].size);
        heads[id] = head_of(padded, keys[id].size);
        unsigned slot = slot_of(heads[id], keys[id].size);
        while (table[slot])
            slot = (slot + 1) % SLOTS;
        table[slot] = (uint8_t)(id + 1);
    }
}

void fp_arg_prepare(void) {
    pthread_once(&once, fill);
}

unsigned fp_arg_find(const char *key, size_t size) {
    uint64_t head = head_of(key, size);
    for (unsigned slot = slot_of(head, size); table[slot]; slot = (slot + 1) % SLOTS) {
        unsigned id = table[slot] - 1u;
        if (heads[id] == head && keys[id].size == size &&
            (size <= 8 || memcmp(keys[id].at + 8, key + 8, size - 8) == 0))
            return id;
    }
    return FP_ARG_COUNT;
}
