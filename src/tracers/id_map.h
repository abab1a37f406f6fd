// id_map.h - vendor ids of 64 bits as unique nonzero ids of 32 bits, for one recording.
//
// Kineto's flow ids have 32 bits and 0 draws nothing, so cutting a 64-bit id off would join strangers. An id
// that fits keeps its number; any other gets one that is free. Used by the thread that drains.
#ifndef FP_TRACERS_ID_MAP_H
#define FP_TRACERS_ID_MAP_H

#include "flagprof/device_tracer.h"

struct fp_id_map;

struct fp_id_map *fp_id_map_new(void); // NULL: no memory
void fp_id_map_free(struct fp_id_map *map);
// The same answer for the same id, always. 0 (none) for 0 and when memory runs out.
fp_vendor_id fp_id_map_get(struct fp_id_map *map, uint64_t vendor_id);

#endif
