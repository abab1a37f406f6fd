// names.h - what the names of kernels, copies and launches tell, whoever made them.
//
// In:  names as traces have them.
// Out: kinds. Tables of words, from the traces that were looked at and the vendors' public API names.
#ifndef FLAGPROF_ANALYSIS_NAMES_H
#define FLAGPROF_ANALYSIS_NAMES_H

#include <stdbool.h>

#include "trace/text.h"

// A kernel of a communication library (NCCL, RCCL, HCCL, oneCCL and the like).
bool fp_name_is_collective(struct fp_text kernel);

// "AllReduce" out of "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; the whole name where there is no such part.
struct fp_text fp_name_of_collective(struct fp_text kernel);

// "host to device" and so on; NULL where the name does not tell.
const char *fp_name_direction(struct fp_text copy);

enum fp_call_kind {
    FP_CALL_OTHER,  // starts no device work: queries, attributes, memory management
    FP_CALL_LAUNCH, // starts a kernel
    FP_CALL_GRAPH,  // starts a graph: any number of kernels, copies and fills
    FP_CALL_COPY,   // starts a copy or a fill (which small or pageable ones may do without a device record)
    FP_CALL_SYNCHRONISE,   // waits
    FP_CALL_BEGIN_CAPTURE, // from here on a stream's work is recorded into a graph
    FP_CALL_END_CAPTURE,
};

// What an API call does, by its name: cuda*, cu*, hip*, mu*, aclrt*, zeCommandList*, ur*, tops*, mc* and
// others.
enum fp_call_kind fp_name_call_kind(struct fp_text call);

// ProfilerStep#N.
bool fp_name_is_step(struct fp_text name, uint64_t *number);

// The range of a collective's work until it is done, as torch.distributed names it ("nccl:all_reduce"): torch marks
// it asynchronous (c10d::Work's constructor), of which the file says nothing but the name [MEASURED, torch 2.11, 2.13].
bool fp_name_is_pending(struct fp_text range);

// Host operators that torch itself leaves out of its averages (profiler_util.py, _filter_name).
bool fp_name_is_hidden(struct fp_text name);

// Bytes of an element of a dtype as torch's collectives spell it ("Float", "BFloat16"); 0 where unknown.
unsigned fp_name_dtype_bytes(struct fp_text dtype);

#endif
