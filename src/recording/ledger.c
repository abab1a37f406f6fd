// ledger.c - what a recording knows to be missing, as numbers, as a sentence and as JSON.
//
// In:  the counts that store, window and join made.
// Out: one verdict, `complete`, and the same counts in words.

#include "recording/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *one, *many;
} kind_words[FP_KIND_COUNT + 1] = {
    [FP_KIND_KERNEL] = { "kernel", "kernel", "kernels" },
    [FP_KIND_MEMCPY] = { "memcpy", "copy", "copies" },
    [FP_KIND_MEMSET] = { "memset", "set", "sets" },
    [FP_KIND_RUNTIME] = { "runtime", "runtime call", "runtime calls" },
    [FP_KIND_DRIVER] = { "driver", "driver call", "driver calls" },
    [FP_KIND_OVERHEAD] = { "overhead", "overhead span", "overhead spans" },
    [FP_KIND_SYNC] = { "sync", "wait", "waits" },
    [FP_KIND_ANNOTATION] = { "annotation", "annotation", "annotations" },
    [FP_KIND_COUNT] = { "unknown", "record of unknown kind", "records of unknown kind" },
};

static const char *const loss_words[FP_LOSS_COUNT] = {
    [FP_LOSS_DROPPED] = "dropped",     [FP_LOSS_NO_TIMING] = "no_timing",
    [FP_LOSS_MALFORMED] = "malformed", [FP_LOSS_UNKNOWN_KIND] = "unknown_kind",
    [FP_LOSS_UNCOUNTED] = "uncounted",
};

// A text that grows up to its capacity and knows how long it would have become.
struct text {
    char *start;
    size_t capacity, length;
};

static void FP_PRINTF(2, 3) add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->length < text->capacity ? text->capacity - text->length : 0;
    int more = vsnprintf(room ? text->start + text->length : NULL, room, format, arguments);
    va_end(arguments);
    text->length += more > 0 ? (size_t)more : 0;
}

static uint64_t row_lost(const struct fp_ledger_row *row) {
    uint64_t lost = row->no_memory;
    for (int reason = 0; reason < FP_LOSS_COUNT; reason++)
        lost += row->lost[reason];
    return lost;
}

static uint64_t sum_lost(const struct fp_ledger *ledger) {
    uint64_t lost = 0;
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++)
        lost += row_lost(&ledger->rows[kind]);
    return lost;
}

static bool all_outside(const struct fp_ledger *ledger) {
    uint64_t kept = 0, outside = 0;
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++) {
        kept += ledger->rows[kind].kept;
        outside += ledger->rows[kind].outside_window;
    }
    return kept == 0 && outside > 0;
}

void fp_ledger_settle(struct fp_store *store) {
    struct fp_ledger *ledger = &store->ledger;
    ledger->details_lost = store->names_lost + store->correlations_lost + store->extras_lost +
                           store->notes_lost + store->join_failed;
    uint64_t missing = sum_lost(ledger) + ledger->failed_pushes + ledger->failed_pops + ledger->details_lost;
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        missing += ledger->rows[kind].unpaired;
    ledger->complete = missing == 0 && !all_outside(ledger);
}

static void add_losses(struct text *text, const struct fp_ledger *ledger) {
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++) {
        const struct fp_ledger_row *row = &ledger->rows[kind];
        for (int reason = 0; reason < FP_LOSS_COUNT; reason++) {
            static const char *const said[FP_LOSS_COUNT] = {
                [FP_LOSS_DROPPED] = "dropped by the vendor",
                [FP_LOSS_NO_TIMING] = "without timing",
                [FP_LOSS_MALFORMED] = "malformed",
                [FP_LOSS_UNKNOWN_KIND] = "not understood",
                [FP_LOSS_UNCOUNTED] = "and an unknown number after it",
            };
            if (row->lost[reason])
                add(text, ", %" PRIu64 " %s %s", row->lost[reason],
                    row->lost[reason] == 1 ? kind_words[kind].one : kind_words[kind].many, said[reason]);
        }
        if (row->no_memory)
            add(text, ", %" PRIu64 " %s not kept for want of memory", row->no_memory,
                row->no_memory == 1 ? kind_words[kind].one : kind_words[kind].many);
        if (row->unpaired)
            add(text, ", %" PRIu64 " %s %s", row->unpaired,
                row->unpaired == 1 ? kind_words[kind].one : kind_words[kind].many,
                fp_kind_is_device((enum fp_kind)kind) ? "without a launch" : "that launched nothing seen");
    }
    if (ledger->failed_pushes + ledger->failed_pops)
        add(text, ", %" PRIu64 " failed pushes and %" PRIu64 " failed pops of operator ids",
            ledger->failed_pushes, ledger->failed_pops);
    if (ledger->details_lost)
        add(text, ", %" PRIu64 " names, ids or other details not kept for want of memory",
            ledger->details_lost);
}

// Of these a recording cannot tell whether a record is missing: a vendor says nothing of what moves nothing.
static void add_moves(struct text *text, const struct fp_ledger *ledger) {
    uint64_t moves = 0;
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        moves += ledger->rows[kind].unpaired_moves;
    if (moves)
        add(text, "; %" PRIu64 " %s, as of 0 bytes", moves,
            moves == 1 ? "copy or set without device work" : "copies or sets without device work");
}

static void add_seconds_away(struct text *text, const struct fp_ledger *ledger) {
    double away = (double)ledger->nearest_outside_ns / 1e9;
    add(text,
        "; every record lies outside the profiled window, the nearest %.6f s %s it: the vendor's clock is "
        "not the Unix "
        "epoch's, or nothing ran in the window",
        away < 0 ? -away : away, away < 0 ? "before" : "after");
}

int fp_ledger_sentence(const struct fp_ledger *ledger, char *buffer, size_t capacity) {
    struct text text = { buffer, capacity, 0 };
    add(&text, "recorded");
    const char *separator = " ";
    for (int kind = 0; kind < FP_KIND_COUNT; kind++) {
        uint64_t kept = ledger->rows[kind].kept;
        if (!kept && !fp_kind_is_device((enum fp_kind)kind))
            continue;
        add(&text, "%s%" PRIu64 " %s", separator, kept,
            kept == 1 ? kind_words[kind].one : kind_words[kind].many);
        separator = ", ";
    }
    add(&text, "; %" PRIu64 " of %" PRIu64 " linked to an operator", ledger->linked, ledger->linkable);
    uint64_t outside = 0;
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        outside += ledger->rows[kind].outside_window;
    if (outside)
        add(&text, "; %" PRIu64 " outside the window", outside);
    add_moves(&text, ledger);
    if (ledger->complete) {
        add(&text, "; nothing is missing");
    } else {
        add(&text, "; MISSING");
        size_t before = text.length;
        add_losses(&text, ledger);
        if (before < text.length && before < capacity)
            buffer[before] = ':';
        if (all_outside(ledger))
            add_seconds_away(&text, ledger);
    }
    return (int)text.length;
}

static void add_row_json(struct text *text, int kind, const struct fp_ledger_row *row) {
    add(text, "\"%s\": {\"seen\": %" PRIu64 ", \"kept\": %" PRIu64 ", \"outside_window\": %" PRIu64,
        kind_words[kind].key, row->seen, row->kept, row->outside_window);
    for (int reason = 0; reason < FP_LOSS_COUNT; reason++)
        add(text, ", \"%s\": %" PRIu64, loss_words[reason], row->lost[reason]);
    bool host = fp_kind_is_host_call((enum fp_kind)kind);
    add(text, ", \"no_memory\": %" PRIu64 ", \"%s\": %" PRIu64, row->no_memory,
        host ? "launches_without_device_work" : "device_work_without_launch", row->unpaired);
    if (host)
        add(text, ", \"moves_without_device_work\": %" PRIu64, row->unpaired_moves);
    add(text, "}");
}

int fp_ledger_json(const struct fp_ledger *ledger, char *buffer, size_t capacity) {
    struct text text = { buffer, capacity, 0 };
    add(&text, "{\"complete\": %s, \"kinds\": {", ledger->complete ? "true" : "false");
    const char *separator = "";
    for (int kind = 0; kind <= FP_KIND_COUNT; kind++) {
        const struct fp_ledger_row *row = &ledger->rows[kind];
        if (!row->seen && !row_lost(row) && !fp_kind_is_device((enum fp_kind)kind))
            continue;
        add(&text, "%s", separator);
        add_row_json(&text, kind, row);
        separator = ", ";
    }
    add(&text,
        "}, \"launches_seen\": %" PRIu64 ", \"correlations\": %" PRIu64 ", \"linked\": %" PRIu64
        ", \"linkable\": %" PRIu64 ", \"failed_pushes\": %" PRIu64 ", \"failed_pops\": %" PRIu64
        ", \"details_without_memory\": %" PRIu64,
        ledger->launches_seen, ledger->correlations, ledger->linked, ledger->linkable, ledger->failed_pushes,
        ledger->failed_pops, ledger->details_lost);
    add(&text,
        ", \"window_start_ns\": %" PRId64 ", \"window_end_ns\": %" PRId64 ", \"nearest_outside_ns\": %" PRId64
        "}",
        ledger->window_start_ns, ledger->window_end_ns, ledger->nearest_outside_ns);
    return (int)text.length;
}
