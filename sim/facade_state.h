// facade_state.h - what facade_common.c and facade_buffers.c share; no facade includes it.
#ifndef FLAGSIM_FACADE_STATE_H
#define FLAGSIM_FACADE_STATE_H

#include "facade_common.h"

extern struct fc_facade fc_self;

void fc_die(void);
void fc_count_dropped(flagsim_record family);

#endif
