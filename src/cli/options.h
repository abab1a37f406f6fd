// options.h - the command line that all verbs share, and the help that teaches it.
//
// In:  argv, and a verb's own rows.
// Out: struct fp_options. Every verb that reads traces takes the shared options; a verb says which groups
//      make sense for it.
#ifndef FP_CLI_OPTIONS_H
#define FP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/select.h"
#include "cli/table.h"

enum fp_option_group {
    FP_GROUP_FORMAT = 1 << 0, // --format, --unit
    FP_GROUP_OUTPUT = 1 << 1, // -o
    FP_GROUP_SELECT = 1 << 2, // --from, --to, --pid, --device, --step, --include, --exclude
    FP_GROUP_READ = 1 << 3,   // --salvage, --threads
};

struct fp_options {
    char **paths; // into argv
    size_t path_count;
    enum fp_format format;
    enum fp_unit unit;
    const char *output; // NULL: not given
    bool salvage;
    int threads; // as in fp_reader_options
    struct fp_select_options select;
};

struct fp_text_list {
    const char **texts;
    size_t count;
};

// A verb's own option. Exactly one of the targets is set.
struct fp_option {
    const char *name;          // without dashes
    const char *value;         // what the help calls its value; NULL: a switch
    const char *help;          // one sentence; the help breaks its lines
    bool *flag;                // a switch sets it
    const char **text;         // takes the last value
    int64_t *number;           // a whole number of 0 or more
    struct fp_text_list *list; // takes every value
    int64_t *mark;             // a switch: how many paths stood before it
};

struct fp_usage {
    const char *verb;
    const char *summary;  // "flagprof VERB - SUMMARY"
    const char *synopsis; // behind "flagprof VERB "
    const char *text;     // paragraphs, lines broken at 100 columns
    const char *examples; // likewise
    const char *exit_status;
    unsigned groups;                // enum fp_option_group
    const struct fp_option *own;    // ends with a row without a name; may be NULL
    size_t least_paths, most_paths; // most 0: any number
};

// Reads the command line. Returns -1 to go on, else the exit status (--help, or an error that was printed).
int fp_options_parse(int argc, char **argv, const struct fp_usage *usage, struct fp_options *options);

// Frees the lists of own options.
void fp_text_list_free(struct fp_text_list *list);

// "flagprof VERB: sentence." on standard error. The text is made safe for a terminal.
void fp_say(const char *verb, const char *format, ...) FP_PRINTF(2, 3);

// What is wrong with the command line, and on a line of its own how it goes. The exit status.
int fp_say_usage(const struct fp_usage *usage, const char *format, ...) FP_PRINTF(2, 3);

// Writes the report where the options say: standard output, or -o where `to_output`. Prints what went wrong
// and returns false then.
bool fp_options_report(const struct fp_options *options, const char *verb, const struct fp_report *report,
                       bool to_output);

#endif
