// roctracer_abi.h - AMD's ROCtracer and what of HIP is asked, as bytes: numbers, records, argument places,
// functions to bind.
//
// In:  nothing; this is data. Only roctracer*.c include it. No SDK is needed; tests/layouts/amd.def holds
//      it against AMD's own headers (roctracer.h, hip_prof_str.h), which PyPI's triton wheel carries.
#ifndef FP_TRACERS_ROCTRACER_ABI_H
#define FP_TRACERS_ROCTRACER_ABI_H

#include "tracers/symbol.h"

#include <stddef.h>
#include <stdint.h>

enum { // activity_domain_t [HEADER]
    FP_ROC_DOMAIN_HIP_OPS = 2,
    FP_ROC_DOMAIN_HIP_API = 3,
};

enum { FP_ROC_PHASE_ENTER = 0, FP_ROC_PHASE_EXIT = 1 }; // [HEADER]

enum { // hip_op_id_t [HEADER]
    FP_ROC_OP_DISPATCH = 0,
    FP_ROC_OP_COPY = 1,
    FP_ROC_OP_BARRIER = 2,
};

enum { // the record's kind, HSA's cl_command_type [CODE]. DTK measured 0x1 for kernels: so the op is asked
       // first.
    FP_ROC_KIND_KERNEL = 0x11F0,
    FP_ROC_KIND_COPY_DTOH = 0x11F3,
    FP_ROC_KIND_COPY_HTOD = 0x11F4,
    FP_ROC_KIND_COPY_DTOD = 0x11F5,
    FP_ROC_KIND_COPY_2D_DTOH = 0x1201,
    FP_ROC_KIND_COPY_2D_HTOD = 0x1202,
    FP_ROC_KIND_COPY_2D_DTOD = 0x1203,
    FP_ROC_KIND_FILL = 0x1207,
};

enum { // hipMemcpyKind [HEADER]
    FP_HIP_COPY_HTOH = 0,
    FP_HIP_COPY_HTOD = 1,
    FP_HIP_COPY_DTOH = 2,
    FP_HIP_COPY_DTOD = 3,
    FP_HIP_COPY_DEFAULT = 4,
};

// activity_record_t as HIP_OPS writes it, 64 bytes [HEADER]
struct fp_roc_record {
    uint32_t domain;
    uint32_t kind;
    uint32_t op;
    uint32_t padding;
    uint64_t correlation_id;
    uint64_t begin_ns;
    uint64_t end_ns;
    int32_t device_id;
    uint32_t padding2;
    uint64_t queue_id;
    union {
        uint64_t bytes;          // copy, fill
        const char *kernel_name; // dispatch; valid only inside the buffer callback
    } u;
};
_Static_assert(sizeof(struct fp_roc_record) == 64, "roctracer_record_t is 64 bytes [HEADER]");

// roctracer_properties_t [HEADER]
struct fp_roc_properties {
    uint32_t mode;
    uint64_t buffer_size;
    void (*alloc_fun)(char **pointer, size_t size, void *argument);
    void *alloc_arg;
    void (*buffer_callback_fun)(const char *begin, const char *end, void *argument);
    void *buffer_callback_arg;
};
_Static_assert(sizeof(struct fp_roc_properties) == 48, "roctracer_properties_t is 48 bytes [HEADER]");

// hip_api_data_t: the head is fixed, the arguments begin at 16 [HEADER]
struct fp_roc_api_data {
    uint64_t correlation_id;
    uint32_t phase;
    uint32_t padding;
};

typedef void (*fp_roc_api_callback)(uint32_t domain, uint32_t cid, const void *data, void *argument);

struct fp_roc_functions { // §5.3 [HEADER]; status 0 is good
    uint32_t (*version_major)(void);
    uint32_t (*version_minor)(void);
    const char *(*op_string)(uint32_t domain, uint32_t op, uint32_t kind);
    int (*op_code)(uint32_t domain, const char *name, uint32_t *op, uint32_t *kind);
    int (*set_properties)(uint32_t domain, void *properties);
    int (*enable_domain_callback)(uint32_t domain, fp_roc_api_callback callback, void *argument);
    int (*disable_domain_callback)(uint32_t domain);
    int (*open_pool)(const struct fp_roc_properties *properties, void **pool);
    int (*close_pool)(void *pool);
    int (*enable_domain_activity)(uint32_t domain, void *pool);
    int (*disable_domain_activity)(uint32_t domain);
    int (*flush_activity)(void *pool);
    int (*get_timestamp)(uint64_t *ns);
    void (*start)(void);
    void (*stop)(void);
    // HIP's own
    int (*get_device_count)(int *count);
    int (*device_get_name)(char *name, int capacity, int device);
    int (*device_total_mem)(size_t *bytes, int device);
    int (*device_synchronize)(void);
    int (*runtime_get_version)(int *version);
    int (*driver_get_version)(int *version);
};

#define FP_ROC_SYMBOL(name, field, required)                                                                 \
    { name, offsetof(struct fp_roc_functions, field), required }

static const struct fp_symbol fp_roc_symbols[] = {
    FP_ROC_SYMBOL("roctracer_version_major", version_major, false),
    FP_ROC_SYMBOL("roctracer_version_minor", version_minor, false),
    FP_ROC_SYMBOL("roctracer_op_string", op_string, true),
    FP_ROC_SYMBOL("roctracer_op_code", op_code, false),
    FP_ROC_SYMBOL("roctracer_set_properties", set_properties, true),
    FP_ROC_SYMBOL("roctracer_enable_domain_callback", enable_domain_callback, true),
    FP_ROC_SYMBOL("roctracer_disable_domain_callback", disable_domain_callback, true),
    FP_ROC_SYMBOL("roctracer_open_pool_expl", open_pool, true),
    FP_ROC_SYMBOL("roctracer_close_pool_expl", close_pool, true),
    FP_ROC_SYMBOL("roctracer_enable_domain_activity_expl", enable_domain_activity, true),
    FP_ROC_SYMBOL("roctracer_disable_domain_activity", disable_domain_activity, true),
    FP_ROC_SYMBOL("roctracer_flush_activity_expl", flush_activity, true),
    FP_ROC_SYMBOL("roctracer_get_timestamp", get_timestamp, true),
    FP_ROC_SYMBOL("roctracer_start", start, false),
    FP_ROC_SYMBOL("roctracer_stop", stop, false),
};

static const struct fp_symbol fp_hip_symbols[] = {
    FP_ROC_SYMBOL("hipGetDeviceCount", get_device_count, true),
    FP_ROC_SYMBOL("hipDeviceGetName", device_get_name, false),
    FP_ROC_SYMBOL("hipDeviceTotalMem", device_total_mem, false),
    FP_ROC_SYMBOL("hipDeviceSynchronize", device_synchronize, false),
    FP_ROC_SYMBOL("hipRuntimeGetVersion", runtime_get_version, false),
    FP_ROC_SYMBOL("hipDriverGetVersion", driver_get_version, false),
};

// What a HIP call does to the device, and where hip_api_data_t holds what the device's record lacks. Offsets
// are from the start of hip_api_data_t [HEADER, HIP 6.1; the same in 7.1]; 0: there is none.
enum fp_hip_sort { FP_HIP_OTHER, FP_HIP_LAUNCH, FP_HIP_GRAPH, FP_HIP_COPY, FP_HIP_SET };

struct fp_hip_call {
    const char *name;
    uint16_t id; // ROCm 5.6 to 7.1; asked by name first, since HIP 4 and DTK number otherwise
    uint8_t sort;
    uint8_t grid, block; // three u32 each
    uint8_t shared, shared_bytes;
    uint8_t grid_is_threads; // divide by the block
    uint8_t bytes;           // u64
    uint8_t rows;            // u64, by which bytes are multiplied: the 2-D forms
    uint8_t kind;            // hipMemcpyKind
    uint8_t fixed_kind;      // where the name says it; FP_HIP_COPY_DEFAULT: it does not
    uint8_t value, value_bytes;
    uint8_t value_unit; // bytes that `bytes` counts in: 4 for the D32 forms
    uint8_t to_device, from_device;
};

#define FP_HIP_COPIES(name, id, ...)                                                                         \
    { name, id, .sort = FP_HIP_COPY, .fixed_kind = FP_HIP_COPY_DEFAULT, __VA_ARGS__ }
#define FP_HIP_SETS(name, id, ...)                                                                           \
    { name, id, .sort = FP_HIP_SET, .value_unit = 1, __VA_ARGS__ }
#define FP_HIP_LAUNCHES(name, id, ...)                                                                       \
    { name, id, .sort = FP_HIP_LAUNCH, .grid = 24, .block = 36, __VA_ARGS__ }

static const struct fp_hip_call fp_hip_calls[] = {
    FP_HIP_LAUNCHES("hipLaunchKernel", 107, .shared = 64, .shared_bytes = 8),
    FP_HIP_LAUNCHES("hipExtLaunchKernel", 62, .shared = 64, .shared_bytes = 8),
    FP_HIP_LAUNCHES("hipLaunchCooperativeKernel", 105, .shared = 64, .shared_bytes = 4),
    FP_HIP_LAUNCHES("hipModuleLaunchKernel", 169, .shared = 48, .shared_bytes = 4),
    FP_HIP_LAUNCHES("hipExtModuleLaunchKernel", 65, .shared = 48, .shared_bytes = 8, .grid_is_threads = 1),
    FP_HIP_LAUNCHES("hipHccModuleLaunchKernel", 88, .shared = 48, .shared_bytes = 8, .grid_is_threads = 1),
    FP_HIP_LAUNCHES("hipModuleLaunchCooperativeKernel", 358, .shared = 48, .shared_bytes = 4),
    FP_HIP_LAUNCHES("hipLaunchKernelExC", 419, .shared = 48,
                    .shared_bytes = 8), // config__val, from HIP 6.4 on
    FP_HIP_LAUNCHES("hipDrvLaunchKernelEx", 420, .shared = 48, .shared_bytes = 4), // the same
    { "hipGraphLaunch", 215, .sort = FP_HIP_GRAPH },
    FP_HIP_COPIES("hipMemcpy", 125, .bytes = 32, .kind = 40),
    FP_HIP_COPIES("hipMemcpyAsync", 134, .bytes = 32, .kind = 40),
    FP_HIP_COPIES("hipMemcpyWithStream", 153, .bytes = 32, .kind = 40),
    FP_HIP_COPIES("hipMemcpy2D", 126, .bytes = 48, .rows = 56, .kind = 64),
    FP_HIP_COPIES("hipMemcpy2DAsync", 127, .bytes = 48, .rows = 56, .kind = 64),
    { "hipMemcpyDtoD", 136, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_DTOD },
    { "hipMemcpyDtoDAsync", 137, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_DTOD },
    { "hipMemcpyDtoH", 138, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_DTOH },
    { "hipMemcpyDtoHAsync", 139, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_DTOH },
    { "hipMemcpyHtoD", 144, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_HTOD },
    { "hipMemcpyHtoDAsync", 145, .sort = FP_HIP_COPY, .bytes = 32, .fixed_kind = FP_HIP_COPY_HTOD },
    FP_HIP_COPIES("hipMemcpyPeer", 148, .bytes = 48, .to_device = 24, .from_device = 40),
    FP_HIP_COPIES("hipMemcpyPeerAsync", 149, .bytes = 48, .to_device = 24, .from_device = 40),
    FP_HIP_SETS("hipMemset", 154, .bytes = 32, .value = 24, .value_bytes = 4),
    FP_HIP_SETS("hipMemsetAsync", 159, .bytes = 32, .value = 24, .value_bytes = 4),
    FP_HIP_SETS("hipMemsetD8", 164, .bytes = 32, .value = 24, .value_bytes = 1),
    FP_HIP_SETS("hipMemsetD8Async", 165, .bytes = 32, .value = 24, .value_bytes = 1),
    { "hipMemsetD32", 162, .sort = FP_HIP_SET, .bytes = 32, .value = 24, .value_bytes = 4, .value_unit = 4 },
    { "hipMemsetD32Async", 163, .sort = FP_HIP_SET, .bytes = 32, .value = 24, .value_bytes = 4,
      .value_unit = 4 },
};

// Left out as torch leaves their CUDA twins out, beside those that every vendor has (calls.h): the compiler's
// calls, not the program's.
static const char *const fp_hip_quiet_calls[] = {
    "__hipPushCallConfiguration",
    "__hipPopCallConfiguration",
    NULL,
};

#endif
