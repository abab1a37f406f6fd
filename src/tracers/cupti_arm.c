// cupti_arm.c - kinds and calls switched on at a recording's start and off at its end (cupti_arm.h).

#include "tracers/cupti_arm.h"

#include "base/log.h"
#include "tracers/calls.h"
#include "tracers/cupti_calls.h"
#include "tracers/cupti_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t number;
    const char *name;
    bool needed; // a recording without it is no recording
} kinds[FP_CUPTI_ARMED_KINDS] = {
    // external ids come first, so that no call is without its owner
    { FP_CUPTI_KIND_EXTERNAL_CORRELATION, "EXTERNAL_CORRELATION", true },
    { FP_CUPTI_KIND_OVERHEAD, "OVERHEAD", false },
    { FP_CUPTI_KIND_MEMCPY, "MEMCPY", true },
    { FP_CUPTI_KIND_MEMCPY_PEER, "MEMCPY2", false },
    { FP_CUPTI_KIND_MEMSET, "MEMSET", true },
    { FP_CUPTI_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL", true },
    { FP_CUPTI_KIND_RUNTIME, "RUNTIME", true },
};

const char *const fp_cupti_offered_kinds[] = {
    "CONCURRENT_KERNEL",    "MEMCPY", "MEMCPY2", "MEMSET", "RUNTIME", "DRIVER", "OVERHEAD",
    "EXTERNAL_CORRELATION", NULL
};

uint32_t fp_cupti_say(const struct fp_cupti_library *library, const char *what, uint32_t result) {
    fp_log("cupti", "%s: %s", what, result == 0 ? "ok" : fp_cupti_result_text(library, result));
    return result;
}

// The known calls of a domain that are of one of these sorts, or of none of them.
static size_t list_ids(uint32_t domain, unsigned sorts, bool of_them, uint16_t *ids, size_t capacity) {
    size_t count = 0;
    for (uint32_t cbid = 1; cbid < FP_CUPTI_CBID_LIMIT && count < capacity; cbid++) {
        const char *name = fp_cupti_api_name_known(domain, cbid);
        if (name && ((fp_cupti_call_sorts(domain, name) & sorts) != 0) == of_them)
            ids[count++] = (uint16_t)cbid;
    }
    return count;
}

void fp_cupti_arms_init(struct fp_cupti_arms *arms, const struct fp_cupti_library *library) {
    memset(arms, 0, sizeof(*arms));
    arms->library = library;
    arms->driver_id_count =
        list_ids(FP_CUPTI_DOMAIN_DRIVER, FP_CALL_LAUNCH | FP_CALL_CAPTURE_BEGIN | FP_CALL_CAPTURE_END, false,
                 arms->driver_ids, FP_CUPTI_DRIVER_IDS);
    arms->quiet_id_count =
        list_ids(FP_CUPTI_DOMAIN_RUNTIME, FP_CALL_QUIET, true, arms->quiet_ids, FP_CUPTI_QUIET_IDS);
}

static size_t switch_off(uint32_t (*one)(uint32_t cbid, uint8_t on), const uint16_t *ids, size_t count) {
    size_t switched = 0;
    for (size_t at = 0; one && at < count; at++)
        switched += one(ids[at], false) == FP_CUPTI_SUCCESS;
    return switched;
}

// The driver's kind, then all of its calls off that neither can be a launch nor bound a capture, where the
// release has switches (12.5 on); else the decoder sorts. The order matters: a call switched on without its
// kind records nothing, and enabling the kind sets every switch on [MEASURED: H200, 13.0, driver 580; all
// switches take 1 ms].
static void arm_driver_calls(struct fp_cupti_arms *arms, bool all) {
    const struct fp_cupti_functions *call = &arms->library->call;
    arms->driver_kind =
        fp_cupti_say(arms->library, "enabling DRIVER", call->enable(FP_CUPTI_KIND_DRIVER)) == 0;
    if (arms->driver_kind && !all)
        fp_log("cupti", "%zu driver calls left out at the source",
               switch_off(call->enable_driver_call, arms->driver_ids, arms->driver_id_count));
}

// Host calls are to carry the operating system's thread id, as the rest of a trace does.
static void set_thread_ids(struct fp_cupti_arms *arms, void (*note)(void *owner, const char *sentence),
                           void *owner) {
    const struct fp_cupti_functions *call = &arms->library->call;
    arms->thread_ids_before = FP_CUPTI_THREAD_ID_DEFAULT;
    if (call->get_thread_id_type)
        call->get_thread_id_type(&arms->thread_ids_before);
    arms->thread_ids_set =
        call->set_thread_id_type && fp_cupti_say(arms->library, "system thread ids",
                                                 call->set_thread_id_type(FP_CUPTI_THREAD_ID_SYSTEM)) == 0;
    if (!arms->thread_ids_set)
        note(owner, "this CUPTI cannot tell system thread ids: host calls stand on rows of their own");
}

enum { CBID_DEVICE_GET_COUNT = 4 }; // [HEADER: cupti_driver_cbid.h, alike in every release]

bool fp_cupti_make_a_call(struct fp_cupti_arms *arms) {
    const struct fp_cupti_functions *call = &arms->library->call;
    int count = 0;
    // Enabling the kind sets the call's switch on too; a release that did not would be taken for deaf.
    if (fp_cupti_say(arms->library, "enabling DRIVER to try it", call->enable(FP_CUPTI_KIND_DRIVER)) != 0)
        return false;
    arms->driver_kind = true;
    if (call->enable_driver_call)
        call->enable_driver_call(CBID_DEVICE_GET_COUNT, true);
    return arms->library->driver.count_devices(&count) == 0;
}

void fp_cupti_disarm(struct fp_cupti_arms *arms) {
    const struct fp_cupti_functions *call = &arms->library->call;
    char what[64];
    if (arms->driver_kind)
        fp_cupti_say(arms->library, "disabling DRIVER", call->disable(FP_CUPTI_KIND_DRIVER));
    arms->driver_kind = false;
    for (size_t at = FP_CUPTI_ARMED_KINDS; at-- > 0;) {
        snprintf(what, sizeof(what), "disabling %s", kinds[at].name);
        if (arms->kinds[at])
            fp_cupti_say(arms->library, what, call->disable(kinds[at].number));
        arms->kinds[at] = false;
    }
    if (arms->thread_ids_set)
        call->set_thread_id_type(arms->thread_ids_before);
    arms->thread_ids_set = false;
}

// A kind that is refused ends the start if it is needed.
static int refuse_kind(struct fp_cupti_arms *arms, size_t at, uint32_t status, struct fp_error *err) {
    fp_error_set(err, "CUPTI does not record %s: %s (%u)", kinds[at].name,
                 fp_cupti_result_text(arms->library, status), status);
    fp_cupti_disarm(arms);
    return status == FP_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS ? -EBUSY : -EIO;
}

int fp_cupti_arm(struct fp_cupti_arms *arms, bool all_calls, void (*note)(void *owner, const char *sentence),
                 void *owner, struct fp_error *err) {
    const struct fp_cupti_functions *call = &arms->library->call;
    char text[200];
    set_thread_ids(arms, note, owner);
    for (size_t at = 0; at < FP_CUPTI_ARMED_KINDS; at++) {
        snprintf(text, sizeof(text), "enabling %s", kinds[at].name);
        uint32_t status = fp_cupti_say(arms->library, text, call->enable(kinds[at].number));
        arms->kinds[at] = status == FP_CUPTI_SUCCESS;
        if (!arms->kinds[at] && kinds[at].needed)
            return refuse_kind(arms, at, status, err);
        if (arms->kinds[at])
            continue;
        snprintf(text, sizeof(text), "CUPTI does not record %s here (%s)", kinds[at].name,
                 fp_cupti_result_text(arms->library, status));
        note(owner, text);
    }
    // What torch does not show costs least where it is never recorded: stop then takes 0.6 of torch's own
    // time [MEASURED].
    if (!all_calls)
        fp_log("cupti", "%zu runtime calls left out at the source",
               switch_off(call->enable_runtime_call, arms->quiet_ids, arms->quiet_id_count));
    arm_driver_calls(arms, all_calls);
    return 0;
}
