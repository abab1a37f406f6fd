// contract.h - the vendor contract without Python: twelve cases over flagprof.h that any tracer must pass.
//
// In:  an accelerator, a workload (a library's functions that start device work), the row of what the vendor
//      promises.
// Out: a verdict a case: passed, failed or, where the row says that it cannot be had, skipped, each with what
//      was seen. Nothing is printed.
//
// What only some vendors have stands in a case under its capability, above a floor that every vendor must
// reach. python/flagprof/conformance/cases.py asks the same of the traces that torch writes.
#ifndef FP_CLI_CONTRACT_H
#define FP_CLI_CONTRACT_H

#include "flagprof/flagprof.h"

enum { FP_CONTRACT_CASES = 12 };

struct fp_contract_pair {
    const char *key, *value;
};

// A row of vendors.json. The lists end with a NULL key.
struct fp_contract_row {
    const char *name, *accelerator, *tracer;
    const char *facade;                         // its folder below the simulator's; NULL: none
    const char *calls;                          // how the vendor's API names look: an extended pattern
    const struct fp_contract_pair *environment; // of the process that is recorded, and of no other
    const struct fp_contract_pair *cannot;      // case: why it cannot be had
    const struct fp_contract_pair *lacks;       // "kernel: queued": why
};

extern const struct fp_contract_row fp_contract_rows[];                // ends with a NULL name
const struct fp_contract_row *fp_contract_row_named(const char *name); // NULL: there is none

// The functions of a workload library (docs/adding-a-vendor.md): 0, or anything else with a reason in `error`.
struct fp_workload {
    int (*open)(const char *accelerator, const char *folder);
    int (*launch)(unsigned number); // a kernel whose name holds "contract_kernel_NUMBER"
    int (*copy)(int to_device, size_t bytes);
    int (*set)(int value, size_t bytes);
    int (*synchronize)(void);
    const char *(*error)(void);
};

enum fp_verdict_result { FP_VERDICT_PASS, FP_VERDICT_FAIL, FP_VERDICT_SKIP };

struct fp_verdict {
    const char *name; // of the case
    enum fp_verdict_result result;
    char text[400]; // what was seen, what was wrong first, or why it was skipped
};

// Records two sessions and judges them. Returns 0; a negative errno with the reason when nothing could be
// recorded.
int fp_contract_run(struct fp_accelerator *accelerator, const struct fp_workload *workload,
                    const struct fp_contract_row *row, struct fp_verdict verdicts[FP_CONTRACT_CASES],
                    struct fp_error *err);

#endif
