// feed.h - one trace file read for a verb: selection, progress, and what must be said of the file itself.
//
// In:  a path and the shared options.
// Out: every selected event handed to the verb, and the reader still open behind the last one, so that
//      header, names and notes can be asked for.
#ifndef FP_CLI_FEED_H
#define FP_CLI_FEED_H

#include "analysis/producer.h"
#include "cli/options.h"
#include "trace/reader.h"

struct fp_feed {
    struct fp_reader *reader;
    int code; // how the reading ended: 0, or the reader's negative errno (the verb decides what that means)
    struct fp_error err;
    bool part;               // a part was asked for
    uint64_t events, chosen; // read; of them in the part
    uint64_t chosen_things;  // of these what says something by itself: no metadata, no ends
};

// Reads `path`. `each` returns 0 or a negative errno, which ends the reading. Afterwards feed->code tells the
// end; the caller closes the reader (NULL when opening failed).
void fp_feed_read(struct fp_feed *feed, const char *path, const struct fp_options *options, bool salvage,
                  int (*each)(void *user, const struct fp_trace_event *event), void *user);

// What the reader has to say, as sentences of the report; errors and warnings first.
void fp_feed_notes(const struct fp_feed *feed, struct fp_report *report);

// Where a part was asked for, how much that is, as a sentence that begins with `said` ("Only a part was counted");
// that nothing of it is in the file, where that is so.
void fp_feed_part(const struct fp_feed *feed, const char *said, struct fp_report *report);

// Who recorded the trace, whether a real device did, and why none was recorded: facts of the report.
void fp_feed_producer(const struct fp_producer *producer, struct fp_report *report);

// True when every event that the file held was read, whether or not its list was closed.
bool fp_feed_nothing_lost(const struct fp_feed *feed);

// Where the reports on several files go: one after the other, in JSON as a list when there are several.
struct fp_feed_output {
    const struct fp_options *options;
    const char *verb;
    struct fp_output *output;
    size_t begun;
    bool failed; // a report could not be written, which was said: nothing appears
};

bool fp_feed_output_begin(struct fp_feed_output *out, const struct fp_options *options, const char *verb);
void fp_feed_output_next(struct fp_feed_output *out); // right before each report is written
bool fp_feed_output_end(struct fp_feed_output *out);  // false after it said what went wrong

#endif
