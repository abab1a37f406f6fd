// twin_window.c - operators found by thread and time (twin_window.h).
//
// Pushes and pops of a thread lie in the log in the order in which they were made, since each takes its place
// before it returns. Each thread's are walked beside its calls in the order of time, with a stack.

#include "tracers/twin_window.h"

#include "base/array.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOG_ENTRIES = 1 << 21, DEPTH_MAX = 4096 }; // 64 MB of address space; pages are taken as they fill

struct entry {
    uint64_t now, id;
    uint32_t thread,
        alias; // the system's number and the low half of pthread_self: vendors write the one or the other
    uint8_t kind;
    bool is_pop;
    atomic_bool is_complete; // pushes of other threads may still go on while the log is read
};

struct call {
    uint64_t start;
    uint32_t thread, id;
};

struct fp_twin_window {
    struct entry *log;
    _Atomic uint64_t used;
    struct call *calls;
    size_t call_count, call_capacity;
};

struct fp_twin_window *fp_twin_window_new(void) {
    struct fp_twin_window *window = calloc(1, sizeof(*window));
    if (!window)
        return NULL;
    void *log = mmap(NULL, LOG_ENTRIES * sizeof(struct entry), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (log == MAP_FAILED) {
        free(window);
        return NULL;
    }
    window->log = log;
    return window;
}

void fp_twin_window_free(struct fp_twin_window *window) {
    if (!window)
        return;
    munmap(window->log, LOG_ENTRIES * sizeof(struct entry));
    free(window->calls);
    free(window);
}

static uint32_t own_thread(void) {
    static __thread uint32_t number;
    if (number == 0)
        number = (uint32_t)gettid();
    return number;
}

static void keep(struct fp_twin_window *window, uint64_t now, enum fp_id_kind kind, uint64_t id,
                 bool is_pop) {
    uint64_t place = atomic_fetch_add_explicit(&window->used, 1, memory_order_relaxed);
    if (place >= LOG_ENTRIES)
        return;
    struct entry *entry = &window->log[place];
    entry->now = now;
    entry->id = id;
    entry->thread = own_thread();
    entry->alias = (uint32_t)(uintptr_t)pthread_self();
    entry->kind = (uint8_t)kind;
    entry->is_pop = is_pop;
    atomic_store_explicit(&entry->is_complete, true, memory_order_release);
}

static bool is_complete(const struct entry *entry) {
    return atomic_load_explicit(&entry->is_complete, memory_order_acquire);
}

void fp_twin_window_push(struct fp_twin_window *window, uint64_t now, enum fp_id_kind kind, uint64_t id) {
    keep(window, now, kind, id, false);
}

void fp_twin_window_pop(struct fp_twin_window *window, uint64_t now, enum fp_id_kind kind) {
    keep(window, now, kind, 0, true);
}

bool fp_twin_window_was_used(const struct fp_twin_window *window) {
    return atomic_load_explicit(&window->used, memory_order_relaxed) != 0;
}

void fp_twin_window_call(struct fp_twin_window *window, uint32_t thread, uint64_t start, fp_vendor_id id) {
    // Without memory the call stays without an operator.
    if (fp_array_reserve(&window->calls, window->call_count, &window->call_capacity, sizeof(*window->calls)))
        window->calls[window->call_count++] = (struct call){ start, thread, id.value };
}

// ---- Bringing them together

static int by_thread_and_start(const void *left, const void *right) {
    const struct call *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

struct stacks {
    struct {
        uint64_t ids[DEPTH_MAX];
        size_t depth;
    } of[FP_ID_KIND_COUNT];
};

static void apply(struct stacks *stacks, const struct entry *entry) {
    size_t *depth = &stacks->of[entry->kind].depth;
    if (entry->is_pop)
        *depth -= *depth > 0;
    else if ((*depth)++ < DEPTH_MAX)
        stacks->of[entry->kind].ids[*depth - 1] = entry->id;
}

static size_t tell(const struct stacks *stacks, const struct fp_sink *sink, const struct call *call) {
    size_t told = 0;
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++) {
        size_t depth = stacks->of[kind].depth;
        if (depth == 0 || depth > DEPTH_MAX)
            continue;
        sink->correlate(sink->owner, (fp_vendor_id){ call->id }, (enum fp_id_kind)kind,
                        stacks->of[kind].ids[depth - 1]);
        told = 1;
    }
    return told;
}

static uint32_t number_of(const struct entry *entry, bool by_alias) {
    return by_alias ? entry->alias : entry->thread;
}

static const struct call *first_call_of(const struct fp_twin_window *window, uint32_t thread) {
    size_t low = 0, high = window->call_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (window->calls[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low < window->call_count && window->calls[low].thread == thread ? &window->calls[low] : NULL;
}

// From when on the log had no more room, so that nobody knows what was on top.
static uint64_t end_of_log(const struct fp_twin_window *window, uint64_t used) {
    uint64_t last = UINT64_MAX;
    if (used > LOG_ENTRIES && is_complete(&window->log[LOG_ENTRIES - 1]))
        last = window->log[LOG_ENTRIES - 1].now;
    return last;
}

// The calls of one thread beside its pushes and pops.
static size_t resolve_thread(const struct fp_twin_window *window, const struct fp_sink *sink,
                             const struct call *call, uint64_t used, bool by_alias, struct stacks *stacks) {
    const struct call *end = window->calls + window->call_count;
    size_t entries = used < LOG_ENTRIES ? (size_t)used : LOG_ENTRIES;
    uint64_t known_until = end_of_log(window, used);
    uint32_t thread = call->thread;
    size_t told = 0;
    for (int kind = 0; kind < FP_ID_KIND_COUNT; kind++)
        stacks->of[kind].depth = 0;
    for (size_t at = 0; at < entries; at++) {
        const struct entry *entry = &window->log[at];
        if (!is_complete(entry) || number_of(entry, by_alias) != thread)
            continue;
        for (; call < end && call->thread == thread && call->start < entry->now; call++)
            told += tell(stacks, sink, call);
        apply(stacks, entry);
    }
    for (; call < end && call->thread == thread && call->start < known_until; call++)
        told += tell(stacks, sink, call);
    return told;
}

// Vendors write one number of a thread or the other: the one that more pushes agree with.
static bool is_by_alias(const struct fp_twin_window *window, size_t entries) {
    size_t thread = 0, alias = 0;
    for (size_t at = 0; at < entries; at++) {
        if (!is_complete(&window->log[at]))
            continue;
        thread += first_call_of(window, window->log[at].thread) != NULL;
        alias += first_call_of(window, window->log[at].alias) != NULL;
    }
    return alias > thread;
}

size_t fp_twin_window_resolve(struct fp_twin_window *window, const struct fp_sink *sink, uint64_t *missed) {
    uint64_t used = atomic_load(&window->used);
    size_t entries = used < LOG_ENTRIES ? (size_t)used : LOG_ENTRIES, told = 0;
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    if (missed)
        *missed = used - entries;
    if (!stacks || window->call_count == 0) {
        free(stacks);
        return 0;
    }
    qsort(window->calls, window->call_count, sizeof(*window->calls), by_thread_and_start);
    bool by_alias = is_by_alias(window, entries);
    for (size_t at = 0; at < window->call_count; at++)
        if (at == 0 || window->calls[at].thread != window->calls[at - 1].thread)
            told += resolve_thread(window, sink, &window->calls[at], used, by_alias, stacks);
    free(stacks);
    return told;
}

void fp_twin_window_clear(struct fp_twin_window *window) {
    uint64_t used = atomic_exchange(&window->used, 0);
    size_t bytes = (used < LOG_ENTRIES ? (size_t)used : LOG_ENTRIES) * sizeof(struct entry);
    // Zeroed, so that no old entry looks complete. A program may have locked its memory, which then is not given back.
    if (bytes && madvise(window->log, bytes, MADV_DONTNEED) != 0)
        memset(window->log, 0, bytes);
    window->call_count = 0;
}
