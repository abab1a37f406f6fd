// captures.c - which launches were captured into a graph (captures.h says what is promised).
//
// The calls that begin and end captures are sorted by thread and time and paired as brackets are. What has no
// partner in its thread finds one in another (a relaxed capture may be ended there), or is open on one side.
// An open side is then drawn in to the nearest launch of the thread that started work.

#include "recording/captures.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool add(struct fp_capture_list *list, struct fp_capture capture) {
    if (!fp_array_reserve(&list->items, list->count, &list->capacity, sizeof(*list->items)))
        return false;
    list->items[list->count++] = capture;
    return true;
}

static int compare_numbers(int64_t left, int64_t right) {
    return (left > right) - (left < right);
}

static int compare_starts(const void *left, const void *right) {
    const struct fp_capture *a = left, *b = right;
    int order = compare_numbers(a->start_ns, b->start_ns);
    return order ? order : compare_numbers(a->end_ns, b->end_ns);
}

static int compare_threads(const void *left, const void *right) {
    const struct fp_capture *a = left, *b = right;
    int order = compare_numbers(a->thread, b->thread);
    return order ? order : compare_starts(left, right);
}

static void sort(struct fp_capture_list *list, int (*compare)(const void *, const void *)) {
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare);
}

static void merge(struct fp_capture_list *list, bool threads_apart) {
    size_t last = 0;
    for (size_t at = 1; at < list->count; at++) {
        struct fp_capture *before = &list->items[last], *item = &list->items[at];
        if (item->start_ns > before->end_ns || (threads_apart && item->thread != before->thread))
            list->items[++last] = *item;
        else if (item->end_ns > before->end_ns)
            before->end_ns = item->end_ns;
    }
    list->count = list->count ? last + 1 : 0;
}

// ---- Pairing

// Captures by how they are known: by both of their ends; by the beginning (`tails`, their end open) or by the
// end alone (`heads`).
struct pairing {
    struct fp_capture_list closed, tails, heads;
};

static void free_pairing(struct pairing *pairing) {
    free(pairing->closed.items);
    free(pairing->tails.items);
    free(pairing->heads.items);
}

static bool failed(const struct fp_record *call) {
    return fp_record_has(call, FP_HAS_RESULT) && call->u.call.result != 0;
}

// A call that failed to begin has begun nothing. One that failed to end ends a capture that was broken, but
// proves none.
static bool pair_one(struct pairing *pairing, const struct fp_record *call, size_t of_others) {
    struct fp_capture capture = { call->start_ns, INT64_MAX, call->u.call.thread };
    if (fp_record_has(call, FP_BEGINS_CAPTURE))
        return failed(call) || add(&pairing->tails, capture);
    if (pairing->tails.count > of_others) {
        capture = pairing->tails.items[--pairing->tails.count];
        capture.end_ns = call->end_ns;
        return add(&pairing->closed, capture);
    }
    capture.start_ns = INT64_MIN;
    capture.end_ns = call->end_ns;
    return failed(call) || add(&pairing->heads, capture);
}

static int compare_marks(const void *left, const void *right) {
    const struct fp_record *a = *(const struct fp_record *const *)left;
    const struct fp_record *b = *(const struct fp_record *const *)right;
    int order = compare_numbers(a->u.call.thread, b->u.call.thread);
    return order ? order : compare_numbers(a->start_ns, b->start_ns);
}

static bool pair_marks(const struct fp_store *store, const uint32_t *marks, size_t mark_count,
                       struct pairing *pairing) {
    const struct fp_record **calls = calloc(mark_count, sizeof(const struct fp_record *));
    bool done = calls != NULL;
    for (size_t at = 0; done && at < mark_count; at++)
        calls[at] = &store->records[marks[at]];
    if (done)
        qsort(calls, mark_count, sizeof(const struct fp_record *), compare_marks);
    size_t of_others = 0; // tails of the threads before
    for (size_t at = 0; done && at < mark_count; at++) {
        if (at && calls[at]->u.call.thread != calls[at - 1]->u.call.thread)
            of_others = pairing->tails.count;
        done = pair_one(pairing, calls[at], of_others);
    }
    free(calls);
    return done;
}

static int compare_ends(const void *left, const void *right) {
    const struct fp_capture *a = left, *b = right;
    return compare_numbers(a->end_ns, b->end_ns);
}

// Ends in one thread what was begun in another: each end takes the last beginning before it that is left.
static bool pair_across_threads(struct pairing *pairing) {
    struct fp_capture_list *tails = &pairing->tails, *heads = &pairing->heads;
    sort(tails, compare_starts);
    sort(heads, compare_ends);
    size_t open = 0, next = 0, unpaired = 0; // tails[0..open) wait for an end; tails[next..) come later
    bool done = true;
    for (size_t at = 0; done && at < heads->count; at++) {
        struct fp_capture head = heads->items[at];
        for (; next < tails->count && tails->items[next].start_ns < head.end_ns; next++)
            tails->items[open++] = tails->items[next];
        if (open == 0) {
            heads->items[unpaired++] = head;
            continue;
        }
        struct fp_capture capture = tails->items[--open];
        capture.end_ns = head.end_ns;
        done = add(&pairing->closed, capture);
    }
    for (; next < tails->count; next++)
        tails->items[open++] = tails->items[next];
    tails->count = open;
    heads->count = unpaired;
    return done;
}

// ---- Evidence: launches that started work

static bool started_work(const struct fp_store *store, const uint64_t *settled, size_t at) {
    return settled[at / 64] >> at % 64 & 1 && fp_kind_is_host_call(fp_record_kind(&store->records[at])) &&
           fp_record_has(&store->records[at], FP_IS_LAUNCH);
}

// The last item of a list sorted by compare_threads that belongs to `thread` and starts not after `at_ns`.
static struct fp_capture *last_started(const struct fp_capture_list *list, uint32_t thread, int64_t at_ns) {
    struct fp_capture key = { at_ns, INT64_MAX, thread };
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_threads(&list->items[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && list->items[low - 1].thread == thread ? &list->items[low - 1] : NULL;
}

static int compare_thread_ends(const void *left, const void *right) {
    const struct fp_capture *a = left, *b = right;
    int order = compare_numbers(a->thread, b->thread);
    return order ? order : compare_ends(left, right);
}

// The first item of a list sorted by compare_thread_ends that belongs to `thread` and ends not before `at_ns`.
static struct fp_capture *first_ending(const struct fp_capture_list *list, uint32_t thread, int64_t at_ns) {
    struct fp_capture key = { 0, at_ns, thread };
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_thread_ends(&list->items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].thread == thread ? &list->items[low] : NULL;
}

static void draw_in(struct pairing *pairing, const struct fp_record *launch) {
    uint32_t thread = launch->u.call.thread;
    struct fp_capture *tail = last_started(&pairing->tails, thread, launch->start_ns);
    struct fp_capture *head = first_ending(&pairing->heads, thread, launch->end_ns);
    if (tail && launch->start_ns < tail->end_ns)
        tail->end_ns = launch->start_ns;
    if (head && launch->end_ns > head->start_ns)
        head->start_ns = launch->end_ns;
}

// A launch bounds the capture nearest to it; what bounds that one bounds those of the thread that lie behind.
static void bound_open_sides(const struct fp_store *store, const uint64_t *settled, struct pairing *pairing) {
    struct fp_capture_list *tails = &pairing->tails, *heads = &pairing->heads;
    if (tails->count + heads->count == 0)
        return;
    sort(tails, compare_threads);
    sort(heads, compare_thread_ends);
    for (size_t at = 0; at < store->count; at++)
        if (started_work(store, settled, at))
            draw_in(pairing, &store->records[at]);
    for (size_t at = tails->count; at-- > 1;)
        if (tails->items[at - 1].thread == tails->items[at].thread &&
            tails->items[at - 1].end_ns > tails->items[at].end_ns)
            tails->items[at - 1].end_ns = tails->items[at].end_ns;
    for (size_t at = 1; at < heads->count; at++)
        if (heads->items[at - 1].thread == heads->items[at].thread &&
            heads->items[at].start_ns < heads->items[at - 1].start_ns)
            heads->items[at].start_ns = heads->items[at - 1].start_ns;
}

// ---- What is held

static bool copy(struct fp_capture_list *to, const struct fp_capture_list *from) {
    for (size_t at = 0; at < from->count; at++)
        if (!add(to, from->items[at]))
            return false;
    return true;
}

static size_t during(const struct fp_captures *captures, const struct fp_record *launch) {
    const struct fp_capture_list *any = &captures->any;
    size_t low = 0, high = any->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (any->items[middle].start_ns <= launch->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && launch->end_ns <= any->items[low - 1].end_ns ? low - 1 : SIZE_MAX;
}

static uint64_t busy_key(size_t place, uint32_t thread) {
    return (uint64_t)place << 32 | thread;
}

static int compare_keys(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool find_busy_threads(const struct fp_store *store, const uint64_t *settled,
                              struct fp_captures *captures) {
    uint64_t seen[64]; // by thread: nearly all launches repeat what is known
    memset(seen, 0xff, sizeof(seen));
    for (size_t at = 0; captures->any.count && at < store->count; at++) {
        if (!started_work(store, settled, at))
            continue;
        const struct fp_record *launch = &store->records[at];
        size_t place = during(captures, launch);
        uint64_t key = busy_key(place, launch->u.call.thread);
        if (place == SIZE_MAX || seen[launch->u.call.thread % 64] == key)
            continue;
        if (!fp_array_reserve(&captures->busy, captures->busy_count, &captures->busy_capacity,
                              sizeof(*captures->busy)))
            return false;
        seen[launch->u.call.thread % 64] = captures->busy[captures->busy_count++] = key;
    }
    if (captures->busy_count)
        qsort(captures->busy, captures->busy_count, sizeof(*captures->busy), compare_keys);
    return true;
}

static bool gather(const struct pairing *pairing, struct fp_captures *captures) {
    if (!copy(&captures->own, &pairing->closed) || !copy(&captures->own, &pairing->tails) ||
        !copy(&captures->own, &pairing->heads))
        return false;
    sort(&captures->own, compare_threads);
    merge(&captures->own, true);
    if (!copy(&captures->any, &captures->own))
        return false;
    sort(&captures->any, compare_starts);
    merge(&captures->any, false);
    return true;
}

bool fp_captures_find(const struct fp_store *store, const uint32_t *marks, size_t mark_count,
                      const uint64_t *settled, struct fp_captures *captures) {
    *captures = (struct fp_captures){ 0 };
    if (mark_count == 0)
        return true;
    struct pairing pairing = { 0 };
    bool done = pair_marks(store, marks, mark_count, &pairing) && pair_across_threads(&pairing);
    if (done) {
        bound_open_sides(store, settled, &pairing);
        done = gather(&pairing, captures) && find_busy_threads(store, settled, captures);
    }
    free_pairing(&pairing);
    if (!done)
        fp_captures_free(captures);
    return done;
}

bool fp_captures_hold(const struct fp_captures *captures, const struct fp_record *launch) {
    uint32_t thread = launch->u.call.thread;
    const struct fp_capture *own = last_started(&captures->own, thread, launch->start_ns);
    if (own && launch->end_ns <= own->end_ns)
        return true;
    size_t place = during(captures, launch);
    if (place == SIZE_MAX)
        return false;
    uint64_t key = busy_key(place, thread);
    return captures->busy_count == 0 ||
           !bsearch(&key, captures->busy, captures->busy_count, sizeof(key), compare_keys);
}

void fp_captures_free(struct fp_captures *captures) {
    free(captures->own.items);
    free(captures->any.items);
    free(captures->busy);
    *captures = (struct fp_captures){ 0 };
}
