// fuzz_mcpti_decode.c - any bytes as MCPTI activity buffers (fuzz_twin.h says what is required).
#include "fuzz_twin.h"

#include "tracers/mcpti_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    return fuzz_twin(&fp_mcpti_layout, input, size);
}
