// buffers.h - memory for vendors whose library asks for buffers and gives them back filled.
//
// In:  requests and completions, from any thread, also from inside a vendor's callback.
// Out: the completed buffers in the order of their completion, to the one thread that drains.
//
// One mapping of address space holds all buffers: a page costs memory only once the vendor has written to it,
// so the bound is paid by those who reach it. Asking and completing take no lock and allocate nothing. When
// every buffer is out, a spare is handed out instead of a refusal, since CUPTI before 12.9 dies of a refusal
// (measured); what comes back in a spare is counted as dropped. For a vendor that does not bear a refusal there
// are 1,024 spares more, used again like all others, and beyond them one buffer that is handed out as often as
// it is asked for: what is written to it is lost, and each return of it counts as one record of unknown kind,
// since at least one it was. So memory is bounded, and the program lives.
//
// Owned to the end of the process: a vendor may write into a buffer long after the session, so nothing is
// ever unmapped while one is out.
#ifndef FP_TRACERS_BUFFERS_H
#define FP_TRACERS_BUFFERS_H

#include "flagprof/device_tracer.h"

struct fp_buffers;

struct fp_buffers_setup {
    size_t buffer_bytes; // multiple of the page, 64 KiB on some Arm hosts, or memory is never given back
    uint32_t count;      // buffers at most; fewer where the address space is limited, never under 4
    size_t spare_bytes;  // likewise
    uint32_t spares;
    bool may_refuse; // the vendor bears a refusal: used only when the spares are out too
    // Counts the records in a completed spare by kind, without calling the vendor: it runs in its callback.
    void (*count_records)(void *owner, const uint8_t *buffer, size_t valid,
                          uint64_t counts[FP_KIND_COUNT + 1]);
    void *owner;
};

struct fp_buffer { // what take gives
    uint8_t *bytes;
    size_t valid;
    uint32_t slot;
    bool left; // it was out, filled, when an earlier session ended (fp_buffers_leave)
};

struct fp_buffers_counts {
    uint64_t requested, completed;
    uint64_t spares_given; // requests that got a spare
    uint64_t refused;      // requests that got nothing
    uint64_t foreign;      // completions of memory that is not ours
};

// Returns 0 or -ENOMEM. The pool is handed to the vendor by its callbacks, so it lives as long as the
// process unless fp_buffers_close finds every buffer at home.
int fp_buffers_open(const struct fp_buffers_setup *setup, struct fp_buffers **buffers, struct fp_error *err);
// Frees the pool; while a buffer is out it is left alone on purpose and false is the answer.
bool fp_buffers_close(struct fp_buffers *buffers);

// Hot, from any thread. NULL only where `may_refuse` and even the spares are out.
uint8_t *fp_buffers_request(struct fp_buffers *buffers, size_t *bytes);
// Hot, from any thread. True: there is something to take.
bool fp_buffers_complete(struct fp_buffers *buffers, uint8_t *bytes, size_t valid);

// For the one thread that drains: the oldest completed buffer, to be given back by recycle.
bool fp_buffers_take(struct fp_buffers *buffers, struct fp_buffer *buffer);
void fp_buffers_recycle(struct fp_buffers *buffers, const struct fp_buffer *buffer);
// Adds the records dropped with spares since the last call to `counts` and returns their sum.
uint64_t fp_buffers_take_dropped(struct fp_buffers *buffers, uint64_t counts[FP_KIND_COUNT + 1]);

uint32_t fp_buffers_outstanding(const struct fp_buffers *buffers); // with the vendor now, spares included
// Of these, how many hold something: their first word is no longer the 0 that it was when they were handed
// out. A vendor that keeps an empty buffer for later use keeps nothing back.
uint32_t fp_buffers_filled(const struct fp_buffers *buffers);
void fp_buffers_count(const struct fp_buffers *buffers, struct fp_buffers_counts *counts);
// A session ends: buffers that are out now with records in them, if they ever come back, are told by `left`, and
// spares among them are counted nowhere.
void fp_buffers_leave(struct fp_buffers *buffers);
// Gives the pages of idle buffers back to the system, all but those of `keep`, and of all idle spares. Between sessions.
void fp_buffers_trim(struct fp_buffers *buffers, uint32_t keep);

#endif
