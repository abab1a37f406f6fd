// mspti_ids.c - the log of pushes and pops, and what is asked of it (mspti_ids.h).
//
// Pushes and pops of a thread lie in the log in the order in which they were made, since each takes its place
// before it returns. The drain reads on from where it stopped and keeps, for each thread and kind, the moments
// at which the top changed. A place that its thread has taken and not filled yet is come back to; what other
// threads wrote behind it is read meanwhile, since a call of theirs may be asked for already.

#include "tracers/mspti_ids.h"

#include "tracers/id_stack.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_ENTRIES = 1 << 21,
    FIRST_SLOTS = 1024,
    HOLES = 256
}; // 64 MB of address space; pages are taken as they fill

struct entry {
    uint64_t now, id;
    uint32_t thread;
    uint8_t kind;
    bool is_pop;
    atomic_bool is_complete;
};

struct moment { // from here on this is on top
    uint64_t since, id;
    bool present;
};

struct track { // of one thread and kind
    uint32_t thread;
    enum fp_id_kind kind;
    struct moment *moments;
    size_t count, capacity;
    uint64_t *stack;
    size_t depth, room;
    struct track *next;
};

struct pushed { // open addressing
    uint64_t id;
    uint32_t thread; // 0: free
    uint8_t kind;
};

struct fp_mspti_ids {
    struct entry *log;
    _Atomic uint64_t used;
    atomic_bool mixed;
    size_t read;
    size_t holes[HOLES]; // places before `read` that were not filled, lowest first: one a thread at most
    size_t hole_count;
    struct track *tracks;
    struct pushed *pushed;
    size_t pushed_count, pushed_mask;
};

struct fp_mspti_ids *fp_mspti_ids_new(void) {
    struct fp_mspti_ids *ids = calloc(1, sizeof(*ids));
    void *log = mmap(NULL, LOG_ENTRIES * sizeof(struct entry), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct pushed *pushed = calloc(FIRST_SLOTS, sizeof(*pushed));
    if (!ids || !pushed || log == MAP_FAILED) {
        if (log != MAP_FAILED)
            munmap(log, LOG_ENTRIES * sizeof(struct entry));
        free(pushed);
        free(ids);
        return NULL;
    }
    ids->log = log;
    ids->pushed = pushed;
    ids->pushed_mask = FIRST_SLOTS - 1;
    return ids;
}

static void free_tracks(struct fp_mspti_ids *ids) {
    while (ids->tracks) {
        struct track *track = ids->tracks;
        ids->tracks = track->next;
        free(track->moments);
        free(track->stack);
        free(track);
    }
}

void fp_mspti_ids_free(struct fp_mspti_ids *ids) {
    if (!ids)
        return;
    free_tracks(ids);
    munmap(ids->log, LOG_ENTRIES * sizeof(struct entry));
    free(ids->pushed);
    free(ids);
}

void fp_mspti_ids_clear(struct fp_mspti_ids *ids) {
    uint64_t used = atomic_exchange(&ids->used, 0);
    atomic_store(&ids->mixed, false);
    size_t bytes = (used < LOG_ENTRIES ? (size_t)used : LOG_ENTRIES) * sizeof(struct entry);
    // Zeroed, so that no old entry looks complete. A program may have locked its memory, which then is not given back.
    if (bytes && madvise(ids->log, bytes, MADV_DONTNEED) != 0)
        memset(ids->log, 0, bytes);
    free_tracks(ids);
    ids->read = ids->pushed_count = ids->hole_count = 0;
    for (size_t at = 0; at <= ids->pushed_mask; at++)
        ids->pushed[at].thread = 0;
}

static uint32_t own_thread(void) {
    static _Thread_local uint32_t number;
    if (number == 0)
        number = (uint32_t)gettid();
    return number;
}

static void keep(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t id, bool is_pop) {
    struct timespec now;
    uint64_t place = atomic_fetch_add_explicit(&ids->used, 1, memory_order_relaxed);
    if (place >= LOG_ENTRIES)
        return;
    clock_gettime(CLOCK_REALTIME, &now); // MSPTI's own clock
    struct entry *entry = &ids->log[place];
    entry->now = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    entry->id = id;
    entry->thread = own_thread();
    entry->kind = (uint8_t)kind;
    entry->is_pop = is_pop;
    atomic_store_explicit(&entry->is_complete, true, memory_order_release);
}

void fp_mspti_ids_push(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t framework_id) {
    if (fp_id_stack_push(kind, framework_id) != 0)
        atomic_store_explicit(&ids->mixed, true, memory_order_relaxed); // so deep that nobody can tell
    keep(ids, kind, framework_id, false);
}

void fp_mspti_ids_pop(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t popped) {
    uint64_t own = 0;
    if (fp_id_stack_pop(kind, &own) == 0 && own != popped)
        atomic_store_explicit(&ids->mixed, true, memory_order_relaxed);
    keep(ids, kind, 0, true);
}

bool fp_mspti_ids_are_mixed(const struct fp_mspti_ids *ids) {
    return atomic_load_explicit(&ids->mixed, memory_order_relaxed);
}

// ---- Reading on

static struct track *track_of(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread) {
    for (struct track *track = ids->tracks; track; track = track->next)
        if (track->thread == thread && track->kind == kind)
            return track;
    return NULL;
}

static bool make_room(void **items, size_t count, size_t *capacity, size_t bytes) {
    if (count < *capacity)
        return true;
    size_t bigger = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(*items, bigger * bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = bigger;
    return true;
}

static void follow(struct track *track, const struct entry *entry) {
    void *stack = track->stack, *moments = track->moments;
    if (entry->is_pop) {
        track->depth -= track->depth > 0;
    } else if (make_room(&stack, track->depth, &track->room, sizeof(*track->stack))) {
        track->stack = stack;
        track->stack[track->depth++] = entry->id;
    }
    if (!make_room(&moments, track->count, &track->capacity, sizeof(*track->moments)))
        return;
    track->moments = moments;
    track->moments[track->count++] = (struct moment){
        .since = entry->now,
        .id = track->depth ? track->stack[track->depth - 1] : 0,
        .present = track->depth > 0,
    };
}

static struct pushed *find_pushed(const struct fp_mspti_ids *ids, uint8_t kind, uint64_t id) {
    size_t at = (size_t)((id + kind) * 0x9e3779b97f4a7c15u >> 32) & ids->pushed_mask;
    while (ids->pushed[at].thread && (ids->pushed[at].id != id || ids->pushed[at].kind != kind))
        at = (at + 1) & ids->pushed_mask;
    return &ids->pushed[at];
}

static bool grow_pushed(struct fp_mspti_ids *ids) {
    if (ids->pushed_count * 2 <= ids->pushed_mask)
        return true;
    struct fp_mspti_ids bigger = { .pushed_mask = ids->pushed_mask * 2 + 1 };
    bigger.pushed = calloc(bigger.pushed_mask + 1, sizeof(*bigger.pushed));
    if (!bigger.pushed)
        return false;
    for (size_t at = 0; at <= ids->pushed_mask; at++)
        if (ids->pushed[at].thread)
            *find_pushed(&bigger, ids->pushed[at].kind, ids->pushed[at].id) = ids->pushed[at];
    free(ids->pushed);
    ids->pushed = bigger.pushed;
    ids->pushed_mask = bigger.pushed_mask;
    return true;
}

static void remember_pushed(struct fp_mspti_ids *ids, const struct entry *entry) {
    if (entry->is_pop || !grow_pushed(ids))
        return;
    struct pushed *pushed = find_pushed(ids, entry->kind, entry->id);
    ids->pushed_count += pushed->thread == 0;
    *pushed = (struct pushed){ entry->id, entry->thread, entry->kind };
}

static bool read_entry(struct fp_mspti_ids *ids, size_t place) {
    const struct entry *entry = &ids->log[place];
    if (!atomic_load_explicit(&entry->is_complete, memory_order_acquire))
        return false; // its thread is still at it, and so has written nothing behind it
    struct track *track = track_of(ids, (enum fp_id_kind)entry->kind, entry->thread);
    if (!track && (track = calloc(1, sizeof(*track)))) {
        track->thread = entry->thread;
        track->kind = (enum fp_id_kind)entry->kind;
        track->next = ids->tracks;
        ids->tracks = track;
    }
    if (track)
        follow(track, entry);
    remember_pushed(ids, entry);
    return true;
}

static void read_on(struct fp_mspti_ids *ids) {
    uint64_t used = atomic_load(&ids->used);
    size_t entries = used < LOG_ENTRIES ? (size_t)used : LOG_ENTRIES, left = 0;
    for (size_t at = 0; at < ids->hole_count; at++)
        if (!read_entry(ids, ids->holes[at]))
            ids->holes[left++] = ids->holes[at];
    for (; ids->read < entries && left < HOLES; ids->read++)
        if (!read_entry(ids, ids->read))
            ids->holes[left++] = ids->read;
    ids->hole_count = left;
}

uint32_t fp_mspti_ids_owner(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t framework_id) {
    read_on(ids);
    return find_pushed(ids, (uint8_t)kind, framework_id)->thread;
}

fp_framework_id fp_mspti_ids_at(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread,
                                uint64_t epoch_ns) {
    read_on(ids);
    const struct track *track = track_of(ids, kind, thread);
    size_t low = 0, high = track ? track->count : 0;
    while (low < high) { // the first moment after epoch_ns
        size_t middle = low + (high - low) / 2;
        if (track->moments[middle].since <= epoch_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (fp_framework_id){ 0, false };
    return (fp_framework_id){ track->moments[low - 1].id, track->moments[low - 1].present };
}
