// digest.h - what is asked of nearly every event, in one place and as numbers.
//
// In:  an event that was read, in the thread that read it.
// Out: its times, ids, name and category. The thread that takes the event then needs neither its text nor its
//      fields, which lie in the other core's cache: fetching those cost it more than all it does with them.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_DIGEST_H
#define FLAGPROF_TRACE_DIGEST_H

#include "trace/fast.h"
#include "trace/intern.h"

#define FP_DIGEST_TEXTS 4096 // names and categories with a number here
#define FP_DIGEST_CATS 64

struct fp_digest {
    bool whole; // false: nothing else is set, the event must be looked at itself
    bool has_dur, fractions;
    char phase;
    uint8_t ids_known;                   // enum fp_read_id
    uint8_t pid_size, tid_size, id_size; // of the texts; id_size 0: no id
    uint16_t pid_at, tid_at, id_at;      // where they begin, from the event's brace
    uint32_t name, cat;                  // numbers in the digester's table plus one; name 0: it has none
    int64_t ts_ns, dur_ns;
    uint64_t pid, tid, id;
    uint64_t external_id, correlation;
};

// The texts met so far. One for each thread that digests.
struct fp_digester {
    struct fp_intern *texts;
    struct {
        struct fp_text text;
        uint32_t number;
    } cats[FP_DIGEST_CATS];
};

int fp_digester_begin(struct fp_digester *digester); // 0 or -ENOMEM
void fp_digester_end(struct fp_digester *digester);

void fp_digest_event(struct fp_digester *digester, const struct fp_parsed *event, struct fp_digest *digest);

#endif
