// test_cupti_decode.c - what NVIDIA's real bytes decode to, and what becomes of bytes that are not right.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "collect_sink.h"
#include "replay.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"

static const struct fp_cuda_limits h200 = {
    .compute_major = 9,
    .multiprocessors = 132,
    .warp_size = 32,
    .max_threads_per_block = 1024,
    .max_threads_per_multiprocessor = 2048,
    .registers_per_block = 65536,
    .registers_per_multiprocessor = 65536,
    .shared_per_block_bytes = 49152,
    .shared_per_multiprocessor_bytes = 233472,
    .reserved_shared_per_block_bytes = 1024,
};

static const char *text_of_set(void *owner, uint64_t address) {
    return replay_text(owner, address);
}

struct decoding {
    struct replay set;
    struct fp_cupti_layout layout;
    struct fp_cupti_decoder_options options;
    struct fp_cupti_decoder *decoder;
    struct collected all;
};

static void begin(struct decoding *d, const char *set) {
    bool mismatch;
    memset(d, 0, sizeof(*d));
    assert_true(replay_load(&d->set, set));
    replay_iterate(&d->set);
    assert_true(fp_cupti_layout_find(&d->layout, d->set.api_version, replay_next_record, &mismatch));
    assert_false(mismatch);
    d->options = (struct fp_cupti_decoder_options){
        .layout = &d->layout,
        .next = replay_next_record,
        .text = text_of_set,
        .owner = &d->set,
        .limits = &h200,
        .device_count = 1,
    };
    d->decoder = fp_cupti_decoder_new(&d->options);
    assert_non_null(d->decoder);
    collect_begin(&d->all);
}

static void end(struct decoding *d) {
    fp_cupti_decoder_free(d->decoder);
    collect_end(&d->all);
    replay_free(&d->set);
}

static void decode_set(struct decoding *d, const char *set) {
    begin(d, set);
    for (size_t i = 0; i < d->set.buffer_count; i++)
        fp_cupti_decode(d->decoder, &d->all.sink, d->set.buffers[i].bytes, d->set.buffers[i].valid_size);
    fp_cupti_decode_end(d->decoder, &d->all.sink);
}

static bool is_set(const char *name, const char *suffix) {
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static const struct fp_event *event_at(const struct collected *all, enum fp_kind kind, size_t place) {
    for (size_t at = 0; at < all->event_count; at++)
        if (all->events[at].event.kind == kind && place-- == 0)
            return &all->events[at].event;
    fail_msg("there is no such event");
    return NULL;
}

// ---- The recorded bytes of sixteen releases

static void kernels_of_every_release_come_out_as_they_were_launched(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name; name++) {
        if (!is_set(*name, "-late") && !is_set(*name, "-tiny"))
            continue;
        struct decoding d;
        decode_set(&d, *name);
        assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 26);
        for (size_t i = 0; i < 26; i++) {
            const struct fp_event *kernel = event_at(&d.all, FP_KIND_KERNEL, i);
            bool graph = i >= 20;
            assert_int_equal(collected_id(&d.all, FP_ID_OPERATOR, kernel->vendor_id.value),
                             graph ? 7004 : 7001);
            assert_int_equal(kernel->u.kernel.grid[0], graph ? 2 : 4 + i % 3);
            assert_int_equal(kernel->u.kernel.grid[1], 1);
            assert_int_equal(kernel->u.kernel.block[0], graph ? 128 : 256);
            assert_int_equal(kernel->u.kernel.registers_per_thread, 16);
            assert_int_equal(kernel->u.kernel.shared_bytes, 0);
            assert_true(kernel->fields & FP_HAS_OCCUPANCY);
            assert_string_equal(collected_name(&d.all, kernel->name), "_Z9axpy_probeIfEvPT_S0_i");
            assert_true(kernel->end_ns > kernel->start_ns && kernel->start_ns > INT64_C(1700000000000000000));
        }
        assert_int_equal(collected_lost(&d.all), 0);
        end(&d);
    }
}

static void copies_and_sets_of_every_release_have_torchs_names_and_their_bytes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t bytes, owner;
        bool async;
    } copies[] = { { "Memcpy HtoD (Pageable -> Device)", 4096, 7002, true },
                   { "Memcpy DtoH (Device -> Pageable)", 2048, 7002, true },
                   { "Memcpy DtoD (Device -> Device)", 1024, 7002, true },
                   { "Memcpy HtoD (Pageable -> Device)", 1024, 7003, false } };
    for (const char *const *name = replay_sets; *name; name++) {
        if (is_set(*name, "-refuse"))
            continue;
        struct decoding d;
        decode_set(&d, *name);
        assert_int_equal(collected_count(&d.all, FP_KIND_MEMCPY), 4);
        for (size_t i = 0; i < 4; i++) {
            const struct fp_event *copy = event_at(&d.all, FP_KIND_MEMCPY, i);
            assert_string_equal(collected_name(&d.all, copy->name), copies[i].name);
            assert_int_equal(copy->u.copy.bytes, copies[i].bytes);
            assert_int_equal(collected_id(&d.all, FP_ID_OPERATOR, copy->vendor_id.value), copies[i].owner);
            assert_int_equal(!!(copy->fields & FP_IS_ASYNC), copies[i].async);
        }
        assert_int_equal(collected_count(&d.all, FP_KIND_MEMSET), 2);
        const struct fp_event *set = event_at(&d.all, FP_KIND_MEMSET, 0);
        assert_int_equal(set->u.set.bytes, 512);
        assert_int_equal(set->u.set.value, 5);
        assert_string_equal(collected_name(&d.all, set->name), "Memset (Device)");
        assert_int_equal(event_at(&d.all, FP_KIND_MEMSET, 1)->u.set.value, 3);
        end(&d);
    }
}

static void graph_kernels_carry_their_graph_and_node_and_share_one_launch(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name; name++) {
        if (!is_set(*name, "-late"))
            continue;
        struct decoding d;
        decode_set(&d, *name);
        uint32_t launches[2] = { event_at(&d.all, FP_KIND_KERNEL, 20)->vendor_id.value,
                                 event_at(&d.all, FP_KIND_KERNEL, 23)->vendor_id.value };
        assert_int_not_equal(launches[0], launches[1]);
        for (size_t at = 0, kernel = 0; at < d.all.event_count; at++) {
            const struct collected_event *kept = &d.all.events[at];
            if (kept->event.kind != FP_KIND_KERNEL || kernel++ < 20)
                continue;
            assert_int_equal(kept->event.vendor_id.value, launches[(kernel - 21) / 3]);
            assert_int_equal(kept->event.extra_count, 2);
            assert_string_equal(collected_name(&d.all, kept->extras[0].key), "graph id");
            assert_string_equal(collected_name(&d.all, kept->extras[1].key), "graph node id");
            assert_int_equal(kept->extras[1].value.integer & 0xFFFFFFFF, (kernel - 21) % 3);
        }
        assert_int_equal(event_at(&d.all, FP_KIND_KERNEL, 0)->fields & FP_HAS_EXTRAS, 0);
        end(&d);
    }
}

static bool is_named(const struct collected *all, const struct fp_event *event, const char *name) {
    return strcmp(collected_name(all, event->name), name) == 0;
}

static void every_piece_of_device_work_has_its_launching_call_and_init_calls_are_not_shown(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name; name++) {
        if (is_set(*name, "-refuse"))
            continue;
        struct decoding d;
        decode_set(&d, *name);
        size_t begins = 0, ends = 0;
        for (size_t at = 0; at < d.all.event_count; at++) {
            const struct fp_event *event = &d.all.events[at].event;
            begins += event->fields & FP_BEGINS_CAPTURE && event->kind == FP_KIND_DRIVER;
            ends += event->fields & FP_ENDS_CAPTURE && event->kind == FP_KIND_DRIVER;
            if (event->kind == FP_KIND_DRIVER)
                assert_false(is_named(&d.all, event, "cuGetProcAddress"));
            if (event->kind > FP_KIND_MEMSET)
                continue;
            size_t launches = 0;
            for (size_t other = 0; other < d.all.event_count; other++) {
                const struct fp_event *call = &d.all.events[other].event;
                launches += call->vendor_id.value == event->vendor_id.value && call->fields & FP_IS_LAUNCH &&
                            (call->kind == FP_KIND_RUNTIME || call->kind == FP_KIND_DRIVER);
            }
            assert_int_equal(launches, 1);
        }
        assert_int_equal(begins, 1);
        assert_int_equal(ends, 1);
        assert_int_equal(collected_count(&d.all, FP_KIND_RUNTIME), 5);
        end(&d);
    }
}

static void calls_have_real_names_and_their_numbers(void **state) {
    (void)state;
    struct decoding d;
    decode_set(&d, "13.0.85-late");
    static const struct {
        const char *name;
        uint32_t cbid;
        bool launch;
    } calls[] = { { "cudaMalloc", 20, false },
                  { "cudaMemcpy", 31, true },
                  { "cudaMemset", 49, true },
                  { "cudaDeviceSynchronize", 165, false },
                  { "cudaFree", 22, false } };
    for (size_t i = 0; i < 5; i++) {
        const struct fp_event *call = event_at(&d.all, FP_KIND_RUNTIME, i);
        assert_string_equal(collected_name(&d.all, call->name), calls[i].name);
        assert_int_equal(call->u.call.cbid, calls[i].cbid);
        assert_int_equal(!!(call->fields & FP_IS_LAUNCH), calls[i].launch);
    }
    assert_string_equal(collected_name(&d.all, event_at(&d.all, FP_KIND_OVERHEAD, 0)->name),
                        "Activity Buffer Request");
    end(&d);
}

static void every_call_is_shown_to_those_who_ask_for_every_call(void **state) {
    (void)state;
    struct decoding d;
    begin(&d, "13.0.85-early");
    d.options.all_calls = true;
    fp_cupti_decoder_free(d.decoder);
    d.decoder = fp_cupti_decoder_new(&d.options);
    for (size_t i = 0; i < d.set.buffer_count; i++)
        fp_cupti_decode(d.decoder, &d.all.sink, d.set.buffers[i].bytes, d.set.buffers[i].valid_size);
    fp_cupti_decode_end(d.decoder, &d.all.sink);
    assert_int_equal(collected_count(&d.all, FP_KIND_DRIVER), 613);
    end(&d);
}

static void counting_without_the_library_sees_what_decoding_sees(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name; name++) {
        struct decoding d;
        begin(&d, *name);
        d.options.all_calls = true;
        fp_cupti_decoder_free(d.decoder);
        d.decoder = fp_cupti_decoder_new(&d.options);
        uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
        for (size_t i = 0; i < d.set.buffer_count; i++) {
            const struct replay_buffer *buffer = &d.set.buffers[i];
            fp_cupti_decode(d.decoder, &d.all.sink, buffer->bytes, buffer->valid_size);
            fp_cupti_count_records(&d.layout, buffer->bytes, buffer->valid_size, counts);
        }
        fp_cupti_decode_end(d.decoder, &d.all.sink);
        for (int kind = 0; kind < FP_KIND_COUNT; kind++)
            assert_int_equal(counts[kind], collected_count(&d.all, (enum fp_kind)kind));
        end(&d);
    }
}

static void a_buffer_cut_anywhere_is_read_no_further_and_never_gives_more(void **state) {
    (void)state;
    static const char *const sets[] = { "11.8.87-tiny", "13.0.85-tiny", "13.5.25-tiny" };
    for (size_t s = 0; s < 3; s++) {
        struct decoding d;
        begin(&d, sets[s]);
        size_t valid = d.set.buffers[1].valid_size;
        size_t before = 0;
        for (size_t cut = 0; cut <= valid; cut++) {
            uint8_t *bytes =
                malloc(cut ? cut : 1); // of exactly this size, so that a sanitizer sees one byte more
            memcpy(bytes, d.set.buffers[1].bytes, cut);
            size_t had = d.all.event_count + d.all.correlation_count;
            fp_cupti_decode(d.decoder, &d.all.sink, bytes, cut);
            size_t got = d.all.event_count + d.all.correlation_count - had;
            assert_true(got >= before || got == 0 || cut == 0);
            before = got;
            free(bytes);
        }
        end(&d);
    }
}

// ---- Records made by hand, of 13.0

struct made {
    _Alignas(8) uint8_t bytes[16384];
    size_t used;
};

static void add(struct made *made, const void *record, size_t size) {
    assert_true(made->used + size <= sizeof(made->bytes));
    memcpy(made->bytes + made->used, record, size);
    made->used += size;
}

static void add_call(struct made *made, uint32_t kind, uint32_t cbid, uint64_t start, uint64_t stop,
                     uint32_t id) {
    struct fp_cupti_api call = {
        .kind = kind, .cbid = cbid, .start = start, .end = stop, .threadId = 9, .correlationId = id
    };
    add(made, &call, 40);
}

static void add_kernel(struct made *made, uint64_t start, uint64_t stop, uint32_t id) {
    struct fp_cupti_kernel kernel = { .kind = 10,
                                      .start = start,
                                      .end = stop,
                                      .gridX = 1,
                                      .gridY = 1,
                                      .gridZ = 1,
                                      .blockX = 1,
                                      .blockY = 1,
                                      .blockZ = 1,
                                      .correlationId = id };
    add(made, &kernel, 216);
}

static void decode_made(struct decoding *d, struct made *made) {
    uint8_t *bytes = malloc(made->used ? made->used : 1);
    memcpy(bytes, made->bytes, made->used);
    fp_cupti_decode(d->decoder, &d->all.sink, bytes, made->used);
    free(bytes);
    made->used = 0;
}

enum { RUNTIME = 5, DRIVER = 4, CU_LAUNCH_KERNEL = 307, CUDA_LAUNCH_KERNEL = 211, CUDA_GET_DEVICE = 17 };

static void a_driver_call_inside_a_runtime_call_is_not_shown(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 110, 190, 50); // the runtime call's own id
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 310, 390, 61); // an id of its own, no device work
    add_kernel(&made, 500, 600, 50);
    decode_made(&d, &made); // the runtime calls' records lie in the next buffer
    add_call(&made, RUNTIME, CUDA_LAUNCH_KERNEL, 100, 200, 50);
    add_call(&made, RUNTIME, CUDA_LAUNCH_KERNEL, 300, 400, 60);
    add_kernel(&made, 600, 700, 60);
    decode_made(&d, &made);
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 320, 330, 62); // comes after the record of what encloses it
    decode_made(&d, &made);
    fp_cupti_decode_end(d.decoder, &d.all.sink);
    assert_int_equal(collected_count(&d.all, FP_KIND_DRIVER), 0);
    assert_int_equal(collected_count(&d.all, FP_KIND_RUNTIME), 2);
    end(&d);
}

static void a_driver_call_that_is_the_launch_itself_is_shown_whoever_stands_around_it(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 110, 190, 50); // alone
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 310, 390,
             61); // inside a runtime call, but device work has its id
    add_kernel(&made, 500, 600, 61);
    add_call(&made, RUNTIME, CUDA_LAUNCH_KERNEL, 300, 400, 60);
    add_call(&made, DRIVER, CU_LAUNCH_KERNEL, 700, 800, 70); // its work was dropped: the ledger must see that
    decode_made(&d, &made);
    fp_cupti_decode_end(d.decoder, &d.all.sink);
    assert_int_equal(collected_count(&d.all, FP_KIND_DRIVER), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(event_at(&d.all, FP_KIND_DRIVER, i)->fields & FP_IS_LAUNCH);
    end(&d);
}

static void a_capture_begun_inside_a_runtime_call_is_shown_once(void **state) {
    enum { CU_STREAM_BEGIN_CAPTURE = 495, CUDA_STREAM_BEGIN_CAPTURE = 315 };
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    add_call(&made, DRIVER, CU_STREAM_BEGIN_CAPTURE, 110, 190, 50); // the runtime call's own id
    add_call(&made, RUNTIME, CUDA_STREAM_BEGIN_CAPTURE, 100, 200, 50);
    add_call(&made, DRIVER, CU_STREAM_BEGIN_CAPTURE, 300, 400, 51); // the program's own
    decode_made(&d, &made);
    fp_cupti_decode_end(d.decoder, &d.all.sink);
    assert_int_equal(collected_count(&d.all, FP_KIND_RUNTIME), 1);
    assert_int_equal(collected_count(&d.all, FP_KIND_DRIVER), 1);
    const struct fp_event *own = event_at(&d.all, FP_KIND_DRIVER, 0);
    assert_int_equal(own->vendor_id.value, 51);
    assert_int_equal(own->fields & (FP_BEGINS_CAPTURE | FP_IS_LAUNCH), FP_BEGINS_CAPTURE);
    end(&d);
}

static void waiting_driver_calls_are_bounded_and_none_is_lost(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    for (uint32_t id = 1; id <= 100000; id++) {
        add_call(&made, DRIVER, CU_LAUNCH_KERNEL, id * 10, id * 10 + 5, id);
        if (made.used > 16000)
            decode_made(&d, &made);
    }
    decode_made(&d, &made);
    assert_true(collected_count(&d.all, FP_KIND_DRIVER) > 60000);
    fp_cupti_decode_end(d.decoder, &d.all.sink);
    assert_int_equal(collected_count(&d.all, FP_KIND_DRIVER), 100000);
    end(&d);
}

static void quiet_calls_are_left_out(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    static const uint32_t quiet[] = { 10, 16, 17, 133, 134, 136 }; // measured on torch 2.11 with CUDA 13.0
    begin(&d, "13.0.85-late");
    for (size_t i = 0; i < 6; i++)
        add_call(&made, RUNTIME, quiet[i], 100, 200, 5);
    add_call(&made, RUNTIME, 11, 100, 200, 6); // cudaPeekAtLastError is no quiet one for torch
    decode_made(&d, &made);
    assert_int_equal(collected_count(&d.all, FP_KIND_RUNTIME), 1);
    end(&d);
}

static void impossible_times_are_counted_and_give_no_event(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    const uint64_t hour = UINT64_C(3600000000000);
    begin(&d, "13.0.85-late");
    add_kernel(&made, 0, 0, 1);
    add_kernel(&made, 0, 900, 2);
    add_kernel(&made, 900, 0, 3);
    add_kernel(&made, 900, 800, 4);
    add_kernel(&made, 900, 901 + hour, 5);
    add_kernel(&made, 900, 900 + hour, 6);
    add_kernel(&made, 900, 900, 7);
    add_kernel(&made, UINT64_MAX - 5, UINT64_MAX, 8);
    add_call(&made, RUNTIME, CUDA_LAUNCH_KERNEL, 0, 0, 9);
    decode_made(&d, &made);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 2);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_NO_TIMING], 1);
    assert_int_equal(d.all.lost[FP_KIND_KERNEL][FP_LOSS_MALFORMED], 5);
    assert_int_equal(d.all.lost[FP_KIND_RUNTIME][FP_LOSS_NO_TIMING], 1);
    end(&d);
}

static void a_kind_that_the_iterator_does_not_know_is_counted_and_what_stood_before_it_is_kept(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    uint32_t alien[10] = { 777 };
    add_kernel(&made, 900, 950, 1);
    add(&made, alien, sizeof(alien));
    add_kernel(&made, 900, 950, 2);
    uint64_t dropped[FP_KIND_COUNT + 1] = { 0 }; // were it a spare
    fp_cupti_count_records(&d.layout, made.bytes, made.used, dropped);
    assert_int_equal(dropped[FP_KIND_KERNEL], 1);
    assert_int_equal(dropped[FP_KIND_COUNT], 1);
    decode_made(&d, &made);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 1);
    assert_int_equal(d.all.lost[FP_KIND_COUNT][FP_LOSS_UNKNOWN_KIND], 1);
    assert_int_equal(d.all.lost[FP_KIND_COUNT][FP_LOSS_UNCOUNTED], 1); // those behind it, however many
    assert_non_null(strstr(d.all.notes, "777"));
    end(&d);
}

static void a_peer_copy_names_both_devices_and_contexts(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    struct fp_cupti_memcpy_peer peer = { .kind = 22,
                                         .copyKind = 10,
                                         .srcKind = 3,
                                         .dstKind = 3,
                                         .bytes = 77,
                                         .start = 10,
                                         .end = 20,
                                         .deviceId = 4,
                                         .contextId = 1,
                                         .streamId = 7,
                                         .srcDeviceId = 5,
                                         .srcContextId = 2,
                                         .dstDeviceId = 6,
                                         .dstContextId = 3,
                                         .correlationId = 12 };
    static const char *const keys[] = { "fromDevice",  "inDevice",  "toDevice",
                                        "fromContext", "inContext", "toContext" };
    static const int64_t values[] = { 5, 4, 6, 2, 1, 3 };
    begin(&d, "13.0.85-late");
    add(&made, &peer, 96);
    decode_made(&d, &made);
    assert_string_equal(collected_name(&d.all, d.all.events[0].event.name), "Memcpy PtoP (Device -> Device)");
    assert_int_equal(d.all.events[0].event.extra_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(collected_name(&d.all, d.all.events[0].extras[i].key), keys[i]);
        assert_int_equal(d.all.events[0].extras[i].value.integer, values[i]);
    }
    end(&d);
}

static void operators_and_ranges_are_told_apart_and_id_0_is_an_id(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    for (uint32_t kind = 0; kind < 6; kind++) {
        struct fp_cupti_external_correlation record = {
            .kind = 39, .externalKind = kind, .externalId = kind - 3, .correlationId = 8
        };
        add(&made, &record, 24);
    }
    decode_made(&d, &made);
    assert_int_equal(d.all.correlation_count, 2);
    assert_int_equal(collected_id(&d.all, FP_ID_OPERATOR, 8), 0);
    assert_int_equal(collected_id(&d.all, FP_ID_RANGE, 8), 1);
    end(&d);
}

static const char *resolver(void *owner, uint32_t domain, uint32_t cbid) {
    (void)owner;
    return domain == FP_CUPTI_DOMAIN_RUNTIME && cbid == 1900 ? "cudaNewerThanTheTable" : NULL;
}

static void a_call_newer_than_the_table_gets_the_librarys_name_else_a_label_with_its_number(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    begin(&d, "13.0.85-late");
    d.options.call_name = resolver;
    fp_cupti_decoder_free(d.decoder);
    d.decoder = fp_cupti_decoder_new(&d.options);
    add_call(&made, RUNTIME, 1900, 10, 20, 1);
    add_call(&made, RUNTIME, 1901, 10, 20, 2);
    add_call(&made, RUNTIME, 4000000000u, 10, 20, 3);
    decode_made(&d, &made);
    assert_string_equal(collected_name(&d.all, d.all.events[0].event.name), "cudaNewerThanTheTable");
    assert_string_equal(collected_name(&d.all, d.all.events[1].event.name), "cudaRuntimeCall_1901");
    assert_string_equal(collected_name(&d.all, d.all.events[2].event.name), "cudaRuntimeCall_4000000000");
    end(&d);
}

static void a_failed_launch_keeps_its_result(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    struct fp_cupti_api call = {
        .kind = RUNTIME, .cbid = CUDA_LAUNCH_KERNEL, .start = 1, .end = 2, .returnValue = 98
    };
    begin(&d, "13.0.85-late");
    add(&made, &call, 40);
    decode_made(&d, &made);
    assert_int_equal(d.all.events[0].event.u.call.result, 98);
    assert_true(d.all.events[0].event.fields & FP_HAS_RESULT);
    end(&d);
}

static void another_clock_is_mapped_to_the_epoch(void **state) {
    (void)state;
    struct decoding d;
    struct made made = { 0 };
    struct fp_clock clock = { .first = { 1000, 5000000 }, .last = { 3000, 5001000 } };
    begin(&d, "13.0.85-late");
    d.options.clock = &clock;
    fp_cupti_decoder_free(d.decoder);
    d.decoder = fp_cupti_decoder_new(&d.options);
    add_kernel(&made, 800, 1200, 1);
    decode_made(&d, &made);
    assert_int_equal(d.all.events[0].event.start_ns, 5000000 - 100);
    assert_int_equal(d.all.events[0].event.end_ns, 5000000 + 100);
    end(&d);
}

// ---- Iterators that lie

static uint32_t stuck(uint8_t *buffer, size_t valid, void **record) {
    (void)valid;
    *record = buffer;
    return 0;
}

static uint32_t runs_away(uint8_t *buffer, size_t valid, void **record) {
    *record = *record ? (uint8_t *)*record + 1000 : buffer;
    (void)valid;
    return 0;
}

static uint32_t steps_by_four(uint8_t *buffer, size_t valid, void **record) {
    uint8_t *next = *record ? (uint8_t *)*record + 4 : buffer;
    if (next + 4 > buffer + valid)
        return 12;
    *record = next;
    return 0;
}

static uint32_t gives_null(uint8_t *buffer, size_t valid, void **record) {
    (void)buffer;
    (void)valid;
    *record = NULL;
    return 0;
}

static void a_lying_iterator_neither_hangs_nor_leads_outside(void **state) {
    (void)state;
    static const fp_cupti_next_fn liars[] = { stuck, runs_away, steps_by_four, gives_null };
    for (size_t i = 0; i < 4; i++) {
        struct decoding d;
        struct made made = { 0 };
        begin(&d, "13.0.85-late");
        d.options.next = liars[i];
        fp_cupti_decoder_free(d.decoder);
        d.decoder = fp_cupti_decoder_new(&d.options);
        for (uint32_t id = 1; id < 6; id++)
            add_kernel(&made, 900, 950, id);
        decode_made(&d, &made);
        assert_true(collected_lost(&d.all) > 0);
        end(&d);
    }
}

// ---- Layouts

static uint16_t forced_kernel;

static uint32_t forced_next(uint8_t *buffer, size_t valid, void **record) {
    uint32_t kind;
    uint8_t *next = *record;
    if (!next) {
        next = buffer;
    } else {
        memcpy(&kind, next, 4);
        next += kind == 10               ? forced_kernel
                : kind == 1 || kind == 2 ? 88
                : kind == 22             ? 96
                : kind == 39             ? 24
                                         : 40;
    }
    if (next + 4 > buffer + valid)
        return 12;
    *record = next;
    return 0;
}

static void releases_that_report_one_version_are_told_apart_by_their_stride(void **state) {
    (void)state;
    struct fp_cupti_layout layout;
    bool mismatch;
    forced_kernel = 200;
    assert_true(fp_cupti_layout_find(&layout, 18, forced_next, &mismatch));
    assert_string_equal(layout.release, "11.8");
    assert_false(mismatch);
    forced_kernel = 208;
    assert_true(fp_cupti_layout_find(&layout, 18, forced_next, &mismatch));
    assert_string_equal(layout.release, "12.0, 12.1");
    assert_false(mismatch);
    assert_true(fp_cupti_layout_find(&layout, 18, NULL, NULL)); // no probe: the prefix that they share
    assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_KERNEL], 200);
}

static void a_version_that_contradicts_the_strides_is_noticed_and_the_strides_win(void **state) {
    (void)state;
    struct fp_cupti_layout layout;
    bool mismatch;
    forced_kernel = 200;
    assert_true(fp_cupti_layout_find(&layout, 130001, forced_next, &mismatch));
    assert_true(mismatch);
    assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_KERNEL], 200);
    assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_OVERHEAD], 40);
}

static void older_than_the_mirror_is_refused_and_newer_is_read_as_a_prefix(void **state) {
    (void)state;
    struct fp_cupti_layout layout;
    assert_false(fp_cupti_layout_find(&layout, 17, NULL, NULL));
    assert_true(fp_cupti_layout_find(&layout, 990000, NULL, NULL));
    assert_true(layout.newer);
    assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_KERNEL], 248);
}

static void records_shorter_than_their_version_are_read_as_a_prefix_and_said(void **state) {
    (void)state;
    struct decoding d;
    begin(&d, "11.8.87-late");
    struct fp_cupti_layout wrong;
    assert_true(
        fp_cupti_layout_find(&wrong, 130001, NULL, NULL)); // the version says 13.0, the bytes are 11.8's
    d.options.layout = &wrong;
    fp_cupti_decoder_free(d.decoder);
    d.decoder = fp_cupti_decoder_new(&d.options);
    for (size_t i = 0; i < d.set.buffer_count; i++)
        fp_cupti_decode(d.decoder, &d.all.sink, d.set.buffers[i].bytes, d.set.buffers[i].valid_size);
    assert_int_equal(collected_count(&d.all, FP_KIND_KERNEL), 26);
    assert_int_equal(event_at(&d.all, FP_KIND_KERNEL, 3)->u.kernel.grid[0], 4);
    assert_non_null(strstr(d.all.notes, "version 130001"));
    end(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_every_release_come_out_as_they_were_launched),
        cmocka_unit_test(copies_and_sets_of_every_release_have_torchs_names_and_their_bytes),
        cmocka_unit_test(graph_kernels_carry_their_graph_and_node_and_share_one_launch),
        cmocka_unit_test(every_piece_of_device_work_has_its_launching_call_and_init_calls_are_not_shown),
        cmocka_unit_test(calls_have_real_names_and_their_numbers),
        cmocka_unit_test(every_call_is_shown_to_those_who_ask_for_every_call),
        cmocka_unit_test(counting_without_the_library_sees_what_decoding_sees),
        cmocka_unit_test(a_buffer_cut_anywhere_is_read_no_further_and_never_gives_more),
        cmocka_unit_test(a_driver_call_inside_a_runtime_call_is_not_shown),
        cmocka_unit_test(a_driver_call_that_is_the_launch_itself_is_shown_whoever_stands_around_it),
        cmocka_unit_test(a_capture_begun_inside_a_runtime_call_is_shown_once),
        cmocka_unit_test(waiting_driver_calls_are_bounded_and_none_is_lost),
        cmocka_unit_test(quiet_calls_are_left_out),
        cmocka_unit_test(impossible_times_are_counted_and_give_no_event),
        cmocka_unit_test(a_kind_that_the_iterator_does_not_know_is_counted_and_what_stood_before_it_is_kept),
        cmocka_unit_test(a_peer_copy_names_both_devices_and_contexts),
        cmocka_unit_test(operators_and_ranges_are_told_apart_and_id_0_is_an_id),
        cmocka_unit_test(a_call_newer_than_the_table_gets_the_librarys_name_else_a_label_with_its_number),
        cmocka_unit_test(a_failed_launch_keeps_its_result),
        cmocka_unit_test(another_clock_is_mapped_to_the_epoch),
        cmocka_unit_test(a_lying_iterator_neither_hangs_nor_leads_outside),
        cmocka_unit_test(releases_that_report_one_version_are_told_apart_by_their_stride),
        cmocka_unit_test(a_version_that_contradicts_the_strides_is_noticed_and_the_strides_win),
        cmocka_unit_test(older_than_the_mirror_is_refused_and_newer_is_read_as_a_prefix),
        cmocka_unit_test(records_shorter_than_their_version_are_read_as_a_prefix_and_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
