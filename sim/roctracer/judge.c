// judge.c - abi.h against AMD's own headers, at compile time.
//
// In:  the headers that scripts/fetch_roctracer.py brings.
// Out: nothing; a difference does not compile.
#include "abi.h"

#include <hip/hip_runtime_api.h>

#include <hip/amd_detail/hip_prof_str.h>
#include <roctracer/roctracer.h>
#include <roctracer/roctracer_hip.h>

#define SAME(theirs, field, ours, member)                                                                    \
    _Static_assert(offsetof(theirs, field) == offsetof(ours, member), #theirs "." #field)
#define SAME_ARGUMENT(call, mine, field) SAME(hip_api_data_t, args.call.field, ApiData, args.mine.field)

_Static_assert(sizeof(roctracer_record_t) == sizeof(Record), "roctracer_record_t");
SAME(roctracer_record_t, domain, Record, domain);
SAME(roctracer_record_t, kind, Record, kind);
SAME(roctracer_record_t, op, Record, op);
SAME(roctracer_record_t, correlation_id, Record, correlation_id);
SAME(roctracer_record_t, begin_ns, Record, begin_ns);
SAME(roctracer_record_t, end_ns, Record, end_ns);
SAME(roctracer_record_t, device_id, Record, device_id);
SAME(roctracer_record_t, queue_id, Record, queue_id);
SAME(roctracer_record_t, bytes, Record, of.bytes);
SAME(roctracer_record_t, kernel_name, Record, of.kernel_name);

_Static_assert(sizeof(roctracer_properties_t) == sizeof(Properties), "roctracer_properties_t");
SAME(roctracer_properties_t, buffer_size, Properties, buffer_size);
SAME(roctracer_properties_t, alloc_fun, Properties, alloc_fun);
SAME(roctracer_properties_t, alloc_arg, Properties, alloc_arg);
SAME(roctracer_properties_t, buffer_callback_fun, Properties, buffer_callback_fun);
SAME(roctracer_properties_t, buffer_callback_arg, Properties, buffer_callback_arg);

_Static_assert(sizeof(hip_api_data_t) == sizeof(ApiData), "hip_api_data_t");
SAME(hip_api_data_t, phase, ApiData, phase);
SAME(hip_api_data_t, phase_data, ApiData, phase_data);
SAME_ARGUMENT(hipLaunchKernel, hipLaunchKernel, numBlocks);
SAME_ARGUMENT(hipLaunchKernel, hipLaunchKernel, dimBlocks);
SAME_ARGUMENT(hipLaunchKernel, hipLaunchKernel, sharedMemBytes);
SAME_ARGUMENT(hipLaunchKernel, hipLaunchKernel, stream);
SAME_ARGUMENT(hipExtLaunchKernel, hipLaunchKernel, numBlocks);
SAME_ARGUMENT(hipExtLaunchKernel, hipLaunchKernel, dimBlocks);
SAME_ARGUMENT(hipExtLaunchKernel, hipLaunchKernel, sharedMemBytes);
SAME_ARGUMENT(hipModuleLaunchKernel, hipModuleLaunchKernel, gridDimX);
SAME_ARGUMENT(hipModuleLaunchKernel, hipModuleLaunchKernel, blockDimX);
SAME_ARGUMENT(hipModuleLaunchKernel, hipModuleLaunchKernel, sharedMemBytes);
SAME_ARGUMENT(hipModuleLaunchKernel, hipModuleLaunchKernel, stream);
SAME_ARGUMENT(hipGraphLaunch, hipGraphLaunch, stream);
SAME_ARGUMENT(hipMemcpy, hipMemcpyAsync, sizeBytes);
SAME_ARGUMENT(hipMemcpy, hipMemcpyAsync, kind);
SAME_ARGUMENT(hipMemcpyAsync, hipMemcpyAsync, sizeBytes);
SAME_ARGUMENT(hipMemcpyAsync, hipMemcpyAsync, kind);
SAME_ARGUMENT(hipMemcpyAsync, hipMemcpyAsync, stream);
SAME_ARGUMENT(hipMemcpyPeerAsync, hipMemcpyPeerAsync, dstDeviceId);
SAME_ARGUMENT(hipMemcpyPeerAsync, hipMemcpyPeerAsync, srcDevice);
SAME_ARGUMENT(hipMemcpyPeerAsync, hipMemcpyPeerAsync, sizeBytes);
SAME_ARGUMENT(hipMemset, hipMemsetAsync, value);
SAME_ARGUMENT(hipMemset, hipMemsetAsync, sizeBytes);
SAME_ARGUMENT(hipMemsetAsync, hipMemsetAsync, sizeBytes);
SAME_ARGUMENT(hipMemsetAsync, hipMemsetAsync, stream);
SAME_ARGUMENT(hipMalloc, hipMalloc, size);

#define EQUAL(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #theirs)
#define NUMBER(call, name, id, of_dtk) EQUAL(HIP_API_ID_##name, id);
HIP_CALLS(NUMBER)
EQUAL(HIP_API_ID_hipModuleLaunchKernel, ID_MODULE_LAUNCH);
EQUAL(HIP_API_ID_hipExtLaunchKernel, ID_EXT_LAUNCH);
EQUAL(ACTIVITY_DOMAIN_HIP_OPS, DOMAIN_HIP_OPS);
EQUAL(ACTIVITY_DOMAIN_HIP_API, DOMAIN_HIP_API);
EQUAL(ACTIVITY_DOMAIN_EXT_API, DOMAIN_EXT_API);
EQUAL(HIP_OP_ID_DISPATCH, OP_DISPATCH);
EQUAL(HIP_OP_ID_COPY, OP_COPY);
EQUAL(HIP_OP_ID_BARRIER, OP_BARRIER);
EQUAL(ACTIVITY_API_PHASE_EXIT, PHASE_EXIT);
EQUAL(ROCTRACER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID, ROC_MISMATCHED_EXTERNAL_ID);
EQUAL(ROCTRACER_STATUS_ERROR_NOT_IMPLEMENTED, ROC_NOT_IMPLEMENTED);
