// check_lanes.c - slices that overlap where they must not: in a stream, and across on a thread.
//
// In:  the slices of each lane.
// Out: findings with the time that overlaps. Sorts every lane on the way, which the flows' judgement
//      relies on.

#include "analysis/check_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct overlap {
    uint64_t count;
    int64_t sum_ns, most_ns;
    uint64_t streams;
};

// The place names the lane: on the device's side its tid is the stream.
static void find_slice(struct fp_check *check, const struct fp_reader *reader, enum fp_check_rule rule,
                       uint32_t lane, const struct fp_slice *slice) {
    const struct fp_lane *at = fp_reader_lane(reader, lane);
    struct fp_text name = fp_intern_text(fp_reader_names(reader), slice->group);
    const struct fp_text pid = at->pid.kind ? at->pid.text : fp_text_of("none"),
                         tid = at->tid.kind ? at->tid.text : fp_text_of("none");
    char text[160];
    snprintf(text, sizeof(text), "%.*s%s (pid %.*s, %s %.*s)", (int)(name.size < 60 ? name.size : 60),
             name.at, name.size > 60 ? ".." : "", (int)(pid.size < 20 ? pid.size : 20), pid.at,
             check->lanes[lane].on_device ? "stream" : "tid", (int)(tid.size < 20 ? tid.size : 20), tid.at);
    fp_check_find(check, rule, slice->id, 0, fp_text_of(text));
}

// AMD's cards have a computeMajor of 9 and more too, and no programmatic dependent launch.
static bool device_may_overlap(struct fp_text device) {
    struct fp_trace_field major, name;
    int64_t value;
    if (fp_json_find(device, "name", &name) && fp_text_begins(fp_field_text(&name), "AMD"))
        return false;
    return fp_json_find(device, "computeMajor", &major) && fp_field_i64(&major, &value) && value >= 9;
}

// From compute capability 9.0 on, kernels of one stream may overlap (programmatic dependent launch). The lane's own
// device decides, where the header lists it; else all that it lists.
static bool overlap_is_legal(const struct fp_reader *reader, const struct fp_check_lane *lane) {
    const struct fp_trace_header *header = fp_reader_header_named(reader, "deviceProperties");
    struct fp_trace_field device, id;
    if (!header)
        return false;
    struct fp_json_walk walk = fp_json_walk_begin(header->value);
    bool all = true, any = false;
    while (fp_json_walk_next(&walk, &device)) {
        uint64_t number;
        bool legal = device_may_overlap(fp_field_text(&device));
        if (lane->device_known && fp_json_find(fp_field_text(&device), "id", &id) &&
            fp_field_u64(&id, &number) && number == lane->device)
            return legal;
        all &= legal;
        any = true;
    }
    return any && all;
}

static void judge_stream(struct fp_check *check, const struct fp_reader *reader, uint32_t lane,
                         enum fp_check_rule rule, struct overlap *overlap) {
    const struct fp_slices *work = check->lanes[lane].slices[SORT_WORK];
    int64_t last_end = INT64_MIN;
    bool any = false;
    for (size_t i = 0; i < work->count; i++) {
        struct fp_slice slice = fp_slices_get(work, i);
        int64_t end = slice.start_ns + slice.dur_ns,
                common = (end < last_end ? end : last_end) - slice.start_ns;
        if (last_end != INT64_MIN && common > check->resolution_ns) {
            find_slice(check, reader, rule, lane, &slice);
            overlap->count++;
            overlap->sum_ns += common;
            overlap->most_ns = common > overlap->most_ns ? common : overlap->most_ns;
            any = true;
        }
        last_end = end > last_end ? end : last_end;
    }
    overlap->streams += any;
}

// The next slice of a lane's arrays in order of start, the longer first. False at the end.
static bool next_slice(struct fp_check_lane *lane, size_t *at, struct fp_slice *slice) {
    int best = -1;
    struct fp_slice candidate;
    for (int sort = 0; sort < SORT_WORK; sort++) {
        if (!lane->slices[sort] || at[sort] == lane->slices[sort]->count)
            continue;
        candidate = fp_slices_get(lane->slices[sort], at[sort]);
        if (best < 0 || fp_slice_before(&candidate, slice)) {
            *slice = candidate;
            best = sort;
        }
    }
    if (best >= 0)
        at[best]++;
    return best >= 0;
}

struct open_slices {
    int64_t *ends;
    size_t count, room;
};

static int push(struct open_slices *open, int64_t end) {
    if (open->count == open->room) {
        size_t room = open->room ? open->room * 2 : 64;
        int64_t *grown = realloc(open->ends, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        open->ends = grown;
        open->room = room;
    }
    open->ends[open->count++] = end;
    return 0;
}

static int judge_thread(struct fp_check *check, const struct fp_reader *reader, uint32_t place,
                        struct overlap *crossing) {
    struct fp_check_lane *lane = &check->lanes[place];
    struct open_slices open = { 0 };
    size_t at[SORT_COUNT] = { 0 };
    struct fp_slice slice = { 0 };
    int code = 0;
    bool any = false;
    while (!code && next_slice(lane, at, &slice)) {
        int64_t end = slice.start_ns + slice.dur_ns;
        while (open.count && open.ends[open.count - 1] <= slice.start_ns)
            open.count--;
        if (open.count && end - open.ends[open.count - 1] > check->resolution_ns) {
            int64_t common = open.ends[open.count - 1] - slice.start_ns;
            // Both edges must be off by more than the resolution: a slice that begins at its neighbour's
            // rounded end is none.
            if (common > check->resolution_ns) {
                find_slice(check, reader, FP_RULE_CROSSING, place, &slice);
                crossing->count++;
                crossing->sum_ns += common;
                crossing->most_ns = common > crossing->most_ns ? common : crossing->most_ns;
                any = true;
            }
            // What it crosses no longer holds what comes: everything that ends before it is behind it.
            while (open.count && open.ends[open.count - 1] < end)
                open.count--;
        }
        code = push(&open, end);
    }
    crossing->streams += any;
    free(open.ends);
    return code;
}

// The rank that a lane's process belongs to in a merged file. UINT64_MAX where nothing says one.
static uint64_t rank_of(const struct fp_check *check, const struct fp_reader *reader, uint32_t lane) {
    for (uint32_t i = 0; i < check->rank_count; i++)
        if (fp_trace_id_same(&fp_reader_lane(reader, check->ranks[i].lane)->pid,
                             &fp_reader_lane(reader, lane)->pid))
            return check->ranks[i].rank;
    return UINT64_MAX;
}

// The span that a lane's work is held against: from the first to the last of its own rank's windows. False
// where its rank has none.
static bool window_of(const struct fp_check *check, const struct fp_reader *reader, uint32_t lane,
                      struct fp_check_window *window) {
    uint64_t rank = rank_of(check, reader, lane);
    bool any = false;
    for (uint32_t i = 0; i < check->window_count; i++) {
        const struct fp_check_window *one = &check->windows[i];
        if (check->rank_count && rank_of(check, reader, one->lane) != rank)
            continue;
        window->from_ns = any && window->from_ns < one->from_ns ? window->from_ns : one->from_ns;
        window->to_ns = any && window->to_ns > one->to_ns ? window->to_ns : one->to_ns;
        any = true;
    }
    return any;
}

static void judge_window(struct fp_check *check, const struct fp_reader *reader, uint32_t lane,
                         struct overlap *outside) {
    const struct fp_slices *work = check->lanes[lane].slices[SORT_WORK];
    struct fp_check_window window = { 0 };
    if (!window_of(check, reader, lane, &window))
        return;
    for (size_t i = 0; i < work->count; i++) {
        struct fp_slice slice = fp_slices_get(work, i);
        int64_t before = window.from_ns - slice.start_ns;
        int64_t after = slice.start_ns + slice.dur_ns - window.to_ns;
        int64_t far = before > after ? before : after;
        if (far <= check->resolution_ns)
            continue;
        find_slice(check, reader, FP_RULE_OUTSIDE_WINDOW, lane, &slice);
        outside->count++;
        outside->most_ns = far > outside->most_ns ? far : outside->most_ns;
    }
}

struct marks_user {
    struct fp_check *check;
    struct fp_check_lane *lane;
};

static int add_pair(void *user, struct fp_slice slice) {
    struct marks_user *marks = user;
    marks->check->slices++;
    return fp_check_keep(&marks->lane->slices[SORT_OTHERS], slice);
}

static int judge_marks(struct fp_check *check, struct fp_check_lane *lane) {
    struct marks_user user = { check, lane };
    struct fp_marks_result result = { 0 };
    int code = lane->marks ? fp_marks_pair(lane->marks, add_pair, &user, &result) : 0;
    if (result.open) {
        fp_check_find(check, FP_RULE_OPEN_BEGIN, result.first_open, 0, fp_text_of(""));
        check->findings[FP_RULE_OPEN_BEGIN].count += result.open - 1;
    }
    if (result.lone) {
        fp_check_find(check, FP_RULE_LONE_END, result.first_lone, 0, fp_text_of(""));
        check->findings[FP_RULE_LONE_END].count += result.lone - 1;
    }
    return code;
}

struct span_words {
    char text[40];
};

// A length of time in the unit that suits it.
static struct span_words in_words(int64_t ns) {
    struct span_words words;
    double size = (double)ns;
    if (ns >= 1000000000)
        snprintf(words.text, sizeof(words.text), "%.3f s", size / 1e9);
    else if (ns >= 1000000)
        snprintf(words.text, sizeof(words.text), "%.3f ms", size / 1e6);
    else if (ns >= 1000)
        snprintf(words.text, sizeof(words.text), "%.3f us", size / 1e3);
    else
        snprintf(words.text, sizeof(words.text), "%lld ns", (long long)ns);
    return words;
}

// "40.064 us overlap in 1 stream, at most 416 ns".
static void tell_sum(struct fp_check *check, enum fp_check_rule rule, const struct overlap *found,
                     const char *what, const char *where) {
    fp_check_detail(check, rule, "%s %s %llu %s%s, at most %s", in_words(found->sum_ns).text, what,
                    (unsigned long long)found->streams, where, found->streams == 1 ? "" : "s",
                    in_words(found->most_ns).text);
}

int fp_lanes_judge(struct fp_check *check, struct fp_reader *reader) {
    struct overlap overlap = { 0 }, dependent = { 0 }, crossing = { 0 }, outside = { 0 };
    int code = 0;
    for (uint32_t i = 0; !code && i < check->lane_count; i++) {
        struct fp_check_lane *lane = &check->lanes[i];
        code = judge_marks(check, lane);
        for (int sort = 0; sort < SORT_COUNT; sort++)
            if (lane->slices[sort])
                fp_slices_sort(lane->slices[sort]);
        if (!code && lane->slices[SORT_WORK]) {
            bool legal = !lane->mixed && overlap_is_legal(reader, lane);
            if (!lane->mixed)
                judge_stream(check, reader, i, legal ? FP_RULE_STREAM_OVERLAP_PDL : FP_RULE_STREAM_OVERLAP,
                             legal ? &dependent : &overlap);
            judge_window(check, reader, i, &outside);
        }
        if (!code && !lane->on_device)
            code = judge_thread(check, reader, i, &crossing);
    }
    if (overlap.count)
        tell_sum(check, FP_RULE_STREAM_OVERLAP, &overlap, "overlap in", "stream");
    if (dependent.count)
        tell_sum(check, FP_RULE_STREAM_OVERLAP_PDL, &dependent, "overlap in", "stream");
    if (crossing.count)
        tell_sum(check, FP_RULE_CROSSING, &crossing, "cross on", "thread");
    if (outside.count)
        fp_check_detail(check, FP_RULE_OUTSIDE_WINDOW, "%llu of %llu pieces of work, at most %s away",
                        (unsigned long long)outside.count, (unsigned long long)check->work,
                        in_words(outside.most_ns).text);
    return code;
}
