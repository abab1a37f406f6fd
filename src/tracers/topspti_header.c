// topspti_header.c - TOPSPTI's layout as the SDK's own header has it, where the build was given that header.
//
// In:  -DFLAGPROF_TOPSPTI_INCLUDE=/opt/tops/extras/TOPSPTI/include at configuration, which defines
//      FP_TOPSPTI_HEADER for this file alone.
// Out: the offsets, or NULL: then the records themselves must tell them (topspti_calibrate.c).
//
// The names of structs and fields are those that public code reads [CODE]; how the constants are spelled is
// [GUESS]. What does not compile here with the real header is what the guess got wrong.

#include "tracers/topspti_layout.h"

#include <stddef.h>

#ifdef FP_TOPSPTI_HEADER

#include <topspti.h>
#include <topspti_activity.h>
#include <topspti_callbacks.h>

#define AT(type, member) (uint16_t) offsetof(type, member)

// What every record of device work has.
#define WORK(type)                                                                                           \
    .is_sized = true, .bytes = sizeof(type), .start = AT(type, start), .end = AT(type, end),                 \
    .device = AT(type, deviceId), .context = AT(type, contextId), .stream = AT(type, streamId),              \
    .correlation = AT(type, correlationId)

#define CALL(kind)                                                                                           \
    {                                                                                                        \
        .sort = (kind), .is_sized = true, .bytes = sizeof(Topspti_ActivityAPI),                              \
        .start = AT(Topspti_ActivityAPI, start), .end = AT(Topspti_ActivityAPI, end),                        \
        .correlation = AT(Topspti_ActivityAPI, correlationId), .cbid = AT(Topspti_ActivityAPI, cbid),        \
        .process = AT(Topspti_ActivityAPI, processId), .thread = AT(Topspti_ActivityAPI, threadId),          \
        .result = AT(Topspti_ActivityAPI, returnValue),                                                      \
    }

static const struct fp_tops_layout layout = {
    .kinds = {
        [TOPSPTI_ACTIVITY_KIND_KERNEL] = {
            .sort = FP_TOPS_KERNEL,
            WORK(Topspti_ActivityKernel),
            .grid = AT(Topspti_ActivityKernel, gridX),
            .block = AT(Topspti_ActivityKernel, blockX),
            .name = AT(Topspti_ActivityKernel, name),
        },
        [TOPSPTI_ACTIVITY_KIND_MEMCPY] = {
            .sort = FP_TOPS_COPY,
            WORK(Topspti_ActivityMemcpy),
            .amount = AT(Topspti_ActivityMemcpy, bytes),
            .copy_kind = AT(Topspti_ActivityMemcpy, copyKind),
            .from = AT(Topspti_ActivityMemcpy, srcKind),
            .to = AT(Topspti_ActivityMemcpy, dstKind),
            .flags = AT(Topspti_ActivityMemcpy, flags),
        },
        [TOPSPTI_ACTIVITY_KIND_MEMSET] = {
            .sort = FP_TOPS_SET,
            WORK(Topspti_ActivityMemset),
            .amount = AT(Topspti_ActivityMemset, bytes),
            .value = AT(Topspti_ActivityMemset, value),
            .flags = AT(Topspti_ActivityMemset, flags),
            .memory_kind = AT(Topspti_ActivityMemset, memoryKind),
        },
        [TOPSPTI_ACTIVITY_KIND_RUNTIME] = CALL(FP_TOPS_RUNTIME),
        [TOPSPTI_ACTIVITY_KIND_DRIVER] = CALL(FP_TOPS_DRIVER),
    },
    .callback = {
        .known = true,
        .has_site = true,
        .bytes = sizeof(Topspti_CallbackData),
        .site = AT(Topspti_CallbackData, callbackSite),
        .correlation = AT(Topspti_CallbackData, correlationId),
        .enter = TOPSPTI_API_ENTER,
    },
    .runtime_domain = TOPSPTI_CB_DOMAIN_RUNTIME_API,
    .driver_domain = TOPSPTI_CB_DOMAIN_DRIVER_API,
};

// Geometry is read as three words in a row, and a field at 0 would be taken for none.
_Static_assert(offsetof(Topspti_ActivityKernel, gridZ) == offsetof(Topspti_ActivityKernel, gridX) + 8 &&
                   offsetof(Topspti_ActivityKernel, blockZ) == offsetof(Topspti_ActivityKernel, blockX) + 8 &&
                   offsetof(Topspti_ActivityKernel, kind) == 0,
               "the grid's and the block's numbers lie in a row, and the kind comes first");

const struct fp_tops_layout *fp_tops_header_layout(void) {
    return &layout;
}

#else

const struct fp_tops_layout *fp_tops_header_layout(void) {
    return NULL;
}

#endif
