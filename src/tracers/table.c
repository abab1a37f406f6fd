// table.c - the table accelerator -> tracer. A new tracer is a row here and a file beside it.
//
// A build for one accelerator (-DFLAGOS_ACCELERATOR=cuda) defines FP_ONLY and FP_ONLY_<ITS NAME>, and its row
// is then the only one.

#include "tracers/table.h"

#include "tracers/cupti.h"
#include "tracers/mcpti.h"
#include "tracers/mupti.h"
#include "tracers/roctracer.h"

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
    { NULL, NULL, NULL },
};
