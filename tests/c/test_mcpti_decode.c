// test_mcpti_decode.c - what MetaX's records decode to, and what becomes of bytes that are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "collect_sink.h"
#include "tracers/mcpti_layout.h"
#include "tracers/twin_decode.h"
#include "twin_bytes.h"

enum { RUNTIME = 5, DRIVER = 4, LAUNCH_CBID = 56, NAMELESS_CBID = 500 };

static const char *known_name(uint32_t domain, uint32_t cbid) {
    return domain == FP_TWIN_RUNTIME && cbid == LAUNCH_CBID ? "mcLaunchKernel" : NULL;
}

static bool may_ask;

static const char *library_name(void *owner, uint32_t domain, uint32_t cbid) {
    (void)owner;
    (void)domain;
    assert_true(may_ask); // earlier it would deadlock
    return cbid == NAMELESS_CBID ? "mcStreamQuery" : NULL;
}

static bool is_readable(void *owner, uint64_t address) {
    (void)owner;
    return address > 4096;
}

struct decoding {
    struct twin_bytes buffer;
    struct fp_twin_surroundings around;
    struct fp_twin_decoder *decoder;
    struct collected all;
};

static void begin(struct decoding *d) {
    memset(d, 0, sizeof(*d));
    d->buffer.sizes = (struct twin_sizes){ 200, 88, 88 };
    d->around = (struct fp_twin_surroundings){ 2, 4242, 1, 1000000, is_readable, NULL, NULL };
    may_ask = false;
    d->decoder = fp_twin_decoder_new(&(struct fp_twin_decoder_options){
        .layout = &fp_mcpti_layout,
        .log_name = "mcpti",
        .known_name = known_name,
        .library_name = library_name,
        .names_at_end = true,
        .prefixes = { NULL, "mc", "mc" },
        .unknown = { NULL, "mcDriverCall_", "mcRuntimeCall_" },
    });
    assert_non_null(d->decoder);
    collect_begin(&d->all);
}

static void decode(struct decoding *d) {
    fp_twin_decode(d->decoder, &d->all.sink, &d->around, d->buffer.bytes, d->buffer.valid);
}

static void decode_end(struct decoding *d) {
    may_ask = true;
    fp_twin_decode_end(d->decoder, &d->all.sink);
}

static void end(struct decoding *d) {
    fp_twin_decoder_free(d->decoder);
    collect_end(&d->all);
}

static const struct fp_event *first(const struct decoding *d, enum fp_kind kind) {
    for (size_t at = 0; at < d->all.event_count; at++)
        if (d->all.events[at].event.kind == kind)
            return &d->all.events[at].event;
    fail_msg("no event of kind %d", kind);
    return NULL;
}

static void a_kernel_record_becomes_an_event_with_every_field(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    uint8_t *record = twin_kernel(&d.buffer, 0x50000001, 100, 250, "_Z4axpyPf");
    twin_put(record, 144, 5, 8); // graph node
    twin_put(record, 156, 3, 4); // graph
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    const struct fp_event *event = first(&d, FP_KIND_KERNEL);
    assert_int_equal(event->vendor_id.value, 0x50000001);
    assert_int_equal(event->start_ns, 100);
    assert_int_equal(event->end_ns, 250);
    assert_int_equal(event->device, 1);
    assert_int_equal(event->context, 2);
    assert_int_equal(event->stream, 7);
    for (int axis = 0; axis < 3; axis++) {
        assert_int_equal(event->u.kernel.grid[axis], 3 - axis);
        assert_int_equal(event->u.kernel.block[axis], 8 >> axis);
    }
    assert_int_equal(event->u.kernel.registers_per_thread, 32);
    assert_int_equal(event->u.kernel.shared_bytes, 120);
    assert_false(event->fields & FP_HAS_OCCUPANCY); // nothing is known of MetaX's limits
    assert_string_equal(collected_name(&d.all, event->name), "_Z4axpyPf");
    assert_int_equal(d.all.events[0].event.extra_count, 2);
    assert_int_equal(d.all.events[0].extras[0].value.integer, 3);
    assert_int_equal(d.all.events[0].extras[1].value.integer, 5);
    end(&d);
}

static void copies_and_sets_tell_bytes_direction_and_value(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_copy(&d.buffer, 11, 100, 200, 4096);
    twin_set(&d.buffer, 12, 300, 400, 512);
    decode(&d);
    const struct fp_event *copy = first(&d, FP_KIND_MEMCPY), *set = first(&d, FP_KIND_MEMSET);
    assert_string_equal(collected_name(&d.all, copy->name), "Memcpy HtoD (Pageable -> Device)");
    assert_int_equal(copy->u.copy.bytes, 4096);
    assert_int_equal(copy->stream, 9);
    assert_true(copy->fields & FP_IS_ASYNC);
    assert_string_equal(collected_name(&d.all, set->name), "Memset (Device)");
    assert_int_equal(set->u.set.bytes, 512);
    assert_int_equal(set->u.set.value, 0x2a);
    assert_false(set->fields & FP_IS_ASYNC);
    assert_int_equal(collected_lost(&d.all), 0);
    end(&d);
}

static void calls_have_metaxs_own_names(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_api(&d.buffer, RUNTIME, LAUNCH_CBID, 21, 100, 150);
    decode(&d);
    const struct fp_event *call = first(&d, FP_KIND_RUNTIME);
    assert_string_equal(collected_name(&d.all, call->name), "mcLaunchKernel");
    assert_true(call->fields & FP_IS_LAUNCH);
    assert_int_equal(call->u.call.cbid, LAUNCH_CBID);
    assert_int_equal(call->u.call.thread, 77);
    end(&d);
}

static void a_name_that_the_library_must_be_asked_for_waits_until_it_rests(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_api(&d.buffer, RUNTIME, NAMELESS_CBID, 21, 100, 150);
    twin_api(&d.buffer, RUNTIME, NAMELESS_CBID + 1, 22, 200, 250);
    decode(&d);
    assert_int_equal(d.all.event_count, 0);
    decode_end(&d);
    assert_int_equal(d.all.event_count, 2);
    assert_string_equal(collected_name(&d.all, d.all.events[0].event.name), "mcStreamQuery");
    assert_string_equal(collected_name(&d.all, d.all.events[1].event.name), "mcRuntimeCall_501");
    end(&d);
}

static void operators_and_ranges_come_by_their_own_stack(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_external(&d.buffer, 3, 0, 31); // operator 0 is one like any other
    twin_external(&d.buffer, 4, 900, 31);
    twin_external(&d.buffer, 5, 7, 31); // somebody else's
    decode(&d);
    assert_int_equal(d.all.correlation_count, 2);
    assert_int_equal(collected_id(&d.all, FP_ID_OPERATOR, 31), 0);
    assert_int_equal(collected_id(&d.all, FP_ID_RANGE, 31), 900);
    end(&d);
}

static void start_and_end_0_is_no_timing_and_is_counted(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 41, 0, 0, "k");
    twin_copy(&d.buffer, 42, 0, 0, 16);
    twin_kernel(&d.buffer, 43, 100, 200, "k");
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_NO_TIMING], 1);
    assert_int_equal(d.all.lost[FP_KIND_MEMCPY][FP_LOSS_NO_TIMING], 1);
    end(&d);
}

static void a_record_that_ends_before_it_starts_is_one_malformed_record(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 51, 300, 200, "k");
    twin_copy(&d.buffer, 52, 300, 200, 16);
    twin_kernel(&d.buffer, 53, 100, 200, "k");
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED], 1);
    assert_int_equal(d.all.lost[FP_KIND_MEMCPY][FP_LOSS_MALFORMED], 1);
    assert_int_equal(collected_lost(&d.all), 2);
    end(&d);
}

static void what_is_no_record_is_passed_over_and_the_next_one_found(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 61, 100, 200, "k");
    memset(d.buffer.bytes + d.buffer.valid, 0xa5, 56); // a kind of tomorrow
    twin_put(d.buffer.bytes + d.buffer.valid, 0, 200, 4);
    d.buffer.valid += 56;
    twin_kernel(&d.buffer, 62, 300, 400, "k");
    decode(&d);
    assert_int_equal(d.all.event_count, 2);
    assert_int_equal(d.all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], 1);
    assert_int_equal(collected_lost(&d.all), 1);
    end(&d);
}

static void a_number_inside_of_lost_bytes_is_not_taken_for_a_record(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    // A kernel record of an unknown kind: behind its head lie the numbers 1, 2 and 3, which are kinds too.
    uint8_t *record = twin_kernel(&d.buffer, 71, 100, 200, "k");
    twin_put(record, 0, 77, 4);
    twin_kernel(&d.buffer, 72, 300, 400, "k");
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.events[0].event.vendor_id.value, 72);
    end(&d);
}

static void a_record_cut_off_by_the_end_of_its_buffer_is_counted(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_api(&d.buffer, RUNTIME, LAUNCH_CBID, 81, 100, 150);
    twin_kernel(&d.buffer, 82, 100, 200, "k");
    d.buffer.valid -= 8;
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED], 1);
    end(&d);
}

static void times_outside_of_the_session_are_no_record_where_none_is_due(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    uint8_t *junk = d.buffer.bytes;
    memset(junk, 0, 8); // 8 bytes of nothing, then what looks like a call, but of another time
    twin_put(junk, 0, 99, 4);
    d.buffer.valid = 8;
    twin_api(&d.buffer, RUNTIME, LAUNCH_CBID, 91, UINT64_C(1) << 60, (UINT64_C(1) << 60) + 5);
    twin_api(&d.buffer, RUNTIME, LAUNCH_CBID, 92, 100, 150);
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.events[0].event.vendor_id.value, 92);
    end(&d);
}

// ---- The judge of layouts

static enum fp_twin_verdict judge(const struct decoding *d, char *why, size_t capacity) {
    struct fp_twin_evidence evidence;
    memset(&evidence, 0, sizeof(evidence));
    fp_twin_evidence_add(&evidence, &fp_mcpti_layout, &d->around, NULL, (uint8_t *)d->buffer.bytes,
                         d->buffer.valid);
    enum fp_twin_verdict verdict = fp_twin_evidence_judge(&evidence, true, why, capacity);
    fp_twin_evidence_clear(&evidence);
    return verdict;
}

static void fill(struct decoding *d) {
    for (uint32_t id = 1; id < 9; id++) {
        twin_external(&d->buffer, 3, 1000 + id, id);
        twin_api(&d->buffer, RUNTIME, LAUNCH_CBID, id, 100 * id, 100 * id + 50);
        twin_kernel(&d->buffer, id, 100 * id + 20, 100 * id + 60, "k");
    }
}

static void records_as_the_fact_sheet_has_them_are_believed(void **state) {
    (void)state;
    struct decoding d;
    char why[160] = "";
    begin(&d);
    fill(&d);
    assert_int_equal(judge(&d, why, sizeof(why)), FP_TWIN_AGREES);
    end(&d);
}

// Moves `bytes` bytes of every kernel record by hand, as a release with another layout would.
static void move_in_kernels(struct decoding *d, size_t from, size_t to, size_t bytes) {
    for (size_t at = 0; at < d->buffer.valid; at += 24 + 40 + 200) {
        uint8_t *record = d->buffer.bytes + at + 24 + 40, held[64];
        memcpy(held, record + from, bytes);
        memmove(record + from, record + to, bytes);
        memcpy(record + to, held, bytes);
    }
}

static void a_layout_with_a_moved_field_is_refused(void **state) {
    (void)state;
    static const struct {
        size_t from, to, bytes;
    } moves[] = {
        { 16, 120, 16 }, // times where queued and submitted are: no times at all, so no event
        { 92, 160, 4 },  // the correlation id
        { 64, 120, 12 }, // the block
        { 104, 24, 8 },  // the name and the end
        { 40, 48, 4 },   // device and stream
    };
    for (size_t move = 0; move < sizeof(moves) / sizeof(moves[0]); move++) {
        struct decoding d;
        char why[160] = "";
        begin(&d);
        fill(&d);
        move_in_kernels(&d, moves[move].from, moves[move].to, moves[move].bytes);
        enum fp_twin_verdict verdict = judge(&d, why, sizeof(why));
        decode(&d);
        if (verdict != FP_TWIN_DIFFERS && collected_count(&d.all, FP_KIND_KERNEL) != 0)
            fail_msg("move %zu: wrong kernels were believed", move);
        end(&d);
    }
}

static void eight_bytes_more_in_a_record_are_refused(void **state) {
    (void)state;
    struct decoding d;
    char why[160] = "";
    begin(&d);
    for (uint32_t id = 1; id < 9; id++) {
        twin_api(&d.buffer, RUNTIME, LAUNCH_CBID, id, 100 * id, 100 * id + 50);
        uint8_t *record = twin_kernel(&d.buffer, id, 100 * id + 20, 100 * id + 60, "k");
        memmove(record + 24, record + 16, 184);
        d.buffer.valid += 8;
    }
    assert_int_equal(judge(&d, why, sizeof(why)), FP_TWIN_DIFFERS);
    assert_non_null(strstr(why, "kernel"));
    end(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_record_becomes_an_event_with_every_field),
        cmocka_unit_test(copies_and_sets_tell_bytes_direction_and_value),
        cmocka_unit_test(calls_have_metaxs_own_names),
        cmocka_unit_test(a_name_that_the_library_must_be_asked_for_waits_until_it_rests),
        cmocka_unit_test(operators_and_ranges_come_by_their_own_stack),
        cmocka_unit_test(start_and_end_0_is_no_timing_and_is_counted),
        cmocka_unit_test(a_record_that_ends_before_it_starts_is_one_malformed_record),
        cmocka_unit_test(what_is_no_record_is_passed_over_and_the_next_one_found),
        cmocka_unit_test(a_number_inside_of_lost_bytes_is_not_taken_for_a_record),
        cmocka_unit_test(a_record_cut_off_by_the_end_of_its_buffer_is_counted),
        cmocka_unit_test(times_outside_of_the_session_are_no_record_where_none_is_due),
        cmocka_unit_test(records_as_the_fact_sheet_has_them_are_believed),
        cmocka_unit_test(a_layout_with_a_moved_field_is_refused),
        cmocka_unit_test(eight_bytes_more_in_a_record_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
