// nested_calls.h - is a driver call the launch itself, or was it made inside a runtime call?
//
// In:  runtime calls, launching driver calls and device work, in any order.
// Out: each driver call once, with the answer. Nested: a runtime call has the same id; or a runtime call
//      of the same thread encloses it and no device work carries its id. (On CUPTI 11.8 to 13.5 with
//      driver 580 nested calls are not delivered at all [MEASURED]; other drivers deliver them, under
//      either id.)
#ifndef FP_TRACERS_NESTED_CALLS_H
#define FP_TRACERS_NESTED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct fp_call_record {
    uint32_t domain, cbid; // the domain in CUPTI's numbers: 1 driver, 2 runtime
    uint64_t start, end;   // the vendor's clock
    uint32_t thread, correlation, result;
};

struct fp_nested_calls;

typedef void (*fp_call_settled_fn)(void *owner, const struct fp_call_record *call, bool is_nested);

struct fp_nested_calls *fp_nested_calls_new(void); // NULL: no memory
void fp_nested_calls_free(struct fp_nested_calls *nested);
void fp_nested_calls_device_work(struct fp_nested_calls *nested, uint32_t correlation);
void fp_nested_calls_runtime_call(struct fp_nested_calls *nested, const struct fp_call_record *call);
// Keeps the call; where many wait already, the older half is settled with what is known by now.
void fp_nested_calls_driver_call(struct fp_nested_calls *nested, const struct fp_call_record *call,
                                 fp_call_settled_fn settled, void *owner);
void fp_nested_calls_settle(struct fp_nested_calls *nested, fp_call_settled_fn settled, void *owner);

#endif
