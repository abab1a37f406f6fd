// check_internal.h - what the rooms of the check share.
//
// Private to src/analysis: check.c (events), check_flows.c (pairs of flows), check_captures.c
// (launches into graphs), check_lanes.c (slices that
// overlap), check_header.c (what stands beside the events).
#ifndef FLAGPROF_ANALYSIS_CHECK_INTERNAL_H
#define FLAGPROF_ANALYSIS_CHECK_INTERNAL_H

#include "analysis/check.h"
#include "analysis/distribution.h"
#include "analysis/idset.h"
#include "analysis/kinds.h"
#include "analysis/marks.h"
#include "analysis/names.h"
#include "analysis/slices.h"

enum fp_slice_kind {
    KIND_NONE, // no slice is known there
    KIND_OTHER,
    KIND_OPERATOR,
    KIND_LAUNCH,
    KIND_GRAPH_LAUNCH,
    KIND_COPY_CALL,
    KIND_SYNC_CALL,
    KIND_BEGIN_CAPTURE,
    KIND_END_CAPTURE,
    KIND_CALL,
    KIND_KERNEL,
    KIND_COPY,
    KIND_DEVICE_MARK,
};

enum fp_slice_sort { SORT_OPERATORS, SORT_CALLS, SORT_PYTHON, SORT_OTHERS, SORT_WORK, SORT_COUNT };

struct fp_check_lane {
    struct fp_slices *slices[SORT_COUNT]; // group is the name's id, id the event's number
    struct fp_slices *marks;
    int64_t last_ts_ns; // of the last slice, for the flow half that follows it
    uint8_t last_kind;
    bool on_device, device_known, stream_known;
    bool mixed; // its work ran in more than one stream: slices that overlap say nothing
    uint64_t device, stream;
    // The flow half that came last and found no slice yet: the slice may follow.
    struct {
        bool waits;
        bool start;
        uint32_t space;
        uint64_t id;
        int64_t ts_ns;
    } flow;
};

// A start whose id was already used by another start.
struct fp_second_start {
    uint64_t event, byte;
    int64_t ts_ns;
    uint32_t lane;
    uint8_t kind;
};

// A further half of an id that already waits.
struct fp_extra_half {
    uint64_t id, event, byte;
    int64_t ts_ns;
    uint32_t lane, space, text;
    uint8_t kind;
    bool start;
};

// Flows of one category: ids mean something only within one.
struct fp_flow_space {
    uint32_t cat_id;
    uint8_t category;
    struct fp_halves starts, ends; // those that wait
    struct fp_idset started, ended;
};

struct fp_lag {
    int64_t at_ns, lag_ns;
    uint64_t device;
};

struct fp_flows {
    struct fp_flow_space *spaces;
    uint32_t space_count;
    struct fp_second_start *seconds;
    uint32_t second_count, second_room;
    struct fp_extra_half *extras;
    uint32_t extra_count, extra_room;
    struct fp_lag *lags; // of pairs that run backwards, thinned out when there are many
    uint32_t lag_count, lag_room, lag_stride;
    uint64_t backwards, pairs;
    struct fp_intern *texts; // of ids that are no numbers; NULL until there is one
};

// A call that begins or ends a capture; once settled, a span of captures.
struct fp_check_capture {
    uint64_t process;
    int64_t from_ns, to_ns;
    bool begins;
};

struct fp_check_captures {
    struct fp_check_capture *list;
    size_t count, room;
};

// The profiler's own span, one for each rank of a merged file.
struct fp_check_window {
    uint32_t lane;
    int64_t from_ns, to_ns;
};

// A process whose name says which rank it belongs to, as `flagprof merge` writes it.
struct fp_check_rank {
    uint32_t lane;
    uint64_t rank;
};

struct fp_check {
    enum fp_rule_set rule_set;
    struct fp_finding findings[FP_RULE_COUNT];
    struct fp_check_lane *lanes;
    uint32_t lane_count, lane_room;
    uint8_t *name_kinds; // enum fp_slice_kind by name id, 0 where not looked up yet
    uint32_t name_kind_room;

    struct fp_flows flows;
    struct fp_check_captures captures;
    struct fp_idset called, worked; // correlations of host calls and of work
    struct fp_halves waiting_launches, waiting_work;
    struct fp_idset operators; // External ids
    struct fp_halves owners;   // External ids of work whose operator was not seen yet
    struct fp_halves metadata; // by hash of everything in it

    uint64_t events, slices, work, calls, launches;
    uint64_t by_category[FP_CAT_COUNT]; // complete events
    int64_t first_launch_ns, last_launch_ns;
    int64_t zero_correlation_ns;
    uint64_t zero_times, zero_event, zero_byte;
    uint64_t untimed, untimed_event, untimed_byte; // device work at time 0 without a length
    int64_t nearest_ns;                            // to time 0, of all other events
    struct fp_check_window *windows;
    uint32_t window_count, window_room;
    struct fp_check_rank *ranks;
    uint32_t rank_count, rank_room;
    uint64_t phases[256];
    uint64_t counter_ranges; // of CUPTI's range profiler
    bool part;               // events were left out on purpose: what is missing says nothing
    bool uncategorised_work; // known by its arguments: no file of torch's own
    int64_t resolution_ns;
};

void fp_check_find(struct fp_check *check, enum fp_check_rule rule, uint64_t event, uint64_t byte,
                   struct fp_text text);
void fp_check_detail(struct fp_check *check, enum fp_check_rule rule, const char *format, ...)
    FP_PRINTF(3, 4);
struct fp_check_lane *fp_check_lane(struct fp_check *check, uint32_t lane); // NULL when memory is out
int fp_check_keep(struct fp_slices **slices, struct fp_slice slice);
struct fp_half **fp_check_in_order(const struct fp_halves *halves); // to be freed; NULL when memory is out

int fp_check_captures_add(struct fp_check_captures *captures, const struct fp_trace_event *event,
                          bool begins);
void fp_check_captures_settle(
    struct fp_check_captures *captures); // after the last event, before the first question
bool fp_check_captures_hold(const struct fp_check_captures *captures, const struct fp_trace_id *pid,
                            int64_t ts_ns);

int fp_flows_add(struct fp_check *check, const struct fp_trace_event *event, struct fp_check_lane *lane);
int fp_flows_add_bound(struct fp_check *check, const struct fp_trace_event *event); // bind_id on a slice
void fp_flows_meet_slice(struct fp_check *check, struct fp_check_lane *lane, enum fp_slice_kind kind);
int fp_flows_judge(struct fp_check *check,
                   const struct fp_reader *reader); // after fp_lanes_judge, which sorts
void fp_flows_free(struct fp_flows *flows);

int fp_lanes_judge(struct fp_check *check, struct fp_reader *reader);
void fp_header_judge(struct fp_check *check, const struct fp_reader *reader);
void fp_header_judge_metadata(struct fp_check *check, const struct fp_trace_event *event); // secrets in it

#endif
