// twin.h - what the facades of libraries that copied CUPTI's interface share: MetaX's MCPTI, Moore Threads'
// MUPTI.
//
// In:  the simulator's calls and activities; a vendor's own composers of its own records.
// Out: those records, in the order and with the quirks that this family has. The vendor's structs and
//      exported symbols are in its own folder. Nothing here knows FlagProf.
#ifndef FLAGSIM_TWIN_H
#define FLAGSIM_TWIN_H

#include "facade_common.h"

// Numbers of kinds that the whole family has.
enum {
    TWIN_MEMCPY = 1,
    TWIN_MEMSET = 2,
    TWIN_KERNEL = 3,
    TWIN_DRIVER = 4,
    TWIN_RUNTIME = 5,
    TWIN_CONCURRENT_KERNEL = 10,
    TWIN_EXTERNAL = 39,
    TWIN_KINDS = 56,
    TWIN_KIND_OF_TOMORROW = 200, // a kind that no tool knows, and its size
    TWIN_BYTES_OF_TOMORROW = 48,
};

enum { // results [GUESS for both vendors: as CUPTI's]
    TWIN_SUCCESS = 0,
    TWIN_INVALID_PARAMETER = 1,
    TWIN_INVALID_OPERATION = 7,
    TWIN_NOT_IMPLEMENTED = 11,
    TWIN_MAX_LIMIT_REACHED = 12,
    TWIN_NOT_INITIALIZED = 15,
    TWIN_QUEUE_EMPTY = 18,
    TWIN_INVALID_KIND = 21,
    TWIN_MULTIPLE_SUBSCRIBERS = 39,
    TWIN_UNKNOWN = 999,
};

typedef struct twin_vendor {
    const char *name;
    // Each fills the vendor's struct for a record of this kind, zeroed before, and returns its size.
    size_t (*kernel)(void *record, const flagsim_activity *activity, const fc_work *work);
    size_t (*copy)(void *record, const flagsim_activity *activity, const fc_work *work);
    size_t (*set)(void *record, const flagsim_activity *activity, const fc_work *work);
    size_t (*api)(void *record, const flagsim_api_call *call, uint32_t id, uint32_t result);
    size_t (*external)(void *record, uint32_t external_kind, uint64_t id, uint32_t correlation);
    size_t kernel_bytes, copy_bytes, set_bytes, api_bytes, external_bytes;
    // The vendor's ids of a call; 0: nothing of it is reported at that level.
    uint32_t (*runtime_id)(const flagsim_api_call *call);
    uint32_t (*driver_id)(const flagsim_api_call *call);
    // The vendor's clock where no fault sets another.
    uint64_t clock_start_ns; // what it says when the library is loaded
    int clock_ppm;
    bool stale_iterator;  // can have the fault of that name
    bool holds;           // the same: what is held comes out when a kind is disabled
    bool kernel_as_armed; // kernels are written as the kind that is armed, not always as concurrent ones
    void (*deliver)(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid);
} twin_vendor;

// What a record takes from what was simulated. Where a member lies, and what else a record has, is each
// vendor's own; these members have the same names in all of them. [GUESS: flag 1 for an asynchronous copy or
// set, the system's thread id]
#define TWIN_OF_WORK(activity, work)                                                                         \
    .start = (work)->start, .end = (work)->end, .device_id = (uint32_t)(activity)->device,                   \
    .context_id = (activity)->context, .stream_id = (activity)->stream,                                      \
    .correlation_id = (activity)->correlation
#define TWIN_OF_GRAPH(activity) .graph_node_id = (activity)->graph_node_id, .graph_id = (activity)->graph_id
#define TWIN_AXES(of)                                                                                        \
    { (int32_t)(of)[0], (int32_t)(of)[1], (int32_t)(of)[2] }
#define TWIN_OF_KERNEL(activity, work, info)                                                                 \
    .completed = (work)->end, .registers_per_thread = (uint16_t)(info)->registers,                           \
    .grid = TWIN_AXES((info)->grid), .block = TWIN_AXES((info)->block),                                      \
    .static_shared = (int32_t)(info)->shared_static_bytes,                                                   \
    .dynamic_shared = (int32_t)(info)->shared_dynamic_bytes,                                                 \
    .local_per_thread = (info)->local_bytes_per_thread, .grid_id = (int64_t)(activity)->of.kernel.grid_id,   \
    TWIN_OF_WORK(activity, work)
#define TWIN_OF_COPY(activity, work)                                                                         \
    .copy_kind = twin_copy_kind((activity)->of.memory.copy),                                                 \
    .source_kind = twin_memory_kind((activity)->of.memory.src_memory),                                       \
    .destination_kind = twin_memory_kind((activity)->of.memory.dst_memory),                                  \
    .flags = (activity)->of.memory.asynchronous, .bytes = (activity)->of.memory.bytes,                       \
    TWIN_OF_WORK(activity, work)
#define TWIN_OF_SET(activity, work)                                                                          \
    .value = (uint32_t)(activity)->of.memory.value, .bytes = (activity)->of.memory.bytes,                    \
    .flags = (activity)->of.memory.asynchronous,                                                             \
    .memory_kind = twin_memory_kind((activity)->of.memory.dst_memory), TWIN_OF_WORK(activity, work)
#define TWIN_OF_CALL(call, id, result)                                                                       \
    .cbid = (id), .start = fc_time((call)->start_ns), .end = fc_time((call)->end_ns),                        \
    .process_id = (call)->process, .thread_id = (call)->thread, .correlation_id = (call)->correlation,       \
    .return_value = (result)

// Kernels of a graph may have no name [CODE].
const char *twin_kernel_name(const flagsim_activity *activity, const fc_work *work);

void twin_setup(const twin_vendor *vendor);

int twin_enable(uint32_t kind, bool on);
int twin_register(fc_request request, fc_complete complete);
int twin_flush(void);
int twin_next_record(uint8_t *buffer, size_t valid, void **record);
int twin_dropped(size_t *dropped);
int twin_push(uint32_t kind, uint64_t id);
int twin_pop(uint32_t kind, uint64_t *last);
int twin_timestamp(uint64_t *now);
int twin_result_text(int result, const char *prefix, const char **text);

// Is a kind armed, or a buffer on its way to the tool in this thread?
bool twin_is_busy(void);
bool twin_is_delivering(void);

int twin_device_count(void);   // and the program has seen them
int twin_result_of(int error); // a runtime's result for a negative errno [GUESS: as CUDA's]

// What a launch function of a vendor's runtime does with a struct flagsim_function (function.h).
int twin_launch(const void *function, const uint32_t grid[3], const uint32_t block[3], void **arguments,
                size_t shared_bytes, void *stream);

uint8_t twin_copy_kind(flagsim_copy_kind copy); // [GUESS for both vendors: as CUPTI's]
uint8_t twin_memory_kind(flagsim_memory memory);

#endif
