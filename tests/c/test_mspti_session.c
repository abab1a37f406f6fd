// test_mspti_session.c - whole sessions on a simulated MSPTI: in a process that was started without it, and in
// one that was started with it.
#include "mspti_sessions.h"

// ---- A process that opens libmspti.so when the session begins

static void without_copies(void) {
    whole();
    CHECK(strstr(all.notes, "result 6") && strstr(all.notes, "flagprof env"), "it is not said: %s",
          all.notes);
}

static void kernels_and_calls_are_recorded_and_copies_missing_is_said(void **state) {
    (void)state;
    run("", without_copies);
    run("", whole_though_drained_on_the_way);
}

// ---- A process that was started with it

static void with_copies(void) {
    whole();
    CHECK(all.notes[0] == '\0', "%s", all.notes);
}

static void everything_is_recorded_owned_and_named(void **state) {
    (void)state;
    run("", with_copies);
    run("", whole_though_drained_on_the_way);
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

static void the_same_process_started_with_the_library_records_copies_and_sets(void **state) {
    (void)state;
    run("", start_again_with_the_library);
}

int main(int argc, char **argv) {
    const struct CMUnitTest late[] = {
        cmocka_unit_test(kernels_and_calls_are_recorded_and_copies_missing_is_said),
        cmocka_unit_test(the_same_process_started_with_the_library_records_copies_and_sets),
    };
    const struct CMUnitTest early[] = {
        cmocka_unit_test(everything_is_recorded_owned_and_named),
    };
    ops = &fp_mspti_ops;
    library = MSPTI;
    is_preloaded = argc > 1 && strcmp(argv[1], "preloaded") == 0;
    return is_preloaded ? cmocka_run_group_tests_name("preloaded", early, NULL, NULL)
                        : cmocka_run_group_tests_name("late", late, NULL, NULL);
}
