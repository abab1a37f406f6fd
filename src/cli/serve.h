// serve.h - hands trace files to the page of ui.perfetto.dev over one loopback port.
//
// In:  files.
// Out: each of them served until it was fetched once. Only 127.0.0.1 is listened on, only these files are
//      served, and only that page is told that it may read them.
#ifndef FP_CLI_SERVE_H
#define FP_CLI_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "flagprof/error.h"

// Perfetto's page may fetch from this port of the loopback and from no other (its content security policy
// names it).
#define FP_SERVE_PORT 9001
#define FP_SERVE_ORIGIN "https://ui.perfetto.dev"

struct fp_serve_file {
    const char *path;
    char name[128]; // under which it is served; letters, digits, '.', '_' and '-' only
    bool unpack;    // a .zst, which the page cannot read
    bool fetched;   // whole, once
};

// Fills in name and unpack. -ENODATA and others where the file cannot be read, with the sentence in `err`.
int fp_serve_describe(const char *path, struct fp_serve_file *file, struct fp_error *err);

// Opens the port. Returns the descriptor, or a negative errno: -EADDRINUSE with a sentence for a busy port.
int fp_serve_listen(struct fp_error *err);

// Answers until every file was fetched once. A preflight, a HEAD and a fetch that broke off do not count;
// `say` is told about what happens, one sentence at a time. Closes `listener`. Returns 0 or a negative errno.
int fp_serve_run(int listener, struct fp_serve_file *files, size_t count, void (*say)(const char *sentence),
                 struct fp_error *err);

#endif
