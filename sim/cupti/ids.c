// ids.c - which callback ids a call of the simulated accelerator has in this release of CUPTI.
//
// In:  flagsim's calls.
// Out: ids and names from NVIDIA's own enums, never from FlagProf's tables; result codes.
#include "release.h"

#include <errno.h>

#define RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name

// 0 where a level has no such call.
static const struct {
    uint32_t runtime, driver;
} ids[FLAGSIM_API_COUNT] = {
    [FLAGSIM_API_INIT] = { 0, DRIVER(cuInit) },
    [FLAGSIM_API_DEVICE_COUNT] = { RUNTIME(cudaGetDeviceCount_v3020), DRIVER(cuDeviceGetCount) },
    [FLAGSIM_API_GET_DEVICE] = { RUNTIME(cudaGetDevice_v3020), DRIVER(cuCtxGetDevice) },
    [FLAGSIM_API_SET_DEVICE] = { RUNTIME(cudaSetDevice_v3020), DRIVER(cuCtxSetCurrent) },
    [FLAGSIM_API_DEVICE_SYNCHRONIZE] = { RUNTIME(cudaDeviceSynchronize_v3020), DRIVER(cuCtxSynchronize) },
    [FLAGSIM_API_GET_LAST_ERROR] = { RUNTIME(cudaGetLastError_v3020), 0 },
    [FLAGSIM_API_PEEK_LAST_ERROR] = { RUNTIME(cudaPeekAtLastError_v3020), 0 },
    [FLAGSIM_API_MALLOC] = { RUNTIME(cudaMalloc_v3020), DRIVER(cuMemAlloc_v2) },
    [FLAGSIM_API_FREE] = { RUNTIME(cudaFree_v3020), DRIVER(cuMemFree_v2) },
    [FLAGSIM_API_HOST_MALLOC] = { RUNTIME(cudaHostAlloc_v3020), DRIVER(cuMemHostAlloc) },
    [FLAGSIM_API_HOST_FREE] = { RUNTIME(cudaFreeHost_v3020), DRIVER(cuMemFreeHost) },
    [FLAGSIM_API_MEM_INFO] = { RUNTIME(cudaMemGetInfo_v3020), DRIVER(cuMemGetInfo_v2) },
    [FLAGSIM_API_MEMCPY] = { RUNTIME(cudaMemcpy_v3020), DRIVER(cuMemcpy) },
    [FLAGSIM_API_MEMCPY_ASYNC] = { RUNTIME(cudaMemcpyAsync_v3020), DRIVER(cuMemcpyAsync) },
    [FLAGSIM_API_MEMCPY_PEER_ASYNC] = { RUNTIME(cudaMemcpyPeerAsync_v4000), DRIVER(cuMemcpyPeerAsync) },
    [FLAGSIM_API_MEMSET] = { RUNTIME(cudaMemset_v3020), DRIVER(cuMemsetD8_v2) },
    [FLAGSIM_API_MEMSET_ASYNC] = { RUNTIME(cudaMemsetAsync_v3020), DRIVER(cuMemsetD8Async) },
    [FLAGSIM_API_STREAM_CREATE] = { RUNTIME(cudaStreamCreateWithFlags_v5000), DRIVER(cuStreamCreate) },
    [FLAGSIM_API_STREAM_DESTROY] = { RUNTIME(cudaStreamDestroy_v5050), DRIVER(cuStreamDestroy_v2) },
    [FLAGSIM_API_STREAM_SYNCHRONIZE] = { RUNTIME(cudaStreamSynchronize_v3020), DRIVER(cuStreamSynchronize) },
    [FLAGSIM_API_STREAM_QUERY] = { RUNTIME(cudaStreamQuery_v3020), DRIVER(cuStreamQuery) },
    [FLAGSIM_API_STREAM_WAIT_EVENT] = { RUNTIME(cudaStreamWaitEvent_v3020), DRIVER(cuStreamWaitEvent) },
    [FLAGSIM_API_EVENT_CREATE] = { RUNTIME(cudaEventCreateWithFlags_v3020), DRIVER(cuEventCreate) },
    [FLAGSIM_API_EVENT_DESTROY] = { RUNTIME(cudaEventDestroy_v3020), DRIVER(cuEventDestroy_v2) },
    [FLAGSIM_API_EVENT_RECORD] = { RUNTIME(cudaEventRecord_v3020), DRIVER(cuEventRecord) },
    [FLAGSIM_API_EVENT_SYNCHRONIZE] = { RUNTIME(cudaEventSynchronize_v3020), DRIVER(cuEventSynchronize) },
    [FLAGSIM_API_EVENT_QUERY] = { RUNTIME(cudaEventQuery_v3020), DRIVER(cuEventQuery) },
    [FLAGSIM_API_EVENT_ELAPSED] = { RUNTIME(cudaEventElapsedTime_v3020), DRIVER(cuEventElapsedTime) },
    [FLAGSIM_API_LAUNCH] = { RUNTIME(cudaLaunchKernel_v7000), DRIVER(cuLaunchKernel) },
    [FLAGSIM_API_CAPTURE_BEGIN] = { RUNTIME(cudaStreamBeginCapture_v10000), DRIVER(cuStreamBeginCapture_v2) },
    [FLAGSIM_API_CAPTURE_END] = { RUNTIME(cudaStreamEndCapture_v10000), DRIVER(cuStreamEndCapture) },
    [FLAGSIM_API_GRAPH_CREATE] = { RUNTIME(cudaGraphCreate_v10000), DRIVER(cuGraphCreate) },
    [FLAGSIM_API_GRAPH_ADD_KERNEL] = { RUNTIME(cudaGraphAddKernelNode_v10000), DRIVER(cuGraphAddKernelNode) },
    [FLAGSIM_API_GRAPH_ADD_COPY] = { RUNTIME(cudaGraphAddMemcpyNode1D_v11010), DRIVER(cuGraphAddMemcpyNode) },
    [FLAGSIM_API_GRAPH_ADD_SET] = { RUNTIME(cudaGraphAddMemsetNode_v10000), DRIVER(cuGraphAddMemsetNode) },
    [FLAGSIM_API_GRAPH_INSTANTIATE] = { RUNTIME(cudaGraphInstantiate_v10000),
                                        DRIVER(cuGraphInstantiateWithFlags) },
    [FLAGSIM_API_GRAPH_LAUNCH] = { RUNTIME(cudaGraphLaunch_v10000), DRIVER(cuGraphLaunch) },
    [FLAGSIM_API_GRAPH_DESTROY] = { RUNTIME(cudaGraphDestroy_v10000), DRIVER(cuGraphDestroy) },
    [FLAGSIM_API_GRAPH_EXEC_DESTROY] = { RUNTIME(cudaGraphExecDestroy_v10000), DRIVER(cuGraphExecDestroy) },
};

// The driver's calls for copies tell the direction; the runtime's do not.
static const uint32_t driver_copies[][2] = {
    [FLAGSIM_COPY_HTOH] = { DRIVER(cuMemcpy), DRIVER(cuMemcpyAsync) },
    [FLAGSIM_COPY_HTOD] = { DRIVER(cuMemcpyHtoD_v2), DRIVER(cuMemcpyHtoDAsync_v2) },
    [FLAGSIM_COPY_DTOH] = { DRIVER(cuMemcpyDtoH_v2), DRIVER(cuMemcpyDtoHAsync_v2) },
    [FLAGSIM_COPY_DTOD] = { DRIVER(cuMemcpyDtoD_v2), DRIVER(cuMemcpyDtoDAsync_v2) },
    [FLAGSIM_COPY_DEFAULT] = { DRIVER(cuMemcpy), DRIVER(cuMemcpyAsync) },
    [FLAGSIM_COPY_PTOP] = { DRIVER(cuMemcpyPeer), DRIVER(cuMemcpyPeerAsync) },
};

uint32_t runtime_id(const flagsim_api_call *call) {
    if (call->low_level)
        return 0;
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED)
        return RUNTIME(cudaLaunchKernelExC_v11060);
    return ids[call->api].runtime;
}

uint32_t driver_id(const flagsim_api_call *call) {
    if (call->api == FLAGSIM_API_MEMCPY || call->api == FLAGSIM_API_MEMCPY_ASYNC)
        return driver_copies[call->copy][call->api == FLAGSIM_API_MEMCPY_ASYNC];
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel->flags & FLAGSIM_LAUNCH_EXTENDED)
        return DRIVER(cuLaunchKernelEx);
    return ids[call->api].driver;
}

static const struct {
    int error, runtime, driver;
} results[] = {
    { 0, 0, CUDA_SUCCESS },
    { -ENOMEM, 2, CUDA_ERROR_OUT_OF_MEMORY },
    { -EINVAL, 1, CUDA_ERROR_INVALID_VALUE },
    { -EBUSY, 600, CUDA_ERROR_NOT_READY },
    { -ENODEV, 100, CUDA_ERROR_NO_DEVICE },
    { -ENXIO, 35, CUDA_ERROR_NOT_INITIALIZED },
    { -EOWNERDEAD, 3, CUDA_ERROR_NOT_INITIALIZED },
    { -EPERM, 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED },
};

static unsigned result_row(int error) {
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].error == error)
            return i;
    return ~0u;
}

int runtime_result(int error) {
    unsigned row = result_row(error);
    return row == ~0u ? 999 : results[row].runtime;
}

int driver_result(int error) {
    unsigned row = result_row(error);
    return row == ~0u ? CUDA_ERROR_UNKNOWN : results[row].driver;
}

// The names are those of the header's enums, extracted by the build.
static const char *const runtime_names[] = {
#define NAME(number, name) [number] = (name),
#include "runtime_names.inc"
};
static const char *const driver_names[] = {
#include "driver_names.inc"
#undef NAME
};

const char *callback_name(CUpti_CallbackDomain domain, uint32_t id) {
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id < sizeof runtime_names / sizeof *runtime_names)
        return runtime_names[id];
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < sizeof driver_names / sizeof *driver_names)
        return driver_names[id];
    return NULL;
}
