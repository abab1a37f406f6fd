// twin.h - activity records that are copies of CUPTI's under another vendor's name: what such a record is
// made of.
//
// In:  a vendor's table of its own record sizes and field places, made in its private ABI header.
// Out: one reader for all of them. A vendor's number, type or function never passes this line.
//
// A field is at an offset or the vendor has none: nothing is assumed to lie where CUPTI has it.
#ifndef FP_TRACERS_TWIN_H
#define FP_TRACERS_TWIN_H

#include "flagprof/device_tracer.h"

#include <string.h>

enum fp_twin_shape {
    FP_TWIN_KERNEL,
    FP_TWIN_COPY,
    FP_TWIN_SET,
    FP_TWIN_API,
    FP_TWIN_EXTERNAL,
    FP_TWIN_SHAPES
};

enum fp_twin_field {
    FP_TWIN_START,
    FP_TWIN_END,
    FP_TWIN_DEVICE,
    FP_TWIN_CONTEXT,
    FP_TWIN_STREAM,
    FP_TWIN_CORRELATION,
    FP_TWIN_GRAPH,
    FP_TWIN_GRAPH_NODE,
    FP_TWIN_GRID_X, // x, y, z follow each other, for the block too
    FP_TWIN_GRID_Y,
    FP_TWIN_GRID_Z,
    FP_TWIN_BLOCK_X,
    FP_TWIN_BLOCK_Y,
    FP_TWIN_BLOCK_Z,
    FP_TWIN_REGISTERS,
    FP_TWIN_STATIC_SHARED,
    FP_TWIN_DYNAMIC_SHARED,
    FP_TWIN_NAME,
    FP_TWIN_QUEUED,
    FP_TWIN_COPY_KIND,
    FP_TWIN_FROM_KIND,
    FP_TWIN_TO_KIND, // of a set: the memory that is set
    FP_TWIN_FLAGS,
    FP_TWIN_BYTES,
    FP_TWIN_VALUE,
    FP_TWIN_CBID,
    FP_TWIN_PROCESS,
    FP_TWIN_THREAD,
    FP_TWIN_RESULT,
    FP_TWIN_EXTERNAL_KIND,
    FP_TWIN_EXTERNAL_ID,
    FP_TWIN_FIELDS
};

// The largest of CUPTI's own records has 248 bytes.
enum { FP_TWIN_ONE_RECORD = 256 };

struct fp_twin_place {
    uint16_t offset;
    uint8_t bytes; // 0: this vendor has no such field
};

#define FP_TWIN_PLACE(record, member)                                                                        \
    { (uint16_t) offsetof(record, member), (uint8_t)sizeof(((record *)0)->member) }

enum { FP_TWIN_DRIVER = 1, FP_TWIN_RUNTIME = 2 }; // domains, also in the vendors' own numbers

struct fp_twin_kind {
    uint32_t number; // the vendor's; every record begins with it
    enum fp_twin_shape shape;
    enum fp_kind kind; // what a lost one is counted as; FP_KIND_COUNT for what is no event
    const char *word;
    // EITHER: kinds of one shape that exclude each other, of which one is needed. READ_ONLY: read, but not
    // asked for.
    enum { FP_TWIN_NEEDED, FP_TWIN_WANTED, FP_TWIN_READ_ONLY, FP_TWIN_EITHER } arming;
    uint32_t domain; // of an API kind
};

struct fp_twin_layout {
    uint16_t bytes[FP_TWIN_SHAPES];
    // How far into a record of another size the fields still lie where this layout has them: what is behind
    // is then not read.
    uint16_t sure_bytes[FP_TWIN_SHAPES];
    // Only a record's beginning is known: `bytes` are those of that prefix until the library's iterator has
    // shown how long its records are.
    bool prefix_only[FP_TWIN_SHAPES];
    struct fp_twin_place place[FP_TWIN_SHAPES][FP_TWIN_FIELDS];
    const struct fp_twin_kind *kinds;
    size_t kind_count;
    uint32_t external_kinds[FP_ID_KIND_COUNT]; // the vendor's numbers for our two stacks
    uint32_t async_flag;                       // in FP_TWIN_FLAGS of copies and sets
};

static inline uint64_t fp_twin_get(const struct fp_twin_layout *layout, enum fp_twin_shape shape,
                                   const uint8_t *record, enum fp_twin_field field) {
    struct fp_twin_place place = layout->place[shape][field];
    uint64_t value = 0; // little-endian, as all machines that these libraries exist for
    memcpy(&value, record + place.offset, place.bytes);
    return value;
}

static inline bool fp_twin_has(const struct fp_twin_layout *layout, enum fp_twin_shape shape,
                               enum fp_twin_field field) {
    return layout->place[shape][field].bytes != 0;
}

static inline uint32_t fp_twin_number(const uint8_t *record) {
    uint32_t number;
    memcpy(&number, record, sizeof(number));
    return number;
}

// NULL: no record of this vendor that we read.
static inline const struct fp_twin_kind *fp_twin_kind_of(const struct fp_twin_layout *layout,
                                                         uint32_t number) {
    for (size_t at = 0; at < layout->kind_count; at++)
        if (layout->kinds[at].number == number)
            return &layout->kinds[at];
    return NULL;
}

#endif
