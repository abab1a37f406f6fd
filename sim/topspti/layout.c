// layout.c - TOPSPTI's layouts: the stand-in's, and those that a seed draws (layout.h).
#include "layout.h"

#include "flagsim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct member {
    enum field field;
    uint8_t width;
};

enum { MEMBERS_MAX = 24 };

// Names and order [CODE]; widths of what the fact sheet gives none for as CUPTI's [GUESS].
static const struct member members[SHAPES][MEMBERS_MAX] = {
    [KERNEL] = { { KIND, 4 },
                 { START, 8 },
                 { END, 8 },
                 { COMPLETED, 8 },
                 { DEVICE, 4 },
                 { CONTEXT, 4 },
                 { STREAM, 4 },
                 { GRID_X, 4 },
                 { GRID_Y, 4 },
                 { GRID_Z, 4 },
                 { BLOCK_X, 4 },
                 { BLOCK_Y, 4 },
                 { BLOCK_Z, 4 },
                 { CORRELATION, 4 },
                 { GRID_ID, 8 },
                 { NAME, 8 },
                 { RESERVED, 8 } },
    [COPY] = { { KIND, 4 },
               { COPY_KIND, 1 },
               { SOURCE_KIND, 1 },
               { TARGET_KIND, 1 },
               { FLAGS, 1 },
               { BYTES, 8 },
               { START, 8 },
               { END, 8 },
               { DEVICE, 4 },
               { CONTEXT, 4 },
               { STREAM, 4 },
               { CORRELATION, 4 } },
    [SET] = { { KIND, 4 },
              { VALUE, 4 },
              { BYTES, 8 },
              { START, 8 },
              { END, 8 },
              { DEVICE, 4 },
              { CONTEXT, 4 },
              { STREAM, 4 },
              { CORRELATION, 4 },
              { FLAGS, 2 },
              { MEMORY_KIND, 2 } },
    [RUNTIME] = { { KIND, 4 },
                  { CBID, 4 },
                  { START, 8 },
                  { END, 8 },
                  { PROCESS, 4 },
                  { THREAD, 4 },
                  { CORRELATION, 4 },
                  { RESULT, 4 } },
    [CALLBACK] = { { SITE, 4 },
                   { FUNCTION_NAME, 8 },
                   { FUNCTION_PARAMS, 8 },
                   { RETURN_VALUE, 8 },
                   { SYMBOL_NAME, 8 },
                   { CONTEXT_HANDLE, 8 },
                   { CONTEXT_UID, 4 },
                   { CORRELATION_DATA, 8 },
                   { CORRELATION, 4 } },
};

static struct layout now;

// ---- drawing

static uint64_t state;

static uint32_t draw(uint32_t below) {
    uint64_t next = (state += UINT64_C(0x9e3779b97f4a7c15));
    next = (next ^ next >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    next = (next ^ next >> 27) * UINT64_C(0x94d049bb133111eb);
    return below ? (uint32_t)((next ^ next >> 31) % below) : 0;
}

static void insert(struct member *list, size_t *count, size_t at, struct member member) {
    memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
    list[at] = member;
    (*count)++;
}

static struct member take_out(struct member *list, size_t *count, size_t at) {
    struct member member = list[at];
    (*count)--;
    memmove(list + at, list + at + 1, (*count - at) * sizeof *list);
    return member;
}

// The kind alone stays where it is [CODE].
static void shuffle(struct member *list, size_t *count, size_t first) {
    for (uint32_t moves = draw(4); moves > 0; moves--) {
        struct member moved = take_out(list, count, first + draw((uint32_t)(*count - first)));
        insert(list, count, first + draw((uint32_t)(*count - first + 1)), moved);
    }
    if (draw(2))
        insert(list, count, first + draw((uint32_t)(*count - first + 1)), (struct member){ FILLER, 8 });
}

static void lay_out(struct places *places, const struct member *list, size_t count) {
    uint16_t at = 0;
    *places = (struct places){ .bytes = 0 };
    for (size_t i = 0; i < count; i++) {
        at = (uint16_t)((at + list[i].width - 1) / list[i].width * list[i].width);
        places->offset[list[i].field] = at;
        places->width[list[i].field] = list[i].width;
        at = (uint16_t)(at + list[i].width);
    }
    places->bytes = (uint16_t)((at + 7) / 8 * 8);
}

static void draw_numbers(void) {
    static const uint32_t shifts[] = { 0, 0, 6, 21 };
    uint32_t shift = shifts[draw(4)];
    for (int shape = DRIVER; shape > 0; shape--) {
        int other = (int)draw((uint32_t)shape + 1);
        uint32_t held = now.kinds[shape];
        now.kinds[shape] = now.kinds[other];
        now.kinds[other] = held;
    }
    for (int shape = 0; shape <= DRIVER; shape++)
        now.kinds[shape] += shift;
    if (draw(3) == 0) {
        now.runtime_domain = 1;
        now.driver_domain = 3;
    }
    if (draw(3) == 0) {
        now.enter = 1;
        now.exit = 2;
    }
    now.small_ids = draw(2);
    const uint64_t fillers[] = { 0, UINT64_MAX, 1, (uint64_t)(uintptr_t) "reserved", 5000000000 };
    now.filler = fillers[draw(5)];
}

static void make(void) {
    static const uint32_t kinds[SHAPES] = {
        [COPY] = 1, [SET] = 2, [KERNEL] = 3, [DRIVER] = 4, [RUNTIME] = 5, // [GUESS]
    };
    now = (struct layout){ .runtime_domain = 2, .driver_domain = 1, .enter = 0, .exit = 1 }; // [GUESS]
    memcpy(now.kinds, kinds, sizeof kinds);
    now.seed = flagsim_fault_value(FLAGSIM_FAULT_other_layout);
    state = now.seed;
    for (int shape = 0; shape < SHAPES; shape++) {
        struct member list[MEMBERS_MAX];
        size_t count = 0;
        memcpy(list, members[shape == DRIVER ? RUNTIME : shape], sizeof list);
        while (count < MEMBERS_MAX && list[count].width)
            count++;
        if (now.seed && shape != DRIVER)
            shuffle(list, &count, shape == CALLBACK ? 0 : 1);
        lay_out(&now.of[shape], list, count);
    }
    now.of[DRIVER] = now.of[RUNTIME];
    if (now.seed)
        draw_numbers();
}

const struct layout *layout_now(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &now;
}

// ---- using

void layout_put(uint8_t *record, enum shape shape, enum field field, uint64_t value) {
    const struct places *places = &layout_now()->of[shape];
    memcpy(record + places->offset[field], &value, places->width[field]); // little-endian
}

enum shape layout_shape(uint32_t kind) {
    const struct layout *layout = layout_now();
    for (int shape = 0; shape <= DRIVER; shape++)
        if (layout->kinds[shape] == kind)
            return (enum shape)shape;
    return SHAPES;
}
