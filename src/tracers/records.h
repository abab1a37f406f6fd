// records.h - rules and words that hold for the activity records of every vendor.
//
// In:  numbers out of a record.
// Out: may its times be believed; the names of copies and sets as torch on CUDA writes them.
#ifndef FP_TRACERS_RECORDS_H
#define FP_TRACERS_RECORDS_H

#include "flagprof/device_tracer.h"

// The copy and memory kinds that CUPTI numbers and its copies took over [HEADER for CUPTI].
enum { FP_COPY_KINDS = 11, FP_MEMORY_KINDS = 8 };

// FP_LOSS_COUNT: the times are good. Else why they are not: FP_LOSS_NO_TIMING or FP_LOSS_MALFORMED.
enum fp_loss fp_record_judge_times(uint64_t start_ns, uint64_t end_ns);

// Sets the event's times as the vendor wrote them. False: they may not be believed, and the sink counts the
// record as lost.
bool fp_record_take_times(const struct fp_sink *sink, struct fp_event *event, uint64_t start_ns,
                          uint64_t end_ns);

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)". 80 bytes are enough.
void fp_record_name_copy(char *text, size_t capacity, unsigned copy, unsigned from, unsigned to);
void fp_record_name_set(char *text, size_t capacity, unsigned memory);

#endif
