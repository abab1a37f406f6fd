// truth.c - what really happened: counts that core and facades keep, for tests to compare a profiler's ledger
// with.
//
// In:  one increment per thing done.
// Out: a copy of all counts, as a struct or as JSON.
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
    _Atomic uint64_t api_calls[FLAGSIM_API_COUNT];
    _Atomic uint64_t records[FLAGSIM_FATE_COUNT][FLAGSIM_RECORD_COUNT];
    _Atomic uint64_t counts[FLAGSIM_COUNT_COUNT];
    _Atomic int64_t kinds_armed;
} kept;

static const char *const fate_names[FLAGSIM_FATE_COUNT] = {
    [FLAGSIM_FATE_DELIVERED] = "delivered",
    [FLAGSIM_FATE_DROPPED] = "dropped",
    [FLAGSIM_FATE_LOST] = "lost",
    [FLAGSIM_FATE_NO_TIMING] = "no_timing",
    [FLAGSIM_FATE_END_BEFORE_START] = "end_before_start",
    [FLAGSIM_FATE_NO_END] = "no_end",
    [FLAGSIM_FATE_TOO_LONG] = "too_long",
    [FLAGSIM_FATE_NAME_NULL] = "name_null",
    [FLAGSIM_FATE_NAME_LONG] = "name_long",
    [FLAGSIM_FATE_NAME_DIRTY] = "name_dirty",
    [FLAGSIM_FATE_REORDERED] = "reordered",
    [FLAGSIM_FATE_LATE] = "late",
    [FLAGSIM_FATE_FOREIGN] = "foreign",
    [FLAGSIM_FATE_UNREACHABLE] = "unreachable",
};
static const char *const record_names[FLAGSIM_RECORD_COUNT] = {
    "kernel", "copy", "set", "runtime", "driver", "external", "sync", "overhead", "memory", "other",
};
static const char *const count_names[FLAGSIM_COUNT_COUNT] = {
#define X(name) #name,
    FLAGSIM_COUNTS(X)
#undef X
};

static void add(_Atomic uint64_t *count, uint64_t n) {
    atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

void truth_api(flagsim_api api) {
    add(&kept.api_calls[api], 1);
}

void flagsim_truth_add(flagsim_count count, uint64_t n) {
    if ((unsigned)count < FLAGSIM_COUNT_COUNT)
        add(&kept.counts[count], n);
}

void flagsim_truth_record(flagsim_fate fate, flagsim_record record, uint64_t n) {
    if ((unsigned)fate < FLAGSIM_FATE_COUNT && (unsigned)record < FLAGSIM_RECORD_COUNT)
        add(&kept.records[fate][record], n);
}

void flagsim_truth_arm(int change) {
    atomic_fetch_add(&kept.kinds_armed, change);
}

static uint64_t device_bytes(void) {
    uint64_t bytes = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        bytes += atomic_load(&sim.device[i].bytes);
    return bytes;
}

void flagsim_truth_read(flagsim_truth *truth) {
    flagsim_truth all = { .size = truth->size };
    for (int i = 0; i < FLAGSIM_API_COUNT; i++)
        all.api_calls[i] = atomic_load(&kept.api_calls[i]);
    for (int i = 0; i < FLAGSIM_FATE_COUNT; i++)
        for (int j = 0; j < FLAGSIM_RECORD_COUNT; j++)
            all.records[i][j] = atomic_load(&kept.records[i][j]);
#define X(name) all.name = atomic_load(&kept.counts[FLAGSIM_COUNT_##name]);
    FLAGSIM_COUNTS(X)
#undef X
    all.device_bytes = device_bytes();
    all.kinds_armed = (uint64_t)atomic_load(&kept.kinds_armed);
    memcpy(truth, &all, truth->size < sizeof all ? truth->size : sizeof all);
}

void flagsim_truth_reset(void) {
    for (int i = 0; i < FLAGSIM_API_COUNT; i++)
        atomic_store(&kept.api_calls[i], 0);
    for (int i = 0; i < FLAGSIM_FATE_COUNT; i++)
        for (int j = 0; j < FLAGSIM_RECORD_COUNT; j++)
            atomic_store(&kept.records[i][j], 0);
    for (int i = 0; i < FLAGSIM_COUNT_COUNT; i++)
        atomic_store(&kept.counts[i], 0);
}

struct text {
    char *to;
    size_t room;
    int length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t used = (size_t)text->length < text->room ? (size_t)text->length : text->room;
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was started two lines above
    int n = vsnprintf(text->room > used ? text->to + used : NULL, text->room - used, format, args);
    text->length += n > 0 ? n : 0;
    va_end(args);
}

int flagsim_truth_json(char *to, size_t bytes) {
    struct text text = { .room = bytes };
    text.to = to;
    flagsim_truth truth = { .size = sizeof truth };
    flagsim_truth_read(&truth);
    say(&text, "{\"api_calls\":{");
    for (int i = 1; i < FLAGSIM_API_COUNT; i++)
        say(&text, "%s\"%s\":%llu", i > 1 ? "," : "", flagsim_api_text((flagsim_api)i),
            (unsigned long long)truth.api_calls[i]);
    say(&text, "},\"records\":{");
    for (int i = 0; i < FLAGSIM_FATE_COUNT; i++) {
        say(&text, "%s\"%s\":{", i ? "," : "", fate_names[i]);
        for (int j = 0; j < FLAGSIM_RECORD_COUNT; j++)
            say(&text, "%s\"%s\":%llu", j ? "," : "", record_names[j],
                (unsigned long long)truth.records[i][j]);
        say(&text, "}");
    }
    say(&text, "}");
    for (int i = 0; i < FLAGSIM_COUNT_COUNT; i++)
        say(&text, ",\"%s\":%llu", count_names[i], (unsigned long long)atomic_load(&kept.counts[i]));
    say(&text, ",\"device_bytes\":%llu,\"kinds_armed\":%llu}", (unsigned long long)truth.device_bytes,
        (unsigned long long)truth.kinds_armed);
    return text.length;
}
