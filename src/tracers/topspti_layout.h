// topspti_layout.h - where the fields of TOPSPTI's records lie.
//
// In:  the SDK's header at build time (topspti_header.c), or the records themselves (topspti_calibrate.h).
// Out: offsets. No layout of TOPSPTI is public, so nothing here is known in advance.
#ifndef FP_TRACERS_TOPSPTI_LAYOUT_H
#define FP_TRACERS_TOPSPTI_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum { FP_TOPS_KINDS = 40 };

enum fp_tops_sort {
    FP_TOPS_STRANGE, // not a kind that we know, or not yet
    FP_TOPS_KERNEL,
    FP_TOPS_COPY,
    FP_TOPS_SET,
    FP_TOPS_RUNTIME,
    FP_TOPS_DRIVER,
};

// Offsets in a record. 0 stands for "not known": at 0 every record has its kind [CODE].
struct fp_tops_record {
    enum fp_tops_sort sort;
    bool is_sized;  // how long a record is, is known
    uint16_t bytes; // of the record; else as far as what is read of it
    uint16_t start, end, correlation;
    uint16_t name, device, context, stream, grid, block;
    uint16_t amount, value, copy_kind, from, to, flags, memory_kind; // amount: the bytes copied or set
    uint16_t cbid, process, thread, result;
    uint16_t other_thread; // a second place that looks like the thread's id
    // Words that may each be the device, bit n at offset 4 * n: they must say the same. 0: `device` tells, or
    // there is one device alone.
    uint64_t device_words;
};

struct fp_tops_callback {
    bool known, has_site;
    uint16_t bytes, site, correlation;
    uint32_t enter;
};

struct fp_tops_layout {
    struct fp_tops_record kinds[FP_TOPS_KINDS];
    struct fp_tops_callback callback;
    uint32_t runtime_domain, driver_domain;
};

// That of the SDK's header, if this build was given it; else NULL.
const struct fp_tops_layout *fp_tops_header_layout(void);

#endif
