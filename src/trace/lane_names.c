// lane_names.c - which lanes are a device's, where no event says so: by the names that producers give them.
//
// In:  process_name and thread_name metadata, before the events that it is about (all of these producers
//      write it first).
// Out: a role for each lane, and the category of the slices on it that have none of their own.
//
// Sources: rocmProfileData's rpd2tracing ("GPU2") [SEEN in a public trace]; XProf's trace viewer export, which
// JAX and TensorFlow 2 use ("/device:GPU:0", threads "Stream #13(Compute)", "XLA Ops", ...), and TensorFlow 1's
// timeline ("/job:.../device:GPU:0/stream:all Compute") [KNOWN from their source, no public trace seen].

#include "trace/reader_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define MOST_PROCESSES 4096

// Lanes of a device's process that repeat the work of its other lanes under other names.
static const char *const derived[] = {
    "Steps",       "XLA Modules",  "TensorFlow Name Scope", "TensorFlow Ops", "Framework Name Scope",
    "Source code", "XLA TraceMe",  "Framework Ops",         "Launch Stats",   "Host Offload",
    "Data",        "Async XLA Ops"
};

static bool digits_only(struct fp_text text, int32_t *number) {
    uint64_t value;
    if (!text.size || text.size > 6 || !isdigit((unsigned char)text.at[0]) || !fp_number_u64(text, &value))
        return false;
    *number = (int32_t)value;
    return true;
}

static struct fp_text behind(struct fp_text text, const char *start) {
    size_t size = strlen(start);
    return fp_text_begins(text, start) ? (struct fp_text){ text.at + size, text.size - size }
                                       : (struct fp_text){ NULL, 0 };
}

// "GPU:0", "TPU:3 (pid 7)": the number behind the kind. False for a CPU, and for what is no such name.
static bool device_behind(struct fp_text text, int32_t *number, bool *tpu) {
    const char *colon = text.size ? memchr(text.at, ':', text.size) : NULL;
    if (!colon || fp_text_begins(text, "CPU"))
        return false;
    struct fp_text rest = { colon + 1, text.size - (size_t)(colon + 1 - text.at) };
    size_t digits = 0;
    while (digits < rest.size && isdigit((unsigned char)rest.at[digits]))
        digits++;
    rest.size = digits;
    *tpu = fp_text_begins(text, "TPU");
    return digits_only(rest, number);
}

// What a process of this name is.
static struct fp_device_process process_of(struct fp_text name) {
    struct fp_device_process process = { .device = -1 };
    int32_t number;
    struct fp_text rest = behind(name, "GPU");
    if (rest.size && rest.at[0] == ' ')
        rest = (struct fp_text){ rest.at + 1, rest.size - 1 };
    if (digits_only(rest, &number)) {
        process.device = number;
    } else if (fp_text_begins(name, "/device:")) {
        process.xprof = device_behind(behind(name, "/device:"), &number, &process.tpu);
        process.device = process.xprof ? number : -1;
    } else if (fp_text_begins(name, "/job:") && fp_text_has(name, "/stream:")) {
        const char *at = memmem(name.at, name.size, "/device:", 8);
        struct fp_text from = at ? (struct fp_text){ at + 8, name.size - (size_t)(at + 8 - name.at) }
                                 : (struct fp_text){ NULL, 0 };
        process.device = device_behind(from, &number, &process.tpu) ? number : -1;
    }
    return process;
}

static const struct fp_device_process *find_process(const struct fp_reader *reader,
                                                    const struct fp_trace_id *pid) {
    for (uint32_t i = 0; i < reader->process_count; i++)
        if (fp_trace_id_same(&reader->processes[i].pid, pid))
            return &reader->processes[i];
    return NULL;
}

void fp_lane_begin(const struct fp_reader *reader, struct fp_lane *lane) {
    const struct fp_device_process *process = find_process(reader, &lane->pid);
    lane->role = process ? FP_LANE_WORK : FP_LANE_UNKNOWN;
    lane->device = process ? process->device : -1;
}

static int learn_process(struct fp_reader *reader, struct fp_trace_id pid, struct fp_text name) {
    struct fp_device_process process = process_of(name);
    if (process.device < 0 || reader->process_count == MOST_PROCESSES || find_process(reader, &pid))
        return 0;
    struct fp_device_process *grown =
        realloc(reader->processes, (reader->process_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    reader->processes = grown;
    process.pid = pid;
    grown[reader->process_count++] = process;
    for (uint32_t i = 0; i < reader->lane_count; i++)
        if (reader->lanes[i].role == FP_LANE_UNKNOWN && fp_trace_id_same(&reader->lanes[i].pid, &pid))
            fp_lane_begin(reader, &reader->lanes[i]);
    return 0;
}

static void learn_thread(struct fp_reader *reader, struct fp_lane *lane, struct fp_text name) {
    const struct fp_device_process *process = find_process(reader, &lane->pid);
    if (!process || !process->xprof)
        return;
    bool repeats = !process->tpu && fp_text_equals(name, "XLA Ops");
    for (size_t i = 0; i < sizeof(derived) / sizeof(*derived); i++)
        repeats |= fp_text_equals(name, derived[i]);
    lane->role = repeats ? FP_LANE_DERIVED : FP_LANE_WORK;
}

int fp_lane_learn(struct fp_reader *reader) {
    const struct fp_trace_event *event = &reader->event;
    struct fp_lane *lane = &reader->lanes[event->lane];
    bool process = fp_text_equals(event->name, "process_name");
    if (!process && !fp_text_equals(event->name, "thread_name"))
        return 0;
    const struct fp_trace_field *name = fp_event_arg_named(event, "name");
    if (!name || name->type != '"')
        return 0;
    if (process)
        return learn_process(reader, lane->pid, fp_field_text(name)); // the lane's texts outlive the event
    learn_thread(reader, lane, fp_field_text(name));
    return 0;
}

enum fp_category fp_lane_category(uint8_t role, struct fp_text name) {
    static const struct {
        const char *start;
        enum fp_category category;
    } rows[] = {
        { "Memcpy", FP_CAT_MEMCPY }, { "memcpy", FP_CAT_MEMCPY },     { "MEMCPY", FP_CAT_MEMCPY },
        { "Copy", FP_CAT_MEMCPY },   { "Memset", FP_CAT_MEMSET },     { "memset", FP_CAT_MEMSET },
        { "MEMSET", FP_CAT_MEMSET }, { "FillBuffer", FP_CAT_MEMSET },
    };
    if (role == FP_LANE_DERIVED)
        return FP_CAT_GPU_ANNOTATION;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (fp_text_begins(name, rows[i].start))
            return rows[i].category;
    return FP_CAT_KERNEL;
}
