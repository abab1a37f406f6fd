// digest.c - what is asked of nearly every event, in one place and as numbers.
//
// In:  events that were read.
// Out: digests of those whose values are plain, which nearly all are.

#include "trace/digest.h"

#include <errno.h>

#define TEXT_LIMIT 512 // longer ones get no number: the table stays below two megabytes

int fp_digester_begin(struct fp_digester *digester) {
    *digester = (struct fp_digester){ .texts = fp_intern_new() };
    return digester->texts ? 0 : -ENOMEM;
}

void fp_digester_end(struct fp_digester *digester) {
    fp_intern_free(digester->texts);
    digester->texts = NULL;
}

static inline const struct fp_trace_field *top_field(const struct fp_parsed *event, enum fp_top_name top) {
    return event->top[top] == FP_NO_FIELD ? NULL : &event->fields[event->top[top]];
}

// A text's number plus one; 0 where it gets none.
static uint32_t number_of(struct fp_digester *digester, struct fp_text text) {
    if (text.size > TEXT_LIMIT)
        return 0;
    uint32_t number = fp_intern_count(digester->texts) < FP_DIGEST_TEXTS
                          ? fp_intern_add(digester->texts, text)
                          : fp_intern_find(digester->texts, text);
    return number == FP_NO_ID ? 0 : number + 1;
}

static uint32_t number_of_cat(struct fp_digester *digester, struct fp_text cat) {
    unsigned place = (unsigned)(cat.size ? cat.size * 7 + (unsigned char)cat.at[cat.size - 1] +
                                               (unsigned char)cat.at[cat.size / 2] * 3u
                                         : 0) %
                     FP_DIGEST_CATS;
    if (digester->cats[place].number && fp_text_same(digester->cats[place].text, cat))
        return digester->cats[place].number;
    uint32_t number = number_of(digester, cat);
    if (number) {
        digester->cats[place].text = fp_intern_text(digester->texts, number - 1);
        digester->cats[place].number = number;
    }
    return number;
}

static inline bool digest_id(const struct fp_parsed *event, const struct fp_trace_field *field,
                             uint64_t *number, uint16_t *at, uint8_t *size) {
    size_t begin = field ? (size_t)(field->value - event->raw.at) : SIZE_MAX;
    if (begin > UINT16_MAX || !fp_plain_id(field, number))
        return false;
    *at = (uint16_t)begin;
    *size = (uint8_t)field->value_size;
    return true;
}

// Of an argument that stands twice the last one counts.
static inline void digest_argument(const struct fp_trace_field *arg, struct fp_digest *digest) {
    if (arg->known == FP_ARG_EXTERNAL_ID)
        digest->ids_known = (uint8_t)((digest->ids_known & ~FP_READ_EXTERNAL_ID) |
                                      (fp_plain_id(arg, &digest->external_id) ? FP_READ_EXTERNAL_ID : 0));
    else if (arg->known == FP_ARG_CORRELATION)
        digest->ids_known = (uint8_t)((digest->ids_known & ~FP_READ_CORRELATION) |
                                      (fp_plain_id(arg, &digest->correlation) ? FP_READ_CORRELATION : 0));
}

void fp_digest_event(struct fp_digester *digester, const struct fp_parsed *event, struct fp_digest *digest) {
    const struct fp_trace_field *ph = top_field(event, FP_TOP_PH), *cat = top_field(event, FP_TOP_CAT),
                                *name = top_field(event, FP_TOP_NAME), *dur = top_field(event, FP_TOP_DUR),
                                *id = top_field(event, FP_TOP_ID);
    digest->whole = false;
    digest->has_dur = dur != NULL;
    digest->fractions = false;
    digest->id_size = 0;
    digest->ids_known = 0;
    if (!ph || ph->type != '"' || ph->value_size != 1 ||
        !fp_plain_time(top_field(event, FP_TOP_TS), &digest->ts_ns, &digest->fractions) ||
        (dur && !fp_plain_time(dur, &digest->dur_ns, &digest->fractions)) ||
        !digest_id(event, top_field(event, FP_TOP_PID), &digest->pid, &digest->pid_at, &digest->pid_size) ||
        !digest_id(event, top_field(event, FP_TOP_TID), &digest->tid, &digest->tid_at, &digest->tid_size) ||
        (id && !digest_id(event, id, &digest->id, &digest->id_at, &digest->id_size)))
        return;
    digest->cat = number_of_cat(digester, fp_field_text(cat));
    if (!digest->cat)
        return;
    digest->name = number_of(digester, fp_field_text(name));
    digest->phase = ph->value[0];
    for (uint32_t i = 0; i < event->arg_count; i++)
        digest_argument(&event->args[i], digest);
    digest->whole = true;
}
