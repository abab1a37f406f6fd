// fuzz_trace_reader.c - any bytes at all, read as a trace: strict, with salvage, packed, in blocks of every size, judged.
//
// In:  bytes as a file would hold them (gzip and zstd are told by their first bytes).
// Out: nothing; it must not crash, hang, leak or read two ways differently.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "analysis/stats.h"
#include "trace/reader.h"

struct outcome {
    int code;
    bool packed;
    uint64_t events, digest, lost;
};

static uint64_t mix(uint64_t digest, uint64_t value) {
    return (digest ^ value) * 0x9E3779B97F4A7C15ULL + 1;
}

// Asks the event everything that analyses ask.
static uint64_t digest_of(const struct fp_trace_event *event) {
    uint64_t value = 0, digest = mix(event->byte, (uint64_t)event->ts_ns);
    digest = mix(mix(digest, (uint64_t)event->dur_ns), event->name_id);
    digest = mix(mix(digest, event->lane), event->id.number);
    digest = mix(digest, fp_text_hash(event->raw.at, event->raw.size));
    for (uint32_t i = 0; i < event->arg_count; i++) {
        struct fp_json_walk walk = fp_json_walk_begin(fp_field_text(&event->args[i]));
        struct fp_trace_field inner;
        while (fp_json_walk_next(&walk, &inner))
            digest = mix(digest, inner.value_size);
        digest = mix(digest, event->args[i].key_size);
    }
    if (fp_event_external_id(event, &value) || fp_event_correlation(event, &value))
        digest = mix(digest, value);
    return digest;
}

static struct outcome read_once(const uint8_t *bytes, size_t size, struct fp_reader_options options,
                                bool judge) {
    struct outcome outcome = { 0 };
    struct fp_error err = { "" };
    struct fp_source *source;
    struct fp_reader *reader;
    const struct fp_trace_event *event;
    options.size = sizeof(options);
    options.value_limit = 1 << 22;
    outcome.code = fp_source_open_memory("fuzz.json", bytes, size, &source, &err);
    if (!outcome.code)
        outcome.code = fp_reader_open_source(source, &options, &reader, &err);
    if (outcome.code)
        return outcome;
    outcome.packed = fp_source_packing(source) != FP_PACKING_PLAIN;
    struct fp_stats *stats = judge ? fp_stats_new() : NULL;
    struct fp_check *check = judge ? fp_check_new(FP_RULE_SET_TORCH) : NULL;
    while ((outcome.code = fp_reader_next(reader, &event, &err)) == 1) {
        outcome.digest = mix(outcome.digest, digest_of(event));
        if (judge && (fp_stats_add(stats, event) != 0 || fp_check_add(check, event) != 0))
            abort();
    }
    if ((outcome.code != 0) != (err.text[0] != '\0'))
        abort(); // an error without a sentence, or a sentence without an error
    for (const char *at = err.text; *at; at++)
        if ((unsigned char)*at < 0x20)
            abort(); // raw bytes of the file never reach a message
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    outcome.events = summary.events;
    outcome.lost = summary.lost_bytes;
    if (judge && outcome.code == 0 &&
        (fp_check_finish(check, reader) != 0 || fp_stats_finish(stats, reader) != 0))
        abort();
    fp_check_free(check);
    fp_stats_free(stats);
    fp_reader_close(reader);
    return outcome;
}

static void must_agree(struct outcome a, struct outcome b) {
    if (a.code == b.code && a.events == b.events && a.digest == b.digest)
        return;
    if (a.packed) // how much a damaged stream yields before the damage shows depends on how much is asked for
                  // at once
        return;
    fprintf(stderr, "two readings differ: code %d and %d, %llu and %llu events\n", a.code, b.code,
            (unsigned long long)a.events, (unsigned long long)b.events);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fp_reader_options large = { .threads = 1 },
                             small = { .threads = 1, .block_bytes = 64 + size % 5 * 64 };
    struct fp_reader_options salvage = { .threads = 1, .salvage = true };
    struct fp_reader_options ahead = { .threads = 2, .block_bytes = small.block_bytes };
    struct outcome one = read_once(bytes, size, large, true);
    must_agree(one, read_once(bytes, size, small, false));
    must_agree(one, read_once(bytes, size, ahead, false));
    (void)read_once(bytes, size, salvage, true);
    salvage.block_bytes = small.block_bytes;
    (void)read_once(bytes, size, salvage, false);
    return 0;
}
