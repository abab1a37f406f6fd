// fix.c - what must change in a trace so that every parser reads it and no viewer loses a slice.
//
// In:  a trace, twice.
// Out: edits. The first reading gathers slices by lane; lanes.c then says which of them are clipped or
//      moved; the second reading finds the edit of each event by its number. Events without an edit,
//      nearly all of them, are copied.

#include "analysis/fix.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idmap.h"
#include "analysis/kinds.h"
#include "analysis/lanes.h"
#include "analysis/metadata.h"
#include "analysis/slices.h"

static const struct {
    const char *name, *sentence;
} rows[FP_FIX_KINDS] = {
    [FP_FIX_LOST] = { "lost", "stretches that could not be read; what was in them is lost" },
    [FP_FIX_EVENT_CUT] = { "event_cut", "event cut off by the end of the file, left out" },
    [FP_FIX_CLOSED_FILE] = { "closed_file", "list or object that was never closed, closed" },
    [FP_FIX_TRAILER] = { "trailer", "broken text behind the events, left out" },
    [FP_FIX_NESTED_LIST] = { "nested_list", "odd lists of events, made one list" },
    [FP_FIX_ENCODING] = { "encoding", "UTF-16 or a byte-order mark, written as plain UTF-8" },
    [FP_FIX_UTF8] = { "utf8", "bytes that are no UTF-8, written as U+FFFD" },
    [FP_FIX_ESCAPES] = { "escapes", "backslashes that JSON wants doubled, doubled" },
    [FP_FIX_CONTROLS] = { "controls", "bare control bytes, escaped" },
    [FP_FIX_NUMBERS] = { "numbers", "NaN and infinities, written as null" },
    [FP_FIX_COMMAS] = { "commas", "commas before a closing brace or bracket, left out" },
    [FP_FIX_COUNTERS] = { "counters", "counter samples without a finite value, left out" },
    [FP_FIX_NO_EVENT] = { "no_event", "elements of the list that are no events, left out" },
    [FP_FIX_TIMELESS] = { "timeless", "events whose time is no number, left out" },
    [FP_FIX_TIME_TEXT] = { "time_text", "times written as text, made numbers" },
    [FP_FIX_OPEN_SLICE] = { "open_slice",
                            "slices without a true duration, ended with what holds them or the trace" },
    [FP_FIX_OPEN_BEGIN] = { "open_begin", "begins without an end, ended likewise" },
    [FP_FIX_LONE_END] = { "lone_end", "ends without a begin, made instants" },
    [FP_FIX_CLIPPED] = { "clipped", "slices that outlive a neighbour by rounding, clipped" },
    [FP_FIX_MOVED] = { "moved", "slices that cross others, moved to extra lanes" },
    [FP_FIX_ARROWS_MOVED] = { "arrows_moved", "arrow ends that stand on moved slices, moved with them" },
    [FP_FIX_LANES] = { "lanes", "extra lanes" },
    [FP_FIX_STILL_CROSSING] = { "still_crossing", "slices that still cross: too many overlap there" },
    [FP_FIX_METADATA] = { "metadata", "repetitions of the same metadata, left out" },
    [FP_FIX_SECRETS] = { "secrets", "values of secrets, replaced by [removed]" },
};

const char *fp_fix_name(enum fp_fix_kind kind) {
    return rows[kind].name;
}

const char *fp_fix_sentence(enum fp_fix_kind kind) {
    return rows[kind].sentence;
}

enum edit_flag {
    EDIT_END = 1,     // the event's end: its duration, or the time of the E that ends it
    EDIT_TRACK = 2,   // another lane
    EDIT_INSTANT = 4, // a lone end
    EDIT_CLOSE = 8,   // a begin that gets an end of ours at end_ns
};

struct edit {
    int64_t start_ns, end_ns;
    uint32_t lane, track;
    uint8_t flags;
};

// What a slice is, in fp_slice's group.
enum slice_kind {
    SLICE_WHOLE,      // X
    SLICE_OPEN,       // X without a true duration
    SLICE_PAIR,       // B with its E
    SLICE_OPEN_BEGIN, // B alone
};

struct lane {
    struct fp_slices slices;
    struct fp_slices marks; // B and E: group 0 and 1
    char *name;             // as metadata gives it
    uint32_t moved;
    uint64_t *tids; // of its extra tracks, from track 1
    uint32_t track_count;
};

struct fp_fix {
    struct fp_fix_count counts[FP_FIX_KINDS];
    struct lane *lanes;
    size_t lane_count;
    struct {
        uint32_t lane;
        int64_t start_ns;
        uint64_t number;
    } * opens; // X without a true duration
    size_t open_count, open_room;
    struct fp_idmap end_of;  // number of a B: number of its E
    struct fp_idmap edit_of; // number of an event: place in edits, plus one
    struct edit *edits;
    size_t edit_count, edit_room;
    bool any_time, has_window;
    int64_t last_ns, window_ns;
    bool whole_microseconds;
    uint64_t next_tid;
    struct fp_idmap tids;
    struct fp_idmap said;    // hashes of metadata written
    struct fp_text *pending; // ends of ours, to be written last; each text is its own allocation
    size_t pending_count, pending_room;
    const struct fp_cut *kept;
    uint32_t placing; // lane that is being laid
    int failed;
};

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

static void count(struct fp_fix *fix, enum fp_fix_kind kind, uint64_t number) {
    if (!fix->counts[kind].count++)
        fix->counts[kind].first_event = number;
}

static void count_many(struct fp_fix *fix, enum fp_fix_kind kind, uint64_t many) {
    if (many && !fix->counts[kind].count)
        fix->counts[kind].first_event = UINT64_MAX;
    fix->counts[kind].count += many;
}

struct fp_fix_count fp_fix_changes(const struct fp_fix *fix, enum fp_fix_kind kind) {
    return fix->counts[kind];
}

void fp_fix_note_secrets(struct fp_fix *fix, uint64_t many) {
    count_many(fix, FP_FIX_SECRETS, many);
}

// Gathering.

static struct lane *lane_at(struct fp_fix *fix, uint32_t lane) {
    if (lane >= fix->lane_count) {
        size_t room = (size_t)lane * 2 + 16;
        struct lane *grown = realloc(fix->lanes, room * sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + fix->lane_count, 0, (room - fix->lane_count) * sizeof(*grown));
        fix->lanes = grown;
        fix->lane_count = room;
    }
    return &fix->lanes[lane];
}

static bool has_time(const struct fp_trace_event *event) {
    return event->ts_state == FP_NUMBER_OK;
}

// A duration that says how long: neither missing nor a mark for "not finished".
static bool true_end(const struct fp_trace_event *event, int64_t *end_ns) {
    return event->dur_state == FP_NUMBER_OK && event->dur_ns >= 0 &&
           !__builtin_add_overflow(event->ts_ns, event->dur_ns, end_ns);
}

static void note_last(struct fp_fix *fix, int64_t ns) {
    if (!fix->any_time || ns > fix->last_ns)
        fix->last_ns = ns;
    fix->any_time = true;
}

static int note_slice(struct fp_fix *fix, struct lane *lane, const struct fp_trace_event *event) {
    int64_t end_ns;
    if (true_end(event, &end_ns)) {
        note_last(fix, end_ns);
        if (event->category == FP_CAT_TRACE && fp_text_begins(event->name, "PyTorch Profiler")) {
            fix->window_ns = end_ns;
            fix->has_window = true;
        }
        return fp_slices_add(&lane->slices,
                             (struct fp_slice){ event->ts_ns, event->dur_ns, SLICE_WHOLE, event->number });
    }
    note_last(fix, event->ts_ns);
    if (!grow((void **)&fix->opens, &fix->open_room, fix->open_count, sizeof(*fix->opens)))
        return -ENOMEM;
    fix->opens[fix->open_count].lane = event->lane;
    fix->opens[fix->open_count].start_ns = event->ts_ns;
    fix->opens[fix->open_count++].number = event->number;
    return 0;
}

static int note_name(struct lane *lane, const struct fp_trace_event *event) {
    const struct fp_trace_field *name = fp_event_arg(event, FP_ARG_NAME);
    if (!fp_text_equals(event->name, "thread_name") || !name || name->type != '"')
        return 0;
    char *text = malloc(name->value_size + 1u);
    if (!text)
        return -ENOMEM;
    text[fp_text_unescape(fp_field_text(name), text)] = 0;
    free(lane->name);
    lane->name = text;
    return 0;
}

static int gather(void *user, const struct fp_trace_event *event) {
    struct fp_fix *fix = user;
    if (fix->kept && !fp_cut_keeps(fix->kept, event->number))
        return 0;
    struct lane *lane = lane_at(fix, event->lane);
    if (!lane)
        return -ENOMEM;
    if (event->phase == 'M')
        return note_name(lane, event);
    if (!has_time(event))
        return 0;
    if (event->phase == 'X')
        return note_slice(fix, lane, event);
    note_last(fix, event->ts_ns);
    if (event->phase != 'B' && event->phase != 'E')
        return 0;
    return fp_slices_add(&lane->marks,
                         (struct fp_slice){ event->ts_ns, 0, event->phase == 'E', event->number });
}

// Planning.

static struct edit *edit_at(struct fp_fix *fix, uint64_t number) {
    uint64_t *place = fp_idmap_at(&fix->edit_of, number, NULL);
    if (!place ||
        (!*place && !grow((void **)&fix->edits, &fix->edit_room, fix->edit_count, sizeof(*fix->edits)))) {
        fix->failed = -ENOMEM;
        return NULL;
    }
    if (!*place) {
        fix->edits[fix->edit_count] = (struct edit){ 0 };
        *place = ++fix->edit_count;
    }
    return &fix->edits[*place - 1];
}

static void set_end(struct fp_fix *fix, uint64_t number, int64_t start_ns, int64_t end_ns) {
    uint64_t *end = fp_idmap_find(&fix->end_of, number);
    struct edit *edit = edit_at(fix, end ? *end : number);
    if (!edit)
        return;
    edit->flags |= EDIT_END;
    edit->start_ns = start_ns;
    edit->end_ns = end_ns;
}

static void set_track(struct fp_fix *fix, uint64_t number, uint32_t lane, uint32_t track) {
    uint64_t *end = fp_idmap_find(&fix->end_of, number);
    uint64_t both[] = { number, end ? *end : number };
    for (int i = 0; i < 2; i++) {
        struct edit *edit = edit_at(fix, both[i]);
        if (!edit)
            return;
        edit->flags |= EDIT_TRACK;
        edit->lane = lane;
        edit->track = track;
    }
}

static void on_clipped(void *user, uint64_t number, int64_t start_ns, int64_t end_ns) {
    struct fp_fix *fix = user;
    count(fix, FP_FIX_CLIPPED, number);
    set_end(fix, number, start_ns, end_ns);
}

// Where the profiler's window, or else the trace, ends for something that began at `start_ns`.
static int64_t closing_time(const struct fp_fix *fix, int64_t start_ns) {
    int64_t end = fix->has_window && fix->window_ns >= start_ns ? fix->window_ns : fix->last_ns, dur;
    return end < start_ns || __builtin_sub_overflow(end, start_ns, &dur) ? start_ns : end;
}

// Begins and ends of a lane become slices. A stack in order of time; equal times keep the file's order.
static int pair_marks(struct fp_fix *fix, struct lane *lane) {
    struct fp_slices *marks = &lane->marks;
    uint64_t *stack = NULL; // places in marks
    size_t depth = 0, room = 0;
    int code = 0;
    fp_slices_sort(marks);
    for (size_t i = 0; i < marks->count && !code; i++) {
        struct fp_slice mark = fp_slices_get(marks, i);
        if (mark.group == 0) {
            if (grow((void **)&stack, &room, depth, sizeof(*stack)))
                stack[depth++] = i;
            else
                code = -ENOMEM;
        } else if (!depth) {
            struct edit *edit = edit_at(fix, mark.id);
            code = edit ? 0 : -ENOMEM;
            if (edit)
                edit->flags |= EDIT_INSTANT;
            count(fix, FP_FIX_LONE_END, mark.id);
        } else {
            struct fp_slice begin = fp_slices_get(marks, stack[--depth]);
            uint64_t *end = fp_idmap_at(&fix->end_of, begin.id, NULL);
            code = end ? 0 : -ENOMEM;
            if (end)
                *end = mark.id;
            int64_t dur;
            if (!code && !__builtin_sub_overflow(mark.start_ns, begin.start_ns, &dur))
                code = fp_slices_add(&lane->slices,
                                     (struct fp_slice){ begin.start_ns, dur, SLICE_PAIR, begin.id });
        }
    }
    while (depth && !code) {
        struct fp_slice begin = fp_slices_get(marks, stack[--depth]);
        int64_t end = closing_time(fix, begin.start_ns);
        code = fp_slices_add(&lane->slices, (struct fp_slice){ begin.start_ns, end - begin.start_ns,
                                                               SLICE_OPEN_BEGIN, begin.id });
    }
    free(stack);
    fp_slices_free(marks);
    return code;
}

static int add_opens(struct fp_fix *fix) {
    for (size_t i = 0; i < fix->open_count; i++) {
        int64_t start = fix->opens[i].start_ns;
        int64_t dur = closing_time(fix, start) - start;
        struct lane *lane = lane_at(fix, fix->opens[i].lane);
        if (fp_slices_add(&lane->slices, (struct fp_slice){ start, dur, SLICE_OPEN, fix->opens[i].number }) !=
            0)
            return -ENOMEM;
    }
    return 0;
}

static void note_placed(struct fp_fix *fix, uint32_t lane, const struct fp_slice *slice,
                        const struct fp_placed *placed) {
    if (slice->group == SLICE_OPEN) {
        count(fix, FP_FIX_OPEN_SLICE, slice->id);
        set_end(fix, slice->id, slice->start_ns, placed->end_ns);
    } else if (slice->group == SLICE_OPEN_BEGIN) {
        struct edit *edit = edit_at(fix, slice->id);
        count(fix, FP_FIX_OPEN_BEGIN, slice->id);
        if (edit) {
            edit->flags |= EDIT_CLOSE;
            edit->end_ns = placed->end_ns;
        }
    } else if (placed->end_ns != slice->start_ns + slice->dur_ns) {
        on_clipped(fix, slice->id, slice->start_ns, placed->end_ns);
    }
    if (placed->crosses)
        count(fix, FP_FIX_STILL_CROSSING, slice->id);
    if (placed->track) {
        count(fix, FP_FIX_MOVED, slice->id);
        set_track(fix, slice->id, lane, placed->track);
        fix->lanes[lane].moved++;
    }
}

// Lays one lane. Its slices are kept where arrows may have to follow some of them.
static int lay_lane(struct fp_fix *fix, uint32_t place, struct fp_tracks *tracks) {
    struct lane *lane = &fix->lanes[place];
    int code = 0;
    fp_tracks_reset(tracks);
    fp_slices_sort(&lane->slices);
    for (size_t i = 0; i < lane->slices.count && !code; i++) {
        struct fp_slice slice = fp_slices_get(&lane->slices, i);
        bool open = slice.group == SLICE_OPEN || slice.group == SLICE_OPEN_BEGIN;
        struct fp_placed placed;
        code = fp_tracks_place(
            tracks, (struct fp_open_slice){ slice.start_ns, slice.start_ns + slice.dur_ns, slice.id }, open,
            &placed);
        if (!code)
            note_placed(fix, place, &slice, &placed);
    }
    if (!lane->moved) {
        fp_slices_free(&lane->slices);
    } else if (!code) {
        lane->track_count = (uint32_t)tracks->count - 1;
        lane->tids = calloc(lane->track_count, sizeof(*lane->tids));
        code = lane->tids ? 0 : -ENOMEM;
        count_many(fix, FP_FIX_LANES, lane->track_count);
    }
    return code ? code : fix->failed;
}

// Thread numbers that the file does not use, for the extra lanes.
static int number_tracks(struct fp_fix *fix, const struct fp_reader *reader) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < fp_reader_lane_count(reader); i++) {
        const struct fp_trace_id *tid = &fp_reader_lane(reader, i)->tid;
        if (tid->kind != FP_ID_NUMBER)
            continue;
        most = tid->number > most && tid->number < 1000000000 ? tid->number : most;
        if (!fp_idmap_at(&fix->tids, tid->number, NULL))
            return -ENOMEM;
    }
    uint64_t next = most + 1;
    for (size_t i = 0; i < fix->lane_count; i++)
        for (uint32_t track = 0; track < fix->lanes[i].track_count; track++) {
            while (fp_idmap_find(&fix->tids, next))
                next++;
            fix->lanes[i].tids[track] = next++;
        }
    return 0;
}

static int plan(struct fp_fix *fix, const struct fp_reader *reader) {
    struct fp_reader_summary summary;
    struct fp_tracks tracks = { .clipped = on_clipped, .user = fix };
    fp_reader_summarise(reader, &summary);
    fix->whole_microseconds = summary.whole_microseconds;
    tracks.tolerance_ns = summary.whole_microseconds ? 1000 : 1;
    int code = add_opens(fix);
    for (uint32_t i = 0; i < fix->lane_count && !code; i++) {
        code = pair_marks(fix, &fix->lanes[i]);
        if (!code)
            code = lay_lane(fix, i, &tracks);
    }
    fp_tracks_free(&tracks);
    return code ? code : number_tracks(fix, reader);
}

int fp_fix_plan(const char *path, const struct fp_reader_options *options, const struct fp_cut *kept,
                struct fp_fix **out, struct fp_error *err) {
    struct fp_reader *reader = NULL;
    struct fp_fix *fix = *out = calloc(1, sizeof(*fix));
    int code = -ENOMEM;
    if (fix) {
        fix->kept = kept;
        code = fp_reader_open(path, options, &reader, err);
    }
    if (!code)
        code = fp_reader_run(reader, gather, fix, err);
    if (!code)
        code = plan(fix, reader);
    if (code == -ENOMEM)
        fp_error_set(err, "%s: not enough memory to fix it", path);
    fp_reader_close(reader);
    if (code) {
        fp_fix_free(fix);
        *out = NULL;
    }
    return code;
}

void fp_fix_free(struct fp_fix *fix) {
    if (!fix)
        return;
    for (size_t i = 0; i < fix->lane_count; i++) {
        fp_slices_free(&fix->lanes[i].slices);
        fp_slices_free(&fix->lanes[i].marks);
        free(fix->lanes[i].name);
        free(fix->lanes[i].tids);
    }
    for (size_t i = 0; i < fix->pending_count; i++)
        free((char *)fix->pending[i].at);
    free(fix->pending);
    free(fix->lanes);
    free(fix->opens);
    free(fix->edits);
    fp_idmap_free(&fix->end_of);
    fp_idmap_free(&fix->edit_of);
    fp_idmap_free(&fix->tids);
    fp_idmap_free(&fix->said);
    free(fix);
}

// Writing.

#define EDITS 24 // one event's: end, track, two of an instant, ts, dur, the caller's, values of a counter
#define TEXTS 40

// The edits of one event, and room for their texts.
struct change {
    struct fp_edit edits[EDITS];
    char texts[EDITS][TEXTS];
    size_t count;
};

static void set_field(struct change *change, const struct fp_trace_event *event, const char *key,
                      const char *text) {
    const struct fp_trace_field *field = fp_event_field(event, key);
    struct fp_edit *edit = &change->edits[change->count];
    snprintf(change->texts[change->count], TEXTS, "%s", text);
    *edit = (struct fp_edit){ field ? FP_EDIT_SET : FP_EDIT_ADD, field, key,
                              fp_text_of(change->texts[change->count]) };
    change->count++;
}

static const char *microseconds(int64_t ns, bool whole, char *out) {
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    int used = snprintf(out, TEXTS, "%s%" PRIu64, ns < 0 ? "-" : "", size / 1000);
    if (!whole || size % 1000)
        snprintf(out + used, TEXTS - (size_t)used, ".%03u", (unsigned)(size % 1000));
    return out;
}

static void set_time(const struct fp_fix *fix, struct change *change, const struct fp_trace_event *event,
                     const char *key, int64_t ns) {
    char text[TEXTS];
    set_field(change, event, key, microseconds(ns, fix->whole_microseconds, text));
}

static void set_tid(const struct fp_fix *fix, struct change *change, const struct fp_trace_event *event,
                    uint32_t track) {
    char text[TEXTS];
    snprintf(text, sizeof(text), "%" PRIu64, fix->lanes[event->lane].tids[track - 1]);
    set_field(change, event, "tid", text);
}

// The place of the last slice that starts at or before `ns`, plus one.
static size_t last_before(const struct fp_slices *slices, int64_t ns) {
    size_t low = 0, high = slices->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fp_slices_get(slices, middle).start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t track_of(const struct fp_fix *fix, uint64_t number) {
    const uint64_t *place = fp_idmap_find(&fix->edit_of, number);
    return place && fix->edits[*place - 1].flags & EDIT_TRACK ? fix->edits[*place - 1].track : 0;
}

#define LOOK_BACK 4096 // slices; further back an arrow's slice is not looked for

// The track of the slice on which an arrow's end stands: of those that start with it, the one written just
// before it; else the innermost that holds it.
static uint32_t arrow_track(const struct fp_fix *fix, const struct fp_trace_event *event) {
    const struct fp_slices *slices = &fix->lanes[event->lane].slices;
    bool exact = false, found = false;
    uint64_t best = 0;
    size_t last = last_before(slices, event->ts_ns), first = last > LOOK_BACK ? last - LOOK_BACK : 0;
    for (size_t i = last; i-- > first;) {
        struct fp_slice slice = fp_slices_get(slices, i);
        if (exact && slice.start_ns != event->ts_ns)
            break;
        if (slice.start_ns == event->ts_ns) {
            bool closer = slice.id < event->number ? best > event->number || slice.id > best
                                                   : best > event->number && slice.id < best;
            if (!exact || closer)
                best = slice.id;
            exact = found = true;
        } else if (slice.start_ns + slice.dur_ns >= event->ts_ns) {
            best = slice.id;
            found = true;
            break;
        }
    }
    return found ? track_of(fix, best) : 0;
}

// `"key": value` of the event's own members, for an end of ours.
static size_t copy_member(char *out, const struct fp_trace_event *event, const char *key) {
    const struct fp_trace_field *field = fp_event_field(event, key);
    if (!field)
        return 0;
    bool quoted = field->type == '"';
    char *to = stpcpy(stpcpy(stpcpy(out, ", \""), key), "\": ");
    to = mempcpy(to, field->value - quoted, field->value_size + 2u * quoted);
    return (size_t)(to - out);
}

static int close_later(struct fp_fix *fix, const struct fp_trace_event *event, const struct edit *edit) {
    if (!grow((void **)&fix->pending, &fix->pending_room, fix->pending_count, sizeof(*fix->pending)))
        return -ENOMEM;
    char *text = malloc(event->raw.size + 160), time[TEXTS];
    if (!text)
        return -ENOMEM;
    size_t used = (size_t)sprintf(text, "{\"ph\": \"E\", \"ts\": %s",
                                  microseconds(edit->end_ns, fix->whole_microseconds, time));
    used += copy_member(text + used, event, "name");
    used += copy_member(text + used, event, "cat");
    used += copy_member(text + used, event, "pid");
    if (edit->flags & EDIT_TRACK)
        used += (size_t)sprintf(text + used, ", \"tid\": %" PRIu64,
                                fix->lanes[event->lane].tids[edit->track - 1]);
    else
        used += copy_member(text + used, event, "tid");
    text[used++] = '}';
    // By its size: a name may hold zero bytes, which are mended on the way out.
    fix->pending[fix->pending_count++] = (struct fp_text){ text, used };
    return 0;
}

static int carry_out(struct fp_fix *fix, const struct fp_trace_event *event, const struct edit *edit,
                     struct change *change) {
    if (edit->flags & EDIT_END && event->phase == 'X')
        set_time(fix, change, event, "dur", edit->end_ns - edit->start_ns);
    else if (edit->flags & EDIT_END)
        set_time(fix, change, event, "ts", edit->end_ns);
    if (edit->flags & EDIT_TRACK)
        set_tid(fix, change, event, edit->track);
    if (edit->flags & EDIT_INSTANT) {
        set_field(change, event, "ph", "\"i\"");
        set_field(change, event, "s", "\"t\"");
    }
    return edit->flags & EDIT_CLOSE ? close_later(fix, event, edit) : 0;
}

// A time that is text, unless an edit replaces it anyway.
static void unquote(struct fp_fix *fix, struct change *change, const struct fp_trace_event *event,
                    const char *key, uint8_t state, int64_t ns) {
    const struct fp_trace_field *field = fp_event_field(event, key);
    if (!field || field->type != '"' || state != FP_NUMBER_OK)
        return;
    count(fix, FP_FIX_TIME_TEXT, event->number);
    for (size_t i = 0; i < change->count; i++)
        if (change->edits[i].field == field)
            return;
    struct fp_text text = fp_field_text(field);
    char time[TEXTS];
    if (text.size < TEXTS && fp_number_is_json(text)) {
        memcpy(time, text.at, text.size);
        time[text.size] = 0;
        set_field(change, event, key, time);
    } else {
        set_time(fix, change, event, key, ns);
    }
}

// A counter's values that are no numbers: viewers stumble over null.
static void drop_not_finite(struct change *change, const struct fp_trace_event *event) {
    for (uint32_t i = 0; i < event->arg_count && change->count < EDITS; i++)
        if (event->args[i].type == 'N')
            change->edits[change->count++] =
                (struct fp_edit){ .kind = FP_EDIT_REMOVE, .field = &event->args[i] };
}

// 1: leave the event out; 0: write it; -ENOMEM.
static int is_left_out(struct fp_fix *fix, const struct fp_trace_event *event) {
    bool added;
    if (fix->kept && !fp_cut_keeps(fix->kept, event->number))
        return 1;
    if (!event->phase && !event->field_count) {
        count(fix, FP_FIX_NO_EVENT, event->number);
        return 1;
    }
    if (event->phase != 'M' && event->ts_state == FP_NUMBER_BAD) {
        count(fix, FP_FIX_TIMELESS, event->number);
        return 1;
    }
    if (event->phase != 'M')
        return 0;
    if (!fp_idmap_at(&fix->said, fp_metadata_key(event), &added))
        return -ENOMEM;
    if (!added)
        count(fix, FP_FIX_METADATA, event->number);
    return !added;
}

int fp_fix_event(struct fp_fix *fix, const struct fp_trace_event *event, const struct fp_edit *more,
                 struct fp_emit *emit) {
    struct change change;
    change.count = 0;
    if (more)
        change.edits[change.count++] = *more;
    int code = is_left_out(fix, event);
    if (code)
        return code < 0 ? code : 0;
    const uint64_t *place = fp_idmap_find(&fix->edit_of, event->number);
    code = place ? carry_out(fix, event, &fix->edits[*place - 1], &change) : 0;
    if (fp_event_is_flow(event) && has_time(event) && event->lane < fix->lane_count &&
        fix->lanes[event->lane].moved) {
        uint32_t track = arrow_track(fix, event);
        if (track) {
            count(fix, FP_FIX_ARROWS_MOVED, event->number);
            set_tid(fix, &change, event, track);
        }
    }
    unquote(fix, &change, event, "ts", event->ts_state, event->ts_ns);
    unquote(fix, &change, event, "dur", event->dur_state, event->dur_ns);
    if (event->phase == 'C')
        drop_not_finite(&change, event);
    fp_emit_event(emit, event, change.edits, change.count);
    return code;
}

static int name_track(const struct fp_lane *lane, const struct lane *own, uint32_t track,
                      struct fp_emit *emit) {
    size_t room =
        (own->name ? strlen(own->name) * 6 : 0) + lane->pid.text.size + lane->tid.text.size * 6 + 256;
    char *text = malloc(room), *to = text;
    if (!text)
        return -ENOMEM;
    to += sprintf(to, "{\"ph\": \"M\", \"name\": \"thread_name\"");
    if (lane->pid.kind != FP_ID_ABSENT) {
        const char *quote = lane->pid.quoted ? "\"" : "";
        to = stpcpy(stpcpy(to, ", \"pid\": "), quote);
        to = stpcpy(mempcpy(to, lane->pid.text.at, lane->pid.text.size), quote);
    }
    to += sprintf(to, ", \"tid\": %" PRIu64 ", \"args\": {\"name\": \"", own->tids[track]);
    struct fp_text name = own->name ? fp_text_of(own->name) : lane->tid.text;
    if (!own->name)
        to = stpcpy(to, "tid ");
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (c < 0x20)
            to += sprintf(to, "\\u%04x", c);
        else
            to += sprintf(to, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    to += sprintf(to, " (overlap %u)\"}}", track + 1);
    fp_emit_text(emit, (struct fp_text){ text, (size_t)(to - text) });
    free(text);
    return 0;
}

int fp_fix_finish(struct fp_fix *fix, const struct fp_reader *reader, struct fp_emit *emit) {
    while (fix->pending_count) { // the last begun ends first
        struct fp_text end = fix->pending[--fix->pending_count];
        fp_emit_text(emit, end);
        free((char *)end.at);
    }
    for (uint32_t i = 0; i < fix->lane_count; i++)
        for (uint32_t track = 0; track < fix->lanes[i].track_count; track++)
            if (name_track(fp_reader_lane(reader, i), &fix->lanes[i], track, emit) != 0)
                return -ENOMEM;
    return 0;
}

void fp_fix_note_text(struct fp_fix *fix, const struct fp_reader *reader, const struct fp_emit *emit) {
    static const struct {
        enum fp_note_kind note;
        enum fp_fix_kind kind;
    } notes[] = {
        { FP_NOTE_EVENTS_LOST, FP_FIX_LOST },
        { FP_NOTE_EVENT_CUT, FP_FIX_EVENT_CUT },
        { FP_NOTE_LIST_NOT_CLOSED, FP_FIX_CLOSED_FILE },
        { FP_NOTE_OBJECT_NOT_CLOSED, FP_FIX_CLOSED_FILE },
        { FP_NOTE_TRAILER_BAD, FP_FIX_TRAILER },
        { FP_NOTE_NESTED_EVENTS, FP_FIX_NESTED_LIST },
        { FP_NOTE_SECOND_LIST, FP_FIX_NESTED_LIST },
        { FP_NOTE_UTF16, FP_FIX_ENCODING },
        { FP_NOTE_COUNTER_NOT_FINITE, FP_FIX_COUNTERS },
        { FP_NOTE_NOT_AN_OBJECT, FP_FIX_NO_EVENT },
    };
    const struct fp_mended *mended = fp_emit_mended(emit);
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
        count_many(fix, notes[i].kind, fp_reader_note(reader, notes[i].note)->count);
    count_many(fix, FP_FIX_ENCODING, (fp_source_flags(fp_reader_source(reader)) & FP_SOURCE_UTF8_MARK) != 0);
    count_many(fix, FP_FIX_UTF8, mended->utf8);
    count_many(fix, FP_FIX_ESCAPES, mended->escapes);
    count_many(fix, FP_FIX_CONTROLS, mended->controls);
    count_many(fix, FP_FIX_NUMBERS, mended->numbers);
    count_many(fix, FP_FIX_COMMAS, mended->commas);
}
