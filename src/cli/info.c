// info.c - `flagprof info`: what would record here, and why each other would not. The first thing to run when
// a trace is empty.
//
// In:  the table of accelerators, the folder where adaptors to torch are kept
//      (python/flagprof/_build.py).
// Out: what a recording would use. Nothing is armed and nothing is built.

#include "base/env.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "flagprof/flagprof.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct fp_column accelerator_columns[] = {
    { "accelerator", "accelerator", FP_CELL_TEXT },
    { "tracer", "tracer", FP_CELL_TEXT },
    { "state", "state", FP_CELL_TEXT },
    { "library", "library", FP_CELL_TEXT },
    { "version", "version", FP_CELL_TEXT },
    { "simulated", "simulated", FP_CELL_TEXT },
    { "reason", "reason", FP_CELL_TEXT },
    { "named library", "owns_library", FP_CELL_TEXT },
};

static const struct fp_column device_columns[] = {
    { "device", "name", FP_CELL_TEXT },
    { "ordinal", "ordinal", FP_CELL_COUNT },
    { "memory", "memory_bytes", FP_CELL_BYTES },
    { "compute", "compute_capability", FP_CELL_TEXT },
    { "multiprocessors", "multiprocessors", FP_CELL_COUNT },
};

static const struct fp_column kind_columns[] = { { "activity kind", "kind", FP_CELL_TEXT } };

static const struct fp_column adaptor_columns[] = {
    { "built adaptor", "path", FP_CELL_TEXT },
    { "torch", "torch", FP_CELL_TEXT },
};

enum {
    COLUMNS_FOR_PEOPLE = 3,
    COLUMNS = 8
}; // reasons and paths are sentences for people, cells for programs

struct view {
    struct fp_report *report;
    bool for_people;
    bool library_owned; // FLAGOS_TRACER_LIBRARY
    struct fp_accelerator *used;
};

// ---- Accelerators

static void add_row(void *owner, const struct fp_candidate *candidate, struct fp_accelerator *accelerator) {
    struct view *view = owner;
    struct fp_report *report = view->report;
    struct fp_tracer_description description = { .size = sizeof(description) };
    if (accelerator)
        fp_accelerator_describe(accelerator, &description);
    const char *state = candidate->chosen ? "used" : candidate->status == 0 ? "usable" : "refused";
    fp_report_text(report, fp_text_of(candidate->accelerator));
    fp_report_text(report, fp_text_of(candidate->tracer));
    fp_report_text(report, fp_text_of(state));
    if (view->for_people)
        return;
    const char *texts[] = { description.library_path, description.version, description.simulated,
                            candidate->reason, candidate->owns_library ? "yes" : NULL };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i])
            fp_report_text(report, fp_text_of(texts[i]));
        else
            fp_report_none(report);
    }
}

static void find_used(void *owner, const struct fp_candidate *candidate, struct fp_accelerator *accelerator) {
    if (candidate->chosen)
        ((struct view *)owner)->used = accelerator;
}

static void add_reason(void *owner, const struct fp_candidate *candidate,
                       struct fp_accelerator *accelerator) {
    struct view *view = owner;
    (void)accelerator;
    if (candidate->reason)
        fp_report_note(view->report, "%s is refused: %s", candidate->accelerator, candidate->reason);
    if (candidate->owns_library) {
        view->library_owned = true;
        fp_report_note(view->report, "FLAGOS_TRACER_LIBRARY is opened by the tracer of %s and by no other",
                       candidate->accelerator);
    }
}

static void add_used(struct view *view) {
    struct fp_report *report = view->report;
    if (!view->used) {
        fp_report_fact_text(report, "used", "accelerator used", "none");
        return;
    }
    struct fp_tracer_description description = { .size = sizeof(description) };
    fp_accelerator_describe(view->used, &description);
    fp_report_fact_text(report, "used", "accelerator used", fp_accelerator_name(view->used));
    if (description.simulated)
        fp_report_fact_text(report, "simulated", "simulated by", description.simulated);
    fp_report_fact_text(report, "library", "vendor library",
                        description.library_path ? description.library_path : "none");
    fp_report_fact_text(report, "library_version", "its version",
                        description.version ? description.version : "unknown");
    static const struct {
        const char *key, *label;
        size_t offset;
    } versions[] = {
        { "driver_version", "driver version", offsetof(struct fp_tracer_description, driver_version) },
        { "runtime_version", "runtime version", offsetof(struct fp_tracer_description, runtime_version) },
    };
    for (size_t i = 0; i < 2; i++) {
        char text[24];
        uint64_t version;
        memcpy(&version, (const char *)&description + versions[i].offset, sizeof(version));
        snprintf(text, sizeof(text), "%" PRIu64, version);
        if (version)
            fp_report_fact_text(report, versions[i].key, versions[i].label, text);
    }
}

static void add_kinds(struct view *view) {
    struct fp_tracer_description description = { .size = sizeof(description) };
    char text[400] = "";
    size_t used = 0;
    if (view->used)
        fp_accelerator_describe(view->used, &description);
    if (!view->for_people)
        fp_report_table(view->report, "kinds", "activity kinds", kind_columns, 1, NULL);
    for (const char *const *kind = description.kinds; kind && *kind; kind++) {
        if (!view->for_people)
            fp_report_text(view->report, fp_text_of(*kind));
        else if (used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "", *kind);
    }
    if (view->for_people && view->used)
        fp_report_note(view->report, "It offers %s.", text);
}

static void add_devices(struct view *view) {
    struct fp_report *report = view->report;
    fp_report_table(report, "devices", "devices", device_columns, 5, NULL);
    int count = view->used ? fp_accelerator_device_count(view->used) : 0;
    for (int ordinal = 0; ordinal < count; ordinal++) {
        struct fp_device device = { .size = sizeof(device) };
        char capability[32];
        if (fp_accelerator_device(view->used, (uint32_t)ordinal, &device) != 0)
            continue;
        snprintf(capability, sizeof(capability), "%d.%d", device.compute_major, device.compute_minor);
        fp_report_text(report, fp_text_of(device.name));
        fp_report_count(report, (uint64_t)ordinal);
        fp_report_count(report, device.total_memory_bytes);
        fp_report_text(report, fp_text_of(device.compute_major > 0 ? capability : ""));
        fp_report_count(report, device.multiprocessors > 0 ? (uint64_t)device.multiprocessors : 0);
    }
}

// ---- Adaptors: one folder each, named VERSION-COMMIT-..., and whole where adaptor.so lies in it.

struct torches { // the versions of torch in one folder
    char names[8][48];
    size_t counts[8], count, more;
};

static void count_torch(struct torches *torches, const char *version) {
    size_t at = 0;
    while (at < torches->count && strncmp(torches->names[at], version, 47) != 0)
        at++;
    if (at == sizeof(torches->counts) / sizeof(torches->counts[0])) {
        torches->more++;
        return;
    }
    if (at == torches->count)
        snprintf(torches->names[torches->count++], sizeof(torches->names[0]), "%.47s", version);
    torches->counts[at]++;
}

// A person is told how many there are for each torch: each build of FlagProf's sources leaves one behind.
static size_t say_torches(struct fp_report *report, const struct torches *torches, const char *folder) {
    char text[600] = "";
    size_t used = 0, all = torches->more;
    for (size_t i = 0; i < torches->count && used < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%zu for torch %s", used ? ", " : "",
                                 torches->counts[i], torches->names[i]);
        all += torches->counts[i];
    }
    if (torches->more && used < sizeof(text))
        snprintf(text + used, sizeof(text) - used, ", %zu for others", torches->more);
    if (all)
        fp_report_note(report, "Adaptors to torch: %s, in %s (--json lists them).", text, folder);
    return all;
}

static size_t add_adaptors_of(const struct view *view, const char *folder) {
    struct dirent **entries = NULL;
    struct torches torches = { .count = 0 };
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[1024];
        int length = snprintf(path, sizeof(path), "%s/%s/adaptor.so", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof(path) &&
            access(path, R_OK) == 0) {
            entries[i]->d_name[strcspn(entries[i]->d_name, "-")] = '\0';
            count_torch(&torches, entries[i]->d_name);
            if (!view->for_people) {
                fp_report_text(view->report, fp_text_of(path));
                fp_report_text(view->report, fp_text_of(entries[i]->d_name));
            }
        }
        free(entries[i]);
    }
    free(entries);
    return view->for_people ? say_torches(view->report, &torches, folder) : 0;
}

static void add_adaptors(const struct view *view) {
    const char *cache = fp_env_text("XDG_CACHE_HOME"), *home = fp_env_text("HOME"),
               *temporary = fp_env_text("TMPDIR");
    char folder[900];
    if (!view->for_people)
        fp_report_table(view->report, "adaptors", "adaptors to torch", adaptor_columns, 2, NULL);
    if (cache)
        snprintf(folder, sizeof(folder), "%s/flagprof/adaptors", cache);
    else
        snprintf(folder, sizeof(folder), "%s/.cache/flagprof/adaptors", home ? home : "");
    size_t found = add_adaptors_of(view, folder);
    snprintf(folder, sizeof(folder), "%s/flagprof-%u/adaptors", temporary ? temporary : "/tmp",
             (unsigned)getuid());
    found += add_adaptors_of(view, folder);
    if (view->for_people && !found)
        fp_report_note(view->report, "No adaptor to torch is built yet; the first profile builds one.");
}

static void add_simulator(const struct view *view) {
    if (!view->used)
        fp_report_note(
            view->report,
            "Without hardware: `import flagos` in a Python program brings a simulated accelerator, "
            "and `make demo` shows it (docs/simulator.md).");
}

// ---- The environment

static void add_environment(const struct view *view) {
    struct fp_report *report = view->report;
    if (fp_env_text("FLAGOS_TRACER_LIBRARY") && !view->library_owned)
        fp_report_note(report, "FLAGOS_TRACER_LIBRARY is no library of a known tracer: none opens it");
    static const char *const names[] = { "FLAGOS_ACCELERATOR",       "FLAGOS_TRACER_LIBRARY",
                                         "FLAGOS_LIBRARY_PATH",      "FLAGOS_TRACER_PLUGIN",
                                         "FLAGOS_TRACER_PLUGIN_DIR", "FLAGOS_TRACE_ALL_CALLS",
                                         "FLAGOS_USE_CUDA" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fp_env_text(names[i]))
            fp_report_note(report, "%s is set to %s", names[i], fp_env_text(names[i]));
}

static struct view make_view(const struct fp_options *options) {
    struct view view = { .report = fp_report_new("flagprof-info-1"),
                         .for_people = options->format == FP_FORMAT_TABLE };
    fp_report_fact_text(view.report, "flagprof", "flagprof", FLAGPROF_VERSION);
    fp_accelerator_each(find_used, &view);
    add_used(&view);
    add_kinds(&view);
    fp_report_table(view.report, "accelerators", "accelerators, in the order of detection",
                    accelerator_columns, view.for_people ? COLUMNS_FOR_PEOPLE : COLUMNS,
                    "this build knows no accelerator");
    fp_accelerator_each(add_row, &view);
    fp_accelerator_each(add_reason, &view);
    add_devices(&view);
    add_adaptors(&view);
    add_simulator(&view);
    add_environment(&view);
    return view;
}

int fp_info_main(int argc, char **argv) {
    bool json = false;
    const struct fp_option own[] = {
        { .name = "json", .help = "the same as --format json", .flag = &json },
        { .name = NULL },
    };
    const struct fp_usage usage = {
        .verb = "info",
        .summary = "what would record here, and why each other would not",
        .synopsis = "[options]",
        .text =
            "Says which accelerator a recording would use and why each other one is refused, which vendor\n"
            "library is bound and what it offers, and for which builds of torch an adaptor is built. Nothing "
            "is\n"
            "armed. Run it where the trace was empty; inside a program FLAGOS_TRACE=1 tells the same and "
            "more.\n",
        .examples = "  flagprof info\n"
                    "  FLAGOS_TRACER_LIBRARY=/opt/cuda/lib64/libcupti.so.13 flagprof info\n"
                    "  flagprof info --json\n",
        .exit_status = "0 an accelerator can be used, 1 none can, 2 wrong usage",
        .groups = FP_GROUP_FORMAT,
        .own = own,
        .least_paths = 0,
        .most_paths = 0,
    };
    struct fp_options options = { 0 };
    int status = fp_options_parse(argc, argv, &usage, &options);
    if (status >= 0)
        return status;
    if (options.path_count) {
        fp_say("info", "it takes no file: %s", options.paths[0]);
        return FP_EXIT_CANNOT;
    }
    if (json)
        options.format = FP_FORMAT_JSON;
    struct view view = make_view(&options);
    bool written = fp_options_report(&options, "info", view.report, false);
    fp_report_free(view.report);
    return !written ? FP_EXIT_CANNOT : view.used ? FP_EXIT_OK : FP_EXIT_FOUND;
}
