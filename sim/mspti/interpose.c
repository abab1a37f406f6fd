// interpose.c - AscendCL's copy and set functions, as libmspti.so exports them too.
//
// In:  calls of a program that finds these before AscendCL's own: where libmspti.so stands before
//      libascendcl.so in the process's global scope, as it does when the process was started with it.
// Out: the same call of the next library, and a record of it. Opened later, this library comes last in the
//      scope and nothing ever gets here; nor does what calls through a handle of libascendcl.so alone.
#include "mspti.h"

#include "acl.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int find_ascendcl(struct dl_phdr_info *object, size_t size, void *owner) {
    const char *name = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    (void)size;
    if (!name || strcmp(name + 1, "libascendcl.so") != 0)
        return 0;
    *(const char **)owner = object->dlpi_name;
    return 1;
}

// The real one, whether it is in the global scope or not.
static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    const char *path = NULL;
    if (!found)
        dl_iterate_phdr(find_ascendcl, &path);
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    return library ? dlsym(library, name) : found;
}

#define CALL_NEXT(name, ...)                                                                                 \
    do {                                                                                                     \
        int (*real)(PARAMETERS);                                                                             \
        void *symbol = next(name);                                                                           \
        if (!symbol)                                                                                         \
            return ACL_OTHER;                                                                                \
        memcpy(&real, &symbol, sizeof real);                                                                 \
        if (!mspti_is_armed(memory.kind))                                                                    \
            return real(__VA_ARGS__);                                                                        \
        mspti_interpose(true);                                                                               \
        memory.start_ns = flagsim_now_ns();                                                                  \
        int result = real(__VA_ARGS__);                                                                      \
        memory.end_ns = flagsim_now_ns();                                                                    \
        mspti_interpose(false);                                                                              \
        mspti_write_memory(&memory);                                                                         \
        return result;                                                                                       \
    } while (0)

// MSPTI's numbers of a copy's kind are AscendCL's and one more, but for what is neither [HEADER].
static struct mspti_memory copy(int kind, size_t bytes, void *stream, bool is_async) {
    return (struct mspti_memory){
        .kind = MSPTI_MEMCPY,
        .word = kind >= ACL_HOST_TO_HOST && kind <= ACL_DEFAULT ? (uint32_t)kind + 1 : 0,
        .bytes = bytes,
        .stream = stream,
        .is_async = is_async,
    };
}

static struct mspti_memory set(int32_t value, size_t bytes, void *stream, bool is_async) {
    return (struct mspti_memory){
        .kind = MSPTI_MEMSET, .word = (uint32_t)value, .bytes = bytes, .stream = stream, .is_async = is_async
    };
}

#define PARAMETERS void *, size_t, const void *, size_t, int
int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind) {
    struct mspti_memory memory = copy(kind, bytes, NULL, false);
    CALL_NEXT("aclrtMemcpy", dst, room, src, bytes, kind);
}
#undef PARAMETERS

#define PARAMETERS void *, size_t, const void *, size_t, int, void *
int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream) {
    struct mspti_memory memory = copy(kind, bytes, stream, true);
    CALL_NEXT("aclrtMemcpyAsync", dst, room, src, bytes, kind, stream);
}
#undef PARAMETERS

#define PARAMETERS void *, size_t, int32_t, size_t
int aclrtMemset(void *dst, size_t room, int32_t value, size_t bytes) {
    struct mspti_memory memory = set(value, bytes, NULL, false);
    CALL_NEXT("aclrtMemset", dst, room, value, bytes);
}
#undef PARAMETERS

#define PARAMETERS void *, size_t, int32_t, size_t, void *
int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream) {
    struct mspti_memory memory = set(value, bytes, stream, true);
    CALL_NEXT("aclrtMemsetAsync", dst, room, value, bytes, stream);
}
#undef PARAMETERS
