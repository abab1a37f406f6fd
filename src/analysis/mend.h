// mend.h - texts that a reader steps through but no strict parser takes.
//
// In:  spans of the reader.
// Out: the same text, or a copy in the mender with its faults mended and counted.
#ifndef FLAGPROF_ANALYSIS_MEND_H
#define FLAGPROF_ANALYSIS_MEND_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/number.h"
#include "trace/text.h"

// What was mended in texts.
struct fp_mended {
    uint64_t utf8;     // bytes that were no UTF-8
    uint64_t escapes;  // backslashes that JSON wants doubled
    uint64_t controls; // bare control bytes
    uint64_t numbers;  // NaN and infinities, now null
    uint64_t commas;   // before a closing brace or bracket, left out
};

// All zero is ready for use. A result lives until the next call.
struct fp_mender {
    bool salvaged; // the reader steps over faults: every byte of JSON is looked at
    bool failed;   // memory was out; results are empty since then
    char *at;
    size_t used, room;
    struct fp_mended mended;
};

// Whether the text may need mending; cheap.
bool fp_mend_needed(const struct fp_mender *mender, struct fp_text text);

// JSON: bytes that are no UTF-8 become U+FFFD, unknown escapes and bare control bytes are escaped, NaN
// becomes null.
struct fp_text fp_mend_json(struct fp_mender *mender, struct fp_text text);

// Bytes that are no JSON: only UTF-8 is looked after.
struct fp_text fp_mend_text(struct fp_mender *mender, struct fp_text text);

void fp_mender_free(struct fp_mender *mender);

#endif
