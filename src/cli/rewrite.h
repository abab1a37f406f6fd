// rewrite.h - the course that cut, convert and fix share: read, keep or leave out, write.
//
// In:  an input and what to do with it.
// Out: a trace at its target, whole or not at all, and how many events went into it.
#ifndef FP_CLI_REWRITE_H
#define FP_CLI_REWRITE_H

#include "analysis/cut.h"
#include "analysis/emit.h"
#include "cli/input.h"

struct fp_rewrite {
    // What happens to each event, NULL: it is copied. `edit` is the removal of its secrets, or NULL. 0 or
    // -ENOMEM.
    int (*each)(void *user, const struct fp_trace_event *event, const struct fp_edit *edit,
                struct fp_emit *emit);
    int (*finish)(void *user, const struct fp_reader *reader,
                  struct fp_emit *emit); // before the list is closed
    void (*note_text)(void *user, const struct fp_reader *reader,
                      const struct fp_emit *emit); // at the very end
    void *user;
    const char *verb;
    enum fp_emit_style style;
    bool drop_metadata; // top-level keys that no viewer and no analysis needs
    bool drop_secrets;  // their values become "[removed]"
    int packing;        // as in fp_output_options
    int level;
};

struct fp_rewrite_result {
    uint64_t events, written;
    uint64_t secrets;
    uint64_t keys_dropped;
    struct fp_mended mended;
};

// Copies `input` to `target`; `cut` may be NULL: everything. 0 or a negative errno, after saying what is to
// be said.
int fp_rewrite_run(const struct fp_rewrite *rewrite, const struct fp_options *options,
                   const struct fp_input *input, const struct fp_cut *cut, const char *target,
                   struct fp_rewrite_result *result, struct fp_error *err);

#endif
