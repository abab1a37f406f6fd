// cupti_calls.h - what sort of call a CUDA API function is (calls.h), by CUPTI's callback domain.
#ifndef FP_TRACERS_CUPTI_CALLS_H
#define FP_TRACERS_CUPTI_CALLS_H

#include "tracers/calls.h"

enum { FP_CUPTI_CBID_LIMIT = 2048 }; // ids looked at; the headers of 13.5 end at 879

static inline unsigned fp_cupti_call_sorts(uint32_t domain, const char *name) {
    return domain == 1 ? fp_call_sorts("cu", name) : domain == 2 ? fp_call_sorts("cuda", name) : 0;
}

#endif
