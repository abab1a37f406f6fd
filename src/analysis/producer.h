// producer.h - who recorded a trace, as far as it says, and whether that was a real device.
//
// In:  a reader that has read to the end and still has its table of names.
// Out: sentences for a person. What the file does not say is said to be unknown.
#ifndef FLAGPROF_ANALYSIS_PRODUCER_H
#define FLAGPROF_ANALYSIS_PRODUCER_H

#include "trace/reader.h"

struct fp_producer {
    char recorded_by[200];
    char simulated[120];    // by what; empty: nothing says that it was
    char not_recorded[700]; // why the device was not; empty: nothing says so
};

void fp_producer_read(const struct fp_reader *reader, struct fp_producer *producer);

#endif
