// stats.c - where the time goes: every event goes to its group and its lane, the rest is worked out at the
// end.
//
// In:  events.
// Out: struct fp_stats. One row of `handlers` per category says what a slice of it is.

#include "analysis/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds.h"
#include "analysis/marks.h"
#include "analysis/names.h"
#include "analysis/stats_tasks.h"
#include "analysis/steps.h"

// Where a slice of a category goes besides its group.
enum destiny {
    TO_NOWHERE,
    TO_OPERATORS,
    TO_CALLS,
    TO_PYTHON,
    TO_WORK,
    TO_OVERHEAD,
};

static const uint8_t destinies[FP_CAT_COUNT] = {
    [FP_CAT_OTHER] = TO_OPERATORS,   [FP_CAT_CPU_OP] = TO_OPERATORS, [FP_CAT_USER_ANNOTATION] = TO_OPERATORS,
    [FP_CAT_PYTHON] = TO_PYTHON,     [FP_CAT_RUNTIME] = TO_CALLS,    [FP_CAT_DRIVER] = TO_CALLS,
    [FP_CAT_KERNEL] = TO_WORK,       [FP_CAT_MEMCPY] = TO_WORK,      [FP_CAT_MEMSET] = TO_WORK,
    [FP_CAT_OVERHEAD] = TO_OVERHEAD,
};

struct fp_stats *fp_stats_new(void) {
    struct fp_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    stats->texts = fp_intern_new();
    if (!stats->texts) {
        free(stats);
        return NULL;
    }
    return stats;
}

static void free_slices(struct fp_slices *slices) {
    if (slices)
        fp_slices_free(slices);
    free(slices);
}

static int add_to(struct fp_slices **slices, struct fp_slice slice) {
    if (!*slices && !(*slices = calloc(1, sizeof(**slices))))
        return -ENOMEM;
    return fp_slices_add(*slices, slice);
}

void fp_stats_free(struct fp_stats *stats) {
    if (!stats)
        return;
    for (uint32_t i = 0; i < stats->group_count; i++)
        fp_distribution_free(&stats->groups[i].times);
    for (uint32_t i = 0; i < stats->lane_count; i++) {
        for (int role = 0; role < FP_ROLE_COUNT; role++)
            free_slices(stats->lanes[i].roles[role]);
        free_slices(stats->lanes[i].work);
        free_slices(stats->lanes[i].marks);
    }
    for (uint32_t i = 0; i < stats->collective_count; i++)
        fp_distribution_free(&stats->collectives[i].times);
    fp_time_by_id_free(&stats->device_ns);
    fp_time_by_id_free(&stats->device_ns_by_call);
    fp_intern_free(stats->texts);
    fp_intern_free(stats->names);
    free(stats->collective_of);
    free(stats->collectives);
    free(stats->groups);
    free(stats->heads);
    free(stats->lanes);
    free(stats->devices);
    free(stats->steps);
    free(stats);
}

static bool grow_room(void *array, uint32_t *room, uint64_t count, size_t size) {
    uint64_t grown_room = *room ? *room : 16;
    while (grown_room <= count)
        grown_room *= 2;
    if (grown_room > UINT32_MAX)
        return false;
    void *grown = realloc(*(void **)array, grown_room * size);
    if (!grown)
        return false;
    memset((char *)grown + *room * size, 0, (grown_room - *room) * size);
    *(void **)array = grown;
    *room = (uint32_t)grown_room;
    return true;
}

// Room for element `count` in an array of elements of `size` bytes; new room is zero.
static inline bool make_room(void *array, uint32_t *room, uint64_t count, size_t size) {
    return count < *room || grow_room(array, room, count, size);
}

// Work without a category (torch_npu's device lanes, home-made exporters) is taken for kernels.
static uint8_t category_of(const struct fp_trace_event *event) {
    return event->category == FP_CAT_OTHER && fp_event_is_work(event) ? FP_CAT_KERNEL : event->category;
}

static uint8_t work_kind_of(const struct fp_trace_event *event) {
    if (category_of(event) != FP_CAT_KERNEL)
        return FP_WORK_COPY;
    return fp_event_arg(event, FP_ARG_COLLECTIVE_NAME) || fp_name_is_collective(event->name)
               ? FP_WORK_COLLECTIVE
               : FP_WORK_COMPUTE;
}

static struct fp_stats_group *group_of(struct fp_stats *stats, const struct fp_trace_event *event,
                                       uint32_t *place) {
    uint32_t name_id = event->name_id;
    uint8_t category = category_of(event);
    if (!make_room(&stats->heads, &stats->head_room, name_id, sizeof(*stats->heads)))
        return NULL;
    for (uint32_t i = stats->heads[name_id]; i; i = stats->groups[i - 1].next)
        if (stats->groups[i - 1].category == category) {
            *place = i - 1;
            return &stats->groups[i - 1];
        }
    if (!make_room(&stats->groups, &stats->group_room, stats->group_count, sizeof(*stats->groups)))
        return NULL;
    struct fp_stats_group *group = &stats->groups[stats->group_count];
    group->name_id = name_id;
    group->category = category;
    group->work_kind = work_kind_of(event);
    group->hidden = event->category == FP_CAT_CPU_OP && fp_name_is_hidden(event->name);
    group->pending = event->category == FP_CAT_USER_ANNOTATION && fp_name_is_pending(event->name);
    group->next = stats->heads[name_id];
    *place = stats->group_count++;
    stats->heads[name_id] = *place + 1;
    return group;
}

static struct fp_stats_lane *lane_of(struct fp_stats *stats, uint32_t lane) {
    if (!make_room(&stats->lanes, &stats->lane_room, lane, sizeof(*stats->lanes)))
        return NULL;
    for (; stats->lane_count <= lane; stats->lane_count++) {
        stats->lanes[stats->lane_count].lane = stats->lane_count;
        stats->lanes[stats->lane_count].device = -1;
    }
    return &stats->lanes[lane];
}

static int find_device(struct fp_stats *stats, const struct fp_trace_event *event) {
    uint64_t number = event->pid.number;
    bool numbered = fp_event_device(event, &number);
    for (uint32_t i = 0; i < stats->device_count; i++) {
        struct fp_stats_device *device = &stats->devices[i];
        if (device->number == number && device->pid.kind == event->pid.kind &&
            device->pid.number == event->pid.number)
            return (int)i;
    }
    struct fp_stats_device *grown = realloc(stats->devices, (stats->device_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    stats->devices = grown;
    struct fp_stats_device *device = &grown[stats->device_count];
    memset(device, 0, sizeof(*device));
    device->number = number;
    device->numbered = numbered;
    device->pid = event->pid;
    device->pid.text = (struct fp_text){ NULL, 0 }; // would not outlive the event
    return (int)stats->device_count++;
}

static struct fp_text text_of_arg(const struct fp_trace_event *event, enum fp_arg_id id,
                                  const char *missing) {
    const struct fp_trace_field *field = fp_event_arg(event, id);
    return field ? fp_field_text(field) : fp_text_of(missing);
}

static int add_collective(struct fp_stats *stats, const struct fp_trace_event *event) {
    struct fp_text name = text_of_arg(event, FP_ARG_COLLECTIVE_NAME, "");
    if (!name.size)
        name = fp_name_of_collective(event->name);
    struct fp_text group = text_of_arg(event, FP_ARG_GROUP_NAME, ""),
                   dtype = text_of_arg(event, FP_ARG_DTYPE, "");
    struct fp_text ranks_text = text_of_arg(event, FP_ARG_GROUP_SIZE, "");
    char key[512];
    size_t used = 0;
    const struct fp_text parts[] = { name, group, dtype, ranks_text };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        size_t size = parts[i].size < 120 ? parts[i].size : 120;
        if (size)
            memcpy(key + used, parts[i].at, size);
        used += size;
        key[used++] = '\x1f';
    }
    uint32_t id = fp_intern_add(stats->texts, (struct fp_text){ key, used });
    if (id == FP_NO_ID || !make_room(&stats->collective_of, &stats->collective_of_room, id, sizeof(uint32_t)))
        return -ENOMEM;
    if (!stats->collective_of[id]) {
        if (!make_room(&stats->collectives, &stats->collective_room, stats->collective_count,
                       sizeof(*stats->collectives)))
            return -ENOMEM;
        struct fp_stats_collective *fresh = &stats->collectives[stats->collective_count];
        fresh->name = fp_intern_add(stats->texts, name);
        fresh->group = fp_intern_add(stats->texts, group);
        fresh->dtype = fp_intern_add(stats->texts, dtype);
        if (fresh->name == FP_NO_ID || fresh->group == FP_NO_ID || fresh->dtype == FP_NO_ID)
            return -ENOMEM;
        (void)fp_field_u64(fp_event_arg(event, FP_ARG_GROUP_SIZE), &fresh->ranks);
        stats->collective_of[id] = ++stats->collective_count;
    }
    struct fp_stats_collective *collective = &stats->collectives[stats->collective_of[id] - 1];
    uint64_t elements = 0;
    if (fp_field_u64(fp_event_arg(event, FP_ARG_IN_ELEMENTS), &elements))
        collective->bytes += elements * fp_name_dtype_bytes(dtype);
    return fp_distribution_add(&collective->times, event->dur_ns);
}

static int add_work(struct fp_stats *stats, const struct fp_trace_event *event, struct fp_stats_lane *lane,
                    struct fp_stats_group *group, uint32_t place) {
    uint64_t bytes, external = FP_NO_SLICE_ID, correlation = FP_NO_SLICE_ID;
    int code;
    if (lane->device < 0 && (lane->device = find_device(stats, event)) < 0)
        return -ENOMEM;
    struct fp_stats_device *device = &stats->devices[lane->device];
    device->count++;
    device->total_ns += event->dur_ns;
    lane->count++;
    lane->total_ns += event->dur_ns;
    stats->device_total_ns += event->dur_ns;
    if (fp_field_u64(fp_event_arg(event, FP_ARG_BYTES), &bytes))
        group->bytes += bytes;
    if (!fp_event_correlation(event, &correlation))
        correlation = FP_NO_SLICE_ID;
    if (fp_event_external_id(event, &external)) {
        code = fp_time_by_id_add(&stats->device_ns, external, event->dur_ns);
    } else {
        stats->unowned_count++;
        code = correlation == FP_NO_SLICE_ID
                   ? 0
                   : fp_time_by_id_add(&stats->device_ns_by_call, correlation, event->dur_ns);
    }
    if (!code && group->work_kind == FP_WORK_COLLECTIVE)
        code = add_collective(stats, event);
    return code ? code
                : add_to(&lane->work, (struct fp_slice){ event->ts_ns, event->dur_ns, place, correlation });
}

static int add_step(struct fp_stats *stats, const struct fp_trace_event *event) {
    uint64_t number;
    if (!fp_name_is_step(event->name, &number))
        return 0;
    for (uint32_t i = 0; i < stats->step_count; i++) // both as operator and as annotation in some files
        if (stats->steps[i].number == number && stats->steps[i].window.from_ns == event->ts_ns &&
            stats->steps[i].pid.kind == event->pid.kind && stats->steps[i].pid.number == event->pid.number)
            return 0;
    if (!make_room(&stats->steps, &stats->step_room, stats->step_count, sizeof(*stats->steps)))
        return -ENOMEM;
    stats->steps[stats->step_count++] = (struct fp_stats_step){
        .number = number,
        .lane = event->lane,
        .pid = { .kind = event->pid.kind, .number = event->pid.number },
        .window = { .from_ns = event->ts_ns, .to_ns = event->ts_ns + event->dur_ns },
    };
    return 0;
}

// A slice with a start and a duration of 0 or more.
static int add_slice(struct fp_stats *stats, const struct fp_trace_event *event) {
    uint32_t place;
    uint64_t id = FP_NO_SLICE_ID;
    struct fp_stats_group *group = group_of(stats, event, &place);
    struct fp_stats_lane *lane = lane_of(stats, event->lane);
    if (!group || !lane || fp_distribution_add(&group->times, event->dur_ns) != 0)
        return -ENOMEM;
    stats->slices++;
    struct fp_slice slice = { event->ts_ns, event->dur_ns, place, FP_NO_SLICE_ID };
    switch (destinies[group->category]) {
    case TO_OPERATORS:
        if (group->hidden)
            return 0;
        if (fp_event_external_id(event, &id))
            slice.id = id;
        if (event->name.size > 13 && event->name.at[0] == 'P' && add_step(stats, event) != 0)
            return -ENOMEM;
        return add_to(&lane->roles[group->pending ? FP_ROLE_PENDING : FP_ROLE_OPERATOR], slice);
    case TO_CALLS: {
        if (fp_event_correlation(event, &id))
            slice.id = id;
        bool linked = fp_event_external_id(event, &id);
        stats->linked_calls += linked;
        return add_to(&lane->roles[linked ? FP_ROLE_CALL : FP_ROLE_UNLINKED], slice);
    }
    case TO_OVERHEAD:
        return add_to(&lane->roles[FP_ROLE_OVERHEAD], slice);
    case TO_PYTHON:
        return add_to(&lane->roles[FP_ROLE_PYTHON], slice);
    case TO_WORK:
        return add_work(stats, event, lane, group, place);
    default:
        return 0;
    }
}

// Begins and ends are kept until the end, since files do not have them in order of time.
static int add_mark(struct fp_stats *stats, const struct fp_trace_event *event) {
    uint32_t place;
    struct fp_stats_lane *lane = lane_of(stats, event->lane);
    if (!group_of(stats, event, &place) || !lane)
        return -ENOMEM;
    // The id is the event's number, so that ties keep the file's order.
    return add_to(&lane->marks,
                  (struct fp_slice){ event->ts_ns, 0, place * 2 + (event->phase == 'E'), event->number });
}

static void widen(struct fp_stats *stats, int64_t from, int64_t to) {
    if (!stats->any_time || from < stats->first_ns)
        stats->first_ns = from;
    if (!stats->any_time || to > stats->last_ns)
        stats->last_ns = to;
    stats->any_time = true;
}

int fp_stats_add(struct fp_stats *stats, const struct fp_trace_event *event) {
    stats->events++;
    stats->phases[(unsigned char)event->phase]++;
    if (event->ts_state != FP_NUMBER_OK || event->phase == 'M')
        return 0;
    if (event->phase == 'B' || event->phase == 'E') {
        widen(stats, event->ts_ns, event->ts_ns);
        return add_mark(stats, event);
    }
    if (event->phase != 'X')
        return 0;
    // ts plus dur must stay within 64 bits.
    int64_t end;
    bool bad = event->dur_state != FP_NUMBER_OK || event->dur_ns < 0 ||
               __builtin_add_overflow(event->ts_ns, event->dur_ns, &end);
    if (bad) {
        uint32_t place;
        struct fp_stats_group *group = group_of(stats, event, &place);
        if (!group)
            return -ENOMEM;
        group->odd++;
        stats->odd_durations++;
        widen(stats, event->ts_ns, event->ts_ns);
        return 0;
    }
    widen(stats, event->ts_ns, end);
    if (event->category == FP_CAT_TRACE && !stats->window &&
        fp_text_begins(event->name, "PyTorch Profiler")) {
        stats->window = true;
        stats->window_from_ns = event->ts_ns;
        stats->window_to_ns = end;
    }
    return add_slice(stats, event);
}

struct pairing {
    struct fp_stats *stats;
    struct fp_stats_lane *lane;
};

static int add_pair(void *user, struct fp_slice slice) {
    struct pairing *pairing = user;
    pairing->stats->slices++;
    if (fp_distribution_add(&pairing->stats->groups[slice.group].times, slice.dur_ns) != 0)
        return -ENOMEM;
    slice.id = FP_NO_SLICE_ID;
    return add_to(&pairing->lane->roles[FP_ROLE_OPERATOR], slice);
}

static int pair_marks(struct fp_stats *stats, struct fp_stats_lane *lane) {
    struct pairing pairing = { stats, lane };
    struct fp_marks_result result = { 0 };
    int code = lane->marks ? fp_marks_pair(lane->marks, add_pair, &pairing, &result) : 0;
    stats->open_begins += result.open;
    stats->lone_ends += result.lone;
    return code;
}

// torch takes calls without an External id, and overhead, for the work of the thread that ended the profile:
// the main one, whose id on Linux is the process's. They are moved there.
static struct fp_stats_lane *main_lane(struct fp_stats *stats, const struct fp_reader *reader) {
    struct fp_stats_lane *most = NULL;
    for (uint32_t i = 0; i < stats->lane_count; i++) {
        struct fp_stats_lane *lane = &stats->lanes[i];
        const struct fp_lane *ids = fp_reader_lane(reader, i);
        if (!lane->roles[FP_ROLE_OPERATOR])
            continue;
        if (fp_trace_id_same(&ids->pid, &ids->tid))
            return lane;
        if (!most || lane->roles[FP_ROLE_OPERATOR]->count > most->roles[FP_ROLE_OPERATOR]->count)
            most = lane;
    }
    return most;
}

static int move_to_main(struct fp_stats *stats, const struct fp_reader *reader) {
    struct fp_stats_lane *main = stats->like_torch && stats->linked_calls ? main_lane(stats, reader) : NULL;
    int code = 0;
    for (uint32_t i = 0; main && !code && i < stats->lane_count; i++)
        for (int role = FP_ROLE_UNLINKED; !code && role <= FP_ROLE_OVERHEAD; role++) {
            struct fp_slices **slices = &stats->lanes[i].roles[role];
            if (!*slices || &stats->lanes[i] == main)
                continue;
            for (size_t j = 0; !code && j < (*slices)->count; j++)
                code = add_to(&main->roles[role], fp_slices_get(*slices, j));
            free_slices(*slices);
            *slices = NULL;
        }
    return code;
}

int fp_stats_finish(struct fp_stats *stats, struct fp_reader *reader) {
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    stats->whole_microseconds = summary.whole_microseconds;
    stats->by_call = stats->device_ns.count == 0;
    int code = move_to_main(stats, reader);
    for (uint32_t i = 0; !code && i < stats->lane_count; i++)
        code = pair_marks(stats, &stats->lanes[i]);
    if (!code)
        code = fp_stats_work_out(stats, fp_reader_threads(reader));
    if (!code)
        stats->owned_ns = fp_time_by_id_taken(stats->by_call ? &stats->device_ns_by_call : &stats->device_ns);
    if (!code)
        code = fp_steps_by_process(stats, reader);
    stats->names = fp_reader_take_names(reader);
    return code;
}
