// fake_cuda.c - what of the CUDA driver and runtime a tracer asks for, for the tests of the search on a
// machine without either. Built twice: as libcuda.so.1 and as a libcudart.so.12.
#define SHOWN __attribute__((visibility("default")))

SHOWN int cuInit(unsigned flags);
SHOWN int cuDeviceGetCount(int *count);
SHOWN int cudaRuntimeGetVersion(int *version);

int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cudaRuntimeGetVersion(int *version) {
    *version = 12080;
    return 0;
}
