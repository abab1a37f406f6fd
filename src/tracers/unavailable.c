// unavailable.c - the tracer of platforms that have no activity API which FlagProf could read.
//
// In:  the accelerator's name.
// Out: a refusal that says why there is no device activity and what would bring it. It is never opened, so
//      nothing is armed, no empty device timeline is made, and CPU profiling goes on; who asked says it once
//      (the hook, the adaptor, the command). Its other operations exist because a row must have them.

#include "tracers/unavailable.h"

#include <errno.h>

static int refuse(const struct fp_tracer_options *options, struct fp_tracer **tracer, struct fp_error *err) {
    bool named = options && options->size >= offsetof(struct fp_tracer_options, accelerator) +
                                                 sizeof(options->accelerator);
    const char *accelerator = named && options->accelerator ? options->accelerator : "this accelerator";
    *tracer = NULL;
    fp_error_set(
        err,
        "no activity API of %s is known, so there is no device activity; the CPU is profiled all the "
        "same. A tracer from its vendor brings it: FLAGOS_TRACER_PLUGIN names one "
        "(docs/adding-a-vendor.md)",
        accelerator);
    return -ENOTSUP;
}

static void close_nothing(struct fp_tracer *tracer) {
    (void)tracer;
}

static int describe_nothing(struct fp_tracer *tracer, struct fp_tracer_description *description) {
    (void)tracer;
    (void)description;
    return -ENOTSUP;
}

static int count_nothing(struct fp_tracer *tracer) {
    (void)tracer;
    return 0;
}

static int no_device(struct fp_tracer *tracer, uint32_t ordinal, struct fp_device *device) {
    (void)tracer;
    (void)ordinal;
    (void)device;
    return -EINVAL;
}

static int start_nothing(struct fp_tracer *tracer, const struct fp_session_options *options,
                         struct fp_error *err) {
    (void)tracer;
    (void)options;
    fp_error_set(err, "there is nothing to record");
    return -ENOTSUP;
}

static int stop_nothing(struct fp_tracer *tracer, uint64_t timeout_ns, struct fp_error *err) {
    (void)tracer;
    (void)timeout_ns;
    fp_error_set(err, "nothing was started");
    return -EINVAL;
}

static int drain_nothing(struct fp_tracer *tracer, const struct fp_sink *sink) {
    (void)tracer;
    (void)sink;
    return 0;
}

const struct fp_tracer_ops fp_unavailable_ops = {
    .size = sizeof(fp_unavailable_ops),
    .name = "unavailable",
    .open = refuse,
    .close = close_nothing,
    .describe = describe_nothing,
    .device_count = count_nothing,
    .device = no_device,
    .start = start_nothing,
    .stop = stop_nothing,
    .drain = drain_nothing,
};
