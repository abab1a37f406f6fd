// topspti_callbacks.h - a stand-in of ours for the SDK's header of that name (topspti_activity.h tells more).
#ifndef STANDIN_TOPSPTI_CALLBACKS_H
#define STANDIN_TOPSPTI_CALLBACKS_H

#include <stdint.h>

typedef enum { TOPSPTI_API_ENTER = 0, TOPSPTI_API_EXIT = 1 } Topspti_ApiCallbackSite;

typedef enum { TOPSPTI_CB_DOMAIN_DRIVER_API = 1, TOPSPTI_CB_DOMAIN_RUNTIME_API = 2 } Topspti_CallbackDomain;

typedef struct {
    Topspti_ApiCallbackSite callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue;
    const char *symbolName;
    void *context;
    uint32_t contextUid;
    uint64_t *correlationData;
    uint32_t correlationId;
} Topspti_CallbackData;

#endif
