// check_header.c - what stands beside the events: secrets, and FlagProf's own ledger.
//
// In:  the header's values, whole.
// Out: findings. A secret's value is never handed on.

#include "analysis/check_internal.h"

#include <stdio.h>

#include "analysis/producer.h"
#include "analysis/secrets.h"

struct place {
    struct fp_check *check;
    uint64_t event, byte;
    struct fp_text around; // the key or event that the value stands in
};

static void find_secret(void *user, struct fp_text key) {
    const struct place *place = user;
    fp_check_find(place->check, FP_RULE_SECRET, place->event, place->byte, key.size ? key : place->around);
}

void fp_header_judge_metadata(struct fp_check *check, const struct fp_trace_event *event) {
    struct place place = { check, event->number, event->byte, event->name };
    if (event->args_type == '{')
        fp_secrets_find(fp_field_text(fp_event_field(event, "args")), find_secret, &place);
}

// The ledger says how many records of a kind were kept; the file must hold as many.
static void compare_ledger(struct fp_check *check, struct fp_text kinds, const char *kind, uint64_t held) {
    struct fp_trace_field row, kept;
    uint64_t said;
    if (!fp_json_find(kinds, kind, &row) || !fp_json_find(fp_field_text(&row), "kept", &kept) ||
        !fp_field_u64(&kept, &said) || said == held)
        return;
    char text[110];
    snprintf(text, sizeof(text), "%s: the ledger kept %llu, the file holds %llu", kind,
             (unsigned long long)said, (unsigned long long)held);
    fp_check_find(check, FP_RULE_LEDGER_MISMATCH, UINT64_MAX, 0, fp_text_of(text));
}

// `part`: the file says itself that it holds a part of a recording, or several: it need not hold what one kept.
static void judge_ledger(struct fp_check *check, struct fp_text ledger, bool part) {
    struct fp_trace_field field;
    static const struct {
        const char *kind;
        enum fp_category category;
    } rows[] = {
        { "kernel", FP_CAT_KERNEL },   { "memcpy", FP_CAT_MEMCPY }, { "memset", FP_CAT_MEMSET },
        { "runtime", FP_CAT_RUNTIME }, { "driver", FP_CAT_DRIVER },
    };
    if (fp_json_find(ledger, "complete", &field) && field.type == 'f')
        fp_check_find(check, FP_RULE_LEDGER_INCOMPLETE, UINT64_MAX, 0,
                      fp_text_of("flagprof_ledger: \"complete\": false"));
    if (part || !fp_json_find(ledger, "kinds", &field))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        compare_ledger(check, fp_field_text(&field), rows[i].kind, check->by_category[rows[i].category]);
}

static void judge_producer(struct fp_check *check, const struct fp_reader *reader) {
    struct fp_producer producer;
    fp_producer_read(reader, &producer);
    if (!producer.not_recorded[0])
        return;
    check->findings[FP_RULE_DEVICE_NOT_RECORDED].count = 1;
    fp_check_detail(check, FP_RULE_DEVICE_NOT_RECORDED, "%s", producer.not_recorded);
}

void fp_header_judge(struct fp_check *check, const struct fp_reader *reader) {
    judge_producer(check, reader);
    bool part = fp_reader_header_named(reader, "flagprof_cut") != NULL ||
                fp_reader_header_named(reader, "flagprof_merge") != NULL;
    for (size_t i = 0; i < fp_reader_header_count(reader); i++) {
        const struct fp_trace_header *header = fp_reader_header(reader, i);
        struct place place = { check, UINT64_MAX, 0, header->key };
        if (fp_secret_header(header->key, header->value)) // the header's key itself
            find_secret(&place, header->key);
        else
            fp_secrets_find(header->value, find_secret, &place);
        if (fp_text_equals(header->key, "flagprof_ledger"))
            judge_ledger(check, header->value, part);
    }
}
