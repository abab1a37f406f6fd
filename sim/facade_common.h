// facade_common.h - what the vendors' profiling libraries have in common, for the facades that imitate them.
//
// In:  records in a vendor's own bytes; the tool's buffer callbacks.
// Out: filled buffers handed back, in the tool's calling convention; the faults that are the same for
//      every vendor; and the truth of what became of each record.
//
// A facade (sim/<vendor>/facade.c) exports that vendor's symbols, turns flagsim's calls and activities into
// that vendor's structs, and leaves buffers, dropping, external-id stacks, arming and clocks to this. Each
// facade library has its own copy of it, so two facades in one process do not meet. Nothing here knows
// FlagProf.
#ifndef FLAGSIM_FACADE_COMMON_H
#define FLAGSIM_FACADE_COMMON_H

#include "flagsim.h"

typedef void (*fc_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fc_complete)(void); // of the vendor's own type; only the facade's deliver knows it

typedef struct fc_tool {
    fc_request request;
    fc_complete complete;
} fc_tool;

enum { FC_RECORD_BYTES_MAX = 512, FC_SLOTS = 64, FC_STACKS = 8 };

// What a facade tells of itself.
typedef struct fc_facade {
    const char *vendor;
    flagsim_observer observer;    // subscribed while anything is armed
    bool crash_on_refused_buffer; // does a refused buffer kill the process?
    bool consumer_thread;         // every buffer is handed back by a thread of the library, a flush's too
    // Hands a buffer back by the tool's complete callback.
    void (*deliver)(const fc_tool *tool, uint8_t *buffer, size_t size, size_t valid);
    // Composes a record that no tool knows, and one that the library's own iterator cannot step over. Their
    // sizes; 0: the vendor has no such thing.
    size_t (*foreign)(uint8_t bytes[FC_RECORD_BYTES_MAX]);
    size_t (*broken)(uint8_t bytes[FC_RECORD_BYTES_MAX]);
    // Composes a record of the time that asking for a buffer, or flushing, took; 0 where none is wanted. May
    // be NULL.
    size_t (*overhead)(uint8_t bytes[FC_RECORD_BYTES_MAX], bool flush, uint64_t start_ns, uint64_t end_ns);
} fc_facade;

// Called once, before anything else (a facade's constructor).
void fc_setup(const fc_facade *facade);

// Opens every exported profiling function. -ENODEV: answer the vendor's "unknown error". Does not return
// under no_driver: without a driver the real library dies too.
int fc_enter(void);
// The program has initialised the driver and seen a device.
void fc_driver_ready(void);

// ---- arming

// Switches one of the facade's own slots (its kinds, its callback domains) on or off.
void fc_arm(unsigned slot, bool on);
bool fc_armed(unsigned slot);
// True where the slot was armed when the work was put on its stream: what was in flight before is not
// recorded.
bool fc_armed_for(unsigned slot, const flagsim_activity *activity);

// ---- records

typedef struct fc_work {
    uint64_t start, end, queued; // in the vendor's clock, faults applied
    const char *name;            // of a kernel
    uint32_t flaws;              // bit per flagsim_fate, for fc_write
} fc_work;

// Decides what becomes of a record of device work. False: it is not to be written (and is already accounted
// for).
bool fc_shape(const flagsim_activity *activity, flagsim_record family, fc_work *work);
void fc_write(flagsim_record family, const void *bytes, size_t size, uint32_t flaws);

// Under fault held_by_device: true where this kernel's record was kept, and the oldest of those kept let go. What
// ends the device's side of a vendor lets all go.
bool fc_hold_kernel(const void *bytes, size_t size, uint32_t flaws);
void fc_release_held(void);

// ---- buffers

int fc_register(fc_request request, fc_complete complete);
int fc_flush(void);    // -EINVAL where nobody registered
void fc_discard(void); // what lies in the current buffer is lost
void fc_flush_period(uint32_t milliseconds);
uint64_t fc_take_dropped(void); // dropped since last asked

// ---- external ids: a stack per thread and slot

int fc_push(unsigned slot, uint64_t id); // -ENOMEM; -EIO under fault push_fails
int fc_pop(unsigned slot, uint64_t *id); // -ENODATA where the stack is empty
bool fc_top(unsigned slot, uint64_t *id);

// ---- the vendor's clock: the epoch, unless a fault or the facade says otherwise

void fc_clock_set(uint64_t epoch_offset_ns, int parts_per_million);
uint64_t fc_time(uint64_t epoch_ns);
uint64_t fc_now(void);

#endif
