// twin_open.h - finds, binds and proves a vendor's library whose interface is a copy of CUPTI's.
//
// In:  the vendor's profile (twin_session.h), the person's choice, what the process has loaded, the disk.
// Out: bound functions and the layout of this library's records, or one sentence that says of each
//      library why it was refused.
//
// Order: FLAGOS_TRACER_LIBRARY, and then no other; the copies already in the process; the folders of
// FLAGOS_LIBRARY_PATH; those that the vendor's environment variables name; its usual places; the loader's own
// search. A simulated library comes after every real one.
#ifndef FP_TRACERS_TWIN_OPEN_H
#define FP_TRACERS_TWIN_OPEN_H

#include "flagprof/device_tracer.h"
#include "tracers/libraries.h"
#include "tracers/twin_layout.h"

typedef void (*fp_twin_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fp_twin_completed_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                     size_t valid);

// Results are the vendor's, 0 for success. What a library need not have may be NULL.
struct fp_twin_functions {
    int (*get_version)(uint32_t *version);
    int (*get_timestamp)(uint64_t *timestamp_ns);
    int (*register_callbacks)(fp_twin_requested_fn requested, fp_twin_completed_fn completed);
    int (*enable)(uint32_t kind);
    int (*disable)(uint32_t kind);
    int (*flush_all)(uint32_t flag);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*get_dropped)(void *context, uint32_t stream, size_t *dropped);
    int (*push)(uint32_t external_kind, uint64_t id);
    int (*pop)(uint32_t external_kind, uint64_t *last);
    int (*result_text)(int result, const char **text);
    int (*call_name)(uint32_t key, uint32_t cbid, const char **name);
};

// What is asked of the vendor's driver and runtime libraries.
struct fp_twin_devices {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*name)(char *name, int capacity, int device);
    int (*memory)(size_t *bytes, int device);
    int (*driver_version)(int *version);
    int (*runtime_version)(int *version);
    int (*synchronize)(void); // the calling thread's device
};

struct fp_twin_symbol {
    const char *names[2]; // the first that is there
    size_t offset;        // in fp_twin_functions or fp_twin_devices
    bool required;
};

#define FP_TWIN_FUNCTION(member, first, second, required)                                                    \
    { { first, second }, offsetof(struct fp_twin_functions, member), required }
#define FP_TWIN_DEVICE_FUNCTION(member, first, second, required)                                             \
    { { first, second }, offsetof(struct fp_twin_devices, member), required }

struct fp_twin_library;

// Lists end with NULL, symbol tables with an empty row.
struct fp_twin_search {
    const char *name;                // for the log: "mcpti"
    const char *const *loaded;       // how the names of copies begin that the process has: "libmcpti.so"
    const char *const *files;        // names on disk, newest first
    const char *const *variables;    // environment variables that name a root
    const char *const *roots;        // usual roots; '*' is expanded
    const char *const *places;       // below a root
    const char *const *device_files; // libraries that know the devices
    const struct fp_twin_symbol *symbols, *device_symbols;
    const struct fp_twin_layout *layout;
    const char
        *face; // of those whose functions others have too: faces.h must know it for this one's; or NULL
    // After binding, before the layout is probed: is this what we take it for? May be NULL.
    int (*confirm)(const struct fp_twin_library *library, struct fp_error *err);
};

struct fp_twin_library {
    struct fp_twin_functions call;
    struct fp_twin_devices device;
    struct fp_twin_layout layout; // as its iterator steps
    int probed_differences;
    void *handle; // never closed: the library keeps hooks in the runtime
    char path[FP_LIBRARY_PATH_BYTES];
    bool simulated;
    uint32_t version;
    int device_count;
};

int fp_twin_library_open(struct fp_twin_library *library, const struct fp_twin_search *search,
                         const char *named, struct fp_error *err);
const char *fp_twin_result_text(const struct fp_twin_library *library, int result);

#endif
