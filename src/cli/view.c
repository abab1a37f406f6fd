// view.c - `flagprof view FILE`: opens a trace in Perfetto's page without uploading it.
//
// In:  files.
// Out: the link, the line for a machine far away, and the file over 127.0.0.1:9001 until the page has
//      fetched it (serve.c).

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/serve.h"
#include "cli/verbs.h"

static const char help[] =
    "flagprof view - opens a trace in Perfetto's page (ui.perfetto.dev); the file stays on this machine\n"
    "\n"
    "usage: flagprof view [--print-only] FILE ...\n"
    "\n"
    "Serves each FILE at http://127.0.0.1:9001 until the page has fetched it once, then ends. The page\n"
    "runs in your browser and fetches from your own machine; nothing is sent to anybody. A .zst is\n"
    "unpacked on the way, since the page cannot; .json and .gz are sent as they are.\n"
    "\n"
    "options:\n"
    "  --print-only   print the link and the ssh line, serve nothing\n"
    "  --help         this text\n"
    "\n"
    "examples:\n"
    "  flagprof view trace.json.gz          then click the link that it prints\n"
    "  flagprof view rank0.json rank1.json  one link for each\n"
    "  flagprof cut big.json --step 10 -o step10.json.gz && flagprof view step10.json.gz\n"
    "                                       a browser tab holds about 2 GB; look at a part of more\n"
    "\n"
    "The trace is on another machine: run `flagprof view` there, and the printed `ssh -L` line on the\n"
    "machine where your browser runs; then click the link.\n"
    "\n"
    "exit status: 0 every file was fetched, 2 cannot read a file or the port is busy\n";

#define BROWSER_LIMIT_BYTES                                                                                  \
    2000000000LL // the page's WebAssembly memory ends at 4 GB, and it keeps file and tables

static void say(const char *sentence) {
    fprintf(stderr, "flagprof view: %s.\n", sentence);
}

static void warn_of_size(const struct fp_serve_file *file) {
    struct stat found;
    if (stat(file->path, &found) == 0 && found.st_size > BROWSER_LIMIT_BYTES)
        fprintf(stderr,
                "flagprof view: %s has %.1f GB; a browser tab holds about 2 GB. `flagprof cut` makes a part "
                "of it.\n",
                file->path, (double)found.st_size / 1e9);
}

static void print_links(const struct fp_serve_file *files, size_t count) {
    char host[256] = "HOST";
    (void)gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < count; i++)
        printf("%s/#!/?url=http://127.0.0.1:%d/%s\n", FP_SERVE_ORIGIN, FP_SERVE_PORT, files[i].name);
    printf("from another machine, first: ssh -L %d:127.0.0.1:%d %s\n", FP_SERVE_PORT, FP_SERVE_PORT, host);
    fflush(stdout);
}

// Two files of one name get links that differ.
static void make_names_distinct(struct fp_serve_file *files, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(files[i].name, files[j].name) == 0) {
                char old[sizeof(files[i].name)];
                memcpy(old, files[i].name, sizeof(old));
                snprintf(files[i].name, sizeof(files[i].name), "%zu-%.*s", i + 1, (int)sizeof(old) - 24, old);
                j = (size_t)-1; // the new name may be another one's
            }
}

static int view(char **paths, size_t count, int print_only) {
    struct fp_error err = { "" };
    int status = FP_EXIT_CANNOT, listener = -1;
    struct fp_serve_file *files = calloc(count, sizeof(*files));
    if (!files) {
        say("not enough memory");
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (fp_serve_describe(paths[i], &files[i], &err))
            goto failed;
        warn_of_size(&files[i]);
    }
    make_names_distinct(files, count);
    if (!print_only && (listener = fp_serve_listen(&err)) < 0)
        goto failed;
    print_links(files, count);
    if (!print_only && fp_serve_run(listener, files, count, say, &err))
        goto failed;
    status = FP_EXIT_OK;
failed:
    if (status != FP_EXIT_OK)
        say(err.text);
    free(files);
    return status;
}

int fp_view_main(int argc, char **argv) {
    static const struct option options[] = {
        { "print-only", no_argument, NULL, 'p' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int print_only = 0, option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            print_only = 1;
            break;
        case 'h':
            fputs(help, stdout);
            return FP_EXIT_OK;
        default:
            fprintf(stderr, "flagprof view: there is no option '%s'. `flagprof view --help` lists them.\n",
                    argv[optind - 1]);
            return FP_EXIT_CANNOT;
        }
    }
    if (optind == argc) {
        fputs("flagprof view: which file?\nusage: flagprof view [--print-only] FILE ...\n", stderr);
        return FP_EXIT_CANNOT;
    }
    return view(argv + optind, (size_t)(argc - optind), print_only);
}
