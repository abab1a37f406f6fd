// ring.c - entries of one size from any thread to the one that drains (ring.h).
//
// Each slot carries a turn: the position whose writer may fill it, and one more when it is filled. A writer
// claims a position by moving the head, fills its slot and hands it on by the turn alone, so a slow writer
// holds up the reader at its own slot and no other writer.

#include "tracers/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fp_ring {
    size_t entry_bytes, slot_bytes;
    uint64_t mask;
    _Alignas(64) atomic_ullong head; // the next position to write
    _Alignas(64) uint64_t tail;      // the next position to read; the reader's alone
    atomic_ullong refused;
    unsigned char *slots; // each a turn (atomic_ullong), then the entry
};

static atomic_ullong *turn_of(const struct fp_ring *ring, uint64_t position) {
    return (atomic_ullong *)(void *)(ring->slots + (position & ring->mask) * ring->slot_bytes);
}

struct fp_ring *fp_ring_new(uint32_t count, size_t entry_bytes) {
    uint64_t slots = 2;
    while (slots < count)
        slots *= 2;
    struct fp_ring *ring = aligned_alloc(64, (sizeof(*ring) + 63) / 64 * 64);
    if (!ring)
        return NULL;
    memset(ring, 0, sizeof(*ring));
    ring->entry_bytes = entry_bytes;
    ring->slot_bytes = sizeof(atomic_ullong) + (entry_bytes + 7) / 8 * 8;
    ring->mask = slots - 1;
    ring->slots = calloc(slots, ring->slot_bytes);
    if (!ring->slots) {
        free(ring);
        return NULL;
    }
    for (uint64_t at = 0; at < slots; at++)
        atomic_init(turn_of(ring, at), at);
    return ring;
}

void fp_ring_free(struct fp_ring *ring) {
    if (!ring)
        return;
    free(ring->slots);
    free(ring);
}

bool fp_ring_put(struct fp_ring *ring, const void *entry) {
    unsigned long long position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        atomic_ullong *turn = turn_of(ring, position);
        unsigned long long now = atomic_load_explicit(turn, memory_order_acquire);
        if (now == position) {
            if (!atomic_compare_exchange_weak_explicit(&ring->head, &position, position + 1,
                                                       memory_order_relaxed, memory_order_relaxed))
                continue;
            memcpy((unsigned char *)turn + sizeof(*turn), entry, ring->entry_bytes);
            atomic_store_explicit(turn, position + 1, memory_order_release);
            return true;
        }
        if (now < position) { // the reader is a whole round behind
            atomic_fetch_add_explicit(&ring->refused, 1, memory_order_relaxed);
            return false;
        }
        position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    }
}

bool fp_ring_take(struct fp_ring *ring, void *entry) {
    atomic_ullong *turn = turn_of(ring, ring->tail);
    if (atomic_load_explicit(turn, memory_order_acquire) != ring->tail + 1)
        return false;
    memcpy(entry, (unsigned char *)turn + sizeof(*turn), ring->entry_bytes);
    atomic_store_explicit(turn, ring->tail + ring->mask + 1, memory_order_release);
    ring->tail++;
    return true;
}

uint64_t fp_ring_take_refused(struct fp_ring *ring) {
    return atomic_exchange_explicit(&ring->refused, 0, memory_order_relaxed);
}
