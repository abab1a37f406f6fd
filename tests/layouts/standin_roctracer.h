// standin_roctracer.h - a small header with ROCtracer's names, for the tests of check_layouts.py: with it the
// check itself can be tried where AMD's headers were not fetched.
//
// In:  nothing. Out: the two structs and the numbers that the mirror has, as the fact sheet tells them.
#include <stddef.h>
#include <stdint.h>

typedef enum { ACTIVITY_DOMAIN_HIP_OPS = 2, ACTIVITY_DOMAIN_HIP_API = 3 } activity_domain_t;
enum { ACTIVITY_API_PHASE_ENTER = 0, ACTIVITY_API_PHASE_EXIT = 1 };
enum { HIP_OP_ID_DISPATCH = 0, HIP_OP_ID_COPY = 1, HIP_OP_ID_BARRIER = 2 };
enum {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4,
};

typedef struct {
    uint32_t domain, kind, op;
    union {
        struct {
            uint64_t correlation_id, begin_ns, end_ns;
        };
    };
    union {
        struct {
            int device_id;
            uint64_t queue_id;
        };
        uint64_t process_and_thread[2];
    };
    union {
        size_t bytes;
        const char *kernel_name;
    };
} roctracer_record_t;

typedef struct {
    uint32_t mode;
    size_t buffer_size;
    void (*alloc_fun)(char **pointer, size_t size, void *argument);
    void *alloc_arg;
    void (*buffer_callback_fun)(const char *begin, const char *end, void *argument);
    void *buffer_callback_arg;
} roctracer_properties_t;

typedef struct {
    uint32_t x, y, z;
} dim3;

// Some calls' arguments, as HIP's callbacks hand them over.
typedef struct {
    uint64_t correlation_id;
    uint32_t phase;
    union {
        struct {
            const void *function_address;
            dim3 numBlocks, dimBlocks;
            void **args, *args__val;
            size_t sharedMemBytes;
            void *stream;
        } hipLaunchKernel;
        struct {
            void *dst;
            const void *src;
            size_t sizeBytes;
            int kind;
        } hipMemcpy;
        struct {
            void *dst;
            int value;
            size_t sizeBytes;
        } hipMemset;
    } args;
} hip_api_data_t;
