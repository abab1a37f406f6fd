// twin_bytes.h - activity records of CUPTI's copies, written byte by byte at the offsets of the fact sheet,
// not through the mirrors that are tested with them.
//
// In:  values.
// Out: a growing buffer of records. A record's size is the caller's: 200 or 168 bytes of kernel.
#ifndef TWIN_BYTES_H
#define TWIN_BYTES_H

#include <stdint.h>
#include <string.h>

enum { TWIN_BUFFER_BYTES = 1 << 16 };

struct twin_sizes {
    size_t kernel, copy, set;
};

struct twin_bytes {
    _Alignas(8) uint8_t bytes[TWIN_BUFFER_BYTES];
    size_t valid;
    struct twin_sizes sizes;
};

static inline void twin_put(uint8_t *record, size_t offset, uint64_t value, size_t bytes) {
    memcpy(record + offset, &value, bytes);
}

static inline uint8_t *twin_record(struct twin_bytes *buffer, uint32_t kind, size_t bytes) {
    uint8_t *record = buffer->bytes + buffer->valid;
    memset(record, 0, bytes);
    twin_put(record, 0, kind, 4);
    buffer->valid += bytes;
    return record;
}

static inline uint8_t *twin_kernel(struct twin_bytes *buffer, uint32_t id, uint64_t start, uint64_t end,
                                   const char *name) {
    uint8_t *record = twin_record(buffer, 10, buffer->sizes.kernel);
    twin_put(record, 6, 32, 2); // registers
    twin_put(record, 16, start, 8);
    twin_put(record, 24, end, 8);
    twin_put(record, 40, 1, 4); // device
    twin_put(record, 44, 2, 4); // context
    twin_put(record, 48, 7, 4); // stream
    for (size_t axis = 0; axis < 3; axis++) {
        twin_put(record, 52 + 4 * axis, 3 - axis, 4);  // grid 3 2 1
        twin_put(record, 64 + 4 * axis, 8 >> axis, 4); // block 8 4 2
    }
    twin_put(record, 76, 100, 4);
    twin_put(record, 80, 20, 4);
    twin_put(record, 92, id, 4);
    twin_put(record, 104, (uint64_t)(uintptr_t)name, 8);
    return record;
}

static inline uint8_t *twin_copy(struct twin_bytes *buffer, uint32_t id, uint64_t start, uint64_t end,
                                 uint64_t bytes) {
    uint8_t *record = twin_record(buffer, 1, buffer->sizes.copy);
    twin_put(record, 4, 1, 1); // HtoD
    twin_put(record, 5, 1, 1); // Pageable
    twin_put(record, 6, 3, 1); // Device
    twin_put(record, 7, 1, 1); // async
    twin_put(record, 8, bytes, 8);
    twin_put(record, 16, start, 8);
    twin_put(record, 24, end, 8);
    twin_put(record, 36, 2, 4);
    twin_put(record, 40, 9, 4);
    twin_put(record, 44, id, 4);
    return record;
}

static inline uint8_t *twin_set(struct twin_bytes *buffer, uint32_t id, uint64_t start, uint64_t end,
                                uint64_t bytes) {
    uint8_t *record = twin_record(buffer, 2, buffer->sizes.set);
    twin_put(record, 4, 0x2a, 4);
    twin_put(record, 8, bytes, 8);
    twin_put(record, 16, start, 8);
    twin_put(record, 24, end, 8);
    twin_put(record, 44, id, 4);
    twin_put(record, 50, 3, 2); // Device
    return record;
}

static inline uint8_t *twin_api(struct twin_bytes *buffer, uint32_t kind, uint32_t cbid, uint32_t id,
                                uint64_t start, uint64_t end) {
    uint8_t *record = twin_record(buffer, kind, 40);
    twin_put(record, 4, cbid, 4);
    twin_put(record, 8, start, 8);
    twin_put(record, 16, end, 8);
    twin_put(record, 24, 4242, 4); // process
    twin_put(record, 28, 77, 4);   // thread
    twin_put(record, 32, id, 4);
    return record;
}

static inline uint8_t *twin_external(struct twin_bytes *buffer, uint32_t kind, uint64_t external,
                                     uint32_t id) {
    uint8_t *record = twin_record(buffer, 39, 24);
    twin_put(record, 4, kind, 4);
    twin_put(record, 8, external, 8);
    twin_put(record, 16, id, 4);
    return record;
}

#endif
