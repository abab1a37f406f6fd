// operators.c - time per operator as torch counts it, in one pass over sorted slices.
//
// In:  sorted slices of one thread.
// Out: sums per group. A stack holds the open slices; a slice is counted when it closes, except that an
//      only child waits for its parent: it may turn out to be the same call under the same name.

#include "analysis/operators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fp_time_entry {
    uint64_t id;
    int64_t ns;
};

enum {
    USED = 1,
    TAKEN = 2, // an operator with this id was seen; the bits above are the id's own
};

static size_t home_of(uint64_t id, size_t mask) {
    // Ids come nearly in order: a few neighbours lie side by side, and the others are thrown apart.
    return (size_t)(id + ((id >> 4) * 0x9E3779B97F4A7C15ULL >> 20)) & mask;
}

static uint8_t mark_of(uint64_t id) {
    return (uint8_t)((id * 0x9E3779B97F4A7C15ULL) >> 58 << 2 | USED);
}

// Others may be setting a mark's TAKEN meanwhile, and nothing else.
static inline uint8_t mark_at(const struct fp_time_by_id *times, size_t at) {
    return __atomic_load_n(&times->marks[at], __ATOMIC_RELAXED);
}

// The place of the id, or the empty one where it belongs.
static inline size_t place_of(const struct fp_time_by_id *times, uint64_t id) {
    const uint8_t mark = mark_of(id);
    size_t at = home_of(id, times->mask);
    for (;; at = (at + 1) & times->mask) {
        uint8_t here = mark_at(times, at);
        if (!here || ((here & ~TAKEN) == mark && times->entries[at].id == id))
            return at;
    }
}

static int grow(struct fp_time_by_id *times) {
    struct fp_time_by_id grown = { .count = times->count, .mask = times->mask ? times->mask * 2 + 1 : 255 };
    grown.entries = calloc(grown.mask + 1, sizeof(*grown.entries));
    grown.marks = calloc(grown.mask + 1, sizeof(*grown.marks));
    if (!grown.entries || !grown.marks) {
        fp_time_by_id_free(&grown);
        return -ENOMEM;
    }
    for (size_t i = 0; times->entries && i <= times->mask; i++) {
        if (!times->marks[i])
            continue;
        size_t at = place_of(&grown, times->entries[i].id);
        grown.entries[at] = times->entries[i];
        grown.marks[at] = times->marks[i];
    }
    fp_time_by_id_free(times);
    *times = grown;
    return 0;
}

int fp_time_by_id_add(struct fp_time_by_id *times, uint64_t id, int64_t ns) {
    if ((!times->entries || times->count * 2 > times->mask) && grow(times) != 0)
        return -ENOMEM;
    size_t at = place_of(times, id);
    struct fp_time_entry *entry = &times->entries[at];
    if (!times->marks[at]) {
        times->count++;
        times->marks[at] = mark_of(id);
        *entry = (struct fp_time_entry){ id, 0 };
    }
    entry->ns += ns;
    return 0;
}

static inline bool look_up(const struct fp_time_by_id *times, uint64_t id, uint8_t mark, int64_t *ns) {
    size_t at = times->entries ? place_of(times, id) : 0;
    uint8_t here = times->entries ? mark_at(times, at) : 0;
    if (!here)
        return false;
    if (mark & ~here)
        __atomic_store_n(&times->marks[at], here | mark, __ATOMIC_RELAXED);
    *ns = times->entries[at].ns;
    return true;
}

bool fp_time_by_id_find(const struct fp_time_by_id *times, uint64_t id, int64_t *ns) {
    return look_up(times, id, 0, ns);
}

bool fp_time_by_id_take(const struct fp_time_by_id *times, uint64_t id, int64_t *ns) {
    return look_up(times, id, TAKEN, ns);
}

int64_t fp_time_by_id_taken(const struct fp_time_by_id *times) {
    int64_t sum = 0;
    for (size_t i = 0; times->entries && i <= times->mask; i++)
        sum += times->marks[i] & TAKEN ? times->entries[i].ns : 0;
    return sum;
}

void fp_time_by_id_free(struct fp_time_by_id *times) {
    free(times->entries);
    free(times->marks);
    memset(times, 0, sizeof(*times));
}

// A slice that closed, or is about to.
struct node {
    uint32_t group;
    uint32_t children;
    uint64_t owner; // the External id of it or of the innermost operator around it
    int64_t end_ns, dur_ns;
    int64_t own_device_ns;    // of the work that it issued itself
    int64_t children_host_ns; // sums over its children
    int64_t children_device_ns;
};

struct open_node {
    struct node node;
    struct node child; // its only child so far, while node.children is 1
};

struct stack {
    struct open_node *nodes;
    size_t count, room;
};

static void settle(const struct node *node, struct fp_operator_times *times) {
    struct fp_operator_times *row = &times[node->group];
    row->count++;
    row->host_total_ns += node->dur_ns;
    row->host_self_ns += node->dur_ns - node->children_host_ns;
    row->device_total_ns += node->own_device_ns + node->children_device_ns;
    row->device_self_ns += node->own_device_ns;
}

static void close_top(struct stack *stack, const uint32_t *group_name, struct fp_operator_times *times) {
    struct open_node *top = &stack->nodes[--stack->count];
    struct node *node = &top->node;
    if (node->children == 1) {
        if (group_name[top->child.group] == group_name[node->group]) {
            node->own_device_ns = top->child.own_device_ns;
            node->children_host_ns = top->child.children_host_ns;
            node->children_device_ns = top->child.children_device_ns;
        } else {
            settle(&top->child, times);
        }
    }
    if (!stack->count) {
        settle(node, times);
        return;
    }
    struct open_node *parent = &stack->nodes[stack->count - 1];
    parent->node.children_host_ns += node->dur_ns;
    parent->node.children_device_ns += node->own_device_ns + node->children_device_ns;
    if (++parent->node.children == 1) {
        parent->child = *node;
        return;
    }
    if (parent->node.children == 2)
        settle(&parent->child, times);
    settle(node, times);
}

static int open_slice(struct stack *stack, const struct node *node) {
    if (stack->count == stack->room) {
        size_t room = stack->room ? stack->room * 2 : 64;
        struct open_node *grown = realloc(stack->nodes, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        stack->nodes = grown;
        stack->room = room;
    }
    stack->nodes[stack->count++].node = *node;
    return 0;
}

// The device time that a slice owns; see the header for what torch does beyond that.
static void give_device_time(const struct fp_operator_input *input, enum fp_slice_role role, uint64_t id,
                             struct node *node, struct node *holder, int64_t *twice_ns) {
    int64_t ns;
    if (role == FP_ROLE_OPERATOR) {
        if (input->device_ns && id != FP_NO_SLICE_ID && fp_time_by_id_take(input->device_ns, id, &ns))
            node->own_device_ns = ns;
        return;
    }
    if (role == FP_ROLE_PYTHON)
        return;
    if (input->device_ns_by_call && role != FP_ROLE_OVERHEAD && holder && id != FP_NO_SLICE_ID &&
        fp_time_by_id_take(input->device_ns_by_call, id, &ns))
        holder->own_device_ns += ns;
    uint64_t mistaken = role == FP_ROLE_OVERHEAD ? node->owner : id;
    if (!input->like_torch || role == FP_ROLE_CALL || mistaken == FP_NO_SLICE_ID || !input->device_ns)
        return;
    if (fp_time_by_id_find(input->device_ns, mistaken, &ns)) {
        node->own_device_ns = ns;
        *twice_ns += holder ? ns : 0;
    }
}

// The slices of a thread that are still to come: the first of each role that has any.
struct course {
    struct fp_slice next[FP_ROLE_COUNT];
    const struct fp_slices *slices[FP_ROLE_COUNT];
    size_t at[FP_ROLE_COUNT], to[FP_ROLE_COUNT];
    uint8_t role[FP_ROLE_COUNT]; // ascending
    unsigned count;
};

// What is to be counted of a role; false where that is nothing.
static bool range_of(const struct fp_operator_input *input, unsigned role, size_t *from, size_t *to) {
    const struct fp_slices *slices = input->by_role[role];
    *from = slices && input->piece ? input->piece->from[role] : 0;
    *to = !slices ? 0 : input->piece ? input->piece->to[role] : slices->count;
    return *from < *to;
}

static void course_begin(struct course *course, const struct fp_operator_input *input) {
    course->count = 0;
    for (unsigned role = 0; role < FP_ROLE_PENDING; role++) {
        size_t from, to;
        if (range_of(input, role, &from, &to)) {
            course->role[course->count] = (uint8_t)role;
            course->slices[course->count] = input->by_role[role];
            course->at[course->count] = from;
            course->to[course->count] = to;
            course->next[course->count++] = fp_slices_get(input->by_role[role], from);
        }
    }
}

static void course_drop(struct course *course, unsigned place) {
    for (unsigned i = place; i + 1 < course->count; i++) {
        course->next[i] = course->next[i + 1];
        course->slices[i] = course->slices[i + 1];
        course->at[i] = course->at[i + 1];
        course->to[i] = course->to[i + 1];
        course->role[i] = course->role[i + 1];
    }
    course->count--;
}

// The earliest of them; of equals that of the first role, so that an operator holds the call. False at the end.
static inline bool course_next(struct course *course, struct fp_slice *slice, enum fp_slice_role *role) {
    unsigned first = 0;
    if (!course->count)
        return false;
    for (unsigned i = 1; i < course->count; i++)
        if (course->next[i].start_ns < course->next[first].start_ns ||
            (course->next[i].start_ns == course->next[first].start_ns &&
             course->next[i].dur_ns > course->next[first].dur_ns))
            first = i;
    *slice = course->next[first];
    *role = (enum fp_slice_role)course->role[first];
    if (++course->at[first] < course->to[first])
        course->next[first] = fp_slices_get(course->slices[first], course->at[first]);
    else
        course_drop(course, first);
    return true;
}

static void count_pending(const struct fp_operator_input *input, struct fp_operator_times *times) {
    const struct fp_slices *slices = input->by_role[FP_ROLE_PENDING];
    size_t from, to;
    if (!range_of(input, FP_ROLE_PENDING, &from, &to))
        return;
    for (size_t i = from; i < to; i++) {
        struct fp_slice slice = fp_slices_get(slices, i);
        int64_t owned_ns; // has an owner, though no row counts it, as in torch's table
        if (input->device_ns && slice.id != FP_NO_SLICE_ID)
            (void)fp_time_by_id_take(input->device_ns, slice.id, &owned_ns);
        times[slice.group].count++;
        times[slice.group].host_total_ns += slice.dur_ns;
    }
}

int fp_operators_count(const struct fp_operator_input *input, struct fp_operator_times *times,
                       int64_t *twice_ns) {
    struct stack stack = { 0 };
    struct course course;
    struct fp_slice slice;
    enum fp_slice_role role;
    int code = 0;
    count_pending(input, times);
    course_begin(&course, input);
    while (!code && course_next(&course, &slice, &role)) {
        struct node node = { .group = slice.group,
                             .dur_ns = slice.dur_ns,
                             .end_ns = slice.start_ns + slice.dur_ns };
        while (stack.count) {
            int64_t end = stack.nodes[stack.count - 1].node.end_ns;
            if (slice.start_ns < end && node.end_ns - input->tolerance_ns <= end) {
                if (node.end_ns > end) {
                    node.dur_ns -= node.end_ns - end;
                    node.end_ns = end;
                }
                break;
            }
            close_top(&stack, input->group_name, times);
        }
        struct node *holder = stack.count ? &stack.nodes[stack.count - 1].node : NULL;
        node.owner = role == FP_ROLE_OPERATOR && slice.id != FP_NO_SLICE_ID ? slice.id
                     : holder                                               ? holder->owner
                                                                            : FP_NO_SLICE_ID;
        give_device_time(input, role, slice.id, &node, holder, twice_ns);
        code = open_slice(&stack, &node);
    }
    while (stack.count)
        close_top(&stack, input->group_name, times);
    free(stack.nodes);
    return code;
}
