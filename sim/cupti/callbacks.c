// callbacks.c - CUPTI's callback interface: one subscriber, called as calls of the two interfaces begin and
// end.
//
// In:  a subscription and its domains.
// Out: CUpti_CallbackData for every call that is on; names of ids and results. Parameters are given for
//      launches alone; other calls have none.
#include "release.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { IDS = 1024 };

static struct {
    pthread_mutex_t lock;
    atomic_bool taken;
    _Atomic(CUpti_CallbackFunc) function;
    void *_Atomic user;
    atomic_bool runtime[IDS], driver[IDS];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

// Layout of cudaLaunchKernel's parameters [HEADER: generated_cuda_runtime_api_meta.h, which needs runtime
// headers].
struct launch_parameters {
    const void *function;
    uint32_t grid[3], block[3];
    void **arguments;
    size_t shared_bytes;
    void *stream;
};

static void rearm(void) {
    bool any = false;
    for (int i = 0; i < IDS && !any; i++)
        any = atomic_load_explicit(&state.runtime[i], memory_order_relaxed) ||
              atomic_load_explicit(&state.driver[i], memory_order_relaxed);
    fc_arm(SLOT_CALLBACKS, any);
}

static atomic_bool *domain_ids(CUpti_CallbackDomain domain) {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? state.runtime
           : domain == CUPTI_CB_DOMAIN_DRIVER_API ? state.driver
                                                  : NULL;
}

void call_subscriber(const flagsim_api_call *call, bool entering) {
    bool driver = call->low_level;
    uint32_t id = driver ? driver_id(call) : runtime_id(call);
    CUpti_CallbackFunc function = atomic_load(&state.function);
    if (!function || !id ||
        !atomic_load_explicit(driver ? &state.driver[id] : &state.runtime[id], memory_order_relaxed))
        return;
    struct launch_parameters launch = { 0 };
    int result = driver ? driver_result(call->result) : runtime_result(call->result);
    CUpti_CallbackDomain domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    CUpti_CallbackData data = {
        .callbackSite = entering ? CUPTI_API_ENTER : CUPTI_API_EXIT,
        .functionName = callback_name(domain, id),
        .functionReturnValue = entering ? NULL : &result,
        .symbolName = call->kernel ? call->kernel->name : NULL,
        .context = (CUcontext)(uintptr_t)call->context,
        .contextUid = call->context,
        .correlationData = call->scratch,
        .correlationId = call->correlation,
    };
    if (call->api == FLAGSIM_API_LAUNCH && call->kernel && !driver) {
        launch = (struct launch_parameters){ .function = call->kernel_handle,
                                             .shared_bytes = call->kernel->shared_dynamic_bytes,
                                             .stream = call->stream_handle };
        for (int i = 0; i < 3; i++) {
            launch.grid[i] = call->kernel->grid[i];
            launch.block[i] = call->kernel->block[i];
        }
        data.functionParams = &launch;
    }
    function(atomic_load(&state.user), domain, id, &data);
}

void disarm_callbacks(void) {
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < IDS; i++) {
        atomic_store_explicit(&state.runtime[i], false, memory_order_relaxed);
        atomic_store_explicit(&state.driver[i], false, memory_order_relaxed);
    }
    atomic_store(&state.function, NULL);
    atomic_store(&state.taken, false);
    rearm();
    pthread_mutex_unlock(&state.lock);
}

static CUptiResult no_device(void) {
    return fc_enter() ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                                    void *userdata) {
    CUptiResult result = no_device();
    if (result != CUPTI_SUCCESS)
        return result;
    if (!subscriber)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (flagsim_fault_on(FLAGSIM_FAULT_other_subscriber) || atomic_exchange(&state.taken, true))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    atomic_store(&state.user, userdata);
    atomic_store(&state.function, callback);
    *subscriber = (CUpti_SubscriberHandle)(void *)&state;
    return CUPTI_SUCCESS;
}

static CUptiResult check(CUpti_SubscriberHandle subscriber) {
    CUptiResult result = no_device();
    if (result == CUPTI_SUCCESS && (void *)subscriber != (void *)&state)
        result = CUPTI_ERROR_INVALID_PARAMETER;
    return result;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
    CUptiResult result = check(subscriber);
    if (result == CUPTI_SUCCESS)
        disarm_callbacks();
    return result;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
    CUptiResult result = check(subscriber);
    atomic_bool *ids = domain_ids(domain);
    if (result == CUPTI_SUCCESS && ids && (cbid == 0 || cbid >= IDS))
        result = CUPTI_ERROR_INVALID_PARAMETER;
    if (result != CUPTI_SUCCESS || !ids)
        return result;
    pthread_mutex_lock(&state.lock);
    atomic_store(&ids[cbid], enable != 0);
    rearm();
    pthread_mutex_unlock(&state.lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
    CUptiResult result = check(subscriber);
    atomic_bool *ids = domain_ids(domain);
    if (result != CUPTI_SUCCESS || !ids)
        return result;
    pthread_mutex_lock(&state.lock);
    for (int i = 1; i < IDS; i++)
        atomic_store_explicit(&ids[i], enable != 0, memory_order_relaxed);
    rearm();
    pthread_mutex_unlock(&state.lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
    CUptiResult result = cuptiEnableDomain(enable, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    return result == CUPTI_SUCCESS ? cuptiEnableDomain(enable, subscriber, CUPTI_CB_DOMAIN_DRIVER_API)
                                   : result;
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name) {
    CUptiResult result = no_device();
    if (result != CUPTI_SUCCESS)
        return result;
    const char *found = name ? callback_name(domain, cbid) : NULL;
    if (!found)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult code, const char **str) {
#define RESULT(name)                                                                                         \
    { name, #name }
    static const struct {
        CUptiResult code;
        const char *name;
    } names[] = {
        RESULT(CUPTI_SUCCESS),
        RESULT(CUPTI_ERROR_INVALID_PARAMETER),
        RESULT(CUPTI_ERROR_INVALID_DEVICE),
        RESULT(CUPTI_ERROR_INVALID_CONTEXT),
        RESULT(CUPTI_ERROR_INVALID_OPERATION),
        RESULT(CUPTI_ERROR_OUT_OF_MEMORY),
        RESULT(CUPTI_ERROR_API_NOT_IMPLEMENTED),
        RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED),
        RESULT(CUPTI_ERROR_NOT_READY),
        RESULT(CUPTI_ERROR_NOT_COMPATIBLE),
        RESULT(CUPTI_ERROR_NOT_INITIALIZED),
        RESULT(CUPTI_ERROR_QUEUE_EMPTY),
        RESULT(CUPTI_ERROR_INVALID_KIND),
        RESULT(CUPTI_ERROR_NOT_SUPPORTED),
        RESULT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
        RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
        RESULT(CUPTI_ERROR_UNKNOWN),
    };
#undef RESULT
    if (fc_enter())
        return CUPTI_ERROR_UNKNOWN;
    for (size_t i = 0; str && i < sizeof names / sizeof *names; i++) {
        if (names[i].code == code) {
            *str = names[i].name;
            return CUPTI_SUCCESS;
        }
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}
