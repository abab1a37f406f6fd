// nested_calls.c - which driver calls are launches of their own (nested_calls.h).
//
// Waiting driver calls are bounded, so memory is: 32,768 calls of 48 bytes. An id that there was no memory
// for is not remembered: a driver call may then be shown beside its runtime call, no more.

#include "tracers/nested_calls.h"

#include "base/array.h"
#include "tracers/id_set.h"

#include <stdlib.h>
#include <string.h>

enum { WAITING_MAX = 32768, RECENT = 32, LOOK_BACK = 16 };

struct waiting {
    struct fp_call_record call;
    bool enclosed; // by a runtime call of its thread
};

struct fp_nested_calls {
    struct fp_id_set device, runtime;
    struct waiting *waiting;
    size_t count, capacity;
    struct fp_call_record recent[RECENT]; // runtime calls, for driver records that come after theirs
    size_t recent_next;
};

struct fp_nested_calls *fp_nested_calls_new(void) {
    return calloc(1, sizeof(struct fp_nested_calls));
}

void fp_nested_calls_free(struct fp_nested_calls *nested) {
    if (!nested)
        return;
    fp_id_set_free(&nested->device);
    fp_id_set_free(&nested->runtime);
    free(nested->waiting);
    free(nested);
}

void fp_nested_calls_device_work(struct fp_nested_calls *nested, uint32_t correlation) {
    fp_id_set_add(&nested->device, correlation);
}

static bool encloses(const struct fp_call_record *outer, const struct fp_call_record *inner) {
    return outer->thread == inner->thread && outer->start <= inner->start && inner->end <= outer->end;
}

void fp_nested_calls_runtime_call(struct fp_nested_calls *nested, const struct fp_call_record *call) {
    fp_id_set_add(&nested->runtime, call->correlation);
    nested->recent[nested->recent_next++ % RECENT] = *call;
    // A call's record is written when it returns, so what it enclosed is among the last of its thread.
    size_t looked = 0;
    for (size_t at = nested->count; at-- > 0 && looked < LOOK_BACK;) {
        struct waiting *waiting = &nested->waiting[at];
        if (encloses(call, &waiting->call))
            waiting->enclosed = true;
        else
            looked++;
    }
}

static void settle_first(struct fp_nested_calls *nested, size_t count, fp_call_settled_fn settled,
                         void *owner) {
    for (size_t at = 0; at < count; at++) {
        const struct waiting *waiting = &nested->waiting[at];
        uint32_t id = waiting->call.correlation;
        bool is_nested =
            fp_id_set_has(&nested->runtime, id) || (waiting->enclosed && !fp_id_set_has(&nested->device, id));
        settled(owner, &waiting->call, is_nested);
    }
    nested->count -= count;
    memmove(nested->waiting, nested->waiting + count, nested->count * sizeof(*nested->waiting));
}

void fp_nested_calls_driver_call(struct fp_nested_calls *nested, const struct fp_call_record *call,
                                 fp_call_settled_fn settled, void *owner) {
    if (nested->count == WAITING_MAX)
        settle_first(nested, WAITING_MAX / 2, settled, owner);
    if (!fp_array_reserve(&nested->waiting, nested->count, &nested->capacity, sizeof(*nested->waiting))) {
        // Better shown without waiting than not at all.
        settled(owner, call, fp_id_set_has(&nested->runtime, call->correlation));
        return;
    }
    struct waiting *waiting = &nested->waiting[nested->count++];
    *waiting = (struct waiting){ .call = *call };
    for (size_t at = 0; at < RECENT && !waiting->enclosed; at++)
        waiting->enclosed = encloses(&nested->recent[at], call);
}

void fp_nested_calls_settle(struct fp_nested_calls *nested, fp_call_settled_fn settled, void *owner) {
    if (nested->count)
        settle_first(nested, nested->count, settled, owner);
}
