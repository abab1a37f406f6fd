// verbs.h - the table of what `flagprof` can do. A new verb is one file with its main function and one row in
// main.c.
#ifndef FP_CLI_VERBS_H
#define FP_CLI_VERBS_H

// What every verb exits with; a verb's --help says which of them it uses and what for.
enum fp_exit {
    FP_EXIT_OK = 0,
    FP_EXIT_FOUND =
        1, // it worked, and what was asked for is not as it should be (check found errors, diff failed)
    FP_EXIT_CANNOT = 2, // wrong usage, or the input cannot be read
};

struct fp_verb {
    const char *name;
    int (*main)(int argc, char **argv); // argv[0] is the verb's name; returns an exit status
    const char *summary;                // one line for `flagprof --help`
};

int fp_conformance_main(int argc, char **argv);
int fp_convert_main(int argc, char **argv);
int fp_check_main(int argc, char **argv);
int fp_cut_main(int argc, char **argv);
int fp_stats_main(int argc, char **argv);
int fp_env_main(int argc, char **argv);
int fp_info_main(int argc, char **argv);
int fp_diff_main(int argc, char **argv);
int fp_fix_main(int argc, char **argv);
int fp_merge_main(int argc, char **argv);
int fp_view_main(int argc, char **argv);

// What LD_PRELOAD shall be for all of an accelerator (NULL: of any) to be recorded on this machine, with what it
// is now (env.c). How many libraries were added; -1: it cannot be said, and that is told on standard error.
enum { FP_PRELOAD_BYTES = 16384 };
int fp_preload_list(char list[FP_PRELOAD_BYTES], const char *accelerator);

#endif
