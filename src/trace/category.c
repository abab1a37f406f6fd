// category.c - which kind of thing a category's spelling means.
//
// In:  the "cat" of an event.
// Out: enum fp_category. Spellings: Kineto's output_json.cpp of 2021 to 2026 (the oldest with capitals),
//      XPU's and MTIA's plug-ins, torch_npu's, those of the public traces that were looked at; those that
//      only their producer's source tells are marked.

#include "trace/reader_internal.h"

static const struct {
    const char *spelling;
    enum fp_category category;
} rows[] = {
    { "cpu_op", FP_CAT_CPU_OP },
    { "Operator", FP_CAT_CPU_OP },
    { "operator", FP_CAT_CPU_OP },
    { "hpu_op", FP_CAT_CPU_OP },
    { "user_annotation", FP_CAT_USER_ANNOTATION },
    { "python_function", FP_CAT_PYTHON },
    { "cuda_runtime", FP_CAT_RUNTIME },
    { "Runtime", FP_CAT_RUNTIME },
    { "runtime", FP_CAT_RUNTIME },
    { "privateuse1_runtime", FP_CAT_RUNTIME },
    { "xpu_runtime", FP_CAT_RUNTIME },
    { "mtia_runtime", FP_CAT_RUNTIME },
    { "glow_runtime", FP_CAT_RUNTIME },
    { "hip_runtime", FP_CAT_RUNTIME },
    { "musa_runtime", FP_CAT_RUNTIME },
    { "cuda_driver", FP_CAT_DRIVER },
    { "privateuse1_driver", FP_CAT_DRIVER },
    { "xpu_driver", FP_CAT_DRIVER },
    { "mtia_driver", FP_CAT_DRIVER },
    { "kernel", FP_CAT_KERNEL },
    { "Kernel", FP_CAT_KERNEL },
    { "mtia_ccp_events", FP_CAT_KERNEL },
    { "GPU_Kernel", FP_CAT_KERNEL }, // an exporter over CUPTI of its own, with the next four
    { "MemCopy", FP_CAT_MEMCPY },
    { "CUDA_Runtime", FP_CAT_RUNTIME },
    { "CUDA_Driver", FP_CAT_DRIVER },
    { "Overhead", FP_CAT_OVERHEAD },
    { "MemSet", FP_CAT_MEMSET },          // [DERIVED] from its MemCopy
    { "kernel_dispatch", FP_CAT_KERNEL }, // rocprofv3 through Perfetto's own JSON export, with the next
    { "memory_copy", FP_CAT_MEMCPY },     // three [KNOWN from its source]
    { "hip_api", FP_CAT_RUNTIME },
    { "hsa_api", FP_CAT_DRIVER },
    { "gpu_op", FP_CAT_KERNEL }, // unitrace [KNOWN from its source]
    { "gpu_memcpy", FP_CAT_MEMCPY },
    { "Memcpy", FP_CAT_MEMCPY },
    { "memcpy", FP_CAT_MEMCPY },
    { "gpu_memset", FP_CAT_MEMSET },
    { "Memset", FP_CAT_MEMSET },
    { "memset", FP_CAT_MEMSET },
    { "gpu_user_annotation", FP_CAT_GPU_ANNOTATION },
    { "cuda_sync", FP_CAT_SYNC },
    { "cuda_event", FP_CAT_SYNC },
    { "overhead", FP_CAT_OVERHEAD },
    { "ac2g", FP_CAT_AC2G },
    { "async_gpu", FP_CAT_AC2G },
    { "async_npu", FP_CAT_AC2G },
    { "HostToDevice", FP_CAT_AC2G },
    { "async_cpu_to_gpu", FP_CAT_AC2G },
    { "async_cpu_to_npu", FP_CAT_AC2G },
    { "cpu_to_cuda", FP_CAT_AC2G },
    { "async", FP_CAT_AC2G }, // Kineto of January 2021, name "launch"
    { "fwdbwd", FP_CAT_FWDBWD },
    { "forward_backward", FP_CAT_FWDBWD },
    { "Trace", FP_CAT_TRACE },
};

enum fp_category fp_category_of(struct fp_text cat) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (fp_text_equals(cat, rows[i].spelling))
            return rows[i].category;
    return FP_CAT_OTHER;
}
