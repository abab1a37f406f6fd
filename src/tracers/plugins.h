// plugins.h - tracers that vendors ship apart, as rows. Private to the list of rows (rows.c).
//
// In:  FLAGOS_TRACER_PLUGIN, paths of shared objects with ':' between; the folder that FLAGOS_TRACER_PLUGIN_DIR
//      names, else lib/flagprof/tracers where FlagProf is installed.
// Out: a row for each object, and for one that is no tracer the reason, so that `flagprof info` can tell it.
#ifndef FP_TRACERS_PLUGINS_H
#define FP_TRACERS_PLUGINS_H

#include "tracers/rows.h"

// Each adds at most `capacity` rows and returns their number. What is loaded is never unloaded.
size_t fp_plugins_named(struct fp_row *rows, size_t capacity);
size_t fp_plugins_in_folder(struct fp_row *rows, size_t capacity);

#endif
