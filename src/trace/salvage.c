// salvage.c - the way round a fault: to the next event that can be read.
//
// In:  a fault, and where the value that holds it began.
// Out: the index of the block, made anew from the next object that is an event: it reads to its end and
//      has the key "ph". What lies between is counted as lost.
//
// The scan's idea of what is inside a string is worthless behind a fault, so each opening brace is tried as
// if it stood outside. What failed attempts may cost is bounded by the text read, so that no file makes this
// more than linear.

#include "trace/reader_internal.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ATTEMPT 512 // bytes scanned for a candidate before more are taken
#define BUDGET_PER_BYTE 16

// The next '{' that looks as an event's: a quote follows, and a comma, bracket, brace or the line's beginning
// precedes.
static size_t find_brace(const struct fp_block *block, size_t from) {
    for (size_t at = from; at < block->end; at++) {
        const char *brace = memchr(block->text + at, '{', block->end - at);
        if (!brace)
            return block->end;
        at = (size_t)(brace - block->text);
        size_t next = at + 1;
        while (next < block->end && strchr(" \t\r\n", block->text[next]) && block->text[next])
            next++;
        size_t before = at;
        while (before > block->start && strchr(" \t\r\n", block->text[before - 1]) && block->text[before - 1])
            before--;
        bool begins =
            before == block->start || strchr(",[{}]:", block->text[before - 1]) != NULL || before < at;
        if (begins && (next == block->end || block->text[next] == '"'))
            return at;
    }
    return block->end;
}

// An index of its own for a piece of the block.
struct attempt {
    struct fp_block block;
    size_t room;
};

static int attempt_reserve(struct attempt *attempt, size_t size) {
    if (size <= attempt->room)
        return 0;
    size_t room = size * 2 + FP_BLOCK_PAD;
    char *text = realloc(attempt->block.text, room + FP_BLOCK_PAD);
    if (text)
        attempt->block.text = text;
    uint32_t *index = realloc(attempt->block.index, (room + FP_BLOCK_PAD) * sizeof(*index));
    if (index)
        attempt->block.index = index;
    uint32_t *special = realloc(attempt->block.special, (room + FP_BLOCK_PAD) * sizeof(*special));
    if (special)
        attempt->block.special = special;
    if (!text || !index || !special)
        return -ENOMEM;
    attempt->room = size * 2;
    return 0;
}

// Reads text[at .. at + size) of the block as an event. 1: it is one; 0: it is none; FP_WALK_MORE as -EAGAIN;
// -ENOMEM.
static int try_event(struct fp_reader *reader, struct attempt *attempt, size_t at, size_t size) {
    if (attempt_reserve(attempt, size) != 0)
        return -ENOMEM;
    struct fp_block *piece = &attempt->block;
    memcpy(piece->text, reader->block->text + at, size);
    memset(piece->text + size, ' ', FP_BLOCK_PAD);
    struct fp_scan scan = { 0 };
    struct fp_scan_result result = { .index = piece->index, .special = piece->special };
    fp_scan_run(&scan, piece->text, 0, (size + FP_SCAN_STEP - 1) / FP_SCAN_STEP * FP_SCAN_STEP, &result);
    piece->end = size;
    piece->index_end = result.index_count;
    for (int i = 0; i < 8; i++)
        piece->index[piece->index_end + (size_t)i] = (uint32_t)size;
    memset(piece->text + size, 0, FP_BLOCK_PAD);
    struct fp_block *block = reader->block;
    reader->block = piece;
    size_t behind = fp_walk_event(reader, 0);
    reader->block = block;
    if (behind == FP_WALK_MEMORY)
        return -ENOMEM;
    if (behind == FP_WALK_MORE)
        return -EAGAIN;
    if (behind == FP_WALK_FAULT)
        return 0;
    for (uint32_t i = 0; i < reader->event.field_count; i++)
        if (reader->fields[i].key_size == 2 && memcmp(reader->fields[i].key, "ph", 2) == 0)
            return 1;
    return 0;
}

static void spend(struct fp_reader *reader, uint64_t bytes) {
    reader->salvage_budget -= bytes < reader->salvage_budget ? bytes : reader->salvage_budget;
}

// Tries the candidate at `at`. As try_event; -EAGAIN: the block ends before it does.
static int try_candidate(struct fp_reader *reader, struct attempt *attempt, size_t at) {
    size_t left = reader->block->end - at;
    for (size_t size = FIRST_ATTEMPT;; size *= 4) {
        if (size > left)
            size = left;
        int code = try_event(reader, attempt, at, size);
        if (code != 1)
            spend(reader, size);
        if (code != -EAGAIN || size == left)
            return code;
        if (!reader->salvage_budget)
            return 0;
    }
}

// Counts text[from..to) as lost, and the events in it as far as they can be told.
static void lose(struct fp_reader *reader, size_t from, size_t to) {
    const char *at = reader->block->text + from, *end = reader->block->text + to;
    reader->lost_bytes += to - from;
    while ((at = memmem(at, (size_t)(end - at), "\"ph\"", 4))) {
        reader->lost_events++;
        at += 4;
    }
}

// The next block, with everything from `keep` on carried over. The position of that text in it, or a negative
// errno.
static int64_t more_from(struct fp_reader *reader, size_t keep, struct fp_error *err) {
    struct fp_block *block = reader->block;
    uint64_t tail = block->end - keep;
    int code = fp_blocks_next(reader->blocks, keep, err);
    if (code)
        return code;
    reader->block = fp_blocks_current(reader->blocks);
    reader->salvage_budget += (reader->block->end - reader->block->start - tail) * BUDGET_PER_BYTE;
    return (int64_t)reader->block->start;
}

static void attempt_free(struct attempt *attempt) {
    free(attempt->block.text);
    free(attempt->block.index);
    free(attempt->block.special);
}

int fp_salvage_is_event(struct fp_reader *reader, size_t at) {
    struct attempt attempt = { 0 };
    reader->salvage_budget += (reader->block->end - at) * (uint64_t)BUDGET_PER_BYTE;
    int code = try_candidate(reader, &attempt, at);
    attempt_free(&attempt);
    reader->mild.cause = NULL;
    return code == -EAGAIN ? 0 : code;
}

int fp_salvage_resume(struct fp_reader *reader, size_t from, struct fp_error *err) {
    struct attempt attempt = { 0 };
    size_t lost = from; // what was given up and not counted yet begins here
    reader->salvage_budget += (reader->block->end - from) * (uint64_t)BUDGET_PER_BYTE;
    char shown[80] = "";
    // What stands beside the events may be a secret: only of the list's elements is the beginning shown.
    if (reader->place >= FP_AT_FIRST_EVENT && reader->place <= FP_AT_LIST_NEXT)
        fp_text_show((struct fp_text){ reader->block->text + from,
                                       reader->block->end - from < 60 ? reader->block->end - from : 60 },
                     shown, sizeof(shown));
    fp_reader_note_at(reader, FP_NOTE_EVENTS_LOST, from, reader->events, shown);
    size_t at = from + 1;
    int code;
    for (;;) {
        at = find_brace(reader->block, at);
        code = at == reader->block->end ? -EAGAIN : try_candidate(reader, &attempt, at);
        if (code == 1) {
            code = 0;
            break;
        }
        if (code == 0) {
            at += reader->salvage_budget ? 1 : FIRST_ATTEMPT;
            if (at > reader->block->end)
                at = reader->block->end;
            continue;
        }
        if (code != -EAGAIN)
            break;
        if (reader->block->last) {
            // A candidate that never ends is a cut event, or a brace inside a text: others may lie behind it.
            code = -ENODATA;
            if (at == reader->block->end)
                break;
            at++;
            continue;
        }
        lose(reader, lost, at);
        int64_t moved = more_from(reader, at, err);
        if (moved < 0) {
            code = (int)moved;
            break;
        }
        at = lost = (size_t)moved;
    }
    attempt_free(&attempt);
    lose(reader, lost, at);
    reader->lost_from = lost;
    if (code)
        return code;
    // What comes is read as if the fault had not been: straight from the text, or indexed anew.
    reader->indexed = false;
    reader->at = at;
    reader->special = 0;
    reader->block->special_end = 0;
    return 0;
}
