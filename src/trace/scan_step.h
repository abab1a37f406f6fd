// scan_step.h - the part of the scan that is the same for every processor: from masks to positions.
//
// In:  one bit per byte for each class of bytes.
// Out: positions. Included by scan.c once per kind of registers, with FP_TARGET naming the processor
//      features and `classify` and `prefix_xor` defined before.

// A bit for every escaped byte. Runs of backslashes: the byte behind an odd run is escaped, wherever the run
// began.
FP_TARGET static inline uint64_t NAMED(escaped_bytes)(struct fp_scan *scan, uint64_t backslash) {
    if (!backslash) {
        uint64_t escaped = scan->escaped;
        scan->escaped = 0;
        return escaped;
    }
    const uint64_t even = 0x5555555555555555ULL;
    backslash &= ~scan->escaped;
    uint64_t follows = backslash << 1 | scan->escaped;
    uint64_t odd_starts = backslash & ~even & ~follows;
    uint64_t sequences;
    scan->escaped = __builtin_add_overflow(odd_starts, backslash, &sequences);
    return (even ^ (sequences << 1)) & follows;
}

FP_TARGET void NAMED(scan_run)(struct fp_scan *scan, const char *text, size_t from, size_t to,
                               struct fp_scan_result *result) {
    uint32_t *index = result->index + result->index_count;
    for (size_t at = from; at < to; at += FP_SCAN_STEP) {
        struct masks masks;
        NAMED(classify)(text + at, &masks);
        uint64_t escaped = NAMED(escaped_bytes)(scan, masks.backslash);
        uint64_t quote = masks.quote & ~escaped;
        uint64_t in_string =
            NAMED(prefix_xor)(quote) ^ scan->in_string; // opening quote in, closing quote out
        scan->in_string = (uint64_t)((int64_t)in_string >> 63);

        uint64_t scalar = ~(masks.operators | masks.space);
        uint64_t bare = scalar & ~quote;
        uint64_t follows_bare = bare << 1 | scan->in_scalar;
        scan->in_scalar = bare >> 63;
        uint64_t starts = (masks.operators | (scalar & ~follows_bare)) & ~(in_string ^ quote);

        uint32_t base = (uint32_t)at;
        int count = __builtin_popcountll(starts);
        uint32_t *end = index + count;
        while (starts) { // eight at a time whether there are so many or not: fewer mispredicted branches
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) {
                index[i] = base + NAMED(first_bit)(starts);
                starts &= starts - 1;
            }
            index += 8;
        }
        index = end;

        result->newlines += (unsigned)__builtin_popcountll(masks.newline);
        uint64_t special = in_string & ((masks.backslash & ~escaped) | masks.control);
        if (special)
            note_specials(result, base, special);
        if (masks.high || scan->utf8_left)
            check_utf8(scan, text, at, result);
    }
    result->index_count = (size_t)(index - result->index);
}
