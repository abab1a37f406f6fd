// check.c - is a trace true and complete? What each event adds to the rules, and what only the end can tell.
//
// In:  events.
// Out: findings. Pairs of flows are kept in check_flows.c, slices that overlap are found in
//      check_lanes.c, the header is judged in check_header.c; this file knows which event concerns which.

#include "analysis/check_internal.h"
#include "analysis/metadata.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct fp_check *fp_check_new(enum fp_rule_set rule_set) {
    struct fp_check *check = calloc(1, sizeof(*check));
    if (check)
        check->rule_set = rule_set;
    return check;
}

static void free_slices(struct fp_slices *slices) {
    if (slices)
        fp_slices_free(slices);
    free(slices);
}

void fp_check_free(struct fp_check *check) {
    if (!check)
        return;
    for (uint32_t i = 0; i < check->lane_count; i++) {
        for (int sort = 0; sort < SORT_COUNT; sort++)
            free_slices(check->lanes[i].slices[sort]);
        free_slices(check->lanes[i].marks);
    }
    fp_flows_free(&check->flows);
    free(check->captures.list);
    fp_idset_free(&check->called);
    fp_idset_free(&check->worked);
    fp_halves_free(&check->waiting_launches);
    fp_halves_free(&check->waiting_work);
    fp_idset_free(&check->operators);
    fp_halves_free(&check->metadata);
    fp_halves_free(&check->owners);
    free(check->lanes);
    free(check->windows);
    free(check->ranks);
    free(check->name_kinds);
    free(check);
}

void fp_check_find(struct fp_check *check, enum fp_check_rule rule, uint64_t event, uint64_t byte,
                   struct fp_text text) {
    struct fp_finding *finding = &check->findings[rule];
    finding->count++;
    if (finding->place_count == FP_FINDING_PLACES)
        return;
    struct fp_place *place = &finding->places[finding->place_count++];
    *place = (struct fp_place){ .event = event, .byte = byte };
    fp_text_show(text, place->text, sizeof(place->text));
}

void fp_check_detail(struct fp_check *check, enum fp_check_rule rule, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->findings[rule].detail, sizeof(check->findings[rule].detail), format, arguments);
    va_end(arguments);
}

static void find_at(struct fp_check *check, enum fp_check_rule rule, const struct fp_trace_event *event) {
    fp_check_find(check, rule, event->number, event->byte, event->name);
}

// Room for element `place`; new room is zero.
static bool make_room(void *array, uint32_t *room, uint64_t place, size_t size) {
    if (place < *room)
        return true;
    uint64_t grown_room = *room ? *room : 16;
    while (grown_room <= place)
        grown_room *= 2;
    void *grown = grown_room <= UINT32_MAX ? realloc(*(void **)array, grown_room * size) : NULL;
    if (!grown)
        return false;
    memset((char *)grown + *room * size, 0, (grown_room - *room) * size);
    *(void **)array = grown;
    *room = (uint32_t)grown_room;
    return true;
}

struct fp_check_lane *fp_check_lane(struct fp_check *check, uint32_t lane) {
    if (!make_room(&check->lanes, &check->lane_room, lane, sizeof(*check->lanes)))
        return NULL;
    for (; check->lane_count <= lane; check->lane_count++)
        check->lanes[check->lane_count].last_ts_ns = INT64_MIN;
    return &check->lanes[lane];
}

// What kind of slice the event is; what a call's name tells is looked up once for each name.
static enum fp_slice_kind kind_of(struct fp_check *check, const struct fp_trace_event *event) {
    switch (event->category) {
    case FP_CAT_RUNTIME:
    case FP_CAT_DRIVER:
        if (make_room(&check->name_kinds, &check->name_kind_room, event->name_id, 1)) {
            uint8_t *known = &check->name_kinds[event->name_id];
            if (!*known) {
                static const uint8_t kinds[] = {
                    [FP_CALL_OTHER] = KIND_CALL,
                    [FP_CALL_LAUNCH] = KIND_LAUNCH,
                    [FP_CALL_GRAPH] = KIND_GRAPH_LAUNCH,
                    [FP_CALL_COPY] = KIND_COPY_CALL,
                    [FP_CALL_SYNCHRONISE] = KIND_SYNC_CALL,
                    [FP_CALL_BEGIN_CAPTURE] = KIND_BEGIN_CAPTURE,
                    [FP_CALL_END_CAPTURE] = KIND_END_CAPTURE,
                };
                *known = kinds[fp_name_call_kind(event->name)];
            }
            return *known;
        }
        return KIND_CALL;
    case FP_CAT_KERNEL:
        return KIND_KERNEL;
    case FP_CAT_MEMCPY:
    case FP_CAT_MEMSET:
        return KIND_COPY;
    case FP_CAT_CPU_OP:
    case FP_CAT_USER_ANNOTATION:
        return KIND_OPERATOR;
    case FP_CAT_GPU_ANNOTATION:
    case FP_CAT_SYNC:
        return KIND_DEVICE_MARK;
    default:
        if (!fp_event_is_work(event))
            return KIND_OTHER;
        check->uncategorised_work = true;
        return KIND_KERNEL;
    }
}

static int add_half(struct fp_halves *halves, uint64_t id, const struct fp_trace_event *event,
                    enum fp_slice_kind kind) {
    struct fp_half *half = fp_halves_at(halves, id);
    if (!half)
        return -ENOMEM;
    if (half->used) {
        half->more++;
        return 0;
    }
    half->ts_ns = event->ts_ns;
    half->event = event->number;
    half->byte = event->byte;
    half->name_id = event->name_id;
    half->lane = event->lane;
    half->kind = (uint8_t)kind;
    fp_halves_keep(halves, half);
    return 0;
}

// A host call with a correlation: whatever work waits for it has found it.
static int join_call(struct fp_check *check, const struct fp_trace_event *event, enum fp_slice_kind kind) {
    uint64_t correlation;
    check->calls++;
    if (kind == KIND_BEGIN_CAPTURE || kind == KIND_END_CAPTURE)
        return fp_check_captures_add(&check->captures, event, kind == KIND_BEGIN_CAPTURE);
    bool launches = kind == KIND_LAUNCH || kind == KIND_GRAPH_LAUNCH;
    bool known = fp_event_correlation(event, &correlation);
    int fresh = known ? fp_idset_add(&check->called, correlation) : 1;
    if (fresh < 0)
        return -ENOMEM;
    if (launches && fresh) { // a driver's call within a runtime's carries the same correlation
        check->launches++;
        if (check->launches == 1 || event->ts_ns < check->first_launch_ns)
            check->first_launch_ns = event->ts_ns;
        if (check->launches == 1 || event->ts_ns > check->last_launch_ns)
            check->last_launch_ns = event->ts_ns;
    }
    if (!known)
        return 0;
    struct fp_half *work = fp_halves_find(&check->waiting_work, correlation);
    if (work)
        fp_halves_remove(&check->waiting_work, work);
    if ((launches || kind == KIND_COPY_CALL) && !fp_idset_has(&check->worked, correlation))
        return add_half(&check->waiting_launches, correlation, event, kind);
    return 0;
}

static int join_work(struct fp_check *check, const struct fp_trace_event *event, enum fp_slice_kind kind) {
    uint64_t correlation, owner;
    const struct fp_trace_field *field = fp_event_arg(event, FP_ARG_CORRELATION);
    check->work++;
    if (fp_event_external_id(event, &owner) && !fp_idset_has(&check->operators, owner) &&
        add_half(&check->owners, owner, event, kind) != 0)
        return -ENOMEM;
    if (!fp_event_correlation(event, &correlation)) {
        find_at(check, field ? FP_RULE_CORRELATION_ZERO : FP_RULE_NO_CORRELATION, event);
        if (field)
            check->zero_correlation_ns += event->dur_ns;
        return 0;
    }
    if (fp_idset_add(&check->worked, correlation) < 0)
        return -ENOMEM;
    struct fp_half *launch = fp_halves_find(&check->waiting_launches, correlation);
    if (launch)
        fp_halves_remove(&check->waiting_launches, launch);
    return fp_idset_has(&check->called, correlation)
               ? 0
               : add_half(&check->waiting_work, correlation, event, kind);
}

// Which of a lane's arrays a slice is kept in: each is mostly in order of time.
static enum fp_slice_sort sort_of(enum fp_slice_kind kind, uint8_t category) {
    if (kind == KIND_KERNEL || kind == KIND_COPY)
        return SORT_WORK;
    if (kind == KIND_OPERATOR)
        return SORT_OPERATORS;
    if (category == FP_CAT_PYTHON)
        return SORT_PYTHON;
    return category == FP_CAT_RUNTIME || category == FP_CAT_DRIVER ? SORT_CALLS : SORT_OTHERS;
}

int fp_check_keep(struct fp_slices **slices, struct fp_slice slice) {
    if (!*slices && !(*slices = calloc(1, sizeof(**slices))))
        return -ENOMEM;
    return fp_slices_add(*slices, slice);
}

// The fields that tools look for, by kind.
static const struct {
    uint8_t category;
    uint8_t arg;
} wanted_fields[] = {
    { FP_CAT_KERNEL, FP_ARG_DEVICE },       { FP_CAT_KERNEL, FP_ARG_STREAM },
    { FP_CAT_KERNEL, FP_ARG_CORRELATION },  { FP_CAT_MEMCPY, FP_ARG_DEVICE },
    { FP_CAT_MEMCPY, FP_ARG_STREAM },       { FP_CAT_MEMCPY, FP_ARG_CORRELATION },
    { FP_CAT_MEMCPY, FP_ARG_BYTES },        { FP_CAT_MEMSET, FP_ARG_DEVICE },
    { FP_CAT_MEMSET, FP_ARG_STREAM },       { FP_CAT_MEMSET, FP_ARG_BYTES },
    { FP_CAT_RUNTIME, FP_ARG_CORRELATION }, { FP_CAT_DRIVER, FP_ARG_CORRELATION },
    { FP_CAT_CPU_OP, FP_ARG_EXTERNAL_ID },
};

static const uint64_t wanted_masks[FP_CAT_COUNT] = {
    [FP_CAT_KERNEL] = 1ULL << FP_ARG_DEVICE | 1ULL << FP_ARG_STREAM | 1ULL << FP_ARG_CORRELATION,
    [FP_CAT_MEMCPY] =
        1ULL << FP_ARG_DEVICE | 1ULL << FP_ARG_STREAM | 1ULL << FP_ARG_CORRELATION | 1ULL << FP_ARG_BYTES,
    [FP_CAT_MEMSET] = 1ULL << FP_ARG_DEVICE | 1ULL << FP_ARG_STREAM | 1ULL << FP_ARG_BYTES,
    [FP_CAT_RUNTIME] = 1ULL << FP_ARG_CORRELATION,
    [FP_CAT_DRIVER] = 1ULL << FP_ARG_CORRELATION,
    [FP_CAT_CPU_OP] = 1ULL << FP_ARG_EXTERNAL_ID,
};

static void look_for_fields(struct fp_check *check, const struct fp_trace_event *event) {
    uint64_t known = event->known_args;
    if (known >> FP_ARG_EXTERNAL_ID_OLD & 1)
        known |= 1ULL << FP_ARG_EXTERNAL_ID;
    if ((wanted_masks[event->category] & ~known) == 0)
        return;
    for (size_t i = 0; i < sizeof(wanted_fields) / sizeof(*wanted_fields); i++)
        if (wanted_fields[i].category == event->category && !(known >> wanted_fields[i].arg & 1)) {
            char text[110];
            snprintf(text, sizeof(text), "%.*s has no \"%s\"",
                     (int)(event->name.size < 60 ? event->name.size : 60), event->name.at,
                     fp_arg_key(wanted_fields[i].arg));
            fp_check_find(check, FP_RULE_MISSING_FIELDS, event->number, event->byte, fp_text_of(text));
            return;
        }
}

static int add_window(struct fp_check *check, const struct fp_trace_event *event) {
    if (!make_room(&check->windows, &check->window_room, check->window_count, sizeof(*check->windows)))
        return -ENOMEM;
    check->windows[check->window_count++] =
        (struct fp_check_window){ event->lane, event->ts_ns, event->ts_ns + event->dur_ns };
    return 0;
}

// What the work tells of its lane: which device, and whether it is one stream.
static void meet_work(struct fp_check *check, const struct fp_trace_event *event,
                      struct fp_check_lane *lane) {
    uint64_t device, stream;
    lane->on_device = true;
    if (fp_event_device(event, &device)) {
        lane->mixed |= lane->device_known && lane->device != device;
        lane->device = lane->device_known ? lane->device : device;
        lane->device_known = true;
    }
    if (fp_field_u64(fp_event_arg(event, FP_ARG_STREAM), &stream)) {
        lane->mixed |= lane->stream_known && lane->stream != stream;
        lane->stream = stream;
        lane->stream_known = true;
    }
    if (event->ts_ns == 0 && event->dur_ns == 0 && !check->untimed++) {
        check->untimed_event = event->number;
        check->untimed_byte = event->byte;
    }
}

// A complete event whose times are sound.
static int add_slice(struct fp_check *check, const struct fp_trace_event *event, struct fp_check_lane *lane) {
    enum fp_slice_kind kind = kind_of(check, event);
    int code = 0;
    check->slices++;
    lane->last_ts_ns = event->ts_ns;
    lane->last_kind = (uint8_t)kind;
    fp_flows_meet_slice(check, lane, kind);
    look_for_fields(check, event);
    if (kind == KIND_KERNEL || kind == KIND_COPY) {
        meet_work(check, event, lane);
        code = join_work(check, event, kind);
    } else if (kind >= KIND_LAUNCH && kind <= KIND_CALL) {
        code = join_call(check, event, kind);
    } else if (kind == KIND_OPERATOR) {
        uint64_t owner;
        if (fp_event_external_id(event, &owner)) {
            code = fp_idset_add(&check->operators, owner) < 0 ? -ENOMEM : 0;
            struct fp_half *orphan = fp_halves_find(&check->owners, owner);
            if (orphan)
                fp_halves_remove(&check->owners, orphan);
        }
    } else if (event->category == FP_CAT_TRACE && fp_text_begins(event->name, "PyTorch Profiler")) {
        code = add_window(check, event);
    } else if (event->category == FP_CAT_OTHER) {
        check->counter_ranges += fp_text_equals(event->cat, "cuda_profiler_range");
    }
    if (code || kind == KIND_DEVICE_MARK || event->category == FP_CAT_TRACE ||
        event->category == FP_CAT_OVERHEAD)
        return code;
    return fp_check_keep(&lane->slices[sort_of(kind, event->category)],
                         (struct fp_slice){ event->ts_ns, event->dur_ns, event->name_id, event->number });
}

static int add_complete(struct fp_check *check, const struct fp_trace_event *event,
                        struct fp_check_lane *lane) {
    int64_t end;
    if (event->dur_state == FP_NUMBER_ABSENT) {
        find_at(check, FP_RULE_NO_DURATION, event);
        return 0;
    }
    if (event->dur_state != FP_NUMBER_OK)
        return 0; // the reader has said so
    if (event->dur_ns == -1000) {
        find_at(check, FP_RULE_UNFINISHED, event);
        return 0;
    }
    if (event->dur_ns < 0 || __builtin_add_overflow(event->ts_ns, event->dur_ns, &end)) {
        find_at(check, FP_RULE_NEGATIVE_DURATION, event);
        return 0;
    }
    return add_slice(check, event, lane);
}

// "rank 3: python": which rank a process of a merged file belongs to.
static int add_rank(struct fp_check *check, const struct fp_trace_event *event) {
    struct fp_text name = fp_field_text(fp_event_arg_named(event, "name"));
    const char *colon = fp_text_begins(name, "rank ") ? memchr(name.at, ':', name.size) : NULL;
    uint64_t rank;
    if (!colon || !fp_number_u64((struct fp_text){ name.at + 5, (size_t)(colon - name.at) - 5 }, &rank))
        return 0;
    if (!make_room(&check->ranks, &check->rank_room, check->rank_count, sizeof(*check->ranks)))
        return -ENOMEM;
    check->ranks[check->rank_count++] = (struct fp_check_rank){ event->lane, rank };
    return 0;
}

static int add_metadata(struct fp_check *check, const struct fp_trace_event *event) {
    struct fp_half *half = fp_halves_at(&check->metadata, fp_metadata_key(event));
    if (!half)
        return -ENOMEM;
    if (half->used)
        find_at(check, FP_RULE_DUPLICATE_METADATA, event);
    else
        fp_header_judge_metadata(check, event);
    if (!half->used && fp_text_equals(event->name, "process_name") && add_rank(check, event) != 0)
        return -ENOMEM;
    fp_halves_keep(&check->metadata, half);
    return 0;
}

// Times near 0 and times far from it: only one of the two is right.
static void note_time(struct fp_check *check, const struct fp_trace_event *event) {
    if (event->ts_ns == 0) {
        if (!check->zero_times++) {
            check->zero_event = event->number;
            check->zero_byte = event->byte;
        }
        return;
    }
    int64_t away = event->ts_ns < 0 ? -event->ts_ns : event->ts_ns;
    if (!check->nearest_ns || away < check->nearest_ns)
        check->nearest_ns = away;
}

static bool phase_is_known(char phase) {
    return phase && strchr("XBEiICbnesSTtpFfPNODMVvRc(),=A", phase) != NULL;
}

int fp_check_add(struct fp_check *check, const struct fp_trace_event *event) {
    check->events++;
    check->phases[(unsigned char)event->phase]++;
    if (!phase_is_known(event->phase))
        find_at(check, FP_RULE_NO_PHASE, event);
    if (event->phase == 'M')
        return add_metadata(check, event);
    if (event->ts_state != FP_NUMBER_OK) {
        if (event->phase)
            find_at(check, FP_RULE_NO_TIME, event);
        return 0;
    }
    struct fp_check_lane *lane = fp_check_lane(check, event->lane);
    if (!lane)
        return -ENOMEM;
    note_time(check, event);
    switch (event->phase) {
    case 'X': {
        check->by_category[event->category]++;
        int code = add_complete(check, event, lane);
        return code ? code : fp_flows_add_bound(check, event);
    }
    case 'B':
    case 'E':
        return fp_check_keep(
            &lane->marks,
            (struct fp_slice){ event->ts_ns, 0, event->name_id * 2 + (event->phase == 'E'), event->number });
    case 's':
    case 'f':
        return fp_flows_add(check, event, lane);
    default:
        return 0;
    }
}

// Halves that never met, as findings, oldest first for the places.
static int by_event(const void *a, const void *b) {
    const struct fp_half *x = *(struct fp_half *const *)a, *y = *(struct fp_half *const *)b;
    return x->event < y->event ? -1 : x->event > y->event;
}

struct fp_half **fp_check_in_order(const struct fp_halves *halves) {
    struct fp_half **list = malloc((halves->count + 1) * sizeof(*list));
    size_t count = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; halves->halves && i <= halves->mask; i++)
        if (halves->halves[i].used)
            list[count++] = &halves->halves[i];
    qsort(list, count, sizeof(*list), by_event);
    return list;
}

static int judge_launches(struct fp_check *check, const struct fp_reader *reader,
                          const struct fp_intern *names) {
    struct fp_half **list = fp_check_in_order(&check->waiting_launches);
    if (!list)
        return -ENOMEM;
    uint64_t lost = 0, early = 0, late = 0, into_graphs = 0;
    int64_t span = check->last_launch_ns - check->first_launch_ns;
    for (size_t i = 0; i < check->waiting_launches.count; i++) {
        bool copy = list[i]->kind == KIND_COPY_CALL,
             captured = list[i]->kind != KIND_GRAPH_LAUNCH &&
                        fp_check_captures_hold(&check->captures, &fp_reader_lane(reader, list[i]->lane)->pid,
                                               list[i]->ts_ns);
        enum fp_check_rule rule = captured ? FP_RULE_LAUNCH_CAPTURED
                                  : copy   ? FP_RULE_COPY_WITHOUT_WORK
                                           : FP_RULE_LAUNCH_WITHOUT_WORK;
        fp_check_find(check, rule, list[i]->event, list[i]->byte, fp_intern_text(names, list[i]->name_id));
        into_graphs += captured && !copy;
        if (copy || captured)
            continue;
        lost++;
        early += list[i]->ts_ns - check->first_launch_ns <= span / 10;
        late += check->last_launch_ns - list[i]->ts_ns <= span / 10;
    }
    free(list);
    if (lost)
        fp_check_detail(check, FP_RULE_LAUNCH_WITHOUT_WORK, "%llu of %llu launches", (unsigned long long)lost,
                        (unsigned long long)check->launches);
    if (check->launches > into_graphs && !check->work) {
        check->findings[FP_RULE_NO_DEVICE_WORK] = check->findings[FP_RULE_LAUNCH_WITHOUT_WORK];
        check->findings[FP_RULE_NO_DEVICE_WORK].count = check->launches - into_graphs;
        fp_check_detail(check, FP_RULE_NO_DEVICE_WORK, "%llu launches, 0 device records",
                        (unsigned long long)(check->launches - into_graphs));
        check->findings[FP_RULE_LAUNCH_WITHOUT_WORK] = (struct fp_finding){ 0 };
    } else if (lost && span > 0 && (early * 10 >= lost * 9 || late * 10 >= lost * 9) &&
               lost < check->launches) {
        check->findings[FP_RULE_EDGE_LOSS].count = lost;
        fp_check_detail(check, FP_RULE_EDGE_LOSS, "%llu of %llu lost launches lie in the %s tenth",
                        (unsigned long long)(early > late ? early : late), (unsigned long long)lost,
                        early > late ? "first" : "last");
    }
    return 0;
}

static int judge_work(struct fp_check *check, const struct fp_intern *names) {
    struct fp_half **list = fp_check_in_order(&check->waiting_work);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < check->waiting_work.count; i++) {
        fp_check_find(check, FP_RULE_WORK_WITHOUT_LAUNCH, list[i]->event, list[i]->byte,
                      fp_intern_text(names, list[i]->name_id));
        check->findings[FP_RULE_WORK_WITHOUT_LAUNCH].count += list[i]->more;
    }
    free(list);
    if (check->findings[FP_RULE_WORK_WITHOUT_LAUNCH].count)
        fp_check_detail(check, FP_RULE_WORK_WITHOUT_LAUNCH, "%llu of %llu pieces of work%s",
                        (unsigned long long)check->findings[FP_RULE_WORK_WITHOUT_LAUNCH].count,
                        (unsigned long long)check->work,
                        check->calls ? "" : "; the file holds no host calls at all");
    list = fp_check_in_order(&check->owners);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < check->owners.count; i++) {
        fp_check_find(check, FP_RULE_OWNER_MISSING, list[i]->event, list[i]->byte,
                      fp_intern_text(names, list[i]->name_id));
        check->findings[FP_RULE_OWNER_MISSING].count += list[i]->more;
    }
    free(list);
    return 0;
}

// Itanium's "_Z...", which macOS puts further underscores before, with the prefixes and suffixes that producers put
// around it; Rust's "_RN..."; MSVC's "?name@@...".
static bool is_mangled(struct fp_text name) {
    size_t lead = 0;
    while (lead < name.size && name.at[lead] == '_')
        lead++;
    if (lead && lead < 4 && lead + 1 < name.size &&
        (name.at[lead] == 'Z' ||
         (name.at[lead] == 'R' && strchr("CMXYNIB", name.at[lead + 1]) && name.at[lead + 1])))
        return true;
    return fp_text_equals(name, "_Z") || fp_text_has(name, " _Z") || fp_text_has(name, "$jit$") ||
           (fp_text_begins(name, "?") && fp_text_has(name, "@@"));
}

static void judge_names(struct fp_check *check, const struct fp_intern *names) {
    for (uint32_t id = 0; id < fp_intern_count(names); id++)
        if (is_mangled(fp_intern_text(names, id)))
            fp_check_find(check, FP_RULE_MANGLED_NAMES, UINT64_MAX, 0, fp_intern_text(names, id));
}

static void judge_times(struct fp_check *check) {
    const int64_t day_ns = 86400LL * 1000000000, ms_ns = 1000000;
    if (check->untimed && check->nearest_ns >= ms_ns && check->nearest_ns < day_ns) {
        fp_check_find(check, FP_RULE_ZERO_TIME, check->untimed_event, check->untimed_byte, fp_text_of(""));
        check->findings[FP_RULE_ZERO_TIME].count = check->untimed;
    }
    if (!check->zero_times || check->nearest_ns < day_ns)
        return;
    fp_check_find(check, FP_RULE_ZERO_TIME, check->zero_event, check->zero_byte, fp_text_of(""));
    check->findings[FP_RULE_ZERO_TIME].count = check->zero_times;
}

// A file without one slice: is it empty, or does it hold what has no length?
static void judge_emptiness(struct fp_check *check, const struct fp_reader *reader) {
    static const struct {
        const char *phases, *word;
    } rows[] = {
        { "B", "begins" },  { "E", "ends" },         { "X", "slices whose time or duration is missing" },
        { "P", "samples" }, { "C", "counters" },     { "iIR", "instants" },
        { "stf", "flows" }, { "bneSTpF", "asyncs" }, { "NOD", "objects" },
    };
    if (check->slices)
        return;
    char text[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t count = 0;
        for (const char *phase = rows[i].phases; *phase; phase++)
            count += check->phases[(unsigned char)*phase];
        if (!count || used >= sizeof(text))
            continue;
        int more = snprintf(text + used, sizeof(text) - used, "%s%llu %s", used ? ", " : "",
                            (unsigned long long)count, rows[i].word);
        used += more > 0 ? (size_t)more : 0;
    }
    bool samples = fp_reader_header_named(reader, "samples") != NULL; // Chrome's form, beside the events
    if (!check->events && !fp_reader_events_complete(reader))
        return;
    enum fp_check_rule rule = FP_RULE_NO_SLICES;
    if (!check->events)
        rule = FP_RULE_EMPTY_LIST;
    else if (check->phases['M'] == check->events && !samples)
        rule = FP_RULE_ONLY_METADATA;
    check->findings[rule].count = 1;
    if (rule == FP_RULE_ONLY_METADATA)
        fp_check_detail(check, rule, "%llu events, none with a duration", (unsigned long long)check->events);
    else if (rule == FP_RULE_NO_SLICES)
        fp_check_detail(check, rule, "The file holds %s",
                        used      ? text
                        : samples ? "samples beside its events"
                                  : "events of no known phase");
}

static void judge_count(struct fp_check *check, const struct fp_reader *reader) {
    static const struct {
        uint64_t events;
        const char *who;
    } caps[] = {
        { 1000000, "XProf and TensorBoard's exporters keep 1,000,000 events" },
        { 100000, "some exporters keep 100,000 events" },
    };
    for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++)
        if (check->events == caps[i].events || check->slices == caps[i].events) {
            check->findings[FP_RULE_CAP].count = 1;
            fp_check_detail(check, FP_RULE_CAP, "exactly %llu: %s", (unsigned long long)caps[i].events,
                            caps[i].who);
        }
    judge_emptiness(check, reader);
}

// Rules that only torch's own files can be held to.
static const uint8_t torch_only[] = {
    FP_RULE_MISSING_FIELDS,      FP_RULE_LAUNCH_WITHOUT_WORK, FP_RULE_COPY_WITHOUT_WORK,
    FP_RULE_WORK_WITHOUT_LAUNCH, FP_RULE_EDGE_LOSS,           FP_RULE_NO_CORRELATION,
    FP_RULE_CORRELATION_ZERO,    FP_RULE_OWNER_MISSING,       FP_RULE_FLOW_START_ON_LAUNCH,
    FP_RULE_FLOW_END_ON_WORK,    FP_RULE_LAUNCH_CAPTURED,
};

// Torch's files by what their producer leaves: a key of Kineto's header, its span, or its categories for both
// sides, in the object form (torch_npu writes a list, and its device work has no category).
static bool looks_like_torch(const struct fp_check *check, const struct fp_reader *reader) {
    static const char *const keys[] = { "schemaVersion", "distributedInfo", "deviceProperties",
                                        "baseTimeNanoseconds" };
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    if (summary.array_form || check->uncategorised_work)
        return check->window_count != 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (fp_reader_header_named(reader, keys[i]))
            return true;
    return check->window_count || (check->by_category[FP_CAT_CPU_OP] && check->by_category[FP_CAT_RUNTIME]);
}

static void forget(struct fp_check *check, enum fp_check_rule rule) {
    check->findings[rule] = (struct fp_finding){ 0 };
}

// What only the absence of something tells, and a part of a file lacks by choice.
static const uint8_t absences[] = {
    FP_RULE_NO_DEVICE_WORK,  FP_RULE_LAUNCH_WITHOUT_WORK, FP_RULE_COPY_WITHOUT_WORK,
    FP_RULE_EDGE_LOSS,       FP_RULE_WORK_WITHOUT_LAUNCH, FP_RULE_FLOW_END_ON_WORK,
    FP_RULE_FLOW_END_ALONE,  FP_RULE_FLOW_START_ALONE,    FP_RULE_FLOW_START_ON_LAUNCH,
    FP_RULE_OWNER_MISSING,   FP_RULE_LEDGER_MISMATCH,     FP_RULE_CAP,
    FP_RULE_ONLY_METADATA,   FP_RULE_EMPTY_LIST,          FP_RULE_NO_SLICES,
    FP_RULE_LAUNCH_CAPTURED,
};

void fp_check_of_part(struct fp_check *check) {
    check->part = true;
}

// A lone start on a launch means nothing where launches are known to lack their work for a reason.
static void forget_lost_starts(struct fp_check *check) {
    struct fp_finding *lost = &check->findings[FP_RULE_FLOW_START_ON_LAUNCH],
                      *harmless = &check->findings[FP_RULE_FLOW_START_ON_CALL];
    uint64_t count = harmless->count + lost->count;
    if (!harmless->count)
        *harmless = *lost;
    harmless->count = count;
    forget(check, FP_RULE_FLOW_START_ON_LAUNCH);
}

static void choose_rules(struct fp_check *check, const struct fp_reader *reader) {
    if (check->rule_set == FP_RULE_SET_AUTO)
        check->rule_set = looks_like_torch(check, reader) ? FP_RULE_SET_TORCH : FP_RULE_SET_ANY;
    for (size_t i = 0; check->rule_set == FP_RULE_SET_ANY && i < sizeof(torch_only); i++)
        forget(check, torch_only[i]);
}

// What one finding already explains is not said once more in other words.
static void settle(struct fp_check *check) {
    const struct fp_finding *findings = check->findings;
    for (size_t i = 0; check->part && i < sizeof(absences); i++)
        forget(check, absences[i]);
    if (!check->part && !check->work && check->counter_ranges) {
        check->findings[FP_RULE_COUNTERS_ONLY].count = check->counter_ranges;
        fp_check_detail(check, FP_RULE_COUNTERS_ONLY, "%llu ranges, %llu launches, 0 device records",
                        (unsigned long long)check->counter_ranges, (unsigned long long)check->launches);
        forget(check, FP_RULE_NO_DEVICE_WORK);
        forget_lost_starts(check);
        forget(check, FP_RULE_COPY_WITHOUT_WORK);
    }
    // Work that names no launch may be that of the launches without work.
    uint64_t nameless = findings[FP_RULE_CORRELATION_ZERO].count + findings[FP_RULE_NO_CORRELATION].count;
    static const uint8_t lost[] = { FP_RULE_LAUNCH_WITHOUT_WORK, FP_RULE_COPY_WITHOUT_WORK };
    for (size_t i = 0; i < sizeof(lost); i++)
        if (nameless && findings[lost[i]].count <= nameless)
            forget(check, lost[i]);
    if (nameless && findings[FP_RULE_FLOW_START_ON_LAUNCH].count &&
        findings[FP_RULE_FLOW_START_ON_LAUNCH].count <= nameless)
        forget_lost_starts(check);
    if (!findings[FP_RULE_LAUNCH_WITHOUT_WORK].count)
        forget(check, FP_RULE_EDGE_LOSS);
}

int fp_check_finish(struct fp_check *check, struct fp_reader *reader) {
    const struct fp_intern *names = fp_reader_names(reader);
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    check->resolution_ns = summary.whole_microseconds ? 1000 : 1;
    fp_check_captures_settle(&check->captures);
    int code = fp_lanes_judge(check, reader);
    if (!code)
        code = fp_flows_judge(check, reader);
    if (!code)
        code = judge_launches(check, reader, names);
    if (!code)
        code = judge_work(check, names);
    if (code)
        return code;
    judge_names(check, names);
    judge_times(check);
    judge_count(check, reader);
    if (check->zero_correlation_ns)
        fp_check_detail(check, FP_RULE_CORRELATION_ZERO, "%.3f ms of device time",
                        (double)check->zero_correlation_ns / 1e6);
    fp_header_judge(check, reader);
    settle(check);
    choose_rules(check, reader);
    return 0;
}

const struct fp_finding *fp_check_finding(const struct fp_check *check, enum fp_check_rule rule) {
    return &check->findings[rule];
}

enum fp_rule_set fp_check_rule_set(const struct fp_check *check) {
    return check->rule_set;
}

void fp_check_count(const struct fp_check *check, struct fp_check_counts *counts) {
    *counts = (struct fp_check_counts){ check->events, check->slices,   check->work,
                                        check->calls,  check->launches, check->flows.pairs };
    // Launches of another producer under ids that were taken.
    counts->launches += check->findings[FP_RULE_ID_CLASH].count;
}
