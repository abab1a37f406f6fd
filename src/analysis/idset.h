// idset.h - sets of ids, and a table of what waits for its other half.
//
// In:  ids of 64 bits, mostly dense.
// Out: membership at a bit each for dense ids; a table whose entries leave again, so that its size
//      follows what is open at a time and not the file.
#ifndef FLAGPROF_ANALYSIS_IDSET_H
#define FLAGPROF_ANALYSIS_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fp_idset_page {
    uint64_t page; // id / 512, plus one; 0 is empty
    uint64_t bits[8];
};

struct fp_idset {
    struct fp_idset_page *pages;
    size_t count, mask;
    size_t last; // where the last id was found
};

int fp_idset_add(struct fp_idset *set, uint64_t id); // 1 when it is new, 0 when it was there, -ENOMEM
bool fp_idset_has(const struct fp_idset *set, uint64_t id);
void fp_idset_free(struct fp_idset *set);

// One half of a pair, or a slice that is told from others by its id.
struct fp_half {
    uint64_t id;
    int64_t ts_ns;
    uint64_t event, byte;
    uint32_t lane;
    uint32_t name_id;
    uint32_t more; // further halves of the same id that wait too
    uint8_t kind;
    bool used;
};

struct fp_halves {
    struct fp_half *halves;
    size_t count, mask;
};

// The half that waits under `id`, or a fresh one with `used` false that the caller fills (id is set). NULL
// when memory is out. The pointer lives until the next call.
struct fp_half *fp_halves_at(struct fp_halves *halves, uint64_t id);
struct fp_half *fp_halves_find(const struct fp_halves *halves, uint64_t id); // NULL where none waits
void fp_halves_keep(struct fp_halves *halves, struct fp_half *half);         // makes a fresh one count
void fp_halves_remove(struct fp_halves *halves, struct fp_half *half);
void fp_halves_free(struct fp_halves *halves);

#endif
