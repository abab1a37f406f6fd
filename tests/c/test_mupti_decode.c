// test_mupti_decode.c - what Moore Threads' records decode to where they differ from MetaX's: sizes, the
// trusted iterator, both kinds of kernel, unfinished records, names out of the library.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect_sink.h"
#include "tracers/mupti_layout.h"
#include "tracers/twin_decode.h"
#include "twin_bytes.h"

enum { DRIVER = 4, RUNTIME = 5 };

// MUPTI's iterator by the sizes of the fact sheet.
static int next_record(uint8_t *buffer, size_t valid, void **record) {
    static const uint8_t sizes[] = {
        [1] = 80, [2] = 80, [3] = 168, [4] = 40, [5] = 40, [10] = 168, [39] = 24
    };
    uint8_t *next = *record ? *record : buffer;
    uint32_t kind;
    memcpy(&kind, next, sizeof(kind));
    if (*record)
        next += kind < sizeof(sizes) ? sizes[kind] : 0;
    if (next + sizeof(kind) > buffer + valid)
        return 12;
    memcpy(&kind, next, sizeof(kind));
    if (kind >= sizeof(sizes) || sizes[kind] == 0)
        return 21;
    *record = next;
    return 0;
}

static const char *library_name(void *owner, uint32_t domain, uint32_t cbid) {
    (void)owner;
    if (domain == FP_TWIN_RUNTIME)
        return cbid == 211 ? "musaLaunchKernel_v7000" : cbid == 41 ? "musaMemcpyAsync_ptsz" : NULL;
    return cbid == 307 ? "muLaunchKernel" : NULL;
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
    d->buffer.sizes = (struct twin_sizes){ 168, 80, 80 };
    d->around = (struct fp_twin_surroundings){ 2, 4242, 1, 1000000, is_readable, NULL, NULL };
    d->decoder = fp_twin_decoder_new(&(struct fp_twin_decoder_options){
        .layout = &fp_mupti_layout,
        .log_name = "mupti",
        .next = next_record,
        .library_name = library_name,
        .prefixes = { NULL, "mu", "musa" },
        .unknown = { NULL, "muDriverCall_", "musaRuntimeCall_" },
    });
    assert_non_null(d->decoder);
    collect_begin(&d->all);
}

static void decode(struct decoding *d) {
    fp_twin_decode(d->decoder, &d->all.sink, &d->around, d->buffer.bytes, d->buffer.valid);
    fp_twin_decode_end(d->decoder, &d->all.sink);
}

static void end(struct decoding *d) {
    fp_twin_decoder_free(d->decoder);
    collect_end(&d->all);
}

static void records_of_moore_threads_sizes_follow_each_other(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 1, 100, 200, "k1");
    twin_copy(&d.buffer, 2, 110, 210, 4096);
    twin_set(&d.buffer, 3, 120, 220, 64);
    twin_external(&d.buffer, 3, 77, 1);
    twin_kernel(&d.buffer, 4, 130, 230, "k2");
    decode(&d);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 2);
    assert_int_equal(collected_count(&d.all, FP_KIND_MEMCPY), 1);
    assert_int_equal(collected_count(&d.all, FP_KIND_MEMSET), 1);
    assert_int_equal(collected_id(&d.all, FP_ID_OPERATOR, 1), 77);
    assert_int_equal(collected_lost(&d.all), 0);
    end(&d);
}

static void both_kinds_of_kernel_are_kernels(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_put(twin_kernel(&d.buffer, 1, 100, 200, "k"), 0, 3, 4);
    twin_kernel(&d.buffer, 2, 100, 200, "k");
    decode(&d);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 2);
    end(&d);
}

static void what_a_forced_flush_brings_unfinished_is_counted(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 1, 0, 0, "k");   // nothing known yet
    twin_kernel(&d.buffer, 2, 100, 0, "k"); // begun
    twin_kernel(&d.buffer, 3, 100, 200, "k");
    decode(&d);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_NO_TIMING], 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED], 1);
    end(&d);
}

static void names_come_from_the_library_without_versions(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_api(&d.buffer, RUNTIME, 211, 1, 100, 200);
    twin_api(&d.buffer, RUNTIME, 41, 2, 300, 400);
    twin_api(&d.buffer, RUNTIME, 999, 3, 500, 600);
    twin_api(&d.buffer, DRIVER, 307, 4, 700, 800);
    decode(&d);
    assert_int_equal(d.all.event_count, 4);
    static const char *const names[] = { "musaLaunchKernel", "musaMemcpyAsync", "musaRuntimeCall_999",
                                         "muLaunchKernel" };
    for (size_t at = 0; at < 4; at++)
        assert_string_equal(collected_name(&d.all, d.all.events[at].event.name), names[at]);
    assert_true(d.all.events[0].event.fields & FP_IS_LAUNCH);
    assert_int_equal(d.all.events[3].event.kind, FP_KIND_DRIVER);
    end(&d);
}

static void a_driver_call_inside_of_a_runtime_call_is_not_shown(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_api(&d.buffer, DRIVER, 307, 1, 120, 180); // some releases write one, with the same id
    twin_api(&d.buffer, RUNTIME, 211, 1, 100, 200);
    decode(&d);
    assert_int_equal(d.all.event_count, 1);
    assert_int_equal(d.all.events[0].event.kind, FP_KIND_RUNTIME);
    end(&d);
}

static void where_the_iterator_stops_the_rest_is_said_to_be_missing(void **state) {
    (void)state;
    struct decoding d;
    begin(&d);
    twin_kernel(&d.buffer, 1, 100, 200, "k");
    twin_put(twin_kernel(&d.buffer, 2, 100, 200, "k"), 0, 99, 4);
    decode(&d);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 1);
    assert_int_equal(d.all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], 1);
    assert_int_equal(d.all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1);
    end(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_moore_threads_sizes_follow_each_other),
        cmocka_unit_test(both_kinds_of_kernel_are_kernels),
        cmocka_unit_test(what_a_forced_flush_brings_unfinished_is_counted),
        cmocka_unit_test(names_come_from_the_library_without_versions),
        cmocka_unit_test(a_driver_call_inside_of_a_runtime_call_is_not_shown),
        cmocka_unit_test(where_the_iterator_stops_the_rest_is_said_to_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
