// args.c - the argument keys that have a number.
//
// In:  a key's bytes.
// Out: its number. A small table by the key's first eight bytes and its length, filled once; the bytes
//      behind a key may be read (blocks are padded), so that eight are always there.

#include "trace/reader_internal.h"

#include <pthread.h>

#define SLOTS 512

static const struct fp_text keys[] = {
#define ROW(id, key) { key, sizeof(key) - 1 },
    FP_ARG_TABLE(ROW)
#undef ROW
};

static uint8_t table[SLOTS]; // number plus one
struct fp_arg_head fp_arg_heads[FP_ARG_COUNT + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *fp_arg_key(enum fp_arg_id id) {
    return keys[id].at;
}

static inline uint64_t head_of(const char *key, size_t size) {
    uint64_t head;
    if (!size)
        return 0;
    memcpy(&head, key, 8);
    return size >= 8 ? head : head & ((1ULL << (8 * size)) - 1);
}

static inline unsigned slot_of(uint64_t head, size_t size) {
    return (unsigned)((head ^ size * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL >> 55) % SLOTS;
}

static void fill(void) {
    fp_arg_heads[FP_ARG_COUNT].head = 1; // no key begins with byte 1: never as expected
    fp_arg_heads[FP_ARG_COUNT].mask = 0xFF;
    for (unsigned id = 0; id < FP_ARG_COUNT; id++) {
        char padded[64] = { 0 };
        memcpy(padded, keys[id].at, keys[id].size);
        fp_arg_heads[id].head = head_of(padded, keys[id].size);
        fp_arg_heads[id].size = (uint32_t)keys[id].size;
        fp_arg_heads[id].mask = keys[id].size >= 8 ? UINT64_MAX : (1ULL << (8 * keys[id].size)) - 1;
        if (keys[id].size > 8)
            memcpy(&fp_arg_heads[id].tail, padded + keys[id].size - 8, 8);
        unsigned slot = slot_of(fp_arg_heads[id].head, keys[id].size);
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
        if (fp_arg_heads[id].head == head && fp_arg_is(id, key, size))
            return id;
    }
    return FP_ARG_COUNT;
}
