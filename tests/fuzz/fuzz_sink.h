// fuzz_sink.h - the judge of what a decoder makes of any bytes: nothing impossible may come out of it.
//
// In:  a decoder's calls on the sink, its reading of names.
// Out: nothing, or abort.
#ifndef FUZZ_SINK_H
#define FUZZ_SINK_H

#include "flagprof/device_tracer.h"

#include <stdlib.h>
#include <string.h>

enum { FUZZ_NAMES_MAX = 1 << 20, FUZZ_LONG_TEXT = 8192 };

struct fuzz_judge {
    uint32_t names;
    char long_text[FUZZ_LONG_TEXT + 1];
};

static inline void require(bool holds) {
    if (!holds) {
        abort();
    }
}

// The text at an address of a record: texts of every sort, and none.
static inline const char *fuzz_text(void *owner, uint64_t address) {
    const struct fuzz_judge *judge = owner;
    static const char *const texts[] = {
        NULL, "", "_Z9axpy_probeIfEvPT_S0_i", "\xff\xfe\"\\\n", "_ZN", "_Z999999999999x"
    };
    size_t choice = address % (sizeof(texts) / sizeof(texts[0]) + 1);
    return choice < sizeof(texts) / sizeof(texts[0]) ? texts[choice] : judge->long_text;
}

static inline fp_name_id fuzz_keep_name(void *owner, const char *text, enum fp_name_form form) {
    struct fuzz_judge *judge = owner;
    require(text == NULL || strlen(text) <= 2 * sizeof(judge->long_text)); // reads it wholly
    require(form == FP_NAME_PLAIN || form == FP_NAME_MANGLED);
    require(judge->names < FUZZ_NAMES_MAX);
    return (fp_name_id){ judge->names++ };
}

static inline void fuzz_judge_event(void *owner, const struct fp_event *event) {
    const struct fuzz_judge *judge = owner;
    const int64_t hour_ns = INT64_C(3600) * 1000000000;
    require((unsigned)event->kind < FP_KIND_COUNT);
    require(event->start_ns > 0 && event->end_ns >= event->start_ns &&
            event->end_ns - event->start_ns <= hour_ns);
    require(event->name.value < judge->names);
    require(event->extra_count == 0 || event->extras != NULL);
    for (size_t i = 0; i < event->extra_count; i++) {
        require(event->extras[i].key.value < judge->names);
    }
}

static inline void fuzz_judge_link(void *owner, fp_vendor_id vendor, enum fp_id_kind kind,
                                   uint64_t framework) {
    (void)owner;
    (void)vendor;
    (void)framework;
    require((unsigned)kind < FP_ID_KIND_COUNT);
}

static inline void fuzz_judge_loss(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    (void)owner;
    (void)count;
    require((unsigned)kind <= FP_KIND_COUNT && (unsigned)reason < FP_LOSS_COUNT);
}

static inline void fuzz_judge_note(void *owner, const char *sentence) {
    (void)owner;
    require(sentence != NULL && sentence[0] != '\0');
}

static inline struct fp_sink fuzz_sink(struct fuzz_judge *judge) {
    judge->names = 0;
    memset(judge->long_text, 'x', FUZZ_LONG_TEXT);
    memcpy(judge->long_text, "_Z4096", 6);
    return (struct fp_sink){
        .size = sizeof(struct fp_sink),
        .owner = judge,
        .name = fuzz_keep_name,
        .event = fuzz_judge_event,
        .correlate = fuzz_judge_link,
        .lose = fuzz_judge_loss,
        .note = fuzz_judge_note,
    };
}

#endif
