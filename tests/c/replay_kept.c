// replay_kept.c - reads what `flagprof conformance` left of a failed row, on any machine: the buffers of a vendor's
// library go once more through the decoder that read them there.
//
// In:  replay_kept FOLDER [ACCELERATOR]: PID.bin, PID.strings and PID.about of FLAGOS_KEEP_BUFFERS (keep.h), and
//      story.tsv, which says whose they are (else ACCELERATOR does).
// Out: a line an event, in the vendor's times; what was lost and what was noted; how many there are of each kind.
//      Status 0, 2 where the folder cannot be read.
//
// What no buffer holds comes from PID.about: where the library's iterator said that records begin, the calls that
// callbacks told of (GCU, DCU), the library's names of calls.

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect_sink.h"
#include "replay.h"
#include "tracers/cupti_decode.h"
#include "tracers/cupti_names.h"
#include "tracers/cupti_ppu_layout.h"
#include "tracers/mcpti_layout.h"
#include "tracers/mspti_decode.h"
#include "tracers/mupti_layout.h"
#include "tracers/roctracer_decode.h"
#include "tracers/topspti_calibrate.h"
#include "tracers/twin_decode.h"

enum { CALLS_MAX = 1 << 16, CALL_BYTES = 512, NAMES_MAX = 4096 };

struct call_name {
    uint32_t domain, cbid;
    char text[128];
};

static struct {
    struct replay set;
    bool *starts; // of all buffers one behind the other: a record begins at this byte
    struct fp_tops_session session;
    uint8_t (*calls)[CALL_BYTES];
    size_t call_count;
    struct call_name names[NAMES_MAX];
    size_t name_count;
    struct collected all;
} kept;

static const char *text_at(void *owner, uint64_t address) {
    (void)owner;
    return replay_text(&kept.set, address);
}

static const char *name_of_call(void *owner, uint32_t domain, uint32_t cbid) {
    (void)owner;
    for (size_t at = 0; at < kept.name_count; at++)
        if (kept.names[at].domain == domain && kept.names[at].cbid == cbid)
            return kept.names[at].text;
    return NULL;
}

// ---- PID.about

static size_t first_byte_of(size_t buffer) {
    size_t before = 0;
    for (size_t at = 0; at < buffer; at++)
        before += kept.set.buffers[at].valid_size;
    return before;
}

static void read_call(const char *hex) {
    if (kept.call_count == CALLS_MAX)
        return;
    uint8_t *call = kept.calls[kept.call_count++];
    unsigned byte;
    for (size_t at = 0; at < CALL_BYTES && sscanf(hex + 2 * at, "%2x", &byte) == 1; at++)
        call[at] = (uint8_t)byte;
}

static void read_line(const char *line) {
    struct fp_tops_session seen = { .earliest = 0 };
    size_t buffer, offset;
    int first, length;
    struct call_name *name = &kept.names[kept.name_count];
    if (sscanf(line, "record %zu %zu", &buffer, &offset) == 2) {
        if (buffer < kept.set.buffer_count && offset < kept.set.buffers[buffer].valid_size)
            kept.starts[first_byte_of(buffer) + offset] = true;
    } else if (sscanf(line,
                      "session earliest %" SCNu64 " begun %" SCNu64 " latest %" SCNu64 " armed %" SCNx64
                      " devices %" SCNu32 " process %" SCNu32 " first %d",
                      &seen.earliest, &seen.begun, &seen.latest, &seen.armed, &seen.device_count,
                      &seen.process, &first) == 7) {
        seen.on_first = first != 0;
        if (kept.session.earliest) { // several sessions: one that holds them all
            seen.earliest = kept.session.earliest;
            seen.begun = kept.session.begun;
        }
        kept.session = seen;
    } else if (strncmp(line, "call ", 5) == 0) {
        read_call(line + 5);
    } else if (kept.name_count + 1 < NAMES_MAX &&
               sscanf(line, "name %" SCNu32 " %" SCNu32 " %n%127s", &name->domain, &name->cbid, &length,
                      name->text) == 3) {
        kept.name_count += !name_of_call(NULL, name->domain, name->cbid);
    }
}

static bool read_about(const char *stem) {
    char path[4200], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "%s.about", stem);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (getline(&line, &room, file) > 0)
        read_line(line);
    free(line);
    fclose(file);
    return true;
}

// ---- The library's iterator, as it stepped then

static int next_record(uint8_t *buffer, size_t valid, void **record) {
    size_t number = 0;
    while (number < kept.set.buffer_count && kept.set.buffers[number].bytes != buffer)
        number++;
    if (number == kept.set.buffer_count)
        return 12;
    const bool *starts = kept.starts + first_byte_of(number);
    for (size_t at = *record ? (size_t)((uint8_t *)*record - buffer) + 1 : 0; at < valid; at++)
        if (starts[at]) {
            *record = buffer + at;
            return 0;
        }
    return 12;
}

static uint32_t next_of_cupti(uint8_t *buffer, size_t valid, void **record) {
    return (uint32_t)next_record(buffer, valid, record);
}

// ---- A decoder each

static bool decode_cupti(const char *version) {
    const char *number = strstr(version, "API ");
    struct fp_cupti_layout layout;
    if (!number || !fp_cupti_layout_find(&layout, (uint32_t)strtoul(number + 4, NULL, 10), NULL, NULL))
        return false;
    struct fp_cupti_decoder_options options = {
        .layout = &layout, .next = next_of_cupti, .text = text_at, .all_calls = true
    };
    struct fp_cupti_decoder *decoder = fp_cupti_decoder_new(&options);
    for (size_t at = 0; decoder && at < kept.set.buffer_count; at++)
        fp_cupti_decode(decoder, &kept.all.sink, kept.set.buffers[at].bytes, kept.set.buffers[at].valid_size);
    if (decoder)
        fp_cupti_decode_end(decoder, &kept.all.sink);
    fp_cupti_decoder_free(decoder);
    return true;
}

static bool decode_twin(const struct fp_twin_layout *layout, fp_twin_next_fn next, const char *prefix,
                        const char *const known_prefixes[2]) {
    struct fp_twin_surroundings around = { .call_name = name_of_call };
    char unknown[2][64];
    snprintf(unknown[0], sizeof(unknown[0]), "%sDriverCall_", prefix);
    snprintf(unknown[1], sizeof(unknown[1]), "%sRuntimeCall_", prefix);
    struct fp_twin_decoder_options options = {
        .layout = layout,
        .log_name = "replay",
        .next = next,
        .text = text_at,
        .known_name = layout == &fp_cupti_ppu_layout ? fp_cupti_api_name_known : NULL,
        .library_name = name_of_call,
        .prefixes = { NULL, known_prefixes[0], known_prefixes[1] },
        .unknown = { NULL, unknown[0], unknown[1] },
        .all_calls = true,
    };
    struct fp_twin_decoder *decoder = fp_twin_decoder_new(&options);
    for (size_t at = 0; decoder && at < kept.set.buffer_count; at++)
        fp_twin_decode(decoder, &kept.all.sink, &around, kept.set.buffers[at].bytes,
                       kept.set.buffers[at].valid_size);
    if (decoder)
        fp_twin_decode_end(decoder, &kept.all.sink);
    fp_twin_decoder_free(decoder);
    return true;
}

static bool decode_ppu(const char *version) {
    (void)version;
    return decode_twin(&fp_cupti_ppu_layout, next_record, "cu", (const char *const[]){ "cu", "cuda" });
}

static bool decode_mcpti(const char *version) {
    (void)version;
    return decode_twin(&fp_mcpti_layout, NULL, "mc", (const char *const[]){ "mc", "mc" });
}

static bool decode_mupti(const char *version) {
    (void)version;
    return decode_twin(&fp_mupti_layout, next_record, "musa", (const char *const[]){ "mu", "musa" });
}

static bool decode_mspti(const char *version) {
    (void)version;
    struct fp_mspti_decoder_options options = {
        .text = text_at, .copies = true, .sets = true, .all_calls = true
    };
    struct fp_mspti_decoder *decoder = fp_mspti_decoder_new(&options);
    for (size_t at = 0; decoder && at < kept.set.buffer_count; at++)
        fp_mspti_decode(decoder, &kept.all.sink, kept.set.buffers[at].bytes, kept.set.buffers[at].valid_size,
                        INT64_MAX);
    if (decoder)
        fp_mspti_decode_end(decoder, &kept.all.sink);
    fp_mspti_decoder_free(decoder);
    return true;
}

static void put_work(void *owner, const struct fp_roc_work *work) {
    fp_roc_decode_work(owner, &kept.all.sink, work);
}

static const char *name_of_hip_call(void *owner, uint32_t cid) {
    (void)owner;
    for (size_t at = 0; at < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); at++)
        if (fp_hip_calls[at].id == cid)
            return fp_hip_calls[at].name;
    return NULL;
}

// A word that leads to no text here would be followed.
static void hide_dead_names(struct replay_buffer *buffer) {
    for (size_t at = 0; at + sizeof(struct fp_roc_record) <= buffer->valid_size;
         at += sizeof(struct fp_roc_record)) {
        struct fp_roc_record record;
        memcpy(&record, buffer->bytes + at, sizeof(record));
        if (record.domain == FP_ROC_DOMAIN_HIP_OPS && record.op == FP_ROC_OP_DISPATCH &&
            !text_at(NULL, (uintptr_t)record.u.kernel_name))
            record.u.kernel_name = NULL;
        memcpy(buffer->bytes + at, &record, sizeof(record));
    }
}

static bool decode_roctracer(const char *version) {
    static const struct fp_hip_call *apis[1024];
    (void)version;
    for (size_t at = 0; at < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); at++)
        if (fp_hip_calls[at].id < 1024)
            apis[fp_hip_calls[at].id] = &fp_hip_calls[at];
    struct fp_roc_decoder_options options = { .apis = apis,
                                              .api_count = 1024,
                                              .call_name = name_of_hip_call,
                                              .device_count = INT32_MAX,
                                              .first_node = -1,
                                              .all_calls = true };
    struct fp_roc_decoder *decoder = fp_roc_decoder_new(&options);
    struct fp_text_arena *names = fp_text_arena_new(1 << 24, 1 << 16);
    for (size_t at = 0; decoder && at < kept.call_count; at++) {
        struct fp_roc_call call;
        memcpy(&call, kept.calls[at], sizeof(call));
        fp_roc_decode_call(decoder, &kept.all.sink, &call);
    }
    for (size_t at = 0; decoder && names && at < kept.set.buffer_count; at++) {
        struct replay_buffer *buffer = &kept.set.buffers[at];
        hide_dead_names(buffer);
        fp_roc_read_records((char *)buffer->bytes, (char *)buffer->bytes + buffer->valid_size, names,
                            put_work, decoder);
    }
    if (decoder)
        fp_roc_decode_held(decoder, &kept.all.sink, true);
    fp_roc_decoder_free(decoder);
    fp_text_arena_free(names);
    return true;
}

static bool copy_text_at(void *owner, uint64_t address, char *text, size_t capacity) {
    const char *found = text_at(owner, address);
    return found && snprintf(text, capacity, "%s", found) > 0;
}

static bool is_thread(void *owner, uint32_t thread) {
    (void)owner;
    for (size_t at = 0; at < kept.call_count; at++) {
        struct fp_tops_call call;
        memcpy(&call, kept.calls[at], sizeof(call));
        if (call.thread == thread)
            return true;
    }
    return thread == kept.session.process;
}

// The layout is found out once more; calls and buffers are then read by it.
static bool decode_topspti(const char *version) {
    struct fp_tops_layout layout = { .runtime_domain = FP_TOPS_RUNTIME_DOMAIN,
                                     .driver_domain = FP_TOPS_DRIVER_DOMAIN };
    char why[200] = "";
    (void)version;
    kept.session.next = next_record;
    kept.session.call_name = name_of_call;
    kept.session.text = copy_text_at;
    kept.session.is_thread = is_thread;
    struct fp_tops_decoder_options options = { .layout = &layout,
                                               .next = next_record,
                                               .call_name = name_of_call,
                                               .text = copy_text_at,
                                               .device_count = kept.session.device_count,
                                               .process = kept.session.process,
                                               .all_calls = true };
    struct fp_tops_decoder *decoder = fp_tops_decoder_new(&options);
    struct fp_tops_evidence *evidence = fp_tops_evidence_new();
    struct fp_tops_call call;
    for (size_t at = 0; evidence && at < kept.call_count; at++) {
        memcpy(&call, kept.calls[at], sizeof(call));
        fp_tops_evidence_add_call(evidence, &layout, &call);
    }
    for (size_t at = 0; evidence && at < kept.set.buffer_count; at++)
        fp_tops_evidence_add_buffer(evidence, &kept.session, kept.set.buffers[at].bytes,
                                    kept.set.buffers[at].valid_size);
    bool agreed =
        evidence && decoder &&
        fp_tops_evidence_judge(evidence, &kept.session, &layout, why, sizeof(why)) == FP_TOPS_AGREED;
    printf("layout\t%s%s\n", agreed ? "agreed" : "not known: ", why);
    for (size_t at = 0; agreed && at < kept.call_count; at++) {
        memcpy(&call, kept.calls[at], sizeof(call));
        fp_tops_decode_call(decoder, &kept.all.sink, &call);
    }
    for (size_t at = 0; agreed && at < kept.set.buffer_count; at++)
        fp_tops_decode_buffer(decoder, &kept.all.sink, kept.set.buffers[at].bytes,
                              kept.set.buffers[at].valid_size);
    fp_tops_evidence_free(evidence);
    fp_tops_decoder_free(decoder);
    return true;
}

static const struct {
    const char *accelerator;
    bool (*decode)(const char *version);
} vendors[] = {
    { "cuda", decode_cupti },  { "ppu", decode_ppu },       { "metax", decode_mcpti },
    { "musa", decode_mupti },  { "dcu", decode_roctracer }, { "ascend", decode_mspti },
    { "gcu", decode_topspti },
};

// ---- What came out

static const char *const kinds[FP_KIND_COUNT + 1] = { "kernel",   "memcpy", "memset",     "runtime", "driver",
                                                      "overhead", "sync",   "annotation", "unknown" };

static void print_event(const struct fp_event *event) {
    printf("%s\t%s\t%" PRId64 "\t%" PRId64 "\tid %" PRIu32 "\tdevice %d", kinds[event->kind],
           collected_name(&kept.all, event->name), event->start_ns, event->end_ns, event->vendor_id.value,
           (int)event->device);
    if (event->kind == FP_KIND_KERNEL && event->fields & FP_HAS_GEOMETRY)
        printf("\tgrid %" PRIu32 " %" PRIu32 " %" PRIu32 "\tblock %" PRIu32 " %" PRIu32 " %" PRIu32,
               event->u.kernel.grid[0], event->u.kernel.grid[1], event->u.kernel.grid[2],
               event->u.kernel.block[0], event->u.kernel.block[1], event->u.kernel.block[2]);
    if ((event->kind == FP_KIND_MEMCPY || event->kind == FP_KIND_MEMSET) && event->fields & FP_HAS_BYTES)
        printf("\t%" PRIu64 " bytes",
               event->kind == FP_KIND_MEMCPY ? event->u.copy.bytes : event->u.set.bytes);
    putchar('\n');
}

static void print_all(void) {
    static const char *const losses[FP_LOSS_COUNT] = { "dropped", "no timing", "malformed", "unknown kind",
                                                       "uncounted" };
    for (size_t at = 0; at < kept.all.event_count; at++)
        print_event(&kept.all.events[at].event);
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        for (int reason = 0; reason < FP_LOSS_COUNT; reason++)
            if (kept.all.lost[kind][reason])
                printf("lost\t%s\t%s\t%" PRIu64 "\n", kinds[kind], losses[reason],
                       kept.all.lost[kind][reason]);
    for (char *at = kept.all.notes, *line; (line = strsep(&at, "\n")) && *line;)
        printf("note\t%s\n", line);
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        printf("count\t%s\t%zu\n", kinds[kind], collected_count(&kept.all, (enum fp_kind)kind));
}

// ---- The folder

// The value behind "fact KEY" in story.tsv.
static bool read_fact(const char *folder, const char *key, char *value, size_t capacity) {
    char path[4200], *line = NULL, wanted[64];
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof(path), "%s/story.tsv", folder);
    snprintf(wanted, sizeof(wanted), "fact\t%s\t", key);
    FILE *file = fopen(path, "r");
    while (file && !found && getline(&line, &room, file) > 0) {
        found = strncmp(line, wanted, strlen(wanted)) == 0;
        if (found)
            snprintf(value, capacity, "%.*s", (int)strcspn(line + strlen(wanted), "\n"),
                     line + strlen(wanted));
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

// Of several runs in one folder the last, which story.tsv tells of.
static bool find_stem(const char *folder, char *stem, size_t capacity) {
    DIR *entries = opendir(folder);
    struct timespec newest = { 0, 0 };
    bool found = false;
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        size_t length = strlen(entry->d_name);
        struct stat about;
        if (length <= 4 || strcmp(entry->d_name + length - 4, ".bin") != 0 ||
            fstatat(dirfd(entries), entry->d_name, &about, 0) != 0)
            continue;
        bool newer = about.st_mtim.tv_sec != newest.tv_sec ? about.st_mtim.tv_sec > newest.tv_sec
                                                           : about.st_mtim.tv_nsec > newest.tv_nsec;
        if (newer) {
            newest = about.st_mtim;
            snprintf(stem, capacity, "%s/%.*s", folder, (int)length - 4, entry->d_name);
        }
        found = true;
    }
    if (entries)
        closedir(entries);
    return found;
}

static bool load(const char *folder) {
    char stem[4096];
    if (!find_stem(folder, stem, sizeof(stem)) || !replay_load_files(&kept.set, stem))
        return false;
    kept.starts = calloc(first_byte_of(kept.set.buffer_count) + 1, 1);
    kept.calls = calloc(CALLS_MAX, CALL_BYTES);
    return kept.starts && kept.calls && read_about(stem);
}

static void unload(void) {
    collect_end(&kept.all);
    replay_free(&kept.set);
    free(kept.starts);
    free(kept.calls);
}

static bool decode(const char *accelerator, const char *version) {
    for (size_t at = 0; at < sizeof(vendors) / sizeof(vendors[0]); at++)
        if (strcmp(vendors[at].accelerator, accelerator) == 0)
            return vendors[at].decode(version);
    return false;
}

int main(int argc, char **argv) {
    char accelerator[64] = "", version[256] = "";
    if (argc < 2 || !load(argv[1])) {
        fprintf(stderr, "replay_kept: no buffers with .strings and .about in %s\n",
                argc < 2 ? "FOLDER" : argv[1]);
        return 2;
    }
    read_fact(argv[1], "accelerator", accelerator, sizeof(accelerator));
    read_fact(argv[1], "version", version, sizeof(version));
    if (argc > 2)
        snprintf(accelerator, sizeof(accelerator), "%s", argv[2]);
    collect_begin(&kept.all);
    bool decoded = decode(accelerator, version);
    if (decoded)
        print_all();
    else
        fprintf(stderr, "replay_kept: nothing reads the records of %s, version %s\n", accelerator, version);
    unload();
    return decoded ? 0 : 2;
}
