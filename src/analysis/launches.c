// launches.c - see launches.h.

#include "analysis/launches.h"

#include <errno.h>
#include <string.h>

#include "analysis/operators.h"

enum {
    LOOKED_AT_WHOLLY = 4096, // calls up to which each is looked at for a shared correlation, else one of 64
    LANES_MAX = 256, // beyond, no nearest is looked for: it would ask each lane for each piece of work
};

static const enum fp_slice_role call_roles[] = { FP_ROLE_CALL, FP_ROLE_UNLINKED };
#define CALL_ROLES (sizeof(call_roles) / sizeof(*call_roles))

static const struct fp_slices *calls_of(const struct fp_stats *stats, uint32_t lane, size_t role) {
    return stats->lanes[lane].roles[call_roles[role]];
}

// The calls of a thread carry ascending correlations, so that no table is needed to find one.
// The next one asked for is mostly the same or one of the next: those are tried first. *at is its place.
static bool find_in_lane(const struct fp_slices *calls, uint64_t correlation, size_t *at,
                         struct fp_slice *call) {
    size_t low = 0, high = calls->count;
    for (size_t i = *at; i < high && i < *at + 4; i++) {
        *call = fp_slices_get(calls, i);
        if (call->id == correlation) {
            *at = i;
            return true;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fp_slices_get(calls, middle).id < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == calls->count)
        return false;
    *call = fp_slices_get(calls, low);
    if (call->id == correlation)
        *at = low;
    return call->id == correlation;
}

static bool find_in_role(const struct fp_launches *launches, uint32_t lane, size_t role, uint64_t correlation,
                         size_t *at, struct fp_slice *call) {
    const struct fp_slices *calls = calls_of(launches->stats, lane, role);
    return calls && !calls->ids_mixed && find_in_lane(calls, correlation, at, call);
}

static bool holds(const struct fp_slice *outer, const struct fp_slice *inner) {
    return outer->start_ns <= inner->start_ns &&
           outer->start_ns + outer->dur_ns >= inner->start_ns + inner->dur_ns;
}

// A call inside a call has its correlation: the outer one counts. Of others the latest that began before the
// work; where each began after it, as by two clocks it may, the earliest.
static bool is_nearer(const struct fp_slice *call, const struct fp_slice *best, int64_t work_ns) {
    bool before = call->start_ns <= work_ns, best_before = best->start_ns <= work_ns;
    if (holds(best, call) || holds(call, best))
        return !holds(best, call);
    if (before != best_before)
        return before;
    return before ? call->start_ns > best->start_ns : call->start_ns < best->start_ns;
}

static bool find_nearest(const struct fp_launches *launches, const struct fp_slice *work,
                         struct fp_slice *nearest) {
    bool found = false;
    for (uint32_t lane = 0; lane < launches->stats->lane_count; lane++)
        for (size_t role = 0; role < CALL_ROLES; role++) {
            struct fp_slice call;
            size_t at = SIZE_MAX;
            if (!find_in_role(launches, lane, role, work->id, &at, &call))
                continue;
            if (!found || is_nearer(&call, nearest, work->start_ns))
                *nearest = call;
            found = true;
        }
    return found;
}

static bool find_call(struct fp_launches *launches, const struct fp_slice *work, struct fp_slice *call) {
    if (launches->is_shared)
        return find_nearest(launches, work, call);
    if (launches->last.lane < launches->stats->lane_count &&
        find_in_role(launches, launches->last.lane, launches->last.role, work->id, &launches->last.at, call))
        return true;
    for (uint32_t lane = 0; lane < launches->stats->lane_count; lane++)
        for (uint32_t role = 0; role < CALL_ROLES; role++) {
            size_t at = SIZE_MAX; // nothing was asked of this lane last
            if (find_in_role(launches, lane, role, work->id, &at, call)) {
                launches->last.lane = lane;
                launches->last.role = role;
                launches->last.at = at;
                return true;
            }
        }
    return false;
}

bool fp_launches_end_of(void *user, const struct fp_slice *work, int64_t *ns) {
    struct fp_launches *launches = user;
    struct fp_slice call;
    if (find_call(launches, work, &call)) {
        *ns = call.start_ns + call.dur_ns;
        return true;
    }
    return fp_time_by_id_find(&launches->ends, work->id, ns);
}

void fp_launches_add(struct fp_launches *launches, struct fp_stats *stats) {
    for (uint32_t i = 0; i < stats->lane_count; i++)
        for (size_t j = 0; stats->lanes[i].work && j < stats->lanes[i].work->count; j++) {
            struct fp_slice work = fp_slices_get(stats->lanes[i].work, j), call;
            int64_t group;
            if (work.id == FP_NO_SLICE_ID)
                continue;
            if (find_call(launches, &work, &call))
                stats->groups[call.group].launched_ns += work.dur_ns;
            else if (fp_time_by_id_find(&launches->groups, work.id, &group))
                stats->groups[group].launched_ns += work.dur_ns;
        }
}

static int keep_ends(struct fp_launches *launches, const struct fp_slices *calls) {
    for (size_t j = 0; calls && calls->ids_mixed && j < calls->count; j++) {
        struct fp_slice call = fp_slices_get(calls, j);
        int64_t known;
        if (call.id == FP_NO_SLICE_ID || fp_time_by_id_find(&launches->ends, call.id, &known))
            continue; // the first call of a correlation is the outermost
        if (fp_time_by_id_add(&launches->ends, call.id, call.start_ns + call.dur_ns) != 0 ||
            fp_time_by_id_add(&launches->groups, call.id, call.group) != 0)
            return -ENOMEM;
    }
    return 0;
}

// Whether the call has the correlation of one that was seen in another list and neither holds the other.
static bool is_anothers(const struct fp_launches *launches, const struct fp_slice *call, int64_t list,
                        int64_t other_list) {
    struct fp_slice other;
    size_t at = SIZE_MAX;
    return other_list != list &&
           find_in_role(launches, (uint32_t)(other_list / (int64_t)CALL_ROLES),
                        (size_t)other_list % CALL_ROLES, call->id, &at, &other) &&
           !holds(&other, call) && !holds(call, &other);
}

static int look_in(struct fp_launches *launches, struct fp_time_by_id *seen, const struct fp_slices *calls,
                   int64_t list, bool wholly) {
    int code = 0;
    for (size_t i = 0; calls && !code && !launches->is_shared && i < calls->count; i++) {
        struct fp_slice call = fp_slices_get(calls, i);
        int64_t other_list;
        if (call.id == FP_NO_SLICE_ID || (!wholly && call.id % 64 != 0))
            continue;
        if (fp_time_by_id_find(seen, call.id, &other_list))
            launches->is_shared = is_anothers(launches, &call, list, other_list);
        else
            code = fp_time_by_id_add(seen, call.id, list);
    }
    return code;
}

// Two producers that both count from 1 share nearly all their numbers, so that a part of them shows it. Which
// part hangs on the number: it is the same in each thread.
static int look_for_shared(struct fp_launches *launches) {
    const struct fp_stats *stats = launches->stats;
    struct fp_time_by_id seen = { 0 }; // correlation -> list
    size_t calls = 0, lists = stats->lane_count <= LANES_MAX ? stats->lane_count * CALL_ROLES : 0;
    int code = 0;
    for (size_t list = 0; list < lists; list++) {
        const struct fp_slices *here = calls_of(stats, (uint32_t)(list / CALL_ROLES), list % CALL_ROLES);
        calls += here ? here->count : 0;
    }
    for (size_t list = 0; !code && !launches->is_shared && list < lists; list++)
        code = look_in(launches, &seen, calls_of(stats, (uint32_t)(list / CALL_ROLES), list % CALL_ROLES),
                       (int64_t)list, calls <= LOOKED_AT_WHOLLY);
    fp_time_by_id_free(&seen);
    return code;
}

int fp_launches_begin(struct fp_launches *launches, const struct fp_stats *stats) {
    int code = 0;
    memset(launches, 0, sizeof(*launches));
    launches->stats = stats;
    for (uint32_t lane = 0; !code && lane < stats->lane_count; lane++)
        for (size_t role = 0; !code && role < CALL_ROLES; role++)
            code = keep_ends(launches, calls_of(stats, lane, role));
    return code ? code : look_for_shared(launches);
}

void fp_launches_free(struct fp_launches *launches) {
    fp_time_by_id_free(&launches->ends);
    fp_time_by_id_free(&launches->groups);
}
