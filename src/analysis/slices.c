// slices.c - many slices of time in 20 bytes each.
//
// In:  slices.
// Out: slices in order. The sort works in place, on the packed form: a heap sort's bound with a quick
//      sort's pace, since a damaged or hostile file must not make it quadratic.

#include "analysis/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WIDE FP_SLICE_WIDE

static int keep_wide(struct fp_slices *slices, uint64_t value, uint32_t *packed) {
    if (slices->wide_count == slices->wide_room) {
        uint32_t room = slices->wide_room ? slices->wide_room * 2 : 8;
        uint64_t *grown = room < WIDE ? realloc(slices->wide, room * sizeof(*grown)) : NULL;
        if (!grown)
            return -ENOMEM;
        slices->wide = grown;
        slices->wide_room = room;
    }
    slices->wide[slices->wide_count] = value;
    *packed = WIDE | slices->wide_count++;
    return 0;
}

static inline struct fp_packed_slice *packed_at(const struct fp_slices *slices, size_t place) {
    return &slices->chunks[place / FP_SLICE_CHUNK][place % FP_SLICE_CHUNK];
}

// Room for one slice more.
static int grow(struct fp_slices *slices) {
    size_t chunk = slices->count / FP_SLICE_CHUNK;
    if (chunk == slices->chunk_room) {
        size_t room = slices->chunk_room ? slices->chunk_room * 2 : 1;
        struct fp_packed_slice **grown = realloc(slices->chunks, room * sizeof(struct fp_packed_slice *));
        if (!grown)
            return -ENOMEM;
        memset(grown + slices->chunk_room, 0, (room - slices->chunk_room) * sizeof(*grown));
        slices->chunks = grown;
        slices->chunk_room = room;
    }
    size_t size = chunk ? FP_SLICE_CHUNK : slices->count ? slices->count * 2 : FP_SLICE_FIRST;
    struct fp_packed_slice *grown = realloc(slices->chunks[chunk], size * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    slices->chunks[chunk] = grown;
    slices->room = chunk * FP_SLICE_CHUNK + size;
    return 0;
}

int fp_slices_add(struct fp_slices *slices, struct fp_slice slice) {
    if (slices->count == slices->room && grow(slices) != 0)
        return -ENOMEM;
    struct fp_packed_slice *packed = packed_at(slices, slices->count);
    packed->start_low = (uint32_t)slice.start_ns;
    packed->start_high = (uint32_t)((uint64_t)slice.start_ns >> 32);
    packed->group = slice.group;
    packed->dur = (uint32_t)slice.dur_ns;
    packed->id = (uint32_t)slice.id;
    bool failed =
        (uint64_t)slice.dur_ns >= WIDE && keep_wide(slices, (uint64_t)slice.dur_ns, &packed->dur) != 0;
    if (slice.id >= WIDE && slice.id != FP_NO_SLICE_ID)
        failed |= keep_wide(slices, slice.id, &packed->id) != 0;
    if (failed)
        return -ENOMEM;
    if (slices->count) {
        struct fp_slice last = { slices->last_start, slices->last_dur, 0, slices->last_id };
        slices->unsorted |= fp_slice_before(&slice, &last);
        slices->ids_mixed |= slice.id < slices->last_id;
    }
    slices->last_start = slice.start_ns;
    slices->last_dur = slice.dur_ns;
    slices->last_id = slice.id;
    slices->count++;
    return 0;
}

static bool before(const struct fp_slices *slices, const struct fp_packed_slice *a,
                   const struct fp_packed_slice *b) {
    struct fp_slice x = fp_slices_unpack(slices, a), y = fp_slices_unpack(slices, b);
    return fp_slice_before(&x, &y);
}

static void swap(struct fp_slices *slices, size_t a, size_t b) {
    struct fp_packed_slice moved = *packed_at(slices, a);
    *packed_at(slices, a) = *packed_at(slices, b);
    *packed_at(slices, b) = moved;
}

static void sift(struct fp_slices *slices, size_t first, size_t root, size_t count) {
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count)
            return;
        if (child + 1 < count &&
            before(slices, packed_at(slices, first + child), packed_at(slices, first + child + 1)))
            child++;
        if (!before(slices, packed_at(slices, first + root), packed_at(slices, first + child)))
            return;
        swap(slices, first + root, first + child);
        root = child;
    }
}

static void heap_sort(struct fp_slices *slices, size_t first, size_t count) {
    for (size_t root = count / 2; root-- > 0;)
        sift(slices, first, root, count);
    for (size_t left = count; left-- > 1;) {
        swap(slices, first, first + left);
        sift(slices, first, 0, left);
    }
}

static void insertion_sort(struct fp_slices *slices, size_t first, size_t count) {
    for (size_t i = first + 1; i < first + count; i++) {
        struct fp_packed_slice moved = *packed_at(slices, i);
        size_t j = i;
        for (; j > first && before(slices, &moved, packed_at(slices, j - 1)); j--)
            *packed_at(slices, j) = *packed_at(slices, j - 1);
        *packed_at(slices, j) = moved;
    }
}

static void quick_sort(struct fp_slices *slices, size_t first, size_t count, unsigned depth) {
    while (count > 24) {
        if (depth-- == 0) {
            heap_sort(slices, first, count);
            return;
        }
        struct fp_packed_slice pivot = *packed_at(slices, first + count / 2);
        size_t i = first, j = first + count - 1;
        for (;;) {
            while (before(slices, packed_at(slices, i), &pivot))
                i++;
            while (before(slices, &pivot, packed_at(slices, j)))
                j--;
            if (i >= j)
                break;
            swap(slices, i++, j--);
        }
        size_t left = j + 1 - first; // [first, j] <= pivot
        if (left < count - left) {
            quick_sort(slices, first, left, depth);
            first += left;
            count -= left;
        } else {
            quick_sort(slices, first + left, count - left, depth);
            count = left;
        }
    }
    insertion_sort(slices, first, count);
}

void fp_slices_sort(struct fp_slices *slices) {
    if (!slices->unsorted || slices->count < 2)
        return;
    unsigned depth = 4;
    for (size_t left = slices->count; left > 1; left >>= 1)
        depth += 2;
    quick_sort(slices, 0, slices->count, depth);
    slices->unsorted = false;
    slices->ids_mixed = false;
    uint64_t last = 0;
    for (size_t i = 0; i < slices->count && !slices->ids_mixed; i++) {
        uint64_t id = fp_slices_get(slices, i).id;
        slices->ids_mixed = id < last;
        last = id;
    }
}

void fp_slices_free(struct fp_slices *slices) {
    for (size_t i = 0; i < slices->chunk_room; i++)
        free(slices->chunks[i]);
    free(slices->chunks);
    free(slices->wide);
    memset(slices, 0, sizeof(*slices));
}

size_t fp_slices_begun_before(const struct fp_slices *slices, int64_t moment_ns) {
    size_t low = 0, high = slices ? slices->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fp_slices_get(slices, middle).start_ns < moment_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
