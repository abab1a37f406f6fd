// progress.h - a bar on the terminal while a large file is read.
//
// In:  how much of the file was read.
// Out: one line on standard error, only when that is a terminal and the reading takes longer than a
//      second; it is gone when the reading ends.
#ifndef FP_CLI_PROGRESS_H
#define FP_CLI_PROGRESS_H

#include "trace/reader.h"

struct fp_progress {
    const struct fp_source *source;
    uint64_t begun_ns, shown_ns;
    uint32_t calls;
    bool terminal, drawn;
};

void fp_progress_begin(struct fp_progress *progress, const struct fp_source *source);
void fp_progress_draw(struct fp_progress *progress, uint64_t events);
void fp_progress_end(struct fp_progress *progress);

// To be called for every event; looks at the clock once in 4,096.
static inline void fp_progress_event(struct fp_progress *progress, uint64_t events) {
    if (progress->terminal && (++progress->calls & 4095) == 0)
        fp_progress_draw(progress, events);
}

#endif
