// fuzz_ppu_decode.c - any bytes as a PPU's activity buffers, whose records are known by their beginning alone
// (fuzz_twin.h says what is required).
#include "fuzz_twin.h"

#include "tracers/cupti_ppu_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    return fuzz_twin(&fp_cupti_ppu_layout, input, size);
}
