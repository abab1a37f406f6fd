// input.h - the files of a command line, as verbs read them.
//
// In:  paths and options.
// Out: reader options; a path that can be read more than once where standard input was named; what the
//      reader noted, as sentences; where a verb that writes one file for each input puts it.
#ifndef FP_CLI_INPUT_H
#define FP_CLI_INPUT_H

#include "cli/options.h"
#include "trace/reader.h"

struct fp_input {
    const char *name; // for messages
    const char *path; // for readers
    char copy[64];
    int fd; // of the copy; -1
};

// For what the command line calls `path`, whichever copy of it is read.
struct fp_reader_options fp_input_reader_options(const struct fp_options *options, const char *path);

// Standard input is copied to an unlinked temporary file (in $TMPDIR or /tmp) when `again`, for verbs that
// read twice. 0 or a negative errno with a sentence.
int fp_input_open(const char *path, bool again, struct fp_input *input, struct fp_error *err);
void fp_input_close(struct fp_input *input);

// What a person must know of how the file was read, a line for each kind of note, on standard error:
// warnings, errors, and a list that was never closed. After the last event.
void fp_input_say_notes(const char *verb, const struct fp_input *input, const struct fp_reader *reader);

// Where the result for `input` goes. One input: -o, else standard output unless that is a terminal. Several:
// -o is a folder, and the input's own name is used, its ending replaced by `ending` where that is not NULL.
// NULL with a sentence where it cannot be told; else the caller frees the text.
char *fp_input_target(const struct fp_options *options, const struct fp_input *input, const char *ending,
                      struct fp_error *err);

// Whether what is written to `target` comes out where tables would: "-", /dev/stdout and other names of it.
bool fp_input_target_is_standard(const char *target);

// Whether each of several inputs has a file of its own in the folder, by the rule above. 0, -EEXIST with a
// sentence, -ENOMEM. Before anything is written.
int fp_input_targets_differ(const struct fp_options *options, const char *ending, struct fp_error *err);

#endif
