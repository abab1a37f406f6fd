// records.c - what happened, in CUPTI's own records.
//
// In:  the simulator's calls and activities.
// Out: records of this release, composed through NVIDIA's struct definitions and handed to the shared
//      writer. The values of the lesser fields are those seen in an H200's buffers (channel types,
//      partitioned cache configuration, node ids).
#include "release.h"

#include <string.h>
#include <unistd.h>

// ---- host calls

static void write_external(uint32_t correlation) {
    static const CUpti_ExternalCorrelationKind kinds[] = {
        CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC,
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2,
    };
    if (!fc_armed(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        record_external record = { .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                   .externalKind = kinds[i] };
        uint64_t id;
        if (!fc_top(kinds[i], &id))
            continue;
        record.externalId = id;
        record.correlationId = correlation;
        fc_write(FLAGSIM_RECORD_EXTERNAL, &record, sizeof record, 0);
    }
}

static void write_api(const flagsim_api_call *call, CUpti_ActivityKind kind, uint32_t id,
                      uint32_t correlation, uint64_t start_ns, uint64_t end_ns) {
    bool runtime = kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    flagsim_record family = runtime ? FLAGSIM_RECORD_RUNTIME : FLAGSIM_RECORD_DRIVER;
    if (call->api == FLAGSIM_API_CAPTURE_END && flagsim_fault_on(FLAGSIM_FAULT_lose_capture_ends)) {
        flagsim_truth_record(FLAGSIM_FATE_LOST, family, 1);
        return;
    }
    record_api record = {
        .kind = kind,
        .cbid = id,
        .start = fc_time(start_ns),
        .end = fc_time(end_ns),
        .processId = call->process,
        .threadId = thread_number(call),
        .correlationId = correlation,
        .returnValue = (uint32_t)(runtime ? runtime_result(call->result) : driver_result(call->result)),
    };
    fc_write(family, &record, sizeof record, 0);
}

// Calls that put work on the device are followed whatever kinds are on, since their work needs the external
// id.
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

// What the driver is asked around a launch by the runtime, with the whole DRIVER kind on. CUPTI 13.0 on an
// H200: a cuKernelGetName before each cudaLaunchKernel, with an id of its own, and no driver record inside
// any runtime call [MEASURED: tests/fixtures/buffers, torch-parity and all -late sets]. Whether an older
// driver records the launch inside the runtime's call, and with which id, is not known: the nested_* faults
// show both readings.
static void write_name_query(const flagsim_api_call *call) {
#if CUPTI_RELEASE >= 1203 && CUPTI_RELEASE < 1400
    if (!driver_wanted(CUPTI_DRIVER_TRACE_CBID_cuKernelGetName))
        return;
    uint32_t correlation = flagsim_next_correlation();
    flagsim_api_call query = *call;
    query.result = 0;
    write_external(correlation);
    // The call's own start is taken again when its observers have returned, so the query lies wholly before
    // it.
    uint64_t end_ns = flagsim_now_ns();
    write_api(&query, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuKernelGetName, correlation,
              call->start_ns, end_ns > call->start_ns ? end_ns : call->start_ns + 1);
#else
    (void)call;
#endif
}

static bool is_runtime_launch(const flagsim_api_call *call) {
    return call->api == FLAGSIM_API_LAUNCH && !call->low_level;
}

static bool has_nested_driver_call(const flagsim_api_call *call) {
    return is_runtime_launch(call) && driver_wanted(driver_id(call)) &&
           (flagsim_fault_on(FLAGSIM_FAULT_nested_driver_call) ||
            flagsim_fault_on(FLAGSIM_FAULT_nested_own_id));
}

void record_enter(void *user, const flagsim_api_call *call) {
    (void)user;
    uint32_t runtime = runtime_id(call), driver = call->low_level ? driver_id(call) : 0;
    if (is_runtime_launch(call) && !(call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED))
        write_name_query(call);
    if (runtime_wanted(runtime) || driver_wanted(driver) || (runtime && starts_work(call)))
        write_external(call->correlation);
    if (has_nested_driver_call(call)) {
        *call->scratch =
            flagsim_fault_on(FLAGSIM_FAULT_nested_own_id) ? flagsim_next_correlation() : call->correlation;
        write_external((uint32_t)*call->scratch);
    }
    call_subscriber(call, true);
}

static void write_memory(const flagsim_api_call *call) {
    bool allocation = call->api == FLAGSIM_API_MALLOC || call->api == FLAGSIM_API_HOST_MALLOC;
    bool device = call->api == FLAGSIM_API_MALLOC || call->api == FLAGSIM_API_FREE;
    if (call->result || !fc_armed(CUPTI_ACTIVITY_KIND_MEMORY2) ||
        (!allocation && call->api != FLAGSIM_API_FREE && call->api != FLAGSIM_API_HOST_FREE))
        return;
    record_memory record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
        .memoryOperationType = allocation ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                          : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
        .memoryKind = device ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
        .correlationId = call->correlation,
        .address = (uint64_t)(uintptr_t)call->dst,
        .bytes = call->bytes,
        .timestamp = fc_time(call->end_ns),
        .processId = call->process,
        .deviceId = (uint32_t)call->device,
        .contextId = call->context,
        .streamId = 0xffffffffu,
    };
    fc_write(FLAGSIM_RECORD_MEMORY, &record, sizeof record, 0);
}

void record_exit(void *user, const flagsim_api_call *call) {
    (void)user;
    call_subscriber(call, false);
    write_memory(call);
    if (has_nested_driver_call(call)) {
        uint64_t inset = (call->end_ns - call->start_ns) / 8;
        uint32_t correlation = *call->scratch ? (uint32_t)*call->scratch : call->correlation;
        write_api(call, CUPTI_ACTIVITY_KIND_DRIVER, driver_id(call), correlation, call->start_ns + inset,
                  call->end_ns - inset);
    }
    uint32_t runtime = runtime_id(call), driver = call->low_level ? driver_id(call) : 0;
    if (runtime_wanted(runtime))
        write_api(call, CUPTI_ACTIVITY_KIND_RUNTIME, runtime, call->correlation, call->start_ns,
                  call->end_ns);
    if (driver_wanted(driver))
        write_api(call, CUPTI_ACTIVITY_KIND_DRIVER, driver, call->correlation, call->start_ns, call->end_ns);
}

// ---- device work

// Three channels of the device: kernels and sets, copies in, copies out.
static void channel(const flagsim_activity *activity, uint32_t *id, CUpti_ChannelType *type) {
    bool copy = activity->kind == FLAGSIM_ACTIVITY_COPY;
    *id = !copy ? 1 : activity->of.memory.copy == FLAGSIM_COPY_DTOH ? 12 : 11;
    *type = copy && activity->of.memory.copy != FLAGSIM_COPY_DTOD ? CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY
                                                                  : CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void write_kernel(const flagsim_activity *activity, CUpti_ActivityKind kind) {
    fc_work work;
    if (!fc_armed_for(kind, activity) || !fc_shape(activity, FLAGSIM_RECORD_KERNEL, &work))
        return;
    const flagsim_kernel_info *info = activity->of.kernel.info;
    record_kernel record = {
        .kind = kind,
        .registersPerThread = (uint16_t)info->registers,
        .partitionedGlobalCacheRequested = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED,
        .partitionedGlobalCacheExecuted = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED,
        .start = work.start,
        .end = work.end,
        .completed = work.end,
        .deviceId = (uint32_t)activity->device,
        .contextId = activity->context,
        .streamId = activity->stream,
        .gridX = (int32_t)info->grid[0],
        .gridY = (int32_t)info->grid[1],
        .gridZ = (int32_t)info->grid[2],
        .blockX = (int32_t)info->block[0],
        .blockY = (int32_t)info->block[1],
        .blockZ = (int32_t)info->block[2],
        .staticSharedMemory = (int32_t)info->shared_static_bytes,
        .dynamicSharedMemory = (int32_t)info->shared_dynamic_bytes,
        .localMemoryPerThread = info->local_bytes_per_thread,
        .correlationId = activity->correlation,
        .gridId = (int64_t)activity->of.kernel.grid_id,
        .name = work.name,
        .sharedMemoryExecuted = 32768,
        .graphNodeId = activity->graph_node_id,
        .graphId = activity->graph_id,
    };
    channel(activity, &record.channelID, &record.channelType);
    fc_write(FLAGSIM_RECORD_KERNEL, &record, sizeof record, work.flaws);
}

static const uint8_t copy_kinds[] = {
    [FLAGSIM_COPY_HTOH] = CUPTI_ACTIVITY_MEMCPY_KIND_HTOH,
    [FLAGSIM_COPY_HTOD] = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
    [FLAGSIM_COPY_DTOH] = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
    [FLAGSIM_COPY_DTOD] = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
    [FLAGSIM_COPY_DEFAULT] = CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN,
    [FLAGSIM_COPY_PTOP] = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
};

static uint8_t memory_kind(flagsim_memory memory) {
    return memory == FLAGSIM_MEMORY_DEVICE   ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
           : memory == FLAGSIM_MEMORY_PINNED ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                             : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

static void write_copy(const flagsim_activity *activity) {
    fc_work work;
    if (!fc_armed_for(CUPTI_ACTIVITY_KIND_MEMCPY, activity) ||
        !fc_shape(activity, FLAGSIM_RECORD_COPY, &work))
        return;
    const flagsim_memory_work *memory = &activity->of.memory;
    record_memcpy record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = copy_kinds[memory->copy],
        .srcKind = memory_kind(memory->src_memory),
        .dstKind = memory_kind(memory->dst_memory),
        .flags = memory->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
        .bytes = memory->bytes,
        .start = work.start,
        .end = work.end,
        .deviceId = (uint32_t)activity->device,
        .contextId = activity->context,
        .streamId = activity->stream,
        .correlationId = activity->correlation,
        .graphNodeId = activity->graph_node_id,
        .graphId = activity->graph_id,
#if CUPTI_RELEASE >= 1208
        .copyCount = 1,
#endif
    };
    channel(activity, &record.channelID, &record.channelType);
    fc_write(FLAGSIM_RECORD_COPY, &record, sizeof record, work.flaws);
}

static void write_peer_copy(const flagsim_activity *activity) {
    fc_work work;
    if (!fc_armed_for(CUPTI_ACTIVITY_KIND_MEMCPY2, activity) ||
        !fc_shape(activity, FLAGSIM_RECORD_COPY, &work))
        return;
    const flagsim_memory_work *memory = &activity->of.memory;
    record_peer record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
        .srcKind = memory_kind(memory->src_memory),
        .dstKind = memory_kind(memory->dst_memory),
        .flags = memory->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
        .bytes = memory->bytes,
        .start = work.start,
        .end = work.end,
        .deviceId = (uint32_t)activity->device,
        .contextId = activity->context,
        .streamId = activity->stream,
        .srcDeviceId = (uint32_t)memory->src_device,
        .srcContextId = flagsim_context_id(memory->src_device),
        .dstDeviceId = (uint32_t)memory->dst_device,
        .dstContextId = flagsim_context_id(memory->dst_device),
        .correlationId = activity->correlation,
        .graphNodeId = activity->graph_node_id,
        .graphId = activity->graph_id,
    };
    channel(activity, &record.channelID, &record.channelType);
    fc_write(FLAGSIM_RECORD_COPY, &record, sizeof record, work.flaws);
}

static void write_set(const flagsim_activity *activity) {
    fc_work work;
    if (!fc_armed_for(CUPTI_ACTIVITY_KIND_MEMSET, activity) || !fc_shape(activity, FLAGSIM_RECORD_SET, &work))
        return;
    const flagsim_memory_work *memory = &activity->of.memory;
    record_memset record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .value = (uint32_t)memory->value,
        .bytes = memory->bytes,
        .start = work.start,
        .end = work.end,
        .deviceId = (uint32_t)activity->device,
        .contextId = activity->context,
        .streamId = activity->stream,
        .correlationId = activity->correlation,
        .flags = memory->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
        .memoryKind = memory_kind(memory->dst_memory),
        .graphNodeId = activity->graph_node_id,
        .graphId = activity->graph_id,
    };
    channel(activity, &record.channelID, &record.channelType);
    fc_write(FLAGSIM_RECORD_SET, &record, sizeof record, work.flaws);
}

static void write_sync(const flagsim_activity *activity) {
    static const CUpti_ActivitySynchronizationType types[] = {
        [FLAGSIM_SYNC_EVENT] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
        [FLAGSIM_SYNC_STREAM_WAIT] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
        [FLAGSIM_SYNC_STREAM] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
        [FLAGSIM_SYNC_DEVICE] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
    };
    if (!fc_armed_for(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, activity))
        return;
    record_sync record = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = types[activity->of.sync.kind],
        .start = fc_time(activity->start_ns),
        .end = fc_time(activity->end_ns),
        .correlationId = activity->correlation,
        .contextId = activity->context,
        .streamId = activity->stream ? activity->stream : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE,
        .cudaEventId = activity->of.sync.event_id ? activity->of.sync.event_id
                                                  : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE,
    };
    fc_write(FLAGSIM_RECORD_SYNC, &record, sizeof record, 0);
}

void record_activity(void *user, const flagsim_activity *activity) {
    (void)user;
    switch (activity->kind) {
    case FLAGSIM_ACTIVITY_KERNEL:
        if (fc_armed(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
            write_kernel(activity, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        else
            write_kernel(activity, CUPTI_ACTIVITY_KIND_KERNEL);
        break;
    case FLAGSIM_ACTIVITY_COPY:
        if (activity->of.memory.copy == FLAGSIM_COPY_PTOP)
            write_peer_copy(activity);
        else
            write_copy(activity);
        break;
    case FLAGSIM_ACTIVITY_SET:
        write_set(activity);
        break;
    case FLAGSIM_ACTIVITY_SYNC:
        write_sync(activity);
        break;
    }
}

// ---- the library's own time, and records that nobody expects

size_t compose_overhead(uint8_t bytes[FC_RECORD_BYTES_MAX], bool flush, uint64_t start_ns, uint64_t end_ns) {
#if CUPTI_RELEASE >= 1204
    const CUpti_ActivityOverheadKind request = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST;
#else
    const CUpti_ActivityOverheadKind request = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
#endif
    if (!fc_armed(CUPTI_ACTIVITY_KIND_OVERHEAD))
        return 0;
    record_overhead record = {
        .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
        .overheadKind = flush ? CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH : request,
        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
        .objectId.pt = { .processId = (uint32_t)getpid(), .threadId = own_thread_number() },
        .start = fc_time(start_ns),
        .end = fc_time(end_ns > start_ns ? end_ns : start_ns + 1),
    };
    memcpy(bytes, &record, sizeof record);
    return sizeof record;
}

size_t compose_foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    uint32_t kind = KIND_OF_TOMORROW;
    memset(bytes, 0xa5, BYTES_OF_TOMORROW);
    memcpy(bytes, &kind, sizeof kind);
    return BYTES_OF_TOMORROW;
}

size_t compose_broken(uint8_t bytes[FC_RECORD_BYTES_MAX]) {
    memset(bytes, 0, BYTES_OF_TOMORROW); // CUPTI_ACTIVITY_KIND_INVALID
    return BYTES_OF_TOMORROW;
}
