// bench_core.c - what the core takes for one event, from CUPTI's bytes to a joined record.
//
// In:  buffers made here in the layout of CUPTI 13.0: for each launch an external id, a runtime call and
//      a kernel.
// Out: nanoseconds and bytes an event (calls and kernels; ids are no events), medians of several rounds. Bytes
//      twice: what the recording keeps, and what the process really took more while it recorded and joined, lists,
//      indices and unused room included. The last round's kernels are a graph's, whose ids lie in the side table.
//
// Push and pop are the core's own share: the vendor's function behind them is a stub. Aim: 131 ns and 64 bytes
// an event for push, pop, decode and join together. A round whose ledger misses anything is a failure.
// usage: bench_core [--smoke] [LAUNCHES]
#include "flagprof/flagprof.h"
#include "tracers/accelerator.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMES = 200, BUFFER_BYTES = 2 << 20, ROUNDS = 7, FIRST_ID = 1000 };

static const int64_t epoch = INT64_C(1790000000000000000);

struct fp_tracer {
    struct fp_cupti_layout layout;
    struct fp_cuda_limits limits;
    uint8_t **buffers;
    size_t *valid;
    size_t count;
    bool stopped, drained;
};

// ---- The buffers

static char names[NAMES][80];

static uint32_t next_record(uint8_t *buffer, size_t valid, void **record) {
    uint8_t *next = *record;
    if (!next) {
        next = buffer;
    } else {
        uint32_t kind;
        memcpy(&kind, next, sizeof(kind));
        next += kind == FP_CUPTI_KIND_CONCURRENT_KERNEL ? 216 : kind == FP_CUPTI_KIND_RUNTIME ? 40 : 24;
    }
    if (next + 24 > buffer + valid)
        return FP_CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return FP_CUPTI_SUCCESS;
}

static bool of_graph; // the kernels to come carry a graph's ids

static size_t write_launch(uint8_t *at, uint32_t number) {
    uint64_t start = (uint64_t)epoch + (uint64_t)number * 4000;
    struct fp_cupti_external_correlation id = { .kind = FP_CUPTI_KIND_EXTERNAL_CORRELATION,
                                                .externalKind = FP_CUPTI_EXTERNAL_CUSTOM0,
                                                .externalId = number / 2,
                                                .correlationId = FIRST_ID + number };
    struct fp_cupti_api call = { .kind = FP_CUPTI_KIND_RUNTIME,
                                 .cbid = 211,
                                 .start = start,
                                 .end = start + 2500,
                                 .threadId = 77,
                                 .correlationId = FIRST_ID + number };
    struct fp_cupti_kernel kernel = { .kind = FP_CUPTI_KIND_CONCURRENT_KERNEL,
                                      .registersPerThread = (uint16_t)(16 + number % 8),
                                      .start = start + 3000,
                                      .end = start + 5000,
                                      .gridX = (int32_t)(number % 50 + 1),
                                      .gridY = 1,
                                      .gridZ = 1,
                                      .blockX = 256,
                                      .blockY = 1,
                                      .blockZ = 1,
                                      .streamId = 7,
                                      .contextId = 1,
                                      .correlationId = FIRST_ID + number,
                                      .name = (uint64_t)(uintptr_t)names[number % NAMES],
                                      .graphNodeId = of_graph ? number + 1 : 0,
                                      .graphId = of_graph ? 7 : 0 };
    memcpy(at, &id, 24);
    memcpy(at + 24, &call, 40);
    memcpy(at + 64, &kernel, 216);
    return 280;
}

static void free_buffers(struct fp_tracer *tracer) {
    for (size_t at = 0; at < tracer->count; at++)
        free(tracer->buffers[at]);
    free(tracer->buffers);
    free(tracer->valid);
}

static bool make_buffers(struct fp_tracer *tracer, uint32_t launches) {
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "_ZN2at6native18elementwise_kernelILi128ELi%dEEEvi", i + 1);
    size_t each = BUFFER_BYTES / 280;
    tracer->count = (launches + each - 1) / each;
    tracer->buffers = calloc(tracer->count, sizeof(*tracer->buffers));
    tracer->valid = calloc(tracer->count, sizeof(*tracer->valid));
    if (!tracer->buffers || !tracer->valid)
        return false;
    for (uint32_t number = 0; number < launches; number++) {
        size_t at = number / each;
        if (!tracer->buffers[at] && !(tracer->buffers[at] = malloc(BUFFER_BYTES)))
            return false;
        tracer->valid[at] += write_launch(tracer->buffers[at] + tracer->valid[at], number);
    }
    return true;
}

// ---- A tracer that gives them

static int start(struct fp_tracer *tracer, const struct fp_session_options *options, struct fp_error *err) {
    (void)options;
    (void)err;
    tracer->stopped = tracer->drained = false;
    return 0;
}

static int stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    (void)timeout_ns;
    (void)err;
    tracer->stopped = true;
    return 0;
}

static double drain_seconds;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); // of this thread alone: a busy machine changes nothing
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    if (!tracer->stopped || tracer->drained)
        return 0;
    struct fp_cupti_decoder_options options = {
        .layout = &tracer->layout, .next = next_record, .limits = &tracer->limits, .device_count = 1
    };
    struct fp_cupti_decoder *decoder = fp_cupti_decoder_new(&options);
    if (!decoder)
        return -1;
    double before = now();
    for (size_t at = 0; at < tracer->count; at++)
        fp_cupti_decode(decoder, sink, tracer->buffers[at], tracer->valid[at]);
    fp_cupti_decode_end(decoder, sink);
    drain_seconds = now() - before;
    fp_cupti_decoder_free(decoder);
    tracer->drained = true;
    return 0;
}

static int push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    (void)tracer;
    (void)kind;
    (void)framework_id;
    return 0;
}

static int pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    (void)tracer;
    (void)kind;
    (void)last;
    return 0;
}

static const struct fp_tracer_ops ops = {
    .size = sizeof(ops),
    .name = "bench",
    .start = start,
    .stop = stop,
    .drain = drain,
    .push = push,
    .pop = pop,
};

// ---- Rounds

struct figures {
    double push_pop, decode, join;  // an event: ns
    double kept, recorded, joining; // bytes: kept at the end; taken before the join; at most during it
};

// Bytes that the process holds, or held at most since `forget_peak`.
static double resident(const char *field) {
    char line[128];
    unsigned long long kilobytes = 0;
    size_t length = strlen(field);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, field, length) == 0)
            kilobytes = strtoull(line + length, NULL, 10);
    if (file)
        fclose(file);
    return (double)kilobytes * 1024;
}

static void forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file); // the peak is what is held now
    fclose(file);
}

static char sentence[400]; // of the last round's ledger

static bool nothing_missing(const struct fp_recording *recording) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    fp_recording_ledger(recording, &ledger);
    (void)fp_ledger_sentence(&ledger, sentence, sizeof(sentence));
    return ledger.complete && ledger.linked == ledger.linkable;
}

static bool run_round(struct fp_accelerator *accelerator, uint32_t launches, struct figures *figures) {
    struct fp_recording *recording = NULL;
    double events = 2.0 * launches;
    malloc_trim(0);
    double before = resident("VmRSS:");
    if (fp_recording_start(accelerator, NULL, &recording, NULL) != 0)
        return false;
    double begin = now();
    for (uint32_t number = 0; number < launches; number++) {
        fp_push(FP_ID_OPERATOR, number);
        fp_pop(FP_ID_OPERATOR);
    }
    double pushed = now();
    fp_recording_stop(recording, 0, NULL);
    double recorded = resident("VmRSS:");
    forget_peak();
    double stopped = now();
    bool good = fp_recording_finish(recording, epoch, INT64_MAX, NULL) == 0;
    double finished = now();
    good = good && fp_recording_count(recording) == 2 * (size_t)launches && nothing_missing(recording);
    *figures = (struct figures){
        .push_pop = (pushed - begin) * 1e9 / events,
        .decode = drain_seconds * 1e9 / events,
        .join = (finished - stopped) * 1e9 / events,
        .kept = (double)fp_recording_bytes(recording) / events,
        .recorded = (recorded - before) / events,
        .joining = (resident("VmHWM:") - before) / events,
    };
    fp_recording_free(recording);
    return good;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(const struct figures *rounds, size_t count, size_t offset) {
    double values[ROUNDS];
    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&rounds[i] + offset, sizeof(values[i]));
    qsort(values, count, sizeof(values[0]), compare);
    return values[count / 2];
}

// Of memory the most: from the second round on some lies ready that the allocator has kept.
static double most(const struct figures *rounds, size_t count, size_t offset) {
    double found = 0, value;
    for (size_t i = 0; i < count; i++) {
        memcpy(&value, (const char *)&rounds[i] + offset, sizeof(value));
        found = value > found ? value : found;
    }
    return found;
}

int main(int argc, char **argv) {
    bool smoke = argc > 1 && strcmp(argv[1], "--smoke") == 0;
    uint32_t launches = smoke ? 20000 : argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    size_t count = smoke ? 1 : ROUNDS;
    struct figures rounds[ROUNDS];
    struct fp_tracer tracer = {
        .limits = { .compute_major = 9,
                    .multiprocessors = 132,
                    .warp_size = 32,
                    .max_threads_per_block = 1024,
                    .max_threads_per_multiprocessor = 2048,
                    .registers_per_block = 65536,
                    .registers_per_multiprocessor = 65536,
                    .shared_per_block_bytes = 49152,
                    .shared_per_multiprocessor_bytes = 233472,
                    .reserved_shared_per_block_bytes = 1024 },
    };
    struct fp_accelerator accelerator = { "bench", &ops, &tracer };
    if (!fp_cupti_layout_find(&tracer.layout, 130001, NULL, NULL) || !make_buffers(&tracer, launches)) {
        fprintf(stderr, "bench_core: no memory for %u launches\n", launches);
        return 1;
    }
    for (size_t round = 0; round < count; round++) {
        if (!run_round(&accelerator, launches, &rounds[round])) {
            fprintf(stderr, "bench_core: the recording does not hold what was fed to it. %s\n", sentence);
            return 1;
        }
    }
    double push_pop = median(rounds, count, offsetof(struct figures, push_pop));
    double decode = median(rounds, count, offsetof(struct figures, decode));
    double join = median(rounds, count, offsetof(struct figures, join));
    printf("%u launches (%u events), median of %zu rounds\n", launches, 2 * launches, count);
    printf("push and pop  %7.1f ns an event\ndecode        %7.1f ns\njoin          %7.1f ns\n", push_pop,
           decode, join);
    printf("together      %7.1f ns an event (aim 131)\n", push_pop + decode + join);
    printf("memory kept   %7.1f bytes an event (aim 64 and interned text)\n",
           median(rounds, count, offsetof(struct figures, kept)));
    printf("  taken       %7.1f before the join: with names, the list of operator ids and unused room\n"
           "  at most     %7.1f during the join: with its indices\n",
           most(rounds, count, offsetof(struct figures, recorded)),
           most(rounds, count, offsetof(struct figures, joining)));
    free_buffers(&tracer);
    of_graph = true;
    if (!make_buffers(&tracer, launches) || !run_round(&accelerator, launches, &rounds[0])) {
        fprintf(stderr, "bench_core: the recording does not hold a graph's kernels\n");
        return 1;
    }
    printf(
        "a graph's     %7.1f bytes an event kept, %.1f at most: two ids of each kernel in the side table\n",
        rounds[0].kept, rounds[0].joining);
    printf("ledger        %s\n", sentence);
    return 0;
}
