// csv.h - a trace as a sheet: one line an event.
//
// In:  events.
// Out: RFC 4180 lines; times in whole nanoseconds, args and unknown keys as JSON in a field each.
#ifndef FLAGPROF_ANALYSIS_CSV_H
#define FLAGPROF_ANALYSIS_CSV_H

#include "analysis/mend.h"
#include "trace/reader.h"
#include "trace/writer.h"

// Titles of the columns.
void fp_csv_header(struct fp_output *output);

// Whatever goes wrong is the output's state.
void fp_csv_event(struct fp_output *output, const struct fp_trace_event *event, struct fp_mender *mender);

#endif
