// layout.h - where the fields of TOPSPTI's records lie: a table, since no layout is public.
//
// In:  the fact sheet's field names and order; a seed (fault other_layout).
// Out: an offset for each field of each record. Seed 0 is the layout of the stand-in header; every other
//      seed draws one: fields moved, 8 bytes put in, kinds, domains and sites renumbered, ids counted from 1.
//      One binary serves all of them.
#ifndef FLAGSIM_TOPSPTI_LAYOUT_H
#define FLAGSIM_TOPSPTI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shape { KERNEL, COPY, SET, RUNTIME, DRIVER, CALLBACK, SHAPES };

enum field {
    KIND,
    START,
    END,
    COMPLETED,
    DEVICE,
    CONTEXT,
    STREAM,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    CORRELATION,
    GRID_ID,
    NAME,
    RESERVED,
    COPY_KIND,
    SOURCE_KIND,
    TARGET_KIND,
    FLAGS,
    BYTES,
    VALUE,
    MEMORY_KIND,
    CBID,
    PROCESS,
    THREAD,
    RESULT,
    SITE,
    FUNCTION_NAME,
    FUNCTION_PARAMS,
    RETURN_VALUE,
    SYMBOL_NAME,
    CONTEXT_HANDLE,
    CONTEXT_UID,
    CORRELATION_DATA,
    FILLER, // 8 bytes that a seed put in
    FIELDS
};

enum { BYTES_MAX = 256 };

struct places {
    uint16_t offset[FIELDS];
    uint8_t width[FIELDS]; // 0: this record does not have the field
    uint16_t bytes;
};

struct layout {
    uint64_t seed;
    struct places of[SHAPES];
    uint32_t kinds[SHAPES]; // numbers of the activity kinds
    uint32_t runtime_domain, driver_domain;
    uint32_t enter, exit;
    bool small_ids;  // correlation ids counted from 1
    uint64_t filler; // what stands in the bytes that were put in
};

// The layout in force; drawn once a process.
const struct layout *layout_now(void);

// Puts a value into a field, if this record has it.
void layout_put(uint8_t *record, enum shape shape, enum field field, uint64_t value);
// The shape of a kind's number; SHAPES: there is no such kind.
enum shape layout_shape(uint32_t kind);

#endif
