// opening.c - how every vendor's tracer is opened and told of (opening.h).

#include "tracers/opening.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int fp_tracer_new(size_t bytes, const char *title, const struct fp_fork_mark *mark, struct fp_tracer **tracer,
                  struct fp_error *err) {
    *tracer = NULL;
    if (fp_fork_in_child(mark)) {
        fp_error_set(err, "this process was forked after %s was opened: it cannot be used here", title);
        return -ENODEV;
    }
    *tracer = calloc(1, bytes);
    if (*tracer)
        return 0;
    fp_error_set(err, "no memory for the %s tracer", title);
    return -ENOMEM;
}

int fp_tracer_check_start(const struct fp_fork_mark *mark, bool running, const char *title,
                          struct fp_error *err) {
    if (fp_fork_in_child(mark)) {
        fp_error_set(err, "%s cannot be used in a process forked from one that used it", title);
        return -ECHILD;
    }
    if (!running)
        return 0;
    fp_error_set(err, "a session of %s runs already: stop and drain it first", title);
    return -EBUSY;
}

const char *fp_tracer_library(const struct fp_tracer_options *options) {
    bool knows =
        options && options->size >= offsetof(struct fp_tracer_options, library) + sizeof(options->library);
    return knows ? options->library : NULL;
}

void fp_tracer_hand_out(void *to, const void *found) {
    size_t known, bytes;
    memcpy(&known, to, sizeof(known));
    memcpy(&bytes, found, sizeof(bytes));
    bytes = known < bytes ? known : bytes;
    memcpy(to, found, bytes);
    memcpy(to, &bytes, sizeof(bytes));
}

uint64_t fp_tracer_version(int (*ask)(int *version)) {
    int found = 0;
    return ask && ask(&found) == 0 && found > 0 ? (uint64_t)found : 0;
}

int fp_tracer_device(struct fp_device *device, uint32_t ordinal, int count,
                     int (*name)(char *name, int capacity, int device),
                     int (*memory)(size_t *bytes, int device)) {
    struct fp_device found = { .size = sizeof(found) };
    size_t bytes = 0;
    if (count < 0 || ordinal >= (uint32_t)count)
        return -EINVAL;
    if (name && name(found.name, (int)sizeof(found.name) - 1, (int)ordinal) != 0)
        found.name[0] = '\0';
    found.name[sizeof(found.name) - 1] = '\0';
    if (memory && memory(&bytes, (int)ordinal) == 0)
        found.total_memory_bytes = bytes;
    fp_tracer_hand_out(device, &found);
    return 0;
}
