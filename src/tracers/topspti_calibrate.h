// topspti_calibrate.h - the layout of TOPSPTI's records, found out from the records themselves.
//
// In:  the records of a session's buffers, where the library's iterator says that they begin; what the
//      callbacks told of the calls; the session's times, process and devices.
// Out: a layout on which every record agrees; or that there is none; or that there is too little to tell.
//
// A place is believed only where nothing else can be what it says, and a field that cannot be told apart from
// another is left out of the layout. Nothing that may be an address is dereferenced.
#ifndef FP_TRACERS_TOPSPTI_CALIBRATE_H
#define FP_TRACERS_TOPSPTI_CALIBRATE_H

#include "tracers/topspti_decode.h"

enum fp_tops_verdict { FP_TOPS_UNDECIDED, FP_TOPS_AGREED, FP_TOPS_DIFFERS };

struct fp_tops_evidence;

struct fp_tops_session { // what a record may say
    fp_tops_next_fn next;
    const char *(*call_name)(void *owner, uint32_t domain, uint32_t cbid);
    bool (*text)(void *owner, uint64_t address, char *text, size_t capacity);
    bool (*is_thread)(void *owner, uint32_t thread); // of this process, by the system's id
    void *owner;
    uint64_t earliest, begun, latest; // vendor's clock: of work, of the session's first own call; now
    uint64_t armed;                   // bit by kind
    uint32_t device_count, process;
    bool on_first; // wherever a thread was asked for its device, it was the first
};

struct fp_tops_evidence *fp_tops_evidence_new(void); // NULL: no memory
void fp_tops_evidence_free(struct fp_tops_evidence *evidence);
// Forgets the records; what is known of calls stays to the end of the session.
void fp_tops_evidence_clear(struct fp_tops_evidence *evidence, const struct fp_tops_layout *layout);
void fp_tops_evidence_end(struct fp_tops_evidence *evidence);

// Does this buffer hold a record of which the layout does not tell everything yet?
bool fp_tops_evidence_wants(const struct fp_tops_session *session, const struct fp_tops_layout *layout,
                            uint8_t *bytes, size_t valid);

// The buffer is only referred to: it is to stay until the next clear.
void fp_tops_evidence_add_buffer(struct fp_tops_evidence *evidence, const struct fp_tops_session *session,
                                 uint8_t *bytes, size_t valid);
// False: full. What was added should be judged now.
bool fp_tops_evidence_add_call(struct fp_tops_evidence *evidence, const struct fp_tops_layout *layout,
                               const struct fp_tops_call *call);
size_t fp_tops_evidence_records(const struct fp_tops_evidence *evidence);
size_t fp_tops_evidence_calls(const struct fp_tops_evidence *evidence, const struct fp_tops_call **calls);

// Adds to the layout what the evidence tells. Any verdict but FP_TOPS_AGREED leaves it as it was and gives the
// reason.
enum fp_tops_verdict fp_tops_evidence_judge(struct fp_tops_evidence *evidence,
                                            const struct fp_tops_session *session,
                                            struct fp_tops_layout *layout, char *why, size_t capacity);

#endif
