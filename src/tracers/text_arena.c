// text_arena.c - texts that a vendor promises only inside its callback (text_arena.h).
//
// A slot goes from empty to a finished copy in one exchange, so a reader never sees half a text. Two threads
// that keep the same new text at once may both copy it; one copy wins its slot and the other's bytes are
// lost, which costs nothing worth a lock.

#include "tracers/text_arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fp_text_arena {
    char *bytes;
    size_t capacity;
    atomic_size_t used;
    _Atomic(const char *) *slots;
    size_t mask;
};

struct fp_text_arena *fp_text_arena_new(size_t bytes, size_t texts) {
    struct fp_text_arena *arena = calloc(1, sizeof(*arena));
    if (!arena)
        return NULL;
    size_t slots = 64;
    while (slots < texts * 2)
        slots *= 2;
    void *place =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena->slots = calloc(slots, sizeof(*arena->slots));
    if (place == MAP_FAILED || !arena->slots) {
        if (place != MAP_FAILED)
            munmap(place, bytes);
        free((void *)arena->slots);
        free(arena);
        return NULL;
    }
    arena->bytes = place;
    arena->capacity = bytes;
    arena->mask = slots - 1;
    return arena;
}

void fp_text_arena_free(struct fp_text_arena *arena) {
    if (!arena)
        return;
    munmap(arena->bytes, arena->capacity);
    free((void *)arena->slots);
    free(arena);
}

static const char *copy(struct fp_text_arena *arena, const char *text, size_t length) {
    size_t at = atomic_fetch_add_explicit(&arena->used, length + 1, memory_order_relaxed);
    if (at > arena->capacity || arena->capacity - at < length + 1) {
        atomic_fetch_sub_explicit(&arena->used, length + 1, memory_order_relaxed);
        return NULL;
    }
    return memcpy(arena->bytes + at, text, length + 1);
}

const char *fp_text_arena_keep(struct fp_text_arena *arena, const char *text) {
    if (!text)
        return NULL;
    uint64_t hash = 0xcbf29ce484222325u;
    size_t length = 0;
    for (; text[length]; length++)
        hash = (hash ^ (unsigned char)text[length]) * 0x100000001b3u;
    const char *kept = NULL;
    size_t at = (hash ^ hash >> 32) & arena->mask;
    for (size_t step = 0; step <= arena->mask; step++, at = (at + 1) & arena->mask) {
        const char *here = atomic_load_explicit(&arena->slots[at], memory_order_acquire);
        if (!here) {
            if (!kept)
                kept = copy(arena, text, length);
            if (!kept || atomic_compare_exchange_strong_explicit(&arena->slots[at], &here, kept,
                                                                 memory_order_release, memory_order_acquire))
                return kept;
        }
        if (strcmp(here, text) == 0)
            return here;
    }
    return NULL;
}
