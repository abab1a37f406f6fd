// operators.c - time per operator as torch counts it, in one pass over sorted slices.
//
// In:  sorted slices of one thread.
// Out: sums per group. A stack holds the open slices; a slice is counted when it closes, except that an
//      only child waits for its parent: it may turn out to be the same call under the same name.

#include "analysis/operators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t home_of(uint64_t id, size_t mask) {
    // Ids come nearly in order: neighbours lie side by side, and far ones are thrown apart.
    return (size_t)(id + (id >> 16) * 0x9E3779B97F4A7C15ULL) & mask;
}

static int grow(struct fp_time_by_id *times) {
    size_t mask = times->mask ? times->mask * 2 + 1 : 255;
    struct fp_time_entry *entries = calloc(mask + 1, sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; times->entries && i <= times->mask; i++) {
        if (!times->entries[i].used)
            continue;
        size_t at = home_of(times->entries[i].id, mask);
        while (entries[at].used)
            at = (at + 1) & mask;
        entries[at] = times->entries[i];
    }
    free(times->entries);
    times->entries = entries;
    times->mask = mask;
    return 0;
}

int fp_time_by_id_add(struct fp_time_by_id *times, uint64_t id, int64_t ns) {
    if ((!times->entries || times->count * 3 >= times->mask * 2) && grow(times) != 0)
        return -ENOMEM;
    size_t at = home_of(id, times->mask);
    while (times->entries[at].used && times->entries[at].id != id)
        at = (at + 1) & times->mask;
    struct fp_time_entry *entry = &times->entries[at];
    times->count += !entry->used;
    entry->used = true;
    entry->id = id;
    entry->ns += ns;
    return 0;
}

struct fp_time_entry *fp_time_by_id_find(const struct fp_time_by_id *times, uint64_t id) {
    if (!times->entries)
        return NULL;
    size_t at = home_of(id, times->mask);
    while (times->entries[at].used && times->entries[at].id != id)
        at = (at + 1) & times->mask;
    return times->entries[at].used ? &times->entries[at] : NULL;
}

void fp_time_by_id_free(struct fp_time_by_id *times) {
    free(times->entries);
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
    struct fp_time_entry *entry;
    if (role == FP_ROLE_OPERATOR) {
        entry = input->device_ns && id != FP_NO_SLICE_ID ? fp_time_by_id_find(input->device_ns, id) : NULL;
        if (entry) {
            node->own_device_ns = entry->ns;
            entry->taken = true;
        }
        return;
    }
    if (role == FP_ROLE_PYTHON)
        return;
    if (input->device_ns_by_call && role != FP_ROLE_OVERHEAD && holder && id != FP_NO_SLICE_ID) {
        entry = fp_time_by_id_find(input->device_ns_by_call, id);
        if (entry) {
            holder->own_device_ns += entry->ns;
            entry->taken = true;
        }
    }
    uint64_t mistaken = role == FP_ROLE_OVERHEAD ? node->owner : id;
    if (!input->like_torch || role == FP_ROLE_CALL || mistaken == FP_NO_SLICE_ID || !input->device_ns)
        return;
    entry = fp_time_by_id_find(input->device_ns, mistaken);
    if (entry) {
        node->own_device_ns = entry->ns;
        *twice_ns += holder ? entry->ns : 0;
    }
}

int fp_operators_count(const struct fp_operator_input *input, struct fp_operator_times *times,
                       int64_t *twice_ns) {
    struct stack stack = { 0 };
    size_t at[FP_ROLE_COUNT] = { 0 };
    struct fp_slice next[FP_ROLE_COUNT];
    int code = 0;
    for (int role = 0; role < FP_ROLE_COUNT; role++)
        if (input->by_role[role] && input->by_role[role]->count)
            next[role] = fp_slices_get(input->by_role[role], 0);
    while (!code) {
        int role = -1;
        for (int r = 0; r < FP_ROLE_COUNT; r++) {
            if (!input->by_role[r] || at[r] == input->by_role[r]->count)
                continue;
            // At the same time and length the operator holds the call.
            if (role < 0 || next[r].start_ns < next[role].start_ns ||
                (next[r].start_ns == next[role].start_ns && next[r].dur_ns > next[role].dur_ns))
                role = r;
        }
        if (role < 0)
            break;
        struct fp_slice slice = next[role];
        if (++at[role] < input->by_role[role]->count)
            next[role] = fp_slices_get(input->by_role[role], at[role]);
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
        give_device_time(input, (enum fp_slice_role)role, slice.id, &node, holder, twice_ns);
        code = open_slice(&stack, &node);
    }
    while (stack.count)
        close_top(&stack, input->group_name, times);
    free(stack.nodes);
    return code;
}
