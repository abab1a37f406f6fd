// cut.c - a part of a trace that is a true trace itself.
//
// In:  every event, judged by select.c.
// Out: one bit each. Ends follow their begins, arrows their slices, metadata its lanes; so these are
//      decided when their other half is known, arrows and metadata at the end of the file.

#include "analysis/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idmap.h"
#include "analysis/kinds.h"
#include "analysis/metadata.h"

// A begin that waits for its end.
struct open_begin {
    uint64_t number, pid;
    int64_t ts_ns;
    uint32_t lane;
    uint32_t below; // the one under it on the same stack, plus one
    bool selected;  // but for the time of its end
    bool slice;
    bool waits;
};

struct arrow_half {
    uint64_t number;
    uint64_t arrow; // hash of category and id
    uint64_t slice; // hash of lane and time
    char phase;
    bool in_time;
};

struct metadata {
    uint64_t number;
    uint32_t lane;
    bool of_process;
};

struct plan {
    struct fp_cut *cut;
    struct fp_select *select;
    struct open_begin *begins;
    size_t begin_count, begin_room;
    uint32_t free_begin;       // plus one
    struct fp_idmap stacks;    // lane, or hash of an async id: top of its stack, plus one
    struct fp_idmap slices;    // hash of lane and start of every kept slice
    struct fp_idmap said;      // hashes of metadata seen
    struct fp_idmap processes; // hash of pid: kept events
    uint8_t *lane_kept;
    size_t lane_room;
    bool any_arrows;
    struct fp_idmap wanted; // arrows with a half on something kept
    struct arrow_half *halves;
    size_t half_count, half_room;
    struct metadata *metadata;
    size_t metadata_count, metadata_room;
};

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t hash = (a ^ 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
    hash = (hash ^ hash >> 32 ^ b) * 0xD6E8FEB86659FD93ULL;
    return hash ^ hash >> 29;
}

static uint64_t id_hash(const struct fp_trace_id *id) {
    return id->kind == FP_ID_TEXT ? fp_text_hash(id->text.at, id->text.size) : mix(id->number, id->kind);
}

static bool grow(void **array, size_t *room, size_t count, size_t size) {
    if (count < *room)
        return true;
    size_t grown = *room * 2 + 64;
    void *moved = realloc(*array, grown * size);
    if (!moved)
        return false;
    *array = moved;
    *room = grown;
    return true;
}

static int make_room(struct fp_cut *cut, uint64_t number) {
    if (number < cut->room)
        return 0;
    uint64_t room = (number * 2 + 4096) / 8 * 8;
    uint8_t *grown = realloc(cut->kept, room / 8);
    if (!grown)
        return -ENOMEM;
    memset(grown + cut->room / 8, 0, (room - cut->room) / 8);
    cut->kept = grown;
    cut->room = room;
    return 0;
}

static void keep(struct plan *plan, uint64_t number) {
    plan->cut->kept[number / 8] |= (uint8_t)(1u << (number % 8));
    plan->cut->kept_events++;
}

// What is kept makes its lane and process worth naming.
static int keep_on_lane(struct plan *plan, uint32_t lane, uint64_t pid, uint64_t number) {
    if (lane >= plan->lane_room) {
        size_t room = (size_t)lane * 2 + 64;
        uint8_t *grown = realloc(plan->lane_kept, room);
        if (!grown)
            return -ENOMEM;
        memset(grown + plan->lane_room, 0, room - plan->lane_room);
        plan->lane_kept = grown;
        plan->lane_room = room;
    }
    if (!plan->lane_kept[lane]) {
        plan->lane_kept[lane] = 1;
        if (!fp_idmap_at(&plan->processes, pid, NULL))
            return -ENOMEM;
    }
    keep(plan, number);
    return 0;
}

static int keep_event(struct plan *plan, const struct fp_trace_event *event) {
    return keep_on_lane(plan, event->lane, id_hash(&event->pid), event->number);
}

static int note_slice(struct plan *plan, uint32_t lane, int64_t ts_ns) {
    plan->cut->kept_slices++;
    return fp_idmap_at(&plan->slices, mix(lane, (uint64_t)ts_ns), NULL) ? 0 : -ENOMEM;
}

static int keep_begin(struct plan *plan, const struct open_begin *begin) {
    int code = begin->slice ? note_slice(plan, begin->lane, begin->ts_ns) : 0;
    return code ? code : keep_on_lane(plan, begin->lane, begin->pid, begin->number);
}

static int push_begin(struct plan *plan, const struct fp_trace_event *event, uint64_t stack, bool selected) {
    uint64_t *top = fp_idmap_at(&plan->stacks, stack, NULL);
    if (!top)
        return -ENOMEM;
    uint32_t place;
    if (plan->free_begin) {
        place = plan->free_begin - 1;
        plan->free_begin = plan->begins[place].below;
    } else {
        if (!grow((void **)&plan->begins, &plan->begin_room, plan->begin_count, sizeof(*plan->begins)))
            return -ENOMEM;
        place = (uint32_t)plan->begin_count++;
    }
    plan->begins[place] = (struct open_begin){
        event->number, id_hash(&event->pid), event->ts_ns, event->lane, (uint32_t)*top,
        selected,      event->phase == 'B',  true,
    };
    *top = place + 1;
    return 0;
}

// An end: kept with its begin where the time between them touches what was asked for. One without a begin is
// judged alone.
static int pop_begin(struct plan *plan, const struct fp_trace_event *event, uint64_t stack, bool selected) {
    uint64_t *top = fp_idmap_find(&plan->stacks, stack);
    if (!top || !*top)
        return selected ? keep_event(plan, event) : 0;
    uint32_t place = (uint32_t)*top - 1;
    struct open_begin begin = plan->begins[place];
    *top = begin.below;
    plan->begins[place].below = plan->free_begin;
    plan->begins[place].waits = false;
    plan->free_begin = place + 1;
    if (!begin.selected || !fp_select_in_time(plan->select, begin.ts_ns, event->ts_ns))
        return 0;
    int code = keep_begin(plan, &begin);
    return code ? code : keep_event(plan, event);
}

// What never ended lasts until the end of the file.
static int keep_open_begins(struct plan *plan) {
    int code = 0;
    for (size_t i = 0; i < plan->begin_count && !code; i++)
        if (plan->begins[i].waits && plan->begins[i].selected)
            code = keep_begin(plan, &plan->begins[i]);
    return code;
}

// The stack on which an event's other half lies: its lane's, or that of its asynchronous id.
static uint64_t stack_of(const struct fp_trace_event *event) {
    if (event->phase == 'B' || event->phase == 'E')
        return event->lane;
    struct fp_trace_id id = event->id;
    if (id.kind == FP_ID_ABSENT) { // id2: {"local": ...} or {"global": ...}
        const struct fp_trace_field *field = fp_event_field(event, "id2");
        if (field)
            return mix(fp_text_hash(field->value, field->value_size), mix(event->cat_id, event->lane));
    }
    return mix(id_hash(&id), event->cat_id) | 1ULL << 63;
}

static struct arrow_half half_of(const struct fp_trace_event *event, bool in_time) {
    return (struct arrow_half){
        event->number,
        mix(id_hash(&event->id), event->cat_id),
        mix(event->lane, (uint64_t)event->ts_ns),
        event->phase,
        in_time,
    };
}

static bool half_stands(const struct plan *plan, const struct arrow_half *half) {
    if (fp_idmap_find(&plan->slices, half->slice))
        return true;
    return half->in_time && !fp_select_by_kind(plan->select);
}

// Second reading: the arrows that have an end on something kept.
static int want_arrow(void *user, const struct fp_trace_event *event) {
    struct plan *plan = user;
    if (!fp_event_is_flow(event))
        return 0;
    struct arrow_half half = half_of(event, fp_select_test(plan->select, event) == 1);
    return !half_stands(plan, &half) || fp_idmap_at(&plan->wanted, half.arrow, NULL) ? 0 : -ENOMEM;
}

// Third reading: all ends of those.
static int note_half(void *user, const struct fp_trace_event *event) {
    struct plan *plan = user;
    if (!fp_event_is_flow(event))
        return 0;
    struct arrow_half half = half_of(event, fp_select_test(plan->select, event) == 1);
    if (!fp_idmap_find(&plan->wanted, half.arrow))
        return 0;
    if (!grow((void **)&plan->halves, &plan->half_room, plan->half_count, sizeof(*plan->halves)))
        return -ENOMEM;
    plan->halves[plan->half_count++] = half;
    return 0;
}

static int note_metadata(struct plan *plan, const struct fp_trace_event *event) {
    bool added;
    if (!fp_idmap_at(&plan->said, fp_metadata_key(event), &added))
        return -ENOMEM;
    if (!added) {
        plan->cut->metadata_collapsed++;
        return 0;
    }
    if (!grow((void **)&plan->metadata, &plan->metadata_room, plan->metadata_count, sizeof(*plan->metadata)))
        return -ENOMEM;
    plan->metadata[plan->metadata_count++] =
        (struct metadata){ event->number, event->lane, !fp_text_begins(event->name, "thread_") };
    return 0;
}

static int judge(void *user, const struct fp_trace_event *event) {
    struct plan *plan = user;
    plan->cut->events++;
    int code = make_room(plan->cut, event->number);
    if (code)
        return code;
    int selected = fp_select_test(plan->select, event);
    if (selected < 0)
        return selected;
    switch (event->phase) {
    case 'M':
        return selected ? note_metadata(plan, event) : 0;
    case 's':
    case 't':
    case 'f':
        plan->any_arrows = true; // decided when all kept slices are known
        return 0;
    case 'B':
    case 'b':
    case 'S':
        return push_begin(plan, event, stack_of(event), selected == 1);
    case 'E':
    case 'e':
    case 'F':
        return pop_begin(plan, event, stack_of(event), selected == 1);
    case 'X':
        code = selected ? note_slice(plan, event->lane, event->ts_ns) : 0;
        return code || !selected ? code : keep_event(plan, event);
    default:
        return selected ? keep_event(plan, event) : 0;
    }
}

enum {
    HAS_START = 1,
    HAS_END = 2,
    START_STANDS = 4,
    END_STANDS = 8,
};

// An id that starts several arrows numbers them: the n-th start belongs to the n-th end. An id with one start
// may have many ends, as a graph's launch has.
static int number_arrows(struct plan *plan) {
    struct fp_idmap starts = { 0 }, seen = { 0 }; // seen: starts below, ends above
    int code = 0;
    for (size_t i = 0; i < plan->half_count && !code; i++) {
        uint64_t *count = fp_idmap_at(&starts, plan->halves[i].arrow, NULL);
        if (count)
            *count += plan->halves[i].phase == 's';
        else
            code = -ENOMEM;
    }
    for (size_t i = 0; i < plan->half_count && !code; i++) {
        struct arrow_half *half = &plan->halves[i];
        if (*fp_idmap_find(&starts, half->arrow) <= 1)
            continue;
        uint64_t *counts = fp_idmap_at(&seen, half->arrow, NULL);
        if (!counts) {
            code = -ENOMEM;
            break;
        }
        *counts += half->phase == 's' ? 1 : half->phase == 'f' ? 1ULL << 32 : 0;
        half->arrow = mix(half->arrow, half->phase == 'f' ? *counts >> 32 : (uint32_t)*counts);
    }
    fp_idmap_free(&starts);
    fp_idmap_free(&seen);
    return code;
}

// An arrow keeps its halves that stand on something kept, provided that both of its sides do; a side that the
// file does not have is not missed.
static int decide_arrows(struct plan *plan) {
    struct fp_idmap arrows = { 0 };
    int code = number_arrows(plan);
    for (size_t i = 0; i < plan->half_count && !code; i++) {
        const struct arrow_half *half = &plan->halves[i];
        uint64_t *state = fp_idmap_at(&arrows, half->arrow, NULL);
        if (!state) {
            code = -ENOMEM;
            break;
        }
        bool stands = half_stands(plan, half);
        if (half->phase != 'f')
            *state |= HAS_START | (stands ? START_STANDS : 0);
        if (half->phase != 's')
            *state |= HAS_END | (stands ? END_STANDS : 0);
    }
    for (size_t i = 0; i < plan->half_count && !code; i++) {
        uint64_t state = *fp_idmap_find(&arrows, plan->halves[i].arrow);
        bool whole =
            (!(state & HAS_START) || (state & START_STANDS)) && (!(state & HAS_END) || (state & END_STANDS));
        if (!half_stands(plan, &plan->halves[i]))
            continue;
        if (whole)
            keep(plan, plan->halves[i].number);
        else
            plan->cut->arrow_halves_dropped++;
    }
    fp_idmap_free(&arrows);
    return code;
}

static void decide_metadata(struct plan *plan, const struct fp_reader *reader) {
    for (size_t i = 0; i < plan->metadata_count; i++) {
        const struct metadata *said = &plan->metadata[i];
        const struct fp_lane *lane = fp_reader_lane(reader, said->lane);
        bool wanted = said->of_process || lane->tid.kind == FP_ID_ABSENT
                          ? fp_idmap_find(&plan->processes, id_hash(&lane->pid)) != NULL
                          : said->lane < plan->lane_room && plan->lane_kept[said->lane];
        if (wanted)
            keep(plan, said->number);
    }
}

static void plan_free(struct plan *plan) {
    free(plan->begins);
    free(plan->halves);
    free(plan->metadata);
    free(plan->lane_kept);
    fp_idmap_free(&plan->stacks);
    fp_idmap_free(&plan->slices);
    fp_idmap_free(&plan->said);
    fp_idmap_free(&plan->processes);
    fp_idmap_free(&plan->wanted);
}

static int read_again(const char *path, struct plan *plan, const struct fp_reader_options *options,
                      int (*each)(void *user, const struct fp_trace_event *event), struct fp_error *err) {
    struct fp_reader *reader;
    fp_select_begin(plan->select);
    int code = fp_reader_open(path, options, &reader, err);
    if (!code)
        code = fp_reader_run(reader, each, plan, err);
    fp_reader_close(reader);
    return code;
}

static int choose_arrows(const char *path, struct plan *plan, const struct fp_reader_options *options,
                         struct fp_error *err) {
    if (!plan->any_arrows)
        return 0;
    int code = read_again(path, plan, options, want_arrow, err);
    if (!code && fp_idmap_count(&plan->wanted))
        code = read_again(path, plan, options, note_half, err);
    return code ? code : decide_arrows(plan);
}

int fp_cut_plan(const char *path, struct fp_select *select, const struct fp_reader_options *options,
                struct fp_cut *cut, struct fp_error *err) {
    struct plan plan = { .cut = cut, .select = select };
    struct fp_reader *reader = NULL;
    *cut = (struct fp_cut){ 0 };
    int code = fp_select_read_ahead(select, path, options, err);
    if (!code)
        code = fp_reader_open(path, options, &reader, err);
    if (!code)
        code = fp_reader_run(reader, judge, &plan, err);
    if (!code)
        code = keep_open_begins(&plan);
    if (!code)
        decide_metadata(&plan, reader);
    if (!code)
        code = choose_arrows(path, &plan, options, err);
    if (code == -ENOMEM)
        fp_error_set(err, "%s: not enough memory to decide what to keep", path);
    fp_reader_close(reader);
    plan_free(&plan);
    if (code)
        fp_cut_free(cut);
    return code;
}

void fp_cut_free(struct fp_cut *cut) {
    free(cut->kept);
    cut->kept = NULL;
    cut->room = 0;
}
