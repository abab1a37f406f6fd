// producer.c - who recorded a trace (producer.h).
//
// In:  the header's values, the categories that were seen.
// Out: one line: FlagProf by its own key, torch by the keys that Kineto writes, others by "metadata" and
//      "otherData", and where there is no header by categories that only one producer has.

#include "analysis/producer.h"

#include <stdio.h>

#define MOST_DEPTH 6 // flagprof_merge keeps each rank's header: files, a file, header, flagprof

struct line {
    char *at;
    size_t room, used;
};

static void add(struct line *line, const char *before, struct fp_text text, const char *after) {
    char shown[120];
    if (!text.size || line->used >= line->room)
        return;
    fp_text_show(text, shown, sizeof(shown));
    int size = snprintf(line->at + line->used, line->room - line->used, "%s%s%s", before, shown, after);
    line->used += size > 0 ? (size_t)size : 0;
}

static struct fp_text member(struct fp_text object, const char *key) {
    struct fp_trace_field field;
    return object.size && object.at[0] == '{' && fp_json_find(object, key, &field)
               ? fp_field_text(&field)
               : (struct fp_text){ NULL, 0 };
}

static struct fp_text header(const struct fp_reader *reader, const char *key) {
    const struct fp_trace_header *found = fp_reader_header_named(reader, key);
    return found ? found->value : (struct fp_text){ NULL, 0 };
}

// A value's text without its quotes.
static struct fp_text bare(struct fp_text value) {
    bool quoted = value.size >= 2 && value.at[0] == '"';
    return quoted ? (struct fp_text){ value.at + 1, value.size - 2 } : value;
}

static void keep(char *out, size_t room, struct fp_text text) {
    if (text.size && !out[0])
        fp_text_show(text, out, room);
}

// ---- FlagProf's own

static void read_own(struct fp_text own, struct fp_producer *producer) {
    keep(producer->simulated, sizeof(producer->simulated), member(own, "simulated"));
    keep(producer->not_recorded, sizeof(producer->not_recorded), member(own, "not_recorded"));
    if (producer->recorded_by[0])
        return;
    struct line line = { producer->recorded_by, sizeof(producer->recorded_by), 0 };
    add(&line, "FlagProf ", member(own, "version"), "");
    add(&line, ": ", member(own, "accelerator"), "");
    add(&line, " through ", member(own, "tracer"), "");
    add(&line, " ", member(own, "library_version"), "");
}

// Every "flagprof" below the value: a merged file holds one for each rank.
static void read_each(struct fp_text value, unsigned depth, struct fp_producer *producer) {
    struct fp_json_walk walk = fp_json_walk_begin(value);
    struct fp_trace_field field;
    while (depth < MOST_DEPTH && fp_json_walk_next(&walk, &field)) {
        if (field.type != '{' && field.type != '[')
            continue;
        struct fp_text key = { field.key, field.key_size };
        if (fp_text_equals(key, "flagprof"))
            read_own(fp_field_text(&field), producer);
        else
            read_each(fp_field_text(&field), depth + 1, producer);
    }
}

// ---- Others'

static struct fp_text first_device(const struct fp_reader *reader) {
    struct fp_json_walk walk = fp_json_walk_begin(header(reader, "deviceProperties"));
    struct fp_trace_field field;
    if (fp_json_walk_next(&walk, &field))
        return member(fp_field_text(&field), "name");
    return (struct fp_text){ NULL, 0 };
}

// Kineto's header: output_json.cpp writes schemaVersion since 2021, the libraries' versions since 2024 [SEEN].
static void read_torch(const struct fp_reader *reader, struct line *line) {
    static const struct {
        const char *key, *before;
    } versions[] = { { "cupti_version", ", CUPTI " }, { "roctracer_version", ", roctracer " } };
    if (!header(reader, "schemaVersion").size)
        return;
    add(line, "", fp_text_of("torch.profiler (Kineto)"), "");
    add(line, ", ", first_device(reader), "");
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
        add(line, versions[i].before, bare(header(reader, versions[i].key)), "");
}

// Chrome and its developer tools, and exporters that name themselves [SEEN]. "highres-ticks" is what XProf's
// exporter writes, in JAX and TensorFlow 2 [KNOWN from its source].
static void read_metadata(const struct fp_reader *reader, struct line *line) {
    static const char *const objects[] = { "metadata", "otherData" };
    static const struct {
        const char *key, *before, *after;
    } names[] = { { "tool", "", "" },
                  { "producer", "", "" },
                  { "product-version", "", "" },
                  { "source", "", " (\"source\" in its metadata)" } };
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(*names) && !line->used; k++)
            add(line, names[k].before, member(header(reader, objects[i]), names[k].key), names[k].after);
    if (!line->used && member(header(reader, "metadata"), "highres-ticks").size)
        add(line, "", fp_text_of("XProf (JAX or TensorFlow)"), "");
}

// Without a header only the categories speak.
static void read_categories(const struct fp_reader *reader, struct line *line) {
    static const struct {
        const char *category, *producer;
    } rows[] = {
        { "async_npu", "its categories are torch_npu's (Ascend)" },
        { "gpu_op", "its categories are unitrace's" },
        { "kernel_dispatch", "its categories are rocprofv3's" },
        { "mtia_ccp_events", "its categories are torch.profiler's (Kineto)" },
        { "cuda_runtime", "its categories are torch.profiler's (Kineto)" },
        { "cpu_op", "its categories are torch.profiler's (Kineto)" },
        { "disabled-by-default-v8.cpu_profiler", "its categories are Chrome's" },
    };
    const struct fp_intern *names = fp_reader_names(reader);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !line->used && names; i++)
        if (fp_intern_find(names, fp_text_of(rows[i].category)) != FP_NO_ID)
            add(line, "the file does not say; ", fp_text_of(rows[i].producer), "");
}

void fp_producer_read(const struct fp_reader *reader, struct fp_producer *producer) {
    *producer = (struct fp_producer){ .recorded_by = "" };
    struct line line = { producer->recorded_by, sizeof(producer->recorded_by), 0 };
    struct fp_text own = header(reader, "flagprof"), merged = header(reader, "flagprof_merge");
    if (own.size)
        read_own(own, producer);
    if (merged.size)
        read_each(merged, 0, producer);
    line.used = strlen(producer->recorded_by);
    if (!line.used)
        read_torch(reader, &line);
    if (!line.used)
        read_metadata(reader, &line);
    if (!line.used)
        read_categories(reader, &line);
    if (!line.used)
        add(&line, "", fp_text_of("the file does not say"), "");
    if (merged.size)
        add(&line, "; ", fp_text_of("merged by FlagProf"), "");
}
