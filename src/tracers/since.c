// since.c - a sink that lets through only what ended in this session (since.h).

#include "tracers/since.h"

static fp_name_id pass_name(void *owner, const char *text, enum fp_name_form form) {
    const struct fp_since *since = owner;
    return since->sink->name(since->sink->owner, text, form);
}

static void pass_event(void *owner, const struct fp_event *event) {
    const struct fp_since *since = owner;
    if (event->end_ns >= since->began_ns)
        since->sink->event(since->sink->owner, event);
}

static void pass_correlation(void *owner, fp_vendor_id vendor_id, enum fp_id_kind kind,
                             uint64_t framework_id) {
    const struct fp_since *since = owner;
    since->sink->correlate(since->sink->owner, vendor_id, kind, framework_id);
}

static void pass_loss(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    const struct fp_since *since = owner;
    if (!since->left)
        since->sink->lose(since->sink->owner, kind, reason, count);
}

static void pass_note(void *owner, const char *sentence) {
    const struct fp_since *since = owner;
    since->sink->note(since->sink->owner, sentence);
}

struct fp_sink fp_since_sink(struct fp_since *since) {
    return (struct fp_sink){
        .size = sizeof(struct fp_sink),
        .owner = since,
        .name = pass_name,
        .event = pass_event,
        .correlate = pass_correlation,
        .lose = pass_loss,
        .note = pass_note,
    };
}
