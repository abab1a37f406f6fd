// twin_session.h - the tracer that vendors with a copy of CUPTI's interface share. A vendor's own file gives
// it a profile and eight lines of ops.
//
// In:  a profile (names, numbers, layout, what this library bears and what not), the contract's calls
//      (device_tracer.h), the vendor's buffer callbacks.
// Out: events in the sink, in the vendor's clock, which to_epoch maps once the session has ended.
//
// Until the first buffers have shown that the library writes the records that the layout tells, nothing is
// handed on; if they show another, nothing ever is, and that is said aloud (twin_layout.h).
#ifndef FP_TRACERS_TWIN_SESSION_H
#define FP_TRACERS_TWIN_SESSION_H

#include "flagprof/device_tracer.h"
#include "tracers/forks.h"
#include "tracers/intake.h"
#include "tracers/twin_open.h"

// The vendor's callbacks and what they need. They are the process's and carry no pointer of ours, so each
// vendor's file has its own, static.
struct fp_twin_callbacks {
    fp_twin_requested_fn requested;
    fp_twin_completed_fn completed;
    struct fp_intake intake;
    struct fp_fork_mark fork;
    _Atomic(const struct fp_twin_layout *) layout; // what is in a spare is counted by it
};

// `callbacks`, for a vendor's profile.
#define FP_TWIN_CALLBACKS                                                                                    \
    static struct fp_twin_callbacks callbacks;                                                               \
    static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records) {                          \
        fp_intake_request(&callbacks.intake, buffer, size, max_records);                                     \
    }                                                                                                        \
    static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {   \
        (void)context; /* always NULL, and the stream 0 [CODE: MUPTI] */                                     \
        (void)stream;                                                                                        \
        (void)size;                                                                                          \
        fp_intake_complete(&callbacks.intake, buffer, valid);                                                \
    }                                                                                                        \
    static struct fp_twin_callbacks callbacks = { .requested = on_requested, .completed = on_completed };

enum fp_twin_manner {           // what a library bears and what not
    FP_TWIN_WALK_BY_SIZE = 1,   // its iterator is not to be trusted
    FP_TWIN_NAMES_AT_END = 2,   // it may be asked for names only after flush and disable
    FP_TWIN_FLUSH_AT_START = 4, // leftovers of before come out of a flush behind the registration
    FP_TWIN_FLUSH_AFTER_DISABLE = 8,
    FP_TWIN_MAY_LACK_IDS = 16, // releases without external ids exist: operators are found by time then
};

struct fp_twin_profile {
    const char *name;  // "mcpti"
    const char *title; // "MCPTI"
    const struct fp_twin_search *search;
    unsigned manners; // of enum fp_twin_manner
    uint32_t flush_flag;
    int busy_result;           // another profiler is there
    int absent_result;         // a function that this release does not have; 0: no such result
    uint32_t version_expected; // 0: any
    struct fp_twin_callbacks *callbacks;
    const char *(*known_name)(uint32_t domain, uint32_t cbid);
    bool (*launches)(uint32_t domain, uint32_t cbid);
    uint32_t name_keys[3]; // by domain: what call_name takes
    const char *prefixes[3], *unknown[3];
    const char *runtime_kind; // "maca_runtime"
};

int fp_twin_open(const struct fp_twin_profile *profile, const struct fp_tracer_options *options,
                 struct fp_tracer **tracer, struct fp_error *err);

// The ops of every such vendor but `open` and `name`.
#define FP_TWIN_OPS                                                                                          \
    .close = fp_twin_close, .describe = fp_twin_describe, .device_count = fp_twin_device_count,              \
    .device = fp_twin_device, .start = fp_twin_start, .stop = fp_twin_stop, .drain = fp_twin_drain,          \
    .push = fp_twin_push, .pop = fp_twin_pop, .to_epoch = fp_twin_to_epoch,                                  \
    .synchronize = fp_twin_synchronize

void fp_twin_close(struct fp_tracer *tracer);
int fp_twin_describe(struct fp_tracer *tracer, struct fp_tracer_description *description);
int fp_twin_device_count(struct fp_tracer *tracer);
int fp_twin_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device);
int fp_twin_start(struct fp_tracer *tracer, const struct fp_session_options *options, struct fp_error *err);
int fp_twin_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err);
int fp_twin_drain(struct fp_tracer *tracer, const struct fp_sink *sink);
int fp_twin_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id);
int fp_twin_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last);
int64_t fp_twin_to_epoch(struct fp_tracer *tracer, int64_t vendor_ns);
int fp_twin_synchronize(struct fp_tracer *tracer, struct fp_error *err);

#endif
