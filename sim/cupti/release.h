// release.h - one release of CUPTI, as NVIDIA's own headers describe it; every file of the facade begins with
// it.
//
// In:  CUPTI_RELEASE (major * 100 + minor) and NVIDIA's headers of that release, from the build.
// Out: the newest record of each kind under one name. Which struct a release delivers is the last one
//      that its header declares [HEADER]; cupti.h itself is not included, since that of 13.1 and later
//      wants runtime headers of its own release.
#ifndef FLAGSIM_CUPTI_RELEASE_H
#define FLAGSIM_CUPTI_RELEASE_H

#include <cuda.h>

#include <cupti_result.h>
#include <cupti_version.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include "../facade_common.h"

#if CUPTI_RELEASE >= 1304
typedef CUpti_ActivityKernel13 record_kernel;
typedef CUpti_ActivityMemcpy7 record_memcpy;
typedef CUpti_ActivityMemset5 record_memset;
#elif CUPTI_RELEASE >= 1303
typedef CUpti_ActivityKernel12 record_kernel;
typedef CUpti_ActivityMemcpy6 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#elif CUPTI_RELEASE >= 1301
typedef CUpti_ActivityKernel11 record_kernel;
typedef CUpti_ActivityMemcpy6 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#elif CUPTI_RELEASE >= 1300
typedef CUpti_ActivityKernel10 record_kernel;
typedef CUpti_ActivityMemcpy6 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#elif CUPTI_RELEASE >= 1208
typedef CUpti_ActivityKernel9 record_kernel;
typedef CUpti_ActivityMemcpy6 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#elif CUPTI_RELEASE >= 1200
typedef CUpti_ActivityKernel9 record_kernel;
typedef CUpti_ActivityMemcpy5 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#else
typedef CUpti_ActivityKernel8 record_kernel;
typedef CUpti_ActivityMemcpy5 record_memcpy;
typedef CUpti_ActivityMemset4 record_memset;
#endif

#if CUPTI_RELEASE >= 1208
typedef CUpti_ActivitySynchronization2 record_sync;
#else
typedef CUpti_ActivitySynchronization record_sync;
#endif

#if CUPTI_RELEASE >= 1206
typedef CUpti_ActivityMemory4 record_memory;
#else
typedef CUpti_ActivityMemory3 record_memory;
#endif

#if CUPTI_RELEASE >= 1204
typedef CUpti_ActivityOverhead3 record_overhead;
#elif CUPTI_RELEASE >= 1203
typedef CUpti_ActivityOverhead2 record_overhead;
#else
typedef CUpti_ActivityOverhead record_overhead;
#endif

typedef CUpti_ActivityMemcpyPtoP4 record_peer;
typedef CUpti_ActivityAPI record_api;
typedef CUpti_ActivityExternalCorrelation record_external;

// A kind that no header has, and its size: only the library's own iterator knows it.
enum { KIND_OF_TOMORROW = 200, BYTES_OF_TOMORROW = 48 };
// Slots of facade_common: kinds are their own numbers; callback domains lie behind them.
enum { SLOT_CALLBACKS = 57 };

// What a call is in this release. 0: nothing of it is reported at that level.
uint32_t runtime_id(const flagsim_api_call *call);
uint32_t driver_id(const flagsim_api_call *call);
int runtime_result(int result); // cudaError
int driver_result(int result);  // CUresult
const char *callback_name(CUpti_CallbackDomain domain, uint32_t id);

// Is the record of this call wanted?
bool runtime_wanted(uint32_t id);
bool driver_wanted(uint32_t id);
bool nested_driver_wanted(void);

void record_enter(void *user, const flagsim_api_call *call);
void record_exit(void *user, const flagsim_api_call *call);
void record_activity(void *user, const flagsim_activity *activity);
size_t compose_overhead(uint8_t bytes[FC_RECORD_BYTES_MAX], bool flush, uint64_t start_ns, uint64_t end_ns);
size_t compose_foreign(uint8_t bytes[FC_RECORD_BYTES_MAX]);
size_t compose_broken(uint8_t bytes[FC_RECORD_BYTES_MAX]);

void call_subscriber(const flagsim_api_call *call, bool entering);
uint32_t thread_number(const flagsim_api_call *call);
uint32_t own_thread_number(void);
void disarm_callbacks(void);

#endif
