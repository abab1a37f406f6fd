// collect_sink.h - a sink that keeps all that a tracer hands over, so that a test can look at it.
//
// In:  a tracer's or a decoder's calls.
// Out: plain arrays. Names are copied; a name's number is its place + 1.
#ifndef COLLECT_SINK_H
#define COLLECT_SINK_H

#include "flagprof/device_tracer.h"

#include <stdlib.h>
#include <string.h>

struct collected_event {
    struct fp_event event;
    struct fp_extra extras[8];
};

struct collected_correlation {
    uint32_t vendor_id;
    enum fp_id_kind kind;
    uint64_t framework_id;
};

struct collected {
    struct fp_sink sink;
    struct collected_event *events;
    size_t event_count, event_capacity;
    struct collected_correlation *correlations;
    size_t correlation_count, correlation_capacity;
    char **names;
    size_t name_count, name_capacity;
    uint64_t lost[FP_KIND_COUNT + 1][FP_LOSS_COUNT];
    char notes[4096];
};

static void *collect_grow(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return items;
    *capacity = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(items, *capacity * size);
    if (!grown)
        abort();
    return grown;
}

static inline fp_name_id collect_name(void *owner, const char *text, enum fp_name_form form) {
    struct collected *all = owner;
    (void)form;
    for (size_t at = 0; at < all->name_count; at++)
        if (strcmp(all->names[at], text ? text : "") == 0)
            return (fp_name_id){ (uint32_t)at + 1 };
    all->names = collect_grow(all->names, all->name_count, &all->name_capacity, sizeof(*all->names));
    all->names[all->name_count++] = strdup(text ? text : "");
    return (fp_name_id){ (uint32_t)all->name_count };
}

static inline void collect_event(void *owner, const struct fp_event *event) {
    struct collected *all = owner;
    all->events = collect_grow(all->events, all->event_count, &all->event_capacity, sizeof(*all->events));
    struct collected_event *kept = &all->events[all->event_count++];
    kept->event = *event;
    for (size_t at = 0; at < event->extra_count && at < 8; at++)
        kept->extras[at] = event->extras[at];
}

static inline void collect_correlation(void *owner, fp_vendor_id vendor_id, enum fp_id_kind kind,
                                       uint64_t framework_id) {
    struct collected *all = owner;
    all->correlations = collect_grow(all->correlations, all->correlation_count, &all->correlation_capacity,
                                     sizeof(*all->correlations));
    all->correlations[all->correlation_count++] =
        (struct collected_correlation){ vendor_id.value, kind, framework_id };
}

static inline void collect_loss(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    ((struct collected *)owner)->lost[kind][reason] += count;
}

static inline void collect_note(void *owner, const char *sentence) {
    struct collected *all = owner;
    size_t used = strlen(all->notes), room = sizeof(all->notes) - used;
    if (strlen(sentence) + 2 < room) {
        strcat(all->notes, sentence);
        strcat(all->notes, "\n");
    }
}

static inline void collect_begin(struct collected *all) {
    memset(all, 0, sizeof(*all));
    all->sink = (struct fp_sink){ sizeof(all->sink),   all,          collect_name, collect_event,
                                  collect_correlation, collect_loss, collect_note };
}

static inline void collect_end(struct collected *all) {
    for (size_t at = 0; at < all->name_count; at++)
        free(all->names[at]);
    free(all->names);
    free(all->events);
    free(all->correlations);
}

static inline const char *collected_name(const struct collected *all, fp_name_id name) {
    return name.value && name.value <= all->name_count ? all->names[name.value - 1] : "";
}

static inline size_t collected_count(const struct collected *all, enum fp_kind kind) {
    size_t count = 0;
    for (size_t at = 0; at < all->event_count; at++)
        count += all->events[at].event.kind == kind;
    return count;
}

static inline uint64_t collected_lost(const struct collected *all) {
    uint64_t lost = 0;
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        for (int reason = 0; reason < FP_LOSS_COUNT; reason++)
            lost += all->lost[kind][reason];
    return lost;
}

// The operator (or range) of a vendor id; -1: none.
static inline int64_t collected_id(const struct collected *all, enum fp_id_kind kind, uint32_t vendor_id) {
    for (size_t at = 0; at < all->correlation_count; at++)
        if (all->correlations[at].kind == kind && all->correlations[at].vendor_id == vendor_id)
            return (int64_t)all->correlations[at].framework_id;
    return -1;
}

#endif
