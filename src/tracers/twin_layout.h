// twin_layout.h - does a library really write the records that its layout tells? Judged from the records
// themselves.
//
// In:  a layout that nobody's header has confirmed; the first buffers of a session.
// Out: a verdict. Until it is there nothing may be decoded: a field that lies elsewhere gives believable,
//      wrong events.
//
// What is judged: numbers that must be small are small, times lie in the session, devices exist, names can be
// read, the process is this one, and device work carries the id of a call.
#ifndef FP_TRACERS_TWIN_LAYOUT_H
#define FP_TRACERS_TWIN_LAYOUT_H

#include "tracers/id_set.h"
#include "tracers/twin.h"

// The library's iterator: 0 and the next record, or another status at the end. *record NULL asks for the
// first.
typedef int (*fp_twin_next_fn)(uint8_t *buffer, size_t valid, void **record);

struct fp_twin_surroundings {  // what a record must agree with
    uint32_t device_count;     // 0: not known
    uint32_t process;          // 0: not known
    uint64_t earliest, latest; // of the vendor's clock; latest 0: not known
    // Can this address be read as text? NULL: asked of the system.
    bool (*readable)(void *owner, uint64_t address);
    // The name of a call as far as it is known by now, or NULL. NULL function: none is.
    const char *(*call_name)(void *owner, uint32_t domain, uint32_t cbid);
    void *owner;
};

// Is what lies here a record of this kind, times apart?
bool fp_twin_is_plausible(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                          const struct fp_twin_kind *kind, const uint8_t *record);
// Are its times within the session? True where it has none.
bool fp_twin_is_timely(const struct fp_twin_layout *layout, const struct fp_twin_surroundings *around,
                       const struct fp_twin_kind *kind, const uint8_t *record);
bool fp_twin_is_readable(uint64_t address);
// How much of a record of this shape is read at all.
uint16_t fp_twin_bytes_read(const struct fp_twin_layout *layout, enum fp_twin_shape shape);

// Takes the sizes that the library's iterator steps by, in a buffer made by hand, into the layout. Returns
// the number of kinds whose size differed; -ENOTSUP where one is too short for the fields that are read.
int fp_twin_probe(struct fp_twin_layout *layout, fp_twin_next_fn next, struct fp_error *err);

enum fp_twin_verdict { FP_TWIN_UNDECIDED, FP_TWIN_AGREES, FP_TWIN_DIFFERS };

struct fp_twin_evidence {
    struct fp_twin_tally {
        uint32_t seen, bad; // records where one must lie; those that are none
        uint32_t nameless;
        uint32_t timely, untimely;
        uint32_t ids[512]; // that must be those of calls
        uint32_t id_count;
    } shapes[FP_TWIN_SHAPES];
    // Ids of calls; of those that copy, that set, and that start work by the other domain's name alone, as
    // far as names are known.
    struct fp_id_set calls, copy_calls, set_calls, strange_calls;
    uint32_t call_count;
    bool cut; // a buffer was not read to its end
};

void fp_twin_evidence_add(struct fp_twin_evidence *evidence, const struct fp_twin_layout *layout,
                          const struct fp_twin_surroundings *around, fp_twin_next_fn next, uint8_t *buffer,
                          size_t valid);
// `final`: no more will come. `why` gets a sentence's end for FP_TWIN_DIFFERS.
enum fp_twin_verdict fp_twin_evidence_judge(const struct fp_twin_evidence *evidence, bool final, char *why,
                                            size_t capacity);
// Every sort of record was seen and agreed: nothing more is to be learnt.
bool fp_twin_evidence_is_complete(const struct fp_twin_evidence *evidence);
void fp_twin_evidence_clear(struct fp_twin_evidence *evidence);

#endif
