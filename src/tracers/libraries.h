// libraries.h - which shared objects this process has loaded, and where a vendor's library may lie on disk.
//
// In:  the link map, file names, folders.
// Out: paths. Nothing is opened here.
#ifndef FP_TRACERS_LIBRARIES_H
#define FP_TRACERS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

enum { FP_LIBRARY_PATH_BYTES = 1024 };

// The path of the nth loaded object whose file name begins with `prefix` ("libcudart.so"). False: there is
// none.
bool fp_library_loaded(const char *prefix, size_t nth, char *path, size_t capacity);

// A list of paths to try, in order, none twice.
struct fp_library_list {
    char (*paths)[FP_LIBRARY_PATH_BYTES];
    size_t count, capacity;
};

void fp_library_list_free(struct fp_library_list *list);
void fp_library_list_add(struct fp_library_list *list, const char *path); // as it is, also a plain name
// The nth spelling of a place on hosts of a processor ("x86_64", "aarch64"; NULL: this one), where {target} stands for the
// folder that vendors name after it: sbsa-linux and aarch64-linux on Arm. False: there are no more.
bool fp_library_place(const char *place, const char *processor, size_t nth, char *path, size_t capacity);
// Each of `names` (NULL-terminated) that exists in `folder`/`below`, in each spelling; either may be NULL or empty.
void fp_library_list_add_folder(struct fp_library_list *list, const char *folder, const char *below,
                                const char *const *names);
// The same for each folder of a colon-separated list.
void fp_library_list_add_folders(struct fp_library_list *list, const char *folders, const char *const *names);

#endif
