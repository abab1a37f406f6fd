// twin.c - the shared half of the facades of CUPTI's copies (twin.h).
//
// Fault other_layout: the finished bytes of a record are changed as another release's would differ. Its own
// iterator knows the new sizes; a tool must find the layout out, or refuse.
#include "twin.h"

#include "function.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static twin_vendor self;
static __thread bool delivering;
static atomic_int armed_kinds;

// ---- another layout

enum shape { NO_SHAPE, KERNEL, COPY, SET, API, EXTERNAL };

// What each number of other_layout does: to records of a shape, 8 bytes are put in at an offset, or `bytes`
// bytes change places. From 100 on: 8 bytes at an offset drawn from the number.
static const struct other {
    enum shape shape;
    int insert_at;
    size_t from, to, bytes;
} others[] = {
    [1] = { KERNEL, 16, 0, 0, 0 },     // before the times
    [2] = { KERNEL, 104, 0, 0, 0 },    // before the name
    [3] = { KERNEL, 1000, 0, 0, 0 },   // at the end: a newer version of the same record
    [4] = { KERNEL, -1, 92, 160, 4 },  // the correlation id lies where a pointer was
    [5] = { KERNEL, -1, 16, 120, 16 }, // times and latency times
    [6] = { COPY, -1, 8, 16, 8 },      // bytes and start
    [7] = { API, 8, 0, 0, 0 },
    [8] = { EXTERNAL, -1, 8, 16, 4 }, // both ids
    [9] = { SET, 32, 0, 0, 0 },
    [10] = { NO_SHAPE, -1, 0, 0, 0 }, // copies and sets have changed their kinds' numbers
    [11] = { NO_SHAPE, -1, 0, 0, 0 }, // calls of runtime and driver have
};

enum { OTHERS = sizeof others / sizeof others[0], FIRST_DRAWN = 100, RENUMBERED_WORK = 10, RENUMBERED_CALLS };

static struct other other_layout(void) {
    uint64_t number = flagsim_fault_value(FLAGSIM_FAULT_other_layout);
    if (number < OTHERS)
        return others[number];
    if (number < FIRST_DRAWN)
        return (struct other){ .insert_at = -1 };
    static const enum shape shapes[] = { KERNEL, COPY, SET, API };
    uint64_t drawn = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    enum shape shape = shapes[(drawn >> 33) % 4];
    size_t sizes[] = {
        [KERNEL] = self.kernel_bytes, [COPY] = self.copy_bytes, [SET] = self.set_bytes, [API] = self.api_bytes
    };
    return (struct other){ shape, (int)(4 + (drawn >> 40) % (sizes[shape] / 4) * 4), 0, 0, 0 };
}

static uint32_t renumbered(uint32_t kind) {
    static const uint8_t work[] = {
        [TWIN_MEMCPY] = TWIN_MEMSET, [TWIN_MEMSET] = TWIN_MEMCPY, [TWIN_RUNTIME] = 0
    };
    static const uint8_t calls[] = { [TWIN_DRIVER] = TWIN_RUNTIME, [TWIN_RUNTIME] = TWIN_DRIVER };
    uint64_t number = flagsim_fault_value(FLAGSIM_FAULT_other_layout);
    const uint8_t *to = number == RENUMBERED_WORK ? work : number == RENUMBERED_CALLS ? calls : NULL;
    return to && kind < sizeof calls && to[kind] ? to[kind] : kind;
}

static enum shape shape_of(uint32_t kind) {
    switch (renumbered(kind)) {
    case TWIN_MEMCPY:
        return COPY;
    case TWIN_MEMSET:
        return SET;
    case TWIN_KERNEL:
    case TWIN_CONCURRENT_KERNEL:
        return KERNEL;
    case TWIN_DRIVER:
    case TWIN_RUNTIME:
        return API;
    case TWIN_EXTERNAL:
        return EXTERNAL;
    default:
        return NO_SHAPE;
    }
}

static size_t bytes_of(uint32_t kind) {
    enum shape shape = shape_of(kind);
    size_t sizes[] = {
        [NO_SHAPE] = 0,         [KERNEL] = self.kernel_bytes, [COPY] = self.copy_bytes,
        [SET] = self.set_bytes, [API] = self.api_bytes,       [EXTERNAL] = self.external_bytes
    };
    struct other other = other_layout();
    if (kind == TWIN_KIND_OF_TOMORROW)
        return TWIN_BYTES_OF_TOMORROW;
    return sizes[shape] + (sizes[shape] && other.shape == shape && other.insert_at >= 0 ? 8 : 0);
}

// A record as the tool gets it. `bytes` has room for 8 more.
static void write(flagsim_record family, uint8_t *bytes, size_t size, uint32_t flaws) {
    struct other other = other_layout();
    uint32_t kind;
    memcpy(&kind, bytes, sizeof kind);
    enum shape shape = shape_of(renumbered(kind)); // as the vendor numbers it
    kind = renumbered(kind);
    memcpy(bytes, &kind, sizeof kind);
    if (other.shape == shape && other.insert_at >= 0) {
        size_t at = (size_t)other.insert_at < size ? (size_t)other.insert_at : size;
        memmove(bytes + at + 8, bytes + at, size - at);
        memset(bytes + at, 0, 8);
        size += 8;
    } else if (other.shape == shape && other.bytes) {
        uint8_t held[32];
        size_t to = other.to + other.bytes <= size ? other.to : size - other.bytes;
        memcpy(held, bytes + other.from, other.bytes);
        memcpy(bytes + other.from, bytes + to, other.bytes);
        memcpy(bytes + to, held, other.bytes);
    }
    if (family != FLAGSIM_RECORD_KERNEL || !self.holds || !fc_hold_kernel(bytes, size, flaws))
        fc_write(family, bytes, size, flaws);
}

// ---- what happened

static bool starts_work(const flagsim_api_call *call) {
    static const bool does[FLAGSIM_API_COUNT] = {
        [FLAGSIM_API_LAUNCH] = true,
        [FLAGSIM_API_GRAPH_LAUNCH] = true,
        [FLAGSIM_API_MEMCPY] = true,
        [FLAGSIM_API_MEMCPY_ASYNC] = true,
        [FLAGSIM_API_MEMSET] = true,
        [FLAGSIM_API_MEMSET_ASYNC] = true,
        [FLAGSIM_API_MEMCPY_PEER_ASYNC] = true,
    };
    return does[call->api];
}

static void write_external(const flagsim_api_call *call) {
    if (!fc_armed(TWIN_EXTERNAL) || flagsim_fault_on(FLAGSIM_FAULT_no_external_records))
        return;
    for (uint32_t kind = 1; kind <= 5; kind++) {
        uint8_t record[FC_RECORD_BYTES_MAX] = { 0 };
        uint64_t id;
        if (fc_top(kind, &id))
            write(FLAGSIM_RECORD_EXTERNAL, record, self.external(record, kind, id, call->correlation), 0);
    }
}

static void on_enter(void *user, const flagsim_api_call *call) {
    (void)user;
    bool runtime = self.runtime_id(call) && fc_armed(TWIN_RUNTIME);
    bool driver = self.driver_id(call) && fc_armed(TWIN_DRIVER);
    if (runtime || driver || starts_work(call))
        write_external(call);
}

static void write_call(const flagsim_api_call *call, uint32_t kind, uint32_t id, flagsim_record family) {
    uint8_t record[FC_RECORD_BYTES_MAX] = { 0 };
    if (!id || !fc_armed(kind))
        return;
    size_t size = self.api(record, call, id, (uint32_t)twin_result_of(call->result));
    memcpy(record, &kind, sizeof kind);
    write(family, record, size, 0);
}

static void on_exit_(void *user, const flagsim_api_call *call) {
    (void)user;
    write_call(call, TWIN_RUNTIME, self.runtime_id(call), FLAGSIM_RECORD_RUNTIME);
    write_call(call, TWIN_DRIVER, self.driver_id(call), FLAGSIM_RECORD_DRIVER);
}

static void on_activity(void *user, const flagsim_activity *activity) {
    static const struct {
        uint32_t kind, other;
        flagsim_record family;
    } rows[] = {
        [FLAGSIM_ACTIVITY_KERNEL] = { TWIN_CONCURRENT_KERNEL, TWIN_KERNEL, FLAGSIM_RECORD_KERNEL },
        [FLAGSIM_ACTIVITY_COPY] = { TWIN_MEMCPY, TWIN_MEMCPY, FLAGSIM_RECORD_COPY },
        [FLAGSIM_ACTIVITY_SET] = { TWIN_MEMSET, TWIN_MEMSET, FLAGSIM_RECORD_SET },
    };
    size_t (*const compose[])(void *, const flagsim_activity *, const fc_work *) = {
        [FLAGSIM_ACTIVITY_KERNEL] = self.kernel,
        [FLAGSIM_ACTIVITY_COPY] = self.copy,
        [FLAGSIM_ACTIVITY_SET] = self.set,
    };
    uint8_t record[FC_RECORD_BYTES_MAX] = { 0 };
    fc_work work;
    (void)user;
    if ((size_t)activity->kind >= sizeof rows / sizeof *rows)
        return;
    bool armed = fc_armed_for(rows[activity->kind].kind, activity) ||
                 fc_armed_for(rows[activity->kind].other, activity);
    if (!armed || !fc_shape(activity, rows[activity->kind].family, &work))
        return;
    size_t size = compose[activity->kind](record, activity, &work);
    uint32_t kind = rows[activity->kind].kind; // kernels are always written as concurrent ones [CODE: MUPTI]
    if (self.kernel_as_armed && !fc_armed(kind))
        kind = rows[activity->kind].other;
    memcpy(record, &kind, sizeof kind);
    write(rows[activity->kind].family, record, size, work.flaws);
}

static size_t foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    uint32_t kind = TWIN_KIND_OF_TOMORROW;
    memset(bytes, 0xa5, TWIN_BYTES_OF_TOMORROW);
    memcpy(bytes, &kind, sizeof kind);
    return TWIN_BYTES_OF_TOMORROW;
}

static size_t broken(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    memset(bytes, 0, TWIN_BYTES_OF_TOMORROW);
    return TWIN_BYTES_OF_TOMORROW;
}

static void deliver(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid) {
    bool before = delivering;
    delivering = true;
    self.deliver(tool, buffer, size, valid);
    delivering = before;
}

void twin_setup(const twin_vendor *vendor) {
    self = *vendor;
    fc_setup(&(fc_facade){
        .vendor = vendor->name,
        .observer = { sizeof(flagsim_observer), on_enter, on_exit_, on_activity },
        .deliver = deliver,
        .foreign = foreign,
        .broken = broken,
    });
    if (!flagsim_fault_on(FLAGSIM_FAULT_clock_domain) && !flagsim_fault_on(FLAGSIM_FAULT_epoch_clock))
        fc_clock_set(vendor->clock_start_ns - flagsim_now_ns(), vendor->clock_ppm);
}

// ---- the interface

#define ENTER()                                                                                              \
    do {                                                                                                     \
        if (fc_enter())                                                                                      \
            return TWIN_NOT_INITIALIZED;                                                                     \
    } while (0)

int twin_enable(uint32_t kind, bool on) {
    ENTER();
    if (kind >= TWIN_KINDS || shape_of(kind) == NO_SHAPE)
        return TWIN_INVALID_KIND;
    kind = renumbered(kind);
    if (fc_armed(kind) != on)
        atomic_fetch_add(&armed_kinds, on ? 1 : -1);
    fc_arm(kind, on);
    if (!on)
        fc_release_held();
    return TWIN_SUCCESS;
}

int twin_register(fc_request request, fc_complete complete) {
    ENTER();
    return fc_register(request, complete) ? TWIN_INVALID_PARAMETER : TWIN_SUCCESS;
}

int twin_flush(void) {
    ENTER();
    return fc_flush() ? TWIN_INVALID_OPERATION : TWIN_SUCCESS;
}

int twin_next_record(uint8_t *buffer, size_t valid, void **record) {
    ENTER();
    uint8_t *next = buffer;
    uint32_t kind;
    if (!buffer || !record)
        return TWIN_INVALID_PARAMETER;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        if (!bytes_of(kind))
            return TWIN_INVALID_KIND;
        if (kind == TWIN_EXTERNAL && self.stale_iterator && flagsim_fault_on(FLAGSIM_FAULT_stale_iterator))
            return TWIN_SUCCESS; // and the pointer still shows what was there before
        next = (uint8_t *)*record + bytes_of(kind);
    }
    if (!valid || next + sizeof kind > buffer + valid)
        return TWIN_MAX_LIMIT_REACHED;
    memcpy(&kind, next, sizeof kind);
    if (!bytes_of(kind))
        return TWIN_INVALID_KIND;
    *record = next;
    return TWIN_SUCCESS;
}

int twin_dropped(size_t *dropped) {
    ENTER();
    if (!dropped)
        return TWIN_INVALID_PARAMETER;
    *dropped = fc_take_dropped();
    return TWIN_SUCCESS;
}

int twin_push(uint32_t kind, uint64_t id) {
    ENTER();
    if (kind < 1 || kind > 5)
        return TWIN_INVALID_PARAMETER;
    return fc_push(kind, id) ? TWIN_UNKNOWN : TWIN_SUCCESS;
}

int twin_pop(uint32_t kind, uint64_t *last) {
    ENTER();
    if (kind < 1 || kind > 5 || !last) // wants a real pointer [CODE: MUPTI]
        return TWIN_INVALID_PARAMETER;
    return fc_pop(kind, last) ? TWIN_QUEUE_EMPTY : TWIN_SUCCESS;
}

int twin_timestamp(uint64_t *now) {
    ENTER();
    if (!now)
        return TWIN_INVALID_PARAMETER;
    *now = fc_now();
    return TWIN_SUCCESS;
}

int twin_result_text(int result, const char *prefix, const char **text) {
    static const struct {
        int result;
        const char *word;
    } words[] = {
        { TWIN_SUCCESS, "SUCCESS" },
        { TWIN_INVALID_PARAMETER, "ERROR_INVALID_PARAMETER" },
        { TWIN_INVALID_OPERATION, "ERROR_INVALID_OPERATION" },
        { TWIN_NOT_IMPLEMENTED, "ERROR_API_NOT_IMPLEMENTED" },
        { TWIN_MAX_LIMIT_REACHED, "ERROR_MAX_LIMIT_REACHED" },
        { TWIN_NOT_INITIALIZED, "ERROR_NOT_INITIALIZED" },
        { TWIN_QUEUE_EMPTY, "ERROR_QUEUE_EMPTY" },
        { TWIN_INVALID_KIND, "ERROR_INVALID_KIND" },
        { TWIN_MULTIPLE_SUBSCRIBERS, "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
        { TWIN_UNKNOWN, "ERROR_UNKNOWN" },
    };
    char line[96];
    ENTER();
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (words[i].result == result) {
            snprintf(line, sizeof line, "%s_%s", prefix, words[i].word);
            *text = flagsim_intern(line);
            return TWIN_SUCCESS;
        }
    return TWIN_INVALID_PARAMETER;
}

bool twin_is_busy(void) {
    return atomic_load(&armed_kinds) > 0;
}

bool twin_is_delivering(void) {
    return delivering;
}

// ---- the runtime beside it

// Asked of the simulator's own state, so that a tool's question makes no record in its own trace.
int twin_device_count(void) {
    flagsim_device_props props = { .size = sizeof props };
    int count = 0;
    while (flagsim_device_properties(count, &props) == 0)
        count++;
    if (count)
        fc_driver_ready();
    return count;
}

int twin_result_of(int error) {
    static const struct {
        int error, result;
    } results[] = { { 0, 0 },        { -ENOMEM, 2 },   { -EINVAL, 1 },
                    { -EBUSY, 600 }, { -ENODEV, 100 }, { -EPERM, 900 } };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].error == error)
            return results[i].result;
    return TWIN_UNKNOWN;
}

static void run_function(void *arg) {
    struct flagsim_launch *launch = arg;
    launch->function->run(launch->arguments);
}

// Arguments are copied at the launch, each by the size that the function declares, as the real launch does.
int twin_launch(const void *handle, const uint32_t grid[3], const uint32_t block[3], void **arguments,
                size_t shared_bytes, void *stream) {
    const struct flagsim_function *function = handle;
    size_t count = 0, bytes = 0;
    if (!function || !function->run)
        return -EINVAL;
    while (function->argument_bytes && function->argument_bytes[count])
        bytes += (function->argument_bytes[count++] + 15) / 16 * 16;
    struct flagsim_launch *copy = calloc(1, sizeof *copy + count * sizeof(void *) + 16 + bytes);
    if (!copy)
        return -ENOMEM;
    copy->function = function;
    uint8_t *at = (uint8_t *)(((uintptr_t)&copy->arguments[count] + 15) / 16 * 16);
    for (size_t i = 0; i < count; i++) {
        copy->arguments[i] = memcpy(at, arguments[i], function->argument_bytes[i]);
        at += (function->argument_bytes[i] + 15) / 16 * 16;
    }
    flagsim_kernel_info info = {
        .name = function->name,
        .grid = { grid[0], grid[1], grid[2] },
        .block = { block[0], block[1], block[2] },
        .registers = function->registers,
        .shared_static_bytes = function->shared_bytes,
        .shared_dynamic_bytes = (uint32_t)shared_bytes,
        .min_duration_ns = function->min_duration_ns,
    };
    return flagsim_launch_owned(stream, run_function, copy, free, &info);
}

const char *twin_kernel_name(const flagsim_activity *activity, const fc_work *work) {
    return activity->graph_node_id && flagsim_fault_on(FLAGSIM_FAULT_graph_names_null) ? NULL : work->name;
}

uint8_t twin_copy_kind(flagsim_copy_kind copy) {
    static const uint8_t kinds[] = {
        [FLAGSIM_COPY_HTOH] = 9, [FLAGSIM_COPY_HTOD] = 1,    [FLAGSIM_COPY_DTOH] = 2,
        [FLAGSIM_COPY_DTOD] = 8, [FLAGSIM_COPY_DEFAULT] = 0, [FLAGSIM_COPY_PTOP] = 10,
    };
    return kinds[copy];
}

uint8_t twin_memory_kind(flagsim_memory memory) {
    return memory == FLAGSIM_MEMORY_DEVICE ? 3 : memory == FLAGSIM_MEMORY_PINNED ? 2 : 1;
}
