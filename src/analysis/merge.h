// merge.h - the traces of many ranks as one, with nothing that two of them share by accident.
//
// In:  files, each read twice and one at a time.
// Out: one list of events in which process ids, flow ids, correlation and External ids of different ranks
//      differ, times stand on one base, lanes say whose they are, and every rank's own top-level keys are
//      kept. Memory: what collectives.h needs, the distinct process ids and the top-level keys of each
//      file; not the events.
//
// Clocks are compared whenever ranks share collectives and moved only when that is asked for and proven
// (align.h).
#ifndef FLAGPROF_ANALYSIS_MERGE_H
#define FLAGPROF_ANALYSIS_MERGE_H

#include "analysis/align.h"
#include "analysis/cut.h"
#include "analysis/emit.h"

enum fp_merge_times {
    FP_MERGE_BASED,   // relative to baseTimeNanoseconds
    FP_MERGE_EPOCH,   // microseconds of the epoch, as before torch 2.4
    FP_MERGE_UNKNOWN, // neither: relative to something that the file does not say
};

enum fp_merge_rank_source { FP_MERGE_RANK_HEADER, FP_MERGE_RANK_NAME, FP_MERGE_RANK_ORDER };

struct fp_merge_process {
    struct fp_trace_id pid; // its text is owned
    char *merged;           // as JSON
    bool has_name, has_sort;
    int64_t sort;
    uint64_t merged_sort;
};

struct fp_merge_key {
    char *key, *value; // JSON
};

struct fp_merge_file {
    const char *name, *path;
    size_t order; // on the command line
    uint64_t rank;
    enum fp_merge_rank_source rank_source;
    enum fp_merge_times times;
    int64_t base_ns;
    bool any_time;
    int64_t first_ns, last_ns; // in the file's time
    int64_t shift_ns;          // to the merged file's time, alignment aside
    uint64_t events;
    uint64_t most_id, most_pid; // largest numbers that the plan must step over
    struct fp_merge_process *processes;
    size_t process_count, process_room;
    struct fp_merge_key *keys;
    size_t key_count, key_room;
    uint64_t keys_too_large;
    struct fp_collectives collectives;
    uint64_t metadata_collapsed;
};

struct fp_merge {
    struct fp_merge_file *files; // in the order of ranks once planned
    size_t count;
    struct fp_align_rank *ranks; // likewise
    struct fp_meeting *meetings;
    size_t meeting_count;
    struct fp_intern *texts;
    bool align; // times are moved by the ranks' offsets
    bool has_base;
    int64_t base_ns; // of the merged file
    uint64_t pid_block,
        id_block; // rank k's numbers are k blocks further on; id_block 0: ids are numbered anew
    uint64_t next_id;
    bool compact_pids; // process ids are too large for blocks and numbered anew
    bool shared_rank;  // two files claim one rank
    bool drop_secrets; // set before the first scan: values of tokens and passwords are not written
    uint64_t secrets;  // so many were left out
};

// Takes `count` files; paths and names must outlive it. NULL when memory is out.
struct fp_merge *fp_merge_new(const char *const *paths, const char *const *names, size_t count);
void fp_merge_free(struct fp_merge *merge); // NULL is allowed

// First reading of file `place`. `kept` may be NULL.
int fp_merge_scan(struct fp_merge *merge, size_t place, const struct fp_reader_options *options,
                  const struct fp_cut *kept, struct fp_error *err);

// After all were scanned: order, numbers, clocks. With `align`, fails (-EXDEV) where a rank's offset is not
// proven; without `anyway`, where a file does not meet the others in time and no collective says that it
// should.
int fp_merge_plan(struct fp_merge *merge, bool align, bool anyway, struct fp_error *err);

// What an id is, as text that may stand between the quotes of a JSON string; to be freed. NULL: no memory. An id that is no
// string (an object in a salvaged file, say) has quotes of its own, which become underscores.
char *fp_merge_id_text(const struct fp_trace_id *id);

// Top-level keys before the events; the text for fp_emit_set_last, which the caller frees (NULL when memory
// is out).
int fp_merge_begin(struct fp_merge *merge, struct fp_emit *emit);
char *fp_merge_description(const struct fp_merge *merge);

// Second reading of file `place` of the planned order.
int fp_merge_write(struct fp_merge *merge, size_t place, struct fp_reader *reader, const struct fp_cut *kept,
                   struct fp_emit *emit, struct fp_error *err);

#endif
