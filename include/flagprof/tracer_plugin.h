// tracer_plugin.h - what a vendor exports who ships a tracer apart from FlagProf: one function, by one name.
//
// In:  nothing. Out: the accelerator's name and the operations of its tracer (device_tracer.h).
//
// A plug-in is a shared object that FLAGOS_TRACER_PLUGIN names or that lies in FlagProf's folder of plug-ins;
// docs/adding-a-vendor.md walks through one. It needs this folder of headers alone and links to nothing of
// FlagProf's. It is loaded once and never unloaded.
//
// What may change: `fp_tracer_plugin` and `fp_tracer_ops` begin with their sizes and grow at their ends, so a
// plug-in that was compiled earlier stays usable and lacks what it did not know. Anything else that changes
// in device_tracer.h raises FP_TRACER_PLUGIN_VERSION, and a plug-in of another version is refused.
#ifndef FLAGPROF_TRACER_PLUGIN_H
#define FLAGPROF_TRACER_PLUGIN_H

#include "flagprof/device_tracer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FP_TRACER_PLUGIN_VERSION 1
#define FP_TRACER_PLUGIN_SYMBOL "fp_tracer_plugin_get" // what FlagProf looks up

struct fp_tracer_plugin {
    size_t size;
    uint32_t version;        // FP_TRACER_PLUGIN_VERSION of the header that it was compiled with
    const char *accelerator; // what FLAGOS_ACCELERATOR names: letters, digits and -, at most 31
    const struct fp_tracer_ops *ops;
    // A function of the vendor's library that no other vendor has: FLAGOS_TRACER_LIBRARY is this tracer's to
    // open when the library exports it. May be NULL.
    const char *library_symbol;
};

// The factory, exported by the plug-in. The result and all that it points to live as long as the process.
// Called once, before anything else; it does nothing but answer.
FP_API const struct fp_tracer_plugin *fp_tracer_plugin_get(void);

#ifdef __cplusplus
}
#endif

#endif
