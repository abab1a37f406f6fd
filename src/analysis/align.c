// align.c - how far apart the clocks of ranks stand, and who came last.
//
// In:  sorted collectives of each rank.
// Out: offsets. Every rank is measured against the first; one that shares no collective with it, against
//      any rank that was measured already.

#include "analysis/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BY_ORDER 3
#define LEAST_FOR_DRIFT 8
#define SLACK_NS 20000 // reading a clock on a device and rounding it cost up to this
#define DRIFT_PAIRS 64

struct pair {
    int64_t at_ns;    // end on this rank's clock
    int64_t ahead_ns; // this end minus the other's
    const struct fp_collective *own, *other;
};

static const struct {
    const char *word, *sentence;
} states[] = {
    [FP_ALIGN_REFERENCE] = { "reference", "the others are measured against it" },
    [FP_ALIGN_PROVEN] = { "proven", "several collectives agree on it" },
    [FP_ALIGN_SINGLE] = { "1 collective", "it rests on one collective, and there is nothing to check it by" },
    [FP_ALIGN_LOOSE] = { "broadcasts",
                         "it shares only broadcasts, sends and the like, which a rank may leave "
                         "before another has come" },
    [FP_ALIGN_NO_MATCH] = { "no match", "it shares no collective with the others" },
    [FP_ALIGN_UNEVEN] = { "uneven", "there are no sequence numbers, and the ranks have unlike numbers of "
                                    "collectives, so "
                                    "which belong together cannot be told" },
    [FP_ALIGN_TOO_FEW] = { "too few", "there are no sequence numbers, and fewer than 3 collectives" },
    [FP_ALIGN_SCATTERED] = { "scattered", "the ends of its collectives do not agree with the others'" },
    [FP_ALIGN_CONTRADICTED] = { "contradicted",
                                "with any offset a rank would leave a collective before another came" },
};

const char *fp_align_word(enum fp_align_state state) {
    return states[state].word;
}

const char *fp_align_sentence(enum fp_align_state state) {
    return states[state].sentence;
}

static int compare_ns(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static int64_t median(int64_t *values, size_t count) {
    qsort(values, count, sizeof(*values), compare_ns);
    int64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

static int64_t distance(int64_t a, int64_t b) {
    return a < b ? b - a : a - b;
}

// What two ranks have in common.
struct common {
    struct pair *pairs;
    size_t count;
    bool by_order, uneven;
};

// All pairs of one kind: collectives that all leave together, or the others where there are none of these.
// `pairs` has room for the smaller side.
static void match(const struct fp_collectives *own, const struct fp_collectives *other, bool together,
                  struct common *common) {
    size_t i = 0, j = 0;
    common->count = 0;
    common->by_order = common->uneven = false;
    while (i < own->count && j < other->count) {
        const struct fp_collective *a = &own->at[i], *b = &other->at[j];
        if (a->key != b->key) {
            if (a->key < b->key)
                i += fp_collectives_run(own, i);
            else
                j += fp_collectives_run(other, j);
            continue;
        }
        size_t own_run = fp_collectives_run(own, i), other_run = fp_collectives_run(other, j);
        size_t own_end = i + own_run, other_end = j + other_run;
        bool usable = a->ends_together == together && (a->by_seq || own_run == other_run);
        common->uneven |= a->ends_together == together && !usable;
        for (; i < own_end && j < other_end; a = &own->at[i], b = &other->at[j]) {
            if (a->number != b->number) {
                if (a->number < b->number)
                    i++;
                else
                    j++;
                continue;
            }
            if (usable)
                common->pairs[common->count++] = (struct pair){ a->end_ns, a->end_ns - b->end_ns, a, b };
            common->by_order |= usable && !a->by_seq;
            i++;
            j++;
        }
        i = own_end;
        j = other_end;
    }
}

static int compare_pairs(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

// The median slope between far pairs, as Theil and Sen do: one odd collective does not turn it.
static double slope(const struct pair *pairs, size_t count) {
    double slopes[DRIFT_PAIRS];
    size_t half = count / 2, used = 0;
    for (size_t k = 0; k < DRIFT_PAIRS && k < half; k++) {
        size_t i = half <= DRIFT_PAIRS ? k : k * half / DRIFT_PAIRS;
        int64_t dt = pairs[i + count - half].at_ns - pairs[i].at_ns;
        if (dt > 0)
            slopes[used++] = (double)(pairs[i + count - half].ahead_ns - pairs[i].ahead_ns) / (double)dt;
    }
    if (!used)
        return 0;
    qsort(slopes, used, sizeof(*slopes), compare_doubles);
    return slopes[used / 2];
}

// How far the differences lie from offset and drift.
static void measure_spread(struct fp_align_rank *rank, const struct common *common, int64_t *scratch) {
    rank->worst_ns = 0;
    for (size_t i = 0; i < common->count; i++) {
        double drifted =
            rank->drift_known ? rank->drift * (double)(common->pairs[i].at_ns - rank->middle_ns) : 0;
        scratch[i] = distance(common->pairs[i].ahead_ns, rank->offset_ns + (int64_t)drifted);
        rank->worst_ns = scratch[i] > rank->worst_ns ? scratch[i] : rank->worst_ns;
    }
    rank->spread_ns = median(scratch, common->count);
}

static void estimate(struct fp_align_rank *rank, struct common *common, int64_t *scratch) {
    qsort(common->pairs, common->count, sizeof(*common->pairs), compare_pairs);
    for (size_t i = 0; i < common->count; i++)
        scratch[i] = common->pairs[i].ahead_ns;
    rank->offset_ns = median(scratch, common->count);
    rank->middle_ns = common->pairs[common->count / 2].at_ns;
    rank->drift_known = false;
    rank->drift = 0;
    measure_spread(rank, common, scratch);
    if (common->count < LEAST_FOR_DRIFT)
        return;
    // A drift is one only where it explains more than chance: the spread falls by half.
    int64_t before = rank->spread_ns, worst = rank->worst_ns, offset = rank->offset_ns;
    rank->drift = slope(common->pairs, common->count);
    rank->drift_known = true;
    for (size_t i = 0; i < common->count; i++)
        scratch[i] = common->pairs[i].ahead_ns -
                     (int64_t)(rank->drift * (double)(common->pairs[i].at_ns - rank->middle_ns));
    rank->offset_ns = median(scratch, common->count);
    measure_spread(rank, common, scratch);
    if (rank->spread_ns * 2 >= before) {
        rank->drift_known = false;
        rank->spread_ns = before;
        rank->worst_ns = worst;
        rank->offset_ns = offset;
    }
}

// The offset of the rank against `other`, which is aligned, as fp_align_time would be without it.
static bool causal(const struct fp_align_rank *rank, const struct common *common) {
    size_t wrong = 0;
    int64_t slack = SLACK_NS + rank->spread_ns * 4;
    for (size_t i = 0; i < common->count; i++) {
        const struct pair *pair = &common->pairs[i];
        int64_t ahead = rank->offset_ns;
        if (rank->drift_known)
            ahead += (int64_t)(rank->drift * (double)(pair->at_ns - rank->middle_ns));
        wrong += pair->own->end_ns - ahead + slack < pair->other->start_ns ||
                 pair->other->end_ns + slack < pair->own->start_ns - ahead;
    }
    return wrong * 20 <= common->count;
}

// The median time from one collective to the next: ends that scatter by as much may belong to others.
static int64_t period(const struct common *common, int64_t *scratch) {
    if (common->count < 2)
        return INT64_MAX;
    for (size_t i = 1; i < common->count; i++)
        scratch[i - 1] = common->pairs[i].at_ns - common->pairs[i - 1].at_ns;
    return median(scratch, common->count - 1);
}

static enum fp_align_state judge(struct fp_align_rank *rank, struct common *common, int64_t *scratch) {
    rank->matched = common->count;
    rank->by_order = common->by_order;
    if (!common->count)
        return common->uneven ? FP_ALIGN_UNEVEN : FP_ALIGN_NO_MATCH;
    estimate(rank, common, scratch);
    if (common->by_order && common->count < LEAST_BY_ORDER)
        return FP_ALIGN_TOO_FEW;
    if (!common->pairs[0].own->ends_together)
        return FP_ALIGN_LOOSE;
    if (common->count == 1)
        return FP_ALIGN_SINGLE;
    if (!causal(rank, common))
        return FP_ALIGN_CONTRADICTED;
    if (rank->spread_ns > SLACK_NS && rank->spread_ns > period(common, scratch) / 2)
        return FP_ALIGN_SCATTERED;
    return FP_ALIGN_PROVEN;
}

// Measures a rank against another. 0 or -ENOMEM.
static int measure(struct fp_align_rank *ranks, size_t own, size_t other) {
    struct fp_align_rank *rank = &ranks[own];
    size_t room = rank->collectives->count < ranks[other].collectives->count
                      ? rank->collectives->count
                      : ranks[other].collectives->count;
    struct common common = { .pairs = malloc((room + 1) * sizeof(*common.pairs)) };
    int64_t *scratch = malloc((room + 1) * sizeof(*scratch));
    int code = common.pairs && scratch ? 0 : -ENOMEM;
    if (!code) {
        match(rank->collectives, ranks[other].collectives, true, &common);
        bool uneven = common.uneven;
        if (!common.count) {
            match(rank->collectives, ranks[other].collectives, false, &common);
            common.uneven |= uneven;
        }
        rank->against = other;
        rank->state = judge(rank, &common, scratch);
        if (fp_align_holds(rank->state) && other != 0) { // to the first rank's clock
            rank->offset_ns += ranks[other].offset_ns;
            rank->spread_ns += ranks[other].spread_ns;
        }
    }
    free(common.pairs);
    free(scratch);
    return code;
}

int fp_align_ranks(struct fp_align_rank *ranks, size_t count) {
    int code = 0;
    ranks[0].state = FP_ALIGN_REFERENCE;
    for (size_t i = 1; i < count && !code; i++)
        code = measure(ranks, i, 0);
    bool more = true;
    while (more && !code) { // through ranks that were measured already
        more = false;
        for (size_t i = 1; i < count && !code; i++) {
            if (ranks[i].state != FP_ALIGN_NO_MATCH)
                continue;
            for (size_t j = 1; j < count && !code && ranks[i].state == FP_ALIGN_NO_MATCH; j++)
                if (j != i && fp_align_holds(ranks[j].state))
                    code = measure(ranks, i, j);
            more = more || ranks[i].state != FP_ALIGN_NO_MATCH;
        }
    }
    return code;
}

int64_t fp_align_time(const struct fp_align_rank *rank, int64_t ns) {
    int64_t drifted = rank->drift_known ? (int64_t)(rank->drift * (double)(ns - rank->middle_ns)) : 0;
    return ns - rank->offset_ns - drifted;
}

// Meetings.

struct visit {
    uint64_t key, number;
    int64_t start_ns, end_ns;
    uint32_t name, rank;
    bool by_seq, together;
};

#define APART_NS 100000 // ends of one broadcast or exchange; further apart, they were not one

static int compare_visits(const void *left, const void *right) {
    const struct visit *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int compare_meetings(const void *left, const void *right) {
    const struct fp_meeting *a = left, *b = right;
    return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static struct fp_meeting meet(const struct visit *visits, size_t count) {
    const struct visit *last = &visits[count - 1];
    struct fp_meeting meeting = { last->name,
                                  last->number,
                                  last->by_seq,
                                  count,
                                  last->rank,
                                  last->start_ns,
                                  visits[count - 2].start_ns,
                                  visits[0].start_ns,
                                  0 };
    int64_t first_end = INT64_MAX, last_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        first_end = visits[i].end_ns < first_end ? visits[i].end_ns : first_end;
        last_end = visits[i].end_ns > last_end ? visits[i].end_ns : last_end;
    }
    meeting.ends_ns = last_end - first_end;
    return meeting;
}

// By order, a key is matched only where its ranks have equally many: their visits then divide evenly.
static bool even(const struct visit *visits, size_t count) {
    size_t ranks = 0;
    for (size_t i = 0; i < count && visits[i].number == visits[0].number; i++)
        ranks++;
    return ranks && count % ranks == 0 && visits[count - 1].number + 1 == count / ranks;
}

static size_t find_meetings(const struct visit *visits, size_t count, struct fp_meeting *meetings) {
    size_t found = 0;
    for (size_t key = 0, key_end; key < count; key = key_end) {
        for (key_end = key; key_end < count && visits[key_end].key == visits[key].key;)
            key_end++;
        if (!visits[key].by_seq && !even(visits + key, key_end - key))
            continue;
        for (size_t i = key, j; i < key_end; i = j) {
            for (j = i; j < key_end && visits[j].number == visits[i].number;)
                j++;
            if (j - i < 2)
                continue;
            meetings[found] = meet(visits + i, j - i);
            found += visits[i].together || meetings[found].ends_ns <= APART_NS;
        }
    }
    return found;
}

int fp_align_meetings(const struct fp_align_rank *ranks, size_t count, struct fp_meeting **meetings,
                      size_t *meeting_count) {
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        total += fp_align_holds(ranks[i].state) ? ranks[i].collectives->count : 0;
    struct visit *visits = malloc((total + 1) * sizeof(*visits));
    *meetings = malloc((total / 2 + 1) * sizeof(**meetings));
    *meeting_count = 0;
    if (!visits || !*meetings) {
        free(visits);
        free(*meetings);
        *meetings = NULL;
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; fp_align_holds(ranks[i].state) && k < ranks[i].collectives->count; k++) {
            const struct fp_collective *one = &ranks[i].collectives->at[k];
            visits[used++] = (struct visit){ one->key,
                                             one->number,
                                             fp_align_time(&ranks[i], one->start_ns),
                                             fp_align_time(&ranks[i], one->end_ns),
                                             one->name,
                                             (uint32_t)i,
                                             one->by_seq,
                                             one->ends_together };
        }
    qsort(visits, used, sizeof(*visits), compare_visits);
    *meeting_count = find_meetings(visits, used, *meetings);
    qsort(*meetings, *meeting_count, sizeof(**meetings), compare_meetings);
    free(visits);
    return 0;
}
