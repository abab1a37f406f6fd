// cupti_names.c - the generated tables of CUDA API names, and the label for an id that none of them has.
//
// In:  a callback domain and id.
// Out: a static name, or a label in the caller's bytes. Ids that NVIDIA's headers call cudaNNN or
//      reservedNNN are unknown here: such a word is no name of a call.

#include "tracers/cupti_names.h"
#include <stdio.h>

static const char *const driver_names[] = {
#include "tracers/cupti_driver_names.inc"
};

static const char *const runtime_names[] = {
#include "tracers/cupti_runtime_names.inc"
};

struct table {
    const char *const *names;
    size_t count;
    const char *unknown;
};

static const struct table tables[] = {
    // by CUPTI's callback domain
    [0] = { NULL, 0, "cudaCall_" },
    [1] = { driver_names, sizeof(driver_names) / sizeof(driver_names[0]), FP_CUPTI_UNKNOWN_DRIVER_CALL },
    [2] = { runtime_names, sizeof(runtime_names) / sizeof(runtime_names[0]), FP_CUPTI_UNKNOWN_RUNTIME_CALL },
};

static const struct table *table_of(uint32_t domain) {
    return &tables[domain < sizeof(tables) / sizeof(tables[0]) ? domain : 0];
}

const char *fp_cupti_api_name_known(uint32_t domain, uint32_t cbid) {
    const struct table *table = table_of(domain);
    return cbid < table->count ? table->names[cbid] : NULL;
}

const char *fp_cupti_api_name(uint32_t domain, uint32_t cbid, char *label, size_t label_bytes) {
    const char *known = fp_cupti_api_name_known(domain, cbid);
    if (known != NULL) {
        return known;
    }
    snprintf(label, label_bytes, "%s%u", table_of(domain)->unknown, cbid);
    return label;
}
