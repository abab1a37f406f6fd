// collectives.c - the collective kernels of one rank, named so that other ranks' can be matched to them.
//
// In:  kernels with Kineto's arguments for collectives, or with nothing but a communication library's
//      kernel name.
// Out: sorted records.

#include "analysis/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds.h"
#include "analysis/names.h"

// "reduce_scatter" and "ReduceScatter" are one operation: letters only, small.
static size_t letters(struct fp_text text, char *out, size_t room) {
    size_t used = 0;
    for (size_t i = 0; i < text.size && used + 1 < room; i++)
        if (isalpha((unsigned char)text.at[i]))
            out[used++] = (char)tolower((unsigned char)text.at[i]);
    out[used] = 0;
    return used;
}

static bool leaves_together(const char *operation) {
    static const char *words[] = { "allreduce", "allgather", "reducescatter", "alltoall", "barrier" };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strstr(operation, words[i]))
            return true;
    return false;
}

static uint64_t hash_field(uint64_t hash, const struct fp_trace_field *field) {
    uint64_t value = field ? fp_text_hash(field->value, field->value_size) : 0x5BD1E995;
    return (hash ^ value) * 0xD6E8FEB86659FD93ULL + (hash >> 29);
}

static uint32_t display_name(struct fp_collectives *collectives, struct fp_text operation,
                             const struct fp_trace_field *group) {
    char text[160];
    int size = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)(operation.size < 80 ? operation.size : 80),
                        operation.at, group ? ", group " : "",
                        group ? (int)(group->value_size < 40 ? group->value_size : 40) : 0,
                        group ? group->value : "");
    return fp_intern_add(collectives->texts, (struct fp_text){ text, (size_t)size });
}

int fp_collectives_add(struct fp_collectives *collectives, const struct fp_trace_event *event) {
    const struct fp_trace_field *named = fp_event_arg(event, FP_ARG_COLLECTIVE_NAME);
    const struct fp_trace_field *group = fp_event_arg(event, FP_ARG_GROUP_NAME);
    if (event->phase != 'X' || event->ts_state != FP_NUMBER_OK || event->dur_state != FP_NUMBER_OK ||
        event->dur_ns < 0 || !fp_event_is_work(event) || !(named || fp_name_is_collective(event->name)))
        return 0;
    if (collectives->count == collectives->room) {
        size_t room = collectives->room * 2 + 64;
        struct fp_collective *grown = realloc(collectives->at, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        collectives->at = grown;
        collectives->room = room;
    }
    struct fp_text operation = named ? fp_field_text(named) : fp_name_of_collective(event->name);
    struct fp_collective *one = &collectives->at[collectives->count];
    char plain[96];
    size_t size = letters(operation, plain, sizeof(plain));
    *one = (struct fp_collective){ .start_ns = event->ts_ns,
                                   .name = display_name(collectives, operation, group) };
    if (one->name == FP_NO_ID)
        return -ENOMEM;
    if (__builtin_add_overflow(event->ts_ns, event->dur_ns, &one->end_ns))
        return 0;
    one->by_seq = fp_field_u64(fp_event_arg(event, FP_ARG_SEQ), &one->number);
    one->ends_together = leaves_together(plain);
    one->key = fp_text_hash(plain, size);
    one->key = hash_field(one->key, group);
    one->key = hash_field(one->key, fp_event_arg(event, FP_ARG_GROUP_RANKS));
    if (!one->by_seq) {
        // Ranks of one collective may give parts of unlike size (all-gather, all-to-all), so only where none
        // can.
        if (strstr(plain, "allreduce"))
            one->key = hash_field(one->key, fp_event_arg(event, FP_ARG_IN_ELEMENTS));
        one->key = hash_field(one->key, fp_event_arg(event, FP_ARG_DTYPE)) | 1;
    } else {
        one->key &= ~(uint64_t)1;
    }
    collectives->count++;
    return 0;
}

static int compare_starts(const void *left, const void *right) {
    const struct fp_collective *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->by_seq && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

void fp_collectives_finish(struct fp_collectives *collectives, int64_t shift_ns) {
    size_t kept = 0;
    if (!collectives->count)
        return;
    qsort(collectives->at, collectives->count, sizeof(*collectives->at), compare_starts);
    for (size_t i = 0; i < collectives->count; i++) {
        struct fp_collective one = collectives->at[i];
        struct fp_collective *last = kept ? &collectives->at[kept - 1] : NULL;
        one.start_ns = (int64_t)((uint64_t)one.start_ns + (uint64_t)shift_ns);
        one.end_ns = (int64_t)((uint64_t)one.end_ns + (uint64_t)shift_ns);
        bool same_key = last && last->key == one.key;
        if (same_key && one.by_seq && last->number == one.number) { // several kernels of one collective
            last->end_ns = one.end_ns > last->end_ns ? one.end_ns : last->end_ns;
            continue;
        }
        if (!one.by_seq)
            one.number = same_key ? last->number + 1 : 0;
        collectives->at[kept++] = one;
    }
    collectives->count = kept;
}

size_t fp_collectives_run(const struct fp_collectives *collectives, size_t from) {
    size_t to = from;
    while (to < collectives->count && collectives->at[to].key == collectives->at[from].key)
        to++;
    return to - from;
}

void fp_collectives_free(struct fp_collectives *collectives) {
    free(collectives->at);
    collectives->at = NULL;
    collectives->count = collectives->room = 0;
}
