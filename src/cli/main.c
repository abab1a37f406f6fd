// main.c - `flagprof VERB ...`: finds the verb in the table and hands over.
//
// In:  the command line.
// Out: the verb's exit status. A verb lives in a file of its own and has one row below.

#include "cli/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "trace/temporary.h"

static const struct fp_verb verbs[] = {
    { "convert", fp_convert_main, "write a trace in another form: JSON, packed JSON, CSV, SQLite" },
    { "check", fp_check_main, "is this trace true and complete?" },
    { "cut", fp_cut_main, "take a part out of a trace, by time, step, kernel, device and more" },
    { "diff", fp_diff_main, "what changed between two traces, beyond the noise" },
    { "stats", fp_stats_main, "where does the time go?" },
    { "conformance", fp_conformance_main, "does recording on this accelerator keep the contract?" },
    { "info", fp_info_main, "what would record here, and why each other would not" },
    { "env", fp_env_main, "what to start a program with, so that all of it is recorded" },
    { "fix", fp_fix_main, "write a valid, viewer-safe trace from a broken one" },
    { "merge", fp_merge_main, "put the traces of many ranks into one, and compare their clocks" },
    { "view", fp_view_main, "open a trace in Perfetto's page" },
    { NULL, NULL, NULL },
};

static void print_help(FILE *out) {
    fputs("flagprof - records what an accelerator did, and reads the traces that anyone recorded\n\n"
          "usage: flagprof VERB [options] [FILE ...]\n"
          "       flagprof VERB --help      what a verb does, with examples (or: flagprof help VERB)\n"
          "       flagprof --version\n\nverbs:\n",
          out);
    for (const struct fp_verb *verb = verbs; verb->name; verb++)
        fprintf(out, "  %-12s %s\n", verb->name, verb->summary);
}

static const struct fp_verb *find_verb(const char *name) {
    for (const struct fp_verb *verb = verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

// Nothing half-written stays behind; then the program ends as if the signal had not been caught.
static void end_by(int signal_number) {
    fp_temporary_remove_all();
    raise(signal_number); // its default action, once the handler has returned
}

static void catch_ends(void) {
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        struct sigaction now, then = { .sa_handler = end_by, .sa_flags = (int)SA_RESETHAND };
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) // nohup ignores one
            sigaction(ends[i], &then, NULL);
    }
}

static int run_verb(const char *name, int argc, char **argv) {
    const struct fp_verb *verb = find_verb(name);
    if (verb)
        return verb->main(argc, argv);
    fprintf(stderr, "flagprof: there is no verb '%s'. `flagprof --help` lists them.\n", name);
    return FP_EXIT_CANNOT;
}

static int help(int argc, char **argv) {
    if (argc > 2) {
        char *asked[] = { argv[2], (char[]){ "--help" }, NULL };
        return run_verb(argv[2], 2, asked);
    }
    print_help(stdout);
    return FP_EXIT_OK;
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return FP_EXIT_CANNOT;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("flagprof " FLAGPROF_VERSION);
        return FP_EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    return run_verb(argv[1], argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    // A closed pipe and a size limit become write errors with a sentence, after which nothing half-written is
    // left.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    catch_ends();
    int status = run(argc, argv);
    if ((fflush(stdout) || ferror(stdout)) && status == FP_EXIT_OK) { // help and what is printed by printf
        fprintf(stderr, "flagprof: cannot write standard output: %s.\n", strerror(errno));
        status = FP_EXIT_CANNOT;
    }
    return status;
}
