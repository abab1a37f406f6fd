// mspti_ids.c - the log of pushes and pops, and what is asked of it (mspti_ids.h).
//
// In:  pushes and pops. Those of a thread lie in the log in the order in which they were made, since each takes
//      its place before it returns. The log is a ring that the drain empties.
// Out: for each thread and kind the moments at which the top changed; for each id whose it is, and whether
//      MSPTI's stack and its thread's own agreed about it as long as it was there.

#include "tracers/mspti_ids.h"

#include "base/array.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { FIRST_SLOTS = 1024, SKIPPED_MAX = 64, READINGS = 8 };
enum { AT_ONCE_PART = 64 }; // of the log, for threads that have seen room and not taken their place yet

struct entry {
    uint64_t now, id;
    uint32_t thread;
    uint8_t kind;
    bool is_pop, took;
    _Atomic uint64_t turn; // its place in all that was ever written + 1, when it is complete
};

struct moment { // from here on this is on top
    uint64_t since, id;
    bool present;
};

struct layer {
    uint64_t id;
    bool disturbed; // an id above it went before its time: what MSPTI had on top was not what the thread had
};

struct track { // of one thread and kind
    uint32_t thread;
    enum fp_id_kind kind;
    struct moment *moments;
    size_t count, capacity;
    struct layer *stack;
    size_t depth, room;
    struct track *next;
};

enum state {
    FREE,
    OPEN,
    CLEAN,   // while MSPTI had it on top, its thread had it on top: a record that names it tells the truth
    UNCLEAN, // not so, or not known
    AWAITED, // popped by another thread before its own told of the push
};

struct pushed { // open addressing
    uint64_t id, opened, closed;
    uint32_t thread;
    uint8_t kind, state;
    bool is_again; // it was pushed more than once
};

struct fp_mspti_ids {
    struct entry *log;
    size_t entries;
    _Atomic uint64_t used, freed, lost, lost_since;
    _Atomic int64_t epoch_offset;
    uint64_t read;
    uint64_t skipped[SKIPPED_MAX]; // places whose threads were still at it, in order
    size_t skipped_count;
    bool mixed; // some pop took off what was not its thread's
    struct track *tracks;
    struct pushed *pushed;
    size_t pushed_count, pushed_mask;
};

static int64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Read between two readings of the other, the tightest of some, as a thread may lose its processor in between.
static int64_t measure_epoch(void) {
    int64_t tightest = INT64_MAX, offset = 0;
    for (int reading = 0; reading < READINGS; reading++) {
        int64_t before = read_clock(CLOCK_MONOTONIC);
        int64_t epoch = read_clock(CLOCK_REALTIME);
        int64_t after = read_clock(CLOCK_MONOTONIC);
        if (after - before < tightest) {
            tightest = after - before;
            offset = epoch - before - tightest / 2;
        }
    }
    return offset;
}

struct fp_mspti_ids *fp_mspti_ids_new(size_t entries) {
    struct fp_mspti_ids *ids = calloc(1, sizeof(*ids));
    void *log = mmap(NULL, entries * sizeof(struct entry), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct pushed *pushed = calloc(FIRST_SLOTS, sizeof(*pushed));
    if (!ids || !pushed || log == MAP_FAILED) {
        if (log != MAP_FAILED)
            munmap(log, entries * sizeof(struct entry));
        free(pushed);
        free(ids);
        return NULL;
    }
    ids->log = log;
    ids->entries = entries;
    ids->pushed = pushed;
    ids->pushed_mask = FIRST_SLOTS - 1;
    atomic_store(&ids->epoch_offset, measure_epoch());
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
    munmap(ids->log, ids->entries * sizeof(struct entry));
    free(ids->pushed);
    free(ids);
}

// Places are counted on, so that what a thread was still writing is no entry of the next session.
void fp_mspti_ids_clear(struct fp_mspti_ids *ids) {
    uint64_t used = atomic_load(&ids->used);
    if (used != ids->read || ids->tracks)
        madvise(ids->log, ids->entries * sizeof(struct entry), MADV_DONTNEED);
    ids->read = used;
    ids->skipped_count = 0;
    atomic_store(&ids->freed, used);
    atomic_store(&ids->lost, 0);
    atomic_store(&ids->lost_since, 0);
    atomic_store(&ids->epoch_offset, measure_epoch());
    ids->mixed = false;
    free_tracks(ids);
    ids->pushed_count = 0;
    memset(ids->pushed, 0, (ids->pushed_mask + 1) * sizeof(*ids->pushed));
}

// ---- Pushing and popping

uint64_t fp_mspti_ids_now(const struct fp_mspti_ids *ids) {
    return (uint64_t)(read_clock(CLOCK_MONOTONIC) +
                      atomic_load_explicit(&ids->epoch_offset, memory_order_relaxed));
}

static void lose(struct fp_mspti_ids *ids, uint64_t now) {
    uint64_t none = 0;
    atomic_fetch_add_explicit(&ids->lost, 1, memory_order_relaxed);
    atomic_compare_exchange_strong(&ids->lost_since, &none, now);
}

// True: it is time to read.
static bool keep(struct fp_mspti_ids *ids, const struct entry *kept) {
    uint64_t freed = atomic_load_explicit(&ids->freed, memory_order_acquire);
    if (atomic_load_explicit(&ids->used, memory_order_relaxed) - freed >=
        ids->entries - ids->entries / AT_ONCE_PART) {
        lose(ids, kept->now);
        return false;
    }
    uint64_t place = atomic_fetch_add_explicit(&ids->used, 1, memory_order_relaxed);
    struct entry *entry = &ids->log[place % ids->entries];
    entry->now = kept->now;
    entry->id = kept->id;
    entry->thread = kept->thread;
    entry->kind = kept->kind;
    entry->is_pop = kept->is_pop;
    entry->took = kept->took;
    atomic_store_explicit(&entry->turn, place + 1, memory_order_release);
    return place % (ids->entries / 4) == 0;
}

bool fp_mspti_ids_push(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread, uint64_t framework_id,
                       uint64_t now) {
    return keep(ids,
                &(struct entry){ .now = now, .id = framework_id, .thread = thread, .kind = (uint8_t)kind });
}

bool fp_mspti_ids_pop(struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread, const uint64_t *popped,
                      uint64_t now) {
    return keep(ids, &(struct entry){ .now = now,
                                      .id = popped ? *popped : 0,
                                      .thread = thread,
                                      .kind = (uint8_t)kind,
                                      .is_pop = true,
                                      .took = popped != NULL });
}

uint64_t fp_mspti_ids_lost(const struct fp_mspti_ids *ids) {
    return atomic_load_explicit(&ids->lost, memory_order_relaxed);
}

// ---- Whose an id is

static struct pushed *find_pushed(const struct fp_mspti_ids *ids, uint8_t kind, uint64_t id) {
    size_t at = (size_t)((id + kind) * 0x9e3779b97f4a7c15u >> 32) & ids->pushed_mask;
    while (ids->pushed[at].state && (ids->pushed[at].id != id || ids->pushed[at].kind != kind))
        at = (at + 1) & ids->pushed_mask;
    return &ids->pushed[at];
}

// Into `slots` places; those that ended before `before` stay behind.
static bool refill_pushed(struct fp_mspti_ids *ids, size_t slots, uint64_t before) {
    struct fp_mspti_ids other = { .pushed_mask = slots - 1 };
    other.pushed = calloc(slots, sizeof(*other.pushed));
    if (!other.pushed)
        return false;
    for (size_t at = 0; at <= ids->pushed_mask; at++) {
        const struct pushed *pushed = &ids->pushed[at];
        if (!pushed->state || (pushed->closed && pushed->closed < before))
            continue;
        *find_pushed(&other, pushed->kind, pushed->id) = *pushed;
        other.pushed_count++;
    }
    free(ids->pushed);
    ids->pushed = other.pushed;
    ids->pushed_mask = other.pushed_mask;
    ids->pushed_count = other.pushed_count;
    return true;
}

// The place of an id, free if it is new. NULL: no memory.
static struct pushed *place_of(struct fp_mspti_ids *ids, uint8_t kind, uint64_t id) {
    if (ids->pushed_count * 2 > ids->pushed_mask && !refill_pushed(ids, (ids->pushed_mask + 1) * 2, 0))
        return NULL;
    struct pushed *pushed = find_pushed(ids, kind, id);
    ids->pushed_count += pushed->state == FREE;
    if (pushed->state == FREE)
        *pushed = (struct pushed){ .id = id, .kind = kind };
    return pushed;
}

static void open_id(struct fp_mspti_ids *ids, const struct entry *entry) {
    struct pushed *pushed = place_of(ids, entry->kind, entry->id);
    if (!pushed) {
        ids->mixed = true;
        return;
    }
    if (pushed->state == AWAITED) {
        ids->mixed = true;
        pushed->state = UNCLEAN;
    } else {
        pushed->is_again = pushed->state != FREE;
        pushed->state = OPEN;
        pushed->closed = 0;
    }
    pushed->opened = entry->now;
    pushed->thread = entry->thread;
}

static void close_id(struct fp_mspti_ids *ids, const struct entry *entry, uint64_t id, bool is_clean) {
    struct pushed *pushed = place_of(ids, entry->kind, id);
    if (!pushed)
        return;
    pushed->state = pushed->state == FREE                                    ? AWAITED
                    : is_clean && pushed->state == OPEN && !pushed->is_again ? CLEAN
                                                                             : UNCLEAN;
    if (!pushed->closed)
        pushed->closed = entry->now;
}

// ---- Reading on

static struct track *track_of(const struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread) {
    for (struct track *track = ids->tracks; track; track = track->next)
        if (track->thread == thread && track->kind == kind)
            return track;
    return NULL;
}

static void follow_push(struct fp_mspti_ids *ids, struct track *track, const struct entry *entry) {
    if (fp_array_reserve(&track->stack, track->depth, &track->room, sizeof(*track->stack)))
        track->stack[track->depth++] = (struct layer){ entry->id, false };
    open_id(ids, entry);
}

static void follow_pop(struct fp_mspti_ids *ids, struct track *track, const struct entry *entry) {
    if (track->depth == 0) { // of a push before this session; what it takes may be of this one
        if (entry->took && find_pushed(ids, entry->kind, entry->id)->state) {
            close_id(ids, entry, entry->id, false);
            ids->mixed = true;
        }
        return;
    }
    struct layer top = track->stack[--track->depth];
    if (entry->took && entry->id == top.id) {
        close_id(ids, entry, top.id, !top.disturbed);
        return;
    }
    // Its own id went before or stays behind, to be found on top by whoever comes.
    struct pushed *own = find_pushed(ids, entry->kind, top.id);
    if (own->state)
        own->state = UNCLEAN;
    if (entry->took)
        close_id(ids, entry, entry->id, false);
    if (track->depth)
        track->stack[track->depth - 1].disturbed = true;
    ids->mixed = true;
}

static void mark_moment(struct track *track, const struct entry *entry) {
    if (!fp_array_reserve(&track->moments, track->count, &track->capacity, sizeof(*track->moments)))
        return;
    track->moments[track->count++] = (struct moment){
        .since = entry->now,
        .id = track->depth ? track->stack[track->depth - 1].id : 0,
        .present = track->depth > 0,
    };
}

// False: its thread is still at it.
static bool read_entry(struct fp_mspti_ids *ids, uint64_t place) {
    const struct entry *entry = &ids->log[place % ids->entries];
    if (atomic_load_explicit(&entry->turn, memory_order_acquire) != place + 1)
        return false;
    struct track *track = track_of(ids, (enum fp_id_kind)entry->kind, entry->thread);
    if (!track && (track = calloc(1, sizeof(*track)))) {
        track->thread = entry->thread;
        track->kind = (enum fp_id_kind)entry->kind;
        track->next = ids->tracks;
        ids->tracks = track;
    }
    if (!track)
        return true;
    if (entry->is_pop)
        follow_pop(ids, track, entry);
    else
        follow_push(ids, track, entry);
    mark_moment(track, entry);
    return true;
}

// A thread that lost its processor in the middle of an entry holds up nobody else's: its own next entry has a
// place behind all that is read here, so that a thread's are still read in order.
void fp_mspti_ids_read(struct fp_mspti_ids *ids) {
    uint64_t used = atomic_load(&ids->used);
    size_t left = 0;
    for (size_t at = 0; at < ids->skipped_count; at++)
        if (!read_entry(ids, ids->skipped[at]))
            ids->skipped[left++] = ids->skipped[at];
    ids->skipped_count = left;
    for (; ids->read < used; ids->read++)
        if (!read_entry(ids, ids->read)) {
            if (ids->skipped_count == SKIPPED_MAX)
                break;
            ids->skipped[ids->skipped_count++] = ids->read;
        }
    atomic_store_explicit(&ids->freed, ids->skipped_count ? ids->skipped[0] : ids->read,
                          memory_order_release);
}

void fp_mspti_ids_forget(struct fp_mspti_ids *ids, uint64_t before) {
    for (struct track *track = ids->tracks; track; track = track->next) {
        size_t old = 0;
        while (old + 1 < track->count && track->moments[old + 1].since < before)
            old++;
        track->count -= old;
        if (old)
            memmove(track->moments, track->moments + old, track->count * sizeof(*track->moments));
    }
    refill_pushed(ids, ids->pushed_mask + 1, before);
}

// ---- Asking

// Where no thread ever took off another's id, a call has an id on MSPTI's stack exactly if it has one on its
// thread's, and it is on top there unless another thread's is.
enum fp_mspti_verdict fp_mspti_ids_judge(const struct fp_mspti_ids *ids, enum fp_id_kind kind,
                                         uint32_t thread, fp_framework_id told, bool always) {
    bool is_orderly = !ids->mixed && fp_mspti_ids_lost(ids) == 0;
    if (!told.present)
        return is_orderly && always ? FP_MSPTI_TRUE : FP_MSPTI_DOUBT;
    const struct pushed *pushed = find_pushed(ids, (uint8_t)kind, told.value);
    bool is_own = pushed->state && pushed->state != AWAITED && pushed->thread == thread;
    return is_own && (is_orderly || pushed->state == CLEAN) ? FP_MSPTI_TRUE : FP_MSPTI_DOUBT;
}

bool fp_mspti_ids_span(const struct fp_mspti_ids *ids, enum fp_id_kind kind, uint64_t id,
                       struct fp_mspti_span *span) {
    const struct pushed *pushed = find_pushed(ids, (uint8_t)kind, id);
    if (pushed->state == FREE || pushed->state == AWAITED || pushed->is_again)
        return false;
    *span = (struct fp_mspti_span){
        .pushed = pushed->opened,
        .popped = pushed->closed ? pushed->closed : UINT64_MAX,
        .thread = pushed->thread,
        .is_clean = pushed->state == CLEAN,
    };
    return true;
}

fp_framework_id fp_mspti_ids_at(const struct fp_mspti_ids *ids, enum fp_id_kind kind, uint32_t thread,
                                uint64_t now) {
    const struct track *track = track_of(ids, kind, thread);
    uint64_t lost_since = atomic_load(&ids->lost_since);
    size_t low = 0, high = track ? track->count : 0;
    while (low < high) { // the first moment after `now`
        size_t middle = low + (high - low) / 2;
        if (track->moments[middle].since <= now)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || (lost_since && now >= lost_since))
        return (fp_framework_id){ 0, false };
    return (fp_framework_id){ track->moments[low - 1].id, track->moments[low - 1].present };
}
