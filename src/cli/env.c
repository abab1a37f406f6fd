// env.c - `flagprof env`: what a process must be started with for everything to be recorded.
//
// In:  the table of accelerators, of which some know a library that has to be in a process from its start;
//      LD_PRELOAD as it is.
// Out: the line for this machine, or one command run with it. Nothing where no such library is here: the
//      command then runs as it would have.

#include "base/env.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "tracers/table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

// LD_PRELOAD is divided by colons and by spaces.
static bool holds(const char *list, const char *path) {
    size_t length = strlen(path);
    for (const char *at = list; *at;) {
        size_t word = strcspn(at, ": ");
        if (word == length && memcmp(at, path, length) == 0)
            return true;
        at += word + (at[word] != '\0');
    }
    return false;
}

// Before what is there already, so that these functions are found first.
static bool add(char *list, const char *path) {
    char before[FP_PRELOAD_BYTES];
    if (strpbrk(path, ": ")) {
        fp_say("env", "%s cannot be preloaded: its path has a colon or a space in it", path);
        return false;
    }
    snprintf(before, sizeof(before), "%s", list);
    int length = snprintf(list, FP_PRELOAD_BYTES, "%s%s%s", path, *before ? ":" : "", before);
    return length > 0 && length < FP_PRELOAD_BYTES;
}

int fp_preload_list(char list[FP_PRELOAD_BYTES], const char *named) {
    const char *now = getenv("LD_PRELOAD");
    int added = 0;
    if (now && strlen(now) >= FP_PRELOAD_BYTES)
        return -1;
    strcpy(list, now ? now : "");
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++) {
        char path[PATH_BYTES];
        bool knows = row->ops->size > offsetof(struct fp_tracer_ops, preload) && row->ops->preload;
        if (!knows || (named && strcmp(named, row->accelerator) != 0) ||
            row->ops->preload(path, sizeof(path), NULL) != 0 || holds(list, path))
            continue;
        if (!add(list, path))
            return -1;
        added++;
    }
    return added;
}

static int run(char **command, const char *list, bool changes) {
    if (changes && setenv("LD_PRELOAD", list, 1) != 0) {
        fp_say("env", "no memory for the environment");
        return FP_EXIT_CANNOT;
    }
    signal(SIGPIPE, SIG_DFL); // which this program ignores for its own sake
    signal(SIGXFSZ, SIG_DFL);
    execvp(command[0], command);
    fp_say("env", "cannot run %s: %s", command[0], strerror(errno));
    return FP_EXIT_CANNOT;
}

int fp_env_main(int argc, char **argv) {
    const struct fp_usage usage = {
        .verb = "env",
        .summary = "what to start a program with, so that all of it is recorded",
        .synopsis = "[-- COMMAND [ARGUMENT ...]]",
        .text =
            "Some vendors record copies and sets only where their library was in the process from its start\n"
            "(Huawei's MSPTI; collectives too, where it has only their older kind). Prints the LD_PRELOAD\n"
            "line for this machine, with what LD_PRELOAD holds already; nothing where no such library is\n"
            "here, or it is named already.\n"
            "With a command, runs that one command so. Do not export the line for a whole job: every\n"
            "process that is started would carry the vendor's hooks (docs/ascend.md).\n",
        .examples = "  flagprof env\n"
                    "  flagprof env -- python train.py\n"
                    "  env $(flagprof env) python train.py\n",
        .exit_status = "0, or what the command ends with; 2 it cannot be run, or wrong usage",
    };
    char list[FP_PRELOAD_BYTES];
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    struct fp_options options = { 0 };
    int status = fp_options_parse(own, argv, &usage, &options);
    if (status >= 0)
        return status;
    if (options.path_count || own + 1 == argc) {
        fp_say("env", options.path_count ? "put -- before the command" : "there is no command behind --");
        return FP_EXIT_CANNOT;
    }
    int added = fp_preload_list(list, fp_env_text("FLAGOS_ACCELERATOR"));
    if (added < 0)
        return FP_EXIT_CANNOT;
    if (own < argc)
        return run(argv + own + 1, list, added > 0);
    if (added)
        printf("LD_PRELOAD=%s\n", list);
    return FP_EXIT_OK;
}
