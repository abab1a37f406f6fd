// block.h - the text of a trace in large blocks, indexed, one after the other, with or without a second
// thread.
//
// In:  a source.
// Out: blocks that each begin with what the consumer had not finished of the one before, so that an event
//      always lies in one piece.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_BLOCK_H
#define FLAGPROF_TRACE_BLOCK_H

#include <stdbool.h>

#include "flagprof/error.h"
#include "trace/ahead.h"
#include "trace/scan.h"
#include "trace/source.h"

#define FP_BLOCK_PAD 128 // bytes that may be read behind the end of a block

struct fp_block {
    char *text;
    size_t room;       // allocated for text, without the pad
    size_t start, end; // the live text
    size_t head;       // where the freshly read part begins; start <= head
    uint64_t offset;   // of text[head] in the whole text
    bool last;
    int code; // negative errno of the read that filled it
    struct fp_error err;

    struct fp_ahead_events ahead; // none without a second thread

    // No byte in it is a backslash or a control byte other than a blank: strings need no second look.
    bool clean;

    // Filled by fp_blocks_index; empty until then.
    uint32_t *index; // positions from `text`, sentinels of `end` behind the last
    size_t index_end;
    size_t index_to; // so far the text was scanned
    uint32_t *special;
    size_t special_end;

    uint64_t head_line;        // line number at text[head], from 1
    uint64_t newlines;         // in text[head..end)
    uint64_t start_line_begin; // offset of the first byte of the line that text[start] lies in
    uint64_t bad_utf8;
    uint32_t bad_place[FP_SCAN_BAD_PLACES];
};

struct fp_blocks;

// Takes the source over, also on failure. `threads` of 2 starts one that fills blocks and reads events ahead.
int fp_blocks_open(struct fp_source *source, size_t block_bytes, int threads, uint64_t value_limit,
                   struct fp_blocks **blocks, struct fp_error *err);
void fp_blocks_close(struct fp_blocks *blocks);

struct fp_source *fp_blocks_source(const struct fp_blocks *blocks);

// The block that is current now; NULL before the first fp_blocks_next.
struct fp_block *fp_blocks_current(const struct fp_blocks *blocks);

// Moves on to the next block, carrying over everything from position `keep` on. Where that is large, several
// blocks are joined, so that reading again from its start costs linear time altogether. Returns 0, or a
// negative errno: -ENODATA when there is no more text, -EFBIG when the carried part exceeds the limit.
int fp_blocks_next(struct fp_blocks *blocks, size_t keep, struct fp_error *err);

// Scans the current block from position `from`, which stands outside any string: `most` bytes or a few more,
// at most to the block's end.
void fp_blocks_index(struct fp_blocks *blocks, size_t from, size_t most);

#endif
