// flagprof.h - what programs and bindings call: choose an accelerator, record, read what was recorded.
//
// Life of a recording:  fp_recording_start -> (the program runs; fp_push / fp_pop name its operators) ->
// fp_recording_stop -> fp_recording_finish(window) -> read records, names, ledger -> fp_recording_free.
// One recording at a time in a process.
//
// Threads: fp_push and fp_pop from any thread, at any time; everything else of one recording from one
// thread at a time.
// Memory: what a function returns by pointer belongs to the recording and lives until fp_recording_free.
#ifndef FLAGPROF_FLAGPROF_H
#define FLAGPROF_FLAGPROF_H

#include "flagprof/device_tracer.h"
#include "flagprof/error.h"
#include "flagprof/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Choosing an accelerator

struct fp_accelerator; // one usable accelerator, opened once in a process and kept to its end

// One row of what was tried. Texts live to the end of the process.
struct fp_candidate {
    size_t size;
    const char *accelerator; // "cuda"
    const char *tracer;      // "cupti"
    int status;              // 0: usable; else a negative errno
    const char *reason;      // why it was refused; NULL when usable
    bool chosen;
    bool owns_library; // FLAGOS_TRACER_LIBRARY is this tracer's to open, and no other's
};

// Finds the accelerator to use: the one that FLAGOS_ACCELERATOR names, else the first usable one in the order
// of the table; a simulated one only where no real one is usable. The answer is kept: later calls are cheap
// and agree, except that a refusal is tried again (the library or the driver may have been loaded since).
// Returns 0, or -ENODEV with the reasons in `err`. Thread safe.
FP_API int fp_accelerator_choose(struct fp_accelerator **accelerator, struct fp_error *err);
// Calls `visit` for each row of the table, in its order, trying each. For `flagprof info`. Thread safe.
FP_API int fp_accelerator_each(void (*visit)(void *owner, const struct fp_candidate *candidate,
                                             struct fp_accelerator *accelerator),
                               void *owner);
FP_API const char *fp_accelerator_name(const struct fp_accelerator *accelerator);   // "cuda"
FP_API const char *fp_accelerator_tracer(const struct fp_accelerator *accelerator); // "cupti"
FP_API int fp_accelerator_describe(struct fp_accelerator *accelerator,
                                   struct fp_tracer_description *description);
FP_API int fp_accelerator_device_count(struct fp_accelerator *accelerator);
FP_API int fp_accelerator_device(struct fp_accelerator *accelerator, uint32_t ordinal,
                                 struct fp_device *device);
FP_API int fp_accelerator_synchronize(struct fp_accelerator *accelerator, struct fp_error *err);
FP_API int fp_accelerator_prepare(struct fp_accelerator *accelerator, struct fp_error *err);

// ---- Recording

struct fp_recording;

struct fp_recording_options {
    size_t size;
    bool all_calls; // every host call; FLAGOS_TRACE_ALL_CALLS=1 does the same
};

// Arms the accelerator. Returns 0; -EBUSY when a recording runs already; the tracer's error otherwise,
// nothing then armed.
FP_API int fp_recording_start(struct fp_accelerator *accelerator, const struct fp_recording_options *options,
                              struct fp_recording **recording, struct fp_error *err);
// Disarms, waits for outstanding buffers at most timeout_ns (0: ten seconds). On any error the recording is
// stopped all the same and what arrived is kept; the ledger says what is missing. A second stop does nothing
// and returns 0.
FP_API int fp_recording_stop(struct fp_recording *recording, uint64_t timeout_ns, struct fp_error *err);
// Joins ids, drops what lies wholly outside [window_start_ns, window_end_ns] (both ends inclusive: what
// touches the window is kept at its true length), pairs host calls with device work and settles the ledger.
// Once, after stop.
FP_API int fp_recording_finish(struct fp_recording *recording, int64_t window_start_ns, int64_t window_end_ns,
                               struct fp_error *err);
FP_API void fp_recording_free(struct fp_recording *recording); // NULL is fine

// The operator or range that the calling thread's work belongs to from now on. Hot: no lock, no allocation;
// nothing happens unless a recording runs. A pop without a push is ignored.
FP_API void fp_push(enum fp_id_kind kind, uint64_t framework_id);
FP_API void fp_pop(enum fp_id_kind kind);

// ---- What was recorded

// One thing that happened: 64 bytes, of which the last 24 depend on the kind. Optional fields hold something
// only where `fields` says so.
struct fp_record {
    int64_t start_ns, end_ns; // Unix epoch
    uint64_t framework_id;    // FP_HAS_FRAMEWORK_ID
    uint32_t vendor_id;       // 0: none
    uint32_t name;
    uint32_t stream; // FP_HAS_STREAM
    uint16_t device;
    uint16_t kind_and_fields; // enum fp_kind in the low 4 bits, enum fp_field_bit in the high 12
    union {
        struct {
            uint32_t grid_x;
            uint16_t grid_y, grid_z, block_x, block_y;
            uint8_t block_z, occupancy_percent;
            uint16_t registers_per_thread;
            uint32_t shared_bytes, context;
        } kernel;
        struct {
            uint64_t bytes;
            uint32_t value, context, result;
        } transfer; // copy and set
        struct {
            uint32_t thread, cbid, result, context;
            uint32_t device_work; // set by the join: how many device records this call started
        } call;                   // runtime, driver, overhead, sync
    } u;
};

static inline enum fp_kind fp_record_kind(const struct fp_record *record) {
    return (enum fp_kind)(record->kind_and_fields & 15);
}

static inline uint32_t fp_record_fields(const struct fp_record *record) {
    return (uint32_t)record->kind_and_fields >> 4;
}

static inline bool fp_record_has(const struct fp_record *record, enum fp_field_bit field) {
    return (fp_record_fields(record) & (uint32_t)field) != 0;
}

static inline bool fp_kind_is_device(enum fp_kind kind) {
    return kind == FP_KIND_KERNEL || kind == FP_KIND_MEMCPY || kind == FP_KIND_MEMSET;
}

static inline bool fp_kind_is_host_call(enum fp_kind kind) {
    return kind == FP_KIND_RUNTIME || kind == FP_KIND_DRIVER;
}

// After finish: the records in the window, in the order in which they came. Constant time.
FP_API size_t fp_recording_count(const struct fp_recording *recording);
FP_API const struct fp_record *fp_recording_at(const struct fp_recording *recording, size_t index);
// The text of a record's name or of an extra's key or text; never NULL. Demangled, otherwise as the vendor
// wrote it: it may hold any bytes, so a writer makes it safe for its format.
FP_API const char *fp_recording_name(const struct fp_recording *recording, uint32_t name);
// The side-table rows of record `index`; their number is the result, the first goes to *extras. 0 when it has
// none.
FP_API size_t fp_recording_extras(const struct fp_recording *recording, size_t index,
                                  const struct fp_extra **extras);
// A range that a person named (record_function) as the device saw it: from the first to the last device
// record issued under it on one stream of one device.
struct fp_range {
    uint64_t framework_id;
    uint32_t device, stream;
    int64_t start_ns, end_ns;
};
// After finish: their number is the result, the first goes to *ranges. Ordered by id, device, stream.
FP_API size_t fp_recording_ranges(const struct fp_recording *recording, const struct fp_range **ranges);
FP_API struct fp_accelerator *fp_recording_accelerator(const struct fp_recording *recording);
// Bytes that the recording holds now, interned text apart.
FP_API size_t fp_recording_bytes(const struct fp_recording *recording);

// ---- The ledger

struct fp_ledger_row {
    uint64_t seen;           // records of this kind that the vendor delivered with times
    uint64_t kept;           // of these, in the window and in the recording
    uint64_t outside_window; // of these, wholly outside
    uint64_t lost[FP_LOSS_COUNT];
    uint64_t no_memory; // of these, not kept because memory ran out
    uint64_t
        unpaired; // device work whose launching call is not in the recording; host launches whose work is not
    uint64_t unpaired_moves; // copies and sets without device work: of 0 bytes they start nothing
};

struct fp_ledger {
    size_t size;
    struct fp_ledger_row rows[FP_KIND_COUNT + 1]; // the last row: records of unknown kind
    uint64_t launches_seen;                       // host calls of a sort that starts device work
    uint64_t failed_pushes, failed_pops;
    uint64_t correlations;     // pairs of vendor id and operator that the vendor delivered
    uint64_t linked, linkable; // device records and host calls with an operator, and how many there are
    int64_t window_start_ns, window_end_ns;
    int64_t
        nearest_outside_ns; // all outside: the signed distance of the nearest record from the window, else 0
    bool complete;          // nothing is known to be missing
    uint64_t details_lost;  // names, ids, side-table rows, notes and joins not kept for want of memory
};

FP_API void fp_recording_ledger(const struct fp_recording *recording, struct fp_ledger *ledger);
// The ledger as one sentence for a person, and as one JSON object for the trace's metadata. Return the length
// written without the end mark, as snprintf does; `capacity` 0 asks for the length.
FP_API int fp_ledger_sentence(const struct fp_ledger *ledger, char *text, size_t capacity);
FP_API int fp_ledger_json(const struct fp_ledger *ledger, char *text, size_t capacity);
// The sentences that the tracer had to say, newline-separated; "" when none.
FP_API const char *fp_recording_notes(const struct fp_recording *recording);

#ifdef __cplusplus
}
#endif

#endif
