// table.c - the table accelerator -> tracer. A new tracer is a row here and a file beside it.
//
// The order is that of detection: first those whose interface others copy, each of which refuses its
// copies, then the copies, then those with an interface of their own; what cannot be traced comes last.
// accelerator.c tells where simulated libraries and plug-ins come.
//
// A build for one accelerator (-DFLAGOS_ACCELERATOR=cuda) defines FP_ONLY and FP_ONLY_<ITS NAME>, and its row
// is then the only one.

#include "tracers/table.h"

#include "tracers/cupti.h"
#include "tracers/mcpti.h"
#include "tracers/mspti.h"
#include "tracers/mupti.h"
#include "tracers/roctracer.h"
#include "tracers/topspti.h"
#include "tracers/unavailable.h"

const struct fp_accelerator_row fp_accelerator_rows[] = {
#if !defined(FP_ONLY) || defined(FP_ONLY_CUDA)
    { "cuda", &fp_cupti_ops, "cuptiActivityEnable" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_PPU)
    { "ppu", &fp_cupti_ppu_ops, "hgptiActivityEnable" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_METAX)
    { "metax", &fp_mcpti_ops, "mcptiActivityGetApiName" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_MUSA)
    { "musa", &fp_mupti_ops, "muptiActivityEnable" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_DCU)
    { "dcu", &fp_roctracer_ops, "roctracer_open_pool_expl" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_ASCEND)
    { "ascend", &fp_mspti_ops, "msptiActivityEnable" },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_GCU)
    { "gcu", &fp_topspti_ops, "topsptiActivityEnable" },
#endif
// Platforms of FlagOS without an activity API [CODE: the tracer selection of flagos-ai/PyTorch-Plugin-FL,
// csrc/profiler, builds its unavailable tracer for these two]. A row here says so aloud, where a missing
// one would leave a typing error and a platform alike.
#if !defined(FP_ONLY) || defined(FP_ONLY_TSINGMICRO)
    { "tsingmicro", &fp_unavailable_ops, NULL },
#endif
#if !defined(FP_ONLY) || defined(FP_ONLY_BPU)
    { "bpu", &fp_unavailable_ops, NULL },
#endif
    { NULL, NULL, NULL },
};
