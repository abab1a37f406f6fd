// mspti.h - the tracer of Huawei Ascend NPUs, over CANN's MSPTI.
#ifndef FP_TRACERS_MSPTI_H
#define FP_TRACERS_MSPTI_H

#include "flagprof/device_tracer.h"

extern const struct fp_tracer_ops fp_mspti_ops;

#endif
