// progress.c - draws the bar.
//
// In:  the source's position.
// Out: "  43 %  1.2 of 2.8 GB  5,100,000 events", redrawn five times a second.

#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 30
#define PATIENCE_NS 1000000000ULL
#define PACE_NS 200000000ULL

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void fp_progress_begin(struct fp_progress *progress, const struct fp_source *source) {
    *progress =
        (struct fp_progress){ .source = source, .begun_ns = now_ns(), .terminal = isatty(STDERR_FILENO) };
}

void fp_progress_draw(struct fp_progress *progress, uint64_t events) {
    uint64_t now = now_ns();
    if (now - progress->begun_ns < PATIENCE_NS || now - progress->shown_ns < PACE_NS)
        return;
    uint64_t size = fp_source_size(progress->source), at = fp_source_position(progress->source);
    progress->shown_ns = now;
    progress->drawn = true;
    if (!size) { // a pipe: how much is to come is unknown
        fprintf(stderr, "\r  %.1f MB read, %llu events\033[K", (double)at / 1e6, (unsigned long long)events);
        return;
    }
    double share = (double)at / (double)size;
    int full = (int)(share * WIDTH);
    fprintf(stderr, "\r  [%.*s%*s] %3.0f %%  %.1f of %.1f MB, %llu events\033[K", full,
            "##############################", WIDTH - full, "", share * 100, (double)at / 1e6,
            (double)size / 1e6, (unsigned long long)events);
}

void fp_progress_end(struct fp_progress *progress) {
    if (progress->drawn)
        fputs("\r\033[K", stderr);
}
