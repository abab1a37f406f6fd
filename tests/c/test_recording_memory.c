// test_recording_memory.c - every allocation of a recording failing in turn: less is recorded, and that is said.
//
// In:  a scripted tracer whose events need all that a recording can hold: growing lists, the side table, operators and
//      ranges, captures, mangled names, more names than the first table takes.
// Out: whatever differs from the recording that had memory, the ledger calls incomplete; what is there is right.
//      What leaks is the address sanitizer's to find.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flagprof/flagprof.h"
#include "scripted_tracer.h"

// ---- Allocations that fail

void *__real_malloc(size_t size);                                                            // NOLINT
void *__real_calloc(size_t count, size_t size);                                              // NOLINT
void *__real_realloc(void *old, size_t size);                                                // NOLINT
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset); // NOLINT
void *__wrap_malloc(size_t size);                                                            // NOLINT
void *__wrap_calloc(size_t count, size_t size);                                              // NOLINT
void *__wrap_realloc(void *old, size_t size);                                                // NOLINT
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset); // NOLINT

static atomic_long asked, failing_turn; // 0: none fails
static atomic_bool no_mappings;

static bool fails(void) {
    return atomic_fetch_add(&asked, 1) + 1 == atomic_load(&failing_turn);
}

void *__wrap_malloc(size_t size) { // NOLINT
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) { // NOLINT
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) { // NOLINT
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) { // NOLINT
    if (atomic_load(&no_mappings)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, size, protection, flags, file, offset);
}

// ---- What is recorded

enum { LAUNCHES = 700, FIRST_ID = 900000, NAMES = 300, THREAD = 11 };

static uint32_t launch_count;

static fp_name_id kernel_name(const struct fp_sink *sink, uint32_t number) {
    char text[1600];
    if (number == 5) { // longer than the demangler's own limit
        memcpy(text, "_Z1500", 6);
        memset(text + 6, 'k', 1500);
        memcpy(text + 1506, "v", 2);
    } else {
        snprintf(text, sizeof(text), "_ZN6kernel4workILi%uEEEvi", number % NAMES);
    }
    return sink->name(sink->owner, text, FP_NAME_MANGLED);
}

static void play_launch(const struct fp_sink *sink, uint32_t number) {
    int64_t at_ns = 1000 + (int64_t)number * 100;
    struct fp_extra extra = { .key = sink->name(sink->owner, "graph node id", FP_NAME_PLAIN),
                              .type = FP_EXTRA_INTEGER,
                              .value.integer = number };
    struct fp_event call = { .kind = FP_KIND_RUNTIME,
                             .fields = FP_IS_LAUNCH,
                             .start_ns = at_ns,
                             .end_ns = at_ns + 10,
                             .vendor_id = { FIRST_ID + number },
                             .name = sink->name(sink->owner, "cudaLaunchKernel", FP_NAME_PLAIN),
                             .u.call = { .thread = THREAD } };
    struct fp_event kernel = { .kind = FP_KIND_KERNEL,
                               .fields = FP_HAS_STREAM | FP_HAS_GEOMETRY,
                               .start_ns = at_ns + 20,
                               .end_ns = at_ns + 30,
                               .vendor_id = { FIRST_ID + number },
                               .name = kernel_name(sink, number),
                               .stream = number % 3,
                               .u.kernel = { .grid = { number, number % 50 ? 1 : 70000, 1 },
                                             .block = { 32, 1, 1 } },
                               .extras = &extra,
                               .extra_count = number % 2 };
    sink->event(sink->owner, &call);
    sink->correlate(sink->owner, kernel.vendor_id, FP_ID_OPERATOR, number / 2);
    sink->correlate(sink->owner, kernel.vendor_id, FP_ID_RANGE, number / 100);
    sink->event(sink->owner, &kernel);
}

static void play_capture(const struct fp_sink *sink, uint32_t number) {
    int64_t at_ns = 1050 + (int64_t)number * 100;
    static const uint32_t fields[] = { FP_BEGINS_CAPTURE, FP_IS_LAUNCH, FP_ENDS_CAPTURE };
    for (uint32_t at = 0; at < 3; at++) {
        struct fp_event event = { .kind = FP_KIND_RUNTIME,
                                  .fields = fields[at],
                                  .start_ns = at_ns + at * 10,
                                  .end_ns = at_ns + at * 10 + 5,
                                  .vendor_id = { FIRST_ID + 100000 + number * 3 + at },
                                  .u.call = { .thread = THREAD } };
        sink->event(sink->owner, &event);
    }
}

static int drain_all(struct fp_tracer *from, const struct fp_sink *sink) {
    if (from->done)
        return 0;
    from->done = true;
    for (uint32_t number = 0; number < launch_count; number++) {
        play_launch(sink, number);
        if (number % 100 == 50)
            play_capture(sink, number);
    }
    sink->note(sink->owner, "the first sentence");
    sink->note(sink->owner, "the second sentence");
    return 0;
}

static struct fp_tracer tracer;

// NULL: it could not begin.
static struct fp_recording *record(void) {
    static struct fp_tracer_ops ops;
    static struct fp_accelerator accelerator = { "scripted", &ops, &tracer };
    struct fp_recording *recording = NULL;
    ops = scripted_ops;
    ops.drain = drain_all;
    memset(&tracer, 0, sizeof(tracer));
    int result = fp_recording_start(&accelerator, NULL, &recording, NULL);
    if (result != 0) {
        assert_int_equal(result, -ENOMEM);
        return NULL;
    }
    assert_int_equal(fp_recording_stop(recording, 0, NULL), 0);
    fp_recording_finish(recording, INT64_MIN, INT64_MAX, NULL);
    return recording;
}

static struct fp_ledger ledger_of(const struct fp_recording *recording) {
    struct fp_ledger ledger = { .size = sizeof(ledger) };
    fp_recording_ledger(recording, &ledger);
    return ledger;
}

// ---- The same, or said to be less

static bool same_extras(struct fp_recording *left, struct fp_recording *right, size_t at) {
    const struct fp_extra *a, *b;
    size_t count = fp_recording_extras(left, at, &a);
    if (fp_recording_extras(right, at, &b) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fp_recording_name(left, a[i].key.value), fp_recording_name(right, b[i].key.value)) != 0 ||
            a[i].type != b[i].type)
            return false;
        if (a[i].type == FP_EXTRA_INTEGER ? a[i].value.integer != b[i].value.integer
                                          : strcmp(fp_recording_name(left, a[i].value.text.value),
                                                   fp_recording_name(right, b[i].value.text.value)) != 0)
            return false;
    }
    return true;
}

static bool same_record(struct fp_recording *left, struct fp_recording *right, size_t at) {
    struct fp_record a = *fp_recording_at(left, at), b = *fp_recording_at(right, at);
    if (strcmp(fp_recording_name(left, a.name), fp_recording_name(right, b.name)) != 0)
        return false;
    a.name = b.name = 0; // numbers are a recording's own
    return memcmp(&a, &b, sizeof(a)) == 0 && same_extras(left, right, at);
}

static bool same(struct fp_recording *left, struct fp_recording *right) {
    const struct fp_range *a, *b;
    size_t ranges = fp_recording_ranges(left, &a);
    if (fp_recording_count(left) != fp_recording_count(right) || fp_recording_ranges(right, &b) != ranges ||
        strcmp(fp_recording_notes(left), fp_recording_notes(right)) != 0)
        return false;
    for (size_t at = 0; at < ranges; at++)
        if (memcmp(&a[at], &b[at], sizeof(a[at])) != 0)
            return false;
    for (size_t at = 0; at < fp_recording_count(left); at++)
        if (!same_record(left, right, at))
            return false;
    return true;
}

// Nothing that is there may be another's.
static void check_what_is_there(const struct fp_recording *recording) {
    for (size_t at = 0; at < fp_recording_count(recording); at++) {
        const struct fp_record *record = fp_recording_at(recording, at);
        uint32_t number = record->vendor_id - FIRST_ID;
        if (fp_record_has(record, FP_HAS_FRAMEWORK_ID))
            assert_int_equal(record->framework_id, number / 2);
        if (fp_record_kind(record) == FP_KIND_KERNEL)
            assert_int_equal(record->start_ns, 1020 + (int64_t)number * 100);
    }
    struct fp_ledger ledger = ledger_of(recording);
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        assert_int_equal(ledger.rows[kind].seen, ledger.rows[kind].kept + ledger.rows[kind].outside_window +
                                                     ledger.rows[kind].no_memory);
    assert_int_equal(ledger.rows[FP_KIND_KERNEL].seen, launch_count);
}

static void each_allocation_failing_leaves_less_and_the_ledger_says_so(void **state) {
    (void)state;
    launch_count = LAUNCHES;
    atomic_store(&failing_turn, 0);
    atomic_store(&asked, 0);
    struct fp_recording *whole = record();
    long all = atomic_load(&asked);
    assert_non_null(whole);
    assert_true(ledger_of(whole).complete);
    bool reached = true;
    size_t incomplete = 0;
    // Those in the middle are of names, one like the other: every seventh of them.
    for (long turn = 1; reached; turn += turn < 100 || turn > all - 60 ? 1 : 7) {
        atomic_store(&asked, 0);
        atomic_store(&failing_turn, turn);
        struct fp_recording *recording = record();
        reached = atomic_load(&asked) >= turn;
        atomic_store(&failing_turn, 0);
        if (!recording)
            continue;
        check_what_is_there(recording);
        struct fp_ledger ledger = ledger_of(recording);
        char sentence[2048];
        int length = fp_ledger_sentence(&ledger, sentence, sizeof(sentence));
        if (!same(whole, recording) && ledger.complete)
            fail_msg("allocation %ld: something is missing, and the ledger says: %s", turn, sentence);
        if (!ledger.complete && (!strstr(sentence, "MISSING: ") || length < 20))
            fail_msg("allocation %ld: what is missing is not said: %s", turn, sentence);
        if (!reached)
            assert_true(ledger.complete);
        incomplete += !ledger.complete;
        fp_recording_free(recording);
    }
    assert_true(incomplete > 50);
    fp_recording_free(whole);
}

// Beyond so many records a recording's memory is address space taken once; where there is none it grows as before.
static void a_large_recording_without_address_space_is_whole_all_the_same(void **state) {
    (void)state;
    launch_count = 40000;
    struct fp_recording *whole = record();
    atomic_store(&no_mappings, true);
    struct fp_recording *recording = record();
    atomic_store(&no_mappings, false);
    assert_non_null(whole);
    assert_non_null(recording);
    assert_true(ledger_of(recording).complete);
    assert_true(same(whole, recording));
    fp_recording_free(recording);
    fp_recording_free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_failing_leaves_less_and_the_ledger_says_so),
        cmocka_unit_test(a_large_recording_without_address_space_is_whole_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
