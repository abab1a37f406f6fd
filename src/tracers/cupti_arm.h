// cupti_arm.h - what CUPTI is told to record, and that it is told to stop. Private to the CUPTI tracer.
//
// In:  a bound library; whether every call is wanted.
// Out: armed kinds and calls, and after disarming none. Nothing is remembered in CUPTI from one recording
//      to the next, the thread id type included.
#ifndef FP_TRACERS_CUPTI_ARM_H
#define FP_TRACERS_CUPTI_ARM_H

#include "tracers/cupti_open.h"

enum { FP_CUPTI_ARMED_KINDS = 7, FP_CUPTI_DRIVER_IDS = 1024, FP_CUPTI_QUIET_IDS = 16 };

struct fp_cupti_arms {
    const struct fp_cupti_library *library;
    uint16_t driver_ids[FP_CUPTI_DRIVER_IDS]; // calls that can be no launch and bound no capture
    uint16_t quiet_ids[FP_CUPTI_QUIET_IDS];   // calls that torch does not show
    size_t driver_id_count, quiet_id_count;
    bool kinds[FP_CUPTI_ARMED_KINDS]; // armed now
    bool driver_kind;
    bool thread_ids_set;
    uint32_t thread_ids_before;
};

// The kinds in CUPTI's words, NULL-terminated.
extern const char *const fp_cupti_offered_kinds[];

void fp_cupti_arms_init(struct fp_cupti_arms *arms, const struct fp_cupti_library *library);
// 0, or a negative errno with the reason and nothing armed. `note` is told what a recording will lack.
int fp_cupti_arm(struct fp_cupti_arms *arms, bool all_calls, void (*note)(void *owner, const char *sentence),
                 void *owner, struct fp_error *err);
void fp_cupti_disarm(struct fp_cupti_arms *arms);
// Makes a call of the driver's that CUPTI must record now, whatever else is armed. False: it cannot be had.
// Between arm and disarm.
bool fp_cupti_make_a_call(struct fp_cupti_arms *arms);
// Logs a result of CUPTI's and gives it back.
uint32_t fp_cupti_say(const struct fp_cupti_library *library, const char *what, uint32_t result);

#endif
