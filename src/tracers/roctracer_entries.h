// roctracer_entries.h - what ROCtracer's two callbacks hand over, as entries of fixed size.
//
// In:  hip_api_data_t of a call, a buffer of device records.
// Out: one entry each, which owns all that it says: arguments are read and kernel names kept inside the
//      callback, where alone they are valid.
#ifndef FP_TRACERS_ROCTRACER_ENTRIES_H
#define FP_TRACERS_ROCTRACER_ENTRIES_H

#include "flagprof/device_tracer.h"
#include "tracers/roctracer_abi.h"
#include "tracers/text_arena.h"

struct fp_roc_call { // one HIP call, as its exit callback hands it over
    uint64_t correlation_id, start, end;
    uint64_t operator_id, range_id, bytes;
    uint32_t cid, thread;
    uint32_t grid[3], block[3], shared_bytes, value;
    int32_t to_device, from_device;
    uint8_t copy_kind;
    bool has_operator, has_range;
};

struct fp_roc_work { // one device record, its name kept
    struct fp_roc_record record;
    const char *name;
};

// What a call of this row does, from its hip_api_data_t.
void fp_roc_read_arguments(struct fp_roc_call *call, const struct fp_hip_call *row, const void *data);

// Calls `put` for each device record from begin to end; barriers are none. Returns how many bytes at the end
// are no whole record.
size_t fp_roc_read_records(const char *begin, const char *end, struct fp_text_arena *names,
                           void (*put)(void *owner, const struct fp_roc_work *work), void *owner);

#endif
