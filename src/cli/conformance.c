// conformance.c - `flagprof conformance`: does recording on this machine's accelerator keep the contract?
//
// In:  an accelerator, through torch where there is one with a device, else a workload library on a simulated
//      vendor.
// Out: twelve cases a row with what was seen; for a row with a failed case the vendor's raw buffers in
// files;
//      the exit status.
//
// Each row runs in a process of its own, with the environment that this row needs and that no other process
// gets: a tracer that dies is a failed row. A row's process tells its story in lines on its standard output:
// "fact KEY TEXT" and "case NAME RESULT TEXT", tabs between.

#include "base/env.h"
#include "cli/contract.h"
#include "cli/options.h"
#include "cli/verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

enum { STORY_BYTES = 1 << 18, ROW_LIMIT_S = 300, PATH_BYTES = 1024, NOTES_MAX = 64 };

struct wanted {
    const char *row, *workload, *python, *save;
    bool native, json, in_process;
};

// ---- Inside a row's process: the contract's C form

static void tell(const char *key, const char *text) {
    printf("fact\t%s\t%s\n", key, text ? text : "");
}

static bool find_function(void *library, const char *name, void *place) {
    void *found = dlsym(library, name);
    memcpy(place, &found, sizeof(found));
    return found != NULL;
}

static bool open_workload(const char *path, struct fp_workload *workload) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fp_say("conformance", "cannot open the workload: %s", dlerror());
    else if (find_function(library, "flagprof_workload_open", &workload->open) &&
             find_function(library, "flagprof_workload_launch", &workload->launch) &&
             find_function(library, "flagprof_workload_copy", &workload->copy) &&
             find_function(library, "flagprof_workload_set", &workload->set) &&
             find_function(library, "flagprof_workload_synchronize", &workload->synchronize) &&
             find_function(library, "flagprof_workload_error", &workload->error))
        return true;
    else
        fp_say("conformance", "%s is no workload: it lacks a flagprof_workload_ function", path);
    return false;
}

// The simulator's folder, told by the parent, which found it.
static const char *simulator_folder(void) {
    const char *folder = fp_env_text("FLAGOS_SIM_DIR");
    return folder ? folder : "";
}

static bool choose(struct fp_accelerator **accelerator) {
    struct fp_error err = { "" };
    struct fp_tracer_description description = { .size = sizeof(description) };
    if (fp_accelerator_choose(accelerator, &err) != 0) {
        fp_say("conformance", "%s", err.text);
        return false;
    }
    fp_accelerator_describe(*accelerator, &description);
    tell("accelerator", fp_accelerator_name(*accelerator));
    tell("tracer", fp_accelerator_tracer(*accelerator));
    tell("library", description.library_path);
    tell("version", description.version);
    tell("simulated", description.simulated);
    struct fp_device device = { .size = sizeof(device) };
    if (fp_accelerator_device(*accelerator, 0, &device) == 0)
        tell("device", device.name);
    return true;
}

static int run_in_process(const struct wanted *wanted) {
    static const struct fp_contract_row unknown = { .name = "unknown" };
    struct fp_workload workload = { 0 };
    struct fp_accelerator *accelerator = NULL;
    struct fp_verdict verdicts[FP_CONTRACT_CASES];
    struct fp_error err = { "" };
    char folder[PATH_BYTES] = "";
    const struct fp_contract_row *row = fp_contract_row_named(wanted->row);
    if (!row)
        row = &unknown;
    if (row->facade)
        snprintf(folder, sizeof(folder), "%s/%s", simulator_folder(), row->facade);
    if (!open_workload(wanted->workload, &workload))
        return FP_EXIT_CANNOT;
    if (workload.open(row->accelerator ? row->accelerator : wanted->row, folder) != 0) {
        fp_say("conformance", "the workload cannot be opened: %s", workload.error());
        return FP_EXIT_CANNOT;
    }
    if (!choose(&accelerator))
        return FP_EXIT_CANNOT;
    if (fp_contract_run(accelerator, &workload, row, verdicts, &err) != 0) {
        fp_say("conformance", "nothing could be recorded: %s", err.text);
        return FP_EXIT_CANNOT;
    }
    static const char *const words[] = { "pass", "FAIL", "skip" };
    bool failed = false;
    for (size_t i = 0; i < FP_CONTRACT_CASES; i++) {
        printf("case\t%s\t%s\t%s\n", verdicts[i].name, words[verdicts[i].result], verdicts[i].text);
        failed |= verdicts[i].result == FP_VERDICT_FAIL;
    }
    return failed ? FP_EXIT_FOUND : FP_EXIT_OK;
}

// The address sanitizer looks for leaks at an ordinary end of a program alone, and this has none.
static void say_leaks(void) {
#if defined(__SANITIZE_ADDRESS__)
    if (__lsan_do_recoverable_leak_check() != 0)
        printf("case\tleaks\tFAIL\tmemory is left that nothing points to: see above\n");
#endif
}

#if defined(__SANITIZE_ADDRESS__)
#define SEEN_BY_THE_SANITIZER __attribute__((visibility("default")))
SEEN_BY_THE_SANITIZER const char *__lsan_default_options(void);      // NOLINT
SEEN_BY_THE_SANITIZER const char *__lsan_default_suppressions(void); // NOLINT

// It dies itself of looking through the thread-local memory of libraries that were opened at run time (gcc 12).
const char *__lsan_default_options(void) { // NOLINT
    return "use_tls=0";
}

// What glibc's loader keeps for a library that it opened.
const char *__lsan_default_suppressions(void) { // NOLINT
    return "leak:ld-linux\n";
}
#endif

// ---- Where things are: beside this command, as the build and each kind of installation lay them

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static bool beside_command(const char *const *places, const char *probe, char path[PATH_BYTES]) {
    char own[PATH_BYTES], found[PATH_BYTES + 256];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length <= 0)
        return false;
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    for (; *places; places++) {
        snprintf(found, sizeof(found), "%s/%s/%s", own, *places, probe);
        if (!is_there(found))
            continue;
        int length_of_path = snprintf(path, PATH_BYTES, "%s/%s", own, *places);
        return length_of_path > 0 && length_of_path < PATH_BYTES;
    }
    return false;
}

static const char *find_simulator(void) {
    static char path[PATH_BYTES];
    static const char *const places[] = { "sim",
                                          "../lib/flagprof/sim",
                                          "../lib/x86_64-linux-gnu/flagprof/sim",
                                          "../lib/aarch64-linux-gnu/flagprof/sim",
                                          "../lib64/flagprof/sim",
                                          NULL };
    const char *named = fp_env_text("FLAGOS_SIM_DIR");
    if (named)
        return named;
    return beside_command(places, "libflagsim.so", path) ? path : NULL;
}

// The Python that has torch: the one asked for, the one that FlagProf was installed into, else the first.
static const char *find_python(const struct wanted *wanted) {
    static char path[PATH_BYTES + 16];
    static const char *const places[] = { ".", NULL };
    char folder[PATH_BYTES];
    if (wanted->python)
        return wanted->python;
    if (!beside_command(places, "python3", folder))
        return "python3";
    snprintf(path, sizeof(path), "%s/python3", folder);
    return path;
}

// In a source tree the packages are not installed: they lie beside the build folder.
static void add_source_tree(void) {
    static const char *const places[] = { "../python", NULL };
    char folder[PATH_BYTES], joined[4 * PATH_BYTES], build[PATH_BYTES];
    static const char *const here[] = { ".", NULL };
    const char *had = getenv("PYTHONPATH");
    if (!beside_command(places, "flagprof/conformance/run.py", folder))
        return;
    snprintf(joined, sizeof(joined), "%s:%s/../sim/python%s%s", folder, folder, had ? ":" : "",
             had ? had : "");
    setenv("PYTHONPATH", joined, 1);
    if (beside_command(here, "libflagprof.so", build) && !getenv("FLAGPROF_BUILD"))
        setenv("FLAGPROF_BUILD", build, 1);
}

// ---- A row's process

struct row_run {
    const char *name;
    char *story; // its standard output
    int status;  // of waitpid; -1: it could not be started or did not end in time
    bool quiet;  // what it says on its standard error is nothing to a person
};

static bool needs_preload(const struct fp_contract_row *row) {
    const struct fp_contract_pair *pair = row ? row->environment : NULL;
    while (pair && pair->key && strcmp(pair->key, "LD_PRELOAD") != 0)
        pair++;
    return pair && pair->key;
}

// On hardware the row gets the machine's library in place of the simulator's.
static void set_preload(const struct fp_contract_row *row) {
    char list[FP_PRELOAD_BYTES];
    if (needs_preload(row) && fp_preload_list(list, row->accelerator) > 0)
        setenv("LD_PRELOAD", list, 1);
}

static void set_environment(const struct fp_contract_row *row, const char *simulator) {
    if (!row)
        return;
    if (simulator)
        setenv("FLAGOS_ACCELERATOR", row->accelerator, 1);
    else
        set_preload(row);
    for (const struct fp_contract_pair *pair = row->environment; simulator && pair->key; pair++) {
        char value[2 * PATH_BYTES];
        const char *mark = strstr(pair->value, "{simulator}");
        if (mark)
            snprintf(value, sizeof(value), "%.*s%s%s", (int)(mark - pair->value), pair->value, simulator,
                     mark + strlen("{simulator}"));
        else
            snprintf(value, sizeof(value), "%s", pair->value);
        setenv(pair->key, value, 1);
        if (strcmp(pair->key, "LD_PRELOAD") == 0 &&
            getenv("ASAN_OPTIONS")) { // its library need not come first
            snprintf(value, sizeof(value), "%s:verify_asan_link_order=0", getenv("ASAN_OPTIONS"));
            setenv("ASAN_OPTIONS", value, 1);
        }
    }
}

static void read_story(struct row_run *run, int from, pid_t child) {
    size_t used = 0;
    time_t limit = time(NULL) + ROW_LIMIT_S;
    for (;;) {
        struct pollfd wait = { .fd = from, .events = POLLIN };
        if (poll(&wait, 1, 1000) > 0) {
            char spilt
                [4096]; // what no story has room for is read all the same, or its writer would wait for ever
            size_t room = STORY_BYTES - 1 - used;
            ssize_t got = room ? read(from, run->story + used, room) : read(from, spilt, sizeof(spilt));
            if (got <= 0)
                break;
            used += room ? (size_t)got : 0;
        } else if (time(NULL) > limit) {
            kill(child, SIGKILL);
            break;
        }
    }
    run->story[used] = '\0';
}

// `command` ends with NULL. The child's standard error is ours.
static void run_row(struct row_run *run, const struct fp_contract_row *row, const char *simulator,
                    const char *keep, char *const *command) {
    int ends[2];
    run->status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        int nowhere = run->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
        if (nowhere >= 0)
            dup2(nowhere, STDERR_FILENO);
        if (simulator)
            setenv("FLAGOS_SIM_DIR", simulator, 1);
        if (keep)
            setenv("FLAGOS_KEEP_BUFFERS", keep, 1);
        set_environment(row, simulator);
        execvp(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    if (child > 0) {
        read_story(run, ends[0], child);
        waitpid(child, &run->status, 0);
    }
    close(ends[0]);
}

// The next line of a story split at its tabs; false at the end.
static bool next_line(char **story, char *fields[4]) {
    while (**story) {
        char *line = strsep(story, "\n");
        char *rest = line;
        size_t count = 0;
        memset(fields, 0, 4 * sizeof(*fields));
        while (count < 4 && (fields[count] = count < 3 ? strsep(&rest, "\t") : rest) != NULL)
            count++;
        if (count >= 3 && (strcmp(fields[0], "fact") == 0 || strcmp(fields[0], "case") == 0))
            return true;
        if (!*story)
            return false;
    }
    return false;
}

// ---- The report

static const struct fp_column columns[] = {
    { "row", "row", FP_CELL_TEXT },       { "form", "form", FP_CELL_TEXT }, { "case", "case", FP_CELL_TEXT },
    { "result", "result", FP_CELL_TEXT }, { "seen", "seen", FP_CELL_TEXT },
};

static const struct fp_column row_columns[] = {
    { "row", "row", FP_CELL_TEXT },         { "form", "form", FP_CELL_TEXT },
    { "ran on", "ran_on", FP_CELL_TEXT },   { "device", "device", FP_CELL_TEXT },
    { "library", "library", FP_CELL_TEXT }, { "version", "version", FP_CELL_TEXT },
    { "tracer", "tracer", FP_CELL_TEXT },   { "torch", "torch", FP_CELL_TEXT },
};
enum { ROW_COLUMNS = sizeof(row_columns) / sizeof(row_columns[0]), ROWS_MAX = 32 };

struct tally {
    unsigned pass, fail, skip;
};

struct plan {
    const struct wanted *wanted;
    const char *simulator; // NULL: hardware
    struct fp_report *report;
    struct tally tally;
    char *notes[NOTES_MAX]; // told below the table, which must be whole before
    size_t note_count;
    char *rows[ROWS_MAX][ROW_COLUMNS]; // for programs: what each row ran on
    size_t row_count;
};

static void note(struct plan *plan, const char *format, ...) FP_PRINTF(2, 3);
static void note(struct plan *plan, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (plan->note_count < NOTES_MAX && vasprintf(&plan->notes[plan->note_count], format, arguments) >= 0)
        plan->note_count++;
    va_end(arguments);
}

static void add_case(struct fp_report *report, const char *row, const char *form, const char *name,
                     const char *result, const char *text) {
    const char *cells[] = { row, form, name, result, text ? text : "" };
    for (size_t i = 0; i < 5; i++)
        fp_report_text(report, fp_text_of(cells[i]));
}

static const char *how_it_ended(int status, char text[64]) {
    if (status == -1)
        snprintf(text, 64, "could not be run to its end");
    else if (WIFSIGNALED(status))
        snprintf(text, 64, "died by signal %d", WTERMSIG(status));
    else
        snprintf(text, 64, "ended with status %d", WEXITSTATUS(status));
    return text;
}

static void add_row(struct plan *plan, const struct row_run *run, const char *form) {
    char *copy = strdup(run->story), *at = copy, *fields[4];
    unsigned cases = 0;
    while (copy && at && next_line(&at, fields)) {
        if (strcmp(fields[0], "case") != 0)
            continue;
        cases++;
        plan->tally.pass += strcmp(fields[2], "pass") == 0;
        plan->tally.skip += strcmp(fields[2], "skip") == 0;
        plan->tally.fail += strcmp(fields[2], "FAIL") == 0;
        add_case(plan->report, run->name, form, fields[1], fields[2], fields[3]);
        if (strcmp(fields[2], "FAIL") == 0 && fields[3]) // in full: a cell is cut to the line's width
            note(plan, "%s %s: %s", run->name, fields[1], fields[3]);
    }
    char text[64];
    if (cases < FP_CONTRACT_CASES) {
        plan->tally.fail++;
        add_case(plan->report, run->name, form, "the row's process", "FAIL", how_it_ended(run->status, text));
    }
    free(copy);
}

static char *fact(const struct row_run *run, const char *key) {
    char *copy = strdup(run->story), *at = copy, *fields[4], *found = NULL;
    while (copy && at && !found && next_line(&at, fields))
        if (strcmp(fields[0], "fact") == 0 && strcmp(fields[1], key) == 0 && fields[2][0])
            found = strdup(fields[2]);
    free(copy);
    return found;
}

// What was hardware and what was not, in so many words.
static void say_what_it_was(struct plan *plan, const struct row_run *run, const char *form) {
    char *simulated = fact(run, "simulated"), *device = fact(run, "device"), *library = fact(run, "library"),
         *version = fact(run, "version"), *torch = fact(run, "torch"), *tracer = fact(run, "tracer");
    const char *library_text = library ? library : "none", *version_text = version ? version : "unknown";
    if (simulated)
        note(plan, "%s: SIMULATION (%s), no hardware. Library %s, version %s.", run->name, simulated,
             library_text, version_text);
    else if (device)
        note(plan, "%s: HARDWARE, %s. Library %s, version %s.", run->name, device, library_text,
             version_text);
    else
        note(plan, "%s: nothing could be recorded.", run->name);
    if (plan->row_count < ROWS_MAX) {
        const char *ran_on = simulated ? "simulation" : device ? "hardware" : "nothing";
        char *cells[ROW_COLUMNS] = { strdup(run->name), strdup(form), strdup(ran_on), device,
                                     library,           version,      tracer,         torch };
        memcpy(plan->rows[plan->row_count++], cells, sizeof(cells));
        free(simulated);
        return;
    }
    char *all[] = { simulated, device, library, version, torch, tracer };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

static void add_rows(struct plan *plan) {
    fp_report_table(plan->report, "rows", "rows", row_columns, ROW_COLUMNS, NULL);
    for (size_t row = 0; row < plan->row_count; row++)
        for (size_t i = 0; i < ROW_COLUMNS; i++) {
            if (plan->rows[row][i])
                fp_report_text(plan->report, fp_text_of(plan->rows[row][i]));
            else
                fp_report_none(plan->report);
        }
}

static void free_rows(struct plan *plan) {
    for (size_t row = 0; row < plan->row_count; row++)
        for (size_t i = 0; i < ROW_COLUMNS; i++)
            free(plan->rows[row][i]);
}

// ---- Running what was asked for

static void make_command(const struct plan *plan, const char *name, const char *device, char own[PATH_BYTES],
                         char workload[PATH_BYTES + 64], char *command[10]) {
    ssize_t length = readlink("/proc/self/exe", own, PATH_BYTES - 1);
    own[length > 0 ? length : 0] = '\0';
    if (device) {
        char *const parts[] = { (char *)find_python(plan->wanted),
                                "-m",
                                "flagprof.conformance.run",
                                (char *)device,
                                (char *)name,
                                NULL };
        memcpy(command, parts, sizeof(parts));
        return;
    }
    if (plan->wanted->workload)
        snprintf(workload, PATH_BYTES + 64, "%s", plan->wanted->workload);
    else
        snprintf(workload, PATH_BYTES + 64, "%s/workload/libflagprof_workload.so",
                 plan->simulator ? plan->simulator : "");
    char *const parts[] = { own,          "conformance", "--in-process", "--row",
                            (char *)name, "--workload",  workload,       NULL };
    memcpy(command, parts, sizeof(parts));
}

// What the buffers are of and what was wrong with them, for those who read them elsewhere.
static void save_story(const struct row_run *run, const char *folder) {
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof(path), "%s/story.tsv", folder);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file, "fact\tflagprof\t%s\nfact\trow\t%s\n%s", FLAGPROF_VERSION, run->name, run->story);
    fclose(file);
}

// A failed row is recorded once more with its buffers kept, so that only failures cost files.
static void keep_buffers(struct plan *plan, struct row_run *run, const struct fp_contract_row *row,
                         char *const *command) {
    char keep[PATH_BYTES];
    int length = snprintf(keep, sizeof(keep), "%s/%s", plan->wanted->save, run->name);
    if (length < 0 || length >= PATH_BYTES)
        return;
    mkdir(plan->wanted->save, 0777);
    mkdir(keep, 0777);
    run_row(run, row, plan->simulator, keep, command);
    if (rmdir(keep) == 0) { // nothing is in it
        rmdir(plan->wanted->save);
        return;
    }
    save_story(run, keep);
    note(plan,
         "%s failed: what its library delivered in another run is in %s (*.bin, with its strings "
         "beside it): send that folder.",
         run->name, keep);
}

static void run_one(struct plan *plan, const char *name, const char *device) {
    struct row_run run = { .name = name, .story = calloc(1, STORY_BYTES) };
    char own[PATH_BYTES], workload[PATH_BYTES + 64], *command[10];
    const struct fp_contract_row *row = fp_contract_row_named(name);
    if (!run.story)
        return;
    unsigned failed = plan->tally.fail;
    make_command(plan, name, device, own, workload, command);
    run_row(&run, row, plan->simulator, NULL, command);
    add_row(plan, &run, device ? "torch" : "C");
    say_what_it_was(plan, &run, device ? "torch" : "C");
    if (plan->tally.fail != failed)
        keep_buffers(plan, &run, row, command);
    free(run.story);
}

static void say_why_without_torch(struct plan *plan, const char *python, const struct row_run *run) {
    char *why = fact(run, "no_torch");
    bool is_absent = WIFEXITED(run->status) && WEXITSTATUS(run->status) == 127;
    note(plan, "Without torch, for %s%s. --python names a Python that has torch and flagprof.",
         why ? why : python,
         why         ? ""
         : is_absent ? " is not there"
                     : " cannot import flagprof");
    free(why);
}

// The device that torch has, "" where it has none but the simulated one; false: no torch.
static bool ask_torch(struct plan *plan, char device[64], char row[64]) {
    struct row_run run = { .story = calloc(1, STORY_BYTES), .quiet = true };
    char *command[] = { (char *)find_python(plan->wanted), "-m", "flagprof.conformance.run", "--which",
                        NULL };
    if (!run.story)
        return false;
    run_row(&run, NULL, NULL, NULL, command);
    char *found = fact(&run, "torch_device"), *accelerator = fact(&run, "accelerator"),
         *torch = fact(&run, "torch");
    snprintf(device, 64, "%s", found ? found : "");
    snprintf(row, 64, "%s", accelerator ? accelerator : "");
    bool has_torch = torch != NULL;
    if (!has_torch)
        say_why_without_torch(plan, command[0], &run);
    free(found);
    free(accelerator);
    free(torch);
    free(run.story);
    return has_torch;
}

static bool has_facade(const struct fp_contract_row *row, const char *simulator) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/%s", simulator, row->facade);
    return is_there(path);
}

static void run_simulated(struct plan *plan, const char *device) {
    for (const struct fp_contract_row *row = fp_contract_rows; row->name; row++) {
        if (plan->wanted->row && strcmp(plan->wanted->row, row->name) != 0)
            continue;
        if (has_facade(row, plan->simulator))
            run_one(plan, row->name, device);
        else
            note(plan, "%s: not run, there is no simulated library %s/%s.", row->name, plan->simulator,
                 row->facade);
    }
}

// Is the row that was asked for, if any, one of this accelerator?
static bool is_wanted(const struct plan *plan, const char *accelerator) {
    const struct fp_contract_row *row = plan->wanted->row ? fp_contract_row_named(plan->wanted->row) : NULL;
    return !row || strcmp(row->accelerator, accelerator) == 0;
}

// Each row of the accelerator: Ascend's processes are of two sorts. One without a row has promised nothing.
static void run_hardware(struct plan *plan, const char *accelerator, const char *device) {
    bool known = false;
    for (const struct fp_contract_row *row = fp_contract_rows; row->name && !plan->wanted->row; row++)
        if (strcmp(row->accelerator, accelerator) == 0) {
            run_one(plan, row->name, device);
            known = true;
        }
    if (!known)
        run_one(plan, plan->wanted->row ? plan->wanted->row : accelerator, device);
}

// False: there is nothing that could be run.
static bool run_all(struct plan *plan) {
    char device[64] = "", row[64] = "";
    add_source_tree();
    if (plan->wanted->workload) { // somebody's own: a tracer plugin's, or one for real hardware
        run_one(plan, plan->wanted->row ? plan->wanted->row : "unknown", NULL);
        return true;
    }
    bool torch = !plan->wanted->native && ask_torch(plan, device, row);
    if (torch && device[0] && is_wanted(plan, row)) {
        run_hardware(plan, row, device);
        return true;
    }
    plan->simulator = find_simulator();
    if (plan->simulator)
        run_simulated(plan, torch ? "flagos" : NULL);
    else
        fp_say("conformance",
               "%s, and there is no simulator beside this command. On hardware give a library "
               "that starts device work: --workload LIB (docs/adding-a-vendor.md shows one)",
               plan->wanted->native ? "the form without torch runs on simulated vendors"
               : torch              ? "torch has no device here"
                                    : "there is no torch here");
    return plan->simulator != NULL;
}

static int report(struct plan *plan, const struct fp_options *options) {
    fp_report_table(plan->report, "cases", "cases", columns, 5, "nothing was run");
    bool ran = run_all(plan);
    if (options->format != FP_FORMAT_TABLE) // a person is told in sentences
        add_rows(plan);
    for (size_t i = 0; i < plan->note_count; i++) {
        fp_report_note(plan->report, "%s", plan->notes[i]);
        free(plan->notes[i]);
    }
    fp_report_fact_count(plan->report, "passed", "passed", plan->tally.pass);
    fp_report_fact_count(plan->report, "failed", "failed", plan->tally.fail);
    fp_report_fact_count(plan->report, "skipped", "skipped", plan->tally.skip);
    bool written = ran && fp_options_report(options, "conformance", plan->report, false);
    free_rows(plan);
    fp_report_free(plan->report);
    if (!written)
        return FP_EXIT_CANNOT;
    return plan->tally.fail || !plan->tally.pass ? FP_EXIT_FOUND : FP_EXIT_OK;
}

static int say_rows(const char *name) {
    char known[512] = "";
    size_t used = 0;
    for (const struct fp_contract_row *row = fp_contract_rows; row->name && used < sizeof(known); row++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", row->name);
    fp_say("conformance", "there is no row '%s'; known are %s. A row of one's own needs --workload", name,
           known);
    return FP_EXIT_CANNOT;
}

int fp_conformance_main(int argc, char **argv) {
    struct wanted wanted = { .save = "flagprof-conformance" };
    const struct fp_option own[] = {
        { .name = "row",
          .value = "NAME",
          .help = "this row alone: a vendor, as ascend+preload",
          .text = &wanted.row },
        { .name = "native",
          .help = "the form without torch, on the simulated vendors; on hardware give --workload as well",
          .flag = &wanted.native },
        { .name = "workload",
          .value = "LIB",
          .help = "a library that starts device work, for the form without torch; with FLAGOS_TRACER_PLUGIN "
                  "this is how a tracer of one's own is tried",
          .text = &wanted.workload },
        { .name = "python",
          .value = "PATH",
          .help = "the Python that has torch (default: the one beside this command, else python3)",
          .text = &wanted.python },
        { .name = "save",
          .value = "DIR",
          .help = "where the buffers of a failed row go (default flagprof-conformance)",
          .text = &wanted.save },
        { .name = "json", .help = "the same as --format json", .flag = &wanted.json },
        { .name = "in-process",
          .help = "run the row in this process and print its lines",
          .flag = &wanted.in_process },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "conformance",
        .summary = "does recording on this accelerator keep the contract?",
        .synopsis = "[options]",
        .text =
            "Records a workload and judges twelve cases: kernels, calls, copies, fills, durations, arrows, "
            "whose\n"
            "work it is, fields, names, valid JSON, repeated sessions. Through torch where torch has a "
            "device,\n"
            "else on every simulated vendor, and says which of the two it was. A case that a vendor cannot "
            "have\n"
            "is skipped with the reason. For a row that fails, the raw buffers are left in files to send.\n",
        .examples = "  flagprof conformance\n"
                    "  flagprof conformance --python venv/bin/python --json\n"
                    "  FLAGOS_TRACER_PLUGIN=./mine.so flagprof conformance --row mine --workload ./work.so\n",
        .exit_status = "0 all cases passed or were skipped with a reason, 1 some failed, 2 wrong usage or "
                       "nothing that could be run",
        .groups = FP_GROUP_FORMAT,
        .own = own,
        .least_paths = 0,
        .most_paths = 0,
    };
    struct fp_options options = { 0 };
    int status = fp_options_parse(argc, argv, &usage, &options);
    if (status >= 0)
        return status;
    if (wanted.in_process && wanted.row && wanted.workload) {
        status = run_in_process(&wanted);
        say_leaks();
        fflush(NULL);
        _exit(status); // all is told: what a vendor's library does at a program's end shall not change it
    }
    if (wanted.row && !wanted.workload && !fp_contract_row_named(wanted.row))
        return say_rows(wanted.row);
    if (wanted.json)
        options.format = FP_FORMAT_JSON;
    struct plan plan = { .wanted = &wanted, .report = fp_report_new("flagprof-conformance-1") };
    return plan.report ? report(&plan, &options) : FP_EXIT_CANNOT;
}
