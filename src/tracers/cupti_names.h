// cupti_names.h - the name of a CUDA call by CUPTI's callback id, as torch-cuda shows it.
//
// In:  a callback domain and id out of an activity record.
// Out: a name; for an id of no known release a label with the number. The tables are generated
//      (codegen/gen_api_names.py) from NVIDIA's headers of 11.8 to 13.5.

#ifndef FP_TRACERS_CUPTI_NAMES_H
#define FP_TRACERS_CUPTI_NAMES_H

#include <stddef.h>
#include <stdint.h>

// What stands before the number where the name is unknown.
#define FP_CUPTI_UNKNOWN_DRIVER_CALL "cuDriverCall_"
#define FP_CUPTI_UNKNOWN_RUNTIME_CALL "cudaRuntimeCall_"

// The name of call `cbid` of `domain` (CUPTI's numbers: 1 driver, 2 runtime), or NULL: no header gives it
// one. The string is static. Any thread.
const char *fp_cupti_api_name_known(uint32_t domain, uint32_t cbid);

// The same, but never NULL: an unknown call's label is written to `label`, which must hold 32 bytes and live
// as long as the result is used.
const char *fp_cupti_api_name(uint32_t domain, uint32_t cbid, char *label, size_t label_bytes);

#endif
