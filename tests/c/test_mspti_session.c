// test_mspti_session.c - whole sessions on a simulated MSPTI, sound and with every fault it can have: in a
// process that was started without it, and in one that was started with it.
#include "mspti_sessions.h"
#include "session_rows.h"
#include "tracers/libraries.h"

#include <sys/stat.h>

#define HARMLESS                                                                                             \
    "tiny_buffers late_buffers,tiny_buffers=900 out_of_order late_correlation,tiny_buffers "                 \
    "flush_completion_thread,tiny_buffers hang_flush=50 wide_ids no_node_api own_stacks "                    \
    "many_workers,tiny_buffers null_completion held_by_device "                                              \
    "tiny_buffers,out_of_order,late_correlation,wide_ids,null_completion"
#define CLOCKS_APART "clock_behind=20000 clock_behind=2000000000 clock_ahead=1000000,tiny_buffers=65536"

static void (*wanted)(void);

static void beside_ascendcl(void) {
    load_ascendcl();
    wanted();
}

static void run_beside_ascendcl(const char *faults, void (*scenario)(void)) {
    wanted = scenario;
    run(faults, beside_ascendcl);
}

#define BESIDE_ASCENDCL(scenario, faults)                                                                    \
    { scenario, faults, run_beside_ascendcl }

// ---- What a recording is

static void without_copies(void) {
    whole();
    CHECK(strstr(all.notes, "result 6") && strstr(all.notes, "flagprof env"), "it is not said: %s",
          all.notes);
    CHECK(!strstr(all.notes, "collectives"), "what MSPTI took is said to be missing: %s", all.notes);
}

static void with_copies(void) {
    whole();
    CHECK(all.notes[0] == '\0', "%s", all.notes);
}

static void start_again_with_the_library(void) {
    char self[4096], options[512];
    const char *before = getenv("ASAN_OPTIONS");
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    CHECK(length > 0, "no path of its own");
    self[length] = '\0';
    // The sanitizer's library comes second then, which it would refuse.
    snprintf(options, sizeof(options), "%s%sverify_asan_link_order=0", before ? before : "",
             before ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
    setenv("LD_PRELOAD", MSPTI, 1);
    execl(self, self, "preloaded", (char *)NULL);
    _exit(9);
}

static void the_same_program_started_with_the_library_passes_its_tests(void **state) {
    (void)state;
    SKIP_IF_EMULATED(STARTS_ITSELF);
    run("", start_again_with_the_library);
}

static void an_old_release(void) {
    whole();
    CHECK(is_preloaded ? all.notes[0] == '\0' : strstr(all.notes, "gave no record of the copies") != NULL,
          "%s", all.notes);
}

// ---- Collectives

enum { ELEMENTS = 96, RANKS = 2 };

typedef int (*hccl_init)(uint32_t, int32_t *, void **);
typedef int (*hccl_all_reduce)(void *, void *, uint64_t, int, int, void *, void *);

static uint32_t streams[RANKS];

// Each device gives its number and one more, in float; and is given 3.
static void reduce_between_devices(void) {
    int32_t devices[RANKS] = { 0, 1 };
    void *comms[RANKS];
    float *numbers[RANKS];
    flagsim_stream *stream[RANKS];
    CHECK(dlopen(HCCL, RTLD_NOW | RTLD_GLOBAL), "%s", dlerror());
    CHECK_EQUAL(CALL("HcclCommInitAll", hccl_init, RANKS, devices, comms), 0);
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK_EQUAL(flagsim_set_device(rank), 0);
        CHECK_EQUAL(flagsim_stream_create(&stream[rank]), 0);
        CHECK_EQUAL(flagsim_malloc((void **)&numbers[rank], ELEMENTS * sizeof(float)), 0);
        for (int at = 0; at < ELEMENTS; at++)
            numbers[rank][at] = (float)(rank + 1);
        streams[rank] = flagsim_stream_id(stream[rank]);
    }
    push(FP_ID_OPERATOR, OPERATOR + 5);
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK_EQUAL(flagsim_set_device(rank), 0);
        CHECK_EQUAL(CALL("HcclAllReduce", hccl_all_reduce, numbers[rank], numbers[rank], ELEMENTS, 4, 0,
                         comms[rank], stream[rank]),
                    0);
    }
    pop(FP_ID_OPERATOR);
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK_EQUAL(flagsim_stream_synchronize(stream[rank]), 0);
        CHECK(numbers[rank][0] == 3 && numbers[rank][ELEMENTS - 1] == 3, "it was not reduced");
    }
    CHECK_EQUAL(flagsim_set_device(0), 0);
}

static void record_collectives(void) {
    load_ascendcl();
    open_tracer();
    collect_begin(&all);
    start();
    launch(7);
    reduce_between_devices();
    launch(8);
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_lost(&all), 0);
}

static bool is_collective(const struct fp_event *event) {
    return event->kind == FP_KIND_KERNEL && name_is(event, "hcom_allReduce_");
}

static void expect_text(const struct fp_extra *extra, const char *key, const char *text) {
    CHECK(strcmp(collected_name(&all, extra->key), key) == 0, "%s", collected_name(&all, extra->key));
    CHECK(strcmp(collected_name(&all, extra->value.text), text) == 0, "%s is %s", key,
          collected_name(&all, extra->value.text));
}

static void with_the_newer_kind(void) {
    size_t found = 0;
    record_collectives();
    CHECK_EQUAL(collected_count(&all, FP_KIND_KERNEL), RANKS + 2);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        const struct fp_extra *extras = all.events[at].extras;
        if (!is_collective(event))
            continue;
        const struct fp_event *call = call_of(event->vendor_id.value);
        CHECK(call && name_is(call, "HcclAllReduce"), "another call began it");
        CHECK_EQUAL(collected_id(&all, FP_ID_OPERATOR, event->vendor_id.value), OPERATOR + 5);
        CHECK(event->device < RANKS && event->fields & FP_HAS_STREAM, "where is it?");
        CHECK_EQUAL(event->stream, streams[event->device]);
        CHECK_EQUAL(event->extra_count, 4);
        CHECK_EQUAL(extras[0].value.integer, ELEMENTS);
        expect_text(&extras[1], "algorithm", "mesh");
        expect_text(&extras[2], "group", "simulated_group");
        expect_text(&extras[3], "data type", "FP32");
        found |= (size_t)1 << event->device;
    }
    CHECK_EQUAL(found, (1 << RANKS) - 1);
    CHECK(!strstr(all.notes, "collectives"), "%s", all.notes);
}

// The older kind's records have no id: no call began them, and no operator.
static void with_the_older_kind(void) {
    size_t found = 0;
    record_collectives();
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        CHECK(!name_is(event, "HcclAllReduce") || !(event->fields & FP_IS_LAUNCH), "its work is missed");
        if (!is_collective(event))
            continue;
        CHECK_EQUAL(event->vendor_id.value, 0);
        CHECK_EQUAL(event->stream, streams[event->device]);
        CHECK_EQUAL(event->extra_count, 1);
        expect_text(&all.events[at].extras[0], "group", "simulated_group");
        found++;
    }
    CHECK_EQUAL(found, is_preloaded ? RANKS : 0);
    CHECK_EQUAL(strstr(all.notes, "collectives") == NULL, is_preloaded);
}

// ---- The library

static bool is_open(void) {
    char path[] = MSPTI;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static void opened_late(void) {
    load_ascendcl();
    open_tracer();
    CHECK(!is_open(), "asking whether it can be used has opened it");
    CHECK_EQUAL(ops->device_count(tracer), 2);
    collect_begin(&all);
    start();
    CHECK(is_open(), "a session runs without it");
    CHECK_EQUAL(stop(), 0);
    CHECK(is_open(), "it was closed: its hooks stay in the runtime");
}

static void refused_for(const char *path, int status, const char *reason) {
    struct fp_error err = { "" };
    struct fp_tracer_options options = { .size = sizeof(options), .library = path };
    CHECK_EQUAL(ops->open(&options, &tracer, &err), status);
    CHECK(strstr(err.text, reason), "%s", err.text);
}

static void named_wrongly(void) {
    char text[] = "/tmp/flagprof-mspti-XXXXXX";
    int file = mkstemp(text);
    CHECK(file >= 0 && write(file, "no ELF at all", 13) == 13, "no file");
    close(file);
    refused_for("/nowhere/libmspti.so", -ELIBACC, "No such file");
    refused_for(text, -ELIBBAD, "is no library");
    refused_for(ASCENDCL, -ENOSYS, "lacks mspti");
    unlink(text);
    setenv("ASCEND_HOME_PATH", "/nowhere", 1);
    refused_for(NULL, -ENOENT, "ASCEND_HOME_PATH");
}

// Opens the library that is to be found in `folder`'s lib64 below ASCEND_HOME_PATH.
static void open_found_in(const char *folder, const char *home) {
    char path[128];
    snprintf(path, sizeof(path), "%s/lib64", folder);
    CHECK_EQUAL(symlink(BUILD_DIR "/sim/mspti", path), 0);
    setenv("ASCEND_HOME_PATH", home, 1);
    library = NULL;
    open_tracer();
    unlink(path);
}

static void found_by_home(void) {
    char root[] = "/tmp/flagprof-cann-XXXXXX";
    CHECK(mkdtemp(root), "no folder");
    open_found_in(root, root);
    rmdir(root);
    whole();
}

static void found_by_processor(void) {
    char root[] = "/tmp/flagprof-cann-XXXXXX", target[64], folder[96];
    for (size_t nth = 0; fp_library_place("{target}", NULL, nth, target, sizeof(target)); nth++)
        continue; // CANN's name is the last
    CHECK(mkdtemp(root), "no folder");
    snprintf(folder, sizeof(folder), "%s/%s", root, target);
    CHECK_EQUAL(mkdir(folder, 0700), 0);
    open_found_in(folder, root);
    rmdir(folder);
    rmdir(root);
    whole();
}

static void found_beside_ascendcl(void) {
    library = NULL;
    whole();
}

// ---- What speaks for copies and against them

static void named_too_late(void) {
    setenv("LD_PRELOAD", MSPTI, 1); // and MSPTI believes it
    whole();
    CHECK(strstr(all.notes, "LD_PRELOAD names libmspti.so, but"), "it is not said: %s", all.notes);
}

static void there_but_not_named(void) {
    unsetenv("LD_PRELOAD"); // MSPTI reads the environment, and is believed
    load_ascendcl();
    record();
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMCPY), 0);
    CHECK(strstr(all.notes, "result 6") && strstr(all.notes, "does not see that it was"), "%s", all.notes);
}

static void signs_that_disagree_are_said(void **state) {
    (void)state;
    run("", is_preloaded ? there_but_not_named : named_too_late);
}

static void set_directly(void) {
    void *memory = NULL;
    load_ascendcl();
    open_tracer();
    CHECK_EQUAL(flagsim_malloc(&memory, 192), 0);
    uint8_t *device = memory; // 64 bytes a set: they may run side by side
    flagsim_stream *stream = NULL;
    CHECK_EQUAL(flagsim_stream_create(&stream), 0);
    collect_begin(&all);
    start();
    CHECK_EQUAL(CALL("aclrtMemset", acl_set, device, 64, 9, 48), 0);
    CHECK_EQUAL(CALL("aclrtMemsetAsync", acl_set_async, device + 64, 64, 10, 24, stream), 0);
    void *handle = dlopen(ASCENDCL, RTLD_LAZY | RTLD_NOLOAD);
    acl_set direct = (acl_set)(uintptr_t)dlsym(handle, "aclrtMemset");
    CHECK_EQUAL(direct(device + 128, 64, 11, 16), 0); // by a handle of its own: past the interposer
    flagsim_device_synchronize();
    CHECK_EQUAL(stop(), 0);
    CHECK_EQUAL(collected_count(&all, FP_KIND_MEMSET), 2);
    for (size_t at = 0; at < all.event_count; at++) {
        const struct fp_event *event = &all.events[at].event;
        if (event->kind != FP_KIND_MEMSET)
            continue;
        bool is_async = event->u.set.value == 10;
        CHECK_EQUAL(event->u.set.bytes, is_async ? 24 : 48);
        CHECK_EQUAL(event->u.set.value, is_async ? 10 : 9);
        CHECK_EQUAL((event->fields & FP_IS_ASYNC) != 0, is_async);
        CHECK_EQUAL((event->fields & FP_HAS_STREAM) != 0, is_async);
        CHECK_EQUAL(event->stream, is_async ? flagsim_stream_id(stream) : 0);
        CHECK(call_of(event->vendor_id.value), "a set has no call");
    }
}

// ---- Ids and devices

static void pop_takes_a_place(void) {
    uint64_t last = 7;
    void *handle = dlopen(MSPTI, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle, "%s", dlerror());
    int (*push_id)(int, uint64_t) =
        (int (*)(int, uint64_t))(uintptr_t)dlsym(handle, "msptiActivityPushExternalCorrelationId");
    int (*pop_id)(int, uint64_t *) =
        (int (*)(int, uint64_t *))(uintptr_t)dlsym(handle, "msptiActivityPopExternalCorrelationId");
    CHECK_EQUAL(push_id(2, 100), 0);
    CHECK_EQUAL(push_id(2, 200), 0);
    CHECK_EQUAL(pop_id(2, NULL), 1);
    CHECK_EQUAL(pop_id(2, &last), 0);
    CHECK_EQUAL(last, 200);
    CHECK_EQUAL(pop_id(2, &last), 0);
    CHECK_EQUAL(last, 100);
    CHECK_EQUAL(pop_id(2, &last), 5);
}

// What both sorts of process pass.
#define COMMON                                                                                               \
    SESSIONS(faults_that_lose_nothing_change_nothing, PASSES(whole, HARMLESS),                               \
             PASSES(whole_though_drained_on_the_way, HARMLESS)),                                             \
        SESSIONS(an_old_release_with_one_kind_of_calls_gives_the_same,                                       \
                 PASSES(an_old_release, "old_release"),                                                      \
                 PASSES(whole_though_drained_on_the_way, "old_release,tiny_buffers")),                       \
        SESSIONS(collectives_of_the_newer_kind_are_recorded_in_any_process, PASSES(with_the_newer_kind, ""), \
                 PASSES(with_the_newer_kind, "wide_ids,tiny_buffers,late_correlation")),                     \
        SESSIONS(collectives_of_the_older_kind_need_the_preload,                                             \
                 PASSES(with_the_older_kind, "no_communication no_communication,old_release")),              \
        cmocka_unit_test(signs_that_disagree_are_said),                                                      \
        SESSIONS(records_without_times_or_with_impossible_ones_are_counted,                                  \
                 BESIDE_ASCENDCL(scenario_odd_times,                                                         \
                                 "timing_zero end_before_start "                                             \
                                 "timing_zero=4,end_before_start=3,tiny_buffers timing_zero=1")),            \
        SESSIONS(records_of_unknown_kind_are_counted_and_stepped_over,                                       \
                 BESIDE_ASCENDCL(scenario_unknown_kinds, "unknown_kind unknown_kind=1,tiny_buffers=900")),   \
        SESSIONS(sessions_are_kept_apart, BESIDE_ASCENDCL(scenario_nothing_armed, ""),                       \
                 BESIDE_ASCENDCL(scenario_order_of_calls, ""),                                               \
                 BESIDE_ASCENDCL(scenario_sessions_in_a_row, ""))

int main(int argc, char **argv) {
    const struct CMUnitTest late[] = {
        SESSIONS(kernels_and_calls_are_recorded_and_copies_missing_is_said, PASSES(without_copies, ""),
                 PASSES(whole_though_drained_on_the_way, "")),
        COMMON,
        SESSIONS(it_is_opened_when_a_session_begins_and_kept, PASSES(opened_late, "")),
        SESSIONS(it_is_found_where_cann_is_and_anything_else_is_refused_with_the_reason,
                 PASSES(named_wrongly, ""), PASSES(found_by_home, ""), PASSES(found_by_processor, ""),
                 PASSES(found_beside_ascendcl, ""), BESIDE_ASCENDCL(scenario_refused, "no_driver no_device")),
        SESSIONS(a_pop_without_a_place_for_the_id_fails_and_changes_nothing, PASSES(pop_takes_a_place, "")),
        SESSIONS(ids_of_two_threads_are_not_taken_for_each_others, BESIDE_ASCENDCL(scenario_threads, ""),
                 BESIDE_ASCENDCL(scenario_threads, "tiny_buffers=65536,wide_ids own_stacks")),
        SESSIONS(a_clock_that_is_not_quite_the_machines_gives_no_operator_to_another, PASSES(in_step, ""),
                 PASSES(in_step, CLOCKS_APART), PASSES(left_over, ""), PASSES(left_over, CLOCKS_APART),
                 PASSES(whole_though_drained_on_the_way, "clock_behind=20000 clock_ahead=200000")),
        SESSIONS(devices_are_counted_as_the_program_sees_them, PASSES(on_physical_devices, "")),
        SESSIONS(names_that_are_missing_or_very_long_do_no_harm,
                 BESIDE_ASCENDCL(scenario_odd_names, "name_null name_8k name_dirty")),
        SESSIONS(raw_counters_are_no_times, PASSES(raw_counters, "raw_counter raw_counter=1"),
                 PASSES(another_clock, "clock_domain")),
        SESSIONS(what_is_dropped_is_counted_and_the_rest_is_right,
                 PASSES(without_room, "late_buffers,tiny_buffers=100"),
                 PASSES(dropped, "drop_records lose_records,tiny_buffers")),
        SESSIONS(a_push_that_fails_is_counted, BESIDE_ASCENDCL(scenario_push_failures, "push_fails")),
        SESSIONS(another_subscriber_is_named_and_nothing_is_armed,
                 BESIDE_ASCENDCL(scenario_busy, "other_subscriber")),
        SESSIONS(a_forked_child_lives_and_the_parents_session_goes_on, BESIDE_ASCENDCL(scenario_forked, "")),
        SESSIONS(a_program_may_exit_while_recording, BESIDE_ASCENDCL(scenario_exits_while_recording, "")),
        cmocka_unit_test(the_same_program_started_with_the_library_passes_its_tests),
    };
    const struct CMUnitTest early[] = {
        SESSIONS(copies_and_sets_are_recorded_too, PASSES(with_copies, ""),
                 PASSES(whole_though_drained_on_the_way, "")),
        COMMON,
        SESSIONS(sets_carry_all_that_the_call_said_and_a_bypass_is_not_seen, PASSES(set_directly, "")),
    };
    ops = &fp_mspti_ops;
    library = MSPTI;
    is_preloaded = argc > 1 && strcmp(argv[1], "preloaded") == 0;
    return is_preloaded ? cmocka_run_group_tests_name("preloaded", early, NULL, NULL)
                        : cmocka_run_group_tests_name("late", late, NULL, NULL);
}
