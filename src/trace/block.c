// block.c - the text of a trace in large blocks, indexed, one after the other.
//
// In:  a source.
// Out: a chain of blocks. Each has spare room in front of its fresh text, into which the unfinished tail
//      of the block before is copied; a tail too large for that is joined with blocks to come in an
//      allocation of its own. With two threads, the other one fills a ring of blocks and reads events ahead
//      in them (ahead.c); everything else happens in the consumer's.

#include "trace/block.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_BYTES ((size_t)16 * 1024) // room for the tail of the block before
#define RING 16
#define HALF (RING / 2) // a thread that had to wait sleeps until there is work for a while
#define SPARE 3         // with so many blocks to take, the consumer does not soon come to the next one

struct fp_blocks {
    struct fp_source *source;
    size_t block_bytes;
    uint64_t value_limit;
    struct fp_scan utf8; // of it only what UTF-8 needs is used
    uint64_t offset;     // of the next byte to be read

    struct fp_block ring[RING];
    struct fp_block joined;
    struct fp_block *current;
    unsigned filled, taken, released; // counts of blocks; modulo RING their place

    bool threaded, stop, over; // over: the last block is filled
    bool waiting;              // the consumer, for a block
    struct fp_ahead ahead;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void block_free(struct fp_block *block) {
    free(block->text);
    free(block->index);
    free(block->special);
    fp_ahead_events_end(&block->ahead);
    *block = (struct fp_block){ 0 };
}

// Room for `room` bytes of text and as many index entries. Contents are kept.
static int block_reserve(struct fp_block *block, size_t room) {
    if (room <= block->room)
        return 0;
    if (room > UINT32_MAX - FP_BLOCK_PAD)
        return -EFBIG;
    char *text = realloc(block->text, room + FP_BLOCK_PAD);
    if (!text)
        return -ENOMEM;
    block->text = text;
    uint32_t *index = realloc(block->index, (room + FP_BLOCK_PAD) * sizeof(*index));
    if (!index)
        return -ENOMEM;
    block->index = index;
    uint32_t *special = realloc(block->special, (room + FP_BLOCK_PAD) * sizeof(*special));
    if (!special)
        return -ENOMEM;
    block->special = special;
    block->room = room;
    return 0;
}

static void set_sentinels(struct fp_block *block) {
    for (int i = 0; i < 8; i++)
        block->index[block->index_end + (size_t)i] = (uint32_t)block->end;
    memset(block->text + block->end, 0, FP_BLOCK_PAD);
}

void fp_blocks_index(struct fp_blocks *blocks, size_t from, size_t most) {
    struct fp_block *block = blocks->current;
    struct fp_scan scan = { 0 };
    struct fp_scan_result result = { .index = block->index, .special = block->special };
    size_t rest = block->end - from, size = rest < most ? rest : most;
    size_t whole = (size + FP_SCAN_STEP - 1) / FP_SCAN_STEP * FP_SCAN_STEP;
    memset(block->text + block->end, ' ', FP_BLOCK_PAD);
    fp_scan_run(&scan, block->text, from, from + whole, &result);
    block->index_to = from + whole < block->end ? from + whole : block->end;
    block->index_end = result.index_count;
    block->special_end = result.special_count;
    set_sentinels(block);
}

// Reads one block, and looks through it once: newlines, UTF-8, and whether strings hold anything special.
static void block_fill(struct fp_blocks *blocks, struct fp_block *block) {
    block->start = block->head = FRONT_BYTES;
    block->index_end = block->special_end = 0;
    block->offset = blocks->offset;
    int64_t got = fp_source_read(blocks->source, block->text + block->head, blocks->block_bytes, &block->err);
    size_t have = got > 0 ? (size_t)got : 0;
    block->code = got < 0 ? (int)got : 0;
    block->last = have < blocks->block_bytes;
    block->end = block->head + have;
    blocks->offset += have;
    struct fp_scan_result result = { 0 };
    blocks->utf8.utf8_start = (uint32_t)block->head;
    memset(block->text + block->end, ' ', FP_BLOCK_PAD);
    size_t whole = (have + FP_SCAN_STEP - 1) / FP_SCAN_STEP * FP_SCAN_STEP;
    block->clean = fp_scan_look(&blocks->utf8, block->text, block->head, block->head + whole, &result);
    if (block->last)
        fp_scan_end(&blocks->utf8, &result);
    block->newlines = result.newlines;
    block->bad_utf8 = result.bad_utf8;
    memcpy(block->bad_place, result.bad_place, sizeof(block->bad_place));
    memset(block->text + block->end, 0, FP_BLOCK_PAD);
}

static void *fill_ahead(void *argument) {
    struct fp_blocks *blocks = argument;
    pthread_mutex_lock(&blocks->lock);
    while (!blocks->stop && !blocks->over) {
        if (blocks->filled - blocks->released >= RING) {
            while (!blocks->stop && blocks->filled - blocks->released > HALF)
                pthread_cond_wait(&blocks->changed, &blocks->lock);
            continue;
        }
        struct fp_block *block = &blocks->ring[blocks->filled % RING];
        bool in_time = !blocks->waiting && blocks->filled - blocks->taken >= SPARE;
        pthread_mutex_unlock(&blocks->lock);
        block_fill(blocks, block);
        if (in_time || !blocks->ahead.between_known)
            fp_ahead_read(&blocks->ahead, block);
        else
            fp_ahead_leave(&blocks->ahead, block);
        pthread_mutex_lock(&blocks->lock);
        blocks->filled++;
        blocks->over = block->last;
        if (blocks->over || blocks->taken < HALF || blocks->filled - blocks->taken >= HALF)
            pthread_cond_signal(&blocks->changed);
    }
    pthread_mutex_unlock(&blocks->lock);
    return NULL;
}

static int reserve_ring(struct fp_blocks *blocks, bool ahead) {
    int code = ahead ? fp_ahead_begin(&blocks->ahead, FRONT_BYTES) : 0;
    for (int i = 0; !code && i < (ahead ? RING : 2); i++) {
        code = block_reserve(&blocks->ring[i], FRONT_BYTES + blocks->block_bytes);
        if (!code && ahead)
            code = fp_ahead_events_begin(&blocks->ring[i].ahead, FRONT_BYTES + blocks->block_bytes);
    }
    return code;
}

int fp_blocks_open(struct fp_source *source, size_t block_bytes, int threads, uint64_t value_limit,
                   struct fp_blocks **out, struct fp_error *err) {
    struct fp_blocks *blocks = calloc(1, sizeof(*blocks));
    *out = blocks;
    if (!blocks) {
        fp_source_close(source);
        fp_error_set(err, "not enough memory to read a trace");
        return -ENOMEM;
    }
    blocks->source = source;
    blocks->block_bytes = (block_bytes + FP_SCAN_STEP - 1) / FP_SCAN_STEP * FP_SCAN_STEP;
    blocks->value_limit = value_limit;
    pthread_mutex_init(&blocks->lock, NULL);
    pthread_cond_init(&blocks->changed, NULL);
    if (reserve_ring(blocks, threads > 1) != 0) {
        fp_error_set(err, "%s: not enough memory to read it", fp_source_name(source));
        fp_blocks_close(blocks);
        *out = NULL;
        return -ENOMEM;
    }
    // Without the thread everything still works, only slower.
    blocks->threaded = threads > 1 && pthread_create(&blocks->thread, NULL, fill_ahead, blocks) == 0;
    return 0;
}

void fp_blocks_close(struct fp_blocks *blocks) {
    if (!blocks)
        return;
    if (blocks->threaded) {
        pthread_mutex_lock(&blocks->lock);
        blocks->stop = true;
        pthread_cond_signal(&blocks->changed);
        pthread_mutex_unlock(&blocks->lock);
        pthread_join(blocks->thread, NULL);
    }
    pthread_cond_destroy(&blocks->changed);
    pthread_mutex_destroy(&blocks->lock);
    for (int i = 0; i < RING; i++)
        block_free(&blocks->ring[i]);
    block_free(&blocks->joined);
    fp_ahead_end(&blocks->ahead);
    fp_source_close(blocks->source);
    free(blocks);
}

struct fp_source *fp_blocks_source(const struct fp_blocks *blocks) {
    return blocks->source;
}

struct fp_block *fp_blocks_current(const struct fp_blocks *blocks) {
    return blocks->current;
}

// The next block of the ring as it was filled. The one before stays intact until it is released.
static struct fp_block *ring_take(struct fp_blocks *blocks) {
    if (!blocks->threaded) {
        struct fp_block *block = &blocks->ring[blocks->taken++ % 2];
        block_fill(blocks, block);
        return block;
    }
    pthread_mutex_lock(&blocks->lock);
    unsigned enough = blocks->taken < HALF ? 1 : HALF; // the first ones are not waited for
    if (blocks->filled == blocks->taken)
        for (blocks->waiting = true; !blocks->over && blocks->filled - blocks->taken < enough;)
            pthread_cond_wait(&blocks->changed, &blocks->lock);
    blocks->waiting = false;
    struct fp_block *block = &blocks->ring[blocks->taken++ % RING];
    pthread_mutex_unlock(&blocks->lock);
    return block;
}

// Lets the oldest block taken be overwritten.
static void ring_release(struct fp_blocks *blocks) {
    if (!blocks->threaded)
        return;
    pthread_mutex_lock(&blocks->lock);
    if (blocks->filled - ++blocks->released <= HALF)
        pthread_cond_signal(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
}

// Offset of the beginning of the line in which text[at] lies.
static uint64_t line_begin(const struct fp_block *block, size_t at) {
    const char *newline = memrchr(block->text + block->start, '\n', at - block->start);
    return newline ? block->offset + (uint64_t)(newline + 1 - block->text) - block->head
                   : block->start_line_begin;
}

// Copies the tail of `from` in front of the fresh text of `to`.
static void carry_in_front(const struct fp_block *from, size_t keep, struct fp_block *to) {
    size_t tail = from->end - keep;
    to->start = to->head - tail;
    memcpy(to->text + to->start, from->text + keep, tail);
    to->clean &= from->clean;
}

// Puts the fresh text of `from` behind that of `to`, the joined block.
static int append_fresh(struct fp_block *to, const struct fp_block *from) {
    size_t fresh = from->end - from->head, need = to->end + fresh;
    if (need > to->room) {
        int code = block_reserve(to, need + need / 2);
        if (code)
            return code;
    }
    memcpy(to->text + to->end, from->text + from->head, fresh);
    to->newlines += from->newlines;
    for (uint64_t i = 0; i < from->bad_utf8 && i < FP_SCAN_BAD_PLACES; i++)
        if (to->bad_utf8 + i < FP_SCAN_BAD_PLACES)
            to->bad_place[to->bad_utf8 + i] = (uint32_t)(from->bad_place[i] - from->head + to->end);
    to->bad_utf8 += from->bad_utf8;
    to->clean &= from->clean;
    to->end += fresh;
    to->last = from->last;
    return 0;
}

// Makes the joined block begin with the tail of `from`, which may be the joined block itself.
static int begin_joined(struct fp_blocks *blocks, struct fp_block *from, size_t keep) {
    struct fp_block *to = &blocks->joined;
    size_t tail = from->end - keep;
    uint64_t line_start = line_begin(from, keep);
    uint64_t end_line = from->head_line + from->newlines,
             end_offset = from->offset + (from->end - from->head);
    bool clean = from->clean;
    int code = block_reserve(to, tail * 2 + blocks->block_bytes);
    if (code)
        return code;
    memmove(to->text, from->text + keep, tail);
    to->start = 0;
    to->end = to->head = tail;
    to->offset = end_offset;
    to->index_end = to->special_end = 0;
    to->head_line = end_line;
    to->newlines = 0;
    to->bad_utf8 = 0;
    to->start_line_begin = line_start;
    to->clean = clean;
    to->last = false;
    return 0;
}

static void say_failure(const struct fp_blocks *blocks, int code, uint64_t byte, struct fp_error *err) {
    if (code == -EFBIG)
        fp_error_set(err, "%s: one event or header value, at byte %llu, is larger than the limit of %llu MB",
                     fp_source_name(blocks->source), (unsigned long long)byte,
                     (unsigned long long)(blocks->value_limit >> 20));
    else
        fp_error_set(err, "%s: not enough memory to read it", fp_source_name(blocks->source));
}

static int next_joined(struct fp_blocks *blocks, size_t keep, struct fp_error *err) {
    struct fp_block *from = blocks->current, *to = &blocks->joined;
    size_t tail = from->end - keep;
    uint64_t byte = from->offset + keep - from->head;
    int code = tail > blocks->value_limit ? -EFBIG : begin_joined(blocks, from, keep);
    if (code) {
        say_failure(blocks, code, byte, err);
        return code;
    }
    if (from != to)
        ring_release(blocks);
    blocks->current = to;
    // As much again as was carried: reading it anew from its start then costs twice its length in all.
    for (bool more = true; more;) {
        struct fp_block *fresh = ring_take(blocks);
        code = fresh->code;
        if (code && err)
            *err = fresh->err;
        if (!code && (code = append_fresh(to, fresh)) != 0)
            say_failure(blocks, code, byte, err);
        more = !code && !fresh->last && to->end < tail * 2;
        ring_release(blocks);
    }
    memset(to->text + to->end, 0, FP_BLOCK_PAD);
    return code;
}

int fp_blocks_next(struct fp_blocks *blocks, size_t keep, struct fp_error *err) {
    struct fp_block *from = blocks->current;
    if (from && from->last) {
        fp_error_set(err, "%s: no more text", fp_source_name(blocks->source));
        return -ENODATA;
    }
    if (from && from->end - keep > FRONT_BYTES)
        return next_joined(blocks, keep, err);
    struct fp_block *to = ring_take(blocks);
    if (to->code) {
        if (err)
            *err = to->err;
        return to->code;
    }
    if (from) {
        to->start_line_begin = line_begin(from, keep);
        to->head_line = from->head_line + from->newlines;
        carry_in_front(from, keep, to);
    } else {
        to->start_line_begin = 0;
        to->head_line = 1;
    }
    if (from && from != &blocks->joined)
        ring_release(blocks);
    blocks->current = to;
    return 0;
}
