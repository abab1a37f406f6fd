// buffers.c - memory that a vendor's library fills (buffers.h says what is promised).
//
// Every buffer has a slot. Idle slots lie on a stack whose head carries a tag that changes with each step, so
// that a slot taken and put back between another thread's look and its exchange is noticed (ABA). Completed
// slots lie on a second stack; the one consumer takes it whole and turns it round, which gives them in order.

#include "tracers/buffers.h"

#include "tracers/keep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NO_SLOT UINT32_MAX
#define BUFFERS_MIN 4

// Where a refusal is the end of the program, so many spares more; at 64 KB each they are 64 MB. Beyond them
// all, the last resort.
#define MORE_SPARES 1024

struct slot {
    _Atomic uint32_t next; // read by a thread that has lost the race for it, hence atomic
    size_t valid;
    atomic_bool out;
    atomic_bool left; // by a session that ended while this was out, with records in it
    bool touched; // written to since its pages were last given back; the consumer's, or the owner's at home
};

struct stack {
    _Atomic uint64_t head; // tag << 32 | slot
};

struct fp_buffers {
    struct fp_buffers_setup setup;
    uint8_t *memory; // buffers, then spares, then, where refusing is deadly, the last resort
    size_t mapped_bytes;
    uint32_t count, spares;
    struct stack idle, idle_spares, completed;
    struct fp_buffer *taken; // the consumer's: completed slots in order
    uint32_t taken_count, taken_next;
    _Atomic uint32_t outstanding, last_resort_out;
    _Atomic uint64_t requested, completed_total, spares_given, refused, foreign;
    _Atomic uint64_t dropped[FP_KIND_COUNT + 1];
    struct slot slots[];
};

static void push(struct fp_buffers *buffers, struct stack *stack, uint32_t slot) {
    uint64_t head = atomic_load_explicit(&stack->head, memory_order_relaxed);
    uint64_t next;
    do {
        atomic_store_explicit(&buffers->slots[slot].next, (uint32_t)head, memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | slot;
    } while (!atomic_compare_exchange_weak_explicit(&stack->head, &head, next, memory_order_release,
                                                    memory_order_relaxed));
}

static uint32_t pop(struct fp_buffers *buffers, struct stack *stack) {
    uint64_t head = atomic_load_explicit(&stack->head, memory_order_acquire);
    uint64_t next;
    do {
        if ((uint32_t)head == NO_SLOT)
            return NO_SLOT;
        uint32_t below = atomic_load_explicit(&buffers->slots[(uint32_t)head].next, memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | below;
    } while (!atomic_compare_exchange_weak_explicit(&stack->head, &head, next, memory_order_acquire,
                                                    memory_order_acquire));
    return (uint32_t)head;
}

static uint8_t *bytes_of(const struct fp_buffers *buffers, uint32_t slot) {
    size_t main_bytes = (size_t)buffers->count * buffers->setup.buffer_bytes;
    if (slot < buffers->count)
        return buffers->memory + (size_t)slot * buffers->setup.buffer_bytes;
    return buffers->memory + main_bytes + (size_t)(slot - buffers->count) * buffers->setup.spare_bytes;
}

static uint8_t *last_resort(const struct fp_buffers *buffers) {
    return buffers->setup.may_refuse ? NULL : bytes_of(buffers, buffers->count + buffers->spares);
}

static uint32_t slot_of(const struct fp_buffers *buffers, const uint8_t *bytes) {
    uintptr_t start = (uintptr_t)buffers->memory, at = (uintptr_t)bytes;
    if (at < start || at >= start + buffers->mapped_bytes)
        return NO_SLOT;
    size_t offset = at - start, main_bytes = (size_t)buffers->count * buffers->setup.buffer_bytes;
    uint32_t slot = offset < main_bytes
                        ? (uint32_t)(offset / buffers->setup.buffer_bytes)
                        : buffers->count + (uint32_t)((offset - main_bytes) / buffers->setup.spare_bytes);
    return slot < buffers->count + buffers->spares && bytes_of(buffers, slot) == bytes ? slot : NO_SLOT;
}

// Address space may be limited (ulimit -v, strict overcommit): then fewer buffers, each of full size.
static uint8_t *map(struct fp_buffers_setup *setup, size_t *mapped) {
    uint32_t more = setup->may_refuse ? 0 : MORE_SPARES;
    for (;; setup->count /= 2, more /= 2) {
        size_t small = setup->spares + more + !setup->may_refuse;
        *mapped = (size_t)setup->count * setup->buffer_bytes + small * setup->spare_bytes;
        void *memory =
            mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED) {
            setup->spares += more;
            return memory;
        }
        if (setup->count / 2 < BUFFERS_MIN)
            return NULL;
    }
}

int fp_buffers_open(const struct fp_buffers_setup *setup, struct fp_buffers **result, struct fp_error *err) {
    struct fp_buffers_setup chosen = *setup;
    size_t mapped = 0;
    uint8_t *memory = map(&chosen, &mapped);
    if (!memory) {
        fp_error_set(err, "no address space for %u activity buffers of %zu bytes", BUFFERS_MIN,
                     setup->buffer_bytes);
        return -ENOMEM;
    }
    uint32_t slots = chosen.count + chosen.spares;
    struct fp_buffers *buffers = calloc(1, sizeof(*buffers) + slots * sizeof(buffers->slots[0]));
    struct fp_buffer *taken = calloc(slots, sizeof(*taken));
    if (!buffers || !taken) {
        munmap(memory, mapped);
        free(buffers);
        free(taken);
        fp_error_set(err, "no memory to keep account of activity buffers");
        return -ENOMEM;
    }
    buffers->setup = chosen;
    buffers->memory = memory;
    buffers->mapped_bytes = mapped;
    buffers->count = chosen.count;
    buffers->spares = chosen.spares;
    buffers->taken = taken;
    atomic_store(&buffers->idle.head, NO_SLOT);
    atomic_store(&buffers->idle_spares.head, NO_SLOT);
    atomic_store(&buffers->completed.head, NO_SLOT);
    for (uint32_t slot = slots; slot-- > 0;)
        push(buffers, slot < buffers->count ? &buffers->idle : &buffers->idle_spares, slot);
    *result = buffers;
    return 0;
}

bool fp_buffers_close(struct fp_buffers *buffers) {
    if (!buffers)
        return true;
    if (fp_buffers_outstanding(buffers) != 0)
        return false;
    munmap(buffers->memory, buffers->mapped_bytes);
    free(buffers->taken);
    free(buffers);
    return true;
}

uint8_t *fp_buffers_request(struct fp_buffers *buffers, size_t *bytes) {
    atomic_fetch_add_explicit(&buffers->requested, 1, memory_order_relaxed);
    uint32_t slot = pop(buffers, &buffers->idle);
    *bytes = buffers->setup.buffer_bytes;
    if (slot == NO_SLOT) {
        slot = pop(buffers, &buffers->idle_spares);
        *bytes = buffers->setup.spare_bytes;
        if (slot != NO_SLOT)
            atomic_fetch_add_explicit(&buffers->spares_given, 1, memory_order_relaxed);
    }
    if (slot != NO_SLOT) {
        buffers->slots[slot].touched = true;
        atomic_store_explicit(&buffers->slots[slot].left, false, memory_order_relaxed);
        atomic_store_explicit(&buffers->slots[slot].out, true, memory_order_relaxed);
        atomic_fetch_add_explicit(&buffers->outstanding, 1, memory_order_relaxed);
        uint8_t *given = bytes_of(buffers, slot);
        memset(given, 0, sizeof(uint64_t)); // told by fp_buffers_filled from what the vendor writes
        return given;
    }
    uint8_t *last = last_resort(buffers);
    if (last) {
        atomic_fetch_add_explicit(&buffers->last_resort_out, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&buffers->outstanding, 1, memory_order_relaxed);
        return last;
    }
    atomic_fetch_add_explicit(&buffers->refused, 1, memory_order_relaxed);
    *bytes = 0;
    return NULL;
}

static void count_dropped(struct fp_buffers *buffers, const uint8_t *bytes, size_t valid) {
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
    if (valid && buffers->setup.count_records)
        buffers->setup.count_records(buffers->setup.owner, bytes, valid, counts);
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        if (counts[kind])
            atomic_fetch_add_explicit(&buffers->dropped[kind], counts[kind], memory_order_relaxed);
}

// Several writers had it at once, so what it holds cannot be counted; that something is gone can be told.
static void complete_last_resort(struct fp_buffers *buffers, size_t valid) {
    uint32_t out = atomic_load_explicit(&buffers->last_resort_out, memory_order_relaxed);
    while (out != 0 && !atomic_compare_exchange_weak_explicit(&buffers->last_resort_out, &out, out - 1,
                                                              memory_order_relaxed, memory_order_relaxed))
        continue;
    if (out == 0)
        return; // given back more often than it was handed out
    if (valid)
        atomic_fetch_add_explicit(&buffers->dropped[FP_KIND_COUNT], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&buffers->outstanding, 1, memory_order_release);
}

bool fp_buffers_complete(struct fp_buffers *buffers, uint8_t *bytes, size_t valid) {
    atomic_fetch_add_explicit(&buffers->completed_total, 1, memory_order_relaxed);
    if (bytes && bytes == last_resort(buffers)) {
        complete_last_resort(buffers, valid);
        return false;
    }
    uint32_t slot = slot_of(buffers, bytes);
    if (slot == NO_SLOT) {
        atomic_fetch_add_explicit(&buffers->foreign, 1, memory_order_relaxed);
        if (bytes)
            count_dropped(buffers, bytes,
                          valid < buffers->setup.spare_bytes ? valid : buffers->setup.spare_bytes);
        return false;
    }
    struct slot *place = &buffers->slots[slot];
    if (!atomic_exchange_explicit(&place->out, false, memory_order_relaxed))
        return false; // given back twice: the second time says nothing
    bool spare = slot >= buffers->count;
    size_t size = spare ? buffers->setup.spare_bytes : buffers->setup.buffer_bytes;
    if (valid > size)
        valid = size;
    if (spare) {
        if (!atomic_load_explicit(&place->left, memory_order_relaxed)) // else that session has told of it
            count_dropped(buffers, bytes, valid);
        push(buffers, &buffers->idle_spares, slot);
    } else {
        place->valid = valid;
        push(buffers, valid ? &buffers->completed : &buffers->idle, slot);
    }
    atomic_fetch_sub_explicit(&buffers->outstanding, 1, memory_order_release);
    return valid != 0 && !spare;
}

// Takes all that is completed, newest on top, and lays it out oldest first.
static void take_all(struct fp_buffers *buffers) {
    uint64_t head = atomic_load_explicit(&buffers->completed.head, memory_order_acquire);
    uint64_t empty;
    do {
        empty = ((head >> 32) + 1) << 32 | NO_SLOT;
    } while (!atomic_compare_exchange_weak_explicit(&buffers->completed.head, &head, empty,
                                                    memory_order_acquire, memory_order_acquire));
    uint32_t found = 0;
    for (uint32_t slot = (uint32_t)head; slot != NO_SLOT;
         slot = atomic_load_explicit(&buffers->slots[slot].next, memory_order_relaxed))
        buffers->taken[found++] =
            (struct fp_buffer){ bytes_of(buffers, slot), buffers->slots[slot].valid, slot,
                                atomic_load_explicit(&buffers->slots[slot].left, memory_order_relaxed) };
    for (uint32_t low = 0, high = found; low + 1 < high; low++, high--) {
        struct fp_buffer swap = buffers->taken[low];
        buffers->taken[low] = buffers->taken[high - 1];
        buffers->taken[high - 1] = swap;
    }
    buffers->taken_count = found;
    buffers->taken_next = 0;
}

bool fp_buffers_take(struct fp_buffers *buffers, struct fp_buffer *buffer) {
    if (buffers->taken_next == buffers->taken_count)
        take_all(buffers);
    if (buffers->taken_next == buffers->taken_count)
        return false;
    *buffer = buffers->taken[buffers->taken_next++];
    fp_keep_buffer(buffer->bytes, buffer->valid);
    return true;
}

void fp_buffers_recycle(struct fp_buffers *buffers, const struct fp_buffer *buffer) {
    push(buffers, &buffers->idle, buffer->slot);
}

uint64_t fp_buffers_take_dropped(struct fp_buffers *buffers, uint64_t counts[FP_KIND_COUNT + 1]) {
    uint64_t sum = 0;
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++) {
        uint64_t dropped = atomic_exchange_explicit(&buffers->dropped[kind], 0, memory_order_relaxed);
        counts[kind] += dropped;
        sum += dropped;
    }
    return sum;
}

uint32_t fp_buffers_outstanding(const struct fp_buffers *buffers) {
    return atomic_load_explicit(&buffers->outstanding, memory_order_acquire);
}

// Reads while the vendor may write: any word will do, and what it is decides only how long a stop waits.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static bool
is_filled(const uint8_t *bytes) {
    return *(const volatile uint64_t *)(const void *)bytes != 0;
}

uint32_t fp_buffers_filled(const struct fp_buffers *buffers) {
    uint32_t filled = 0;
    for (uint32_t slot = 0; slot < buffers->count + buffers->spares; slot++)
        if (atomic_load_explicit(&buffers->slots[slot].out, memory_order_acquire))
            filled += is_filled(bytes_of(buffers, slot));
    return filled;
}

void fp_buffers_count(const struct fp_buffers *buffers, struct fp_buffers_counts *counts) {
    counts->requested = atomic_load_explicit(&buffers->requested, memory_order_relaxed);
    counts->completed = atomic_load_explicit(&buffers->completed_total, memory_order_relaxed);
    counts->spares_given = atomic_load_explicit(&buffers->spares_given, memory_order_relaxed);
    counts->refused = atomic_load_explicit(&buffers->refused, memory_order_relaxed);
    counts->foreign = atomic_load_explicit(&buffers->foreign, memory_order_relaxed);
}

void fp_buffers_leave(struct fp_buffers *buffers) {
    for (uint32_t slot = 0; slot < buffers->count + buffers->spares; slot++)
        if (atomic_load_explicit(&buffers->slots[slot].out, memory_order_acquire) &&
            is_filled(bytes_of(buffers, slot)))
            atomic_store_explicit(&buffers->slots[slot].left, true, memory_order_relaxed);
}

// The slots are taken off the stack while their pages go, so a request meanwhile gets another one.
static void trim(struct fp_buffers *buffers, struct stack *idle, uint32_t keep, size_t bytes) {
    uint32_t first = NO_SLOT, slot;
    for (uint32_t kept = 0; (slot = pop(buffers, idle)) != NO_SLOT; kept++) {
        struct slot *place = &buffers->slots[slot];
        if (kept >= keep && place->touched) {
            madvise(bytes_of(buffers, slot), bytes, MADV_DONTNEED);
            place->touched = false;
        }
        atomic_store_explicit(&place->next, first, memory_order_relaxed);
        first = slot;
    }
    while (first != NO_SLOT) { // back in the old order, so that the warm ones are asked for first again
        uint32_t next = atomic_load_explicit(&buffers->slots[first].next, memory_order_relaxed);
        push(buffers, idle, first);
        first = next;
    }
}

void fp_buffers_trim(struct fp_buffers *buffers, uint32_t keep) {
    trim(buffers, &buffers->idle, keep, buffers->setup.buffer_bytes);
    trim(buffers, &buffers->idle_spares, 0, buffers->setup.spare_bytes);
}
