// flagsim.h - a simulated accelerator that really executes: what programs and vendor facades build on.
//
// In:  launches of C functions, copies, sets, events, graphs, on streams that are threads.
// Out: the work done, on host memory that stands for device memory; and, to whoever observes, what a
//      vendor's profiling library would know: each host call (enter, exit) and each piece of device work
//      (start, end).
//
// Nothing of a vendor is in here: a vendor facade (sim/<vendor>/) is an observer that writes that vendor's
// records. Results are 0 or a negative errno. Times are nanoseconds of the simulated clock, which is the Unix
// epoch. Thread safety: every function may be called from any thread unless its comment says otherwise.
#ifndef FLAGSIM_H
#define FLAGSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAGSIM_EXPORT __attribute__((visibility("default")))

typedef struct flagsim_stream flagsim_stream;
typedef struct flagsim_event flagsim_event;
typedef struct flagsim_graph flagsim_graph;           // a description of work
typedef struct flagsim_graph_exec flagsim_graph_exec; // a graph made ready to launch

// ---- devices

// What a vendor's attribute queries are answered from. The figures are those of a large accelerator, so that
// occupancy estimates come out as believable numbers.
typedef struct flagsim_device_props {
    size_t size; // in: sizeof(flagsim_device_props) as the caller knows it
    char name[64];
    uint64_t total_memory_bytes;
    int compute_major, compute_minor;
    int multiprocessors;
    int warp_size;
    int max_threads_per_block;
    int max_threads_per_multiprocessor;
    int max_blocks_per_multiprocessor;
    int registers_per_block;
    int registers_per_multiprocessor;
    int shared_bytes_per_block;
    int shared_bytes_per_block_optin;
    int shared_bytes_per_multiprocessor;
    int clock_khz;
    int memory_clock_khz;
    int memory_bus_bits;
    int l2_bytes;
} flagsim_device_props;

// Makes the accelerator ready; every other call does it by itself. -ENODEV under fault no_device, -ENXIO
// under no_driver, -EOWNERDEAD in a child forked after its parent used the accelerator (the streams' threads
// are gone).
FLAGSIM_EXPORT int flagsim_init(void);
// Number of devices (FLAGOS_SIM_DEVICES, default 2); 0 where init fails.
FLAGSIM_EXPORT int flagsim_device_count(void);
FLAGSIM_EXPORT int flagsim_get_device(int *device); // the calling thread's
FLAGSIM_EXPORT int flagsim_set_device(int device);
FLAGSIM_EXPORT int flagsim_device_properties(int device, flagsim_device_props *props);
// Waits until all streams of the calling thread's device have run dry.
FLAGSIM_EXPORT int flagsim_device_synchronize(void);
// Id of the device's context, 0 while none exists. A context comes with the first work, allocation or stream.
FLAGSIM_EXPORT uint32_t flagsim_context_id(int device);
// The simulated clock now.
FLAGSIM_EXPORT uint64_t flagsim_now_ns(void);
// Ends all streams and frees what the simulator holds; the next call begins anew. For tests: nobody may be
// using it.
FLAGSIM_EXPORT void flagsim_shutdown(void);

// The calling thread's last error (positive errno, 0: none). get clears it.
FLAGSIM_EXPORT int flagsim_get_last_error(void);
FLAGSIM_EXPORT int flagsim_peek_last_error(void);

// ---- memory

// Device memory of the calling thread's device, 256-byte aligned; kernels read it as ordinary memory.
FLAGSIM_EXPORT int flagsim_malloc(void **pointer, size_t bytes);
// Waits for the device's work first, as vendors do. NULL is allowed.
FLAGSIM_EXPORT int flagsim_free(void *pointer);
// Pinned host memory.
FLAGSIM_EXPORT int flagsim_host_malloc(void **pointer, size_t bytes);
FLAGSIM_EXPORT int flagsim_host_free(void *pointer);
FLAGSIM_EXPORT int flagsim_mem_info(size_t *free_bytes, size_t *total_bytes);

typedef enum flagsim_memory {
    FLAGSIM_MEMORY_PAGEABLE = 1, // ordinary host memory
    FLAGSIM_MEMORY_PINNED = 2,
    FLAGSIM_MEMORY_DEVICE = 3,
} flagsim_memory;
// What the address is; *device is -1 for host memory. The out pointers may be NULL; base and bytes tell the
// allocation.
FLAGSIM_EXPORT flagsim_memory flagsim_pointer_kind(const void *pointer, int *device, void **base,
                                                   size_t *bytes);

typedef enum flagsim_copy_kind {
    FLAGSIM_COPY_HTOH = 0,
    FLAGSIM_COPY_HTOD = 1,
    FLAGSIM_COPY_DTOH = 2,
    FLAGSIM_COPY_DTOD = 3,
    FLAGSIM_COPY_DEFAULT = 4, // told by the addresses
    FLAGSIM_COPY_PTOP = 5,    // between two devices; comes out of DTOD, DEFAULT and memcpy_peer_async
} flagsim_copy_kind;

// The blocking forms use the default stream and return when the work is done.
FLAGSIM_EXPORT int flagsim_memcpy(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind);
FLAGSIM_EXPORT int flagsim_memcpy_async(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                                        flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_memcpy_peer_async(void *dst, int dst_device, const void *src, int src_device,
                                             size_t bytes, flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_memset(void *dst, int value, size_t bytes);
FLAGSIM_EXPORT int flagsim_memset_async(void *dst, int value, size_t bytes, flagsim_stream *stream);

// ---- streams and events

// A stream argument of NULL means the default stream of the calling thread's device. Streams do not wait for
// each other, the default stream included, unless an event says so.
FLAGSIM_EXPORT int flagsim_stream_create(flagsim_stream **stream);
FLAGSIM_EXPORT int
flagsim_stream_destroy(flagsim_stream *stream); // runs dry first; -EINVAL for a default stream
FLAGSIM_EXPORT int flagsim_stream_default(int device, flagsim_stream **stream);
FLAGSIM_EXPORT int flagsim_stream_synchronize(flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_stream_query(flagsim_stream *stream); // 0: idle, -EBUSY: work is left
FLAGSIM_EXPORT int flagsim_stream_wait_event(flagsim_stream *stream, flagsim_event *event);
FLAGSIM_EXPORT int flagsim_stream_device(const flagsim_stream *stream);
FLAGSIM_EXPORT uint32_t
flagsim_stream_id(const flagsim_stream *stream); // 7 for defaults, 13, 14, ... for others

FLAGSIM_EXPORT int flagsim_event_create(flagsim_event **event);
FLAGSIM_EXPORT int flagsim_event_destroy(flagsim_event *event); // what is in flight with it still completes
FLAGSIM_EXPORT int flagsim_event_record(flagsim_event *event, flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_event_synchronize(flagsim_event *event);
FLAGSIM_EXPORT int flagsim_event_query(flagsim_event *event); // 0: reached or never recorded, -EBUSY: not yet
// -EINVAL where one was never recorded, -EBUSY where one is not reached.
FLAGSIM_EXPORT int flagsim_event_elapsed_ns(flagsim_event *begin, flagsim_event *end, int64_t *elapsed_ns);

// ---- kernels

enum {
    // Launched through the vendor's lower interface alone, with no runtime call around it, as vendors'
    // libraries do with some of their kernels (48 of 801 in a training step on an H200).
    FLAGSIM_LAUNCH_LOW_LEVEL = 1u << 0,
    // Launched through the runtime's call with attributes (cudaLaunchKernelExC and its kin).
    FLAGSIM_LAUNCH_EXTENDED = 1u << 1,
};

// What is known of a collective: a kernel that waits for those of the other ranks. Texts live as names do.
typedef struct flagsim_collective {
    const char *call; // the library's function; NULL: no collective
    const char *algorithm, *group;
    uint64_t count;     // elements
    uint32_t data_type; // the library's number
} flagsim_collective;

// What is known of a kernel before it runs. `name` is the mangled name and must stay valid for the process's
// life (a literal, or flagsim_intern); everything else is copied.
typedef struct flagsim_kernel_info {
    const char *name;
    uint32_t grid[3], block[3];
    uint32_t registers; // per thread
    uint32_t shared_static_bytes, shared_dynamic_bytes;
    uint32_t local_bytes_per_thread;
    uint32_t flags;           // FLAGSIM_LAUNCH_*
    uint32_t min_duration_ns; // the stream stays busy at least so long; 0: as long as the function takes
    flagsim_collective collective;
} flagsim_kernel_info;

// From here on (until false) calls of this thread count as made through the lower interface. For the lower
// interface's own entry points in a facade; a single kernel launch can say it by its flag.
FLAGSIM_EXPORT void flagsim_set_low_level(bool low_level);

typedef void (*flagsim_kernel_fn)(void *arg);

// The text, copied once for the process's life; the same pointer for the same text. NULL when memory is
// short.
FLAGSIM_EXPORT const char *flagsim_intern(const char *text);
// Runs fn(arg) on the stream. arg is copied, arg_bytes bytes (0: it is passed as it is and must live).
FLAGSIM_EXPORT int flagsim_launch(flagsim_stream *stream, flagsim_kernel_fn fn, const void *arg,
                                  size_t arg_bytes, const flagsim_kernel_info *kernel);
// The same with an argument that the simulator owns from here on, whatever the result: destroy(arg) is called
// once, after the last run (with a captured launch: when the graph and all made from it are gone). destroy
// may be NULL.
FLAGSIM_EXPORT int flagsim_launch_owned(flagsim_stream *stream, flagsim_kernel_fn fn, void *arg,
                                        void (*destroy)(void *arg), const flagsim_kernel_info *kernel);

// ---- graphs

// From capture_begin to capture_end, what is put on the stream is added to a graph instead of run; a second
// stream joins by waiting for an event recorded in the capture. Nodes run one after the other in the order of
// adding.
FLAGSIM_EXPORT int flagsim_capture_begin(flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_capture_end(flagsim_stream *stream, flagsim_graph **graph);
FLAGSIM_EXPORT bool flagsim_stream_is_capturing(flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_graph_create(flagsim_graph **graph);
FLAGSIM_EXPORT int flagsim_graph_add_kernel(flagsim_graph *graph, flagsim_kernel_fn fn, const void *arg,
                                            size_t arg_bytes, const flagsim_kernel_info *kernel);
FLAGSIM_EXPORT int flagsim_graph_add_copy(flagsim_graph *graph, void *dst, const void *src, size_t bytes,
                                          flagsim_copy_kind kind);
FLAGSIM_EXPORT int flagsim_graph_add_set(flagsim_graph *graph, void *dst, int value, size_t bytes);
FLAGSIM_EXPORT int flagsim_graph_instantiate(flagsim_graph *graph, flagsim_graph_exec **exec);
FLAGSIM_EXPORT int flagsim_graph_launch(flagsim_graph_exec *exec, flagsim_stream *stream);
FLAGSIM_EXPORT int flagsim_graph_destroy(flagsim_graph *graph);
FLAGSIM_EXPORT int flagsim_graph_exec_destroy(flagsim_graph_exec *exec); // launches in flight still complete

// ---- observing: what a vendor facade is built on

// Every call that a vendor's interface has too. The second column is for people.
#define FLAGSIM_APIS(X)                                                                                      \
    X(INIT, "init")                                                                                          \
    X(DEVICE_COUNT, "device count")                                                                          \
    X(GET_DEVICE, "get device")                                                                              \
    X(SET_DEVICE, "set device")                                                                              \
    X(DEVICE_SYNCHRONIZE, "device synchronize")                                                              \
    X(GET_LAST_ERROR, "get last error")                                                                      \
    X(PEEK_LAST_ERROR, "peek at last error")                                                                 \
    X(MALLOC, "malloc")                                                                                      \
    X(FREE, "free")                                                                                          \
    X(HOST_MALLOC, "pinned malloc")                                                                          \
    X(HOST_FREE, "pinned free")                                                                              \
    X(MEM_INFO, "memory info")                                                                               \
    X(MEMCPY, "copy")                                                                                        \
    X(MEMCPY_ASYNC, "asynchronous copy")                                                                     \
    X(MEMCPY_PEER_ASYNC, "asynchronous peer copy")                                                           \
    X(MEMSET, "set")                                                                                         \
    X(MEMSET_ASYNC, "asynchronous set")                                                                      \
    X(STREAM_CREATE, "stream create")                                                                        \
    X(STREAM_DESTROY, "stream destroy")                                                                      \
    X(STREAM_SYNCHRONIZE, "stream synchronize")                                                              \
    X(STREAM_QUERY, "stream query")                                                                          \
    X(STREAM_WAIT_EVENT, "stream wait event")                                                                \
    X(EVENT_CREATE, "event create")                                                                          \
    X(EVENT_DESTROY, "event destroy")                                                                        \
    X(EVENT_RECORD, "event record")                                                                          \
    X(EVENT_SYNCHRONIZE, "event synchronize")                                                                \
    X(EVENT_QUERY, "event query")                                                                            \
    X(EVENT_ELAPSED, "event elapsed time")                                                                   \
    X(LAUNCH, "kernel launch")                                                                               \
    X(CAPTURE_BEGIN, "capture begin")                                                                        \
    X(CAPTURE_END, "capture end")                                                                            \
    X(GRAPH_CREATE, "graph create")                                                                          \
    X(GRAPH_ADD_KERNEL, "graph add kernel")                                                                  \
    X(GRAPH_ADD_COPY, "graph add copy")                                                                      \
    X(GRAPH_ADD_SET, "graph add set")                                                                        \
    X(GRAPH_INSTANTIATE, "graph instantiate")                                                                \
    X(GRAPH_LAUNCH, "graph launch")                                                                          \
    X(GRAPH_DESTROY, "graph destroy")                                                                        \
    X(GRAPH_EXEC_DESTROY, "graph exec destroy")

typedef enum flagsim_api {
    FLAGSIM_API_NONE = 0,
#define X(name, text) FLAGSIM_API_##name,
    FLAGSIM_APIS(X)
#undef X
        FLAGSIM_API_COUNT
} flagsim_api;

FLAGSIM_EXPORT const char *flagsim_api_text(flagsim_api api);

// One host call. Fields that the call does not have are 0. Valid during the callback only.
typedef struct flagsim_api_call {
    size_t size;
    flagsim_api api;
    uint32_t correlation; // the vendor's id: unique, in [0x50000000, 0x7fffffff], also on the device work it
                          // starts
    uint64_t start_ns;
    uint64_t end_ns;  // in exit
    uint32_t process; // getpid
    uint32_t thread;  // gettid
    uint64_t pthread; // pthread_self
    int result;       // in exit: 0 or negative errno
    int device;
    uint32_t context;
    uint32_t stream; // id; 0 where the call has no stream
    flagsim_stream *stream_handle;
    flagsim_event *event_handle;
    const flagsim_kernel_info *kernel; // LAUNCH, GRAPH_ADD_KERNEL
    const void *kernel_handle;         // the function
    void *dst;                         // copies and sets; MALLOC, FREE and kin: the pointer (MALLOC: in exit)
    const void *src;
    size_t bytes;
    int value; // sets
    flagsim_copy_kind copy;
    flagsim_memory src_memory, dst_memory;
    int src_device, dst_device;
    flagsim_graph_exec *graph;
    bool captured;     // the call only described work: nothing of it runs by itself
    bool low_level;    // made through the vendor's lower interface, with no runtime call around it
    uint64_t *scratch; // one word of the observer's own, 0 at enter, kept until exit
} flagsim_api_call;

typedef enum flagsim_activity_kind {
    FLAGSIM_ACTIVITY_KERNEL = 0,
    FLAGSIM_ACTIVITY_COPY = 1,
    FLAGSIM_ACTIVITY_SET = 2,
    FLAGSIM_ACTIVITY_SYNC = 3, // a host call, or a stream, waited
} flagsim_activity_kind;

typedef enum flagsim_sync_kind {
    FLAGSIM_SYNC_EVENT = 1,       // a host thread for an event
    FLAGSIM_SYNC_STREAM_WAIT = 2, // a stream for an event
    FLAGSIM_SYNC_STREAM = 3,
    FLAGSIM_SYNC_DEVICE = 4,
} flagsim_sync_kind;

typedef struct flagsim_kernel_work {
    const flagsim_kernel_info *info;
    uint64_t grid_id; // a running number
} flagsim_kernel_work;

typedef struct flagsim_memory_work { // copies and sets
    uint64_t bytes;
    flagsim_copy_kind copy;
    flagsim_memory src_memory, dst_memory;
    int src_device, dst_device; // -1: host
    int value;
    bool asynchronous;
} flagsim_memory_work;

typedef struct flagsim_sync_work {
    flagsim_sync_kind kind;
    uint32_t event_id; // 0: none
} flagsim_sync_work;

// One completed piece of device work. Valid during the callback only.
typedef struct flagsim_activity {
    size_t size;
    flagsim_activity_kind kind;
    uint32_t correlation; // that of the call which started it
    uint64_t queued_ns;   // when the host call put it on the stream
    uint64_t start_ns, end_ns;
    int device;
    uint32_t context;
    uint32_t stream;   // 0: none (SYNC of a device)
    uint32_t graph_id; // of the graph instance; 0: not of a graph
    uint64_t graph_node_id;
    union {
        flagsim_kernel_work kernel;
        flagsim_memory_work memory;
        flagsim_sync_work sync;
    } of;
} flagsim_activity;

// Callbacks of an observer; any may be NULL. api_* run on the calling thread, activity on a stream's thread
// (host waits: on the thread that waited). They must not wait for device work.
typedef struct flagsim_observer {
    size_t size;
    void (*api_enter)(void *user, const flagsim_api_call *call);
    void (*api_exit)(void *user, const flagsim_api_call *call);
    void (*activity)(void *user, const flagsim_activity *activity);
} flagsim_observer;

enum { FLAGSIM_OBSERVERS_MAX = 8 };

// Begins to deliver. Returns a handle above 0, or -ENOSPC. With no observer a call costs one load and a
// branch.
FLAGSIM_EXPORT int flagsim_observe(const flagsim_observer *observer, void *user);
// Ends it; on return no callback of this observer runs in any other thread. Not to be called holding a lock
// that a callback takes.
FLAGSIM_EXPORT void flagsim_unobserve(int handle);
// A correlation id that no call has, for calls which a facade makes up (those that a vendor's runtime makes
// inside).
FLAGSIM_EXPORT uint32_t flagsim_next_correlation(void);
// Number of observers now: 0 means that nothing is armed.
FLAGSIM_EXPORT int flagsim_observer_count(void);

// ---- faults

// The faults that FLAGOS_SIM_FAULTS names (faults.def tells each), read once, at first use. A word that names
// no fault makes flagsim_init fail with -EINVAL and is said on stderr: a mistyped fault must not test
// nothing.
typedef enum flagsim_fault {
#define FAULT(name, fallback, text) FLAGSIM_FAULT_##name,
#include "faults.def"
#undef FAULT
    FLAGSIM_FAULT_COUNT
} flagsim_fault;

FLAGSIM_EXPORT bool flagsim_fault_on(flagsim_fault fault);
// N of NAME=N, or the table's fallback where it was given without a number; 0 while the fault is off.
FLAGSIM_EXPORT uint64_t flagsim_fault_value(flagsim_fault fault);
FLAGSIM_EXPORT const char *flagsim_fault_name(flagsim_fault fault);
// Replaces the set of faults by this list (NULL: none). -EINVAL for an unknown word. For tests in one
// process, while nothing records.
FLAGSIM_EXPORT int flagsim_faults_set(const char *list);

// ---- the truth: what a fault test compares FlagProf's ledger with

// What became of a record that a facade owed its tool.
typedef enum flagsim_fate {
    FLAGSIM_FATE_DELIVERED = 0, // handed to the tool; also counted for each flaw below that it was given
    FLAGSIM_FATE_DROPPED,       // never delivered, and in the vendor's own count of dropped records
    FLAGSIM_FATE_LOST,          // never delivered and counted nowhere: no tool can know
    FLAGSIM_FATE_NO_TIMING,     // delivered with start and end 0
    FLAGSIM_FATE_END_BEFORE_START,
    FLAGSIM_FATE_NO_END,
    FLAGSIM_FATE_TOO_LONG,
    FLAGSIM_FATE_NAME_NULL,
    FLAGSIM_FATE_NAME_LONG,
    FLAGSIM_FATE_NAME_DIRTY,
    FLAGSIM_FATE_REORDERED,
    FLAGSIM_FATE_LATE,        // in a later buffer than what it belongs to
    FLAGSIM_FATE_FOREIGN,     // an extra record of a kind that no tool knows
    FLAGSIM_FATE_UNREACHABLE, // delivered behind a broken record, where no iterator comes
    FLAGSIM_FATE_COUNT
} flagsim_fate;

// Families of records that every vendor has, so that a fault test needs no vendor's numbers.
typedef enum flagsim_record {
    FLAGSIM_RECORD_KERNEL = 0,
    FLAGSIM_RECORD_COPY,
    FLAGSIM_RECORD_SET,
    FLAGSIM_RECORD_RUNTIME,
    FLAGSIM_RECORD_DRIVER,
    FLAGSIM_RECORD_EXTERNAL,
    FLAGSIM_RECORD_SYNC,
    FLAGSIM_RECORD_OVERHEAD,
    FLAGSIM_RECORD_MEMORY,
    FLAGSIM_RECORD_OTHER,
    FLAGSIM_RECORD_COUNT
} flagsim_record;

// Single counts, kept as a list so that the struct, the reset and the JSON cannot disagree.
#define FLAGSIM_COUNTS(X)                                                                                    \
    X(kernels)            /* really executed, those of graphs too */                                         \
    X(graph_kernels)      /* of these, started by a graph */                                                 \
    X(low_level_launches) /* launches without a runtime call */                                              \
    X(copies)                                                                                                \
    X(sets)                                                                                                  \
    X(waits)                                                                                                 \
    X(bytes_copied)                                                                                          \
    X(buffers_requested) /* of the tool, by the facades */                                                   \
    X(buffers_refused)                                                                                       \
    X(buffers_completed)                                                                                     \
    X(registrations) /* of buffer callbacks */                                                               \
    X(flushes)                                                                                               \
    X(pushes)                                                                                                \
    X(pops)                                                                                                  \
    X(failed_pushes)                                                                                         \
    X(failed_pops)                                                                                           \
    X(facade_calls)      /* of any vendor profiling function */                                              \
    X(calls_before_init) /* of these, made before the driver was initialised and reported a device */

typedef struct flagsim_truth {
    size_t size; // in: as the caller knows it
    uint64_t api_calls[FLAGSIM_API_COUNT];
    uint64_t records[FLAGSIM_FATE_COUNT][FLAGSIM_RECORD_COUNT]; // by the facades, all of them together
#define X(name) uint64_t name;
    FLAGSIM_COUNTS(X)
#undef X
    uint64_t device_bytes; // allocated now, on all devices; reset leaves it
    uint64_t kinds_armed;  // now; reset leaves it
} flagsim_truth;

typedef enum flagsim_count {
#define X(name) FLAGSIM_COUNT_##name,
    FLAGSIM_COUNTS(X)
#undef X
        FLAGSIM_COUNT_COUNT
} flagsim_count;

// For facades, which report what they do.
FLAGSIM_EXPORT void flagsim_truth_add(flagsim_count count, uint64_t n);
FLAGSIM_EXPORT void flagsim_truth_record(flagsim_fate fate, flagsim_record record, uint64_t n);
FLAGSIM_EXPORT void flagsim_truth_arm(int change);

FLAGSIM_EXPORT void flagsim_truth_read(flagsim_truth *truth);
FLAGSIM_EXPORT void flagsim_truth_reset(void);
// The same as JSON text, for tests in other languages. Returns the length it needs, as snprintf does.
FLAGSIM_EXPORT int flagsim_truth_json(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
