// replay.h - real activity buffers of an NVIDIA GPU, as if CUPTI had just completed them.
//
// In:  tests/fixtures/buffers/cupti-h200 (its README says what made them and what they must decode to).
// Out: buffers whose name pointers lead to loaded strings, and an iterator with
//      cuptiActivityGetNextRecord's signature. Each buffer is an allocation of exactly its valid size, so
//      that a sanitizer sees one byte read beyond.

#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_buffer {
    uint8_t *bytes;
    size_t valid_size;
};

struct replay_release; // which record has which size

struct replay {
    const struct replay_release *release;
    uint32_t api_version; // what cuptiGetVersion of the release says
    struct replay_buffer *buffers;
    size_t buffer_count;
    char **texts;
    size_t text_count;
};

// Loads set `name` ("13.0.85-late"). False: it is not there, or not as the README describes it; *set is then
// empty.
bool replay_load(struct replay *set, const char *name);
void replay_free(struct replay *set);

// Loads STEM.bin and STEM.strings, of any vendor, as FLAGOS_KEEP_BUFFERS leaves them. There is no release then.
bool replay_load_files(struct replay *set, const char *stem);

// The names of all sets, NULL-terminated, oldest release first.
extern const char *const replay_sets[];

// The text at `address` if it is one of the loaded set's, else NULL: a decoder that follows any other word of
// a record followed a dead address. To be put where the decoder reads names.
const char *replay_text(const struct replay *set, uint64_t address);

// The size of a record of `kind` in this set's release, 0: not known. Taken from the fact sheet, not from the
// tracer's mirror, so that the two can disagree.
size_t replay_record_size(const struct replay *set, uint32_t kind);

// Stands in for cuptiActivityGetNextRecord. Which release's sizes it walks by is set with replay_iterate.
void replay_iterate(const struct replay *set);
uint32_t replay_next_record(uint8_t *buffer, size_t valid_size, void **record);

#endif
