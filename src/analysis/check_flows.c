// check_flows.c - which starts and ends of flows belong together, and what it means when one is alone.
//
// In:  flow halves (ph s and f, or bind_id on slices), bound to the slice at their lane and time.
// Out: findings by the kind of slice that a lone half stands on. Only halves that wait for the other are
//      kept, and a bit for each id used.

#include "analysis/check_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_SPACES 64
#define MOST_LAGS 65536
#define MOST_SECONDS (1u << 20)

void fp_flows_free(struct fp_flows *flows) {
    for (uint32_t i = 0; i < flows->space_count; i++) {
        fp_halves_free(&flows->spaces[i].starts);
        fp_halves_free(&flows->spaces[i].ends);
        fp_idset_free(&flows->spaces[i].started);
        fp_idset_free(&flows->spaces[i].ended);
    }
    free(flows->spaces);
    free(flows->seconds);
    free(flows->extras);
    free(flows->lags);
    fp_intern_free(flows->texts);
}

// NULL when memory is out or the file has absurdly many categories of flows.
static struct fp_flow_space *space_of(struct fp_flows *flows, const struct fp_trace_event *event,
                                      uint32_t *place) {
    for (uint32_t i = 0; i < flows->space_count; i++)
        if (flows->spaces[i].cat_id == event->cat_id) {
            *place = i;
            return &flows->spaces[i];
        }
    if (!flows->spaces)
        flows->spaces = calloc(MOST_SPACES, sizeof(*flows->spaces));
    if (!flows->spaces)
        return NULL;
    *place = flows->space_count < MOST_SPACES ? flows->space_count++ : MOST_SPACES - 1;
    struct fp_flow_space *space = &flows->spaces[*place];
    space->cat_id = event->cat_id;
    space->category = event->category;
    return space;
}

static uint64_t key_of(const struct fp_trace_id *id) {
    return id->kind == FP_ID_TEXT ? fp_text_hash(id->text.at, id->text.size) | 1ULL << 63 : id->number;
}

// An id that no number shows is kept as its text, to be told by. *text is FP_NO_ID for others. 0 or -ENOMEM.
static int keep_text(struct fp_flows *flows, const struct fp_trace_id *id, uint32_t *text) {
    *text = FP_NO_ID;
    if (id->kind == FP_ID_NUMBER)
        return 0;
    if (!flows->texts && !(flows->texts = fp_intern_new()))
        return -ENOMEM;
    struct fp_text start = { id->text.at, id->text.size < 80 ? id->text.size : 80 };
    *text = fp_intern_add(flows->texts, start);
    return *text == FP_NO_ID ? -ENOMEM : 0;
}

static int keep_lag(struct fp_flows *flows, int64_t at_ns, int64_t lag_ns, uint64_t device) {
    if (!flows->lag_stride)
        flows->lag_stride = 1;
    if (flows->backwards++ % flows->lag_stride)
        return 0;
    if (flows->lag_count == MOST_LAGS) { // every second one is enough from here on
        for (uint32_t i = 0; i < MOST_LAGS / 2; i++)
            flows->lags[i] = flows->lags[i * 2];
        flows->lag_count = MOST_LAGS / 2;
        flows->lag_stride *= 2;
    }
    if (flows->lag_count == flows->lag_room) {
        uint32_t room = flows->lag_room ? flows->lag_room * 2 : 16;
        struct fp_lag *grown = realloc(flows->lags, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        flows->lags = grown;
        flows->lag_room = room;
    }
    flows->lags[flows->lag_count++] = (struct fp_lag){ at_ns, lag_ns, device };
    return 0;
}

static int pair(struct fp_check *check, const struct fp_flow_space *space, uint64_t event, uint64_t byte,
                int64_t start_ns, int64_t end_ns, uint32_t end_lane) {
    check->flows.pairs++;
    if (end_ns >= start_ns)
        return 0;
    if (space->category != FP_CAT_AC2G) { // no device's clock in it
        fp_check_find(check, FP_RULE_FLOW_ENDS_FIRST, event, byte, fp_text_of(""));
        return 0;
    }
    fp_check_find(check, FP_RULE_FLOW_BACKWARDS, event, byte, fp_text_of(""));
    return keep_lag(&check->flows, start_ns, end_ns - start_ns, check->lanes[end_lane].device);
}

static int keep_second(struct fp_flows *flows, const struct fp_trace_event *event, uint8_t kind) {
    if (flows->second_count == MOST_SECONDS)
        return 0;
    if (flows->second_count == flows->second_room) {
        uint32_t room = flows->second_room ? flows->second_room * 2 : 16;
        struct fp_second_start *grown = realloc(flows->seconds, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        flows->seconds = grown;
        flows->second_room = room;
    }
    flows->seconds[flows->second_count++] =
        (struct fp_second_start){ event->number, event->byte, event->ts_ns, event->lane, kind };
    return 0;
}

static int keep_extra(struct fp_flows *flows, const struct fp_trace_event *event, uint64_t id, uint32_t space,
                      uint32_t text, bool start, uint8_t kind) {
    if (flows->extra_count == MOST_SECONDS)
        return 0;
    if (flows->extra_count == flows->extra_room) {
        uint32_t room = flows->extra_room ? flows->extra_room * 2 : 16;
        struct fp_extra_half *grown = realloc(flows->extras, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        flows->extras = grown;
        flows->extra_room = room;
    }
    flows->extras[flows->extra_count++] =
        (struct fp_extra_half){ id,    event->number, event->byte, event->ts_ns, event->lane,
                                space, text,          kind,        start };
    return 0;
}

static int wait_for_other(struct fp_flows *flows, struct fp_flow_space *space, bool start,
                          const struct fp_trace_event *event, const struct fp_trace_id *id, uint8_t kind) {
    struct fp_half *half = fp_halves_at(start ? &space->starts : &space->ends, key_of(id));
    uint32_t text;
    if (!half || keep_text(flows, id, &text) != 0)
        return -ENOMEM;
    if (half->used) {
        half->more++;
        return keep_extra(flows, event, key_of(id), (uint32_t)(space - flows->spaces), text, start, kind);
    }
    half->name_id = text;
    half->ts_ns = event->ts_ns;
    half->event = event->number;
    half->byte = event->byte;
    half->lane = event->lane;
    half->kind = kind;
    fp_halves_keep(start ? &space->starts : &space->ends, half);
    return 0;
}

static int add_start(struct fp_check *check, struct fp_flow_space *space, const struct fp_trace_event *event,
                     const struct fp_trace_id *id, uint8_t kind) {
    uint64_t key = key_of(id);
    int fresh = fp_idset_add(&space->started, key);
    if (fresh < 0)
        return -ENOMEM;
    // Only launch flows have ids of their own for ever; other producers use one again after its end.
    if (!fresh && space->category == FP_CAT_AC2G && keep_second(&check->flows, event, kind) != 0)
        return -ENOMEM;
    struct fp_half *end = fp_halves_find(&space->ends, key);
    if (end) {
        int code = pair(check, space, end->event, end->byte, event->ts_ns, end->ts_ns, end->lane);
        check->flows.pairs += end->more; // a graph's kernels
        fp_halves_remove(&space->ends, end);
        return code;
    }
    return wait_for_other(&check->flows, space, true, event, id, kind);
}

static int add_end(struct fp_check *check, struct fp_flow_space *space, const struct fp_trace_event *event,
                   const struct fp_trace_id *id, uint8_t kind) {
    uint64_t key = key_of(id);
    if (fp_idset_add(&space->ended, key) < 0)
        return -ENOMEM;
    struct fp_half *start = fp_halves_find(&space->starts, key);
    if (start) {
        int code = pair(check, space, event->number, event->byte, start->ts_ns, event->ts_ns, event->lane);
        if (start->more)
            start->more--;
        else
            fp_halves_remove(&space->starts, start);
        return code;
    }
    if (fp_idset_has(&space->started, key)) { // one start, many ends: a graph launch
        check->flows.pairs++;
        return 0;
    }
    return wait_for_other(&check->flows, space, false, event, id, kind);
}

int fp_flows_add(struct fp_check *check, const struct fp_trace_event *event, struct fp_check_lane *lane) {
    uint32_t place;
    struct fp_flow_space *space = space_of(&check->flows, event, &place);
    if (!space)
        return -ENOMEM;
    if (event->id.kind == FP_ID_ABSENT)
        return 0;
    bool start = event->phase == 's';
    uint8_t kind = lane->last_ts_ns == event->ts_ns ? lane->last_kind : KIND_NONE;
    lane->flow.waits = kind == KIND_NONE;
    lane->flow.start = start;
    lane->flow.space = place;
    lane->flow.id = key_of(&event->id);
    lane->flow.ts_ns = event->ts_ns;
    return start ? add_start(check, space, event, &event->id, kind)
                 : add_end(check, space, event, &event->id, kind);
}

void fp_flows_meet_slice(struct fp_check *check, struct fp_check_lane *lane, enum fp_slice_kind kind) {
    if (!lane->flow.waits || lane->flow.ts_ns != lane->last_ts_ns)
        return;
    struct fp_flow_space *space = &check->flows.spaces[lane->flow.space];
    struct fp_half *half = fp_halves_find(lane->flow.start ? &space->starts : &space->ends, lane->flow.id);
    if (half && half->kind == KIND_NONE && half->ts_ns == lane->flow.ts_ns)
        half->kind = (uint8_t)kind;
    lane->flow.waits = false;
}

static bool is_true(const struct fp_trace_field *field) {
    return field &&
           (field->type == 't' || (field->type == '"' && fp_text_equals(fp_field_text(field), "true")));
}

// The newer form: a slice says itself that a flow comes in or goes out.
int fp_flows_add_bound(struct fp_check *check, const struct fp_trace_event *event) {
    if (event->field_count < 9) // name, cat, ph, ts, dur, pid, tid, and two more: Kineto's slices have fewer
        return 0;
    const struct fp_trace_field *bind = fp_event_field(event, "bind_id");
    if (!bind)
        return 0;
    uint32_t place;
    struct fp_flow_space *space = space_of(&check->flows, event, &place);
    if (!space)
        return -ENOMEM;
    struct fp_trace_id id = fp_field_id(bind);
    int code = 0;
    if (is_true(fp_event_field(event, "flow_in")))
        code = add_end(check, space, event, &id, KIND_OTHER);
    if (!code && is_true(fp_event_field(event, "flow_out")))
        code = add_start(check, space, event, &id, KIND_OTHER);
    return code;
}

static uint8_t kind_of_slice(const struct fp_check *check, enum fp_slice_sort sort,
                             const struct fp_slice *slice) {
    if (sort == SORT_CALLS)
        return slice->group < check->name_kind_room ? check->name_kinds[slice->group] : KIND_CALL;
    return sort == SORT_WORK ? KIND_KERNEL : KIND_OTHER;
}

// The call or work that a time lies within, where it is one of the last that began before.
static uint8_t kind_around(const struct fp_check *check, const struct fp_check_lane *lane, int64_t ts_ns) {
    static const enum fp_slice_sort order[] = { SORT_WORK, SORT_CALLS };
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        const struct fp_slices *slices = lane->slices[order[i]];
        size_t at = fp_slices_begun_before(slices, ts_ns);
        for (int back = 0; back < 4 && at--; back++) {
            struct fp_slice slice = fp_slices_get(slices, at);
            if (ts_ns <= slice.start_ns + slice.dur_ns)
                return kind_of_slice(check, order[i], &slice);
        }
    }
    return KIND_NONE;
}

// The kind of the slice that begins at a lane and time, looked for among all of the lane's; else of the one around.
static uint8_t kind_at(const struct fp_check *check, uint32_t lane_place, int64_t ts_ns) {
    static const enum fp_slice_sort order[] = { SORT_WORK, SORT_CALLS, SORT_OPERATORS, SORT_OTHERS,
                                                SORT_PYTHON };
    if (lane_place >= check->lane_count)
        return KIND_NONE;
    const struct fp_check_lane *lane = &check->lanes[lane_place];
    for (size_t i = 0; i < SORT_COUNT; i++) {
        const struct fp_slices *slices = lane->slices[order[i]];
        size_t at = fp_slices_begun_before(slices, ts_ns);
        if (!slices || at == slices->count)
            continue;
        struct fp_slice slice = fp_slices_get(slices, at);
        if (slice.start_ns == ts_ns)
            return kind_of_slice(check, order[i], &slice);
    }
    return kind_around(check, lane, ts_ns);
}

// A half can also stand at the start of an operator that begins in the same microsecond as its call.
static bool tells_nothing(uint8_t kind) {
    return kind < KIND_LAUNCH || kind > KIND_COPY;
}

static enum fp_check_rule rule_of(const struct fp_flow_space *space, bool start, uint8_t kind) {
    bool work = kind == KIND_KERNEL || kind == KIND_COPY;
    bool call = kind >= KIND_LAUNCH && kind <= KIND_CALL;
    if (space->category != FP_CAT_AC2G || (!work && !call))
        return start ? FP_RULE_FLOW_START_ALONE : FP_RULE_FLOW_END_ALONE;
    if (!start)
        return work ? FP_RULE_FLOW_END_ON_WORK : FP_RULE_FLOW_END_ON_CALL;
    if (work)
        return FP_RULE_FLOW_START_ALONE;
    return kind == KIND_LAUNCH || kind == KIND_GRAPH_LAUNCH ? FP_RULE_FLOW_START_ON_LAUNCH
                                                            : FP_RULE_FLOW_START_ON_CALL;
}

// A lone half as a finding. Work whose call is in the file has not lost its launch: only the start is not
// written.
static void find_lone(struct fp_check *check, const struct fp_flow_space *space, bool start, uint64_t id,
                      uint32_t id_text, uint64_t event, uint64_t byte, uint8_t kind, bool captured) {
    enum fp_check_rule rule = rule_of(space, start, kind);
    if (rule == FP_RULE_FLOW_START_ON_LAUNCH && kind == KIND_LAUNCH && captured)
        rule = FP_RULE_FLOW_START_ON_CALL;
    if (rule == FP_RULE_FLOW_END_ON_WORK && fp_idset_has(&check->called, id))
        rule = FP_RULE_FLOW_END_ALONE;
    char text[110];
    if (id_text == FP_NO_ID) {
        snprintf(text, sizeof(text), "id %llu", (unsigned long long)id);
    } else {
        struct fp_text known = fp_intern_text(check->flows.texts, id_text);
        snprintf(text, sizeof(text), "id %.*s", (int)known.size, known.at);
    }
    fp_check_find(check, rule, event, byte, fp_text_of(text));
}

static bool is_captured(const struct fp_check *check, const struct fp_reader *reader, uint32_t lane,
                        int64_t ts_ns) {
    return fp_check_captures_hold(&check->captures, &fp_reader_lane(reader, lane)->pid, ts_ns);
}

static void judge_extras(struct fp_check *check, const struct fp_reader *reader) {
    struct fp_flows *flows = &check->flows;
    for (uint32_t i = 0; i < flows->extra_count; i++) {
        struct fp_extra_half *extra = &flows->extras[i];
        struct fp_flow_space *space = &flows->spaces[extra->space];
        // Its id may have met the other half since.
        if (!fp_halves_find(extra->start ? &space->starts : &space->ends, extra->id))
            continue;
        if (extra->start && space->category != FP_CAT_AC2G && fp_idset_has(&space->ended, extra->id))
            continue;
        if (extra->start && space->category == FP_CAT_AC2G && check->findings[FP_RULE_FLOW_TWO_STARTS].count)
            continue; // told as two starts
        uint8_t kind = tells_nothing(extra->kind) ? kind_at(check, extra->lane, extra->ts_ns) : extra->kind;
        find_lone(check, space, extra->start, extra->id, extra->text, extra->event, extra->byte, kind,
                  is_captured(check, reader, extra->lane, extra->ts_ns));
    }
}

static int judge_lone(struct fp_check *check, const struct fp_reader *reader, struct fp_flow_space *space,
                      bool start) {
    struct fp_halves *halves = start ? &space->starts : &space->ends;
    struct fp_half **list = fp_check_in_order(halves);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < halves->count; i++) {
        struct fp_half *half = list[i];
        if (tells_nothing(half->kind))
            half->kind = kind_at(check, half->lane, half->ts_ns);
        // A start that met its end and was used again waits for nothing.
        if (start && space->category != FP_CAT_AC2G && fp_idset_has(&space->ended, half->id))
            continue;
        find_lone(check, space, start, half->id, half->name_id, half->event, half->byte, half->kind,
                  is_captured(check, reader, half->lane, half->ts_ns));
    }
    free(list);
    return 0;
}

static int by_lag(const void *a, const void *b) {
    const struct fp_lag *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->lag_ns < y->lag_ns ? -1 : x->lag_ns > y->lag_ns;
}

// How the lags of one device change: the slope of the line through them, as the change over their span.
static double change_of(const struct fp_lag *lags, uint32_t count, double *span) {
    double mean_at = 0, mean_lag = 0, above = 0, below = 0, first = 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)(lags[i].at_ns - lags[0].at_ns);
        mean_at += at / count;
        mean_lag += (double)lags[i].lag_ns / count;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)(lags[i].at_ns - lags[0].at_ns) - mean_at;
        above += at * ((double)lags[i].lag_ns - mean_lag);
        below += at * at;
    }
    *span = last - first;
    return below > 0 ? above / below * (last - first) : 0;
}

static void describe_lags(struct fp_check *check) {
    struct fp_flows *flows = &check->flows;
    char text[240];
    size_t used = 0;
    qsort(flows->lags, flows->lag_count, sizeof(*flows->lags), by_lag);
    for (uint32_t from = 0, to; from < flows->lag_count && used < sizeof(text); from = to) {
        for (to = from + 1; to < flows->lag_count && flows->lags[to].device == flows->lags[from].device; to++)
            ;
        double span, median = (double)flows->lags[from + (to - from - 1) / 2].lag_ns / 1e3;
        double change = change_of(&flows->lags[from], to - from, &span) / 1e3;
        double size = change < 0 ? -change : change;
        bool drifts = to - from > 2 && size > 0.03 * -median && size * 1000 > (double)check->resolution_ns;
        int more =
            snprintf(text + used, sizeof(text) - used, "%sdevice %llu: smallest %.3f us, median %.3f us",
                     used ? "; " : "", (unsigned long long)flows->lags[from].device,
                     (double)flows->lags[from].lag_ns / 1e3, median);
        used += more > 0 ? (size_t)more : 0;
        if (used >= sizeof(text))
            break;
        double shift = -(double)flows->lags[from].lag_ns / 1e3;
        more = drifts ? snprintf(text + used, sizeof(text) - used,
                                 ", drifting by %.3f us in %.3f ms: +%.3f us puts all behind their launch",
                                 change, span / 1e6, shift)
                      : snprintf(text + used, sizeof(text) - used,
                                 ", constant: +%.3f us puts all behind their launch", shift);
        used += more > 0 ? (size_t)more : 0;
    }
    fp_check_detail(check, FP_RULE_FLOW_BACKWARDS, "%s", text);
}

int fp_flows_judge(struct fp_check *check, const struct fp_reader *reader) {
    struct fp_flows *flows = &check->flows;
    for (uint32_t i = 0; i < flows->second_count; i++) {
        struct fp_second_start *second = &flows->seconds[i];
        uint8_t kind =
            tells_nothing(second->kind) ? kind_at(check, second->lane, second->ts_ns) : second->kind;
        bool work = kind == KIND_KERNEL || kind == KIND_COPY;
        fp_check_find(check, work ? FP_RULE_FLOW_TWO_STARTS : FP_RULE_ID_CLASH, second->event, second->byte,
                      fp_text_of(""));
    }
    bool two_starts = check->findings[FP_RULE_FLOW_TWO_STARTS].count != 0;
    for (uint32_t i = 0; i < flows->space_count; i++) {
        // Where second halves are written as starts, the lone starts are the same finding once more.
        if (!(two_starts && flows->spaces[i].category == FP_CAT_AC2G) &&
            judge_lone(check, reader, &flows->spaces[i], true) != 0)
            return -ENOMEM;
        if (judge_lone(check, reader, &flows->spaces[i], false) != 0)
            return -ENOMEM;
    }
    judge_extras(check, reader);
    if (flows->backwards)
        describe_lags(check);
    return 0;
}
