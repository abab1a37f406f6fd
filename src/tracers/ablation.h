// ablation.h - countermeasures that a test build can switch off, one at a time, to prove that the tests
// notice.
//
// The shipped tracers are built without FP_ABLATION: fp_ablated is then false at compile time and nothing of
// this remains in them. The test build reads FLAGOS_TEST_ABLATE, the name of one countermeasure.
#ifndef FP_TRACERS_ABLATION_H
#define FP_TRACERS_ABLATION_H

#include <stdbool.h>

#ifdef FP_ABLATION
#include <stdlib.h>
#include <string.h>

static inline bool fp_ablated(const char *countermeasure) {
    const char *chosen = getenv("FLAGOS_TEST_ABLATE");
    return chosen && strcmp(chosen, countermeasure) == 0;
}
#else
static inline bool fp_ablated(const char *countermeasure) {
    (void)countermeasure;
    return false;
}
#endif

#endif
