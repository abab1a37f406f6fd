// fuzz_mupti_decode.c - any bytes as MUPTI activity buffers (fuzz_twin.h says what is required).
#include "fuzz_twin.h"

#include "tracers/mupti_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    return fuzz_twin(&fp_mupti_layout, input, size);
}
