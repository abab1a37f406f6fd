// test_mspti_decode.c - MSPTI's records, byte by byte, to events: which of a call's levels is the call, what is
// device work, and how the walk goes on behind what it does not know.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "collect_sink.h"
#include "tracers/mspti_decode.h"
#include "tracers/mspti_walk.h"

#define NOW UINT64_C(1790000000000000000)

// ---- Buffers by hand; the places are the fact sheet's

static struct {
    _Alignas(8) uint8_t bytes[1 << 16];
    size_t valid;
} buffer;

static struct collected all;
static struct fp_mspti_decoder *decoder;
static struct fp_mspti_decoder_options options;

static void put(size_t at, const void *value, size_t bytes) {
    memcpy(buffer.bytes + buffer.valid + at, value, bytes);
}

static void put32(size_t at, uint32_t value) {
    put(at, &value, sizeof(value));
}

static void put64(size_t at, uint64_t value) {
    put(at, &value, sizeof(value));
}

static void put_text(size_t at, const char *text) {
    put64(at, (uint64_t)(uintptr_t)text);
}

static void add_call(uint32_t kind, uint64_t start, uint64_t end, uint32_t thread, uint64_t id,
                     const char *name) {
    put32(0, kind);
    put64(4, NOW + start);
    put64(12, NOW + end);
    put32(20, 1);
    put32(24, thread);
    put64(28, id);
    put_text(36, name);
    buffer.valid += 48;
}

static void add_kernel(uint64_t start, uint64_t end, uint64_t id, const char *name) {
    put32(0, 2);
    put64(4, NOW + start);
    put64(12, NOW + end);
    put32(20, 6);
    put32(24, 11);
    put64(28, id);
    put_text(36, "KERNEL_AIVEC");
    put_text(44, name);
    buffer.valid += 56;
}

static void add_memory(uint32_t kind, uint32_t word, uint64_t id, uint32_t stream) {
    put32(0, kind);
    put32(4, word);
    put64(8, 4096);
    put64(16, NOW + 100);
    put64(24, NOW + 200);
    put32(32, 4);
    put32(36, stream);
    put64(40, id);
    put(48, "\1", 1);
    buffer.valid += 56;
}

static void add_external(uint32_t kind, uint64_t external, uint64_t id) {
    put32(0, 8);
    put32(4, kind);
    put64(8, external);
    put64(16, id);
    buffer.valid += 24;
}

static int begin(void **state) {
    (void)state;
    memset(&buffer, 0, sizeof(buffer));
    options = (struct fp_mspti_decoder_options){ .session_start = NOW, .copies = true, .sets = true };
    options.visible_count = fp_mspti_read_visible("4,6", options.visible);
    collect_begin(&all);
    return 0;
}

static int end(void **state) {
    (void)state;
    fp_mspti_decoder_free(decoder);
    decoder = NULL;
    collect_end(&all);
    return 0;
}

static void decode(void) {
    if (!decoder)
        decoder = fp_mspti_decoder_new(&options);
    fp_mspti_decode(decoder, &all.sink, buffer.bytes, buffer.valid, NOW + 1000000);
    memset(&buffer, 0, sizeof(buffer));
}

static void decode_all(void) {
    decode();
    fp_mspti_decode_end(decoder, &all.sink);
}

static const struct fp_event *only(enum fp_kind kind) {
    const struct fp_event *found = NULL;
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == kind) {
            assert_null(found);
            found = &all.events[at].event;
        }
    assert_non_null(found);
    return found;
}

static const char *name_of(const struct fp_event *event) {
    return collected_name(&all, event->name);
}

static const struct fp_event *named(const char *name) {
    for (size_t at = 0; at < all.event_count; at++)
        if (strcmp(name_of(&all.events[at].event), name) == 0)
            return &all.events[at].event;
    return NULL;
}

// ---- Calls

static void of_a_launchs_levels_the_launch_is_the_call_whatever_their_order(void **state) {
    (void)state;
    add_call(10, 10, 100, 7, 5, "aclnnAdd"); // the outermost first
    add_call(12, 40, 60, 7, 5, "LaunchKernelWithConfig");
    add_call(11, 30, 70, 7, 5, "launch");
    add_kernel(200, 300, 5, "Add_ab12");
    decode_all();
    const struct fp_event *call = only(FP_KIND_RUNTIME), *kernel = only(FP_KIND_KERNEL);
    assert_string_equal(name_of(call), "LaunchKernelWithConfig");
    assert_true(call->fields & FP_IS_LAUNCH);
    assert_int_equal(call->vendor_id.value, kernel->vendor_id.value);
    assert_int_equal(call->u.call.thread, 7);
    assert_int_equal(kernel->start_ns, NOW + 200);
    assert_int_equal(kernel->device, 1); // physical 6 is the second that is visible
    assert_int_equal(kernel->stream, 11);
    assert_int_equal(collected_lost(&all), 0);
}

static void where_none_is_named_a_launch_the_outermost_is_the_call(void **state) {
    (void)state;
    add_call(11, 30, 70, 7, 5, "launch");
    add_call(10, 10, 100, 7, 5, "aclnnAdd");
    add_kernel(200, 300, 5, "Add");
    decode_all();
    assert_string_equal(name_of(only(FP_KIND_RUNTIME)), "aclnnAdd");
    assert_true(only(FP_KIND_RUNTIME)->fields & FP_IS_LAUNCH);
}

static void of_a_copys_levels_the_copy_is_the_call_and_of_a_kernels_the_launch(void **state) {
    (void)state;
    add_call(12, 40, 60, 7, 5, "LaunchKernel");
    add_call(10, 20, 90, 7, 5, "aclrtMemcpyAsync");
    add_memory(7, 2, 5, 3);
    decode_all();
    assert_string_equal(name_of(only(FP_KIND_RUNTIME)), "aclrtMemcpyAsync");
    assert_string_equal(name_of(only(FP_KIND_MEMCPY)), "Memcpy HtoD (Host -> Device)");
    end(state);
    begin(state);
    add_call(12, 40, 60, 7, 5, "LaunchKernel");
    add_call(10, 20, 90, 7, 5, "aclrtMemcpyAsync");
    add_kernel(200, 300, 5, "Copy");
    decode_all();
    assert_string_equal(name_of(only(FP_KIND_RUNTIME)), "LaunchKernel");
}

static void a_call_after_a_launch_has_its_id_and_is_no_part_of_it(void **state) {
    (void)state;
    add_call(12, 40, 60, 7, 5, "LaunchKernel");
    add_call(10, 20, 90, 7, 5, "aclrtLaunchKernel");
    add_call(12, 120, 180, 7, 5, "StreamSynchronize");
    add_call(10, 110, 190, 7, 5, "aclrtSynchronizeStream");
    add_call(10, 200, 210, 7, 0, "aclrtGetDevice"); // before any launch of its thread
    add_kernel(200, 300, 5, "Add");
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), 3);
    assert_int_equal(named("aclrtLaunchKernel")->vendor_id.value, 5);
    assert_int_equal(named("aclrtSynchronizeStream")->vendor_id.value, 0);
    assert_false(named("aclrtSynchronizeStream")->fields & FP_IS_LAUNCH);
    assert_int_equal(named("aclrtGetDevice")->vendor_id.value, 0);
}

static void one_kind_for_all_levels_shows_the_outer_one_too(void **state) {
    (void)state;
    add_call(3, 40, 60, 7, 5, "LaunchKernel");
    add_call(3, 20, 90, 7, 5, "aclnnAdd");
    add_call(3, 120, 180, 7, 5, "StreamSynchronize");
    add_call(3, 110, 190, 7, 5, "aclrtSynchronizeStream");
    add_call(3, 200, 220, 8, 5, "aclrtSynchronizeEvent"); // of another thread
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), 3);
    assert_non_null(named("LaunchKernel"));
    assert_non_null(named("aclrtSynchronizeStream"));
    assert_non_null(named("aclrtSynchronizeEvent"));
}

static void a_copy_that_no_record_can_come_of_is_no_launch(void **state) {
    (void)state;
    options.copies = false;
    add_call(10, 20, 90, 7, 5, "aclrtMemcpyAsync");
    add_call(10, 20, 90, 8, 6, "aclrtMemsetAsync");
    decode_all();
    assert_false(named("aclrtMemcpyAsync")->fields & FP_IS_LAUNCH);
    assert_true(named("aclrtMemsetAsync")->fields & FP_IS_LAUNCH);
}

static void every_call_is_shown_where_all_are_asked_for(void **state) {
    (void)state;
    options.all_calls = true;
    add_call(12, 40, 60, 7, 5, "LaunchKernel");
    add_call(12, 120, 180, 7, 5, "StreamSynchronize");
    add_call(10, 110, 190, 7, 5, "aclrtSynchronizeStream");
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), 3);
}

// ---- Ids

static void ids_alike_in_their_lower_half_stay_apart_and_none_becomes_zero(void **state) {
    (void)state;
    for (uint64_t at = 1; at <= 3; at++) {
        add_call(10, 20 * at, 20 * at + 10, 7, at << 32, "aclrtLaunchKernel");
        add_kernel(200, 300, at << 32, "Add");
        add_external(2, 1000 + at, at << 32);
        add_external(3, 2000, at << 32);
    }
    decode_all();
    uint32_t seen[3] = { 0 };
    size_t count = 0;
    for (size_t at = 0; at < all.event_count; at++)
        if (all.events[at].event.kind == FP_KIND_KERNEL)
            seen[count++] = all.events[at].event.vendor_id.value;
    assert_int_equal(count, 3);
    assert_true(seen[0] && seen[1] && seen[2] && seen[0] != seen[1] && seen[1] != seen[2] &&
                seen[0] != seen[2]);
    for (int at = 0; at < 3; at++) {
        assert_int_equal(collected_id(&all, FP_ID_OPERATOR, seen[at]), 1001 + at);
        assert_int_equal(collected_id(&all, FP_ID_RANGE, seen[at]), 2000);
    }
}

static void records_of_a_call_may_lie_far_apart_and_many_wait_at_once(void **state) {
    enum { CALLS = 70000 };
    (void)state;
    for (uint64_t id = 1; id <= CALLS; id++) {
        add_external(2, id + 500000, id);
        add_call(10, id, id + 1, 7, id, "aclrtLaunchKernel");
        if (buffer.valid > sizeof(buffer.bytes) / 2)
            decode();
    }
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), CALLS);
    assert_int_equal(all.correlation_count, CALLS);
    assert_int_equal(all.correlations[CALLS - 1].framework_id - all.correlations[CALLS - 1].vendor_id,
                     500000);
}

// ---- Device work

static void a_set_carries_what_its_record_says(void **state) {
    (void)state;
    add_memory(6, 77, 9, UINT32_MAX);
    decode_all();
    const struct fp_event *set = only(FP_KIND_MEMSET);
    assert_int_equal(set->u.set.bytes, 4096);
    assert_int_equal(set->u.set.value, 77);
    assert_int_equal(set->vendor_id.value, 9);
    assert_int_equal(set->device, 0);
    assert_int_equal(set->fields & (FP_HAS_BYTES | FP_HAS_VALUE | FP_IS_ASYNC | FP_HAS_STREAM),
                     FP_HAS_BYTES | FP_HAS_VALUE | FP_IS_ASYNC);
}

static void add_collective(uint64_t start, uint64_t id) {
    put32(0, 9);
    put32(4, 11);
    put64(8, 1024);
    put32(16, 4);
    put32(20, 2);
    put64(24, NOW + start);
    put64(32, NOW + start + 4);
    put_text(40, "mesh");
    put_text(48, "hcom_allReduce_");
    put_text(56, "group0");
    put64(64, id);
    buffer.valid += 72;
}

static void add_older_collective(uint64_t start) {
    put32(0, 4);
    put64(4, NOW + start);
    put64(12, NOW + start + 4);
    put32(20, 6);
    put32(24, 3);
    put_text(36, "hcom_broadcast_");
    put_text(44, "group0");
    buffer.valid += 56;
}

static void a_collective_of_the_older_kind_has_no_call_and_its_group(void **state) {
    (void)state;
    add_older_collective(5);
    decode_all();
    assert_string_equal(name_of(only(FP_KIND_KERNEL)), "hcom_broadcast_");
    assert_int_equal(only(FP_KIND_KERNEL)->vendor_id.value, 0);
    assert_int_equal(only(FP_KIND_KERNEL)->device, 1);
    assert_int_equal(all.events[0].event.extra_count, 1);
    assert_string_equal(collected_name(&all, all.events[0].extras[0].value.text), "group0");
}

static void a_collective_is_device_work_with_its_count_its_type_and_its_group(void **state) {
    (void)state;
    add_collective(5, 12);
    decode_all();
    assert_string_equal(name_of(only(FP_KIND_KERNEL)), "hcom_allReduce_");
    assert_int_equal(all.events[0].event.extra_count, 4);
    assert_int_equal(all.events[0].extras[0].value.integer, 1024);
    assert_string_equal(collected_name(&all, all.events[0].extras[3].value.text), "BFP16");
}

static void a_collectives_call_is_hccls_function_and_no_later_copy_takes_its_place(void **state) {
    (void)state;
    options.copies = false;
    add_call(12, 30, 40, 7, 5, "rtKernelLaunch");
    add_call(10, 20, 90, 7, 5, "HcclAllReduce");
    add_call(10, 110, 190, 7, 5, "aclrtMemcpyAsync"); // which draws no id, and carries the last one
    add_collective(200, 5);
    add_call(10, 220, 290, 7, 6, "HcclAllGather"); // draws one, and has nothing done on a device
    add_call(10, 310, 390, 7, 6, "aclrtMemcpyAsync");
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_RUNTIME), 4);
    assert_int_equal(named("HcclAllReduce")->vendor_id.value, only(FP_KIND_KERNEL)->vendor_id.value);
    assert_true(named("HcclAllReduce")->fields & FP_IS_LAUNCH);
    assert_int_equal(named("aclrtMemcpyAsync")->vendor_id.value, 0);
    assert_int_not_equal(named("HcclAllGather")->vendor_id.value, 0);
    assert_false(named("HcclAllGather")->fields & FP_IS_LAUNCH);
}

static void a_device_that_is_not_visible_keeps_its_number_and_that_is_said(void **state) {
    (void)state;
    options.visible_count = fp_mspti_read_visible("1, 2,x,3", options.visible);
    assert_int_equal(options.visible_count, 3);
    add_kernel(5, 6, 1, "Add");
    decode_all();
    assert_int_equal(only(FP_KIND_KERNEL)->device, 6);
    assert_non_null(strstr(all.notes, "ASCEND_RT_VISIBLE_DEVICES"));
}

// ---- The walk

static void behind_unknown_records_the_walk_goes_on_and_each_is_counted(void **state) {
    (void)state;
    add_kernel(5, 6, 1, "first");
    memset(buffer.bytes + buffer.valid, 0xa5, 40);
    put32(0, 13); // a kind of a later release
    buffer.valid += 40;
    add_kernel(7, 8, 2, "second");
    put32(0, 77);
    put32(16, 2); // looks like a kernel's kind, and no time stands behind it
    buffer.valid += 64;
    add_kernel(9, 10, 3, "third");
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_KERNEL), 3);
    assert_int_equal(all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], 2);
    assert_int_equal(collected_lost(&all), 2);
}

static void what_is_cut_or_cannot_be_taken_up_again_is_said(void **state) {
    (void)state;
    add_kernel(5, 6, 1, "whole");
    add_kernel(7, 8, 2, "cut");
    buffer.valid -= 8;
    decode();
    assert_int_equal(all.lost[FP_KIND_COUNT][FP_LOSS_MALFORMED], 1);
    add_kernel(9, 10, 3, "whole too");
    memset(buffer.bytes + buffer.valid, 0xa5, 4000);
    buffer.valid += 4000;
    decode_all();
    assert_int_equal(all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
    assert_int_equal(collected_count(&all, FP_KIND_KERNEL), 2);
}

static uint64_t shout(void *owner, uint64_t address) {
    (*(size_t *)owner)++;
    return address ? (uint64_t)(uintptr_t) "kept" : 0;
}

static void texts_are_kept_in_place_and_nothing_else_is_touched(void **state) {
    (void)state;
    size_t kept = 0;
    add_kernel(5, 6, 1, "lost soon");
    add_call(10, 1, 2, 7, 1, NULL);
    add_memory(7, 1, 2, 0);
    add_collective(7, 3);
    add_older_collective(9);
    struct fp_mspti_walk walk = {
        .bytes = buffer.bytes, .valid = buffer.valid, .earliest = NOW, .latest = NOW + 99
    };
    fp_mspti_keep_texts(walk, shout, &kept);
    assert_int_equal(kept, 3 + 3 + 2);
    decode_all();
    assert_int_equal(collected_count(&all, FP_KIND_KERNEL), 3);
    assert_null(named("lost soon"));
    assert_null(named("hcom_allReduce_"));
    assert_null(named("hcom_broadcast_"));
    assert_string_equal(name_of(only(FP_KIND_RUNTIME)), "");
    assert_int_equal(only(FP_KIND_MEMCPY)->u.copy.bytes, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(of_a_launchs_levels_the_launch_is_the_call_whatever_their_order),
        TEST(where_none_is_named_a_launch_the_outermost_is_the_call),
        TEST(of_a_copys_levels_the_copy_is_the_call_and_of_a_kernels_the_launch),
        TEST(a_call_after_a_launch_has_its_id_and_is_no_part_of_it),
        TEST(one_kind_for_all_levels_shows_the_outer_one_too),
        TEST(a_copy_that_no_record_can_come_of_is_no_launch),
        TEST(every_call_is_shown_where_all_are_asked_for),
        TEST(ids_alike_in_their_lower_half_stay_apart_and_none_becomes_zero),
        TEST(records_of_a_call_may_lie_far_apart_and_many_wait_at_once),
        TEST(a_set_carries_what_its_record_says),
        TEST(a_collective_is_device_work_with_its_count_its_type_and_its_group),
        TEST(a_collective_of_the_older_kind_has_no_call_and_its_group),
        TEST(a_collectives_call_is_hccls_function_and_no_later_copy_takes_its_place),
        TEST(a_device_that_is_not_visible_keeps_its_number_and_that_is_said),
        TEST(behind_unknown_records_the_walk_goes_on_and_each_is_counted),
        TEST(what_is_cut_or_cannot_be_taken_up_again_is_said),
        TEST(texts_are_kept_in_place_and_nothing_else_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
