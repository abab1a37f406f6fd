// test_cupti_replay.c - the CUPTI tracer's decoder on NVIDIA's own bytes: what an H200 did under sixteen
// CUPTI releases comes out, to the value. tests/fixtures/buffers/README.md says what that is.
//
// In:  every recorded set.
// Out: a sink that keeps what it is given, asked by one test per property.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/demangle.h"
#include "replay.h"
#include "tracers/cupti_abi.h"
#include "tracers/cupti_decode.h"

enum { MOST = 4096, MOST_EXTRAS = 8 };

struct found {
    const char *set;
    struct replay *replay;
    struct fp_event events[MOST];
    struct fp_extra extras[MOST][MOST_EXTRAS];
    size_t event_count;
    struct {
        uint32_t vendor;
        enum fp_id_kind kind;
        uint64_t framework;
    } links[MOST];
    size_t link_count;
    char *names[MOST];
    enum fp_name_form forms[MOST];
    size_t name_count;
    uint64_t lost;
    size_t dead_addresses; // names that the decoder read where no name was
};

static fp_name_id keep_name(void *owner, const char *text, enum fp_name_form form) {
    struct found *found = owner;
    assert_true(found->name_count < MOST);
    found->names[found->name_count] = strdup(text != NULL ? text : "");
    found->forms[found->name_count] = form;
    return (fp_name_id){ (uint32_t)found->name_count++ };
}

static void keep_event(void *owner, const struct fp_event *event) {
    struct found *found = owner;
    assert_true(found->event_count < MOST);
    assert_true(event->extra_count <= MOST_EXTRAS);
    struct fp_event *kept = &found->events[found->event_count];
    struct fp_extra *extras = found->extras[found->event_count++];
    *kept = *event;
    kept->extras = extras;
    if (event->extra_count > 0) {
        memcpy(extras, event->extras, event->extra_count * sizeof(*extras));
    }
}

static void keep_link(void *owner, fp_vendor_id vendor, enum fp_id_kind kind, uint64_t framework) {
    struct found *found = owner;
    assert_true(found->link_count < MOST);
    found->links[found->link_count].vendor = vendor.value;
    found->links[found->link_count].kind = kind;
    found->links[found->link_count++].framework = framework;
}

static void count_loss(void *owner, enum fp_kind kind, enum fp_loss reason, uint64_t count) {
    (void)kind;
    (void)reason;
    ((struct found *)owner)->lost += count;
}

static void ignore_note(void *owner, const char *sentence) {
    (void)owner;
    (void)sentence;
}

static const char *read_name(void *owner, uint64_t address) {
    struct found *found = owner;
    const char *text = replay_text(found->replay, address);
    found->dead_addresses += address != 0 && text == NULL;
    return text;
}

// Everything that the decoder makes of one set. Free with forget.
static struct found *decode(const char *set_name, bool all_calls) {
    struct found *found = calloc(1, sizeof(*found));
    struct replay set;
    assert_non_null(found);
    assert_true(replay_load(&set, set_name));
    replay_iterate(&set);
    found->set = set_name;
    found->replay = &set;

    struct fp_cupti_layout layout;
    bool mismatch = true;
    assert_true(fp_cupti_layout_find(&layout, set.api_version, replay_next_record, &mismatch));
    assert_false(mismatch);
    struct fp_sink sink = {
        .size = sizeof(sink),
        .owner = found,
        .name = keep_name,
        .event = keep_event,
        .correlate = keep_link,
        .lose = count_loss,
        .note = ignore_note,
    };
    struct fp_cupti_decoder_options options = {
        .layout = &layout,
        .next = replay_next_record,
        .text = read_name,
        .owner = found,
        .all_calls = all_calls,
    };
    struct fp_cupti_decoder *decoder = fp_cupti_decoder_new(&options);
    assert_non_null(decoder);
    for (size_t i = 0; i < set.buffer_count; i++) {
        fp_cupti_decode(decoder, &sink, set.buffers[i].bytes, set.buffers[i].valid_size);
    }
    fp_cupti_decode_end(decoder, &sink);
    fp_cupti_decoder_free(decoder);
    replay_free(&set);
    found->replay = NULL;
    return found;
}

static void forget(struct found *found) {
    for (size_t i = 0; i < found->name_count; i++) {
        free(found->names[i]);
    }
    free(found);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

// Runs `judge` on every whole set: not on "refuse", where most records are missing by intention.
static void judge_all(void (*judge)(const struct found *found), bool all_calls) {
    for (const char *const *name = replay_sets; *name != NULL; name++) {
        if (!ends_with(*name, "-refuse")) {
            struct found *found = decode(*name, all_calls);
            judge(found);
            forget(found);
        }
    }
}

static const char *name_of(const struct found *found, const struct fp_event *event) {
    return found->names[event->name.value];
}

static bool is_device_work(const struct fp_event *event) {
    return event->kind == FP_KIND_KERNEL || event->kind == FP_KIND_MEMCPY || event->kind == FP_KIND_MEMSET;
}

// The framework id that the vendor's id leads to, 0: none (the program used 7001 to 7004).
static uint64_t framework_of(const struct found *found, const struct fp_event *event) {
    for (size_t i = 0; i < found->link_count; i++) {
        if (found->links[i].vendor == event->vendor_id.value) {
            assert_int_equal(found->links[i].kind, FP_ID_OPERATOR);
            return found->links[i].framework;
        }
    }
    return 0;
}

static int by_vendor_id(const void *left, const void *right) {
    const struct fp_event *a = *(const struct fp_event *const *)left;
    const struct fp_event *b = *(const struct fp_event *const *)right;
    if (a->vendor_id.value != b->vendor_id.value) {
        return a->vendor_id.value < b->vendor_id.value ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

// Events of one kind under one framework id (0: those without), in the order of their launches.
static size_t pick(const struct found *found, enum fp_kind kind, uint64_t framework,
                   const struct fp_event **picked) {
    size_t count = 0;
    for (size_t i = 0; i < found->event_count; i++) {
        if (found->events[i].kind == kind && framework_of(found, &found->events[i]) == framework) {
            picked[count++] = &found->events[i];
        }
    }
    qsort(picked, count, sizeof(*picked), by_vendor_id);
    return count;
}

static void judge_axpy(const struct found *found, const struct fp_event *const *kernels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct fp_kernel *kernel = &kernels[i]->u.kernel;
        assert_true(kernels[i]->fields & FP_HAS_GEOMETRY);
        assert_int_equal(kernel->grid[0], 4 + i % 3);
        assert_int_equal(kernel->grid[1] * kernel->grid[2], 1);
        assert_int_equal(kernel->block[0], 256);
        assert_int_equal(kernel->block[1] * kernel->block[2], 1);
        assert_true(kernels[i]->fields & FP_HAS_REGISTERS);
        assert_int_equal(kernel->registers_per_thread, 16);
        assert_true(kernels[i]->fields & FP_HAS_SHARED);
        assert_int_equal(kernel->shared_bytes, 0);
        assert_string_equal(name_of(found, kernels[i]), "_Z9axpy_probeIfEvPT_S0_i");
        assert_int_equal(found->forms[kernels[i]->name.value], FP_NAME_MANGLED);
        assert_true(kernels[i]->fields & FP_HAS_STREAM);
        assert_int_equal(kernels[i]->stream, kernels[i % 2]->stream);
    }
    assert_int_not_equal(kernels[0]->stream, kernels[1]->stream);
}

static void judge_launches(const struct found *found) {
    const struct fp_event *kernels[MOST];
    assert_int_equal(pick(found, FP_KIND_KERNEL, 7001, kernels), 20);
    judge_axpy(found, kernels, 20);
    size_t before = pick(found, FP_KIND_KERNEL, 0, kernels);
    assert_int_equal(before, ends_with(found->set, "-early") ? 10 : 0);
    if (before > 0) {
        judge_axpy(found, kernels, before);
    }
}

static void launches_keep_geometry_registers_name_and_stream(void **state) {
    (void)state;
    judge_all(judge_launches, false);
}

static void judge_copy(const struct found *found, const struct fp_event *copy, uint64_t bytes,
                       const char *direction, bool async) {
    assert_true(copy->fields & FP_HAS_BYTES);
    assert_int_equal(copy->u.copy.bytes, bytes);
    assert_non_null(strstr(name_of(found, copy), direction));
    assert_int_equal((copy->fields & FP_IS_ASYNC) != 0, async);
}

static void judge_transfers(const struct found *found) {
    const struct fp_event *events[MOST];
    assert_int_equal(pick(found, FP_KIND_MEMCPY, 7002, events), 3);
    judge_copy(found, events[0], 4096, "HtoD", true);
    judge_copy(found, events[1], 2048, "DtoH", true);
    judge_copy(found, events[2], 1024, "DtoD", true);
    assert_int_equal(pick(found, FP_KIND_MEMCPY, 7003, events), 1);
    judge_copy(found, events[0], 1024, "HtoD", false);
    assert_int_equal(pick(found, FP_KIND_MEMSET, 7002, events), 1);
    assert_int_equal(events[0]->u.set.bytes, 512);
    assert_int_equal(events[0]->u.set.value, 5);
    assert_int_equal(pick(found, FP_KIND_MEMSET, 7003, events), 1);
    assert_int_equal(events[0]->u.set.bytes, 256);
    assert_int_equal(events[0]->u.set.value, 3);
}

static void copies_and_sets_keep_bytes_value_and_direction(void **state) {
    (void)state;
    judge_all(judge_transfers, false);
}

// The integer under `key`, 0: the event has none.
static int64_t extra_of(const struct found *found, const struct fp_event *event, const char *key) {
    for (size_t i = 0; i < event->extra_count; i++) {
        if (strcmp(found->names[event->extras[i].key.value], key) == 0) {
            return event->extras[i].value.integer;
        }
    }
    return 0;
}

static void judge_graph(const struct found *found) {
    const struct fp_event *kernels[MOST];
    assert_int_equal(pick(found, FP_KIND_KERNEL, 7004, kernels), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(kernels[i]->u.kernel.grid[0], 2);
        assert_int_equal(kernels[i]->u.kernel.block[0], 128);
        assert_int_equal(kernels[i]->vendor_id.value, kernels[i / 3 * 3]->vendor_id.value);
    }
    assert_int_not_equal(kernels[0]->vendor_id.value, kernels[3]->vendor_id.value);
    for (size_t i = 0; i < 3; i++) {
        int64_t node = extra_of(found, kernels[i], "graph node id");
        assert_int_not_equal(node, 0);
        assert_int_equal(node, extra_of(found, kernels[3 + i], "graph node id"));
        assert_int_not_equal(node, extra_of(found, kernels[(i + 1) % 3], "graph node id"));
        assert_int_not_equal(extra_of(found, kernels[i], "graph id"), 0);
    }
}

static void graph_kernels_share_the_id_of_their_launch_and_keep_their_nodes(void **state) {
    (void)state;
    judge_all(judge_graph, false);
}

static size_t calls_with(const struct found *found, uint32_t vendor, bool launch) {
    size_t count = 0;
    for (size_t i = 0; i < found->event_count; i++) {
        const struct fp_event *event = &found->events[i];
        bool call = event->kind == FP_KIND_RUNTIME || event->kind == FP_KIND_DRIVER;
        bool fits = call && (!launch || (event->fields & FP_IS_LAUNCH) != 0);
        count += fits && event->vendor_id.value == vendor;
    }
    return count;
}

static void judge_device_work_has_its_call(const struct found *found) {
    for (size_t i = 0; i < found->event_count; i++) {
        if (is_device_work(&found->events[i])) {
            assert_int_equal(calls_with(found, found->events[i].vendor_id.value, true), 1);
        }
    }
}

static void every_piece_of_device_work_has_exactly_one_launching_call(void **state) {
    (void)state;
    judge_all(judge_device_work_has_its_call, false);
    judge_all(judge_device_work_has_its_call, true);
}

static void judge_runtime_calls(const struct found *found) {
    static const char *const expected[] = { "cudaMalloc", "cudaMemcpy", "cudaMemset", "cudaDeviceSynchronize",
                                            "cudaFree" };
    const struct fp_event *calls[MOST];
    assert_int_equal(pick(found, FP_KIND_RUNTIME, 7003, calls), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(name_of(found, calls[i]), expected[i]);
        assert_true(calls[i]->fields & FP_HAS_CBID);
    }
    assert_int_equal(calls[1]->u.call.cbid, 31);
}

static void runtime_calls_have_their_names_in_order(void **state) {
    (void)state;
    judge_all(judge_runtime_calls, false);
    judge_all(judge_runtime_calls, true);
}

static void judge_own_driver_calls(const struct found *found) {
    for (size_t i = 0; i < found->event_count; i++) {
        if (found->events[i].kind == FP_KIND_DRIVER) {
            assert_string_not_equal(name_of(found, &found->events[i]), "cuGetProcAddress");
            assert_string_not_equal(name_of(found, &found->events[i]), "cuDeviceGetAttribute");
        }
    }
    const struct fp_event *calls[MOST];
    assert_int_equal(pick(found, FP_KIND_DRIVER, 7001, calls), 20);
    for (size_t i = 0; i < 20; i++) {
        assert_string_equal(name_of(found, calls[i]), "cuLaunchKernel");
        assert_int_equal(calls[i]->u.call.cbid, 307);
    }
}

// cudart asks the driver some five hundred things when it starts; they are its own and not the program's.
static void driver_calls_are_shown_where_they_are_the_launch_and_not_cudarts_own(void **state) {
    (void)state;
    judge_all(judge_own_driver_calls, false);
}

static void judge_wholeness(const struct found *found) {
    assert_int_equal(found->lost, 0);
    assert_int_equal(found->dead_addresses, 0);
    assert_true(found->event_count > 0);
    for (size_t i = 0; i < found->event_count; i++) {
        const struct fp_event *event = &found->events[i];
        assert_true(event->end_ns >= event->start_ns);
        assert_true(event->end_ns - event->start_ns < 2000000000);
        assert_true(event->start_ns > INT64_C(1700000000000000000)); // the epoch, not since boot
    }
}

static void nothing_is_lost_and_every_time_is_of_the_epoch(void **state) {
    (void)state;
    judge_all(judge_wholeness, false);
    judge_all(judge_wholeness, true);
    struct found *refused = decode("13.0.85-refuse", false);
    judge_wholeness(refused);
    forget(refused);
}

// A piece of device work as tests/hardware/capture_buffers.py writes what torch saw of it. To be freed.
static char *line_of(const struct found *found, const struct fp_event *event) {
    const char *name = name_of(found, event);
    char *demangled = event->kind == FP_KIND_KERNEL ? fp_demangle(name, NULL) : NULL;
    const char *shown = demangled != NULL ? demangled : name;
    const struct fp_kernel *k = &event->u.kernel;
    char *line = NULL;
    int length = 0;
    if (event->kind == FP_KIND_KERNEL) {
        length =
            asprintf(&line, "kernel %u %u %u %u %u %u %u %u %s\n", k->grid[0], k->grid[1], k->grid[2],
                     k->block[0], k->block[1], k->block[2], k->registers_per_thread, k->shared_bytes, shown);
    } else if (event->kind == FP_KIND_MEMCPY) {
        length = asprintf(&line, "memcpy %llu %s\n", (unsigned long long)event->u.copy.bytes, shown);
    } else {
        length = asprintf(&line, "memset %llu %s\n", (unsigned long long)event->u.set.bytes, shown);
    }
    assert_true(length > 0);
    free(demangled);
    return line;
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void judge_against_torch(const struct found *found, const char *expected_path) {
    char *lines[MOST];
    size_t count = 0;
    for (size_t i = 0; i < found->event_count; i++) {
        if (is_device_work(&found->events[i])) {
            lines[count++] = line_of(found, &found->events[i]);
        }
    }
    qsort(lines, count, sizeof(lines[0]), by_text);
    FILE *file = fopen(expected_path, "r");
    assert_non_null(file);
    char *expected = NULL;
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(getline(&expected, &room, file) > 0);
        assert_string_equal(lines[i], expected);
        free(lines[i]);
    }
    assert_true(getline(&expected, &room, file) < 0);
    free(expected);
    fclose(file);
}

static void what_torch_ran_decodes_to_what_torchs_own_profiler_saw(void **state) {
    (void)state;
    glob_t sets;
    if (glob(FIXTURES "/buffers/cupti-h200/*.expected", 0, NULL, &sets) != 0) {
        print_message("no buffers captured from torch (tests/hardware/capture_buffers.py makes them)\n");
        skip();
    }
    for (size_t i = 0; i < sets.gl_pathc; i++) {
        char *name = strdup(strrchr(sets.gl_pathv[i], '/') + 1);
        assert_non_null(name);
        name[strlen(name) - strlen(".expected")] = '\0';
        struct found *found = decode(name, false);
        judge_wholeness(found);
        judge_against_torch(found, sets.gl_pathv[i]);
        judge_device_work_has_its_call(found);
        forget(found);
        free(name);
    }
    globfree(&sets);
}

static void the_probe_finds_the_release_that_filled_the_buffers(void **state) {
    (void)state;
    for (const char *const *name = replay_sets; *name != NULL; name++) {
        struct replay set;
        assert_true(replay_load(&set, *name));
        replay_iterate(&set);
        struct fp_cupti_layout layout;
        assert_true(fp_cupti_layout_find(&layout, set.api_version, replay_next_record, NULL));
        assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_KERNEL],
                         replay_record_size(&set, FP_CUPTI_KIND_CONCURRENT_KERNEL));
        assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_MEMCPY], replay_record_size(&set, FP_CUPTI_KIND_MEMCPY));
        assert_int_equal(layout.sizes[FP_CUPTI_SHAPE_OVERHEAD],
                         replay_record_size(&set, FP_CUPTI_KIND_OVERHEAD));
        replay_free(&set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_keep_geometry_registers_name_and_stream),
        cmocka_unit_test(copies_and_sets_keep_bytes_value_and_direction),
        cmocka_unit_test(graph_kernels_share_the_id_of_their_launch_and_keep_their_nodes),
        cmocka_unit_test(every_piece_of_device_work_has_exactly_one_launching_call),
        cmocka_unit_test(runtime_calls_have_their_names_in_order),
        cmocka_unit_test(driver_calls_are_shown_where_they_are_the_launch_and_not_cudarts_own),
        cmocka_unit_test(nothing_is_lost_and_every_time_is_of_the_epoch),
        cmocka_unit_test(what_torch_ran_decodes_to_what_torchs_own_profiler_saw),
        cmocka_unit_test(the_probe_finds_the_release_that_filled_the_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
