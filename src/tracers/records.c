// records.c - rules and words that hold for the activity records of every vendor (records.h).

#include "tracers/records.h"

#include <stdio.h>

#define HOUR_NS UINT64_C(3600000000000)

enum fp_loss fp_record_judge_times(uint64_t start_ns, uint64_t end_ns) {
    if (start_ns == 0 && end_ns == 0)
        return FP_LOSS_NO_TIMING;
    bool good = start_ns != 0 && end_ns >= start_ns && end_ns - start_ns <= HOUR_NS && end_ns <= INT64_MAX;
    return good ? FP_LOSS_COUNT : FP_LOSS_MALFORMED;
}

bool fp_record_take_times(const struct fp_sink *sink, struct fp_event *event, uint64_t start_ns,
                          uint64_t end_ns) {
    enum fp_loss flaw = fp_record_judge_times(start_ns, end_ns);
    if (flaw != FP_LOSS_COUNT) {
        sink->lose(sink->owner, event->kind, flaw, 1);
        return false;
    }
    event->start_ns = (int64_t)start_ns;
    event->end_ns = (int64_t)end_ns;
    return true;
}

static const char *memory_word(unsigned kind) {
    static const char *const words[FP_MEMORY_KINDS] = { "Unknown",       "Pageable",      "Pinned",
                                                        "Device",        "Array",         "Managed",
                                                        "Device Static", "Managed Static" };
    return kind < FP_MEMORY_KINDS ? words[kind] : "Unrecognized";
}

void fp_record_name_copy(char *text, size_t capacity, unsigned copy, unsigned from, unsigned to) {
    static const char *const words[FP_COPY_KINDS] = { "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                      "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP" };
    snprintf(text, capacity, "Memcpy %s (%s -> %s)", words[copy < FP_COPY_KINDS ? copy : 0],
             memory_word(from), memory_word(to));
}

void fp_record_name_set(char *text, size_t capacity, unsigned memory) {
    snprintf(text, capacity, "Memset (%s)", memory_word(memory));
}
