// topspti.h - a stand-in of ours for the SDK's header of that name (topspti_activity.h tells more).
#ifndef STANDIN_TOPSPTI_H
#define STANDIN_TOPSPTI_H

#include "topspti_activity.h"
#include "topspti_callbacks.h"

#endif
