// test_choosing.c - which accelerator is used, and whose a named library is, with every facade in one process.
//
// In:  the facades that are built; FLAGOS_ACCELERATOR, FLAGOS_TRACER_LIBRARY. Each case runs in a process of
//      its own, since a choice is kept to a process's end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect_sink.h"
#include "flagprof/flagprof.h"
#include "flagsim.h"
#include "tracers/accelerator.h"
#include "tracers/cupti.h"
#include "tracers/mcpti.h"
#include "tracers/mupti.h"
#include "tracers/table.h"

#define SIM BUILD_DIR "/sim/"

// Every facade there is: the library that a tracer opens, what must be loaded before it, and whose it is.
static const struct facade {
    const char *library, *first, *accelerator;
} facades[] = {
    { SIM "cupti-11.8/libcupti.so.11.8", NULL, "cuda" },
    { SIM "cupti-13.5/libcupti.so.13", NULL, "cuda" },
    { SIM "ppu/libhgpti.so", NULL, "ppu" },
    { SIM "ppu-native/libhgpti.so", NULL, "ppu" },
    { SIM "mcpti/libmcpti.so", NULL, "metax" },
    { SIM "mcpti-bridge/libmcpti.so", NULL, "metax" },
    { SIM "mupti/libmupti.so.1", NULL, "musa" },
    { SIM "mupti-limited/libmupti.so.1", NULL, "musa" },
    { SIM "roctracer/libroctracer64.so.4", SIM "roctracer/libamdhip64.so.6", "dcu" },
    { SIM "mspti/libmspti.so", SIM "mspti/libascendcl.so", "ascend" },
    { SIM "topspti/libtopspti.so", NULL, "gcu" },
};

enum { FACADES = sizeof(facades) / sizeof(facades[0]) };

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                  \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, "\n");                                                                           \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static const struct facade *subject;

static void run(void (*scenario)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        scenario();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: see above (status %x)", subject ? subject->library : "", (unsigned)status);
}

static bool is_built(const struct facade *facade) {
    return access(facade->library, R_OK) == 0;
}

static void load_all_facades(void) {
    for (size_t at = 0; at < FACADES; at++) {
        if (!is_built(&facades[at]))
            continue;
        if (facades[at].first)
            CHECK(dlopen(facades[at].first, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
        CHECK(dlopen(facades[at].library, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    }
}

static void expect_chosen(const char *accelerator, const char *library) {
    struct fp_accelerator *chosen = NULL;
    struct fp_error err = { "" };
    struct fp_tracer_description description = { .size = sizeof(description) };
    CHECK(fp_accelerator_choose(&chosen, &err) == 0, "%s", err.text);
    CHECK(strcmp(fp_accelerator_name(chosen), accelerator) == 0, "it is %s", fp_accelerator_name(chosen));
    fp_accelerator_describe(chosen, &description);
    CHECK(!library || strcmp(description.library_path, library) == 0, "%s is bound",
          description.library_path);
}

// ---- Whose is a named library?

static void look_for_strangers(void *owner, const struct fp_candidate *candidate,
                               struct fp_accelerator *accelerator) {
    struct fp_tracer_description description = { .size = sizeof(description) };
    bool is_owner = strcmp(candidate->accelerator, subject->accelerator) == 0;
    (void)owner;
    CHECK(candidate->owns_library == is_owner, "%s", candidate->accelerator);
    if (accelerator)
        fp_accelerator_describe(accelerator, &description);
    bool bound = description.library_path && strcmp(description.library_path, subject->library) == 0;
    CHECK(is_owner || !bound, "%s opened the library too", candidate->accelerator);
    // NVIDIA's may have met it as a CUPTI that the process has loaded, and refused it as somebody's.
    bool tried = candidate->reason && strstr(candidate->reason, subject->library);
    CHECK(is_owner || !tried || strcmp(candidate->accelerator, "cuda") == 0, "%s tried it: %s",
          candidate->accelerator, candidate->reason);
    CHECK(!is_owner || candidate->chosen, "its owner is not used: %s", candidate->reason);
}

static void named_library_alone(void) {
    load_all_facades();
    setenv("FLAGOS_TRACER_LIBRARY", subject->library, 1);
    expect_chosen(subject->accelerator, subject->library);
    fp_accelerator_each(look_for_strangers, NULL);
}

static void a_named_library_is_opened_by_the_tracer_whose_functions_it_has_and_by_no_other(void **state) {
    (void)state;
    for (subject = facades; subject < facades + FACADES; subject++)
        if (is_built(subject))
            run(named_library_alone);
    subject = NULL;
}

static void face_in_its_sdk(void) {
    static const struct facade face = { SIM "ppu-face/libcupti.so.13", NULL, "ppu" };
    subject = &face;
    setenv("PPU_SDK", SIM "ppu-face", 1);
    named_library_alone();
}

static void a_cupti_that_lies_in_the_sdk_of_a_ppu_is_the_ppus(void **state) {
    (void)state;
    run(face_in_its_sdk);
}

static bool is_open(const char *path) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

// A library acts when it is opened. Nobody's is not opened to be looked at, nor Ascend's before a session.
static void looked_at_alone(void) {
    static const char strange[] = SIM "mspti/libhccl.so", ascends[] = SIM "mspti/libmspti.so";
    struct fp_accelerator *chosen = NULL;
    struct fp_error err = { "" };
    setenv("FLAGOS_TRACER_LIBRARY", strange, 1);
    fp_accelerator_choose(&chosen, &err);
    CHECK(chosen || strstr(err.text, "is no library of a known tracer"), "%s", err.text);
    CHECK(!is_open(strange), "a library that is nobody's was opened");
    setenv("FLAGOS_TRACER_LIBRARY", ascends, 1);
    if (!chosen)
        expect_chosen("ascend", ascends);
    CHECK(!is_open(ascends), "it was opened before any session");
}

static void a_named_library_is_looked_at_without_being_opened(void **state) {
    (void)state;
    run(looked_at_alone);
}

static void expect_refusal(void *owner, const struct fp_candidate *candidate,
                           struct fp_accelerator *accelerator) {
    (void)owner;
    if (strcmp(candidate->accelerator, "cuda") != 0)
        return;
    CHECK(!accelerator, "NVIDIA's tracer opened it");
    CHECK(candidate->reason && strstr(candidate->reason, "library of ppu"), "%s", candidate->reason);
}

static void cuda_on_a_ppus(void) {
    setenv("FLAGOS_ACCELERATOR", "cuda", 1);
    setenv("FLAGOS_TRACER_LIBRARY", SIM "ppu/libhgpti.so", 1);
    fp_accelerator_each(expect_refusal, NULL);
}

static void a_library_of_another_vendor_is_refused_though_it_was_named_with_the_accelerator(void **state) {
    (void)state;
    run(cuda_on_a_ppus);
}

// ---- Which accelerator?

static void named_accelerator(void) {
    load_all_facades();
    setenv("FLAGOS_ACCELERATOR", subject->accelerator, 1);
    expect_chosen(subject->accelerator, NULL);
}

static void a_named_accelerator_is_used_whatever_else_is_there(void **state) {
    (void)state;
    for (subject = facades; subject < facades + FACADES; subject++)
        if (is_built(subject))
            run(named_accelerator);
    subject = NULL;
}

// MUSA's library does not confirm its numbers, ROCtracer was asked before HIP was there: both are passed over.
static void find_reason(void *owner, const struct fp_candidate *candidate,
                        struct fp_accelerator *accelerator) {
    bool is_musa = strcmp(candidate->accelerator, "musa") == 0;
    if (!is_musa && strcmp(candidate->accelerator, "dcu") != 0)
        return;
    CHECK(!accelerator && candidate->status < 0, "%s is usable", candidate->accelerator);
    CHECK(candidate->reason && strstr(candidate->reason, is_musa ? "numbers are not known" : "import torch"),
          "%s", candidate->reason);
    (*(int *)owner)++;
}

static void behind_those_that_fail(void) {
    int told = 0;
    setenv("FLAGOS_SIM_FAULTS", "other_numbers", 1);
    CHECK(flagsim_faults_set("other_numbers") == 0, "no such fault");
    CHECK(dlopen(SIM "mupti/libmupti.so.1", RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    CHECK(dlopen(SIM "roctracer/libroctracer64.so.4", RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    CHECK(dlopen(SIM "topspti/libtopspti.so", RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    expect_chosen("gcu", NULL);
    fp_accelerator_each(find_reason, &told);
    CHECK(told == 2, "%d reasons are told", told);
}

static void a_library_that_does_not_come_up_is_told_of_and_the_next_one_is_used(void **state) {
    (void)state;
    run(behind_those_that_fail);
}

static void find_unavailable(void *owner, const struct fp_candidate *candidate,
                             struct fp_accelerator *accelerator) {
    if (strcmp(candidate->accelerator, getenv("FLAGOS_ACCELERATOR")) != 0)
        return;
    CHECK(!accelerator && !candidate->chosen, "it is usable");
    CHECK(strcmp(candidate->tracer, "unavailable") == 0, "%s", candidate->tracer);
    *(bool *)owner = true;
}

static void refuse(const char *named, const char *sentence) {
    struct fp_accelerator *chosen = NULL;
    struct fp_error err = { "" };
    bool found = false;
    load_all_facades();
    setenv("FLAGOS_ACCELERATOR", named, 1);
    CHECK(fp_accelerator_choose(&chosen, &err) == -ENODEV && !chosen, "it was chosen");
    CHECK(strstr(err.text, sentence), "%s", err.text);
    CHECK(!strchr(err.text, '\n'), "more than a line: %s", err.text);
    fp_accelerator_each(find_unavailable, &found);
    CHECK(found, "no row tells of it");
}

static void unknown_name(void) {
    refuse("cuad", "names no accelerator; known are: cuda, ppu, ");
}

static void a_name_in_no_row_is_one_line_with_the_known_names_and_gets_the_unavailable_tracer(void **state) {
    (void)state;
    run(unknown_name);
}

static void platform_without_api(void) {
    refuse("tsingmicro", "FLAGOS_TRACER_PLUGIN");
}

static void a_platform_without_an_activity_api_says_so_and_what_would_bring_one(void **state) {
    (void)state;
    run(platform_without_api);
}

static void each_accelerator_with_a_tracer_is_among_the_libraries_that_are_tried_here(void **state) {
    (void)state;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++) {
        bool tried = !row->library_symbol; // it has no library
        for (size_t at = 0; at < FACADES; at++)
            tried = tried || strcmp(facades[at].accelerator, row->accelerator) == 0;
        if (!tried)
            fail_msg("%s has no line in facades", row->accelerator);
    }
}

// ---- Two facades in one process

static struct collected found[2];

static void nothing(void *arg) {
    (void)arg;
}

static void record_with_both(void) {
    static const struct fp_tracer_ops *const both[] = { &fp_cupti_ppu_ops, &fp_mupti_ops };
    static const char *const libraries[] = { SIM "ppu/libhgpti.so", SIM "mupti/libmupti.so.1" };
    struct fp_session_options session = { .size = sizeof(session) };
    struct fp_tracer *tracers[2];
    struct fp_error err = { "" };
    for (int i = 0; i < 2; i++) {
        struct fp_tracer_options options = { .size = sizeof(options), .library = libraries[i] };
        CHECK(both[i]->open(&options, &tracers[i], &err) == 0, "%s", err.text);
        collect_begin(&found[i]);
        CHECK(both[i]->start(tracers[i], &session, &err) == 0, "%s", err.text);
    }
    for (int i = 0; i < 20; i++) {
        flagsim_kernel_info info = { .name = "both", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
        for (int k = 0; k < 2; k++)
            both[k]->push(tracers[k], FP_ID_OPERATOR, (uint64_t)(100 * (k + 1) + i));
        CHECK(flagsim_launch(NULL, nothing, NULL, 0, &info) == 0, "no launch");
        for (int k = 0; k < 2; k++)
            both[k]->pop(tracers[k], FP_ID_OPERATOR, NULL);
    }
    flagsim_device_synchronize();
    for (int i = 0; i < 2; i++) {
        CHECK(both[i]->stop(tracers[i], 1000000000, &err) == 0, "%s", err.text);
        both[i]->drain(tracers[i], &found[i].sink);
        CHECK(collected_count(&found[i], FP_KIND_KERNEL) == 20, "%s lacks kernels", both[i]->name);
        CHECK(collected_lost(&found[i]) == 0, "%s lost some", both[i]->name);
        for (size_t at = 0; at < found[i].event_count; at++) {
            const struct fp_event *event = &found[i].events[at].event;
            int64_t owner = collected_id(&found[i], FP_ID_OPERATOR, event->vendor_id.value);
            CHECK(event->kind != FP_KIND_KERNEL || owner / 100 == i + 1, "an id of the other: %lld",
                  (long long)owner);
        }
    }
}

static void two_facades_in_one_process_each_record_all_and_keep_their_ids_apart(void **state) {
    (void)state;
    run(record_with_both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_accelerator_with_a_tracer_is_among_the_libraries_that_are_tried_here),
        cmocka_unit_test(a_named_library_is_opened_by_the_tracer_whose_functions_it_has_and_by_no_other),
        cmocka_unit_test(a_cupti_that_lies_in_the_sdk_of_a_ppu_is_the_ppus),
        cmocka_unit_test(a_named_library_is_looked_at_without_being_opened),
        cmocka_unit_test(a_library_of_another_vendor_is_refused_though_it_was_named_with_the_accelerator),
        cmocka_unit_test(a_named_accelerator_is_used_whatever_else_is_there),
        cmocka_unit_test(a_library_that_does_not_come_up_is_told_of_and_the_next_one_is_used),
        cmocka_unit_test(a_name_in_no_row_is_one_line_with_the_known_names_and_gets_the_unavailable_tracer),
        cmocka_unit_test(a_platform_without_an_activity_api_says_so_and_what_would_bring_one),
        cmocka_unit_test(two_facades_in_one_process_each_record_all_and_keep_their_ids_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
