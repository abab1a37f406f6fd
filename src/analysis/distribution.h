// distribution.h - count, sum, extremes and percentiles of durations.
//
// In:  nanoseconds of 0 or more, in any order.
// Out: exact numbers; percentiles are exact up to FP_DISTRIBUTION_EXACT values, beyond that they are
//      within FP_DISTRIBUTION_ERROR of the true one, and `sketched` says so.
//
// A percentile is the smallest value that at least that share of the values do not exceed: always a value
// that occurred.
#ifndef FLAGPROF_ANALYSIS_DISTRIBUTION_H
#define FLAGPROF_ANALYSIS_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FP_DISTRIBUTION_EXACT (1u << 20)
#define FP_DISTRIBUTION_ERROR                                                                                \
    0.004 // relative: a bucket spans 1/128 of its value, its middle is off by half of that

struct fp_distribution {
    uint64_t count;
    int64_t sum, least, most;
    uint32_t *values; // below 2^32 ns; NULL once sketched
    uint32_t value_count, value_room;
    int64_t *large; // 2^32 ns and more
    uint32_t large_count, large_room;
    uint64_t *buckets; // the sketch
};

// Returns 0 or -ENOMEM. All zero is an empty distribution.
int fp_distribution_add(struct fp_distribution *distribution, int64_t ns);

// `percent` from 0 to 100; 0 where there are no values. Reorders the values inside.
int64_t fp_distribution_percentile(struct fp_distribution *distribution, double percent);

static inline bool fp_distribution_sketched(const struct fp_distribution *distribution) {
    return distribution->buckets != NULL;
}

void fp_distribution_free(struct fp_distribution *distribution);

#endif
