// echo_accelerator.c - an accelerator that answers each of torch's operators with one host call and one
// kernel.
//
// In:  FLAGPROF_ECHO_NAMES, a file with one kernel name a line, in hexadecimal; FLAGPROF_ECHO_EXTRAS, a
//      file with lines of key, type (i, r, t, j) and value, key and value in hexadecimal;
//      FLAGPROF_ECHO_BULK, a number of pairs of call and kernel to deliver at the end beside those.
// Out: what the simulator never would: any bytes as names, any extra, any number of records, on a device
//      of stated size and without a backend.
//
// Vendor ids count down from the top so that none is ever a torch id.

#include "flagprof/flagprof.h"
#include "tracers/accelerator.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PUSHES_MAX = 1 << 20, LINES_MAX = 512, LINE_BYTES = 1 << 16, DEPTH = 64, KERNEL_NS = 700 };

struct push {
    int64_t at_ns;
    uint64_t framework_id;
    uint32_t vendor_id, thread;
    enum fp_id_kind kind;
};

struct line {
    char key[256];
    char type;
    char *value;
};

struct fp_tracer {
    pthread_mutex_t lock;
    bool armed;
    struct push *pushes;
    size_t count;
    uint32_t next_vendor_id;
    struct line names[LINES_MAX], extras[LINES_MAX];
    size_t name_count, extra_count;
};

static struct fp_tracer the_tracer = { .lock = PTHREAD_MUTEX_INITIALIZER, .next_vendor_id = 0xfffffff0u };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void unhex(const char *hex, char *out, size_t capacity) {
    size_t length = 0;
    unsigned byte;
    while (length + 1 < capacity && sscanf(hex + 2 * length, "%2x", &byte) == 1)
        out[length++] = (char)byte;
    out[length] = '\0';
}

static size_t read_lines(const char *variable, struct line *lines, bool with_key) {
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, "r") : NULL;
    static char text[LINE_BYTES];
    size_t count = 0;
    while (file && count < LINES_MAX && fgets(text, sizeof(text), file)) {
        struct line *line = &lines[count++];
        char *value = text;
        if (with_key) {
            char *key = strtok(text, " ");
            line->type = *strtok(NULL, " ");
            value = strtok(NULL, "\n");
            unhex(key, line->key, sizeof(line->key));
        }
        size_t capacity = value ? strlen(value) / 2 + 1 : 1;
        line->value = calloc(1, capacity);
        if (value && line->value)
            unhex(value, line->value, capacity);
    }
    if (file)
        fclose(file);
    return count;
}

static int echo_open(const struct fp_tracer_options *options, struct fp_tracer **tracer,
                     struct fp_error *err) {
    (void)options, (void)err;
    *tracer = &the_tracer;
    the_tracer.pushes = calloc(PUSHES_MAX, sizeof(*the_tracer.pushes));
    the_tracer.name_count = read_lines("FLAGPROF_ECHO_NAMES", the_tracer.names, false);
    the_tracer.extra_count = read_lines("FLAGPROF_ECHO_EXTRAS", the_tracer.extras, true);
    return the_tracer.pushes ? 0 : -ENOMEM;
}

static void echo_close(struct fp_tracer *tracer) {
    (void)tracer;
}

static int echo_describe(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    (void)tracer;
    static const char *const kinds[] = { "call", "kernel", NULL };
    description->library_path = "libecho.so";
    description->version = "1.0 \"quoted\"";
    description->simulated = "echo";
    description->kinds = kinds;
    description->runtime_kind = "echo_runtime";
    description->library_version = 10;
    return 0;
}

static int echo_device_count(struct fp_tracer *tracer) {
    (void)tracer;
    return 2;
}

static int echo_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    (void)tracer;
    snprintf(device->name, sizeof(device->name), "Echo \"%u\"", ordinal);
    device->total_memory_bytes = 1u << 30;
    device->compute_major = 9;
    device->warp_size = 32;
    device->multiprocessors = 132;
    return 0;
}

static int echo_start(struct fp_tracer *tracer, const struct fp_session_options *options,
                      struct fp_error *err) {
    (void)options;
    if (getenv("FLAGPROF_ECHO_REFUSES")) {
        fp_error_set(err, "the echo refuses");
        return -EPERM;
    }
    pthread_mutex_lock(&tracer->lock);
    tracer->count = 0;
    tracer->armed = true;
    pthread_mutex_unlock(&tracer->lock);
    return 0;
}

static int echo_stop(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    (void)timeout_ns, (void)err;
    pthread_mutex_lock(&tracer->lock);
    tracer->armed = false;
    pthread_mutex_unlock(&tracer->lock);
    return 0;
}

static int echo_push(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t framework_id) {
    pthread_mutex_lock(&tracer->lock);
    if (tracer->armed && tracer->count < PUSHES_MAX)
        tracer->pushes[tracer->count++] = (struct push){ .at_ns = now_ns(),
                                                         .framework_id = framework_id,
                                                         .vendor_id = tracer->next_vendor_id--,
                                                         .thread = (uint32_t)gettid(),
                                                         .kind = kind };
    pthread_mutex_unlock(&tracer->lock);
    return 0;
}

static int echo_pop(struct fp_tracer *tracer, enum fp_id_kind kind, uint64_t *last) {
    (void)tracer, (void)kind, (void)last;
    return 0;
}

static size_t make_extras(const struct fp_tracer *tracer, const struct fp_sink *sink,
                          struct fp_extra *extras) {
    for (size_t at = 0; at < tracer->extra_count; at++) {
        const struct line *line = &tracer->extras[at];
        struct fp_extra *extra = &extras[at];
        extra->key = sink->name(sink->owner, line->key, FP_NAME_PLAIN);
        extra->type = line->type == 'i'   ? FP_EXTRA_INTEGER
                      : line->type == 'r' ? FP_EXTRA_REAL
                      : line->type == 't' ? FP_EXTRA_TEXT
                                          : FP_EXTRA_JSON;
        if (extra->type == FP_EXTRA_INTEGER)
            extra->value.integer = strtoll(line->value, NULL, 10);
        else if (extra->type == FP_EXTRA_REAL)
            extra->value.real = strtod(line->value, NULL);
        else
            extra->value.text = sink->name(sink->owner, line->value, FP_NAME_PLAIN);
    }
    return tracer->extra_count;
}

static void emit_pair(struct fp_tracer *tracer, const struct fp_sink *sink, const struct push *push,
                      size_t turn) {
    struct fp_extra extras[LINES_MAX];
    const char *name = tracer->name_count ? tracer->names[turn % tracer->name_count].value : "echo_kernel";
    struct fp_event call = { .kind = FP_KIND_RUNTIME,
                             .fields = FP_HAS_CBID | FP_IS_LAUNCH,
                             .start_ns = push->at_ns,
                             .end_ns = push->at_ns + 100,
                             .vendor_id = { push->vendor_id },
                             .name = sink->name(sink->owner, "echoLaunch", FP_NAME_PLAIN),
                             .u.call = { .thread = push->thread, .cbid = 7 } };
    struct fp_event kernel = { .kind = FP_KIND_KERNEL,
                               .fields = FP_HAS_STREAM | FP_HAS_CONTEXT | FP_HAS_GEOMETRY | FP_HAS_REGISTERS |
                                         FP_HAS_SHARED | FP_HAS_OCCUPANCY | FP_HAS_QUEUED,
                               .start_ns = push->at_ns + 50,
                               .end_ns = push->at_ns + 50 + KERNEL_NS,
                               .vendor_id = { push->vendor_id },
                               .name = sink->name(sink->owner, name, FP_NAME_PLAIN),
                               .device = turn % 2,
                               .stream = 7,
                               .context = 1,
                               .u.kernel = { .grid = { 8, 16, 1 },
                                             .block = { 128, 1, 1 },
                                             .registers_per_thread = 224,
                                             .shared_bytes = 18816,
                                             .occupancy_percent = 6 },
                               .extras = extras,
                               .extra_count = make_extras(tracer, sink, extras) };
    if (kernel.extra_count)
        kernel.fields |= FP_HAS_EXTRAS;
    sink->event(sink->owner, &call);
    sink->event(sink->owner, &kernel);
    sink->correlate(sink->owner, call.vendor_id, FP_ID_OPERATOR, push->framework_id);
}

// Ranges are given to the operators that follow them on the same thread.
static void correlate_range(const struct fp_sink *sink, const struct push *range,
                            const struct push *operator_) {
    sink->correlate(sink->owner, (fp_vendor_id){ operator_->vendor_id }, FP_ID_RANGE, range->framework_id);
}

static int echo_drain(struct fp_tracer *tracer, const struct fp_sink *sink) {
    const struct push *range = NULL;
    size_t turn = 0;
    for (size_t at = 0; at < tracer->count; at++) {
        const struct push *push = &tracer->pushes[at];
        if (push->kind == FP_ID_RANGE) {
            range = push;
            continue;
        }
        emit_pair(tracer, sink, push, turn++);
        if (range)
            correlate_range(sink, range, push);
    }
    const char *bulk = getenv("FLAGPROF_ECHO_BULK");
    size_t more = bulk && tracer->count ? strtoull(bulk, NULL, 10) : 0;
    for (size_t at = 0; at < more; at++) {
        struct push push = tracer->pushes[at % tracer->count];
        push.vendor_id = tracer->next_vendor_id--;
        emit_pair(tracer, sink, &push, at);
    }
    tracer->count = 0;
    return 0;
}

static const struct fp_tracer_ops echo_ops = {
    .size = sizeof(echo_ops),
    .name = "echo",
    .open = echo_open,
    .close = echo_close,
    .describe = echo_describe,
    .device_count = echo_device_count,
    .device = echo_device,
    .start = echo_start,
    .stop = echo_stop,
    .drain = echo_drain,
    .push = echo_push,
    .pop = echo_pop,
};

// ---- What src/tracers offers in the real library

static struct fp_accelerator the_accelerator = { .name = "echo", .ops = &echo_ops };

int fp_accelerator_choose(struct fp_accelerator **accelerator, struct fp_error *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (getenv("FLAGPROF_ECHO_ABSENT")) {
        fp_error_set(err, "the echo is \"absent\"");
        return -ENODEV;
    }
    pthread_mutex_lock(&lock);
    int result = the_accelerator.tracer ? 0 : echo_ops.open(NULL, &the_accelerator.tracer, err);
    pthread_mutex_unlock(&lock);
    *accelerator = &the_accelerator;
    return result;
}

const char *fp_accelerator_name(const struct fp_accelerator *accelerator) {
    return accelerator->name;
}

const char *fp_accelerator_tracer(const struct fp_accelerator *accelerator) {
    return accelerator->ops->name;
}

int fp_accelerator_describe(struct fp_accelerator *accelerator, struct fp_tracer_description *description) {
    return accelerator->ops->describe(accelerator->tracer, description);
}

int fp_accelerator_device_count(struct fp_accelerator *accelerator) {
    return accelerator->ops->device_count(accelerator->tracer);
}

int fp_accelerator_device(struct fp_accelerator *accelerator, uint32_t ordinal, struct fp_device *device) {
    return accelerator->ops->device(accelerator->tracer, ordinal, device);
}

int fp_accelerator_synchronize(struct fp_accelerator *accelerator, struct fp_error *err) {
    (void)accelerator, (void)err;
    return -ENOSYS;
}

int fp_accelerator_prepare(struct fp_accelerator *accelerator, struct fp_error *err) {
    (void)accelerator, (void)err;
    return -ENOSYS;
}
