// roctracer_entries.c - callback data to entries (roctracer_entries.h). Hot: no lock, no allocation.

#include "tracers/roctracer_entries.h"

#include "tracers/ablation.h"

#include <string.h>

static uint32_t word_at(const unsigned char *data, size_t offset) {
    uint32_t word;
    memcpy(&word, data + offset, sizeof(word));
    return word;
}

static uint64_t wide_at(const unsigned char *data, size_t offset, size_t bytes) {
    uint64_t wide = 0;
    memcpy(&wide, data + offset, bytes); // little-endian, as all hosts of these devices
    return wide;
}

static void read_geometry(struct fp_roc_call *call, const struct fp_hip_call *row,
                          const unsigned char *data) {
    for (size_t axis = 0; axis < 3; axis++) {
        call->grid[axis] = word_at(data, row->grid + 4 * axis);
        call->block[axis] = word_at(data, row->block + 4 * axis);
        if (row->grid_is_threads && call->block[axis])
            call->grid[axis] =
                (uint32_t)(((uint64_t)call->grid[axis] + call->block[axis] - 1) / call->block[axis]);
    }
    if (row->shared)
        call->shared_bytes = (uint32_t)wide_at(data, row->shared, row->shared_bytes);
}

void fp_roc_read_arguments(struct fp_roc_call *call, const struct fp_hip_call *row, const void *data) {
    call->copy_kind = row->sort == FP_HIP_COPY ? row->fixed_kind : FP_HIP_COPY_DEFAULT;
    call->to_device = call->from_device = -1;
    if (row->sort == FP_HIP_LAUNCH)
        read_geometry(call, row, data);
    if (row->bytes)
        call->bytes = wide_at(data, row->bytes, 8) * (row->value_unit ? row->value_unit : 1);
    if (row->rows)
        call->bytes *= wide_at(data, row->rows, 8);
    if (row->kind) {
        uint32_t kind = word_at(data, row->kind);
        call->copy_kind = kind < FP_HIP_COPY_DEFAULT ? (uint8_t)kind : FP_HIP_COPY_DEFAULT;
    }
    if (row->value_bytes)
        call->value = (uint32_t)wide_at(data, row->value, row->value_bytes);
    if (row->to_device) {
        call->to_device = (int32_t)word_at(data, row->to_device);
        call->from_device = (int32_t)word_at(data, row->from_device);
    }
}

size_t fp_roc_read_records(const char *begin, const char *end, struct fp_text_arena *names,
                           void (*put)(void *owner, const struct fp_roc_work *work), void *owner) {
    const size_t stride = sizeof(struct fp_roc_record); // the record of every release [HEADER]
    size_t left = begin && end > begin ? (size_t)(end - begin) : 0;
    for (; left >= stride; begin += stride, left -= stride) {
        struct fp_roc_work work = { .name = NULL };
        memcpy(&work.record, begin, stride);
        bool is_work = work.record.domain == FP_ROC_DOMAIN_HIP_OPS;
        if (is_work && work.record.op == FP_ROC_OP_BARRIER && !fp_ablated("barriers"))
            continue;
        if (is_work && work.record.op == FP_ROC_OP_DISPATCH)
            work.name = fp_ablated("names") ? work.record.u.kernel_name
                                            : fp_text_arena_keep(names, work.record.u.kernel_name);
        put(owner, &work);
    }
    return left;
}
