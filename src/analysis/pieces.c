// pieces.c - where the slices of one thread can be taken apart.
//
// In:  sorted slices by role.
// Out: pieces. For each chunk of slices the latest end before it is noted once; whether something is open at a moment
//      then takes a look at one chunk of each role.

#include "analysis/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LOOKS 256 // for one thread's moments, in all: a file that offers few is not searched for long

struct reach {
    const struct fp_slices *slices;
    int64_t *ends; // for each chunk, the latest end of the slices before it
};

static int reach_begin(struct reach *reach, const struct fp_slices *slices) {
    int64_t latest = INT64_MIN;
    reach->slices = slices;
    reach->ends = malloc((slices->count / FP_SLICE_CHUNK + 1) * sizeof(*reach->ends));
    if (!reach->ends)
        return -ENOMEM;
    for (size_t i = 0; i < slices->count; i++) {
        if (i % FP_SLICE_CHUNK == 0)
            reach->ends[i / FP_SLICE_CHUNK] = latest;
        struct fp_slice slice = fp_slices_get(slices, i);
        if (slice.start_ns + slice.dur_ns > latest)
            latest = slice.start_ns + slice.dur_ns;
    }
    return 0;
}

// The latest end of what begins before the moment; INT64_MIN where nothing does.
static int64_t latest_end(const struct reach *reach, int64_t moment_ns) {
    size_t count = fp_slices_begun_before(reach->slices, moment_ns);
    if (!count)
        return INT64_MIN;
    size_t chunk = (count - 1) / FP_SLICE_CHUNK;
    int64_t latest = reach->ends[chunk];
    for (size_t i = chunk * FP_SLICE_CHUNK; i < count; i++) {
        struct fp_slice slice = fp_slices_get(reach->slices, i);
        if (slice.start_ns + slice.dur_ns > latest)
            latest = slice.start_ns + slice.dur_ns;
    }
    return latest;
}

// The first moment from *moment_ns on at which nothing is open. False where none is found.
static bool find_moment(const struct reach *reaches, size_t count, int64_t *moment_ns, unsigned *looks) {
    for (; *looks; --*looks) {
        int64_t latest = INT64_MIN;
        for (size_t i = 0; i < count; i++) {
            int64_t end = latest_end(&reaches[i], *moment_ns);
            latest = end > latest ? end : latest;
        }
        if (latest <= *moment_ns)
            return true;
        *moment_ns = latest;
    }
    return false;
}

static struct fp_piece *add_piece(struct fp_pieces *pieces) {
    if (!fp_array_reserve(&pieces->pieces, pieces->count, &pieces->room, sizeof(*pieces->pieces)))
        return NULL;
    struct fp_piece *piece = &pieces->pieces[pieces->count++];
    memset(piece, 0, sizeof(*piece));
    return piece;
}

// Ends the last piece at the moment and begins another there. `by_role` may hold no role but FP_ROLE_PENDING, which
// is in no tree: all of it goes to the first piece.
static int cut_at(const struct fp_slices *const by_role[FP_ROLE_COUNT], int64_t moment_ns,
                  struct fp_pieces *pieces) {
    struct fp_piece *next = pieces->count || add_piece(pieces) ? add_piece(pieces) : NULL;
    if (!next)
        return -ENOMEM;
    for (int role = 0; role < FP_ROLE_COUNT; role++)
        if (by_role[role])
            next[-1].to[role] = next->from[role] = role == FP_ROLE_PENDING
                                                       ? by_role[role]->count
                                                       : fp_slices_begun_before(by_role[role], moment_ns);
    return 0;
}

static int cut_by(const struct reach *reaches, size_t count,
                  const struct fp_slices *const by_role[FP_ROLE_COUNT], const struct fp_slices *most,
                  size_t step, struct fp_pieces *pieces) {
    unsigned looks = LOOKS;
    int code = 0;
    for (size_t at = step; !code && at < most->count;) {
        int64_t moment_ns = fp_slices_get(most, at).start_ns;
        if (!find_moment(reaches, count, &moment_ns, &looks))
            break;
        at = fp_slices_begun_before(most, moment_ns);
        if (at < most->count)
            code = cut_at(by_role, moment_ns, pieces);
        at += step;
    }
    for (int role = 0; pieces->count && role < FP_ROLE_COUNT; role++)
        if (by_role[role])
            pieces->pieces[pieces->count - 1].to[role] = by_role[role]->count;
    return code;
}

int fp_pieces_cut(const struct fp_slices *const by_role[FP_ROLE_COUNT], size_t size,
                  struct fp_pieces *pieces) {
    struct reach reaches[FP_ROLE_COUNT] = { { NULL, NULL } };
    const struct fp_slices *most = NULL;
    size_t count = 0, total = 0;
    int code = 0;
    memset(pieces, 0, sizeof(*pieces));
    for (int role = 0; role < FP_ROLE_PENDING; role++) {
        const struct fp_slices *slices = by_role[role];
        total += slices ? slices->count : 0;
        if (slices && (!most || slices->count > most->count))
            most = slices;
    }
    if (total / 2 < size)
        return 0;
    for (int role = 0; !code && role < FP_ROLE_PENDING; role++)
        if (by_role[role])
            code = reach_begin(&reaches[count++], by_role[role]);
    if (!code)
        code = cut_by(reaches, count, by_role, most, most->count / (total / size), pieces);
    for (size_t i = 0; i < count; i++)
        free(reaches[i].ends);
    return code;
}

void fp_pieces_free(struct fp_pieces *pieces) {
    free(pieces->pieces);
    memset(pieces, 0, sizeof(*pieces));
}
