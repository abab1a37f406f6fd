// clock.h - from a vendor's clock to the Unix epoch, for vendors whose clock is their own.
//
// In:  two samples, at a session's start and end, each of both clocks read as closely together as can be.
// Out: vendor times as nanoseconds since the epoch, by the straight line through the two samples: the
//      clocks may differ in origin and in rate.
//
// A clock that is the epoch's already is left exactly as it is: a line through two noisy samples would only
// blur it.
#ifndef FP_TRACERS_CLOCK_H
#define FP_TRACERS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct fp_clock_sample {
    int64_t vendor_ns, epoch_ns;
};

struct fp_clock {
    struct fp_clock_sample first, last;
    bool identity;
};

// Reads the vendor's clock now; 0, or what the vendor answered.
typedef int (*fp_clock_read)(void *owner, uint64_t *vendor_ns);

// The tightest of a few readings between two of the system's clock. 0, or the vendor's error.
int fp_clock_sample(fp_clock_read read, void *owner, struct fp_clock_sample *sample);
// A clock from its first sample alone: the identity where vendor and epoch agree within `same_ns`, else an
// offset until fp_clock_finish brings the second.
void fp_clock_begin(struct fp_clock *clock, struct fp_clock_sample first, int64_t same_ns);
void fp_clock_finish(struct fp_clock *clock, struct fp_clock_sample last);
// The same two steps with the vendor's clock read here. False: the vendor does not tell it, and the clock is
// the identity.
bool fp_clock_open(struct fp_clock *clock, const char *log_name, fp_clock_read read, void *owner,
                   int64_t same_ns);
void fp_clock_follow(struct fp_clock *clock, fp_clock_read read, void *owner);
int64_t fp_clock_to_epoch(const struct fp_clock *clock, int64_t vendor_ns);

// The system's clocks: of the epoch, and the one that is never set.
int64_t fp_clock_epoch_ns(void);
int64_t fp_clock_monotonic_ns(void);

#endif
