// check.h - is a trace true and complete? A table of rules and what they found.
//
// In:  events, one by one, then the reader.
// Out: for every rule a count, a severity and the first places. Nothing is printed here.
//
// Memory: 20 bytes for each slice, what is open of pairs, the distinct names and lanes.
#ifndef FLAGPROF_ANALYSIS_CHECK_H
#define FLAGPROF_ANALYSIS_CHECK_H

#include "trace/reader.h"

// X(id, name, severity, sentence). How to read and cure each stands in check_rules.c.
#define FP_CHECK_RULES(X)                                                                                    \
    X(FLOW_END_ON_CALL, "flow-end-on-call", NOTE, "flow ends on host calls that start no work: harmless")    \
    X(FLOW_END_ON_WORK, "flow-end-on-work", WARNING,                                                         \
      "flow ends on device work without a start: the launch is missing")                                     \
    X(FLOW_END_ALONE, "flow-end-alone", NOTE, "flow ends without a start")                                   \
    X(FLOW_START_ON_LAUNCH, "flow-start-on-launch", WARNING,                                                 \
      "flow starts on launches without an end: the work is lost")                                            \
    X(FLOW_START_ON_CALL, "flow-start-on-call", NOTE, "flow starts on calls that start no kernel: harmless") \
    X(FLOW_START_ALONE, "flow-start-alone", NOTE, "flow starts without an end")                              \
    X(FLOW_BACKWARDS, "flow-backwards", WARNING,                                                             \
      "device work that begins before its launch: the two clocks differ")                                    \
    X(FLOW_ENDS_FIRST, "flow-ends-first", NOTE,                                                              \
      "flows between host slices whose end lies before their start: no arrow")                               \
    X(FLOW_TWO_STARTS, "flow-two-starts", ERROR,                                                             \
      "two flow starts and no end: the work's half is written as a start")                                   \
    X(ID_CLASH, "id-clash", WARNING, "flow ids used by two launches: two producers count in one space")      \
    X(DEVICE_NOT_RECORDED, "device-not-recorded", WARNING, "the device was to be recorded, and was not")     \
    X(COUNTERS_ONLY, "counters-only", NOTE,                                                                  \
      "counters of each kernel (CUPTI's range profiler) instead of device records")                          \
    X(NO_DEVICE_WORK, "no-device-work", ERROR,                                                               \
      "launches but not one device record: the device tracer gave nothing")                                  \
    X(LAUNCH_CAPTURED, "launch-captured", NOTE,                                                              \
      "launches recorded into a graph (stream capture): they start no work themselves")                      \
    X(LAUNCH_WITHOUT_WORK, "launch-without-work", WARNING, "launches whose kernel is not in the file")       \
    X(COPY_WITHOUT_WORK, "copy-without-work", NOTE,                                                          \
      "copy and fill calls without a device record: small ones have none")                                   \
    X(WORK_WITHOUT_LAUNCH, "work-without-launch", WARNING, "device work whose launch is not in the file")    \
    X(EDGE_LOSS, "edge-loss", WARNING,                                                                       \
      "the missing kernels lie at one edge of the recording: they were dropped")                             \
    X(CORRELATION_ZERO, "correlation-zero", NOTE,                                                            \
      "device work with correlation 0, which says none: no launch known")                                    \
    X(NO_CORRELATION, "no-correlation", NOTE, "device work without correlation: its launch cannot be named") \
    X(STREAM_OVERLAP, "stream-overlap", WARNING,                                                             \
      "work that overlaps in one stream, which a stream cannot do")                                          \
    X(STREAM_OVERLAP_PDL, "stream-overlap-pdl", NOTE,                                                        \
      "work that overlaps in one stream: legal on this device")                                              \
    X(CROSSING, "crossing-slices", WARNING,                                                                  \
      "slices that cross: neither holds the other, and viewers drop one")                                    \
    X(OUTSIDE_WINDOW, "outside-window", WARNING, "device work outside the profiler's own span")              \
    X(NEGATIVE_DURATION, "negative-duration", ERROR,                                                         \
      "negative durations: frames open when the profiler stopped")                                           \
    X(UNFINISHED, "unfinished", NOTE, "durations of -1: marks of unfinished slices")                         \
    X(NO_DURATION, "no-duration", NOTE, "complete events without a duration")                                \
    X(OPEN_BEGIN, "open-begin", NOTE, "begins without an end")                                               \
    X(LONE_END, "lone-end", NOTE, "ends without a begin")                                                    \
    X(NO_TIME, "no-time", WARNING, "events without a ts, or with one that is no number")                     \
    X(ZERO_TIME, "zero-time", WARNING, "events at time 0 while all others are far away")                     \
    X(NO_PHASE, "no-phase", WARNING, "events without ph, or with one that the format does not know")         \
    X(DUPLICATE_METADATA, "duplicate-metadata", NOTE, "metadata that is repeated word for word")             \
    X(MANGLED_NAMES, "mangled-names", NOTE, "distinct names that are still mangled")                         \
    X(MISSING_FIELDS, "missing-fields", NOTE,                                                                \
      "events without a field that their kind has in torch's traces")                                        \
    X(OWNER_MISSING, "owner-missing", NOTE, "device work whose operator (External id) is not in the file")   \
    X(SECRET, "secret", WARNING, "metadata that looks like a password or an access token")                   \
    X(CAP, "cap", WARNING, "the number of events is exactly a limit at which exporters stop")                \
    X(LEDGER_MISMATCH, "ledger-mismatch", ERROR, "the recording's own ledger does not fit the events")       \
    X(LEDGER_INCOMPLETE, "ledger-incomplete", WARNING, "the recording says that something is missing")       \
    X(ONLY_METADATA, "only-metadata", WARNING, "nothing but metadata: nothing was recorded")                 \
    X(NO_SLICES, "no-slices", NOTE, "no event with a duration: there is nothing to add up")                  \
    X(EMPTY_LIST, "empty-list", NOTE, "a valid trace without one event")

enum fp_check_rule {
#define X(id, name, severity, sentence) FP_RULE_##id,
    FP_CHECK_RULES(X)
#undef X
        FP_RULE_COUNT
};

enum fp_rule_set {
    FP_RULE_SET_AUTO, // torch where the file looks like one of torch's
    FP_RULE_SET_TORCH,
    FP_RULE_SET_ANY, // without the rules that only torch's files can be held to
};

const char *fp_check_rule_name(enum fp_check_rule rule);
enum fp_severity fp_check_rule_severity(enum fp_check_rule rule);
const char *fp_check_rule_sentence(enum fp_check_rule rule);
const char *fp_check_rule_explanation(enum fp_check_rule rule); // several lines: how to read it, what to do

#define FP_FINDING_PLACES 5

struct fp_finding {
    uint64_t count;
    unsigned place_count;
    struct fp_place places[FP_FINDING_PLACES]; // line 0: only the byte and the event are known
    char detail[400];                          // numbers in words: how much, which device; may be empty
};

struct fp_check;

struct fp_check *fp_check_new(enum fp_rule_set rule_set); // NULL when memory is out
void fp_check_free(struct fp_check *check);               // NULL is allowed
void fp_check_of_part(struct fp_check *check); // before the end: only some events are handed in, on purpose

int fp_check_add(struct fp_check *check, const struct fp_trace_event *event); // 0 or -ENOMEM

// After the last event; the reader must still be open. 0 or -ENOMEM.
int fp_check_finish(struct fp_check *check, struct fp_reader *reader);

const struct fp_finding *fp_check_finding(const struct fp_check *check, enum fp_check_rule rule);
enum fp_rule_set fp_check_rule_set(const struct fp_check *check); // what AUTO became

// Numbers beside the findings.
struct fp_check_counts {
    uint64_t events, slices, work, calls, launches;
    uint64_t flow_pairs;
};
void fp_check_count(const struct fp_check *check, struct fp_check_counts *counts);

#endif
