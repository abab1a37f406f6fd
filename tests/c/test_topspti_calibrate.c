// test_topspti_calibrate.c - records of TOPSPTI by hand, from which their layout is found out: how long one is where
// none was ever followed by another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "collect_sink.h"
#include "tracers/topspti_calibrate.h"

#define NOW UINT64_C(5000000000)

enum {
    SET = 2,
    RUNTIME = 5,
    SET_BYTES = 56,
    RUNTIME_BYTES = 40,
    PADDING = 32,
    LESS_PADDING = 8,
    SECOND = 2048,
    THREAD = 777,
    PROCESS = 776
};
enum { MEMSET_ASYNC = 2, LAUNCH = 24, DOMAIN = 2 };

static struct {
    _Alignas(8) uint8_t bytes[4096];
    size_t valid;
} buffer;

static size_t sizes[FP_TOPS_KINDS];
static struct collected all;

// ---- The library's part

static int next_record(uint8_t *bytes, size_t valid, void **record) {
    uint8_t *at = *record ? (uint8_t *)*record + sizes[fp_tops_word(*record, 0)] : bytes;
    if (at >= bytes + valid || fp_tops_word(at, 0) == 0)
        return 1;
    *record = at;
    return 0;
}

static const char *call_name(void *owner, uint32_t domain, uint32_t cbid) {
    (void)owner;
    return domain != DOMAIN       ? NULL
           : cbid == LAUNCH       ? "topsLaunchKernel"
           : cbid == MEMSET_ASYNC ? "topsMemsetAsync"
                                  : NULL;
}

static bool read_text(void *owner, uint64_t address, char *text, size_t capacity) {
    (void)owner;
    (void)address;
    (void)text;
    (void)capacity;
    return false;
}

static bool is_thread(void *owner, uint32_t thread) {
    (void)owner;
    return thread == THREAD;
}

static const struct fp_tops_session session = {
    .next = next_record,
    .call_name = call_name,
    .text = read_text,
    .is_thread = is_thread,
    .earliest = NOW,
    .begun = NOW,
    .latest = NOW + 1000000,
    .armed = 1 << SET | 1 << RUNTIME,
    .device_count = 1,
    .process = PROCESS,
};

// ---- Records, in the layout that is CUPTI's

static void put(size_t at, uint64_t value, size_t bytes) {
    memcpy(buffer.bytes + buffer.valid + at, &value, bytes);
}

static void add_call(uint32_t number, uint32_t cbid) {
    put(0, RUNTIME, 4);
    put(4, cbid, 4);
    put(8, NOW + 100 * number, 8);
    put(16, NOW + 100 * number + 40, 8);
    put(24, PROCESS, 4);
    put(28, THREAD, 4);
    put(32, 90000 + number, 4);
    buffer.valid += sizes[RUNTIME];
}

static void add_set(uint32_t number) {
    put(0, SET, 4);
    put(4, 3, 4);
    put(8, 640, 8);
    put(16, NOW + 100 * number + 50, 8);
    put(24, NOW + 100 * number + 90, 8);
    put(36, 1, 4);
    put(40, 7, 4);
    put(44, 90000 + number, 4);
    buffer.valid += sizes[SET];
}

static int begin(void **state) {
    (void)state;
    memset(&buffer, 0, sizeof(buffer));
    sizes[SET] = SET_BYTES;
    sizes[RUNTIME] = RUNTIME_BYTES;
    collect_begin(&all);
    return 0;
}

static int end(void **state) {
    (void)state;
    collect_end(&all);
    return 0;
}

// A set stands last in each of two buffers, of which more counts as filled than the iterator gives.
static struct fp_tops_layout find_out(void) {
    struct fp_tops_layout layout = { .runtime_domain = DOMAIN };
    struct fp_tops_evidence *evidence = fp_tops_evidence_new();
    char why[200] = "";
    assert_non_null(evidence);
    for (uint32_t number = 1; number < 6; number++)
        add_call(number, number == 5 ? MEMSET_ASYNC : LAUNCH);
    add_set(5);
    fp_tops_evidence_add_buffer(evidence, &session, buffer.bytes, buffer.valid + PADDING);
    buffer.valid = SECOND;
    add_call(6, MEMSET_ASYNC);
    add_set(6);
    fp_tops_evidence_add_buffer(evidence, &session, buffer.bytes + SECOND,
                                buffer.valid - SECOND + LESS_PADDING);
    if (fp_tops_evidence_judge(evidence, &session, &layout, why, sizeof(why)) != FP_TOPS_AGREED)
        fail_msg("%s", why);
    fp_tops_evidence_free(evidence);
    memset(&buffer, 0, sizeof(buffer));
    assert_int_equal(layout.kinds[SET].sort, FP_TOPS_SET);
    assert_int_equal(layout.kinds[SET].correlation, 44);
    assert_int_equal(layout.kinds[RUNTIME].bytes, RUNTIME_BYTES);
    return layout;
}

static void decode(const struct fp_tops_layout *layout) {
    const struct fp_tops_decoder_options options = {
        .layout = layout,
        .next = next_record,
        .call_name = call_name,
        .text = read_text,
        .device_count = 1,
        .process = PROCESS,
    };
    struct fp_tops_decoder *decoder = fp_tops_decoder_new(&options);
    assert_non_null(decoder);
    fp_tops_decode_buffer(decoder, &all.sink, buffer.bytes, buffer.valid);
    fp_tops_decoder_free(decoder);
}

static void a_kind_found_out_from_a_buffers_last_record_takes_what_is_shorter_than_its_room(void **state) {
    (void)state;
    struct fp_tops_layout layout = find_out();
    add_call(7, MEMSET_ASYNC);
    add_set(7); // followed by another: here it is seen how long it is
    add_call(8, MEMSET_ASYNC);
    add_set(8);
    decode(&layout);
    assert_int_equal(collected_count(&all, FP_KIND_MEMSET), 2);
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), 2);
    assert_int_equal(collected_lost(&all), 0);
}

static void of_such_a_kind_nothing_is_read_behind_a_record(void **state) {
    (void)state;
    struct fp_tops_layout layout = find_out();
    sizes[SET] = 40; // ends before the id of its call
    add_set(7);
    add_call(7, MEMSET_ASYNC);
    decode(&layout);
    assert_int_equal(collected_count(&all, FP_KIND_MEMSET), 0);
    assert_int_equal(all.lost[FP_KIND_MEMSET][FP_LOSS_MALFORMED], 1);
}

static void an_iterator_that_ends_early_is_noticed_once_the_size_was_seen(void **state) {
    (void)state;
    struct fp_tops_layout layout = find_out();
    add_set(7);
    add_set(8);
    buffer.valid += SET_BYTES; // filled, and not reached
    decode(&layout);
    assert_int_equal(collected_count(&all, FP_KIND_MEMSET), 2);
    assert_int_equal(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_kind_found_out_from_a_buffers_last_record_takes_what_is_shorter_than_its_room),
        TEST(of_such_a_kind_nothing_is_read_behind_a_record),
        TEST(an_iterator_that_ends_early_is_noticed_once_the_size_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
