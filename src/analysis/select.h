// select.h - which events of a trace a person asked for.
//
// In:  --from, --to, --pid, --device, --step, --category, --include, --exclude, --kernel and the like, as
//      text; and the file, read ahead where the question needs it (times from the trace's start, steps,
//      launches of a step's kernels).
// Out: yes or no for each event. Memory follows what is selected, not the file.
//
// Flow arrows, begin/end pairs and metadata are events like others here; cut.c keeps their halves together.
#ifndef FLAGPROF_ANALYSIS_SELECT_H
#define FLAGPROF_ANALYSIS_SELECT_H

#include "trace/reader.h"

// Every text may be NULL: not asked for. Lists are separated by commas, ranges of numbers written 3-7.
struct fp_select_options {
    size_t size; // sizeof(struct fp_select_options) as the caller knows it
    const char
        *from; // "1.5ms" after the trace's first event; "@123.456" the ts as the file writes it; no unit: us
    const char *to;     // likewise; events that overlap [from, to) are selected
    const char *pid;    // process ids, numbers or texts as the file has them
    const char *device; // device numbers: work of other devices is left out, and the launches of it
    const char *step;   // numbers of ProfilerStep#N: host events in the step, and the work that they launched
    const char *category; // as the file spells them
    const char *include;  // extended regular expression that the name must match
    const char *exclude;  // and one that it must not
    const char *kernel;   // one for device work: it, its launches and the operators that own it
    int64_t slowest;      // n of 1 or more: the slowest step and n - 1 steps on either side; 0: not asked for
    int64_t every; // n of 1 or more: every n-th step, in a file without steps every n-th slice of a lane
};

struct fp_select;

// Reads the texts. -EINVAL with a sentence for one that makes no sense.
int fp_select_new(const struct fp_select_options *options, struct fp_select **select, struct fp_error *err);
void fp_select_free(struct fp_select *select); // NULL is allowed

// Nothing was asked for: every event is selected.
bool fp_select_all(const struct fp_select *select);

// The file must be read ahead with fp_select_read_ahead, so standard input must be copied first.
bool fp_select_needs_ahead(const struct fp_select *select);

// Learns what the tests need of this file (forgetting the file before), reading it once or twice where that
// is needed. 0, or as the reader says; -ENOENT with a sentence when a step was asked for that the file does
// not have.
int fp_select_read_ahead(struct fp_select *select, const char *path, const struct fp_reader_options *options,
                         struct fp_error *err);

// Forgets what belongs to one reading of the file; before each.
void fp_select_begin(struct fp_select *select);

// Whether the event is selected. Negative errno when memory is out, else 0 or 1. Metadata (phase M) is
// selected unless its process is not; flow halves and ends of slices are judged by their process and time
// only. Call once for each event, in order.
int fp_select_test(struct fp_select *select, const struct fp_trace_event *event);

// Whether [start, end] touches the time that was asked for.
bool fp_select_in_time(const struct fp_select *select, int64_t start_ns, int64_t end_ns);

// Whether something other than process and time was asked for, so that a flow's half follows its slice.
bool fp_select_by_kind(const struct fp_select *select);

// What was found by reading ahead, for the person: "step 12 took 81.2 ms". Empty where there is nothing to
// say.
const char *fp_select_finding(const struct fp_select *select);

// Time text as above to nanoseconds; only 0 may stand without a unit. `absolute` is set for "@", whose number
// is in microseconds like every ts.
bool fp_select_time(const char *text, int64_t *ns, bool *absolute);

#endif
