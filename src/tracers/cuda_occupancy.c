// cuda_occupancy.c - how many blocks of a kernel fit on a multiprocessor, and what share of it they fill.
//
// The rules are those that NVIDIA publishes with the CUDA runtime (cuda_occupancy.h, 13.5): four limits, the
// smallest wins. Figures that depend on the compute capability are rows of one table.

#include "tracers/cuda_occupancy.h"

struct rules {
    int32_t major, minor; // minor -1: all others of this major
    int32_t max_blocks;   // on a multiprocessor
    int32_t partitions;   // of a multiprocessor's registers
    int32_t shared_unit_bytes;
};

static const struct rules table[] = {
    // a row with a minor stands before its major's -1
    { 5, -1, 32, 4, 256 }, { 6, 0, 32, 2, 256 },   { 6, -1, 32, 4, 256 },  { 7, 5, 16, 4, 256 },
    { 7, -1, 32, 4, 256 }, { 8, 0, 32, 4, 128 },   { 8, 9, 24, 4, 128 },   { 8, -1, 16, 4, 128 },
    { 9, -1, 32, 4, 128 }, { 10, 1, 24, 4, 128 },  { 10, 7, 16, 4, 128 },  { 10, -1, 32, 4, 128 },
    { 11, 0, 24, 4, 128 }, { 11, -1, 32, 4, 128 }, { 12, -1, 24, 4, 128 },
};

enum { REGISTER_UNIT = 256, NO_LIMIT = INT32_MAX };

static const struct rules *find_rules(const struct fp_cuda_limits *limits) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].major == limits->compute_major &&
            (table[i].minor == limits->compute_minor || table[i].minor == -1))
            return &table[i];
    return NULL;
}

static int64_t round_up(int64_t number, int64_t unit) {
    return (number + unit - 1) / unit * unit;
}

// Registers are given to warps, from the share of the partition on which the warp runs. The hardware checks a
// block as if its warps were spread over all partitions.
static int64_t blocks_by_registers(const struct fp_cuda_limits *limits, const struct rules *rules,
                                   int64_t registers, int64_t warps) {
    int64_t per_warp = round_up(registers * limits->warp_size, REGISTER_UNIT);
    int64_t most = limits->compute_major < 7 ? 255 : 256;
    if (per_warp * round_up(warps, rules->partitions) > limits->registers_per_block || registers > most)
        return 0;
    if (per_warp == 0)
        return NO_LIMIT;
    int64_t warps_per_partition = limits->registers_per_multiprocessor / rules->partitions / per_warp;
    return warps_per_partition * rules->partitions / warps;
}

// A block over the default limit of a block is counted as not fitting, though it may opt in to more: that is
// what torch shows (0 %), and equal numbers matter more here than better ones.
static int64_t blocks_by_shared_memory(const struct fp_cuda_limits *limits, const struct rules *rules,
                                       int64_t shared_bytes) {
    int64_t reserved = limits->reserved_shared_per_block_bytes;
    int64_t needed = round_up(shared_bytes + reserved, rules->shared_unit_bytes);
    if (needed > limits->shared_per_block_bytes + (limits->compute_major >= 8 ? reserved : 0))
        return 0;
    return needed ? limits->shared_per_multiprocessor_bytes / needed : NO_LIMIT;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int fp_cuda_occupancy_percent(const struct fp_cuda_limits *limits, const struct fp_kernel *kernel) {
    const struct rules *rules = find_rules(limits);
    int64_t threads = (int64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    if (!rules || limits->multiprocessors <= 0 || limits->warp_size <= 0 ||
        limits->registers_per_block <= 0 || limits->max_threads_per_multiprocessor <= 0 ||
        limits->shared_per_multiprocessor_bytes <= 0 || threads <= 0 || threads > INT32_MAX)
        return -1;
    int64_t warps = (threads + limits->warp_size - 1) / limits->warp_size;
    int64_t by_warps = threads > limits->max_threads_per_block
                           ? 0
                           : limits->max_threads_per_multiprocessor / limits->warp_size / warps;
    int64_t blocks = smaller(smaller(by_warps, rules->max_blocks),
                             smaller(blocks_by_registers(limits, rules, kernel->registers_per_thread, warps),
                                     blocks_by_shared_memory(limits, rules, kernel->shared_bytes)));
    // In float as torch does it, so that what lies half way between two percents rounds alike.
    float grid = (float)((uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2]);
    float launched = grid / (float)limits->multiprocessors;
    float active = (float)blocks < launched ? (float)blocks : launched;
    float share = active * (float)threads / (float)limits->max_threads_per_multiprocessor;
    return (int)(0.5 + (double)share * 100.0);
}
