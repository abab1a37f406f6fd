// test_cupti_open.c - which libcupti is taken, and that each other is refused with a reason and without harm.
//
// Every case runs in a process of its own: what a library leaves loaded would decide the next case, and
// NVIDIA's own die by SIGSEGV of a call that comes too early.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flagprof/flagprof.h"
#include "tracers/cupti.h"
#include "tracers/libraries.h"

#define FAKE(name) BUILD_DIR "/tests/fakes/fake_cupti_" name ".so"

struct answer {
    int status; // of open (or of what the case did last)
    int signal; // that ended the process, 0: none
    char text[sizeof(((struct fp_error *)0)->text)];
};

// Runs `job` in a child and brings back what it answered.
static struct answer in_a_process(int (*job)(const char *argument, struct fp_error *err),
                                  const char *argument) {
    struct answer answer = { 0 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fp_error err = { "" };
        close(ends[0]);
        answer.status = job(argument, &err);
        memcpy(answer.text, err.text, sizeof(answer.text));
        ssize_t written = write(ends[1], &answer, sizeof(answer));
        _exit(written == (ssize_t)sizeof(answer) ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &answer, sizeof(answer));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    answer.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (got != (ssize_t)sizeof(answer) && !answer.signal)
        answer.signal = -1;
    return answer;
}

static int open_named(const char *library, struct fp_error *err) {
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    struct fp_tracer *tracer = NULL;
    int status = fp_cupti_ops.open(&options, &tracer, err);
    if (status == 0)
        fp_cupti_ops.close(tracer);
    return status;
}

static int open_loaded(const char *library, struct fp_error *err) {
    if (!dlopen(library, RTLD_LAZY | RTLD_GLOBAL)) {
        fp_error_set(err, "%s", dlerror());
        return 1;
    }
    return open_named(NULL, err);
}

static bool has_driver(void) {
    return dlopen("libcuda.so.1", RTLD_LAZY) != NULL;
}

static bool is_for_this_processor(const char *path) {
#if defined(__aarch64__)
    const Elf64_Half ours = EM_AARCH64;
#else
    const Elf64_Half ours = EM_X86_64;
#endif
    Elf64_Ehdr header = { 0 };
    FILE *file = fopen(path, "rb");
    bool is_read = file && fread(&header, sizeof(header), 1, file) == 1;
    if (file)
        fclose(file);
    return is_read && header.e_machine == ours;
}

// The path of a real release's library; false: it was not fetched, or not for this processor.
static bool real_library(const char *release, char *path, size_t capacity) {
    const char *folder = getenv("FLAGPROF_CUPTI_DIR");
    snprintf(path, capacity, "%s/%s/lib/libcupti.so.%.2s", folder ? folder : FIXTURES "/../../build/cupti",
             release, release);
    if (strncmp(release, "11", 2) == 0)
        strncat(path, ".8", capacity - strlen(path) - 1);
    return is_for_this_processor(path);
}

static const char *const releases[] = { "11.8.87", "12.1.105", "12.4.127", "12.8.90",
                                        "13.0.85", "13.2.86",  "13.5.25",  NULL };

static void real_libraries_on_a_machine_without_a_driver_are_refused_and_not_called(void **state) {
    (void)state;
    char path[1024];
    int seen = 0;
    if (has_driver()) {
        print_message("skipped: this machine has an NVIDIA driver\n");
        skip();
    }
    for (size_t i = 0; releases[i]; i++) {
        if (!real_library(releases[i], path, sizeof(path)))
            continue;
        seen++;
        int (*jobs[])(const char *, struct fp_error *) = { open_named, open_loaded };
        for (size_t job = 0; job < 2; job++) {
            struct answer answer = in_a_process(jobs[job], path);
            assert_int_equal(answer.signal, 0);
            assert_int_equal(answer.status, -19); // ENODEV
            assert_non_null(strstr(answer.text, "no NVIDIA driver"));
        }
    }
    if (!seen) {
        print_message("skipped: no libcupti for this processor in FLAGPROF_CUPTI_DIR (scripts/fetch_cupti.py "
                      "brings them)\n");
        skip();
    }
}

static void a_sound_library_is_taken(void **state) {
    (void)state;
    struct answer answer = in_a_process(open_named, FAKE("sound"));
    assert_int_equal(answer.signal, 0);
    assert_string_equal(answer.text, "");
    assert_int_equal(answer.status, 0);
}

static void each_refusal_says_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *library, *reason;
    } cases[] = {
        { "/nowhere/libcupti.so.13", "No such file" },
        { FIXTURES "/occupancy/h200.txt", "invalid ELF header" },
        { FAKE("lacks"), "lacks cuptiActivityFlushAll" },
        { FAKE("old"), "API version 17 is older than CUDA 11.8" },
        { FAKE("cuda12"), "it is of CUDA 12, but the process has loaded the runtime of CUDA 13" },
        { FAKE("nodevice"), "the driver sees no device" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = in_a_process(open_named, cases[i].library);
        assert_int_equal(answer.signal, 0);
        assert_int_not_equal(answer.status, 0);
        if (!strstr(answer.text, cases[i].reason) || !strstr(answer.text, cases[i].library))
            fail_msg("%s was refused with: %s", cases[i].library, answer.text);
    }
}

static void a_library_named_is_the_only_one_tried(void **state) {
    (void)state;
    // The sound one is loaded, yet the named one, which is not, decides.
    assert_non_null(dlopen(FAKE("sound"), RTLD_LAZY));
    struct answer answer = in_a_process(open_named, FAKE("old"));
    assert_int_equal(answer.status, -19);
    assert_non_null(strstr(answer.text, "version 17"));
}

static int start_on(const char *library, struct fp_error *err) {
    struct fp_tracer_options options = { .size = sizeof(options), .library = library };
    struct fp_session_options session = { .size = sizeof(session) };
    struct fp_tracer *tracer = NULL;
    int status = fp_cupti_ops.open(&options, &tracer, err);
    if (status != 0)
        return status;
    int started = fp_cupti_ops.start(tracer, &session, err);
    uint64_t (*armed)(void);
    void *address = dlsym(dlopen(library, RTLD_LAZY), "fake_armed");
    memcpy(&armed, &address, sizeof(address));
    if (started != 0 && armed() != 0)
        return 77; // something is left armed
    return started;
}

static void a_start_that_fails_says_why_and_leaves_nothing_armed(void **state) {
    (void)state;
    struct answer busy = in_a_process(start_on, FAKE("busy"));
    assert_int_equal(busy.status, -16); // EBUSY
    assert_non_null(strstr(busy.text, "(39)"));
    struct answer blind = in_a_process(start_on, FAKE("nokernels"));
    assert_int_equal(blind.status, -5); // EIO
    assert_non_null(strstr(blind.text, "CONCURRENT_KERNEL"));
}

// ---- The search, with a driver that is not there

static char folder[64]; // of this test, with what a case laid into it

static void lay(const char *from, const char *place) {
    char command[2400];
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\" && cp -f '%s' '%s/%s'", folder, place,
             from, folder, place);
    assert_int_equal(system(command), 0); // NOLINT
}

static const char *laid(const char *place) {
    static char paths[4][256];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, place);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/flagprof-open-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command); // NOLINT
}

// Loads what a case wants loaded, searches, and tells which library was found.
static int search(const char *loaded, struct fp_error *err) {
    struct fp_tracer_description description = { .size = sizeof(description) };
    struct fp_tracer *tracer = NULL;
    if (!dlopen(BUILD_DIR "/tests/fakes/libcuda.so.1", RTLD_LAZY)) {
        fp_error_set(err, "%s", dlerror());
        return 1;
    }
    while (loaded && *loaded) { // paths, a colon between
        char path[256];
        size_t length = strcspn(loaded, ":");
        snprintf(path, sizeof(path), "%.*s", (int)length, loaded);
        if (!dlopen(path, RTLD_LAZY)) {
            fp_error_set(err, "%s", dlerror());
            return 1;
        }
        loaded += length + (loaded[length] == ':');
    }
    int status = fp_cupti_ops.open(NULL, &tracer, err);
    if (status == 0) {
        fp_cupti_ops.describe(tracer, &description);
        fp_error_set(err, "%s", description.library_path);
    }
    return status;
}

static void check_found(const char *loaded, const char *expected) {
    struct answer answer = in_a_process(search, loaded);
    assert_int_equal(answer.signal, 0);
    assert_string_equal(answer.text, expected);
    assert_int_equal(answer.status, 0);
}

static bool machine_has_a_driver(void) {
    if (!has_driver())
        return false;
    print_message("skipped: this machine has an NVIDIA driver\n");
    return true;
}

static void the_copy_in_the_process_comes_before_those_on_disk(void **state) {
    (void)state;
    if (machine_has_a_driver())
        skip();
    lay(FAKE("real13"), "disk/libcupti.so.13");
    lay(FAKE("real13"), "loaded/libcupti.so.13");
    setenv("FLAGOS_LIBRARY_PATH", laid("disk"), 1);
    check_found(laid("loaded/libcupti.so.13"), laid("loaded/libcupti.so.13"));
    check_found(NULL, laid("disk/libcupti.so.13"));
    unsetenv("FLAGOS_LIBRARY_PATH");
}

static void a_simulated_copy_in_the_process_comes_after_a_real_one_on_disk(void **state) {
    (void)state;
    if (machine_has_a_driver())
        skip();
    lay(FAKE("real13"), "disk/libcupti.so.13");
    lay(FAKE("sound"), "loaded/libcupti.so.13");
    setenv("FLAGOS_LIBRARY_PATH", laid("disk"), 1);
    check_found(laid("loaded/libcupti.so.13"), laid("disk/libcupti.so.13"));
    unsetenv("FLAGOS_LIBRARY_PATH");
}

static void the_library_beside_the_loaded_runtime_is_found_as_pip_lays_it(void **state) {
    (void)state;
    if (machine_has_a_driver())
        skip();
    lay(BUILD_DIR "/tests/fakes/libcudart.so.12", "nvidia/cuda_runtime/lib/libcudart.so.12");
    lay(FAKE("real12"), "nvidia/cuda_cupti/lib/libcupti.so.12");
    check_found(laid("nvidia/cuda_runtime/lib/libcudart.so.12"),
                laid("nvidia/cuda_cupti/lib/libcupti.so.12"));
}

static void a_toolkit_is_looked_through_by_each_name_of_this_processor(void **state) {
    (void)state;
    char place[64], file[128], home[256];
    if (machine_has_a_driver())
        skip();
    for (size_t nth = 0; fp_library_place("targets/{target}/lib", NULL, nth, place, sizeof(place)); nth++) {
        snprintf(home, sizeof(home), "%s", laid(nth ? "jetson" : "server"));
        snprintf(file, sizeof(file), "%s/%s/libcupti.so.13", nth ? "jetson" : "server", place);
        lay(FAKE("real13"), file);
        setenv("CUDA_HOME", home, 1);
        check_found(NULL, laid(file));
        unsetenv("CUDA_HOME");
    }
}

static void a_library_of_another_major_than_the_loaded_runtime_is_passed_over(void **state) {
    (void)state;
    if (machine_has_a_driver())
        skip();
    lay(BUILD_DIR "/tests/fakes/libcudart.so.12", "runtime/libcudart.so.12");
    lay(FAKE("real13"), "thirteen/libcupti.so.13");
    lay(FAKE("real12"), "twelve/libcupti.so.12");
    char folders[300];
    snprintf(folders, sizeof(folders), "%s:%s", laid("thirteen"), laid("twelve"));
    setenv("FLAGOS_LIBRARY_PATH", folders, 1);
    check_found(laid("runtime/libcudart.so.12"), laid("twelve/libcupti.so.12"));
    unsetenv("FLAGOS_LIBRARY_PATH");
}

// ---- Choosing

static int choose(const char *library, struct fp_error *err) {
    struct fp_accelerator *accelerator = NULL;
    if (library)
        setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    int status = fp_accelerator_choose(&accelerator, err);
    if (status == 0) {
        struct fp_tracer_description description = { .size = sizeof(description) };
        fp_accelerator_describe(accelerator, &description);
        fp_error_set(err, "%s %s %s", fp_accelerator_name(accelerator), fp_accelerator_tracer(accelerator),
                     description.simulated ? "simulated" : "real");
    }
    return status;
}

static void the_environments_library_is_used_by_the_tracer_whose_symbols_it_has(void **state) {
    (void)state;
    struct answer answer = in_a_process(choose, FAKE("sound"));
    assert_int_equal(answer.status, 0);
    assert_string_equal(answer.text, "cuda cupti simulated");
}

static int choose_unknown(const char *name, struct fp_error *err) {
    setenv("FLAGOS_ACCELERATOR", name, 1);
    return choose(NULL, err);
}

static void an_unknown_accelerator_is_refused_with_the_names_that_are_known(void **state) {
    (void)state;
    struct answer answer = in_a_process(choose_unknown, "abacus");
    assert_int_equal(answer.status, -19);
    assert_non_null(strstr(answer.text, "abacus"));
    assert_non_null(strstr(answer.text, "cuda"));
}

static int choose_twice(const char *library, struct fp_error *err) {
    struct fp_accelerator *first = NULL, *second = NULL;
    setenv("FLAGOS_TRACER_LIBRARY", "/nowhere/libcupti.so.13", 1);
    int refused = fp_accelerator_choose(&first, err);
    setenv("FLAGOS_TRACER_LIBRARY", library, 1);
    if (refused == 0 || fp_accelerator_choose(&first, err) != 0)
        return 1;
    setenv("FLAGOS_TRACER_LIBRARY", "/nowhere/again.so", 1);
    return fp_accelerator_choose(&second, err) != 0 || first != second;
}

static void a_refusal_is_tried_again_and_a_choice_is_kept(void **state) {
    (void)state;
    assert_int_equal(in_a_process(choose_twice, FAKE("sound")).status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_libraries_on_a_machine_without_a_driver_are_refused_and_not_called),
        cmocka_unit_test(a_sound_library_is_taken),
        cmocka_unit_test(each_refusal_says_what_is_wrong),
        cmocka_unit_test(a_start_that_fails_says_why_and_leaves_nothing_armed),
        cmocka_unit_test(the_environments_library_is_used_by_the_tracer_whose_symbols_it_has),
        cmocka_unit_test(an_unknown_accelerator_is_refused_with_the_names_that_are_known),
        cmocka_unit_test(a_refusal_is_tried_again_and_a_choice_is_kept),
        cmocka_unit_test(the_copy_in_the_process_comes_before_those_on_disk),
        cmocka_unit_test(a_simulated_copy_in_the_process_comes_after_a_real_one_on_disk),
        cmocka_unit_test(the_library_beside_the_loaded_runtime_is_found_as_pip_lays_it),
        cmocka_unit_test(a_toolkit_is_looked_through_by_each_name_of_this_processor),
        cmocka_unit_test(a_library_of_another_major_than_the_loaded_runtime_is_passed_over),
        cmocka_unit_test(a_library_named_is_the_only_one_tried),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
