// sim_cupti_facade.c - the CUPTI facade behaves as NVIDIA's library does, and its faults do what their names
// say.
//
// In:  one facade library (FACADE), opened as a tool would open it, and the header of its release to read
//      its bytes by.
// Out: a pass or a failure per behaviour. Each behaviour runs in a child process of its own, since a
//      profiling library keeps state for the life of a process. What the facade says it did
//      (flagsim_truth) is compared with what arrived.
#include "emulated.h"
#include "flagsim.h"
#include "function.h"

#include <cuda.h>

#include <cupti_result.h>
#include <cupti_version.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if CUPTI_RELEASE >= 1304
typedef CUpti_ActivityKernel13 kernel_record;
typedef CUpti_ActivityMemcpy7 memcpy_record;
typedef CUpti_ActivityMemset5 memset_record;
#elif CUPTI_RELEASE >= 1300
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityMemset4 memset_record;
#elif CUPTI_RELEASE >= 1208
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityMemset4 memset_record;
#else
typedef CUpti_ActivityKernel8 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemset4 memset_record;
#endif
typedef CUpti_ActivityMemcpyPtoP4 peer_record;

// With the DRIVER kind on, each launch by the runtime comes after one query of the kernel's name (12.3 and
// later).
enum { NAME_QUERIES = CUPTI_RELEASE >= 1203 ? 1 : 0 };

// ---- the tool

static void *library;

#define CALL(name, ...) ((__typeof__(&name))dlsym(library, #name))(__VA_ARGS__)

enum { RECORDS = 20000 };

struct seen {
    uint32_t kind;
    size_t stride; // 0 for the last of its buffer
    unsigned buffer;
    union {
        uint8_t bytes[512];
        CUpti_Activity any;
        kernel_record kernel;
        memcpy_record copy;
        memset_record set;
        peer_record peer;
        CUpti_ActivityAPI api;
        CUpti_ActivityExternalCorrelation external;
        CUpti_ActivitySynchronization sync;
    };
    char name[64];
    size_t name_length;
};

static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static struct seen *seen;
static size_t seen_count;
static unsigned buffers;
static size_t buffer_size = 1 << 20;
static bool refuse;
static int iteration_ended;
static pthread_t completed_on;

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    *buffer = refuse ? NULL : aligned_alloc(8, buffer_size);
    *size = refuse ? 0 : buffer_size;
    *max_records = 0;
}

static void keep(const CUpti_Activity *record) {
    if (seen_count == RECORDS)
        return;
    struct seen *to = &seen[seen_count++];
    *to = (struct seen){ .kind = record->kind, .buffer = buffers };
    memcpy(to->bytes, record, record->kind > 100 ? 48 : 24);
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        memcpy(to->bytes, record, sizeof(kernel_record));
        if (to->kernel.name) {
            to->name_length = strlen(to->kernel.name);
            snprintf(to->name, sizeof to->name, "%s", to->kernel.name);
        }
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        memcpy(to->bytes, record, sizeof(memcpy_record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        memcpy(to->bytes, record, sizeof(memset_record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        memcpy(to->bytes, record, sizeof(peer_record));
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        memcpy(to->bytes, record, sizeof(CUpti_ActivityAPI));
        break;
    default:
        break;
    }
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    const CUpti_Activity *before = NULL;
    int result;
    pthread_mutex_lock(&seen_lock); // the library's thread and a flush may both be here
    completed_on = pthread_self();
    while ((result = CALL(cuptiActivityGetNextRecord, buffer, valid, &record)) == CUPTI_SUCCESS) {
        if (before && seen_count < RECORDS)
            seen[seen_count - 1].stride = (size_t)((const char *)record - (const char *)before);
        keep(record);
        before = record;
    }
    iteration_ended = result;
    buffers++;
    pthread_mutex_unlock(&seen_lock);
    free(buffer);
}

static void enable(bool on) {
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_RUNTIME,
        CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(on ? CALL(cuptiActivityEnable, kinds[i]) : CALL(cuptiActivityDisable, kinds[i]),
                         CUPTI_SUCCESS);
}

static void start(void) {
    int devices = 0;
    assert_int_equal(CALL(cuInit, 0), CUDA_SUCCESS);
    assert_int_equal(CALL(cuDeviceGetCount, &devices), CUDA_SUCCESS);
    assert_int_equal(CALL(cuptiActivityRegisterCallbacks, request, complete), CUPTI_SUCCESS);
    enable(true);
}

static void stop(void) {
    assert_int_equal(flagsim_device_synchronize(), 0);
    assert_int_equal(CALL(cuptiActivityFlushAll, 1), CUPTI_SUCCESS);
    enable(false);
}

// ---- the program

static flagsim_kernel_info info(const char *name, uint32_t flags) {
    return (flagsim_kernel_info){ .name = name,
                                  .grid = { 5, 2, 1 },
                                  .block = { 128, 1, 2 },
                                  .registers = 40,
                                  .shared_static_bytes = 1024,
                                  .shared_dynamic_bytes = 512,
                                  .flags = flags };
}

static void launch(const char *name, uint32_t flags) {
    flagsim_kernel_info kernel = info(name, flags);
    assert_int_equal(flagsim_launch(NULL, NULL, NULL, 0, &kernel), 0);
}

static void push(uint64_t id) {
    assert_int_equal(
        CALL(cuptiActivityPushExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id),
        CUPTI_SUCCESS);
}

static uint64_t pop(void) {
    uint64_t id = 0;
    assert_int_equal(
        CALL(cuptiActivityPopExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
        CUPTI_SUCCESS);
    return id;
}

static size_t count_of(uint32_t kind) {
    size_t count = 0;
    for (size_t i = 0; i < seen_count; i++)
        count += seen[i].kind == kind;
    return count;
}

static struct seen *nth(uint32_t kind, size_t n) {
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i].kind == kind && n-- == 0)
            return &seen[i];
    fail_msg("no record of kind %u", kind);
    return NULL;
}

static size_t place(const struct seen *record) {
    return (size_t)(record - seen);
}

static flagsim_truth truth(void) {
    flagsim_truth now = { .size = sizeof now };
    flagsim_truth_read(&now);
    return now;
}

// ---- what a healthy library does

static void a_kernel_record_holds_what_was_launched(void **state) {
    (void)state;
    start();
    push(7001);
    launch("_Z5probev", 0);
    assert_int_equal(pop(), 7001);
    stop();
    const struct seen *kernel = nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_string_equal(kernel->name, "_Z5probev");
    assert_int_equal(kernel->kernel.gridX, 5);
    assert_int_equal(kernel->kernel.gridY, 2);
    assert_int_equal(kernel->kernel.blockX, 128);
    assert_int_equal(kernel->kernel.blockZ, 2);
    assert_int_equal(kernel->kernel.registersPerThread, 40);
    assert_int_equal(kernel->kernel.staticSharedMemory, 1024);
    assert_int_equal(kernel->kernel.dynamicSharedMemory, 512);
    assert_int_equal(kernel->kernel.deviceId, 0);
    assert_int_equal(kernel->kernel.contextId, 1);
    assert_int_equal(kernel->kernel.streamId, 7);
    assert_true(kernel->kernel.end > kernel->kernel.start);
    assert_int_equal(iteration_ended, CUPTI_ERROR_MAX_LIMIT_REACHED);
}

static void a_runtime_launch_has_its_id_on_call_kernel_and_external_record(void **state) {
    (void)state;
    start();
    push(7001);
    launch("_Z5probev", 0);
    pop();
    stop();
    const struct seen *kernel = nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const struct seen *runtime = nth(CUPTI_ACTIVITY_KIND_RUNTIME, 0);
    const struct seen *external = nth(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, NAME_QUERIES);
    uint32_t id = kernel->kernel.correlationId;
    assert_true(id >= 0x50000000);
    assert_int_equal(runtime->api.cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_int_equal(runtime->api.correlationId, id);
    assert_int_equal(external->external.correlationId, id);
    assert_int_equal(external->external.externalId, 7001);
    assert_int_equal(external->external.externalKind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
    assert_true(place(external) < place(runtime));
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_DRIVER), NAME_QUERIES);
    for (size_t i = 0; i < count_of(CUPTI_ACTIVITY_KIND_DRIVER); i++) {
        const CUpti_ActivityAPI *driver = &nth(CUPTI_ACTIVITY_KIND_DRIVER, i)->api;
        assert_true(driver->correlationId != id);
        assert_true(driver->end <= runtime->api.start);
    }
}

static void a_nested_driver_launch_has_the_runtimes_id_or_one_of_its_own(void **state) {
    (void)state;
    bool own = flagsim_fault_on(FLAGSIM_FAULT_nested_own_id);
    if (!own)
        assert_int_equal(flagsim_faults_set("nested_driver_call"), 0);
    start();
    push(7001);
    launch("_Z5probev", 0);
    pop();
    stop();
    const CUpti_ActivityAPI *runtime = &nth(CUPTI_ACTIVITY_KIND_RUNTIME, 0)->api;
    const CUpti_ActivityAPI *driver = &nth(CUPTI_ACTIVITY_KIND_DRIVER, NAME_QUERIES)->api;
    assert_int_equal(driver->cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_true(driver->start > runtime->start && driver->end < runtime->end);
    assert_int_equal(driver->correlationId == runtime->correlationId, !own);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, NAME_QUERIES + 1)->external.correlationId,
                     driver->correlationId);
}

static void a_low_level_launch_has_a_driver_record_and_no_runtime_record(void **state) {
    (void)state;
    start();
    launch("_Z5probev", FLAGSIM_LAUNCH_LOW_LEVEL);
    stop();
    const struct seen *driver = nth(CUPTI_ACTIVITY_KIND_DRIVER, 0);
    assert_int_equal(driver->api.cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_int_equal(driver->api.correlationId,
                     nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.correlationId);
    for (size_t i = 0; i < count_of(CUPTI_ACTIVITY_KIND_RUNTIME); i++)
        assert_true(nth(CUPTI_ACTIVITY_KIND_RUNTIME, i)->api.correlationId != driver->api.correlationId);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 0);
}

static void copies_sets_and_waits_have_records_of_their_own_kinds(void **state) {
    (void)state;
    void *zero, *one;
    char host[4096] = { 0 };
    start();
    flagsim_malloc(&zero, 4096);
    flagsim_set_device(1);
    flagsim_malloc(&one, 4096);
    flagsim_set_device(0);
    flagsim_memcpy_async(zero, host, 4096, FLAGSIM_COPY_HTOD, NULL);
    flagsim_memcpy(host, zero, 2048, FLAGSIM_COPY_DTOH);
    flagsim_memcpy_peer_async(one, 1, zero, 0, 1024, NULL);
    flagsim_memset_async(zero, 5, 512, NULL);
    flagsim_stream_synchronize(NULL);
    stop();
    const struct seen *in = nth(CUPTI_ACTIVITY_KIND_MEMCPY, 0), *out = nth(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    assert_int_equal(in->copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    assert_int_equal(in->copy.bytes, 4096);
    assert_int_equal(in->copy.srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(in->copy.dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(in->copy.flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    assert_int_equal(out->copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(out->copy.flags, 0);
    const struct seen *peer = nth(CUPTI_ACTIVITY_KIND_MEMCPY2, 0), *set = nth(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    assert_int_equal(peer->peer.srcDeviceId, 0);
    assert_int_equal(peer->peer.dstDeviceId, 1);
    assert_int_equal(peer->peer.bytes, 1024);
    assert_int_equal(set->set.value, 5);
    assert_int_equal(set->set.bytes, 512);
    assert_int_equal(set->set.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0)->sync.type,
                     CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1)->sync.streamId, 0xffffffffu);
}

static void a_graph_launch_gives_each_kernel_a_node_and_all_one_id(void **state) {
    (void)state;
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
    flagsim_capture_begin(NULL);
    for (int i = 0; i < 3; i++)
        launch("_Z5probev", 0);
    flagsim_capture_end(NULL, &graph);
    flagsim_graph_instantiate(graph, &exec);
    start();
    flagsim_graph_launch(exec, NULL);
    stop();
    flagsim_graph_destroy(graph);
    flagsim_graph_exec_destroy(exec);
    uint32_t id = nth(CUPTI_ACTIVITY_KIND_RUNTIME, 0)->api.correlationId;
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_RUNTIME, 0)->api.cbid,
                     CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
    for (size_t i = 0; i < 3; i++) {
        const kernel_record *kernel = &nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i)->kernel;
        assert_int_equal(kernel->correlationId, id);
        assert_int_equal(kernel->graphNodeId, ((uint64_t)kernel->graphId << 32) + i);
    }
}

static void the_iterator_strides_are_the_sizes_of_the_headers_structs(void **state) {
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        push((uint64_t)i);
        launch("_Z5probev", 0);
        pop();
    }
    stop();
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i].stride && seen[i].kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            assert_int_equal(seen[i].stride, sizeof(kernel_record));
        if (seen[i].stride && seen[i].kind == CUPTI_ACTIVITY_KIND_RUNTIME)
            assert_int_equal(seen[i].stride, sizeof(CUpti_ActivityAPI));
        if (seen[i].stride && seen[i].kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
            assert_int_equal(seen[i].stride, sizeof(CUpti_ActivityExternalCorrelation));
    }
}

// ---- side by side with an H200 that ran the same program (tests/fixtures/buffers)

enum { CALLS = 1024 };

struct census {
    uint32_t kernels, copies, sets, waits;
    uint32_t runtime[CALLS], driver[CALLS];
    uint32_t external[5]; // under 7000 + index
};

static void count_record(struct census *census, const CUpti_Activity *record) {
    const CUpti_ActivityAPI *api = (const void *)record;
    const CUpti_ActivityExternalCorrelation *external = (const void *)record;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        census->kernels++;
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        census->copies++;
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        census->sets++;
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        census->waits++;
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        census->runtime[api->cbid % CALLS]++;
        break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
        census->driver[api->cbid % CALLS]++;
        break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        census->external[external->externalId % 1000 % 5]++;
        break;
    default:
        break;
    }
}

// The facade's own iterator walks NVIDIA's bytes: it stands on the sizes of the header that it was compiled
// with.
static bool read_hardware(struct census *census) {
    FILE *file = fopen(HARDWARE, "rb");
    if (!file)
        return false;
    uint64_t valid;
    while (fread(&valid, sizeof valid, 1, file) == 1) {
        uint8_t *bytes = aligned_alloc(8, (valid + 7) / 8 * 8);
        assert_int_equal(fread(bytes, 1, valid, file), valid);
        CUpti_Activity *record = NULL;
        int result;
        while ((result = CALL(cuptiActivityGetNextRecord, bytes, valid, &record)) == CUPTI_SUCCESS)
            count_record(census, record);
        assert_int_equal(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
        free(bytes);
    }
    fclose(file);
    return true;
}

static flagsim_stream *probe_streams[2];

static void probe_launches(void) {
    push(7001);
    flagsim_kernel_info kernel = info("_Z9axpy_probeIfEvPT_S0_i", FLAGSIM_LAUNCH_LOW_LEVEL);
    for (int i = 0; i < 20; i++)
        flagsim_launch(probe_streams[i % 2], NULL, NULL, 0, &kernel);
    pop();
}

static void probe_memory(char *host, char *device) {
    flagsim_set_low_level(true);
    push(7002);
    flagsim_memcpy_async(device, host, 4096, FLAGSIM_COPY_HTOD, probe_streams[0]);
    flagsim_memcpy_async(host, device, 2048, FLAGSIM_COPY_DTOH, probe_streams[0]);
    flagsim_memset_async(device, 5, 512, probe_streams[0]);
    flagsim_memcpy_async(device, device + 2048, 1024, FLAGSIM_COPY_DTOD, probe_streams[0]);
    pop();
    flagsim_stream_synchronize(probe_streams[0]);
    flagsim_device_synchronize();
    flagsim_set_low_level(false);
}

static void probe_runtime(const char *host) {
    void *memory;
    push(7003);
    flagsim_malloc(&memory, 1024);
    flagsim_memcpy(memory, host, 1024, FLAGSIM_COPY_HTOD);
    flagsim_memset(memory, 3, 256);
    flagsim_device_synchronize();
    flagsim_free(memory);
    pop();
}

static void probe_graph(void) {
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
    flagsim_kernel_info kernel = info("_Z9axpy_probeIfEvPT_S0_i", 0);
    flagsim_set_low_level(true);
    push(7004);
    flagsim_capture_begin(probe_streams[0]);
    for (int i = 0; i < 3; i++)
        flagsim_launch(probe_streams[0], NULL, NULL, 0, &kernel);
    flagsim_capture_end(probe_streams[0], &graph);
    flagsim_graph_instantiate(graph, &exec);
    flagsim_graph_launch(exec, probe_streams[0]);
    flagsim_graph_launch(exec, probe_streams[0]);
    pop();
    flagsim_device_synchronize();
    flagsim_set_low_level(false);
    CALL(cuptiActivityFlushAll, 1);
    enable(false);
    flagsim_graph_exec_destroy(exec);
    flagsim_graph_destroy(graph);
}

static void the_same_program_gives_the_same_records_as_on_an_h200(void **state) {
    (void)state;
    struct census real = { 0 }, simulated = { 0 };
    void *device;
    static char host[4096];
    if (!read_hardware(&real)) {
        print_message("skipped: no buffers of this release in " HARDWARE "\n");
        skip();
    }
    flagsim_malloc(&device, 4096);
    flagsim_stream_create(&probe_streams[0]);
    flagsim_stream_create(&probe_streams[1]);
    start();
    probe_launches();
    probe_memory(host, device);
    probe_runtime(host);
    probe_graph();
    for (size_t i = 0; i < seen_count; i++)
        count_record(&simulated, &seen[i].any);
    assert_int_equal(simulated.kernels, real.kernels);
    assert_int_equal(simulated.copies, real.copies);
    assert_int_equal(simulated.sets, real.sets);
    assert_int_equal(simulated.waits, real.waits);
    for (int i = 0; i < CALLS; i++) {
        if (simulated.runtime[i] != real.runtime[i] || simulated.driver[i] != real.driver[i])
            print_message("id %d: runtime %u, on hardware %u; driver %u, on hardware %u\n", i,
                          simulated.runtime[i], real.runtime[i], simulated.driver[i], real.driver[i]);
        assert_int_equal(simulated.runtime[i], real.runtime[i]);
        assert_int_equal(simulated.driver[i], real.driver[i]);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(simulated.external[i], real.external[i]);
}

static void work_in_flight_when_kinds_come_on_is_not_recorded(void **state) {
    (void)state;
    flagsim_kernel_info slow = info("_Z4slowv", 0);
    slow.min_duration_ns = 20000000;
    flagsim_launch(NULL, NULL, NULL, 0, &slow);
    start();
    launch("_Z5probev", 0);
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_string_equal(nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->name, "_Z5probev");
}

static void nothing_is_observed_before_and_after_kinds_are_on(void **state) {
    (void)state;
    assert_int_equal(flagsim_observer_count(), 0);
    start();
    assert_int_equal(flagsim_observer_count(), 1);
    assert_int_equal(truth().kinds_armed, 8);
    stop();
    assert_int_equal(flagsim_observer_count(), 0);
    assert_int_equal(truth().kinds_armed, 0);
}

static unsigned other_completed;
static void other_complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid) {
    (void)c, (void)s, (void)size, (void)valid;
    other_completed++;
    free(buffer);
}

static void a_second_registration_silently_takes_the_next_buffers(void **state) {
    (void)state;
    start();
    launch("_Z5probev", 0);
    flagsim_device_synchronize();
    CALL(cuptiActivityFlushAll, 0);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(CALL(cuptiActivityRegisterCallbacks, request, other_complete), CUPTI_SUCCESS);
    launch("_Z5probev", 0);
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(other_completed, 1);
}

static void external_ids_are_a_stack_of_each_thread_and_kind(void **state) {
    (void)state;
    uint64_t id = 1;
    int devices;
    CALL(cuInit, 0);
    CALL(cuDeviceGetCount, &devices);
    push(0);
    push(5);
    assert_int_equal(
        CALL(cuptiActivityPopExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, &id),
        CUPTI_ERROR_QUEUE_EMPTY);
    assert_int_equal(pop(), 5);
    assert_int_equal(pop(), 0);
    assert_int_equal(
        CALL(cuptiActivityPopExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL),
        CUPTI_ERROR_QUEUE_EMPTY);
    assert_int_equal(truth().failed_pops, 2);
}

static void *launch_without_id(void *arg) {
    (void)arg;
    launch("_Z7no_one_v", 0);
    return NULL;
}

static void a_threads_id_is_not_seen_by_another_thread(void **state) {
    (void)state;
    pthread_t thread;
    start();
    push(5);
    assert_int_equal(pthread_create(&thread, NULL, launch_without_id, NULL), 0);
    pthread_join(thread, NULL);
    pop();
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 0);
}

static void a_full_buffer_comes_back_on_a_thread_of_the_library(void **state) {
    (void)state;
    buffer_size = 4096;
    start();
    for (int i = 0; i < 200; i++)
        launch("_Z5probev", 0);
    flagsim_device_synchronize();
    CALL(cuptiActivityFlushAll, 0);
    assert_true(buffers > 5);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 200);
    stop();
    assert_true(pthread_equal(completed_on, pthread_self())); // the flush itself runs on the caller
}

static void a_refused_buffer_drops_and_counts_or_kills_as_the_release_does(void **state) {
    (void)state;
    start();
    refuse = true;
    pid_t child = 0;
    if (CUPTI_RELEASE < 1209)
        child = fork();
    if (!child)
        signal(SIGSEGV, SIG_DFL);
    if (CUPTI_RELEASE < 1209 && child) {
        int status = 0;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), 11);
        refuse = false;
        stop();
        return;
    }
    // In a forked child only host calls can be recorded, so one is reported by hand through the last error's
    // call.
    flagsim_get_last_error();
    launch("_Z5probev", 0);
    flagsim_device_synchronize();
    size_t dropped = 0;
    assert_int_equal(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_true(dropped >= 3);
    assert_int_equal(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
    refuse = false;
    stop();
}

#if CUPTI_RELEASE >= 1205
static void single_calls_can_be_switched_off_and_on(void **state) {
    (void)state;
    start();
    CALL(cuptiActivityEnableRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0);
    CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_DRIVER);
    for (CUpti_CallbackId id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
        if (id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
            CALL(cuptiActivityEnableDriverApi, id, 0);
    int device;
    flagsim_get_device(&device);
    launch("_Z5probev", 0);
    launch("_Z5probev", FLAGSIM_LAUNCH_LOW_LEVEL);
    stop();
    for (size_t i = 0; i < count_of(CUPTI_ACTIVITY_KIND_RUNTIME); i++)
        assert_true(nth(CUPTI_ACTIVITY_KIND_RUNTIME, i)->api.cbid !=
                    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_DRIVER), 1);
}

static void a_single_call_switched_on_without_its_kind_records_nothing(void **state) {
    (void)state;
    start();
    CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_DRIVER);
    assert_int_equal(CALL(cuptiActivityEnableDriverApi, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
    launch("_Z5probev", FLAGSIM_LAUNCH_LOW_LEVEL);
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_DRIVER), 0);
}
#else
static void single_calls_cannot_be_switched_before_12_5(void **state) {
    (void)state;
    assert_null(dlsym(library, "cuptiActivityEnableRuntimeApi"));
    assert_null(dlsym(library, "cuptiActivityEnableDriverApi"));
}
#endif

static unsigned callbacks_entered, callbacks_left;
static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *cbdata) {
    const CUpti_CallbackData *data = cbdata;
    assert_ptr_equal(user, &callbacks_entered);
    assert_int_equal(domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    assert_int_equal(id, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_string_equal(data->functionName, "cudaLaunchKernel_v7000");
    assert_string_equal(data->symbolName, "_Z5probev");
    assert_true(data->correlationId >= 0x50000000);
    if (data->callbackSite == CUPTI_API_ENTER) {
        callbacks_entered++;
        *data->correlationData = data->correlationId;
    } else {
        callbacks_left++;
        assert_int_equal(*data->correlationData, data->correlationId);
        assert_int_equal(*(int *)data->functionReturnValue, 0);
    }
}

static void one_subscriber_is_called_as_a_call_begins_and_ends(void **state) {
    (void)state;
    CUpti_SubscriberHandle subscriber, second;
    assert_int_equal(CALL(cuptiSubscribe, &subscriber, on_call, &callbacks_entered), CUPTI_SUCCESS);
    assert_int_equal(CALL(cuptiSubscribe, &second, on_call, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                          CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
                     CUPTI_SUCCESS);
    launch("_Z5probev", 0);
    flagsim_device_synchronize();
    assert_int_equal(CALL(cuptiUnsubscribe, subscriber), CUPTI_SUCCESS);
    assert_int_equal(callbacks_entered, 1);
    assert_int_equal(callbacks_left, 1);
    assert_int_equal(flagsim_observer_count(), 0);
}

static void version_names_and_properties_are_those_of_the_release(void **state) {
    (void)state;
    uint32_t version = 0;
    int number = 0, runtime = 0, multiprocessors = 0;
    const char *name = NULL;
    char device[64];
    assert_int_equal(CALL(cuptiGetVersion, &version), CUPTI_SUCCESS);
    assert_int_equal(version, CUPTI_API_VERSION);
    assert_int_equal(CALL(cuptiGetCallbackName, CUPTI_CB_DOMAIN_DRIVER_API, 307, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "cuLaunchKernel");
    assert_int_equal(CALL(cuptiGetResultString, CUPTI_ERROR_MAX_LIMIT_REACHED, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "CUPTI_ERROR_MAX_LIMIT_REACHED");
    CALL(cuDriverGetVersion, &number);
    ((int (*)(int *))dlsym(library, "cudaRuntimeGetVersion"))(&runtime);
    assert_int_equal(number / 1000, CUPTI_RELEASE / 100);
    assert_int_equal(number, runtime);
    assert_int_equal(
        CALL(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
    assert_int_equal(multiprocessors, 132);
    CALL(cuDeviceGetName, device, sizeof device, 1);
    assert_non_null(strstr(device, "simulated"));
    assert_non_null(strstr(dlsym(library, "flagsim_marker"), "simulated"));
}

static void the_facade_carries_no_real_librarys_soname(void **state) {
    (void)state;
    assert_null(dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_LAZY));
    assert_null(dlopen("libcupti.so.12", RTLD_NOLOAD | RTLD_LAZY));
    assert_null(dlopen("libcupti.so.11.8", RTLD_NOLOAD | RTLD_LAZY));
    assert_null(dlsym(RTLD_DEFAULT, "cuptiActivityEnable"));
    assert_null(dlsym(RTLD_DEFAULT, "cuInit"));
}

static void *launch_until_stopped(void *arg) {
    while (!atomic_load((atomic_bool *)arg)) {
        push(1);
        launch("_Z5probev", 0);
        pop();
        flagsim_device_synchronize();
    }
    return NULL;
}

static void a_child_forked_while_others_record_can_end_its_recording_and_exit(void **state) {
    (void)state;
    SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
    pthread_t thread;
    static atomic_bool stopped;
    buffer_size = 4096;
    start();
    assert_int_equal(pthread_create(&thread, NULL, launch_until_stopped, &stopped), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(5); // what hangs is killed, and seen
            CALL(cuptiActivityFlushAll, 1);
            CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_RUNTIME);
            CALL(cuptiFinalize);
            _exit(flagsim_observer_count());
        }
        int status = 0;
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
    atomic_store(&stopped, true);
    pthread_join(thread, NULL);
    stop();
}

static unsigned counted_elsewhere;
static void *elsewhere;
static void count_elsewhere(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid) {
    (void)c, (void)s, (void)size;
    CUpti_Activity *record = NULL;
    CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **) =
        dlsym(elsewhere, "cuptiActivityGetNextRecord");
    while (next(buffer, valid, &record) == CUPTI_SUCCESS)
        counted_elsewhere += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    free(buffer);
}

static void two_libraries_in_one_process_do_not_meet(void **state) {
    (void)state;
    if (!strcmp(OTHER_FACADE, FACADE)) {
        print_message("skipped: only one release's facade was built\n");
        skip();
    }
    elsewhere = dlopen(OTHER_FACADE, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(elsewhere);
    void *ours = library;
    start();
    library = elsewhere;
    assert_int_equal(CALL(cuptiActivityRegisterCallbacks, request, count_elsewhere), CUPTI_SUCCESS);
    assert_int_equal(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    library = ours;
    launch("_Z5probev", 0);
    stop();
    library = elsewhere;
    CALL(cuptiActivityFlushAll, 1);
    CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(counted_elsewhere, 1);
    assert_int_equal(flagsim_observer_count(), 0);
}

static void add_arguments(void **arguments) {
    **(int **)arguments[0] += *(int *)arguments[1];
}

static void native_launches_run_functions_with_copied_arguments(void **state) {
    (void)state;
    static const size_t bytes[] = { sizeof(int *), sizeof(int), 0 };
    static const struct flagsim_function function = { .name = "_Z3addPii",
                                                      .run = add_arguments,
                                                      .argument_bytes = bytes };
    CUdeviceptr device;
    int amount = 3, result = 0;
    start();
    assert_int_equal(CALL(cuMemAlloc_v2, &device, sizeof(int)), CUDA_SUCCESS);
    assert_int_equal(CALL(cuMemcpyHtoDAsync_v2, device, &result, sizeof result, NULL), CUDA_SUCCESS);
    void *arguments[] = { &device, &amount };
    assert_int_equal(
        CALL(cuLaunchKernel, (CUfunction)(uintptr_t)&function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL),
        CUDA_SUCCESS);
    amount = 100;
    assert_int_equal(CALL(cuMemcpyDtoHAsync_v2, &result, device, sizeof result, NULL), CUDA_SUCCESS);
    CALL(cuMemFree_v2, device);
    stop();
    assert_int_equal(result, 3);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api.cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_DRIVER, 1)->api.cbid,
                     CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
    assert_int_equal(nth(CUPTI_ACTIVITY_KIND_DRIVER, 2)->api.cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
}

static void *launch_many(void *arg) {
    uint64_t id = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 200; i++) {
        push(id);
        launch("_Z5probev", 0);
        pop();
    }
    return NULL;
}

static void many_threads_lose_no_record(void **state) {
    (void)state;
    pthread_t threads[8];
    buffer_size = 16384;
    start();
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, (void *)(i + 1)), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1600);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 1600 * (1 + NAME_QUERIES));
    assert_int_equal(truth().records[FLAGSIM_FATE_DELIVERED][FLAGSIM_RECORD_KERNEL], 1600);
}

// ---- the faults; the name of each is the case's argument

static void fault(const char *list) {
    assert_int_equal(flagsim_faults_set(list), 0);
}

static void launch_20(void) {
    for (uint64_t i = 0; i < 20; i++) {
        push(1000 + i);
        launch("_Z5probev", 0);
        pop();
    }
}

static uint64_t fate(flagsim_fate what, flagsim_record family) {
    return truth().records[what][family];
}

static void late_registration_delivers_nothing_and_an_early_one_all(void **state) {
    (void)state;
    fault("late_registration");
    pid_t child = fork();
    if (child == 0) {
        start(); // before any context
        launch_20();
        stop();
        _exit(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 20 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    launch("_Z5firstv", 0);
    start();
    launch_20();
    stop();
    assert_int_equal(seen_count, 0);
    assert_int_equal(truth().buffers_requested, 0);
    assert_int_equal(fate(FLAGSIM_FATE_LOST, FLAGSIM_RECORD_KERNEL), 20);
}

static void dropped_records_are_in_the_librarys_own_count(void **state) {
    (void)state;
    fault("drop_records=4");
    start();
    launch_20();
    stop();
    size_t dropped = 0;
    CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped);
    assert_int_equal(dropped, 5);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 15);
    assert_int_equal(fate(FLAGSIM_FATE_DROPPED, FLAGSIM_RECORD_KERNEL), 5);
    assert_int_equal(fate(FLAGSIM_FATE_DELIVERED, FLAGSIM_RECORD_KERNEL), 15);
}

static void tiny_buffers_part_the_records_of_one_launch(void **state) {
    (void)state;
    fault("tiny_buffers=512");
    start();
    launch_20();
    stop();
    assert_true(buffers > 10);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 20);
}

static void late_correlation_records_come_in_a_later_buffer_than_their_kernel(void **state) {
    (void)state;
    fault("late_correlation");
    start();
    launch_20();
    stop();
    unsigned first_external = nth(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0)->buffer;
    assert_true(first_external > nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 19)->buffer);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 20 * (1 + NAME_QUERIES));
    assert_int_equal(fate(FLAGSIM_FATE_LATE, FLAGSIM_RECORD_EXTERNAL), 20 * (1 + NAME_QUERIES));
}

static void records_out_of_order_are_all_there(void **state) {
    (void)state;
    fault("out_of_order");
    start();
    launch_20();
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 20);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 20 * (1 + NAME_QUERIES));
    uint64_t moved = 0;
    for (int i = 0; i < FLAGSIM_RECORD_COUNT; i++)
        moved += fate(FLAGSIM_FATE_REORDERED, (flagsim_record)i);
    assert_true(moved > seen_count / 3);
}

static void times_are_zero_or_reversed_as_often_as_the_truth_says(void **state) {
    (void)state;
    fault("timing_zero=3,end_before_start=5,end_zero=7,too_long=11");
    start();
    launch_20();
    stop();
    uint64_t zero = 0, reversed = 0, unfinished = 0, too_long = 0;
    for (size_t i = 0; i < 20; i++) {
        const kernel_record *kernel = &nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i)->kernel;
        zero += !kernel->start && !kernel->end;
        reversed += kernel->end && kernel->end < kernel->start;
        unfinished += kernel->start && !kernel->end;
        too_long += kernel->end > kernel->start + 3600000000000u;
    }
    assert_int_equal(unfinished, 2);
    assert_int_equal(too_long, 1);
    assert_int_equal(fate(FLAGSIM_FATE_NO_END, FLAGSIM_RECORD_KERNEL), unfinished);
    assert_int_equal(fate(FLAGSIM_FATE_TOO_LONG, FLAGSIM_RECORD_KERNEL), too_long);
    assert_int_equal(zero, 6);
    assert_int_equal(reversed, 3); // 15 is a multiple of both, and zero wins
    assert_int_equal(fate(FLAGSIM_FATE_NO_TIMING, FLAGSIM_RECORD_KERNEL), zero);
    assert_int_equal(fate(FLAGSIM_FATE_END_BEFORE_START, FLAGSIM_RECORD_KERNEL), reversed);
}

static void another_clock_has_another_epoch_and_rate_for_all_times(void **state) {
    (void)state;
    start();
    launch_20();
    stop();
    uint64_t now = 0;
    CALL(cuptiGetTimestamp, &now);
    const kernel_record *kernel = &nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel;
    uint64_t epoch = flagsim_now_ns();
    bool other = getenv("FLAGOS_SIM_FAULTS") != NULL;
    assert_int_equal(epoch - now < 1000000000u, !other);
    assert_true(now - kernel->start < 5000000000u);
}

static void unknown_kinds_are_stepped_over_by_the_iterator(void **state) {
    (void)state;
    fault("unknown_kind=4");
    start();
    launch_20();
    stop();
    assert_int_equal(count_of(200), fate(FLAGSIM_FATE_FOREIGN, FLAGSIM_RECORD_OTHER));
    assert_true(count_of(200) >= 10);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 20);
}

static void a_broken_record_ends_the_iteration_of_its_buffer(void **state) {
    (void)state;
    fault("broken_record=50");
    start();
    launch_20();
    stop();
    assert_int_equal(iteration_ended, CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                     fate(FLAGSIM_FATE_DELIVERED, FLAGSIM_RECORD_KERNEL));
    assert_true(fate(FLAGSIM_FATE_UNREACHABLE, FLAGSIM_RECORD_RUNTIME) > 0);
}

static void kernel_names_are_missing_or_dirty_or_8_kb_long(void **state) {
    (void)state;
    fault("name_null=4,name_8k=5,name_dirty=3");
    start();
    launch_20();
    stop();
    uint64_t none = 0, longer = 0, dirty = 0;
    for (size_t i = 0; i < 20; i++) {
        const struct seen *kernel = nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        none += kernel->kernel.name == NULL;
        longer += kernel->name_length == 8192;
        dirty += strchr(kernel->name, '"') != NULL;
    }
    assert_int_equal(none, 5);
    assert_int_equal(longer, 3);
    assert_int_equal(dirty, 4);
    assert_int_equal(fate(FLAGSIM_FATE_NAME_DIRTY, FLAGSIM_RECORD_KERNEL), dirty);
    assert_int_equal(fate(FLAGSIM_FATE_NAME_NULL, FLAGSIM_RECORD_KERNEL), none);
    assert_int_equal(fate(FLAGSIM_FATE_NAME_LONG, FLAGSIM_RECORD_KERNEL), longer);
}

static void late_buffers_come_at_the_flush_last_one_first(void **state) {
    (void)state;
    fault("late_buffers,tiny_buffers=1024");
    start();
    launch_20();
    flagsim_device_synchronize();
    assert_int_equal(buffers, 0);
    stop();
    assert_true(buffers > 5);
    assert_true(seen[0].bytes[0] != 0);
    assert_true(nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.start >
                nth(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 19)->kernel.start);
}

static void a_flush_may_complete_buffers_on_another_thread(void **state) {
    (void)state;
    fault("flush_completion_thread");
    start();
    launch_20();
    stop();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 20);
    assert_false(pthread_equal(completed_on, pthread_self()));
}

static void a_flush_may_take_long(void **state) {
    (void)state;
    fault("hang_flush=50");
    start();
    uint64_t before = flagsim_now_ns();
    CALL(cuptiActivityFlushAll, 1);
    assert_true(flagsim_now_ns() - before >= 50000000);
    stop();
}

static void a_stranger_takes_the_callbacks_over_without_a_word(void **state) {
    (void)state;
    fault("replaced_callbacks=2,tiny_buffers=1024");
    start();
    launch_20();
    stop();
    assert_int_equal(truth().buffers_requested, 2);
    assert_int_equal(buffers, 2);
    uint64_t lost = fate(FLAGSIM_FATE_LOST, FLAGSIM_RECORD_KERNEL);
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) + lost, 20);
    assert_true(lost > 0);
}

static void pushes_fail_as_often_as_the_truth_says(void **state) {
    (void)state;
    fault("push_fails=4");
    int failures = 0;
    for (uint64_t i = 0; i < 20; i++)
        failures += CALL(cuptiActivityPushExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                         i) != CUPTI_SUCCESS;
    assert_int_equal(failures, 5);
    assert_int_equal(truth().failed_pushes, 5);
}

static void other_subscribers_versions_and_runtimes_are_told(void **state) {
    (void)state;
    CUpti_SubscriberHandle subscriber;
    uint32_t version = 0;
    int runtime = 0;
    fault("other_subscriber,version_mismatch,runtime_mismatch");
    assert_int_equal(CALL(cuptiSubscribe, &subscriber, on_call, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CALL(cuptiGetVersion, &version);
    assert_true(version != CUPTI_API_VERSION);
    ((int (*)(int *))dlsym(library, "cudaRuntimeGetVersion"))(&runtime);
    assert_true(runtime / 1000 != CUPTI_RELEASE / 100);
}

static void without_a_device_every_call_answers_unknown_and_without_a_driver_it_kills(void **state) {
    (void)state;
    uint32_t version;
    int devices = -1;
    fault("no_device");
    assert_int_equal(CALL(cuInit, 0), CUDA_ERROR_NO_DEVICE);
    CALL(cuDeviceGetCount, &devices);
    assert_int_equal(devices, 0);
    assert_int_equal(CALL(cuptiGetVersion, &version), CUPTI_ERROR_UNKNOWN);
    fault("no_driver");
    assert_int_equal(CALL(cuInit, 0), CUDA_ERROR_STUB_LIBRARY);
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        CALL(cuptiGetVersion, &version);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
}

// ---- each in a process of its own

static int run_alone(const struct CMUnitTest *test, const char *faults) {
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        if (faults)
            setenv("FLAGOS_SIM_FAULTS", faults, 1);
        seen = calloc(RECORDS, sizeof *seen);
        library = dlopen(FACADE, RTLD_NOW | RTLD_LOCAL);
        if (!library || !seen) {
            fprintf(stderr, "cannot open %s: %s\n", FACADE, dlerror());
            _exit(1);
        }
        int failed = _cmocka_run_group_tests(CUPTI_RELEASE_TEXT, test, 1, NULL, NULL);
        flagsim_shutdown();
        free(seen);
        exit(failed);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "[  FAILED  ] %s: signal %d\n", test->name, WTERMSIG(status));
    return status != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_record_holds_what_was_launched),
        cmocka_unit_test(a_runtime_launch_has_its_id_on_call_kernel_and_external_record),
        cmocka_unit_test(a_nested_driver_launch_has_the_runtimes_id_or_one_of_its_own),
        cmocka_unit_test(a_low_level_launch_has_a_driver_record_and_no_runtime_record),
        cmocka_unit_test(copies_sets_and_waits_have_records_of_their_own_kinds),
        cmocka_unit_test(a_graph_launch_gives_each_kernel_a_node_and_all_one_id),
        cmocka_unit_test(the_iterator_strides_are_the_sizes_of_the_headers_structs),
        cmocka_unit_test(the_same_program_gives_the_same_records_as_on_an_h200),
        cmocka_unit_test(work_in_flight_when_kinds_come_on_is_not_recorded),
        cmocka_unit_test(nothing_is_observed_before_and_after_kinds_are_on),
        cmocka_unit_test(a_second_registration_silently_takes_the_next_buffers),
        cmocka_unit_test(external_ids_are_a_stack_of_each_thread_and_kind),
        cmocka_unit_test(a_threads_id_is_not_seen_by_another_thread),
        cmocka_unit_test(a_full_buffer_comes_back_on_a_thread_of_the_library),
        cmocka_unit_test(a_refused_buffer_drops_and_counts_or_kills_as_the_release_does),
#if CUPTI_RELEASE >= 1205
        cmocka_unit_test(single_calls_can_be_switched_off_and_on),
        cmocka_unit_test(a_single_call_switched_on_without_its_kind_records_nothing),
#else
        cmocka_unit_test(single_calls_cannot_be_switched_before_12_5),
#endif
        cmocka_unit_test(one_subscriber_is_called_as_a_call_begins_and_ends),
        cmocka_unit_test(version_names_and_properties_are_those_of_the_release),
        cmocka_unit_test(the_facade_carries_no_real_librarys_soname),
        cmocka_unit_test(native_launches_run_functions_with_copied_arguments),
        cmocka_unit_test(a_child_forked_while_others_record_can_end_its_recording_and_exit),
        cmocka_unit_test(two_libraries_in_one_process_do_not_meet),
        cmocka_unit_test(many_threads_lose_no_record),
        cmocka_unit_test(late_registration_delivers_nothing_and_an_early_one_all),
        cmocka_unit_test(dropped_records_are_in_the_librarys_own_count),
        cmocka_unit_test(tiny_buffers_part_the_records_of_one_launch),
        cmocka_unit_test(late_correlation_records_come_in_a_later_buffer_than_their_kernel),
        cmocka_unit_test(records_out_of_order_are_all_there),
        cmocka_unit_test(times_are_zero_or_reversed_as_often_as_the_truth_says),
        cmocka_unit_test(another_clock_has_another_epoch_and_rate_for_all_times),
        cmocka_unit_test(unknown_kinds_are_stepped_over_by_the_iterator),
        cmocka_unit_test(a_broken_record_ends_the_iteration_of_its_buffer),
        cmocka_unit_test(kernel_names_are_missing_or_dirty_or_8_kb_long),
        cmocka_unit_test(late_buffers_come_at_the_flush_last_one_first),
        cmocka_unit_test(a_flush_may_complete_buffers_on_another_thread),
        cmocka_unit_test(a_flush_may_take_long),
        cmocka_unit_test(a_stranger_takes_the_callbacks_over_without_a_word),
        cmocka_unit_test(pushes_fail_as_often_as_the_truth_says),
        cmocka_unit_test(other_subscribers_versions_and_runtimes_are_told),
        cmocka_unit_test(without_a_device_every_call_answers_unknown_and_without_a_driver_it_kills),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        failed += run_alone(&tests[i], NULL);
        if (tests[i].test_func == a_nested_driver_launch_has_the_runtimes_id_or_one_of_its_own)
            failed += run_alone(&tests[i], "nested_own_id");
        if (tests[i].test_func == another_clock_has_another_epoch_and_rate_for_all_times)
            failed += run_alone(&tests[i], "clock_domain");
    }
    printf("CUPTI facade " CUPTI_RELEASE_TEXT ": %d failed\n", failed);
    return failed != 0;
}
