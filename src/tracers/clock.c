// clock.c - from a vendor's clock to the Unix epoch (clock.h).

#include "tracers/clock.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

enum { READINGS = 5 };

static int64_t read_system(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t fp_clock_epoch_ns(void) {
    return read_system(CLOCK_REALTIME);
}

int64_t fp_clock_monotonic_ns(void) {
    return read_system(CLOCK_MONOTONIC);
}

int fp_clock_sample(fp_clock_read read, void *owner, struct fp_clock_sample *sample) {
    int64_t tightest = INT64_MAX;
    for (int reading = 0; reading < READINGS; reading++) {
        uint64_t vendor_ns;
        int64_t before = fp_clock_epoch_ns();
        int result = read(owner, &vendor_ns);
        int64_t after = fp_clock_epoch_ns();
        if (result != 0)
            return result;
        // A step of the system's clock makes the gap negative: no reading worth having.
        if (after >= before && after - before < tightest) {
            tightest = after - before;
            *sample = (struct fp_clock_sample){ (int64_t)vendor_ns, before + (after - before) / 2 };
        }
    }
    return tightest == INT64_MAX ? -EAGAIN : 0;
}

void fp_clock_begin(struct fp_clock *clock, struct fp_clock_sample first, int64_t same_ns) {
    int64_t apart = first.vendor_ns - first.epoch_ns;
    clock->first = clock->last = first;
    clock->identity = (apart < 0 ? -apart : apart) <= same_ns;
}

void fp_clock_finish(struct fp_clock *clock, struct fp_clock_sample last) {
    clock->last = last;
}

bool fp_clock_open(struct fp_clock *clock, const char *log_name, fp_clock_read read, void *owner,
                   int64_t same_ns) {
    struct fp_clock_sample sample;
    *clock = (struct fp_clock){ .identity = true };
    if (fp_clock_sample(read, owner, &sample) != 0)
        return false;
    fp_clock_begin(clock, sample, same_ns);
    fp_log(log_name, "clock: %" PRId64 " ns from the epoch%s", sample.vendor_ns - sample.epoch_ns,
           clock->identity ? ", taken as it is" : "");
    return true;
}

void fp_clock_follow(struct fp_clock *clock, fp_clock_read read, void *owner) {
    struct fp_clock_sample sample;
    if (fp_clock_sample(read, owner, &sample) == 0)
        fp_clock_finish(clock, sample);
}

int64_t fp_clock_to_epoch(const struct fp_clock *clock, int64_t vendor_ns) {
    if (clock->identity)
        return vendor_ns;
    int64_t since = vendor_ns - clock->first.vendor_ns;
    int64_t vendor_span = clock->last.vendor_ns - clock->first.vendor_ns;
    int64_t epoch_span = clock->last.epoch_ns - clock->first.epoch_ns;
    // Only the difference in rate goes through floating point: it is small, so nothing of the nanosecond is
    // lost. Two samples that are too close together, or run backwards, say nothing of a rate.
    double drift =
        vendor_span > 0 && epoch_span > 0 ? (double)(epoch_span - vendor_span) / (double)vendor_span : 0.0;
    double correction = (double)since * drift;
    return clock->first.epoch_ns + since + (int64_t)(correction < 0 ? correction - 0.5 : correction + 0.5);
}
