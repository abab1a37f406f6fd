// names.h - every text of a recording, kept once and called by number.
//
// In:  texts as the vendor gives them, often the same pointer millions of times.
// Out: a number; later the text to show. One writer at a time; reading what a finished recording holds is
//      safe from any number of threads.
#ifndef FP_RECORDING_NAMES_H
#define FP_RECORDING_NAMES_H

#include "flagprof/device_tracer.h"

struct fp_names;

struct fp_names *fp_names_new(void); // NULL: no memory
void fp_names_free(struct fp_names *names);
// The number of `text`; 0, the empty text, for NULL and when memory runs out (then *lost is counted up, if
// given).
fp_name_id fp_names_add(struct fp_names *names, const char *text, enum fp_name_form form, uint64_t *lost);
const char *fp_names_shown(const struct fp_names *names,
                           uint32_t name); // "" for a number that was never given
size_t fp_names_bytes(const struct fp_names *names);

#endif
