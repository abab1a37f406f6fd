// distribution.c - percentiles of durations, exact as long as memory allows.
//
// In:  durations.
// Out: order statistics. Four bytes a value while there are up to a million; then a histogram whose
//      buckets follow the value's exponent and seven bits behind it (the idea of HdrHistogram), filled by
//      shifts alone.

#include "analysis/distribution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FINE_BITS 7
#define BUCKETS ((64 - FINE_BITS + 1) << FINE_BITS)

static unsigned bucket_of(int64_t ns) {
    uint64_t value = (uint64_t)ns;
    if (value < 1u << FINE_BITS)
        return (unsigned)value;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned shift = exponent - FINE_BITS;
    return ((shift + 1) << FINE_BITS) + (unsigned)((value >> shift) & ((1u << FINE_BITS) - 1));
}

// The middle of a bucket.
static int64_t value_of(unsigned bucket) {
    if (bucket < 1u << FINE_BITS)
        return bucket;
    unsigned shift = (bucket >> FINE_BITS) - 1;
    uint64_t low = ((uint64_t)(1u << FINE_BITS) + (bucket & ((1u << FINE_BITS) - 1))) << shift;
    return (int64_t)(low + (shift ? 1ULL << shift >> 1 : 0));
}

static int sketch(struct fp_distribution *distribution) {
    uint64_t *buckets = calloc(BUCKETS, sizeof(*buckets));
    if (!buckets)
        return -ENOMEM;
    for (uint32_t i = 0; i < distribution->value_count; i++)
        buckets[bucket_of(distribution->values[i])]++;
    for (uint32_t i = 0; i < distribution->large_count; i++)
        buckets[bucket_of(distribution->large[i])]++;
    distribution->buckets = buckets;
    free(distribution->values);
    free(distribution->large);
    distribution->values = NULL;
    distribution->large = NULL;
    return 0;
}

static int keep_large(struct fp_distribution *distribution, int64_t ns) {
    if (distribution->large_count == distribution->large_room) {
        uint32_t room = distribution->large_room ? distribution->large_room * 2 : 8;
        int64_t *grown = realloc(distribution->large, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        distribution->large = grown;
        distribution->large_room = room;
    }
    distribution->large[distribution->large_count++] = ns;
    return 0;
}

static int keep(struct fp_distribution *distribution, int64_t ns) {
    if (ns > UINT32_MAX)
        return keep_large(distribution, ns);
    if (distribution->value_count == distribution->value_room) {
        uint32_t room = distribution->value_room ? distribution->value_room * 2 : 8;
        uint32_t *grown = realloc(distribution->values, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        distribution->values = grown;
        distribution->value_room = room;
    }
    distribution->values[distribution->value_count++] = (uint32_t)ns;
    return 0;
}

int fp_distribution_add(struct fp_distribution *distribution, int64_t ns) {
    int code = 0;
    if (ns < 0)
        ns = 0;
    if (distribution->buckets)
        distribution->buckets[bucket_of(ns)]++;
    else if ((code = keep(distribution, ns)) != 0)
        return code;
    if (!distribution->count || ns < distribution->least)
        distribution->least = ns;
    if (ns > distribution->most)
        distribution->most = ns;
    if (__builtin_add_overflow(distribution->sum, ns, &distribution->sum))
        distribution->sum = INT64_MAX;
    distribution->count++;
    if (!distribution->buckets && distribution->count == FP_DISTRIBUTION_EXACT)
        code = sketch(distribution);
    return code;
}

// The value of rank `rank` (from 0) among values[0..count), which is partly sorted on the way.
static uint32_t pick(uint32_t *values, uint32_t count, uint32_t rank) {
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        uint32_t pivot = values[low + (high - low) / 2], i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint32_t swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        // values[low..j] <= pivot <= values[j+1..high]
        if (rank <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[rank];
}

static int compare_large(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t fp_distribution_percentile(struct fp_distribution *distribution, double percent) {
    if (!distribution->count)
        return 0;
    double exact = percent / 100 * (double)distribution->count;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact)
        rank++;
    rank = rank ? rank - 1 : 0; // from 0
    if (rank >= distribution->count)
        rank = distribution->count - 1;
    if (!distribution->buckets) {
        if (rank < distribution->value_count)
            return pick(distribution->values, distribution->value_count, (uint32_t)rank);
        qsort(distribution->large, distribution->large_count, sizeof(*distribution->large), compare_large);
        return distribution->large[rank - distribution->value_count];
    }
    uint64_t seen = 0;
    int64_t value = distribution->most;
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += distribution->buckets[i];
        if (seen > rank) {
            value = value_of(i);
            break;
        }
    }
    if (value < distribution->least)
        return distribution->least;
    return value > distribution->most ? distribution->most : value;
}

void fp_distribution_free(struct fp_distribution *distribution) {
    free(distribution->values);
    free(distribution->large);
    free(distribution->buckets);
    memset(distribution, 0, sizeof(*distribution));
}
