// check_rules.c - the rules in words: what each means, when it is harmless, what to do about it.
//
// In:  a rule.
// Out: its row.

#include "analysis/check.h"

static const struct {
    const char *name;
    enum fp_severity severity;
    const char *sentence;
} rows[FP_RULE_COUNT] = {
#define X(id, name, severity, sentence) [FP_RULE_##id] = { name, FP_SEVERITY_##severity, sentence },
    FP_CHECK_RULES(X)
#undef X
};

static const char *const explanations[FP_RULE_COUNT] = {
    [FP_RULE_FLOW_END_ON_CALL] =
        "Kineto writes a flow's end for every host call that is no launch (queries, attributes, nested "
        "driver calls).\n"
        "No start with that id exists, and none is missing. Nearly every CUDA trace has them.\n",
    [FP_RULE_FLOW_END_ON_WORK] =
        "A kernel or copy carries a flow's end, but no host call in the file carries the start. The launch "
        "lies before\n"
        "the recording began, or its record was dropped. The work counts; its operator may be unknown.\n",
    [FP_RULE_FLOW_END_ALONE] =
        "A flow's end that no slice of a known kind stands under. Viewers draw no arrow.\n",
    [FP_RULE_FLOW_START_ON_LAUNCH] =
        "A launch carries a flow's start, but no device work carries the end: the kernel's record was lost, "
        "or it ran\n"
        "after the recording ended. Synchronise before the profiler stops; look at edge-loss.\n",
    [FP_RULE_FLOW_START_ON_CALL] = "A synchronise, an event record or a copy carries a flow's start without "
                                   "an end. Nothing is missing.\n",
    [FP_RULE_FLOW_START_ALONE] =
        "A flow's start that no slice of a known kind stands under. Viewers draw no arrow.\n",
    [FP_RULE_FLOW_BACKWARDS] =
        "The device's clock runs ahead of the host's. All lags alike: a constant skew. Growing lags: drift. "
        "Durations and\n"
        "busy times are right, launch latencies are not, and Perfetto draws no arrow.\n",
    [FP_RULE_FLOW_ENDS_FIRST] =
        "A flow of a category other than launches, whose two ends stand in the wrong order: the producer "
        "mixed "
        "them up, used an id again, or took the times from two clocks. Viewers draw no arrow.\n",
    [FP_RULE_FLOW_TWO_STARTS] =
        "Both halves of a pair are written as starts (ph s), as some ROCm builds of Kineto do. The pair is "
        "joined by its\n"
        "correlation all the same; viewers draw no arrow. `flagprof fix` writes the second half as an end.\n",
    [FP_RULE_ID_CLASH] = "Two host calls start a flow with the same id: two back ends count from 1 in one "
                         "category, or files were put\n"
                         "together without renumbering. Arrows lead astray. `flagprof merge` renumbers.\n",
    [FP_RULE_NO_DEVICE_WORK] =
        "Host calls launched kernels, and the file holds no device record at all. Device times are 0 for no "
        "good reason:\n"
        "the device tracer was not active, had no permission, or its buffers were never delivered.\n",
    [FP_RULE_DEVICE_NOT_RECORDED] =
        "FlagProf was asked for the device and could not record it; the reason stands in the file's metadata "
        "(flagprof.not_recorded).\n"
        "Only the host's half is here. `flagprof info`, run where the trace was made, says what would record "
        "and "
        "why each other would not.\n",
    [FP_RULE_COUNTERS_ONLY] =
        "Kineto's range profiler measures counters for each kernel and records no kernels, copies or fills "
        "meanwhile.\n"
        "The ranges carry the counters; launches have no device work, and none is missing.\n",
    [FP_RULE_LAUNCH_CAPTURED] =
        "Between the calls that begin and end a stream's capture, launches and copies are written into a "
        "graph. "
        "They have a call and no device work; the graph's launch starts the work. Nothing is missing.\n",
    [FP_RULE_LAUNCH_WITHOUT_WORK] = "A launch call with a correlation that no device work carries: the "
                                    "record was dropped, or the kernel ran after\n"
                                    "the recording ended. Their device time is missing from every sum.\n",
    [FP_RULE_COPY_WITHOUT_WORK] = "Copies between pageable memory and fills of nothing leave no device "
                                  "record on some drivers. Harmless when few.\n",
    [FP_RULE_WORK_WITHOUT_LAUNCH] = "Device work with a correlation that no host call carries. It was "
                                    "launched before the recording began, or the\n"
                                    "host's records were dropped or not asked for.\n",
    [FP_RULE_EDGE_LOSS] = "Most launches without work lie in the first or last tenth of the recording. At "
                          "the beginning: kernels whose\n"
                          "times the profiler took to lie before its window (clock). At the end: work in "
                          "flight when it stopped.\n",
    [FP_RULE_CORRELATION_ZERO] = "0 says \"no correlation\". Such work is never joined to anything. Seen for "
                                 "every collective on some ROCm builds.\n",
    [FP_RULE_NO_CORRELATION] = "The producer writes no correlation on device work. Operators are found "
                               "through the External id where there is\n"
                               "one; launches cannot be named.\n",
    [FP_RULE_STREAM_OVERLAP] = "One stream runs one thing after the other, so overlapping work means rounded "
                               "times, a clock that jumped, or a\n"
                               "wrong stream number (kernels of a graph's side streams shown on one). "
                               "Perfetto drops one of the two.\n"
                               "Busy time in `flagprof stats` is a union and does not suffer. `flagprof fix` "
                               "moves them to extra lanes.\n",
    [FP_RULE_STREAM_OVERLAP_PDL] =
        "From compute capability 9.0 on, programmatic dependent launch lets a kernel begin before its "
        "predecessor in the\n"
        "stream has ended. Perfetto still drops one of the two; `flagprof fix` moves them to extra lanes.\n",
    [FP_RULE_CROSSING] = "Two slices of one thread overlap without one holding the other, by more than the "
                         "file's resolution. Both are\n"
                         "kept here, and each counts once in sums; viewers drop or misdraw one. `flagprof "
                         "fix` moves one away.\n",
    [FP_RULE_OUTSIDE_WINDOW] = "Device work before or after the span \"PyTorch Profiler\". Work in flight at "
                               "the edges is normal; much of it, or\n"
                               "far away, means that the device's clock was converted wrongly.\n",
    [FP_RULE_NEGATIVE_DURATION] = "A frame that was still open when the profiler stopped was given the end "
                                  "0. Its duration counts as unknown.\n"
                                  "`flagprof fix` closes it at the end of the trace.\n",
    [FP_RULE_UNFINISHED] = "dur -1 is a mark for slices that had not ended. They count in no sum.\n",
    [FP_RULE_NO_DURATION] = "An event of phase X without dur. It counts in no sum.\n",
    [FP_RULE_OPEN_BEGIN] =
        "A begin (ph B) whose end never came: the thread was still inside when the recording ended.\n",
    [FP_RULE_LONE_END] =
        "An end (ph E) without a begin: the thread was already inside when the recording began.\n",
    [FP_RULE_NO_TIME] = "An event that viewers cannot place. It counts in no sum.\n",
    [FP_RULE_ZERO_TIME] =
        "A record without timing got the time 0. The trace then seems to be years long in a viewer.\n",
    [FP_RULE_NO_PHASE] = "Viewers skip such events. They are counted, and kept by cut and merge.\n",
    [FP_RULE_DUPLICATE_METADATA] = "Names of processes and threads repeated word for word. Harmless: Kineto "
                                   "itself repeats a line or two. But "
                                   "they can be most of a file.\n"
                                   "`flagprof fix`, `cut` and `merge` write each once.\n",
    [FP_RULE_MANGLED_NAMES] =
        "`flagprof stats` shows them demangled where that is possible, and groups by the mangled name.\n",
    [FP_RULE_MISSING_FIELDS] = "Kineto gives every kernel, copy and host call these fields; tools look for "
                               "them. Hand-made and older files\n"
                               "lack some.\n",
    [FP_RULE_OWNER_MISSING] = "The work names an operator that the file does not have: cut files, or "
                              "operators outside the recording.\n"
                              "Its time is in the kernel table and in no operator's row.\n",
    [FP_RULE_SECRET] =
        "A wrapper stored environment variables, a command line or settings in the metadata. Do not publish "
        "the file as it is; only the\n"
        "key is shown here. `flagprof fix --drop-secrets` removes the values.\n",
    [FP_RULE_CAP] =
        "Exporters that stop at a limit leave exactly that many events. What came later is missing.\n",
    [FP_RULE_LEDGER_MISMATCH] = "FlagProf writes into the metadata how many records of each kind it kept. "
                                "The file does not hold as many: it was\n"
                                "edited, or cut by a tool that kept the ledger.\n",
    [FP_RULE_LEDGER_INCOMPLETE] = "FlagProf itself knew at the end of the recording that records were "
                                  "dropped, without timing or unpaired.\n",
    [FP_RULE_ONLY_METADATA] = "The file is valid and empty of work: an empty profiler step, or a profiler "
                              "that was never running.\n",
    [FP_RULE_NO_SLICES] = "Begins without an end, samples, counters, instants: the file holds events, and "
                          "none of them lasts.\n"
                          "`flagprof stats` has nothing to add up; viewers show them all the same.\n",
    [FP_RULE_EMPTY_LIST] = "The file is a trace and holds no event at all. Nothing is wrong with it, and "
                           "nothing is in it.\n",
};

const char *fp_check_rule_name(enum fp_check_rule rule) {
    return rows[rule].name;
}

enum fp_severity fp_check_rule_severity(enum fp_check_rule rule) {
    return rows[rule].severity;
}

const char *fp_check_rule_sentence(enum fp_check_rule rule) {
    return rows[rule].sentence;
}

const char *fp_check_rule_explanation(enum fp_check_rule rule) {
    return explanations[rule];
}
