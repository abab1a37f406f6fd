// cupti_calls.h - what sort of call a CUDA API function is: does it start device work, is it shown, does it
// capture.
//
// In:  CUPTI's callback domain and id. Out: the call's sorts, told from its name, so that one table serves
// every release and every variant (_ptsz, Ex, v2) of a call.
#ifndef FP_TRACERS_CUPTI_CALLS_H
#define FP_TRACERS_CUPTI_CALLS_H

#include <stdint.h>

enum fp_cupti_call {
    FP_CUPTI_CALL_LAUNCH = 1,        // can start device work
    FP_CUPTI_CALL_QUIET = 2,         // torch on CUDA does not show it
    FP_CUPTI_CALL_CAPTURE_BEGIN = 4, // what follows until the end is put into a graph, not run
    FP_CUPTI_CALL_CAPTURE_END = 8,
};

enum { FP_CUPTI_CBID_LIMIT = 2048 }; // ids looked at; the headers of 13.5 end at 879

unsigned fp_cupti_call_sorts(uint32_t domain, const char *name); // bits of enum fp_cupti_call

#endif
