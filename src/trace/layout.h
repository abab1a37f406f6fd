// layout.h - what stands between the values of a file's events, learnt from the events read so far.
//
// In:  events that were read and found valid.
// Out: the next event of the same layout, by comparing whole stretches of text (`, "pid": `) instead of
//      going key by key.
//
// A tree: each node is the text between one value and the next. Text that equals a node's, at a place that
// was reached the same way, is valid for the same reason, so nothing is judged anew but the values.
//
// Private to src/trace.
#ifndef FLAGPROF_TRACE_LAYOUT_H
#define FLAGPROF_TRACE_LAYOUT_H

#include <stdint.h>

struct fp_fast;
struct fp_parsed;
struct fp_layout_node;

struct fp_layout {
    struct fp_layout_node *nodes; // NULL until something was learnt
    uint32_t count;
    uint32_t hits, misses; // of late; a file that follows no layout is left alone
    uint8_t off;
};

// Reads the event at `begin` into fast->event, all but `raw`. Returns what is behind it; NULL where it follows
// no known layout.
const char *fp_layout_read(struct fp_layout *layout, struct fp_fast *fast, const char *begin,
                           const char *end);

// Remembers the layout of an event, `raw` included. Does nothing when memory is out.
void fp_layout_learn(struct fp_layout *layout, const struct fp_parsed *event);

#endif
