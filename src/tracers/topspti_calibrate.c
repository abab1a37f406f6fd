// topspti_calibrate.c - the layout of TOPSPTI's records, found out from the records (topspti_calibrate.h).
//
// What each place is told by [the fact sheet's advice, §4.5]:
//   a record's size   the distance to the next one
//   times             8-byte words that lie within the session in every record, in one order
//   a call's record   a word that is always this process, beside two times; a word that joins each record to
//                     one callback, and one that then is always the callback's function
//   device work       a word that always is the id of a call of a sort that starts such work
//   a kernel          a word that always is the address of a text
//   the device        words that are always what the calling thread's device was
// Geometry, stream and context are numbers like any other: nothing tells them apart, so they are left out.

#include "tracers/topspti_calibrate.h"

#include "base/array.h"
#include "tracers/ablation.h"
#include "tracers/calls.h"
#include "tracers/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 64,        // of a record that are looked at, 4 bytes each
    WIDES = WORDS / 2, // 8 bytes each
    RECORD_BYTES_MAX = 1024,
    RECORD_BYTES_MIN = 24, // a kind and two times
    RAW_CALLS_MAX = 1 << 17,
    KNOWN_CALLS_MAX = 1 << 20,
    TEXT_BYTES = 4096,
    TEXTS = 256,
    NAMED_CALLS = 512,
    TIMES_MAX = 3, // start, end, completed [CODE]
};

// A copy of 1 MB may take no time at all, and nothing moves more than 10 TB a second.
enum { BYTES_A_NS = 10000, BYTES_AT_ONCE = 1 << 20 };

enum work_sort { LAUNCHES = 1, COPIES = 2, SETS = 4, GRAPHS = 8 };

struct record {
    const uint8_t *at;
    uint32_t room; // to the next one, or to the end of the buffer
    uint8_t kind;
    bool is_last; // of its buffer: the room says less
};

struct known_call { // a call whose id is known
    uint32_t correlation, cbid, domain, thread, pthread;
    int32_t device;
};

struct fp_tops_evidence {
    struct record *records;
    size_t record_count, record_capacity;
    struct fp_tops_call *raw;                 // calls whose id lies in their words, not known where
    size_t raw_count, raw_capacity, raw_kept; // kept: of these, how many are among `calls` already
    struct known_call *calls;                 // sorted when judging
    size_t call_count, call_capacity;
    bool overflow;
    struct { // what addresses were found to be
        uint64_t address;
        bool is_text;
    } texts[TEXTS];
    int8_t sorts[NAMED_CALLS]; // enum work_sort by cbid of the runtime, -1: not asked yet
};

// What all records of a kind have in common: bit n of a mask for the word at offset 4 * n or 8 * n.
struct view {
    size_t count;
    uint32_t bytes;
    bool is_sized; // another record followed one, so that `bytes` is no guess
    unsigned words, wides;
    uint64_t process, small, filled; // words: always this process; below the device count; never 0
    uint64_t times, texts;           // wides
    unsigned start, end;             // wides
    uint64_t taken;                  // words that are kind, time or text
    struct fp_tops_record place;     // what was found
};

struct judging {
    struct fp_tops_evidence *evidence;
    const struct fp_tops_session *session;
    struct fp_tops_layout found;
    struct view views[FP_TOPS_KINDS];
    bool has_calls; // callbacks came
    bool on_first;  // without them: no call chose a device, so all work is on that of new threads
    char *why;
    size_t capacity;
};

// ---- Memory

struct fp_tops_evidence *fp_tops_evidence_new(void) {
    struct fp_tops_evidence *evidence = calloc(1, sizeof(*evidence));
    if (evidence)
        memset(evidence->sorts, -1, sizeof(evidence->sorts));
    return evidence;
}

void fp_tops_evidence_free(struct fp_tops_evidence *evidence) {
    if (!evidence)
        return;
    free(evidence->records);
    free(evidence->raw);
    free(evidence->calls);
    free(evidence);
}

static void add_known(struct fp_tops_evidence *evidence, uint32_t correlation,
                      const struct fp_tops_call *call) {
    if (evidence->call_count == KNOWN_CALLS_MAX ||
        !fp_array_reserve(&evidence->calls, evidence->call_count, &evidence->call_capacity,
                          sizeof(*evidence->calls))) {
        evidence->overflow = true;
        return;
    }
    evidence->calls[evidence->call_count++] = (struct known_call){
        correlation, call->cbid, call->domain, call->thread, call->pthread, call->device
    };
}

static void keep_raw(struct fp_tops_evidence *evidence, unsigned word) {
    for (; evidence->raw_kept < evidence->raw_count; evidence->raw_kept++)
        add_known(evidence, evidence->raw[evidence->raw_kept].words[word],
                  &evidence->raw[evidence->raw_kept]);
}

void fp_tops_evidence_clear(struct fp_tops_evidence *evidence, const struct fp_tops_layout *layout) {
    if (layout->callback.known)
        keep_raw(evidence, layout->callback.correlation / 4u);
    evidence->raw_count = evidence->raw_kept = evidence->record_count = 0;
    memset(evidence->texts, 0, sizeof(evidence->texts)); // what was readable need not stay so
}

void fp_tops_evidence_end(struct fp_tops_evidence *evidence) {
    free(evidence->records);
    free(evidence->raw);
    free(evidence->calls);
    *evidence = (struct fp_tops_evidence){ .overflow = false };
    memset(evidence->sorts, -1, sizeof(evidence->sorts));
}

// ---- What is added

bool fp_tops_evidence_add_call(struct fp_tops_evidence *evidence, const struct fp_tops_layout *layout,
                               const struct fp_tops_call *call) {
    if (layout->callback.known) {
        add_known(evidence, call->words[layout->callback.correlation / 4], call);
        return !evidence->overflow;
    }
    if (evidence->raw_count == RAW_CALLS_MAX ||
        !fp_array_reserve(&evidence->raw, evidence->raw_count, &evidence->raw_capacity,
                          sizeof(*evidence->raw))) {
        evidence->overflow = true;
        return false;
    }
    evidence->raw[evidence->raw_count++] = *call;
    return evidence->raw_count < RAW_CALLS_MAX;
}

static bool is_armed(const struct fp_tops_session *session, uint32_t kind) {
    return kind < FP_TOPS_KINDS && session->armed >> kind & 1;
}

static bool is_settled(const struct fp_tops_record *place) {
    return place->sort != FP_TOPS_STRANGE && (place->device_words & (place->device_words - 1)) == 0;
}

bool fp_tops_evidence_wants(const struct fp_tops_session *session, const struct fp_tops_layout *layout,
                            uint8_t *bytes, size_t valid) {
    bool broken = false;
    for (const uint8_t *at = NULL; (at = fp_tops_next(session->next, bytes, valid, at, &broken));) {
        uint32_t kind = fp_tops_word(at, 0);
        if (is_armed(session, kind) && !is_settled(&layout->kinds[kind]))
            return true;
    }
    return false;
}

void fp_tops_evidence_add_buffer(struct fp_tops_evidence *evidence, const struct fp_tops_session *session,
                                 uint8_t *bytes, size_t valid) {
    bool broken = false;
    const uint8_t *at = fp_tops_next(session->next, bytes, valid, NULL, &broken), *after;
    for (; at; at = after) {
        fp_keep_record(at); // where no layout is found, nothing decodes it later
        after = fp_tops_next(session->next, bytes, valid, at, &broken);
        size_t room = (size_t)((after ? after : bytes + valid) - at);
        uint32_t kind = fp_tops_word(at, 0);
        if (!is_armed(session, kind))
            continue; // of a sort that nobody asked for: the decoder counts it
        if (!fp_array_reserve(&evidence->records, evidence->record_count, &evidence->record_capacity,
                              sizeof(*evidence->records))) {
            evidence->overflow = true;
            return;
        }
        evidence->records[evidence->record_count++] =
            (struct record){ at, room < UINT32_MAX ? (uint32_t)room : UINT32_MAX, (uint8_t)kind, !after };
    }
}

size_t fp_tops_evidence_records(const struct fp_tops_evidence *evidence) {
    return evidence->record_count;
}

size_t fp_tops_evidence_calls(const struct fp_tops_evidence *evidence, const struct fp_tops_call **calls) {
    *calls = evidence->raw;
    return evidence->raw_count;
}

// ---- Masks

static unsigned count_bits(uint64_t mask) {
    unsigned count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static unsigned lowest(uint64_t mask) {
    unsigned bit = 0;
    while (bit < WORDS && !(mask >> bit & 1))
        bit++;
    return bit;
}

static bool is_single(uint64_t mask) {
    return count_bits(mask) == 1 || (mask && fp_ablated("agreement"));
}

static uint64_t first_bits(unsigned count) {
    return count < WORDS ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

static uint64_t words_of_wides(uint64_t wides) {
    uint64_t words = 0;
    for (unsigned wide = 0; wide < WIDES; wide++)
        if (wides >> wide & 1)
            words |= UINT64_C(3) << 2 * wide;
    return words;
}

static enum fp_tops_verdict say(struct judging *judging, enum fp_tops_verdict verdict, unsigned kind,
                                const char *what) {
    snprintf(judging->why, judging->capacity, "kind %u, %zu records: %s", kind, judging->views[kind].count,
             what);
    return verdict;
}

// ---- Sizes

// A kind found out earlier, perhaps from the last record of a buffer alone, whose room says little of its size.
static bool reaches(const struct fp_tops_record *place, uint32_t bytes) {
    bool is_call = place->sort == FP_TOPS_RUNTIME || place->sort == FP_TOPS_DRIVER;
    return !is_call || (place->cbid + 4u <= bytes && place->correlation + 4u <= bytes);
}

// To behind the last field that is read.
static uint32_t reach_of(const struct fp_tops_record *place) {
    const uint32_t ends[] = { place->start + 8u,  place->end + 8u,         place->correlation + 4u,
                              place->name + 8u,   place->amount + 8u,      place->cbid + 4u,
                              place->thread + 4u, place->other_thread + 4u };
    uint32_t reach = RECORD_BYTES_MIN;
    for (size_t at = 0; at < sizeof(ends) / sizeof(ends[0]); at++)
        reach = ends[at] > reach ? ends[at] : reach;
    for (uint32_t word = 0; word < WORDS; word++)
        if (place->device_words >> word & 1 && 4 * word + 4 > reach)
            reach = 4 * word + 4;
    return reach;
}

// What stood last in each buffer, and was never followed, may have been shorter than its room: of such a kind no
// more is asked for than what is read.
static void keep_place(struct judging *judging, unsigned kind) {
    const struct view *view = &judging->views[kind];
    struct fp_tops_record *place = &judging->found.kinds[kind];
    *place = view->place;
    place->is_sized = view->is_sized;
    place->bytes = (uint16_t)(view->is_sized ? view->bytes : reach_of(place));
}

static enum fp_tops_verdict find_sizes(struct judging *judging) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    for (int last = 0; last < 2; last++) // those that another follows first
        for (size_t at = 0; at < evidence->record_count; at++) {
            const struct record *record = &evidence->records[at];
            struct view *view = &judging->views[record->kind];
            if (record->is_last != (last == 1))
                continue;
            view->count++;
            view->is_sized |= !last;
            if (!view->bytes || (!view->is_sized && record->room < view->bytes))
                view->bytes = record->room;
            else if (last ? record->room < view->bytes : record->room != view->bytes)
                return say(judging, FP_TOPS_DIFFERS, record->kind, "their sizes differ");
        }
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++) {
        struct view *view = &judging->views[kind];
        if (view->count == 0)
            continue;
        if (view->bytes < RECORD_BYTES_MIN || view->bytes > RECORD_BYTES_MAX)
            return say(judging, FP_TOPS_DIFFERS, kind, "no record is of such a size");
        if (!reaches(&judging->found.kinds[kind], view->bytes))
            return say(judging, FP_TOPS_DIFFERS, kind,
                       "some are shorter than those that it was found out from");
        view->words = view->bytes / 4 < WORDS ? view->bytes / 4 : WORDS;
        view->wides = view->words / 2;
    }
    return FP_TOPS_AGREED;
}

// ---- Times

static bool is_time(const struct fp_tops_session *session, uint64_t value) {
    return value >= session->earliest && value <= session->latest;
}

static void scan_words(struct view *view, const struct fp_tops_session *session, const uint8_t *at) {
    for (unsigned word = 0; word < view->words; word++) {
        uint32_t value = fp_tops_word(at, 4u * word);
        uint64_t bit = UINT64_C(1) << word;
        view->process &= value == session->process ? UINT64_MAX : ~bit;
        view->small &= value < session->device_count ? UINT64_MAX : ~bit;
        view->filled &= value ? UINT64_MAX : ~bit;
    }
}

// A word that is 0 in some record is a time only if all times of that record are 0: nothing was measured
// then. One that is 0 beside others is a time of completion that is not known, or no time.
static void scan_times(struct view *view, const struct fp_tops_session *session, const uint8_t *at,
                       uint64_t *ever) {
    uint64_t here = 0;
    for (unsigned wide = 0; wide < view->wides; wide++) {
        uint64_t value = fp_tops_wide(at, 8u * wide);
        if (is_time(session, value))
            here |= UINT64_C(1) << wide;
        else if (value != 0)
            view->times &= ~(UINT64_C(1) << wide);
    }
    *ever |= here;
    if (here & view->times)
        view->times &= here;
}

static void scan_records(struct judging *judging) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    uint64_t ever[FP_TOPS_KINDS] = { 0 };
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++) {
        struct view *view = &judging->views[kind];
        view->process = view->small = view->filled = first_bits(view->words) & ~UINT64_C(1);
        view->times = view->texts = first_bits(view->wides) & ~UINT64_C(1);
    }
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        struct view *view = &judging->views[record->kind];
        scan_words(view, judging->session, record->at);
        scan_times(view, judging->session, record->at, &ever[record->kind]);
    }
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++)
        judging->views[kind].times &= ever[kind];
}

// Is the one never after the other, and ever before it?
static bool comes_before(const struct judging *judging, unsigned kind, unsigned first, unsigned second,
                         bool *ever) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    *ever = false;
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        if (record->kind != kind)
            continue;
        uint64_t a = fp_tops_wide(record->at, 8u * first), b = fp_tops_wide(record->at, 8u * second);
        if (a > b)
            return false;
        *ever |= a < b;
    }
    return true;
}

static bool order_times(const struct judging *judging, unsigned kind, unsigned times[TIMES_MAX],
                        size_t count) {
    bool ever;
    for (size_t turn = 1; turn < count; turn++) // few enough for the simplest of sorts
        for (size_t at = count - 1; at >= turn; at--)
            if (!comes_before(judging, kind, times[at - 1], times[at], &ever)) {
                unsigned held = times[at];
                times[at] = times[at - 1];
                times[at - 1] = held;
            }
    for (size_t at = 1; at < count; at++)
        if (!comes_before(judging, kind, times[at - 1], times[at], &ever) || (at == 1 && !ever))
            return false;
    return true;
}

static enum fp_tops_verdict find_times(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    unsigned times[TIMES_MAX], count = count_bits(view->times);
    // Only a kernel has a third time [CODE], that of its completion, which comes last.
    if (count < 2)
        return say(judging, FP_TOPS_UNDECIDED, kind, "no two words lie within the session");
    if (count > TIMES_MAX)
        return say(judging, FP_TOPS_DIFFERS, kind, "more words than three lie within the session");
    uint64_t left = view->times;
    for (unsigned at = 0; at < count; at++, left &= left - 1)
        times[at] = lowest(left);
    if (!order_times(judging, kind, times, count))
        return say(judging, FP_TOPS_DIFFERS, kind, "its times have no order");
    view->start = times[0];
    view->end = times[1];
    view->place.start = (uint16_t)(8 * times[0]);
    view->place.end = (uint16_t)(8 * times[1]);
    view->taken |= 1 | words_of_wides(view->times);
    return FP_TOPS_AGREED;
}

// ---- Texts

static bool is_text(struct judging *judging, uint64_t address) {
    struct fp_tops_evidence *evidence = judging->evidence;
    size_t slot = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TEXTS;
    char text[TEXT_BYTES];
    if (address < 0x10000 || address >> 48)
        return false;
    if (evidence->texts[slot].address == address)
        return evidence->texts[slot].is_text;
    bool found = judging->session->text(judging->session->owner, address, text, sizeof(text));
    for (const char *at = text; found && *at; at++)
        found = (unsigned char)*at >= ' ' && *at != 0x7f;
    evidence->texts[slot].address = address;
    evidence->texts[slot].is_text = found && *text;
    return evidence->texts[slot].is_text;
}

// A kernel need not have a name, but the place of it is a text wherever it is anything.
static void find_texts(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    const struct fp_tops_evidence *evidence = judging->evidence;
    uint64_t ever = 0;
    view->texts &= ~view->times;
    for (size_t at = 0; at < evidence->record_count && view->texts; at++) {
        const struct record *record = &evidence->records[at];
        for (unsigned wide = 1; record->kind == kind && wide < view->wides; wide++) {
            uint64_t bit = UINT64_C(1) << wide, value = fp_tops_wide(record->at, 8u * wide);
            if (!(view->texts & bit) || value == 0)
                continue;
            if (is_text(judging, value))
                ever |= bit;
            else
                view->texts &= ~bit;
        }
    }
    view->texts &= ever;
    view->taken |= words_of_wides(view->texts);
}

// ---- Joining records to calls

static int by_value(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static int by_correlation(const void *left, const void *right) {
    const struct known_call *a = left, *b = right;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static const struct known_call *find_call(const struct known_call *calls, size_t count,
                                          uint32_t correlation) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && calls[low].correlation == correlation ? &calls[low] : NULL;
}

// The calls by the id that would be theirs, were it at `word`. NULL: it is not there, or no memory.
static struct known_call *calls_by(const struct fp_tops_evidence *evidence, unsigned word) {
    struct known_call *calls = malloc((evidence->raw_count + 1) * sizeof(*calls));
    for (size_t at = 0; calls && at < evidence->raw_count; at++) {
        const struct fp_tops_call *call = &evidence->raw[at];
        if (call->words[word] == 0) {
            free(calls);
            return NULL;
        }
        calls[at] = (struct known_call){ call->words[word], call->cbid,    call->domain,
                                         call->thread,      call->pthread, call->device };
    }
    if (calls)
        qsort(calls, evidence->raw_count, sizeof(*calls), by_correlation);
    return calls;
}

struct joined {                  // what a kind's records and the calls agree on
    uint64_t functions, threads; // words that are always the call's function; its thread
    uint32_t domain;
};

// Each record of the kind has in `word` the id of a call, whose function and thread stand in it too. Calls
// that were under way when the session began were never told of.
static bool join(const struct judging *judging, unsigned kind, unsigned word, const struct known_call *calls,
                 size_t count, struct joined *joined) {
    const struct view *view = &judging->views[kind];
    const struct fp_tops_evidence *evidence = judging->evidence;
    size_t seen = 0;
    *joined = (struct joined){ first_bits(view->words) & ~view->taken & ~(UINT64_C(1) << word),
                               first_bits(view->words) & ~view->taken & ~(UINT64_C(1) << word), 0 };
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        if (record->kind != kind || fp_tops_wide(record->at, 8u * view->start) < judging->session->begun)
            continue;
        const struct known_call *call = find_call(calls, count, fp_tops_word(record->at, 4u * word));
        if (!call || (seen && call->domain != joined->domain))
            return false;
        joined->domain = call->domain;
        seen++;
        for (unsigned other = 1; other < view->words; other++) {
            uint32_t value = fp_tops_word(record->at, 4u * other);
            uint64_t bit = UINT64_C(1) << other;
            joined->functions &= value == call->cbid ? UINT64_MAX : ~bit;
            joined->threads &= value == call->thread || value == call->pthread ? UINT64_MAX : ~bit;
        }
        if (!joined->functions)
            return false;
    }
    return seen > 0;
}

// No two records of a kind have the same value there.
static bool is_unique(const struct judging *judging, unsigned kind, unsigned word) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    size_t count = 0;
    uint32_t *values = malloc((judging->views[kind].count + 1) * sizeof(*values));
    bool unique = values != NULL;
    for (size_t at = 0; unique && at < evidence->record_count; at++)
        if (evidence->records[at].kind == kind)
            values[count++] = fp_tops_word(evidence->records[at].at, 4u * word);
    if (unique)
        qsort(values, count, sizeof(*values), by_value);
    for (size_t at = 1; unique && at < count; at++)
        unique = values[at] != values[at - 1];
    free(values);
    return unique;
}

static void place_call(struct judging *judging, unsigned kind, unsigned word, const struct joined *joined) {
    struct view *view = &judging->views[kind];
    uint64_t threads = joined->threads;
    view->place.sort = joined->domain == judging->found.runtime_domain ? FP_TOPS_RUNTIME : FP_TOPS_DRIVER;
    view->place.correlation = (uint16_t)(4 * word);
    view->place.cbid = (uint16_t)(4 * lowest(joined->functions));
    if (count_bits(threads) == 2 && threads & view->process) { // the first thread's id is the process's
        view->place.thread = (uint16_t)(4 * lowest(threads));
        view->place.other_thread = (uint16_t)(4 * lowest(threads & (threads - 1)));
    } else if (count_bits(threads) == 1) {
        view->place.thread = (uint16_t)(4 * lowest(threads));
    }
}

// One place of a kind's id and one of the callbacks' that fit each other.
static enum fp_tops_verdict join_kind(struct judging *judging, unsigned kind, unsigned callback_word,
                                      const struct known_call *calls, size_t count, unsigned *fits) {
    struct view *view = &judging->views[kind];
    struct joined joined;
    uint64_t words = view->filled & ~view->taken & ~view->process;
    for (unsigned word = 1; word < view->words; word++) {
        if (!(words >> word & 1) || !join(judging, kind, word, calls, count, &joined) ||
            !is_unique(judging, kind, word))
            continue;
        if (!is_single(joined.functions))
            return say(judging, FP_TOPS_UNDECIDED, kind, "more than one word may be the function of a call");
        if (*fits == 0 || !fp_ablated("agreement")) {
            place_call(judging, kind, word, &joined);
            judging->found.callback.correlation = (uint16_t)(4 * callback_word);
        }
        ++*fits;
    }
    return FP_TOPS_AGREED;
}

static enum fp_tops_verdict find_call_ids(struct judging *judging, unsigned kind) {
    struct fp_tops_evidence *evidence = judging->evidence;
    enum fp_tops_verdict verdict = FP_TOPS_AGREED;
    unsigned fits = 0;
    bool known = judging->found.callback.known;
    if (known)
        verdict = join_kind(judging, kind, judging->found.callback.correlation / 4, evidence->calls,
                            evidence->call_count, &fits);
    for (unsigned word = 0; !known && verdict == FP_TOPS_AGREED && word < FP_TOPS_CALLBACK_WORDS; word++) {
        struct known_call *calls = calls_by(evidence, word);
        if (calls)
            verdict = join_kind(judging, kind, word, calls, evidence->raw_count, &fits);
        free(calls);
    }
    if (verdict != FP_TOPS_AGREED)
        return verdict;
    if (fits == 0)
        return say(judging, FP_TOPS_DIFFERS, kind, "no word joins it to the callbacks");
    if (fits > 1 && !fp_ablated("agreement"))
        return say(judging, FP_TOPS_UNDECIDED, kind, "more than one word may be the id of a call");
    judging->found.callback.known = true;
    return FP_TOPS_AGREED;
}

// Without any callback the record itself must say all: a function that the library can name, an id that
// comes once, a thread of this process.
static enum fp_tops_verdict find_call_alone(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    const struct fp_tops_session *session = judging->session;
    const struct fp_tops_evidence *evidence = judging->evidence;
    uint64_t named = view->filled & ~view->taken, threads = first_bits(view->words) & ~view->taken, ids = 0;
    for (size_t at = 0; at < evidence->record_count; at++)
        for (unsigned word = 1; evidence->records[at].kind == kind && word < view->words; word++) {
            uint32_t value = fp_tops_word(evidence->records[at].at, 4u * word);
            uint64_t bit = UINT64_C(1) << word;
            if (named & bit && !session->call_name(session->owner, judging->found.runtime_domain, value))
                named &= ~bit;
            if (threads & bit && value != session->process && !session->is_thread(session->owner, value))
                threads &= ~bit;
        }
    for (unsigned word = 1; word < view->words; word++)
        if ((view->filled & ~view->taken & ~view->process & ~named) >> word & 1 &&
            is_unique(judging, kind, word))
            ids |= UINT64_C(1) << word;
    if (!is_single(named) || !is_single(ids))
        return say(
            judging, FP_TOPS_UNDECIDED, kind,
            "no callbacks came, and more than one word, or none, may be the function or the id of a call");
    struct joined joined = { named, threads, judging->found.runtime_domain };
    place_call(judging, kind, lowest(ids), &joined);
    return FP_TOPS_AGREED;
}

// A record of a call is known by the process in it [CODE].
static enum fp_tops_verdict find_calls(struct judging *judging) {
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++) {
        struct view *view = &judging->views[kind];
        bool is_call = view->count && view->process & ~view->taken;
        if (!is_call || judging->found.kinds[kind].sort != FP_TOPS_STRANGE)
            continue;
        if (count_bits(view->times) != 2)
            return say(judging, FP_TOPS_DIFFERS, kind, "a call has two times");
        enum fp_tops_verdict verdict =
            judging->has_calls ? find_call_ids(judging, kind) : find_call_alone(judging, kind);
        if (verdict != FP_TOPS_AGREED)
            return verdict;
        keep_place(judging, kind);
    }
    return FP_TOPS_AGREED;
}

// ---- Device work

static int sort_of(struct judging *judging, uint32_t domain, uint32_t cbid) {
    const struct fp_tops_session *session = judging->session;
    bool kept = cbid < NAMED_CALLS && domain == judging->found.runtime_domain;
    if (kept && judging->evidence->sorts[cbid] >= 0)
        return judging->evidence->sorts[cbid];
    const char *name = session->call_name(session->owner, domain, cbid);
    unsigned sorts = fp_call_sorts("tops", name) | fp_call_sorts("topsModule", name);
    int sort = 0;
    if (sorts & FP_CALL_LAUNCH)
        sort = strstr(name, "Memcpy")   ? COPIES
               : strstr(name, "Memset") ? SETS
               : strstr(name, "Graph")  ? GRAPHS
                                        : LAUNCHES;
    if (kept)
        judging->evidence->sorts[cbid] = (int8_t)sort;
    return sort;
}

// New threads are on the first device, and to be on another is a call.
static bool chose_device(const struct judging *judging) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    for (size_t at = 0; at < evidence->call_count; at++)
        if (evidence->calls[at].cbid == FP_TOPS_CBID_SET_DEVICE)
            return true;
    return false;
}

// All calls by their ids: those that callbacks told of, and those that have a record.
static bool gather_calls(struct judging *judging) {
    struct fp_tops_evidence *evidence = judging->evidence;
    if (judging->found.callback.known) // raw ones have shown their ids by now
        keep_raw(evidence, judging->found.callback.correlation / 4u);
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        const struct fp_tops_record *place = &judging->found.kinds[record->kind];
        if (place->sort != FP_TOPS_RUNTIME && place->sort != FP_TOPS_DRIVER)
            continue;
        struct fp_tops_call call = { .cbid = fp_tops_word(record->at, place->cbid),
                                     .domain = place->sort == FP_TOPS_RUNTIME ? judging->found.runtime_domain
                                                                              : judging->found.driver_domain,
                                     .device = -1 };
        uint32_t id = fp_tops_word(record->at, place->correlation);
        if (!judging->found.callback.known)
            add_known(evidence, id, &call);
    }
    if (evidence->call_count > 1)
        qsort(evidence->calls, evidence->call_count, sizeof(*evidence->calls), by_correlation);
    judging->on_first = !judging->has_calls && judging->session->on_first && !chose_device(judging);
    return !evidence->overflow;
}

// The sorts of the calls that the words' values are ids of; 0: not always of one that starts work.
static int sorts_at(struct judging *judging, unsigned kind, unsigned word) {
    const struct fp_tops_evidence *evidence = judging->evidence;
    int sorts = 0;
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        if (record->kind != kind)
            continue;
        const struct known_call *call =
            find_call(evidence->calls, evidence->call_count, fp_tops_word(record->at, 4u * word));
        int sort = call ? sort_of(judging, call->domain, call->cbid) : 0;
        if (sort == 0)
            return 0;
        sorts |= sort;
    }
    return sorts;
}

static enum fp_tops_sort work_of(const struct view *view, int sorts) {
    if (view->texts) // a text alone makes no kernel: other records may point at one too
        return sorts & LAUNCHES ? FP_TOPS_KERNEL : FP_TOPS_STRANGE;
    if (sorts & COPIES && !(sorts & ~(COPIES | GRAPHS)))
        return FP_TOPS_COPY;
    if (sorts & SETS && !(sorts & ~(SETS | GRAPHS)))
        return FP_TOPS_SET;
    return FP_TOPS_STRANGE;
}

static enum fp_tops_verdict find_work_id(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    unsigned fits = 0;
    for (unsigned word = 1; word < view->words; word++) {
        if (!((view->filled & ~view->taken) >> word & 1))
            continue;
        enum fp_tops_sort sort = work_of(view, sorts_at(judging, kind, word));
        if (sort == FP_TOPS_STRANGE)
            continue;
        if (fits++ == 0) {
            view->place.sort = sort;
            view->place.correlation = (uint16_t)(4 * word);
        }
    }
    if (fits == 0)
        return say(judging, FP_TOPS_UNDECIDED, kind, "no word joins it to a call that starts such work");
    if (fits > 1 && !fp_ablated("agreement"))
        return say(judging, FP_TOPS_UNDECIDED, kind, "more than one word may be the id of its call");
    view->taken |= UINT64_C(1) << view->place.correlation / 4;
    return FP_TOPS_AGREED;
}

// Words that may be the device. What is left must say one and the same in each record.
static enum fp_tops_verdict find_device(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    const struct fp_tops_evidence *evidence = judging->evidence;
    uint64_t words = view->small & ~view->taken;
    if (judging->session->device_count == 1)
        return FP_TOPS_AGREED;
    if (judging->found.kinds[kind].device_words)
        words &= judging->found.kinds[kind].device_words;
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        if (record->kind != kind)
            continue;
        const struct known_call *call = find_call(evidence->calls, evidence->call_count,
                                                  fp_tops_word(record->at, view->place.correlation));
        int64_t device = judging->on_first ? 0 : call ? call->device : -1;
        for (unsigned word = 1; device >= 0 && word < view->words; word++)
            if (fp_tops_word(record->at, 4u * word) != (uint32_t)device)
                words &= ~(UINT64_C(1) << word);
    }
    if (!words)
        return say(judging, FP_TOPS_DIFFERS, kind, "no word is its device");
    for (size_t at = 0; at < evidence->record_count; at++)
        for (unsigned word = 1; evidence->records[at].kind == kind && word < view->words; word++)
            if (words >> word & 1 && fp_tops_word(evidence->records[at].at, 4u * word) !=
                                         fp_tops_word(evidence->records[at].at, 4u * lowest(words)))
                return say(judging, FP_TOPS_UNDECIDED, kind, "more than one word may be its device");
    view->place.device_words = words;
    return FP_TOPS_AGREED;
}

// The bytes of a copy or a set: the one wide word that could have been moved in its time.
static void find_amount(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    const struct fp_tops_evidence *evidence = judging->evidence;
    uint64_t wides = first_bits(view->wides) & ~UINT64_C(1), ever = 0;
    for (unsigned wide = 1; wide < view->wides; wide++)
        if (view->taken >> 2 * wide & 3)
            wides &= ~(UINT64_C(1) << wide);
    for (size_t at = 0; at < evidence->record_count; at++) {
        const struct record *record = &evidence->records[at];
        if (record->kind != kind)
            continue;
        uint64_t took =
            fp_tops_wide(record->at, view->place.end) - fp_tops_wide(record->at, view->place.start);
        for (unsigned wide = 1; wide < view->wides; wide++) {
            uint64_t value = fp_tops_wide(record->at, 8u * wide);
            if (value > BYTES_AT_ONCE && (value - BYTES_AT_ONCE) / BYTES_A_NS > took)
                wides &= ~(UINT64_C(1) << wide);
            ever |= value ? UINT64_C(1) << wide : 0;
        }
    }
    wides &= ever;
    if (count_bits(wides) == 1)
        view->place.amount = (uint16_t)(8 * lowest(wides));
}

static enum fp_tops_verdict find_work(struct judging *judging, unsigned kind) {
    struct view *view = &judging->views[kind];
    enum fp_tops_verdict verdict = find_work_id(judging, kind);
    if (verdict == FP_TOPS_AGREED)
        verdict = find_device(judging, kind);
    if (verdict != FP_TOPS_AGREED)
        return verdict;
    if (view->place.sort != FP_TOPS_KERNEL && count_bits(view->times) != 2)
        return say(judging, FP_TOPS_DIFFERS, kind, "a copy or a set has two times");
    if (view->place.sort == FP_TOPS_KERNEL && !is_single(view->texts))
        return say(judging, FP_TOPS_UNDECIDED, kind, "more than one word is the address of a text");
    if (view->place.sort == FP_TOPS_KERNEL)
        view->place.name = (uint16_t)(8 * lowest(view->texts));
    else
        find_amount(judging, kind);
    keep_place(judging, kind);
    return FP_TOPS_AGREED;
}

// ---- The verdict

static bool is_to_be_judged(const struct judging *judging, unsigned kind) {
    return judging->views[kind].count > 0 && !is_settled(&judging->found.kinds[kind]);
}

static enum fp_tops_verdict judge(struct judging *judging) {
    enum fp_tops_verdict verdict = find_sizes(judging);
    if (verdict != FP_TOPS_AGREED)
        return verdict;
    if (judging->evidence->call_count > 1)
        qsort(judging->evidence->calls, judging->evidence->call_count, sizeof(*judging->evidence->calls),
              by_correlation);
    scan_records(judging);
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++) {
        if (!is_to_be_judged(judging, kind))
            continue;
        if ((verdict = find_times(judging, kind)) != FP_TOPS_AGREED)
            return verdict;
        find_texts(judging, kind);
    }
    if ((verdict = find_calls(judging)) != FP_TOPS_AGREED)
        return verdict;
    if (!gather_calls(judging)) {
        snprintf(judging->why, judging->capacity, "more calls were made than could be kept");
        return FP_TOPS_UNDECIDED;
    }
    for (unsigned kind = 0; kind < FP_TOPS_KINDS; kind++) {
        enum fp_tops_sort sort = judging->found.kinds[kind].sort;
        if (!is_to_be_judged(judging, kind) || sort == FP_TOPS_RUNTIME || sort == FP_TOPS_DRIVER)
            continue;
        if ((verdict = find_work(judging, kind)) != FP_TOPS_AGREED)
            return verdict;
    }
    return FP_TOPS_AGREED;
}

static bool knows_some(const struct fp_tops_layout *layout) {
    for (int kind = 0; kind < FP_TOPS_KINDS; kind++)
        if (layout->kinds[kind].sort != FP_TOPS_STRANGE)
            return true;
    return false;
}

enum fp_tops_verdict fp_tops_evidence_judge(struct fp_tops_evidence *evidence,
                                            const struct fp_tops_session *session,
                                            struct fp_tops_layout *layout, char *why, size_t capacity) {
    struct judging *judging = calloc(1, sizeof(*judging));
    if (!judging) {
        snprintf(why, capacity, "no memory to find it out");
        return FP_TOPS_UNDECIDED;
    }
    judging->evidence = evidence;
    judging->session = session;
    judging->found = *layout;
    judging->has_calls = evidence->raw_count > 0 || layout->callback.known;
    judging->why = why;
    judging->capacity = capacity;
    size_t calls_before = evidence->call_count;
    enum fp_tops_verdict verdict = judge(judging);
    if (verdict != FP_TOPS_AGREED && calls_before == 0)
        evidence->call_count = evidence->raw_kept = 0; // by ids that nothing confirmed
    if (verdict == FP_TOPS_AGREED) {
        memcpy(layout->kinds, judging->found.kinds, sizeof(layout->kinds));
        if (!layout->callback.known) // callbacks read it while it is known
            layout->callback = judging->found.callback;
    }
    // What others have agreed on is not thrown away for one that does not.
    if (verdict == FP_TOPS_DIFFERS && knows_some(layout))
        verdict = FP_TOPS_UNDECIDED;
    free(judging);
    return verdict;
}
