// device_tracer.h - the contract that a vendor's tracer fulfils.
//
// A tracer binds one vendor's activity library at run time and turns its records into `struct fp_event`. It
// is one .c file with one private ABI header, reached through one factory that returns a `struct
// fp_tracer_ops`. What goes in: options, pushes and pops of framework ids, start, stop. What comes out:
// events, correlations and losses, handed to a sink while `drain` runs. No vendor type, number or error code
// passes this line.
//
// Two ids, never mixed (docs/architecture.md): fp_vendor_id pairs a host call with the device work that it
// started; fp_framework_id names the operator that issued it. They are different types so that mixing them
// does not compile.
#ifndef FLAGPROF_DEVICE_TRACER_H
#define FLAGPROF_DEVICE_TRACER_H

#include "flagprof/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The vendor's correlation id: unique among the host calls of a session. 0 stands for "none" and is never
// joined. Vendors with 64-bit ids map them to unique nonzero 32-bit ones in their tracer, since Kineto's flow
// ids have 32 bits.
typedef struct {
    uint32_t value;
} fp_vendor_id;

// The framework's id of the operator (or range) that issued the work. 0 is an operator like any other, so
// absence is a flag and not a number.
typedef struct {
    uint64_t value;
    bool present;
} fp_framework_id;

// Which stack of framework ids is meant: operators, or the ranges that a person names (record_function).
enum fp_id_kind { FP_ID_OPERATOR, FP_ID_RANGE, FP_ID_KIND_COUNT };

enum fp_kind {
    FP_KIND_KERNEL,
    FP_KIND_MEMCPY,
    FP_KIND_MEMSET,
    FP_KIND_RUNTIME,    // a host call of the vendor's runtime API
    FP_KIND_DRIVER,     // a host call of the driver API
    FP_KIND_OVERHEAD,   // time that the vendor's library says it took itself
    FP_KIND_SYNC,       // a wait seen by the device library
    FP_KIND_ANNOTATION, // a range on a device lane
    FP_KIND_COUNT
};

// Why a record that the vendor delivered (or should have) is not among the events. Counted per kind in the
// ledger.
enum fp_loss {
    FP_LOSS_DROPPED,      // the vendor says that it dropped it, or a spare buffer had to be discarded
    FP_LOSS_NO_TIMING,    // start and end both 0: the vendor's "not collected"
    FP_LOSS_MALFORMED,    // end before start, only one of both, longer than an hour, not wholly inside its
                          // buffer
    FP_LOSS_UNKNOWN_KIND, // a record kind this build does not know (counted under FP_KIND_COUNT)
    FP_LOSS_UNCOUNTED,    // records are missing and nobody can know how many (a buffer that cannot be read
                          // to its end, buffers that went to somebody else): the count is of such places
    FP_LOSS_COUNT
};

// A name interned by the sink, valid for that sink's recording.
typedef struct {
    uint32_t value;
} fp_name_id;

enum fp_name_form {
    FP_NAME_PLAIN,   // as it will be shown
    FP_NAME_MANGLED, // perhaps an Itanium-mangled C++ symbol: shown demangled, whatever its length
};

// Which of an event's optional fields hold something. What a vendor does not have is left out, never
// invented.
enum fp_field_bit {
    FP_HAS_STREAM = 1 << 0,
    FP_HAS_CONTEXT = 1 << 1,
    FP_HAS_GEOMETRY = 1 << 2,   // kernel: grid and block
    FP_HAS_REGISTERS = 1 << 3,  // kernel
    FP_HAS_SHARED = 1 << 4,     // kernel: shared_bytes
    FP_HAS_OCCUPANCY = 1 << 5,  // kernel
    FP_HAS_QUEUED = 1 << 6,     // kernel: the vendor has the field; a value other than 0 travels as an extra
    FP_HAS_BYTES = 1 << 2,      // copy, set
    FP_HAS_VALUE = 1 << 3,      // set: the byte or word written
    FP_HAS_CBID = 1 << 2,       // host call: the vendor's number of the API function
    FP_HAS_RESULT = 1 << 3,     // host call: what it returned
    FP_BEGINS_CAPTURE = 1 << 4, // host call: launches of this thread are captured into a graph from here on,
    FP_ENDS_CAPTURE = 1 << 5,   // until here: they start no device work
    FP_MAY_MOVE_NOTHING = 1 << 6, // host call: a copy or a set, which starts nothing where it is of 0 bytes
    FP_HAS_FRAMEWORK_ID = 1 << 7,
    FP_IS_LAUNCH = 1 << 8,   // host call of a sort that starts device work (launch, copy, set, graph launch)
    FP_HAS_ARROW = 1 << 9,   // set by the join: both ends of the arrow are in the recording
    FP_HAS_EXTRAS = 1 << 10, // the side table has rows for this record
    FP_IS_ASYNC = 1 << 11,   // copy, set
};

struct fp_kernel {
    uint32_t grid[3];  // blocks
    uint32_t block[3]; // threads
    uint32_t registers_per_thread;
    uint32_t shared_bytes;      // static and dynamic together, a block
    uint32_t occupancy_percent; // estimated achieved occupancy, 0..100
};

struct fp_copy { // the name ("Memcpy HtoD (Pageable -> Device)") comes from the tracer like any other
    uint64_t bytes;
};

struct fp_set {
    uint64_t bytes;
    uint32_t value;
};

struct fp_call {
    uint32_t thread; // the operating system's id of the calling thread
    uint32_t cbid;
    uint32_t result;
};

// A field that only some vendor has, shown in the trace's args under `key`. Kept in a side table.
enum fp_extra_type { FP_EXTRA_INTEGER, FP_EXTRA_REAL, FP_EXTRA_TEXT, FP_EXTRA_JSON };
struct fp_extra {
    fp_name_id key;
    enum fp_extra_type type;
    union {
        int64_t integer;
        double real;
        fp_name_id
            text; // FP_EXTRA_TEXT: quoted when written; FP_EXTRA_JSON: one valid JSON value, written as it is
    } value;
};

// What a tracer hands to the sink. Lives only during the call; nothing in it is kept by pointer.
struct fp_event {
    enum fp_kind kind;
    uint32_t fields;  // enum fp_field_bit
    int64_t start_ns; // nanoseconds since the Unix epoch
    int64_t end_ns;   // not before start_ns
    fp_vendor_id vendor_id;
    fp_framework_id framework_id; // present only where the vendor's record itself carries it
    fp_name_id name;
    uint32_t device; // ordinal as the framework counts
    uint32_t stream;
    uint32_t context;
    union {
        struct fp_kernel kernel;
        struct fp_copy copy;
        struct fp_set set;
        struct fp_call call; // runtime, driver; overhead uses `thread`
    } u;
    const struct fp_extra *extras;
    size_t extra_count;
};

// Where a tracer's findings go. All calls are made from inside `drain`, by the one thread that runs it. None
// fails: when memory runs out the sink counts what it could not keep.
struct fp_sink {
    size_t size;
    void *owner;
    fp_name_id (*name)(void *owner, const char *text, enum fp_name_form form); // NULL text: an empty name
    void (*event)(void *owner, const struct fp_event *event);
    // The host call with this vendor id, and all device work that it starts, were issued under this framework
    // id. May come before or after the events themselves, in any order.
    void (*correlate)(void *owner, fp_vendor_id vendor_id, enum fp_id_kind kind, uint64_t framework_id);
    void (*lose)(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count);
    void (*note)(void *owner,
                 const char *sentence); // something the person should know; told once a recording
};

struct fp_tracer_options {
    size_t size;             // sizeof as the caller knows it; fields beyond it are taken as 0
    const char *library;     // the vendor library to open; NULL: the tracer's documented search
    const char *accelerator; // the name of the row that is tried: "cuda"
};

struct fp_session_options {
    size_t size;
    bool all_calls; // every host call instead of those that torch shows on CUDA
    // Called by the tracer, from any thread, also from a vendor callback, when `drain` would find work. Takes
    // no lock and allocates nothing. May be NULL.
    void (*wake)(void *owner);
    void *wake_owner;
};

// What a tracer says of itself. Texts belong to the tracer and live as long as it.
struct fp_tracer_description {
    size_t size;
    const char *library_path; // NULL when nothing is bound
    const char *version;      // the vendor library's, as the vendor writes it ("13.0 (API 130001)")
    const char *simulated;    // NULL on real hardware, else what simulates it
    const char *const *kinds; // the activity kinds that it offers, NULL-terminated, in the vendor's words
    const char *runtime_kind; // "cuda_runtime" in torch-cuda's words; how the vendor's API is called
    uint64_t driver_version;  // 0: unknown. As the vendor counts (CUDA: 13000)
    uint64_t runtime_version; // 0: unknown
    uint64_t library_version; // 0: unknown
};

// One device. A negative or 0 number stands for "unknown" and is left out of the trace.
struct fp_device {
    size_t size;
    char name[256];
    uint64_t total_memory_bytes;
    int32_t compute_major, compute_minor;
    int32_t max_threads_per_block, max_threads_per_multiprocessor;
    int32_t registers_per_block, registers_per_multiprocessor;
    int32_t warp_size;
    int64_t shared_per_block_bytes, shared_per_multiprocessor_bytes, shared_per_block_optin_bytes;
    int32_t multiprocessors;
};

struct fp_tracer; // each vendor's own

struct fp_tracer_ops {
    size_t size;
    const char *name; // "cupti"

    // Binds the vendor library and proves that it can be used (library, symbols, driver, at least one
    // device). Returns 0, or a negative errno with the reason a person will read in `err`. Calls no function
    // of the activity library before the driver is loaded, initialised and reports a device. Arms nothing: no
    // kind, no callback, no thread.
    int (*open)(const struct fp_tracer_options *options, struct fp_tracer **tracer, struct fp_error *err);
    void (*close)(struct fp_tracer *tracer); // frees what open took; never unloads the vendor library

    int (*describe)(struct fp_tracer *tracer, struct fp_tracer_description *description);
    int (*device_count)(struct fp_tracer *tracer);
    int (*device)(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device);

    // start arms; stop flushes, waits at most timeout_ns for outstanding buffers (-ETIMEDOUT when some are
    // still out) and leaves nothing armed. One caller at a time; push and pop go on in other threads
    // meanwhile.
    int (*start)(struct fp_tracer *tracer, const struct fp_session_options *options, struct fp_error *err);
    int (*stop)(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err);

    // Hands everything recorded so far to the sink. Called by one thread at a time, during the recording
    // (when woken) and once more after stop; after that last call nothing of the session is left in the
    // tracer.
    int (*drain)(struct fp_tracer *tracer, const struct fp_sink *sink);

    // Hot: no lock, no allocation. Both may be NULL (then the vendor needs nothing). 0, or a negative errno
    // that is counted in the ledger. `last` may be NULL.
    int (*push)(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id);
    int (*pop)(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last);

    // Optional: for a vendor whose clock is its own. Where it is present, drain hands times over as the
    // vendor wrote them and the recording maps them all after stop, when the samples of both ends of the
    // session are known.
    int64_t (*to_epoch)(struct fp_tracer *tracer, int64_t vendor_ns);

    // Optional: waits until the devices have finished what was given to them.
    int (*synchronize)(struct fp_tracer *tracer, struct fp_error *err);
    // Optional: registers the vendor's callbacks and arms nothing, for drivers that deliver nothing when that
    // is done after the first context.
    int (*prepare)(struct fp_tracer *tracer, struct fp_error *err);
    // Optional: the path of the library that must be in a process from its start (LD_PRELOAD) for everything
    // to be recorded. Needs no tracer and opens nothing. 0, or a negative errno with the reason.
    int (*preload)(char *path, size_t capacity, struct fp_error *err);
};

#ifdef __cplusplus
}
#endif

#endif
